"""Small reducers, written the documented way, for tests of the machinery around them."""

import numpy as np

from manifold_lab.base import Reducer, param
from manifold_lab.checks import BOOL, N_JOBS, SEED, Float, Int
from manifold_lab.errors import ParameterError


def top_axes(S, m):
    """Return the m leading eigenvectors of S as rows, largest entry positive."""
    C = np.linalg.eigh(S)[1][:, ::-1][:, :m].T
    return C * np.sign(C[np.arange(len(C)), np.abs(C).argmax(axis=1)])[:, None]


class Axes(Reducer):
    """Project onto the directions of largest variance."""

    n_components: int = param(2, Int(1))
    scale: float = param(1.0, Float(0.0))
    flip: bool = param(False, BOOL)
    random_state: object = param(None, *SEED)
    n_jobs: int | None = param(None, *N_JOBS)

    no_effect = {"random_state": "nothing is drawn"}

    def _fit(self, X, y):
        self.n_samples_, self.mean_ = len(X), X.mean(axis=0, dtype=np.float64)
        centred = X - self.mean_
        self.scatter_ = centred.T @ centred
        self._finish(X.dtype)

    def _partial_fit(self, X, y):
        if not hasattr(self, "scatter_"):
            self._fit(X, y)
            return
        n, m = self.n_samples_, len(X)
        mean = X.mean(axis=0, dtype=np.float64)
        centred, gap = X - mean, mean - self.mean_
        self.scatter_ = self.scatter_ + centred.T @ centred + np.outer(gap, gap) * (n * m / (n + m))
        self.mean_ = self.mean_ + gap * (m / (n + m))
        self.n_samples_ = n + m
        self._finish(X.dtype)

    def _finish(self, dtype):
        if self.n_components > self.n_features_in_:
            raise ParameterError(
                f"n_components={self.n_components} is more than the {self.n_features_in_} "
                "features. Ask for fewer."
            )
        sign = -1.0 if self.flip else 1.0
        self.components_ = sign * top_axes(self.scatter_, self.n_components).astype(dtype)

    def _transform(self, X):
        return self.scale * ((X - self.mean_) @ self.components_.T)

    def _inverse_transform(self, Z):
        return Z / self.scale @ self.components_ + self.mean_


class Bent(Reducer):
    """Bend the principal scores; the embedding is kept."""

    n_components: int = param(2, Int(1, 5))
    bend: float = param(1.0, Float(0.0))

    min_trustworthiness = 0.7

    def _fit(self, X, y):
        self.mean_ = X.mean(axis=0)
        centred = X - self.mean_
        self.axes_ = top_axes(centred.T @ centred, self.n_components)
        return self._transform(X)

    def _transform(self, X):
        return np.arcsinh(self.bend * (X - self.mean_) @ self.axes_.T)


class Means(Reducer):
    """Project onto the directions that part the class means."""

    supervised = True

    n_components: int = param(2, Int(1))

    def _fit(self, X, y):
        if self.n_components > X.shape[1]:
            raise ParameterError(
                f"n_components={self.n_components} is more than {X.shape[1]} features."
            )
        self.mean_ = X.mean(axis=0)
        means = np.stack([X[y == c].mean(axis=0) for c in range(len(self.classes_))]) - self.mean_
        between = means.T @ means
        spread = (X - self.mean_).T @ (X - self.mean_)
        self.components_ = top_axes(between + 1e-6 * spread, self.n_components)

    def _transform(self, X):
        return (X - self.mean_) @ self.components_.T


class Recall(Reducer):
    """Keep an embedding of the training rows only."""

    n_components: int = param(2, Int(1, 5))

    def _fit(self, X, y):
        centred = X - X.mean(axis=0)
        return centred @ top_axes(centred.T @ centred, self.n_components).T

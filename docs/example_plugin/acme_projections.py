"""A plugin for manifold_lab: Gaussian random projection."""

import numpy as np

from manifold_lab import Reducer, param
from manifold_lab.checks import SEED, Int, as_rng
from manifold_lab.errors import ParameterError


class RandomProjection(Reducer):
    """Gaussian random projection: a random linear map that nearly keeps distances.

    Squared distances keep their expected value; their relative error shrinks like
    ``sqrt(2 / n_components)``, whatever the number of features.
    """

    n_components: int = param(2, Int(1))
    random_state: object = param(None, *SEED)

    api_version = 1
    family = "linear"
    invariances = ("permutation", "translation")  # a random map prefers some directions

    def _fit(self, X, y):
        d = X.shape[1]
        if self.n_components > d:
            raise ParameterError(
                f"n_components={self.n_components} is more than the {d} features of X, which "
                f"RandomProjection would not reduce. Pass at most n_components={d}."
            )
        W = as_rng(self.random_state).standard_normal((self.n_components, d))
        self.components_ = (W / np.sqrt(self.n_components)).astype(X.dtype)
        self.mean_ = np.zeros(d, dtype=X.dtype)

    def _transform(self, X):
        return (X - self.mean_) @ self.components_.T

    def _inverse_transform(self, Z):
        return Z @ np.linalg.pinv(self.components_).T + self.mean_

"""KNNRegressor: the mean of the nearest (10.1)."""

import numpy as np

from manifold_lab.base import param
from manifold_lab.checks import Is
from manifold_lab.errors import ParameterError
from manifold_lab.neighbors import votes
from manifold_lab.neighbors.learner import Learner
from manifold_lab.neighbors.search import sample_weights


class KNNRegressor(Learner):
    """Predict the mean of the targets of the nearest training samples (10.1).

    Parameters
    ----------
    k : int, optional
        Number of neighbours; 5 if ``eps`` is not given either.
    eps : float, optional
        Take the mean over all samples within this distance. Not together with ``k``.
    metric : str, metric object or callable
        As for :class:`NearestNeighbors`; a learned one works too.
    n_jobs : int, optional
        Threads; None or -1 are all cores. Results do not depend on it.
    weights : {"uniform", "distance"} or callable
        Weight of a neighbour, as for :class:`KNNClassifier`.
    outlier : float, optional
        The answer, NaN for example, for a sample without any neighbour within ``eps``, with a
        warning; by default it is an error.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_fit_ : int
        Rows with a positive weight.

    Examples
    --------
    >>> model = KNNRegressor(k=2).fit([[0.0], [1.0], [2.0]], [0.0, 10.0, 20.0])
    >>> model.predict([[0.4]]).tolist()
    [5.0]
    """

    kind = "regressor"

    outlier: float | None = param(None, None, Is((int, float, np.number), "a number, or NaN"))

    def _traits(self):
        return super()._traits() | {"multi_output": True}

    def _enter_targets(self, y, n):
        return as_targets(y, n, type(self).__name__)

    def predict(self, X):
        """Return the weighted mean of the neighbours' targets for each row of X.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            With ``metric="precomputed"`` distances from the training rows.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_targets)
            float32 if y was at fit, else float64.

        Raises
        ------
        ParameterError
            X is not acceptable, or a row has no neighbour and ``outlier`` is None.
        """
        self._need_fit()
        found = self._neighbours(X)
        voice = votes.voices(found, self.weights, type(self).__name__)
        total = votes.sums(found.rows, voice, found.m)
        self._say_no_neighbour(total == 0)
        Y = self._targets_.reshape(len(self._targets_), -1)
        means = np.column_stack([_means(found, voice, total, column) for column in Y.T])
        if self.outlier is not None:
            means[total == 0] = self.outlier
        return means.reshape(found.m, *self._targets_.shape[1:]).astype(self._targets_.dtype)

    def score(self, X, y, sample_weight=None):
        """Return R², the share of the variance of y that is predicted; over targets, the mean.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        y : array-like of shape (n_queries,) or (n_queries, n_targets)
        sample_weight : array-like of shape (n_queries,), optional

        Returns
        -------
        float
        """
        found, owner = self.predict(X), type(self).__name__
        wanted = as_targets(y, len(found), owner)
        return r_squared(wanted, found, sample_weights(sample_weight, len(found), owner))

    def loo_score(self, X, y, ks):
        """Return R² on X, y, each row left out in turn, for every k; see :func:`loo_score`."""
        from manifold_lab.neighbors.loo import r_squares

        return r_squares(self, X, y, ks)


def _means(found, voice, total, y):
    """Return weighted means about the target of the nearest, so that equal targets give it back."""
    y = y.astype(np.float64)
    first = np.zeros(found.m)
    first[found.rows[::-1]] = y[found.ids[::-1]]
    gaps = votes.sums(found.rows, voice * (y[found.ids] - first[found.rows]), found.m)
    return first + np.divide(gaps, total, out=np.zeros(found.m), where=total > 0)


def as_targets(y, n, owner):
    """Return y as a new float array of shape (n,) or (n, t).

    Raises
    ------
    ParameterError
        None, wrong length, NaN, infinity, complex, or not numbers.
    """
    if y is None:
        raise ParameterError(
            f"{owner} requires y to be passed, but the target y is None. Pass one target per row."
        )
    Y = np.asarray(y)
    if Y.dtype.kind == "c":
        raise ParameterError("Complex data not supported: y is complex.")
    if Y.ndim not in (1, 2) or (Y.ndim == 2 and Y.shape[1] == 0):
        raise ParameterError(f"y must be (n,) or (n, n_targets), got an array of shape {Y.shape}.")
    if len(Y) != n:
        raise ParameterError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has "
            f"{len(Y)}. Pass one target per row."
        )
    try:
        Y = np.array(Y, dtype=np.float32 if Y.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"y does not hold numbers: {error}. {owner} predicts numbers; for labels use "
            "KNNClassifier."
        ) from error
    if not np.isfinite(Y).all():
        raise ParameterError("Input y contains NaN or infinity. Drop the rows without a target.")
    return Y


def r_squared(y, predicted, weights=None):
    """Return 1 - (squared error) / (squares about the mean), the mean over targets.

    A target without variance scores 1 if it is predicted exactly, else 0.
    """
    Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    w = np.ones(len(Y)) if weights is None else weights
    error = w @ (Y - np.asarray(predicted, dtype=np.float64).reshape(Y.shape)) ** 2
    spread = w @ (Y - np.average(Y, axis=0, weights=w)) ** 2
    flat = np.where(error == 0, 1.0, 0.0)
    return float(np.mean(np.where(spread > 0, 1 - error / np.where(spread > 0, spread, 1), flat)))

"""What classifier and regressor share: fit with multiplicities, and the neighbours of queries."""

import numpy as np

from manifold_lab._interop import TakesWeights
from manifold_lab.base import param
from manifold_lab.checks import OneOf
from manifold_lab.errors import GraphWarning, ParameterError, warn
from manifold_lab.neighbors import votes
from manifold_lab.neighbors.search import NeighborEstimator, sample_weights


class _Callable:
    def accepts(self, value):
        return callable(value) and not isinstance(value, type)

    def __str__(self):
        return "a function of distances"


class _Anything:
    def accepts(self, value):
        return True

    def __str__(self):
        return "anything"


WEIGHTS = (OneOf(("uniform",)), OneOf(("distance",)), _Callable())


class Learner(TakesWeights, NeighborEstimator):
    """Fit, and the neighbours of queries, for classifier and regressor."""

    supervised = True

    weights: object = param("uniform", *WEIGHTS)
    outlier: object = param(None, _Anything())

    def fit(self, X, y, sample_weight=None):
        """Keep the samples and their targets and return self.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With ``metric="precomputed"`` distances, (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Targets; for regression also (n_samples, n_targets).
        sample_weight : array-like of shape (n_samples,), optional
            How many times each row counts: neighbours are taken nearest first until their
            weights sum to k, the last one in part. A row of weight zero is as good as absent.

        Raises
        ------
        ParameterError
            A parameter or an input is not acceptable, there are fewer than k rows, or their
            weights sum to less than k; the object is left as it was.
        """
        self._check_parameters()
        work = self._blank()
        A = work._enter(X, fitting=True)
        n, owner = len(A), type(self).__name__
        targets = work._enter_targets(y, n)
        work._check_k(work._k, n)
        work._keep_weighted(A, targets, sample_weights(sample_weight, n, owner))
        self._adopt(work)
        return self

    def _keep_weighted(self, X, targets, w):
        """Keep the rows of positive weight, all if there are no weights."""
        self._targets_, self._rows_, self._weights_ = targets, None, None
        if w is not None:
            self._check_total(w)
            self._rows_ = np.flatnonzero(w)
            self._weights_ = w[self._rows_]
            self._targets_ = targets[self._rows_]
            X = X[np.ix_(self._rows_, self._rows_)] if self._precomputed else X[self._rows_]
        self._keep(X)

    def _check_total(self, w):
        total = float(w.sum())
        if self._k is not None and total < self._k:
            raise ParameterError(
                f"The sample weights sum to {total:g}, less than k={self._k}. A weight says how "
                "many times a row counts, and k rows are needed to find a class or a mean: "
                f"multiply the weights by {self._k / total:.3g} or more, or reduce k."
            )

    def _neighbours(self, X):
        A = self._enter(X, fitting=False)
        if self._rows_ is not None and self._precomputed:
            A = np.ascontiguousarray(A[:, self._rows_])
        if self._k is None:
            return votes.around(self._searcher_, A, float(self.eps), self._weights_)
        return votes.nearest(self._searcher_, A, int(self._k), self._weights_)

    def _say_no_neighbour(self, alone):
        """Raise for queries without any vote, or warn if an answer for them was given."""
        if not alone.any():
            return
        rows = np.flatnonzero(alone)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        found = (
            f"{len(rows)} of {len(alone)} rows have no neighbour that votes (rows {shown}): "
            f"none within eps={self.eps}, or all of weight zero."
        )
        if self.outlier is None:
            raise ParameterError(
                f"{found} Increase eps, use k, or pass outlier= to {type(self).__name__}: what to "
                "answer for such rows."
            )
        warn(GraphWarning(f"{found} They get outlier={self.outlier!r}."))

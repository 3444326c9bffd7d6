"""KNNClassifier: the vote of the nearest (10.1)."""

import numpy as np

from manifold_lab.base import param
from manifold_lab.checks import as_labels
from manifold_lab.errors import ParameterError
from manifold_lab.neighbors import votes
from manifold_lab.neighbors.learner import Learner
from manifold_lab.neighbors.search import sample_weights

_VOTES = 2**22  # entries of a table of votes


class KNNClassifier(Learner):
    """Classify a sample by the vote of its nearest training samples (10.1).

    Parameters
    ----------
    k : int, optional
        Number of neighbours; 5 if ``eps`` is not given either.
    eps : float, optional
        Let all samples within this distance vote. Not together with ``k``.
    metric : str, metric object or callable
        As for :class:`NearestNeighbors`; a learned one works too.
    n_jobs : int, optional
        Threads; None or -1 are all cores. Results do not depend on it.
    weights : {"uniform", "distance"} or callable
        Weight of a vote: one; one over the distance (a neighbour at distance zero then takes
        all); or a function of an array of distances that returns their weights, element by
        element.
    outlier : label, optional
        The answer for a sample without any neighbour within ``eps``, with a warning; by default
        it is an error. ``predict_proba`` gives it probability one if it is one of ``classes_``,
        and otherwise a row of zeros.
    ties : {"smallest", "nearest", "distance"}
        Among classes with equally many votes: the first in ``classes_``, the class of the
        nearest neighbour, or the one whose neighbours have the smallest sum of distances.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    n_samples_fit_ : int
        Rows with a positive weight.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [10.0]], ["a", "a", "b", "b"]
    >>> model = KNNClassifier(k=3).fit(X, y)
    >>> model.predict([[0.2], [9.0]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[0.2]]).round(3).tolist()
    [[0.667, 0.333]]
    """

    kind = "classifier"

    ties: str = param("smallest", "smallest", "nearest", "distance")

    def _enter_targets(self, y, n):
        self.classes_, codes = as_labels(y, n, type(self).__name__)
        self._labels()  # refuses an outlier of another type now, not at the first one
        return codes

    def _labels(self):
        """Return ``classes_`` with the answer for outliers behind them."""
        labels = self.classes_
        if self.outlier is not None:
            own = np.asarray([self.outlier])
            text = own.dtype.kind in "US"
            if own.ndim != 1 or (labels.dtype.kind != "O" and text != (labels.dtype.kind in "US")):
                raise ParameterError(
                    f"outlier={self.outlier!r} is no label like {labels[0]!r}. Pass one of the "
                    "same type as those in y."
                )
            labels = np.append(labels, own)
        return labels

    def predict(self, X):
        """Return the class of each row of X.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            With ``metric="precomputed"`` distances from the training rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)

        Raises
        ------
        ParameterError
            X is not acceptable, or a row has no neighbour and ``outlier`` is None.
        """
        self._need_fit()
        winners = np.concatenate([winner for _, winner in self._elections(X)])
        return self._labels()[winners]

    def predict_proba(self, X):
        """Return the share of the votes that each class has, columns as in ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        proba : ndarray of shape (n_queries, n_classes)
        """
        self._need_fit()
        return np.concatenate([shares for shares, _ in self._elections(X)])

    def score(self, X, y, sample_weight=None):
        """Return the share of rows of X that are given their class y.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        y : array-like of shape (n_queries,)
        sample_weight : array-like of shape (n_queries,), optional

        Returns
        -------
        float
        """
        found, owner = self.predict(X), type(self).__name__
        wanted, codes = as_labels(y, len(found), owner)
        w = sample_weights(sample_weight, len(found), owner)
        return float(np.average(found == wanted[codes], weights=w))

    def loo_score(self, X, y, ks):
        """Return the accuracy on X, y, each row left out in turn, for every k; see :func:`loo_score`."""
        from manifold_lab.neighbors.loo import accuracies

        return accuracies(self, X, y, ks)

    def _elections(self, X):
        """Return, for some rows at a time, the shares of the votes and the number of the winner."""
        found, n_classes = self._neighbours(X), len(self.classes_)
        voice, alone = votes.voices(found, self.weights, type(self).__name__), []
        parts, step = [], max(1, _VOTES // n_classes)
        for first in range(0, found.m, step):
            last = min(first + step, found.m)
            a, b = np.searchsorted(found.rows, (first, last))
            part = found.part(first, last)
            table, winner = votes.elect(part, self._targets_, n_classes, voice[a:b], self.ties)
            total = table.sum(axis=1, keepdims=True)
            silent = total[:, 0] == 0
            table = np.divide(table, total, out=table, where=total > 0)
            if self.outlier is not None and silent.any():
                winner[silent] = n_classes
                table[silent] = self.classes_ == self.outlier
            alone.append(silent)
            parts.append((table, winner))
        self._say_no_neighbour(np.concatenate(alone))
        return parts

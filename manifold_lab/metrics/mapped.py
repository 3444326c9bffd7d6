"""Metrics that are Euclidean after a map of the rows, so all of them run at Euclidean speed.

Euclidean (10.32), weighted Euclidean (10.33) and, in :mod:`manifold_lab.metrics.mahalanobis`,
Mahalanobis (10.34); the squared distance and the cosine distance are increasing functions of one.
"""

import numpy as np

from manifold_lab.checks import as_points
from manifold_lab.errors import ParameterError
from manifold_lab.metrics.base import Metric, frozen, scaled
from manifold_lab.metrics.frame import Frame, Isotropic, Unit


class Mapped(Metric):
    """A metric that is an increasing function of the Euclidean distance of mapped rows."""

    plain = True  #: is it that distance itself?

    def map(self, X):
        """Return the rows of X mapped to points; their Euclidean distance is this metric.

        float32 in, float32 out. Where samples lie far from the origin, neighbour search and
        :func:`pairwise` centre them first, and so lose less to rounding than this product.
        """
        owner = type(self).__name__
        A = as_points(X, owner)
        self.check_width(A.shape[1], owner)
        self.check_rows(A, owner)
        with np.errstate(over="ignore", under="ignore"):
            return self._map(A).astype(A.dtype)

    def _map(self, X):
        return X

    def frame(self, *arrays):
        """Return the map of rows to points fitted to these samples, with its ``exponent``."""
        return Isotropic()

    def from_euclidean(self, r):
        """Return this distance, given the Euclidean distance of the points."""
        return r

    def from_squares(self, S, e):
        """Return this distance, given 4^-e times the squared distance of the points."""
        return self.from_euclidean(scaled(np.sqrt(S), e))

    def to_euclidean(self, eps):
        """Return a Euclidean distance that no point within ``eps`` exceeds.

        A hair more than needed: what is found with it is compared again.
        """
        return eps


class Euclidean(Mapped):
    """The Euclidean distance, the root of the sum of squared differences (10.32).

    Examples
    --------
    >>> from manifold_lab.metrics import Euclidean, pairwise
    >>> pairwise([[0.0, 0.0]], [[3.0, 4.0]], metric=Euclidean())
    array([[5.]])
    """


class SquaredEuclidean(Mapped):
    """The squared Euclidean distance: no metric, but of the same order (10.32)."""

    plain = False

    def from_euclidean(self, r):
        return r * r

    def from_squares(self, S, e):
        return scaled(S, 2 * e)  # whole numbers stay whole, which a root would spoil

    def to_euclidean(self, eps):
        return float(np.sqrt(eps)) * (1 + 2**-50)


class WeightedEuclidean(Mapped):
    """The Euclidean distance with a weight for every column, sqrt(sum_j w_j (x_j - y_j)^2) (10.33).

    Parameters
    ----------
    w : array-like of shape (n_features,)
        Weights, at least zero. A column of weight zero does not count.

    Attributes
    ----------
    w : ndarray of shape (n_features,)

    Raises
    ------
    ParameterError
        A weight is negative (its index is named), not finite, or there is none.

    Examples
    --------
    >>> from manifold_lab.metrics import WeightedEuclidean, pairwise
    >>> pairwise([[0.0, 0.0]], [[3.0, 2.0]], metric=WeightedEuclidean([1, 4]))
    array([[5.]])
    """

    def __init__(self, w):
        owner = type(self).__name__
        values = np.asarray(w)
        if values.ndim != 1 or not values.size:
            raise ParameterError(
                f"The weights of {owner} must be a vector, one a column; got shape {values.shape}."
            )
        values = as_points(values[None, :], owner, name="w")[0]
        if (values < 0).any():
            j = int(np.argmax(values < 0))
            raise ParameterError(
                f"Weight {j} of {owner} is {values[j]}. A weight must be at least 0, or squared "
                "distances could be negative: use 0 to leave that column out."
            )
        self.w = frozen(values)
        self.n_features = len(values)

    def _key(self):
        return (self.w,)

    def __repr__(self):
        shown = np.array2string(self.w, separator=", ", threshold=6, edgeitems=3)
        return f"WeightedEuclidean({shown})"

    def _map(self, X):
        return X * np.sqrt(self.w)

    def frame(self, *arrays):
        mantissas, powers = np.frexp(np.sqrt(self.w))
        return Frame(arrays, mantissas, powers)


class Cosine(Mapped):
    """One minus the cosine of the angle between two rows.

    Half the squared Euclidean distance of the rows divided by their lengths, and computed as
    that: a small angle keeps all its digits, which 1 - cos loses.

    Examples
    --------
    >>> from manifold_lab.metrics import Cosine, pairwise
    >>> pairwise([[1.0, 0.0]], [[0.0, 2.0], [1e-9, 0.0]], metric=Cosine()).round(12)
    array([[1., 0.]])
    """

    plain = False

    def check_rows(self, X, owner, name="X"):
        zero = ~X.any(axis=1)
        if zero.any():
            raise ParameterError(
                f"Row {int(np.argmax(zero))} of {name} is zero and has no direction, so the cosine "
                f"distance is undefined. Drop such rows before calling {owner}."
            )

    def _map(self, X):
        return Unit()(X)

    def frame(self, *arrays):
        return Unit()

    def from_euclidean(self, r):
        return 0.5 * (r * r)

    def from_squares(self, S, e):
        return scaled(S, 2 * e - 1)

    def to_euclidean(self, eps):
        return float(np.sqrt(2 * eps)) * (1 + 2**-50)

"""Metrics of which only the distance of two rows is known: sums of powers, functions, tables."""

import numpy as np
from scipy.spatial.distance import cdist

from manifold_lab.errors import ParameterError
from manifold_lab.metrics.base import Metric
from manifold_lab.metrics.blocks import distances

_ASYMMETRY = 1e-8  # share of the largest distance by which d(i, j) and d(j, i) may differ


class Direct(Metric):
    """A metric that is computed pair by pair.

    ``block(X, Y)`` returns the distances of all rows of X from all rows of Y in float64. Where
    ``homogeneous``, 2^e X and 2^e Y have 2^e times the distances, so that callers may scale.
    """

    homogeneous = True
    kind: str | None = None  #: its name in :mod:`manifold_lab.metrics.blocks`, if it is there

    def block(self, X, Y, n_jobs=None):
        return distances(self.kind, X, Y, n_jobs=n_jobs)


class Manhattan(Direct):
    """The sum of absolute differences.

    Examples
    --------
    >>> from manifold_lab.metrics import Manhattan, pairwise
    >>> pairwise([[0.0, 0.0]], [[3.0, -4.0]], metric=Manhattan())
    array([[7.]])
    """

    kind = "manhattan"


class Chebyshev(Direct):
    """The largest absolute difference.

    Examples
    --------
    >>> from manifold_lab.metrics import Chebyshev, pairwise
    >>> pairwise([[0.0, 0.0]], [[3.0, -4.0]], metric=Chebyshev())
    array([[4.]])
    """

    kind = "chebyshev"


class Minkowski(Direct):
    """The p-th root of the sum of p-th powers of absolute differences.

    Parameters
    ----------
    p : float
        At least 1: below it the triangle inequality fails. Infinity is the Chebyshev distance.

    Raises
    ------
    ParameterError
        p is below 1 or no number.

    Examples
    --------
    >>> from manifold_lab.metrics import Minkowski, pairwise
    >>> pairwise([[0.0, 0.0]], [[3.0, -4.0]], metric=Minkowski(3)).round(6)
    array([[4.497941]])
    """

    def __init__(self, p=2.0):
        if (
            isinstance(p, bool | np.bool_)
            or not isinstance(p, int | float | np.number)
            or not p >= 1
        ):
            raise ParameterError(
                f"The 'p' parameter of Minkowski must be a number >= 1. Got {p!r} instead; use "
                "another metric, or a function of two rows, for anything else."
            )
        self.p = float(p)

    def _key(self):
        return (self.p,)

    def __repr__(self):
        return f"Minkowski({self.p:g})"

    def block(self, X, Y, n_jobs=None):
        if np.isinf(self.p):
            return distances("chebyshev", X, Y, n_jobs=n_jobs)
        with np.errstate(under="ignore"):
            D = cdist(X, Y, "minkowski", p=self.p)
        # p-th powers of small differences vanish: such pairs get a scale of their own
        least = 2.0 ** (-900 / self.p)
        low = np.argwhere(least > D)
        for start in range(0, len(low), 2**12):
            i, j = low[start : start + 2**12].T
            apart = np.abs(X[i] - Y[j])
            top = apart.max(axis=1)
            share = np.divide(apart, top[:, None], out=np.zeros_like(apart), where=top[:, None] > 0)
            with np.errstate(under="ignore"):
                D[i, j] = top * (share**self.p).sum(axis=1) ** (1 / self.p)
        return D


class Function(Direct):
    """A function of two rows, symmetric and at least zero, given by the user."""

    homogeneous = False

    def __init__(self, function):
        self.function = function

    def _key(self):
        return (self.function,)

    def __repr__(self):
        return f"Function({getattr(self.function, '__name__', self.function)!s})"

    def block(self, X, Y, n_jobs=None):
        D = cdist(X, Y, self.function)
        wrong = ~(np.isfinite(D) & (D >= 0))
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ParameterError(
                f"The metric {self!r} returned {D[i, j]} for a pair of rows. It must return a "
                "finite number of at least 0 for every pair."
            )
        return D


class Precomputed(Direct):
    """The rows are distances already: row i holds those of sample i from the training samples."""

    precomputed = True
    homogeneous = False

    def block(self, X, Y, n_jobs=None):
        return np.array(X, dtype=np.float64)

    def check_rows(self, X, owner, name="X"):
        if X.size and X.min() < 0:
            i, j = divmod(int(X.argmin()), X.shape[1])
            raise ParameterError(
                f"Negative values in data passed to {owner}: {name}[{i}, {j}] = {X[i, j]} is no "
                "distance. metric='precomputed' needs values >= 0; turn similarities into "
                "distances first."
            )


def check_distances(D, owner, name="X"):
    """Return a matrix of distances among n samples, symmetric to the bit.

    Raises
    ------
    ParameterError
        Not square, a negative entry, a diagonal that is not zero, or an asymmetry of more than
        1e-8 of the largest distance.
    """
    n = len(D)
    if D.shape[1] != n:
        raise ParameterError(
            f"metric='precomputed' needs a square matrix of distances, {name} has shape {D.shape}. "
            f"Pass all {n} x {n} of them, or the metric that makes them."
        )
    Precomputed().check_rows(D, owner, name)
    largest = float(D.max(initial=0))
    diagonal = np.diagonal(D)
    if diagonal.max(initial=0) > 0:
        i = int(diagonal.argmax())
        raise ParameterError(
            f"{name}[{i}, {i}] = {diagonal[i]}, but the distance of a sample from itself is 0. "
            f"{owner} with metric='precomputed' needs distances; similarities must be turned "
            "into distances first."
        )
    apart = np.abs(D - D.T)
    if apart.max(initial=0) > _ASYMMETRY * largest:
        i, j = divmod(int(apart.argmax()), n)
        raise ParameterError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {D[i, j]}, {name}[{j}, {i}] = {D[j, i]}. "
            "Distances are the same both ways; pass (D + D.T) / 2 if that is what is meant."
        )
    return D if not apart.any() else D / 2 + D.T / 2

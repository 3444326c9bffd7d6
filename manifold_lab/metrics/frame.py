"""Map rows to points without losing digits to their offset or their units.

y = 2^-g (x - c) P: c holds an entry of each column (so that differences of whole numbers stay
exact), each column has its own power of two, and g is the one power of two that brings the points
near one. Distances of rows are 2^g times those of the points.
"""

import numpy as np

from manifold_lab.errors import ParameterError
from manifold_lab.metrics.base import scaled

_ROWS = 64  # rows of a product; always so many, for a row's bits must not depend on the others


class Frame:
    """The affine map of a weighted Euclidean or Mahalanobis metric, fitted to samples.

    Parameters
    ----------
    arrays : sequence of ndarray
        The samples that the map is made for; later ones may lie elsewhere.
    factor : ndarray of shape (d, r) or (d,)
        The mantissas of P, or of its diagonal.
    powers : ndarray of shape (d,)
        P is 2^powers[j] factor[j].
    """

    def __init__(self, arrays, factor, powers):
        tops = [np.maximum(A.max(axis=0), -A.min(axis=0)).astype(np.float64) for A in arrays]
        self.into = -np.frexp(np.max(tops, axis=0))[1]
        first = scaled(arrays[0], self.into)
        mean = first.mean(axis=0)
        nearest = np.abs(first - mean).argmin(axis=0)
        self.centre = first[nearest, np.arange(first.shape[1])]
        spread = np.max([np.abs(scaled(A, self.into) - self.centre).max(axis=0) for A in arrays], 0)
        self.spread = -np.frexp(spread)[1]
        # the size of each column's part of P, and of the points as a whole
        size = factor if factor.ndim == 1 else np.abs(factor).max(axis=1, initial=0)
        total = np.frexp(size)[1] + powers - self.into - self.spread
        seen = (size != 0) & (spread != 0)
        self.exponent = int(total[seen].max()) if seen.any() else 0
        shift = powers - self.into - self.spread - self.exponent
        # a column without spread in the samples may have some later: keep its part finite
        shift = np.clip(shift, -2000, 1000 - np.frexp(size)[1])
        self.factor = scaled(factor, shift if factor.ndim == 1 else shift[:, None])

    def __call__(self, X, owner="map"):
        """Return the points of the rows of X, in float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            Y = scaled(scaled(X, self.into) - self.centre, self.spread)
            points = Y * self.factor if self.factor.ndim == 1 else product(Y, self.factor)
        if not np.isfinite(points).all():
            row = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise ParameterError(
                f"Row {row} of X is so far from the samples {owner} was fitted to that its "
                "distances cannot be represented. Drop it, or fit with such rows."
            )
        return points


def product(Y, P):
    """Return Y @ P; the bits of a row depend on that row alone, so equal rows stay equal."""
    n, d = Y.shape
    blocks = -(-n // _ROWS)
    padded = Y
    if blocks * _ROWS != n:
        padded = np.zeros((blocks * _ROWS, d))
        padded[:n] = Y
    return np.matmul(padded.reshape(blocks, _ROWS, d), P).reshape(-1, P.shape[1])[:n]


class Isotropic:
    """The identity: Euclidean search does its own scaling."""

    exponent = 0

    def __call__(self, X, owner="map"):
        return X


class Unit:
    """Rows divided by their length."""

    exponent = 0

    def __call__(self, X, owner="map"):
        X = np.asarray(X, dtype=np.float64)
        top = np.frexp(np.abs(X).max(axis=1, keepdims=True))[1]
        Y = np.ldexp(X, -top)  # by rows: lengths neither overflow nor vanish
        return Y / np.sqrt(np.einsum("ij,ij->i", Y, Y))[:, None]

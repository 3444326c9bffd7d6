"""The matrix of all distances, right at any offset and any scale."""

import numpy as np

from manifold_lab.checks import as_points, check_memory
from manifold_lab.errors import ParameterError
from manifold_lab.metrics.base import exponent, scaled
from manifold_lab.metrics.blocks import distances
from manifold_lab.metrics.direct import check_distances
from manifold_lab.metrics.mapped import Mapped
from manifold_lab.metrics.resolve import as_metric

_PIECE = 2**26  # multiplications of one call of scipy's, which cannot be interrupted
_SAFE = 100  # rows below 2^100 have squares, and differences whose squares exist


def pairwise(X, Y=None, metric="euclidean", *, p=None):
    """Return the distances of all rows of X from all rows of Y.

    Sums of differences, never of products, so a mean of 1e8 costs no digits; powers of two keep
    squares in range. Memory is that of the result: for neighbours alone use
    :class:`manifold_lab.NearestNeighbors`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        With "precomputed" a matrix of distances, which is checked and returned.
    Y : array-like of shape (m_samples, n_features), optional
        None takes X itself: the result is symmetric to the bit, its diagonal zero.
    metric : str, metric object or callable
        See :func:`as_metric`.
    p : float, optional
        The exponent of "minkowski".

    Returns
    -------
    D : ndarray of shape (n_samples, m_samples)
        float32 if X and Y are (sums are float64), else float64.

    Raises
    ------
    ParameterError
        An input or the metric is not acceptable, or X and Y differ in columns.
    MemoryBudgetError
        The result does not fit in memory.

    Examples
    --------
    >>> pairwise([[1e8]], [[1e8 + 0.125]])
    array([[0.125]])
    >>> pairwise([[0.0, 0.0], [1.0, 2.0]], metric="manhattan")
    array([[0., 3.],
           [3., 0.]])
    """
    metric, owner = as_metric(metric, p=p), "pairwise"
    A = as_points(X, owner)
    if metric.precomputed:
        if Y is not None:
            raise ParameterError(
                "pairwise(metric='precomputed') takes one matrix of distances: leave Y out."
            )
        return np.array(check_distances(A, owner))
    B = None if Y is None else as_points(Y, owner, name="Y")
    if B is not None and A.shape[1] != B.shape[1]:
        raise ParameterError(
            f"X has {A.shape[1]} features, Y has {B.shape[1]}. pairwise needs the same columns."
        )
    metric.check_width(A.shape[1], owner)
    metric.check_rows(A, owner)
    if B is not None:
        metric.check_rows(B, owner, "Y")
    n, m = len(A), len(A if B is None else B)
    check_memory(8 * n * m, owner, "Pass fewer rows, or ask NearestNeighbors for the nearest.")
    dtype = A.dtype if B is None else np.result_type(A, B)
    with np.errstate(over="ignore", under="ignore"):  # what cannot be represented is inf or 0
        D = _mapped(metric, A, B, dtype) if isinstance(metric, Mapped) else _direct(metric, A, B)
        return D.astype(dtype, copy=False)


def _mapped(metric, A, B, dtype):
    arrays = [A] if B is None else [A, B]
    frame = metric.frame(*arrays)
    arrays = [frame(C) for C in arrays]
    e = exponent(*arrays)
    if -_SAFE < e < _SAFE:  # squares exist as they are
        e = 0
    arrays = [scaled(C, -e) for C in arrays]
    may_vanish = _may_vanish(arrays)
    if e + frame.exponent == 0 and not may_vanish and metric.plain:
        return distances("euclidean", *arrays, dtype=dtype)
    S, e = distances("squares", *arrays), e + frame.exponent
    low = np.argwhere(S < 2.0**-900) if may_vanish else ()
    D = metric.from_squares(S, e)
    for start in range(0, len(low), 2**12):  # each pair with a scale of its own
        i, j = low[start : start + 2**12].T
        apart = arrays[0][i] - arrays[-1][j]
        own = np.frexp(np.abs(apart).max(axis=1))[1]
        apart = np.ldexp(apart, -own[:, None])
        D[i, j] = metric.from_squares((apart * apart).sum(axis=1), e + own)
    return D


def _direct(metric, A, B):
    arrays = [A] if B is None else [A, B]
    e = exponent(*arrays) if metric.homogeneous else 0
    if -_SAFE < e < _SAFE and metric.kind is not None:
        e = 0
    arrays = [scaled(C, -e) for C in arrays]
    if metric.kind is not None:
        return scaled(distances(metric.kind, *arrays), e)
    return scaled(_filled(metric.block, *arrays), e)


def _filled(block, A, B=None):
    """Return all distances, some rows at a time; of A with itself each pair is computed once."""
    (n, d), m = A.shape, len(A if B is None else B)
    D, height = np.empty((n, m)), max(1, _PIECE // (d * m))
    for start in range(0, n, height):
        stop = min(start + height, n)
        if B is not None:
            D[start:stop] = block(A[start:stop], B)
            continue
        part = block(A[start:stop], A[start:])
        corner = np.triu(part[:, : stop - start], 1)
        part[:, : stop - start] = corner + corner.T
        D[start:stop, start:], D[start:, start:stop] = part, part.T
    return D


def _may_vanish(arrays):
    """True if a difference may be so small that its square does not exist.

    Two numbers differ by 2^-53 of the smaller one at least, unless they are equal.
    """
    for A in arrays:
        sizes = np.abs(A)
        if sizes.min(initial=1, where=sizes > 0) < 2.0**-390:
            return True
    return False

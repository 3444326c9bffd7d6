"""Blocks of distances by direct differences, for the metrics that the kernel knows."""

import time

import numpy as np

from manifold_lab._kernels import levels, threads

LANES = 16  # of a group of points in distances.pyx
ROWS = 64  # of a block
LITTLE_WORK = 4_000_000  # differences that one thread takes sooner than two
_PIECE = 2**27  # differences between two moments at which Ctrl-C is heard, at first


def distances(kind, A, B=None, *, dtype=np.float64, factor=1.0, n_jobs=None):
    """Return ``factor`` times all distances of the rows of A from those of B, or of A itself.

    Parameters
    ----------
    kind : {"squares", "euclidean", "manhattan", "chebyshev"}
    A, B : ndarray of shape (n, d) and (m, d)
        Finite; sums are in float64 whatever their type.
    dtype : float32 or float64, of the result
    factor : float
    n_jobs : int, optional

    Examples
    --------
    >>> distances("manhattan", np.array([[0.0], [2.0], [5.0]]))
    array([[0., 2., 5.],
           [2., 0., 3.],
           [5., 3., 0.]])
    """
    kernel = levels.load("distances")
    A = np.ascontiguousarray(A, dtype=np.float64)
    points = A if B is None else B
    (n, d), m = A.shape, len(points)
    D, groups = np.empty((n, m), dtype), _packed(points)
    number = getattr(kernel.Kind, kind.upper())
    n_threads = threads.count(n_jobs) if n * m * d > LITTLE_WORK else 1
    start, blocks, step = 0, -(-n // ROWS), max(1, _PIECE // (ROWS * m * d))
    while start < blocks:
        began, stop = time.perf_counter(), min(start + step, blocks)
        kernel.fill(A, groups, D, number, factor, B is None, start, stop, n_threads)
        start = stop
        if time.perf_counter() - began < 0.02:
            step *= 2
    return D


def _packed(points):
    """Return points (m, d) in groups (g, d, LANES), zeros behind the last."""
    m, d = points.shape
    padded = np.zeros((-(-m // LANES) * LANES, d))
    padded[:m] = points
    return np.ascontiguousarray(padded.reshape(-1, LANES, d).transpose(0, 2, 1))

"""Principal axes of rows by four routes that agree to rounding.

With Y the centred rows, S = Y'Y and K = YY' share their non-zero eigenvalues lambda = sigma^2;
the axes are the eigenvectors of S, the right singular vectors of Y, or Y'u / sigma for the
eigenvectors u of K. Everything happens in the frame y = x f - s of :mod:`.moments` (pca.1).
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from manifold_lab._interop import is_sparse
from manifold_lab.checks import check_finite, check_memory
from manifold_lab.linalg.moments import BLOCK_BYTES, frame_of, shifted_rows
from manifold_lab.linalg.spectral import (
    BLOCK,
    descending_eigh,
    fix_signs,
    krylov,
    top_eigenpairs,
)

PATIENT_BLOCKS, HASTY_BLOCKS = 40, 16  # products with S an iteration may take


class Axes(NamedTuple):
    """Principal axes and what they hold, in scaled units: lambda = 4^exponent sigma_x^2."""

    n_rows: int
    mean: np.ndarray  # (d,), in the units of x
    exponent: int
    values: np.ndarray  # (r,) eigenvalues of the scatter, largest first, null ones exactly 0
    vectors: np.ndarray  # (r, d) unit rows, zero where the value is 0
    total: float  # trace of the scatter
    residual: float = 0.0  # of an iterative route, relative


def covariance_axes(moments, count, rng):
    """Return the axes by S w_j = lambda_j w_j (10.17) (pca.3); ``count`` None is all of them."""
    S = moments.scatter
    values, vectors = descending_eigh(S) if count is None else top_eigenpairs(S, count, rng)[:2]
    mean = moments.frame.mean(moments.mean)
    return _finished(moments.n_rows, mean, moments.frame, values, vectors.T, np.trace(S))


def svd_axes(X, count, owner):
    """Return the axes by the singular value decomposition Y = U diag(sigma) W' (pca.5)."""
    n, d = X.shape
    check_memory(3 * 8 * n * d, owner, "Use solver='covariance' or 'randomized'.")
    frame, Y, mean = shifted_rows(X, owner)
    Y = Y - mean
    try:
        sigma, W = scipy.linalg.svd(Y, full_matrices=False, check_finite=False)[1:]
    except np.linalg.LinAlgError:  # divide and conquer gave up; the older driver does not
        sigma, W = scipy.linalg.svd(Y, full_matrices=False, lapack_driver="gesvd")[1:]
    values = sigma**2
    total = values.sum()
    return _finished(n, frame.mean(mean), frame, values[:count], W[:count], total)


def gram_axes(X, count, rng, owner):
    """Return the axes by K u = lambda u, w = Y'u / sigma (pca.4), Y taken a few columns at a time."""
    n, d = X.shape
    check_memory(4 * 8 * n * n, owner, "Use solver='covariance' or 'randomized'.")
    check_finite(X, owner)
    frame = frame_of(X, every=1)
    K, mean = np.zeros((n, n)), np.empty(d)
    for columns in _column_blocks(n, d):
        Y, mean[columns] = _centred(X[:, columns], _part(frame, columns))
        K += Y @ Y.T
    values, U = descending_eigh(K) if count is None else top_eigenpairs(K, count, rng)[:2]
    keep = values > _tolerance(n, d) * max(values[0], 0)
    P = np.empty((d, int(keep.sum())))
    for columns in _column_blocks(n, d):
        Y = _centred(X[:, columns], _part(frame, columns))[0]
        P[columns] = Y.T @ U[:, keep]
    W = np.zeros((len(values), d))
    # for small sigma the columns of P / sigma are only nearly orthogonal: QR, largest first
    W[keep] = np.linalg.qr(P / np.sqrt(values[keep]))[0].T
    return _finished(n, frame.mean(mean), frame, values, W, np.trace(K))


def krylov_axes(X, count, rng, owner, patient):
    """Return the axes by a randomised block Krylov space of S (pca.6), S never formed.

    Not ``patient``, it gives up as soon as another route would be faster; ``residual`` tells.
    """
    n, d = X.shape
    if is_sparse(X):
        check_finite(X, owner)
        frame = frame_of(X)
        Y, mean = X.astype(np.float64) * frame.factor, frame.shift
        squares, mean_x = float(Y.data @ Y.data), np.ldexp(mean, -frame.exponent)
    else:
        check_memory(2 * 8 * n * d, owner, "Use solver='covariance'.")
        frame, Y, mean = shifted_rows(X, owner)
        squares, mean_x = float(np.vdot(Y, Y)), frame.mean(mean)

    def scatter_times(V):  # (Y - 1 m')'(Y - 1 m') V; Y keeps its zeros
        U = Y @ V - mean @ V
        return Y.T @ U - np.outer(mean, U.sum(axis=0))

    block = min(4 * BLOCK, max(2 * BLOCK, count + BLOCK // 2))
    limit = block * (PATIENT_BLOCKS if patient else HASTY_BLOCKS)
    values, vectors, residual = krylov(scatter_times, d, count, rng, limit, block, patient)
    total = squares - n * (mean @ mean)
    axes = _finished(n, mean_x, frame, values, vectors.T, total)
    return axes._replace(residual=residual)


def project(X, mean, components):
    """Return (X - mean) components' (10.13) (pca.9) in blocks, centred in float64 before the product."""
    if is_sparse(X):
        return X @ components.T - mean @ components.T
    Z = np.empty((X.shape[0], len(components)), dtype=X.dtype)
    rows = max(256, 2**18 // X.shape[1])
    for start in range(0, len(X), rows):
        block = slice(start, start + rows)
        Z[block] = (X[block] - mean) @ components.T
    return Z


def _centred(X, frame):
    """Return the centred rows in ``frame``, dense, and their mean there."""
    Y = frame.apply(X.toarray() if is_sparse(X) else X)
    mean = Y.mean(axis=0)
    Y -= mean
    return Y, mean


def _part(frame, columns):
    return frame._replace(shift=frame.shift[columns])


def _column_blocks(n, d):
    width = max(64, BLOCK_BYTES // (8 * n))
    return (slice(start, min(start + width, d)) for start in range(0, d, width))


def _tolerance(n, d):
    """Return the relative size at which an eigenvalue is rounding: sums of d, and of chunks of rows."""
    return max(d, min(n, 1024)) * np.finfo(np.float64).eps


def _finished(n, mean, frame, values, vectors, total):
    """Set null eigenvalues and their axes to exact zeros and fix the signs."""
    d = len(mean)
    null = values <= _tolerance(n, d) * max(values[0], 0)
    values, vectors = np.where(null, 0.0, values), np.ascontiguousarray(vectors)
    vectors[null] = 0
    return Axes(n, mean, frame.exponent, values, fix_signs(vectors), float(max(total, 0.0)))

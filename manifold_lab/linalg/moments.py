"""Count, mean and centred scatter of rows: one pass, block by block, right at any offset and scale.

Rows are looked at as y = x f - s, where the *frame* (f, s) is a power of two and a shift near the
mean, taken from about a thousand rows spread over the input: y is near zero and near one, so no
sum of squares cancels, overflows or vanishes. Blocks are merged in order by the formula of Chan,
Golub and LeVeque [chan1983]_; ``merge`` is also what out-of-core fits are made of.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg.blas

from manifold_lab._interop import is_sparse
from manifold_lab._kernels import levels, threads
from manifold_lab.checks import check_memory, raise_not_finite

BLOCK_BYTES = 2**25  # rows looked at between two chances to interrupt
CHUNK = 32  # rows centred together where BLAS does the rest
KERNEL_FEATURES = 512  # above it the register tile no longer beats BLAS


class Frame(NamedTuple):
    """y = x 2^exponent - shift."""

    exponent: int
    shift: np.ndarray  # (d,)

    @property
    def factor(self):
        return np.ldexp(1.0, self.exponent)

    def mean(self, y):
        """Return the x whose y is given."""
        return np.ldexp(self.shift + y, -self.exponent)

    def apply(self, X):
        """Return y for a block of rows, in float64."""
        Y = np.multiply(X, self.factor, dtype=np.float64)
        Y -= self.shift
        return Y


def frame_of(X, every=None):
    """Return the frame of X from ``every``-th row (default: about a thousand of them)."""
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are found by the pass
        if is_sparse(X):
            return _sparse_frame(X)
        sample = X[:: every or max(1, X.shape[0] // 1000)].astype(np.float64)
        exponent = _down_to_one(np.abs(sample).max())
        scaled = np.ldexp(sample, exponent)
        mean = scaled.mean(axis=0)
        extra = _down_to_one(np.abs(scaled - mean).max())
        extra = min(extra, 1000 - exponent)  # the factor itself must be finite
        return Frame(exponent + extra, np.ldexp(mean, extra))


def _sparse_frame(X):
    """Return the frame of a sparse X: its exact mean, and the size of its largest entry."""
    exponent = _down_to_one(np.abs(X.data).max(initial=0))
    scaled = X.astype(np.float64) * np.ldexp(1.0, exponent)
    return Frame(exponent, np.asarray(scaled.sum(axis=0)).ravel() / X.shape[0])


def _down_to_one(top):
    """Return the e with 1/2 <= 2^e top < 1, or 0 where there is none."""
    return int(np.clip(-np.frexp(top)[1], -1000, 1000)) if 0 < top < np.inf else 0


class Moments(NamedTuple):
    """Count, mean and scatter of y = x f - s; immutable."""

    frame: Frame
    n_rows: int
    mean: np.ndarray  # (d,), of y
    scatter: np.ndarray  # (d, d), sum (y - mean)(y - mean)'

    def merge(self, other):
        """Return the moments of both sets of rows, in the frame of the larger numbers."""
        if other.frame is not self.frame:
            frame = min(self.frame, other.frame, key=lambda frame: frame.exponent)
            self, other = self._in(frame), other._in(frame)
        n_rows = self.n_rows + other.n_rows
        share = other.n_rows / n_rows
        step = other.mean - self.mean
        between = np.outer(step, step * (self.n_rows * share))
        scatter = self.scatter + other.scatter
        scatter += between
        return Moments(self.frame, n_rows, self.mean + step * share, scatter)

    def _in(self, frame):
        """Return the same moments in another frame."""
        power = frame.exponent - self.frame.exponent
        mean = np.ldexp(self.frame.shift + self.mean, power) - frame.shift
        return Moments(frame, self.n_rows, mean, np.ldexp(self.scatter, 2 * power))


def moments_of(X, owner, n_jobs=None, frame=None):
    """Return the :class:`Moments` of the rows of X, dense or CSR, in one pass.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    owner : str
        Who asks; named if X holds NaN or infinity.
    n_jobs : int, optional
        Threads of the kernel; the result has the same bits for any.
    frame : Frame, optional
        The frame of earlier blocks, so that merging is exact.

    Raises
    ------
    ParameterError
        X is not finite.
    MemoryBudgetError
        The (d, d) scatter does not fit.
    """
    d = X.shape[1]
    check_memory(3 * 8 * d * d, owner, "Reduce the number of features, or use solver='randomized'.")
    total = _one_pass(X, n_jobs, frame or frame_of(X))
    if not np.isfinite(total.scatter).all():
        raise_not_finite(X, owner)
        # finite after all: the rows of the sample were too small or too close to judge by
        total = _one_pass(X, n_jobs, frame_of(X, every=1))
    return total


def _one_pass(X, n_jobs, frame):
    """Pool the scatter within short runs of rows, then add that between their means (pca.2)."""
    n, d = X.shape
    rows = max(256, BLOCK_BYTES // (8 * d))
    within, means, counts = np.zeros((d, d)), [], []
    add = _add_by_kernel if d <= KERNEL_FEATURES else _add_by_blas
    with np.errstate(invalid="ignore", over="ignore"):  # looked for in the result
        for start in range(0, n, rows):
            block = X[start : start + rows]
            block = block.toarray() if is_sparse(block) else block
            for part, into in zip(add(block, frame, within, n_jobs), (means, counts), strict=True):
                into.append(part)
        means, counts = np.vstack(means), np.concatenate(counts)
        mean = counts @ means / n
        between = np.sqrt(counts)[:, None] * (means - mean)
        if add is _add_by_blas:
            _mirror(within)
        within += between.T @ between
    return Moments(frame, n, mean, within)


def _add_by_kernel(X, frame, within, n_jobs):
    """Add the scatter of X within chunks to ``within``; return the chunks' means and counts."""
    chunk = max(32, min(512, 2**15 // X.shape[1]))
    kernel, n_threads = levels.load("scatter"), threads.count(n_jobs)
    scatter, means = kernel.chunk_scatter(X, frame.shift, frame.factor, chunk, n_threads)
    within += scatter
    return means, _chunk_sizes(len(X), chunk)


def _add_by_blas(X, frame, within, n_jobs):
    """The same with the product left to BLAS, which writes only the upper triangle."""
    kernel, n_threads = levels.load("scatter"), threads.count(n_jobs)
    Y, means = kernel.centred_chunks(X, frame.shift, frame.factor, CHUNK, n_threads)
    scipy.linalg.blas.dsyrk(1.0, Y.T, beta=1.0, c=within.T, overwrite_c=True, lower=True)
    return means, _chunk_sizes(len(X), CHUNK)


def _chunk_sizes(n, chunk):
    sizes = np.full(-(-n // chunk), chunk)
    sizes[-1] -= len(sizes) * chunk - n
    return sizes


def _mirror(S, width=256):
    """Copy the upper triangle of S to the lower one, in squares that stay in the cache."""
    for i in range(0, len(S), width):
        corner = S[i : i + width, i : i + width]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        for j in range(i + width, len(S), width):
            S[j : j + width, i : i + width] = S[i : i + width, j : j + width].T


def shifted_rows(X, owner, n_jobs=None):
    """Return ``(frame, Y, mean)``: the rows y = x f - s, dense, and their mean, near zero.

    Raises
    ------
    ParameterError
        X is not finite.
    """
    for frame in (frame_of(X), None):
        frame = frame or frame_of(X, every=1)
        with np.errstate(invalid="ignore", over="ignore"):
            Y = frame.apply(X)
            mean = Y.mean(axis=0)
        if np.isfinite(mean).all():
            return frame, Y, mean
        raise_not_finite(X, owner)
    raise AssertionError("rows that are finite have a finite frame")

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
        weighted = step * np.sqrt(self.n_rows * share)
        between = np.outer(weighted, weighted)  # symmetric to the bit
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
    """Pool the scatter within chunks of rows, then add that between their means (pca.2)."""
    n, d = X.shape
    by_kernel = d <= KERNEL_FEATURES
    chunk = max(32, min(512, 2**15 // d)) if by_kernel else 32
    rows = max(256, BLOCK_BYTES // (8 * d)) // chunk * chunk  # only the last chunk is shorter
    within, means = np.zeros((d, d)), []
    scratch = np.empty((0, d) if by_kernel else (min(n, rows), d))
    kernel = levels.load("scatter")
    # where BLAS does the work, a second team of threads would only spin against its own
    n_threads = threads.count(n_jobs) if by_kernel else 1
    with np.errstate(invalid="ignore", over="ignore"):  # looked for in the result
        for start in range(0, n, rows):
            block = X[start : start + rows]
            block = block.toarray() if is_sparse(block) else block
            arguments = (block, frame.shift, frame.factor, chunk, n_threads)
            if by_kernel:
                scatter, mean = kernel.chunk_scatter(*arguments)
                within += scatter
            else:  # the product is better left to BLAS, which fills only the upper triangle
                Y = scratch[: block.shape[0]]
                mean = kernel.centred_chunks(*arguments, Y)
                _add_product(within, Y)
            means.append(mean)
        pooled = _pooled_by_kernel if by_kernel else _pooled_by_blas
        return pooled(within, np.vstack(means), n, chunk, frame)


def _pooled_by_kernel(within, means, n, chunk, frame):
    """Add the scatter between chunks, all of ``chunk`` rows but the last, without BLAS."""
    last = n - chunk * (len(means) - 1)
    total = Moments(frame, last, means[-1], within)
    if len(means) == 1:
        return total
    kernel, d = levels.load("scatter"), means.shape[1]
    between, mean = kernel.chunk_scatter(means[:-1], np.zeros(d), 1.0, len(means) - 1, 1)
    return Moments(frame, n - last, mean[0], chunk * between).merge(total)


def _pooled_by_blas(within, means, n, chunk, frame):
    """The same in place, for a scatter too large to copy lightly."""
    counts = np.full(len(means), chunk)
    counts[-1] -= len(means) * chunk - n
    mean = counts @ means / n
    _add_product(within, np.sqrt(counts)[:, None] * (means - mean))
    _mirror(within)
    return Moments(frame, n, mean, within)


def _add_product(S, Y):
    """Add the upper triangle of Y'Y to S."""
    scipy.linalg.blas.dsyrk(1.0, Y.T, beta=1.0, c=S.T, overwrite_c=True, lower=True)


def _mirror(S, width=256):
    """Copy the upper triangle of S to the lower one, in squares that stay in the cache."""
    for i in range(0, len(S), width):
        corner = S[i : i + width, i : i + width]
        corner[:] = np.triu(corner) + np.triu(corner, 1).T
        for j in range(i + width, len(S), width):
            S[j : j + width, i : i + width] = S[i : i + width, j : j + width].T


def shifted_rows(X, owner):
    """Return ``(frame, Y, mean)``: the rows y = x f - s, dense, and their mean.

    Y is X itself, not to be written to, where X is float64 and near enough to zero and to one
    that a mean subtracted afterwards costs no more than a digit.

    Raises
    ------
    ParameterError
        X is not finite.
    """
    frame = frame_of(X)
    near = np.abs(frame.shift).max() <= 8 and abs(frame.exponent) <= 300
    with np.errstate(invalid="ignore", over="ignore"):
        if near and X.dtype == np.float64:
            frame, Y = Frame(0, np.zeros(X.shape[1])), X
        else:
            Y = frame.apply(X)
        mean = Y.mean(axis=0)
    if not np.isfinite(mean).all():
        raise_not_finite(X, owner)
        # finite after all: the rows of the sample were too small or too close to judge by
        frame = frame_of(X, every=1)
        Y = frame.apply(X)
        mean = Y.mean(axis=0)
    return frame, Y, mean

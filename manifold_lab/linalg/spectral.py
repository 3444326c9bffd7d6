"""Top eigenpairs of a symmetric matrix or operator: ordered, checked, never NaN.

Few pairs of a large matrix come from a block Krylov space with full reorthogonalisation and one
Rayleigh-Ritz step [saad2011]_; many pairs, and whatever does not converge, from LAPACK.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from manifold_lab._kernels import levels

TOLERANCE = 1e-12  # residual |A v - lambda v|, relative to the largest eigenvalue
ONE_THREAD_SIZE = 160  # up to it (twice for few pairs) on one thread, see tridiagonal.pyx
DENSE_SIZE = 256  # below it LAPACK is faster than anything clever
BLOCK = 8  # vectors multiplied at once: a product then costs little more than one with a vector
MAX_BASIS = 800  # columns of the Krylov basis before LAPACK takes over
TINY = np.finfo(np.float64).tiny


class Eigenpairs(NamedTuple):
    """Eigenvalues, largest first, unit eigenvectors as columns, and how well they fit."""

    values: np.ndarray
    vectors: np.ndarray
    residual: float  # largest |A v - lambda v|, relative to the largest eigenvalue


def descending_eigh(A, count=None):
    """Return the ``count`` largest eigenpairs of a symmetric matrix, or all of them."""
    n = len(A)
    wanted = n if count is None else count
    if n <= ONE_THREAD_SIZE * (1 + (wanted <= n // 4)):
        values, vectors = _tridiagonal_eigh(A, wanted)
    elif wanted <= n // 4:  # beyond, bisection costs more than it saves
        values, vectors = scipy.linalg.eigh(
            A, subset_by_index=(n - wanted, n - 1), check_finite=False
        )
    else:
        values, vectors = scipy.linalg.eigh(A, driver="evd", check_finite=False)
    return values[::-1][:wanted], vectors[:, ::-1][:, :wanted]


def _tridiagonal_eigh(A, wanted):
    """Return the largest eigenpairs, ascending, without waking the threads of BLAS."""
    n, kernel = len(A), levels.load("tridiagonal")
    diagonal, off, V, tau = kernel.reduce(np.ascontiguousarray(A))
    try:
        values, Y = scipy.linalg.eigh_tridiagonal(
            diagonal, off, select="i", select_range=(n - wanted, n - 1), check_finite=False
        )
    except np.linalg.LinAlgError:  # rare, and not worth a failure
        values, vectors = scipy.linalg.eigh(A, driver="evd", check_finite=False)
        return values[n - wanted :], vectors[:, n - wanted :]
    rows = np.ascontiguousarray(Y.T)
    kernel.apply(V, tau, rows)
    return values, rows.T


def top_eigenpairs(A, count, rng):
    """Return the ``count`` largest eigenpairs of a symmetric matrix.

    The rule is measured: an iteration for few pairs of a large matrix, LAPACK otherwise.
    """
    n = len(A)
    if n > DENSE_SIZE and count <= n // 16:
        pairs = krylov(lambda V: A @ V, n, count, rng, max_basis=n // 8)
        if pairs.residual <= TOLERANCE:
            return pairs
    values, vectors = descending_eigh(A, count)
    return Eigenpairs(values, vectors, residual=0.0)


def krylov(operator, n, count, rng, max_basis=MAX_BASIS, block=BLOCK, patient=False):
    """Return the ``count`` largest eigenpairs of a positive semidefinite operator.

    Parameters
    ----------
    operator : callable
        Maps an (n, b) block V to A V.
    n, count : int
    rng : numpy.random.Generator
        Draws the start block.
    max_basis : int
        Size of the basis at which to stop, converged or not.
    block : int
        Number of vectors multiplied at once.
    patient : bool
        Go on to ``max_basis`` even if it is plain that the residuals will not get there.

    Returns
    -------
    Eigenpairs
        Their residual is infinite if a larger eigenvalue was missed, as a space grown from few
        vectors may where more are equal.
    """
    limit = max(max_basis, 2 * count + 2 * block)
    limit = n if limit >= n else limit - limit % block  # whole blocks: the residual needs them
    space, test, before = _Space(operator, n, limit, block, rng), 2 * count, None
    patient = patient or limit == n  # where the space is full, the pairs are exact
    while True:
        space.grow()
        if not space.full and space.size < test:
            continue
        values, vectors, residual = space.ritz(count)
        now = space.size, residual
        if space.full or residual <= TOLERANCE:
            break
        if not patient and before and _hopeless(before, now, limit):
            break
        before, test = now, max(space.size + 2 * block, int(1.2 * space.size))
    if space.size < n and residual <= TOLERANCE and count > block:
        residual = max(residual, _missed(operator, n, values, vectors, rng))
    return Eigenpairs(values, vectors, residual)


def _hopeless(before, now, limit):
    """True if the residuals of two (size, residual) fall too slowly to reach the tolerance."""
    if now[0] < limit // 4:
        return False
    rate = (np.log(before[1]) - np.log(now[1])) / (now[0] - before[0])
    return now[0] + np.log(now[1] / TOLERANCE) / max(rate, TINY) > 1.5 * limit


class _Space:
    """A block Krylov space of a symmetric operator: basis Q and the band matrix T = Q'AQ."""

    def __init__(self, operator, n, limit, block, rng):
        self.operator, self.n, self.limit = operator, n, limit
        self.Q = np.empty((n, limit), order="F")
        self.T = np.zeros((limit, limit))
        self.size = 0
        self.next = np.linalg.qr(rng.standard_normal((n, min(n, block))))[0]

    @property
    def full(self):
        return self.size == self.limit

    def grow(self):
        """Add one block."""
        old, new = self.size, min(self.size + self.next.shape[1], self.limit)
        V = self.Q[:, old:new] = self.next[:, : new - old]
        self.size, Q = new, self.Q[:, :new]
        W = self.operator(V)
        H = Q.T @ W
        self.T[:new, old:new], self.T[old:new, :new] = H, H.T
        self.next, self.coupling = _orthonormal_rest(W - Q @ H, Q)
        self.last = slice(old, new)

    def ritz(self, count):
        """Return the best eigenpairs in the space (Rayleigh-Ritz) and their largest residual."""
        T = self.T[: self.size, : self.size]
        values, Y = descending_eigh((T + T.T) / 2, min(count, self.size))
        # A Q Y - Q Y L = V R Y_last: the residual costs no further product
        residual = np.linalg.norm(self.coupling @ Y[self.last], axis=0).max()
        relative = 0.0 if self.size == self.n else residual / max(values[0], TINY)
        return values, self.Q[:, : self.size] @ Y, relative


def _missed(operator, n, values, vectors, rng):
    """Return infinity if an eigenvalue above the smallest of ``values`` was left out, else 0."""

    def deflated(V):
        return operator(V) - vectors @ (values[:, None] * (vectors.T @ V))

    space = _Space(deflated, n, 6 * BLOCK, BLOCK, rng)
    while not space.full:
        space.grow()
    return np.inf if space.ritz(1)[0][0] > values[-1] * (1 + 1e-8) else 0.0


def _orthonormal_rest(W, Q):
    """Return V, R with W = V R, V orthonormal and orthogonal to Q even where W is rounding noise."""
    V, R = _thin_qr(W)
    V, again = _thin_qr(V - Q @ (Q.T @ V))
    return V, again @ R


def _thin_qr(W):
    """Return V, R with W = V R, by Cholesky of W'W where that is safe: two products, no panels.

    Done twice, as above, it is orthonormal to rounding if the columns, scaled to one, are well
    enough conditioned; if not, Householder's way.
    """
    size = np.sqrt(np.einsum("ij,ij->j", W, W))
    if size.min() > 0:
        C = (W.T @ W) / np.outer(size, size)
        try:
            L = np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            L = np.zeros_like(C)
        if np.diag(L).min() > 1e-4:
            return (W / size) @ np.linalg.inv(L).T, L.T * size
    return np.linalg.qr(W)


def fix_signs(vectors, band=1e-8):
    """Make the largest |entry| of each row positive, in place; near-ties go to the lowest index."""
    magnitude = np.abs(vectors)
    top = magnitude.max(axis=1, keepdims=True, initial=0)
    first = np.argmax(magnitude >= top * (1 - band), axis=1)
    vectors[vectors[np.arange(len(vectors)), first] < 0] *= -1
    return vectors

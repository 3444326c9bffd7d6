"""Top eigenpairs of a symmetric matrix or operator: ordered, checked, never NaN.

Few pairs of a large matrix come from a block Krylov space with full reorthogonalisation and one
Rayleigh-Ritz step [saad2011]_; many pairs, and whatever does not converge, from LAPACK.
"""

import numpy as np
import scipy.linalg

TOLERANCE = 1e-12  # residual |A v - lambda v|, relative to the largest eigenvalue
DENSE_SIZE = 256  # below it LAPACK is faster than anything clever
BLOCK = 8  # vectors multiplied at once: a product then costs little more than one with a vector
MAX_BASIS = 800  # columns of the Krylov basis before LAPACK takes over
TINY = np.finfo(np.float64).tiny


def descending_eigh(A):
    """Return all eigenpairs ``(values, vectors)`` of a symmetric matrix, largest first."""
    values, vectors = scipy.linalg.eigh(A, driver="evd", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def top_eigenpairs(A, count, rng):
    """Return the ``count`` largest eigenpairs ``(values, vectors)`` of a symmetric matrix.

    The rule is measured: an iteration for few pairs of a large matrix, LAPACK otherwise.
    """
    n = A.shape[0]
    if n > DENSE_SIZE and count <= n // 16:
        values, vectors, residual = krylov(lambda V: A @ V, n, count, rng)
        if residual <= TOLERANCE:
            return values, vectors
    values, vectors = descending_eigh(A)
    return values[:count], vectors[:, :count]


def krylov(operator, n, count, rng, max_basis=MAX_BASIS):
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

    Returns
    -------
    values, vectors : ndarray
        Largest first.
    residual : float
        Largest |A v - lambda v|, relative to the largest eigenvalue; infinite if a larger
        eigenvalue was missed, as a space grown from ``BLOCK`` vectors may if more are equal.
    """
    limit = max(max_basis, count + BLOCK)
    limit = n if limit >= n else limit - limit % BLOCK  # whole blocks: the residual needs them
    space = _Space(operator, n, limit, rng)
    test = 2 * count
    while True:
        space.grow()
        if space.full or space.size >= test:
            values, vectors, residual = space.ritz(count)
            if space.full or residual <= TOLERANCE:
                break
            test = max(space.size + 4 * BLOCK, int(1.25 * space.size))
    if space.size < n and residual <= TOLERANCE and count > BLOCK:
        residual = max(residual, _missed(operator, n, values, vectors, rng))
    return values, vectors, residual


class _Space:
    """A block Krylov space of a symmetric operator: basis Q and the band matrix T = Q'AQ."""

    def __init__(self, operator, n, limit, rng):
        self.operator, self.n, self.limit = operator, n, limit
        self.Q = np.empty((n, limit), order="F")
        self.T = np.zeros((limit, limit))
        self.size = 0
        self.next = np.linalg.qr(rng.standard_normal((n, min(n, BLOCK))))[0]

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
        low = max(0, self.size - count)
        values, Y = scipy.linalg.eigh(
            (T + T.T) / 2, subset_by_index=(low, self.size - 1), check_finite=False
        )
        values, Y = values[::-1], Y[:, ::-1]
        # A Q Y - Q Y L = V R Y_last: the residual costs no further product
        residual = np.linalg.norm(self.coupling @ Y[self.last], axis=0).max()
        relative = 0.0 if self.size == self.n else residual / max(values[0], TINY)
        return values, self.Q[:, : self.size] @ Y, relative


def _missed(operator, n, values, vectors, rng):
    """Return infinity if an eigenvalue above the smallest of ``values`` was left out, else 0."""

    def deflated(V):
        return operator(V) - vectors @ (values[:, None] * (vectors.T @ V))

    space = _Space(deflated, n, 6 * BLOCK, rng)
    while not space.full:
        space.grow()
    return np.inf if space.ritz(1)[0][0] > values[-1] * (1 + 1e-8) else 0.0


def _orthonormal_rest(W, Q):
    """Return V, R with W = V R, V orthonormal and orthogonal to Q even where W is rounding noise."""
    V, R = np.linalg.qr(W)
    V, again = np.linalg.qr(V - Q @ (Q.T @ V))
    return V, again @ R


def fix_signs(vectors, band=1e-8):
    """Make the largest |entry| of each row positive, in place; near-ties go to the lowest index."""
    magnitude = np.abs(vectors)
    top = magnitude.max(axis=1, keepdims=True, initial=0)
    first = np.argmax(magnitude >= top * (1 - band), axis=1)
    vectors[vectors[np.arange(len(vectors)), first] < 0] *= -1
    return vectors

"""Top eigenpairs of a symmetric matrix or operator: ordered, checked, never NaN.

Few pairs of a large matrix come from a block Krylov space with full reorthogonalisation and one
Rayleigh-Ritz step [saad2011]_; many pairs, and whatever does not converge, from LAPACK.
"""

import numpy as np
import scipy.linalg

TOLERANCE = 1e-12  # residual |A v - lambda v|, relative to the largest eigenvalue
DENSE_SIZE = 256  # below it LAPACK is faster than anything clever
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
        Largest |A v - lambda v|, relative to the largest eigenvalue.
    """
    block = min(n, max(8, count + count // 4))
    Q, T = np.empty((n, 0)), np.empty((0, 0))
    V = np.linalg.qr(rng.standard_normal((n, block)))[0]
    while True:
        old, Q = Q.shape[1], np.hstack([Q, V])
        W = operator(V)
        H = Q.T @ W  # column block of T = Q' A Q
        T = np.block([[T, H[:old]], [H[:old].T, H[old:]]])
        V, R = _orthonormal_rest(W - Q @ H, Q)
        values, Y = np.linalg.eigh((T + T.T) / 2)
        values, Y = values[::-1][:count], Y[:, ::-1][:, :count]
        # A Q Y - Q Y L = V R Y_last: the residual costs no further product
        residual = np.linalg.norm(R @ Y[old:], axis=0).max() / max(values[0], TINY)
        room = min(n, max_basis) - Q.shape[1]
        done = Q.shape[1] == n or (Q.shape[1] >= count and residual <= TOLERANCE)
        if done or room < min(block, n - Q.shape[1]):
            return values, Q @ Y, 0.0 if Q.shape[1] == n else residual
        V = V[:, :room]


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

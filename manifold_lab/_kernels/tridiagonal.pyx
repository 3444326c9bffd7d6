"""Householder reduction of a small symmetric matrix, A = Q T Q': docs/methods/pca.md (pca.3).

Step k reflects row k onto (alpha, 0, ..., 0) by H = I - tau v v' and updates the rest by
A <- A - v w' - w v', w = p - (tau/2)(p'v) v, p = tau A v. Time 2 n^3, scratch n. On one thread
and without BLAS: at this size the threads of BLAS cost more than they give, and go on spinning
against the kernel that made A. Called by linalg/spectral.py. Bench: kernels.Tridiagonal.
"""

import numpy as np

from libc.math cimport sqrt

from manifold_lab._kernels.types cimport index


def reduce(const double[:, ::1] A not None):
    """Return ``(diagonal, off_diagonal, V, tau)`` of T and of the reflections that make Q.

    Row k of V holds the vector v of step k from column k + 1 on.
    """
    cdef index n = A.shape[0], k
    V, tau, p, off = np.array(A), np.zeros(n), np.zeros(n), np.zeros(max(n - 1, 0))
    cdef double[:, ::1] a = V
    cdef double[::1] t = tau, w = p, e = off
    with nogil:
        for k in range(n - 1):
            e[k] = reflect(&a[0, 0], n, k, &t[k], &w[0])
    return np.diag(V).copy(), off, V, tau


def apply(const double[:, ::1] V not None, const double[::1] tau not None,
          double[:, ::1] Y not None):
    """Replace each row y of Y by Q y, in place."""
    cdef index n = V.shape[0], r, k, j
    cdef double s
    with nogil:
        for r in range(Y.shape[0]):
            for k in range(n - 2, -1, -1):
                s = 0
                for j in range(k + 1, n):
                    s += V[k, j] * Y[r, j]
                s *= tau[k]
                for j in range(k + 1, n):
                    Y[r, j] -= s * V[k, j]


cdef double reflect(double* A, index n, index k, double* tau, double* w) noexcept nogil:
    """Do step k on A; return the entry of T beside the diagonal."""
    cdef index i, j
    cdef double* v = A + k * n
    cdef double rest = 0, alpha, square, s = 0
    for j in range(k + 2, n):
        rest += v[j] * v[j]
    if rest == 0:
        tau[0] = 0
        return v[k + 1]
    alpha = sqrt(v[k + 1] * v[k + 1] + rest)
    if v[k + 1] > 0:
        alpha = -alpha
    v[k + 1] -= alpha
    square = v[k + 1] * v[k + 1] + rest
    tau[0] = 2 / square
    for j in range(k + 1, n):
        w[j] = 0
    for i in range(k + 1, n):          # p = tau A v, by rows: A is symmetric
        for j in range(k + 1, n):
            w[j] += v[i] * A[i * n + j]
    for j in range(k + 1, n):
        w[j] *= tau[0]
        s += w[j] * v[j]
    s *= tau[0] / 2
    for j in range(k + 1, n):
        w[j] -= s * v[j]
    for i in range(k + 1, n):
        for j in range(k + 1, n):
            A[i * n + j] -= v[i] * w[j] + w[i] * v[j]
    return alpha

"""By-value facade over scipy.linalg.cython_blas and cython_lapack; no other file cimports them.

Arrays are row-major. LAPACK reads the same memory column by column, so a symmetric matrix is
itself, and its lower triangle, for us, is LAPACK's 'U'. Integers are taken by value and copied
to ``blas_int``; a return value of 0 is success, anything else LAPACK's ``info``.
Pointers lose their const here and nowhere else: scipy's declarations have none.
"""

from scipy.linalg cimport cython_blas, cython_lapack

import numpy as np

from manifold_lab._kernels.types cimport blas_int, index, real


cdef int gram_rows(index n, index d, const real* A, index lda, real* G, index ldg) noexcept nogil:
    """G = A A' for the n rows of A; only the lower triangle is written."""
    cdef blas_int n_ = <blas_int> n, k_ = <blas_int> d, lda_ = <blas_int> lda, ldc_ = <blas_int> ldg
    cdef real one = 1, zero = 0
    if real is double:
        cython_blas.dsyrk(b"U", b"T", &n_, &k_, &one, <double*> A, &lda_, &zero, G, &ldc_)
    else:
        cython_blas.ssyrk(b"U", b"T", &n_, &k_, &one, <float*> A, &lda_, &zero, G, &ldc_)
    return 0


cdef int solve_spd(index n, index m, real* G, index ldg, real* B, index ldb) noexcept nogil:
    """Solve G x = b for the m rows b of B in place, by Cholesky of G's lower triangle."""
    cdef blas_int n_ = <blas_int> n, m_ = <blas_int> m, info = 0
    cdef blas_int ldg_ = <blas_int> ldg, ldb_ = <blas_int> ldb
    if real is double:
        cython_lapack.dposv(b"U", &n_, &m_, G, &ldg_, B, &ldb_, &info)
    else:
        cython_lapack.sposv(b"U", &n_, &m_, G, &ldg_, B, &ldb_, &info)
    return info


def gram_rows_of(const real[:, ::1] A not None, index width):
    """Return A A' through :func:`gram_rows`, stored with ``width`` >= n columns; for tests."""
    G = np.full((A.shape[0], width), np.nan, dtype=np.asarray(A).dtype)
    cdef real[:, ::1] out = G
    with nogil:
        gram_rows(A.shape[0], A.shape[1], &A[0, 0], A.shape[1], &out[0, 0], width)
    return G


def solve_spd_of(const real[:, :] G not None, const real[:, ::1] B not None):
    """Return ``(x, info)`` of G x = b for the rows b of B through :func:`solve_spd`; for tests.

    Rows of G may be longer than n: the leading dimension is the row stride.
    """
    dtype = np.asarray(B).dtype
    cdef index n = G.shape[0], width = G.strides[0] // G.itemsize
    square, rows = np.zeros((n, width), dtype=dtype), np.array(B, copy=True)
    square[:, :n] = G
    cdef real[:, ::1] g = square, b = rows
    cdef int info
    with nogil:
        info = solve_spd(n, b.shape[0], &g[0, 0], width, &b[0, 0], n)
    return rows, info

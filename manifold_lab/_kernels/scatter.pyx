"""Scatter of rows about the means of short chunks, in one pass: docs/methods/pca.md (pca.2).

With y = x f - s (f a power of two, s a shift near the mean), chunk c of the rows has the mean
m_c and adds W = sum_c sum_{i in c} (y_i - m_c)(y_i - m_c)'. A NaN or an infinity shows in m_c.
Time n d (d + 8), scratch 16 (chunk + d) d. Called by linalg/moments.py. Bench: kernels.Scatter.
"""

from cython.parallel cimport prange

import numpy as np

from manifold_lab._kernels.types cimport index, real

cdef extern from *:
    """
    #ifdef __AVX512F__
    #define MANIFOLD_LAB_WIDE 16
    #else
    #define MANIFOLD_LAB_WIDE 8
    #endif
    """
    const int WIDE "MANIFOLD_LAB_WIDE"   # columns of a tile: its 8 x WIDE sums fill the registers


def chunk_scatter(const real[:, ::1] X not None, const double[::1] shift not None, double factor,
                  index chunk, int n_threads):
    """Return ``(W, means)``: the pooled scatter within chunks (d, d), and the chunks' means (c, d).

    The rows are dealt to at most 16 groups of chunks, whatever the number of threads, and the
    groups are added in order: the same bits for any ``n_threads``.
    """
    cdef index n = X.shape[0], d = X.shape[1], ld = (d + 7) // 8 * 8
    cdef index n_chunks = (n + chunk - 1) // chunk
    cdef index n_groups = min(16, n_chunks), per_group = (n_chunks + n_groups - 1) // n_groups
    means = np.zeros((n_chunks, d))
    sums = _aligned(n_groups, ld * ld)
    cdef double[:, ::1] M = means, S = sums, Y = _aligned(n_groups, chunk * ld)
    cdef index g
    for g in prange(n_groups, nogil=True, schedule="dynamic", num_threads=n_threads):
        group_scatter(&X[0, 0], &shift[0], factor, n, d, ld, chunk, g * per_group,
                      min((g + 1) * per_group, n_chunks), &M[0, 0], &Y[g, 0], &S[g, 0])
    total = sums[0]
    for part in sums[1:]:
        total += part
    W = np.triu(total.reshape(ld, ld)[:d, :d])
    return W + np.triu(W, 1).T, means


def centred_chunks(const real[:, ::1] X not None, const double[::1] shift not None, double factor,
                   index chunk, int n_threads, double[:, ::1] out not None):
    """Write the rows y = x f - s less the mean of their chunk to ``out``; return those means.

    For the shapes where W = Y'Y is better left to BLAS.
    """
    cdef index n = X.shape[0], d = X.shape[1], n_chunks = (n + chunk - 1) // chunk, c
    means = np.zeros((n_chunks, d))
    cdef double[:, ::1] M = means
    for c in prange(n_chunks, nogil=True, schedule="static", num_threads=n_threads):
        centred_chunk(&X[c * chunk, 0], &shift[0], factor, min(chunk, n - c * chunk), d, d,
                      &M[c, 0], &out[c * chunk, 0])
    return means


def _aligned(rows, columns):
    """Zeros whose rows start on cache lines, so that no vector load straddles two."""
    flat = np.zeros(rows * columns + 8)
    skip = (-flat.ctypes.data % 64) // 8
    return flat[skip:skip + rows * columns].reshape(rows, columns)


cdef void group_scatter(const real* X, const double* shift, double factor, index n, index d,
                        index ld, index chunk, index first, index last, double* means, double* Y,
                        double* S) noexcept nogil:
    cdef index c, i, j, rows
    for c in range(first, last):
        rows = min(chunk, n - c * chunk)
        centred_chunk(X + c * chunk * d, shift, factor, rows, d, ld, means + c * d, Y)
        for i in range(0, ld, 8):
            j = i
            while j + WIDE <= ld:
                tile(Y, ld, rows, i, j, WIDE, S)
                j += WIDE
            if j < ld:
                tile(Y, ld, rows, i, j, 8, S)


cdef void centred_chunk(const real* X, const double* shift, double factor, index rows, index d,
                        index ld, double* mean, double* Y) noexcept nogil:
    """Y = y - m with y = X f - s and m the column means of y."""
    cdef index i, j
    cdef double y
    for i in range(rows):
        for j in range(d):
            y = X[i * d + j] * factor - shift[j]
            Y[i * ld + j] = y
            mean[j] += y
    for j in range(d):
        mean[j] /= rows
    for i in range(rows):
        for j in range(d):
            Y[i * ld + j] -= mean[j]


cdef inline void tile(const double* Y, index ld, index rows, index i, index j, int width,
                      double* S) noexcept nogil:
    """S[i:i+8, j:j+width] += Y[:, i:i+8].T @ Y[:, j:j+width], the sums kept in registers."""
    cdef double c0[16]
    cdef double c1[16]
    cdef double c2[16]
    cdef double c3[16]
    cdef double c4[16]
    cdef double c5[16]
    cdef double c6[16]
    cdef double c7[16]
    cdef const double* a = Y + i
    cdef const double* b = Y + j
    cdef double a0, a1, a2, a3, a4, a5, a6, a7
    cdef index _r
    cdef int t
    for t in range(width):
        c0[t] = c1[t] = c2[t] = c3[t] = c4[t] = c5[t] = c6[t] = c7[t] = 0
    for _r in range(rows):
        a0 = a[0]
        a1 = a[1]
        a2 = a[2]
        a3 = a[3]
        a4 = a[4]
        a5 = a[5]
        a6 = a[6]
        a7 = a[7]
        for t in range(width):
            c0[t] += a0 * b[t]
            c1[t] += a1 * b[t]
            c2[t] += a2 * b[t]
            c3[t] += a3 * b[t]
            c4[t] += a4 * b[t]
            c5[t] += a5 * b[t]
            c6[t] += a6 * b[t]
            c7[t] += a7 * b[t]
        a += ld
        b += ld
    S += i * ld + j
    for t in range(width):
        S[t] += c0[t]
        S[ld + t] += c1[t]
        S[2 * ld + t] += c2[t]
        S[3 * ld + t] += c3[t]
        S[4 * ld + t] += c4[t]
        S[5 * ld + t] += c5[t]
        S[6 * ld + t] += c6[t]
        S[7 * ld + t] += c7[t]

"""All shortest paths of a dense graph by Floyd's algorithm, in blocks and in place.

d_ij = min(d_ij, d_ik + d_kj) for k = 0, 1, ...: a block of k at a time, first among themselves,
then along their rows, then for all other rows. Time n^3 additions, scratch one block.
Called by graph/geodesic.py. Bench: kernels.Floyd.
"""

from cython.parallel cimport prange

import numpy as np

from manifold_lab._kernels.lanes cimport WIDTH, min_plus
from manifold_lab._kernels.types cimport index

cdef enum:
    ROWS = 32   # that share the block's columns while these are in the cache

width = WIDTH   # D has a multiple of so many columns; those beyond n are infinite


def close_block(double[:, ::1] D not None, index first, index last, int n_threads):
    """Let all paths that start at vertices ``first`` to ``last`` pass through these vertices."""
    cdef index ld = D.shape[1], size = last - first, c, i, j, k
    cdef double via
    with nogil:
        for k in range(first, last):
            for i in range(first, last):
                via = D[i, k]
                for j in range(first, last):
                    if via + D[k, j] < D[i, j]:
                        D[i, j] = via + D[k, j]
    # a copy, because one of the threads writes to these columns while all read them
    cdef double[:, ::1] closed = np.array(D[first:last, first:last])
    for c in prange(ld // WIDTH, nogil=True, schedule="static", num_threads=n_threads):
        for i in range(size):
            min_plus(&D[first + i, c * WIDTH], &D[first, c * WIDTH], ld, &closed[i, 0], size)


def pass_through(double[:, ::1] D not None, index first, index last, index top, index bottom,
                 int n_threads):
    """Let all paths that start in rows ``top`` to ``bottom`` pass through the block.

    The block's own rows, closed before, are left as they are.
    """
    cdef index ld = D.shape[1], pieces = (bottom - top + ROWS - 1) // ROWS, p
    for p in prange(pieces, nogil=True, schedule="dynamic", num_threads=n_threads):
        rows_through(&D[0, 0], ld, first, last, top + p * ROWS, min(top + (p + 1) * ROWS, bottom))


cdef void rows_through(double* D, index ld, index first, index last, index top,
                       index bottom) noexcept nogil:
    cdef index i, c
    # the block's columns first, because what a row adds to the block's rows must be complete
    for i in range(top, bottom):
        if not first <= i < last:
            for c in range(first // WIDTH, (last - 1) // WIDTH + 1):
                through(D, ld, first, last, i, c)
    for c in range(ld // WIDTH):
        for i in range(top, bottom):
            if not first <= i < last:
                through(D, ld, first, last, i, c)


cdef inline void through(double* D, index ld, index first, index last, index i,
                         index c) noexcept nogil:
    """d_ij = min(d_ij, d_ik + d_kj) over the block's k, for the c-th group of columns j."""
    min_plus(D + i * ld + c * WIDTH, D + first * ld + c * WIDTH, ld, D + i * ld + first,
             last - first)

# By-value facade over scipy's BLAS and LAPACK; see lapack.pyx.

from manifold_lab._kernels.types cimport index, real

cdef int gram_rows(index n, index d, const real* A, index lda, real* G, index ldg) noexcept nogil
cdef int solve_spd(index n, index m, real* G, index ldg, real* B, index ldb) noexcept nogil

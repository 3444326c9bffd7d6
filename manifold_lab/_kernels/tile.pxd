# Products of eight rows with one group of points, the sums in registers.
#
# Points are packed in groups of GROUP = 128 / sizeof(real) lanes, P[group][feature][lane], so that
# one feature of a group is two cache lines. Rows are lanes of another group: one layout serves both
# sides. A tile is as wide as the registers of the instruction level allow.

from manifold_lab._kernels.types cimport index, real

cdef extern from *:
    """
    #if defined(__AVX512F__)
    #define MANIFOLD_LAB_TILE_BYTES 128
    #elif defined(__AVX__) || defined(__aarch64__)
    #define MANIFOLD_LAB_TILE_BYTES 32
    #else
    #define MANIFOLD_LAB_TILE_BYTES 16
    #endif
    #if defined(__FMA__) || defined(__aarch64__)
    #define MANIFOLD_LAB_MADD(a, b, c) __builtin_fma(a, b, c)
    #define MANIFOLD_LAB_MADDF(a, b, c) __builtin_fmaf(a, b, c)
    #else
    #define MANIFOLD_LAB_MADD(a, b, c) ((a) * (b) + (c))
    #define MANIFOLD_LAB_MADDF(a, b, c) ((a) * (b) + (c))
    #endif
    """
    const int TILE_BYTES "MANIFOLD_LAB_TILE_BYTES"
    double madd8 "MANIFOLD_LAB_MADD" (double a, double b, double c) noexcept nogil
    float madd4 "MANIFOLD_LAB_MADDF" (float a, float b, float c) noexcept nogil

cdef enum:
    GROUP_BYTES = 128
    ROWS = 8


cdef inline real madd(real a, real b, real c) noexcept nogil:
    """a b + c, rounded once where the instruction level can: asked for, because files that must
    round every product forbid the compiler to do it by itself."""
    if real is float:
        return madd4(a, b, c)
    else:
        return madd8(a, b, c)


cdef inline void products(const real* A, const real* B, index d, real* P) noexcept nogil:
    """P[r, t] = sum_f A[f, r] B[f, t] for ROWS lanes r of one group and all lanes t of another."""
    cdef index first = 0
    while first < <index> (GROUP_BYTES // sizeof(real)):
        narrow_products(A, B + first, d, P + first)
        first += TILE_BYTES // sizeof(real)


cdef inline void narrow_products(const real* A, const real* B, index d, real* P) noexcept nogil:
    cdef real c0[32]
    cdef real c1[32]
    cdef real c2[32]
    cdef real c3[32]
    cdef real c4[32]
    cdef real c5[32]
    cdef real c6[32]
    cdef real c7[32]
    cdef real a0, a1, a2, a3, a4, a5, a6, a7
    cdef index _f, step = GROUP_BYTES // sizeof(real)
    cdef int t
    for t in range(<int> (TILE_BYTES // sizeof(real))):
        c0[t] = c1[t] = c2[t] = c3[t] = c4[t] = c5[t] = c6[t] = c7[t] = 0
    for _f in range(d):
        a0 = A[0]
        a1 = A[1]
        a2 = A[2]
        a3 = A[3]
        a4 = A[4]
        a5 = A[5]
        a6 = A[6]
        a7 = A[7]
        for t in range(<int> (TILE_BYTES // sizeof(real))):
            c0[t] = madd(a0, B[t], c0[t])
            c1[t] = madd(a1, B[t], c1[t])
            c2[t] = madd(a2, B[t], c2[t])
            c3[t] = madd(a3, B[t], c3[t])
            c4[t] = madd(a4, B[t], c4[t])
            c5[t] = madd(a5, B[t], c5[t])
            c6[t] = madd(a6, B[t], c6[t])
            c7[t] = madd(a7, B[t], c7[t])
        A += step
        B += step
    for t in range(<int> (TILE_BYTES // sizeof(real))):
        P[t] = c0[t]
        P[step + t] = c1[t]
        P[2 * step + t] = c2[t]
        P[3 * step + t] = c3[t]
        P[4 * step + t] = c4[t]
        P[5 * step + t] = c5[t]
        P[6 * step + t] = c6[t]
        P[7 * step + t] = c7[t]


cdef inline void distances(real* q, real norm, const real* norms) noexcept nogil:
    """Turn the products of a row with a group into qhat = (norm + norms) - 2 products."""
    cdef index t
    for t in range(<index> (GROUP_BYTES // sizeof(real))):
        q[t] = (norm + norms[t]) - (q[t] + q[t])

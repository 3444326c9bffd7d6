"""All distances of two sets by direct differences: docs/metrics.md (d.1).

S_ij = sum_f (a_if - b_jf)^2 and its root, sum_f |a_if - b_jf|, or max_f |a_if - b_jf|, in double,
the features one after the other. Tiles of 4 rows and 16 points stay in registers; of a set with
itself each pair is computed once and written twice. Time n m d (half of it for a set with itself),
scratch one tile. Called by metrics/blocks.py. Bench: rows/pairwise.py.
"""

from cython.parallel cimport prange
from libc.math cimport fabs, sqrt

from manifold_lab._kernels.tile cimport TILE_BYTES  # no-cython-lint: brings its macro
from manifold_lab._kernels.types cimport index, real

cdef extern from *:
    """
    #if defined(__GNUC__) && !defined(__clang__)
    #pragma GCC optimize ("no-math-errno")  /* roots of a whole register at once */
    #endif
    #define MANIFOLD_LAB_WIDTH (MANIFOLD_LAB_TILE_BYTES == 128 ? 16 : MANIFOLD_LAB_TILE_BYTES / 4)
    """
    const int WIDTH "MANIFOLD_LAB_WIDTH"  # points whose sums, for 4 rows, fit in the registers

cdef enum:
    LANES = 16
    BLOCK = 4  # groups of rows that share the points in the cache

cpdef enum Kind:
    SQUARES
    EUCLIDEAN
    MANHATTAN
    CHEBYSHEV


def fill(const double[:, ::1] A not None, const double[:, :, ::1] P not None,
         real[:, ::1] D not None, Kind kind, double factor, bint itself, index first, index last,
         int n_threads):
    """Fill D (n, m) with factor times the distances, for blocks first:last of 64 rows of A.

    P (groups, d, 16) holds the m points, lanes behind them anything finite. If ``itself``, P holds
    the rows of A, and a block fills its columns as well as its rows from the diagonal on.
    """
    cdef index b, n = A.shape[0], m = D.shape[1], d = A.shape[1], groups = P.shape[0]
    for b in prange(first, last, nogil=True, schedule="dynamic", num_threads=n_threads):
        fill_block(&A[0, 0], &P[0, 0, 0], &D[0, 0], kind, factor, itself, b, n, m, d, groups)


cdef void fill_block(const double* A, const double* P, real* D, Kind kind, double factor,
                     bint itself, index b, index n, index m, index d,
                     index groups) noexcept nogil:
    cdef double q[LANES * LANES]
    cdef index rows = (n + LANES - 1) // LANES, g, h
    for h in range(b * BLOCK if itself else 0, groups):
        for g in range(b * BLOCK, min(b * BLOCK + BLOCK, rows)):
            if itself and g > h:
                break
            tile(A + g * LANES * d, min(n - g * LANES, LANES), P + h * d * LANES, d, kind, q)
            finish(q, kind == EUCLIDEAN, factor)
            write(q, D, g * LANES, h * LANES, n, m)
            if itself and g != h:
                write_turned(q, D, g * LANES, h * LANES, m)


cdef inline void tile(const double* A, index n_rows, const double* P, index d, Kind kind,
                      double* q) noexcept nogil:
    """q[i, t] for up to 16 rows and the 16 points of a group; missing rows repeat the last."""
    cdef index i, t
    cdef const double* a0
    cdef const double* a1
    cdef const double* a2
    cdef const double* a3
    for i in range(0, n_rows, 4):
        a0 = A + i * d
        a1 = A + min(i + 1, n_rows - 1) * d
        a2 = A + min(i + 2, n_rows - 1) * d
        a3 = A + min(i + 3, n_rows - 1) * d
        t = 0
        while t < LANES:
            if kind == MANHATTAN:
                sums(a0, a1, a2, a3, P + t, d, q + i * LANES + t)
            elif kind == CHEBYSHEV:
                largest(a0, a1, a2, a3, P + t, d, q + i * LANES + t)
            else:
                squares(a0, a1, a2, a3, P + t, d, q + i * LANES + t)
            t += WIDTH


cdef inline void squares(const double* a0, const double* a1, const double* a2, const double* a3,
                         const double* P, index d, double* q) noexcept nogil:
    cdef double c0[LANES]
    cdef double c1[LANES]
    cdef double c2[LANES]
    cdef double c3[LANES]
    cdef double x0, x1, x2, x3
    cdef index f
    cdef int t
    for t in range(WIDTH):
        c0[t] = c1[t] = c2[t] = c3[t] = 0
    for f in range(d):
        x0, x1, x2, x3 = a0[f], a1[f], a2[f], a3[f]
        for t in range(WIDTH):
            c0[t] += (x0 - P[t]) * (x0 - P[t])
            c1[t] += (x1 - P[t]) * (x1 - P[t])
            c2[t] += (x2 - P[t]) * (x2 - P[t])
            c3[t] += (x3 - P[t]) * (x3 - P[t])
        P += LANES
    for t in range(WIDTH):
        q[t] = c0[t]
        q[LANES + t] = c1[t]
        q[2 * LANES + t] = c2[t]
        q[3 * LANES + t] = c3[t]


cdef inline void sums(const double* a0, const double* a1, const double* a2, const double* a3,
                      const double* P, index d, double* q) noexcept nogil:
    cdef double c0[LANES]
    cdef double c1[LANES]
    cdef double c2[LANES]
    cdef double c3[LANES]
    cdef double x0, x1, x2, x3
    cdef index f
    cdef int t
    for t in range(WIDTH):
        c0[t] = c1[t] = c2[t] = c3[t] = 0
    for f in range(d):
        x0, x1, x2, x3 = a0[f], a1[f], a2[f], a3[f]
        for t in range(WIDTH):
            c0[t] += fabs(x0 - P[t])
            c1[t] += fabs(x1 - P[t])
            c2[t] += fabs(x2 - P[t])
            c3[t] += fabs(x3 - P[t])
        P += LANES
    for t in range(WIDTH):
        q[t] = c0[t]
        q[LANES + t] = c1[t]
        q[2 * LANES + t] = c2[t]
        q[3 * LANES + t] = c3[t]


cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline void largest(const double* a0, const double* a1, const double* a2, const double* a3,
                         const double* P, index d, double* q) noexcept nogil:
    cdef double c0[LANES]
    cdef double c1[LANES]
    cdef double c2[LANES]
    cdef double c3[LANES]
    cdef double x0, x1, x2, x3
    cdef index f
    cdef int t
    for t in range(WIDTH):
        c0[t] = c1[t] = c2[t] = c3[t] = 0
    for f in range(d):
        x0, x1, x2, x3 = a0[f], a1[f], a2[f], a3[f]
        for t in range(WIDTH):
            c0[t] = larger(fabs(x0 - P[t]), c0[t])
            c1[t] = larger(fabs(x1 - P[t]), c1[t])
            c2[t] = larger(fabs(x2 - P[t]), c2[t])
            c3[t] = larger(fabs(x3 - P[t]), c3[t])
        P += LANES
    for t in range(WIDTH):
        q[t] = c0[t]
        q[LANES + t] = c1[t]
        q[2 * LANES + t] = c2[t]
        q[3 * LANES + t] = c3[t]


cdef inline void finish(double* q, bint rooted, double factor) noexcept nogil:
    cdef int t
    if rooted:
        for t in range(LANES * LANES):
            q[t] = sqrt(q[t])
    if factor != 1:
        for t in range(LANES * LANES):
            q[t] *= factor


cdef inline void write(const double* q, real* D, index i, index j, index n, index m) noexcept nogil:
    """D[i + s, j + t] = q[s, t], as far as there are rows and columns."""
    cdef index s, t, wide = min(m - j, LANES)
    for s in range(min(n - i, LANES)):
        for t in range(wide):
            D[(i + s) * m + j + t] = <real> q[s * LANES + t]


cdef inline void write_turned(const double* q, real* D, index i, index j, index m) noexcept nogil:
    """D[j + t, i + s] = q[s, t]; the rows i, ... are all there."""
    cdef index s, t
    for t in range(min(m - j, LANES)):
        for s in range(LANES):
            D[(j + t) * m + i + s] = <real> q[s * LANES + t]

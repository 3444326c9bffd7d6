"""Candidates for the nearest neighbours of many rows: docs/neighbors.md (nn.1), (nn.2).

qhat_ij = |y_i|^2 + |y_j|^2 - 2 <y_i, y_j> on packed, centred copies y; the smallest of each row are
kept in heaps. A filter: exact.pyx ranks what passes, and proves that nothing else belongs there.
Time n^2 d for a set with itself (each pair once), 2 m n d for m queries; no scratch.
Called by neighbors/exact.py. Bench: rows/neighbors.py.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport uint32_t

from manifold_lab._kernels.bits cimport below, below_each, lowest, not_above
from manifold_lab._kernels.direct cimport point
from manifold_lab._kernels.tile cimport GROUP_BYTES, ROWS, distances, products
from manifold_lab._kernels.topk cimport replace_worst
from manifold_lab._kernels.types cimport index, real


def pack(const point[:, ::1] X not None, const double[::1] centre not None, double factor,
         real[:, :, ::1] P not None, real[::1] norms not None, double[::1] lengths not None,
         int n_threads):
    """Fill P (groups, d, lanes) with y = (x - centre) factor, norms with |y|^2, lengths with |y|.

    Lanes without a point are 0, with an infinite norm, so that nothing is ever near them; lengths
    are rounded up.
    """
    cdef index n = X.shape[0], d = X.shape[1], g
    for g in prange(P.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        pack_group(&X[0, 0], &centre[0], factor, n, d, g, &P[g, 0, 0], &norms[0], &lengths[0])


cdef void pack_group(const point* X, const double* centre, double factor, index n, index d,
                     index g, real* P, real* norms, double* lengths) noexcept nogil:
    cdef index lanes = GROUP_BYTES // sizeof(real), t, f, i
    cdef double y, total
    for t in range(lanes):
        i = g * lanes + t
        total = 0
        if i >= n:
            for f in range(d):
                P[f * lanes + t] = 0
            norms[i] = INFINITY
            continue
        for f in range(d):
            P[f * lanes + t] = <real> ((X[i * d + f] - centre[f]) * factor)
            y = P[f * lanes + t]
            total = total + y * y
        norms[i] = <real> total
        lengths[i] = sqrt(total) * (1 + (d + 4) * 2.0**-52)


def tournament(const real[:, :, ::1] P not None, const real[::1] norms not None,
               const index[:, ::1] pairs not None, index block,
               real[:, ::1] keys not None, index[:, ::1] ids not None, real[::1] worst not None,
               int n_threads):
    """Offer to each point those of another block, for pairs of blocks of ``block`` groups.

    No block may be in two pairs. A pair (b, b) offers the points of a block to each other. keys,
    ids are heaps (points and empty lanes, k); worst[i] = keys[i, 0].
    """
    cdef index p, d = P.shape[1], k = keys.shape[1], n_groups = P.shape[0]
    for p in prange(pairs.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        meet(&P[0, 0, 0], &norms[0], d, k, pairs[p, 0] * block,
             min(pairs[p, 0] * block + block, n_groups), pairs[p, 1] * block,
             min(pairs[p, 1] * block + block, n_groups), &keys[0, 0], &ids[0, 0], &worst[0])


cdef void meet(const real* P, const real* norms, index d, index k, index a0, index a1, index b0,
               index b1, real* keys, index* ids, real* worst) noexcept nogil:
    """Tiles of the groups a0:a1 with b0:b1, offered to both (to a0:a1 if they are the same)."""
    cdef index lanes = GROUP_BYTES // sizeof(real), a, b, i, r, row
    cdef real q[ROWS * 32]
    for a in range(a0, a1):
        for i in range(a * lanes, (a + 1) * lanes, 8):
            for b in range(b0, b1):
                products(P + a * d * lanes + i % lanes, P + b * d * lanes, d, q)
                for r in range(ROWS):
                    row = i + r
                    distances(q + r * lanes, norms[row], norms + b * lanes)
                    if a0 != b0:
                        give(q + r * lanes, below_each(q + r * lanes, worst + b * lanes), row,
                             b * lanes, k, keys, ids, worst)
                    elif row // lanes == b:
                        q[r * lanes + row % lanes] = INFINITY  # no point is its own neighbour
                    take(q + r * lanes, below(q + r * lanes, worst[row]), row, b * lanes, k, keys,
                         ids, worst)


def queries(const real[:, :, ::1] P not None, const real[::1] norms not None,
            const real[:, :, ::1] Q not None, const real[::1] query_norms not None,
            index first_query, index last_query, index first, index last, index block,
            real[:, ::1] keys not None, index[:, ::1] ids not None, real[::1] worst not None,
            int n_threads):
    """Offer the points of groups first:last to the rows of the query groups of Q in the range."""
    cdef index g, d = P.shape[1], k = keys.shape[1]
    for g in prange(first_query, last_query, nogil=True, schedule="dynamic", num_threads=n_threads):
        ask(&P[0, 0, 0], &norms[0], d, k, &Q[g, 0, 0], &query_norms[0], g, first, last, block,
            &keys[0, 0], &ids[0, 0], &worst[0])


cdef void ask(const real* P, const real* norms, index d, index k, const real* Q,
              const real* query_norms, index g, index first, index last, index block, real* keys,
              index* ids, real* worst) noexcept nogil:
    cdef index lanes = GROUP_BYTES // sizeof(real), start = first, b, i, r, row
    cdef real q[ROWS * 32]
    while start < last:
        for i in range(0, lanes, 8):
            for b in range(start, min(start + block, last)):
                products(Q + i, P + b * d * lanes, d, q)
                for r in range(ROWS):
                    row = g * lanes + i + r
                    distances(q + r * lanes, query_norms[row], norms + b * lanes)
                    take(q + r * lanes, below(q + r * lanes, worst[row]), row, b * lanes, k, keys,
                         ids, worst)
        start += block


def mark(const real[:, :, ::1] P not None, const real[::1] norms not None,
         const real[:, :, ::1] Q not None, const real[::1] query_norms not None,
         const real[::1] limits not None, index first, index last, index block,
         uint32_t[:, ::1] marks not None, int n_threads):
    """Set bit t of marks[row, g] where lane t of a group g in first:last is within limits[row]."""
    cdef index g, d = P.shape[1]
    for g in prange(Q.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        mark_group(&P[0, 0, 0], &norms[0], d, &Q[g, 0, 0], &query_norms[0], &limits[0], g, first,
                   last, block, marks.shape[1], &marks[0, 0])


cdef void mark_group(const real* P, const real* norms, index d, const real* Q,
                     const real* query_norms, const real* limits, index g, index first, index last,
                     index block, index width, uint32_t* marks) noexcept nogil:
    cdef index lanes = GROUP_BYTES // sizeof(real), start = first, b, i, r, row
    cdef real q[ROWS * 32]
    while start < last:
        for i in range(0, lanes, 8):
            for b in range(start, min(start + block, last)):
                products(Q + i, P + b * d * lanes, d, q)
                for r in range(ROWS):
                    row = g * lanes + i + r
                    distances(q + r * lanes, query_norms[row], norms + b * lanes)
                    marks[row * width + b] = not_above(q + r * lanes, limits[row])
        start += block


cdef inline void take(const real* q, uint32_t bits, index row, index first, index k, real* keys,
                      index* ids, real* worst) noexcept nogil:
    """Offer the lanes of a group that are in ``bits`` to a row."""
    cdef int t
    while bits:
        t = lowest(bits)
        bits &= bits - 1
        if q[t] < worst[row]:
            replace_worst(keys + row * k, ids + row * k, k, q[t], first + t)
            worst[row] = keys[row * k]


cdef inline void give(const real* q, uint32_t bits, index row, index first, index k, real* keys,
                      index* ids, real* worst) noexcept nogil:
    """Offer a row to the lanes of a group that are in ``bits``."""
    cdef index j
    cdef int t
    while bits:
        t = lowest(bits)
        bits &= bits - 1
        j = first + t
        replace_worst(keys + j * k, ids + j * k, k, q[t], row)
        worst[j] = keys[j * k]

"""The candidates of a search, ranked by their distances: docs/neighbors.md (nn.3), (nn.4).

r_ij = sqrt(sum_f (x_if - x_jf)^2) by direct differences in double (direct.pxd), in the order
(r, id). ``refine`` searches a row anew where no proof holds that its candidates were enough: all
points with qhat <= (r_k + eta)^2 + E are looked at, a set that holds every neighbour and tie.
Time d a candidate, 2 n d a refined row. Called by neighbors/exact.py. Bench: rows/neighbors.py.
"""

from cython.parallel cimport prange
from libc.stdint cimport uint32_t

from manifold_lab._kernels.bits cimport lowest, not_above
from manifold_lab._kernels.direct cimport distance, point
from manifold_lab._kernels.tile cimport GROUP_BYTES, ROWS, distances, products
from manifold_lab._kernels.topk cimport before, replace_worst, sort_heap, sort_pairs
from manifold_lab._kernels.types cimport index


def rank(const point[:, ::1] X not None, const point[:, ::1] Q not None,
         index[:, ::1] ids not None, double[:, ::1] r not None, int n_threads):
    """Fill r (m, k) with the distances of the rows of Q to X[ids], and sort each row by (r, id)."""
    cdef index i, d = X.shape[1], k = ids.shape[1]
    for i in prange(Q.shape[0], nogil=True, schedule="dynamic", chunksize=16,
                    num_threads=n_threads):
        rank_row(&X[0, 0], &Q[i, 0], d, k, &ids[i, 0], &r[i, 0])


cdef void rank_row(const point* X, const point* x, index d, index k, index* ids,
                   double* r) noexcept nogil:
    cdef index c
    for c in range(k):
        r[c] = distance(x, X + ids[c] * d, d)
    sort_pairs(r, ids, k)


def refine(const point[:, ::1] X not None, const double[:, :, ::1] P not None,
           const double[::1] norms not None, const point[:, ::1] Q not None,
           const double[:, :, ::1] packed not None, const double[::1] query_norms not None,
           const index[::1] own not None, const double[::1] bounds not None,
           const double[::1] etas not None, const double[::1] errors not None, double factor,
           index first, index last, double[:, ::1] r not None, index[:, ::1] ids not None,
           int n_threads):
    """Offer the points of groups first:last to the heaps (r, ids) of the rows of Q, exactly.

    No row looks farther than bounds[i], which is not below its k-th distance, and none takes the
    point own[i]. etas and errors bound what packing and products lose.
    """
    cdef index g, m = Q.shape[0], n = X.shape[0], d = X.shape[1], k = r.shape[1]
    for g in prange(packed.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        refine_group(&X[0, 0], n, d, k, &P[0, 0, 0], &norms[0], &Q[0, 0], m, &packed[g, 0, 0],
                     &query_norms[0], &own[0], &bounds[0], &etas[0], &errors[0], factor, g, first,
                     last, &r[0, 0], &ids[0, 0])


cdef void refine_group(const point* X, index n, index d, index k, const double* P,
                       const double* norms, const point* Q, index m, const double* packed,
                       const double* query_norms, const index* own, const double* bounds,
                       const double* etas, const double* errors, double factor, index g,
                       index first, index last, double* r, index* ids) noexcept nogil:
    cdef index lanes = GROUP_BYTES // sizeof(double), b, i, j, lane, row
    cdef double q[ROWS * 16]
    cdef uint32_t bits
    cdef double limit, value
    for lane in range(0, lanes, 8):
        for b in range(first, last):
            products(packed + lane, P + b * d * lanes, d, q)
            for i in range(ROWS):
                row = g * lanes + lane + i
                if row >= m:
                    break
                limit = limit_of(min(bounds[row], r[row * k]), factor, d, etas[row], errors[row])
                distances(q + i * lanes, query_norms[row], norms + b * lanes)
                bits = not_above(q + i * lanes, limit)
                while bits:
                    j = b * lanes + lowest(bits)
                    bits &= bits - 1
                    if j >= n or j == own[row]:
                        continue
                    value = distance(Q + row * d, X + j * d, d)
                    if before(value, j, r[row * k], ids[row * k]):
                        replace_worst(r + row * k, ids + row * k, k, value, j)


cdef inline double limit_of(double bound, double factor, index d, double eta,
                            double error) noexcept nogil:
    """The largest qhat of a point no farther than ``bound``, rounded up."""
    cdef double length = bound * factor * (1 + (2 * d + 12) * 2.0**-52) + eta
    return length * length * (1 + 2.0**-49) + error


def sort_rows(double[:, ::1] r not None, index[:, ::1] ids not None, int n_threads):
    """Turn the heaps in the rows of (r, ids) into lists, nearest first."""
    cdef index i, k = r.shape[1]
    for i in prange(r.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        sort_heap(&r[i, 0], &ids[i, 0], k)


def gather(const point[:, ::1] X not None, const point[:, ::1] Q not None,
           const index[::1] after not None, const uint32_t[:, ::1] marks not None, index lanes,
           double eps, double unit, const index[::1] starts not None,
           double[::1] r not None, index[::1] ids not None, index[::1] counts not None,
           int n_threads):
    """Keep, of the marked points of each row, those with r unit <= eps, sorted by (r, id).

    Row i writes to (r, ids) from starts[i] on, and the number it kept to counts[i]. Points up to
    after[i] are left out: all of them come in question with -1, each pair once with i.
    """
    cdef index i, n = X.shape[0], d = X.shape[1], width = marks.shape[1]
    for i in prange(Q.shape[0], nogil=True, schedule="dynamic", num_threads=n_threads):
        counts[i] = gather_row(&X[0, 0], n, d, &Q[i, 0], after[i], &marks[i, 0], width, lanes, eps,
                               unit, &r[0] + starts[i], &ids[0] + starts[i])


cdef index gather_row(const point* X, index n, index d, const point* x, index after,
                      const uint32_t* marks, index width, index lanes, double eps, double unit,
                      double* r, index* ids) noexcept nogil:
    cdef index g, j, count = 0
    cdef double value
    cdef uint32_t bits
    for g in range(width):
        bits = marks[g]
        while bits:
            j = g * lanes + lowest(bits)
            bits &= bits - 1
            if j >= n or j <= after:
                continue
            value = distance(x, X + j * d, d)
            if value * unit <= eps:
                r[count] = value
                ids[count] = j
                count += 1
    sort_pairs(r, ids, count)
    return count


def mirror(const index[::1] starts not None, const index[::1] counts not None, index first,
           const double[::1] r not None, const index[::1] ids not None, index[::1] free not None,
           double[::1] all_r not None, index[::1] all_ids not None):
    """Write each pair of the points first, ... to the lists of both.

    Point first + i has its pairs in (r, ids) from starts[i] on; the list of point i goes on at
    free[i] in (all_r, all_ids).
    """
    cdef index i, e, a, b
    with nogil:
        for i in range(starts.shape[0]):
            a = first + i
            for e in range(starts[i], starts[i] + counts[i]):
                b = ids[e]
                all_r[free[a]] = all_r[free[b]] = r[e]
                all_ids[free[a]] = b
                all_ids[free[b]] = a
                free[a] += 1
                free[b] += 1


def sort_lists(const index[::1] starts not None, const index[::1] counts not None,
               double[::1] r not None, index[::1] ids not None, int n_threads):
    """Sort lists, from starts[i] on and counts[i] long, by (r, id)."""
    cdef index i
    for i in prange(starts.shape[0], nogil=True, schedule="dynamic", chunksize=16,
                    num_threads=n_threads):
        if counts[i] > 1:
            sort_pairs(&r[starts[i]], &ids[starts[i]], counts[i])

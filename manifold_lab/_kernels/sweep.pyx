"""Shortest paths from many sources, LANES neighbouring ones at a time, by sweeps over the vertices.

D(s, v) = min over paths of the sum of weights, added from s to v: the bits of Dijkstra, because
a -> fl(a + w) is monotone and never below a, so that any order of visits ends at one fixpoint.
One Dijkstra a batch of sources gives the order. Sweeps up it relax the edges from vertices below,
sweeps down it those from above: together all [yen1970]_. A vertex is visited only if such a
neighbour has changed in some lane since. Time about 2.5 m a group of LANES sources, scratch
8 n (LANES + 9) + 12 m bytes a thread. Called by graph/geodesic.py. Bench: kernels.Sweep.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

import numpy as np

from manifold_lab._kernels.lanes cimport LANES, relax
from manifold_lab._kernels.queue cimport begin, step
from manifold_lab._kernels.types cimport index, real

lanes = LANES

cdef struct Csr:
    const index* indptr
    const index* indices
    const double* weights

cdef struct Ranked:         # the edges into each vertex, vertices numbered by rank along the order
    index n
    index* order            # the vertex of each rank
    index* rank             # the rank of each vertex
    index* start            # those into rank r are at start[r] to start[r + 1],
    index* middle           # from ranks above r at middle[r] and on
    int32_t* ids
    double* lengths
    char* up                # to be visited by the next sweep up, down
    char* down


def sweep(const index[::1] indptr not None, const index[::1] indices not None,
          const double[::1] weights not None, const index[::1] back_indptr not None,
          const index[::1] back_indices not None, const double[::1] back_weights not None,
          const index[::1] sources not None, const index[::1] rows not None, index batch,
          index max_visits, real[:, ::1] out not None, int n_threads):
    """Write row ``rows[i]`` of ``out`` for every ``sources[i]``; return a mask of those written.

    The back graph has all edges turned around, and one of infinite length beside each that would
    have none the other way; that of an undirected graph is the graph itself. Sources are taken in
    batches as they come. Where a group needs more than ``max_visits`` visits to vertices, it and
    the rest of its batch are left undone.
    """
    cdef index n = indptr.shape[0] - 1, m = back_indices.shape[0], count = sources.shape[0], b
    cdef index words = (n + 7) // 8
    done = np.zeros(count, bool)
    if m == 0 or count == 0:
        return done
    cdef unsigned char[::1] written = done.view(np.uint8)
    cdef index[:, ::1] numbers = np.empty((n_threads, 6 * n + 1), np.intp)
    cdef int32_t[:, ::1] ids = np.empty((n_threads, m), np.int32)
    cdef double[:, ::1] lengths = np.empty((n_threads, m))
    cdef double[:, ::1] labels = aligned(n_threads, n * LANES)
    cdef double[:, ::1] keys = np.empty((n_threads, 2 * n))
    cdef uint64_t[:, ::1] flags = np.zeros((n_threads, 2 * words), np.uint64)
    cdef Csr graph, back
    cdef int t
    graph.indptr, graph.indices, graph.weights = &indptr[0], &indices[0], &weights[0]
    back.indptr, back.indices, back.weights = &back_indptr[0], &back_indices[0], &back_weights[0]
    for b in prange((count + batch - 1) // batch, nogil=True, schedule="dynamic",
                    num_threads=n_threads):
        t = threadid()
        sweep_batch(&graph, &back, n, &sources[b * batch], &rows[b * batch],
                    min(batch, count - b * batch), max_visits, &numbers[t, 0], &ids[t, 0],
                    &lengths[t, 0], &labels[t, 0], &keys[t, 0], &flags[t, 0], &out[0, 0],
                    &written[b * batch])
    return done


def aligned(rows, columns):
    """Scratch whose rows start on cache lines, so that no vector load straddles two."""
    columns = (columns + 7) // 8 * 8
    flat = np.empty(rows * columns + 8)
    skip = (-flat.ctypes.data % 64) // 8
    return flat[skip:skip + rows * columns].reshape(rows, columns)


cdef void sweep_batch(const Csr* graph, const Csr* back, index n, const index* sources,
                      const index* rows, index count, index max_visits, index* numbers,
                      int32_t* ids, double* lengths, double* labels, double* keys,
                      uint64_t* flags, real* out, unsigned char* written) noexcept nogil:
    cdef Ranked g
    cdef index i, lane, first, size
    g.n = n
    g.order = numbers
    g.rank = numbers + n
    g.start = numbers + 2 * n
    g.middle = numbers + 3 * n + 1
    g.ids = ids
    g.lengths = lengths
    g.up = <char*>flags
    g.down = <char*>(flags + (n + 7) // 8)
    order_from(graph, sources[count // 2], &g, keys, numbers + 4 * n + 1)
    rank_edges(back, &g)
    for i in range((count + LANES - 1) // LANES):
        first = i * LANES
        size = min(LANES, count - first)
        if not relax_all(&g, sources + first, size, max_visits, labels):
            memset(flags, 0, 2 * ((n + 7) // 8) * sizeof(uint64_t))
            break
        store(&g, labels, rows + first, size, out)
        for lane in range(first, first + size):
            written[lane] = 1


cdef void order_from(const Csr* graph, index source, Ranked* g, double* dist,
                     index* place) noexcept nogil:
    """Order the vertices as Dijkstra settles them; those it cannot reach come last."""
    cdef double* keys = dist + g.n
    cdef index* items = place + g.n
    cdef index settled = 0, v, size = begin(dist, keys, items, place, g.n, source)
    while size > 0:
        size = step(graph.indptr, graph.indices, graph.weights, dist, keys, items, place, size,
                    g.order + settled)
        settled += 1
    for v in range(g.n):
        if dist[v] == INFINITY:
            g.order[settled] = v
            settled += 1
    for v in range(g.n):
        g.rank[g.order[v]] = v


cdef void rank_edges(const Csr* back, Ranked* g) noexcept nogil:
    """Copy the edges into each vertex, by rank, those from below before those from above."""
    cdef index r, v, e, u, low, high = 0
    for r in range(g.n):
        v = g.order[r]
        low = g.start[r] = high
        high = g.start[r + 1] = low + back.indptr[v + 1] - back.indptr[v]
        for e in range(back.indptr[v], back.indptr[v + 1]):
            u = g.rank[back.indices[e]]
            if u < r:
                g.ids[low] = <int32_t>u
                g.lengths[low] = back.weights[e]
                low += 1
            else:
                high -= 1
                g.ids[high] = <int32_t>u
                g.lengths[high] = back.weights[e]
        g.middle[r] = low
        high = g.start[r + 1]


cdef bint relax_all(Ranked* g, const index* sources, index count, index max_visits,
                    double* labels) noexcept nogil:
    """Sweep up and down until nothing changes; false if that takes too many visits."""
    cdef index i, lane, visits = 0, now = 1
    for i in range(g.n * LANES):
        labels[i] = INFINITY
    for lane in range(count):
        labels[g.rank[sources[lane]] * LANES + lane] = 0
        mark(g, g.rank[sources[lane]])
    while now > 0 and visits <= max_visits:
        now = sweep_up(g, labels) + sweep_down(g, labels)
        visits += now
    return now == 0


cdef index sweep_up(Ranked* g, double* labels) noexcept nogil:
    cdef index word, r, first, visits = 0
    for word in range((g.n + 7) // 8):
        if (<uint64_t*>g.up)[word] == 0:
            continue
        for r in range(8 * word, 8 * word + 8):
            if g.up[r]:
                g.up[r] = 0
                visits += 1
                first = g.start[r]
                if relax(labels + r * LANES, labels, LANES, g.ids + first, g.lengths + first,
                         g.middle[r] - first):
                    mark(g, r)
    return visits


cdef index sweep_down(Ranked* g, double* labels) noexcept nogil:
    cdef index word, r, first, visits = 0
    for word in range((g.n + 7) // 8 - 1, -1, -1):
        if (<uint64_t*>g.down)[word] == 0:
            continue
        for r in range(8 * word + 7, 8 * word - 1, -1):
            if g.down[r]:
                g.down[r] = 0
                visits += 1
                first = g.middle[r]
                if relax(labels + r * LANES, labels, LANES, g.ids + first, g.lengths + first,
                         g.start[r + 1] - first):
                    mark(g, r)
    return visits


cdef inline void mark(Ranked* g, index r) noexcept nogil:
    """The label of rank r has changed: its neighbours above and below must look at it."""
    cdef index e
    for e in range(g.start[r], g.middle[r]):
        g.down[g.ids[e]] = 1
    for e in range(g.middle[r], g.start[r + 1]):
        g.up[g.ids[e]] = 1


cdef void store(const Ranked* g, const double* labels, const index* rows, index count,
                real* out) noexcept nogil:
    """Write a row a lane, eight vertices at a time so that whole cache lines are written."""
    cdef index n = g.n, v, j, lane
    cdef real* row
    for v in range(0, n, 8):
        for lane in range(count):
            row = out + rows[lane] * n
            for j in range(v, min(v + 8, n)):
                row[j] = <real>labels[g.rank[j] * LANES + lane]

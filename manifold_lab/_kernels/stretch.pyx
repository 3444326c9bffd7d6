"""Detours around edges: docs/graphs.md, "Short circuits".

For pairs (u, v) with a limit each: the length of the shortest path from u to v in a graph, or
infinity where it is beyond the largest limit of u's pairs. One search a vertex u, by Dijkstra's
algorithm, which ends as soon as all its pairs are decided. Time b log b a search with b the
vertices in reach, scratch 41 n bytes a thread. Called by graph/shortcuts.py.
Bench: kernels.Detours.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY

import numpy as np

from manifold_lab._kernels.queue cimport pop, put
from manifold_lab._kernels.types cimport index


def detours(const index[::1] indptr not None, const index[::1] indices not None,
            const double[::1] weights not None, const index[::1] sources not None,
            const index[::1] first not None, const index[::1] targets not None,
            const double[::1] limits not None, bint around, int n_threads):
    """Return the length of the shortest path of each pair, the graph in CSR with weights >= 0.

    Pairs ``first[s]`` to ``first[s + 1] - 1`` lead from ``sources[s]`` to their targets. With
    ``around``, no path begins with an edge from a source to one of its targets: for one target a
    source, that is the shortest way around an edge of the graph.
    """
    cdef index n = indptr.shape[0] - 1, m = sources.shape[0], s
    found = np.full(targets.shape[0], np.inf)
    if indices.shape[0] == 0 or targets.shape[0] == 0:
        return found
    cdef double[::1] out = found
    cdef double[:, :, ::1] labels = np.full((n_threads, 2, n), np.inf)
    cdef index[:, :, ::1] places = np.empty((n_threads, 3, n), dtype=np.intp)
    cdef unsigned char[:, ::1] wanted = np.zeros((n_threads, n), dtype=np.uint8)
    cdef int t
    for s in prange(m, nogil=True, schedule="dynamic", num_threads=n_threads):
        t = threadid()
        search(&indptr[0], &indices[0], &weights[0], n, sources[s], &targets[0] + first[s],
               &limits[0] + first[s], first[s + 1] - first[s], around, &labels[t, 0, 0],
               &places[t, 0, 0], &wanted[t, 0], &out[0] + first[s])
    return found


cdef void search(const index* indptr, const index* indices, const double* weights, index n,
                 index source, const index* targets, const double* limits, index n_targets,
                 bint around, double* dist, index* place, unsigned char* wanted,
                 double* out) noexcept nogil:
    """Search from ``source``; labels are infinite and nothing is wanted, before and after."""
    cdef double* keys = dist + n
    cdef index* items = place + n
    cdef index* met = items + n
    cdef index size = 1, n_met = 1, left = 0, j, u, v, e
    cdef double limit = 0, far
    for j in range(n_targets):
        limit = max(limit, limits[j])
        left += not wanted[targets[j]]
        wanted[targets[j]] = 1
    dist[source] = 0
    met[0] = source
    put(keys, items, place, 0, 0, source)
    while size > 0:
        v = pop(keys, items, place, size)
        size -= 1
        left -= wanted[v]
        if left == 0:
            break
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if around and v == source and wanted[u]:
                continue
            far = dist[v] + weights[e]
            if far < dist[u] and far <= limit:
                if dist[u] == INFINITY:
                    met[n_met] = u
                    n_met += 1
                    place[u] = size
                    size += 1
                dist[u] = far
                put(keys, items, place, place[u], far, u)
    for j in range(n_targets):
        out[j] = dist[targets[j]]
        wanted[targets[j]] = 0
    for j in range(n_met):
        dist[met[j]] = INFINITY

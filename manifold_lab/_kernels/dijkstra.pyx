"""Shortest paths from given sources on a CSR graph, by Dijkstra's algorithm on a 4-ary heap.

D(s, v) = min over paths of the sum of weights, added from s to v. Time m + n log n a source,
scratch 32 n bytes a slot. Called by graph/geodesic.py, graph/ordering.py. Bench: kernels.Dijkstra.
"""

from cython.parallel cimport prange

import numpy as np

from manifold_lab._kernels.queue cimport begin, step
from manifold_lab._kernels.types cimport index, real


def slots(index n, index n_slots):
    """Return ``(state, labels, places)`` of searches side by side on n vertices, none begun.

    A slot works on sources slot, slot + n_slots, ... in turn; ``state`` has the number of the one
    in work and the size of its heap, -1 before it is begun.
    """
    state = np.full((n_slots, 2), -1, np.intp)
    state[:, 0] = np.arange(n_slots)
    return state, np.empty((n_slots, 2, n)), np.empty((n_slots, 2, n), np.intp)


def advance(const index[::1] indptr not None, const index[::1] indices not None,
            const double[::1] weights not None, const index[::1] sources not None,
            const index[::1] rows not None, index[:, ::1] state not None,
            double[:, :, ::1] labels not None,
            index[:, :, ::1] places not None, index budget, real[:, ::1] out not None,
            int n_threads):
    """Go on with the searches by about ``budget`` edges a slot; return how many are still to do.

    ``state, labels, places`` come from :func:`slots` and carry the work from call to call. Row
    ``rows[i]`` of ``out`` is written when the search from ``sources[i]`` has ended.
    """
    cdef index n = indptr.shape[0] - 1, n_slots = state.shape[0], count = sources.shape[0], s
    if count == 0:
        return 0
    cdef const index* ids = &indices[0] if indices.shape[0] else NULL
    cdef const double* lengths = &weights[0] if weights.shape[0] else NULL
    for s in prange(n_slots, nogil=True, schedule="static", num_threads=n_threads):
        search(&indptr[0], ids, lengths, n, &sources[0], &rows[0], count, n_slots, budget,
               &state[s, 0], &labels[s, 0, 0], &places[s, 0, 0], &out[0, 0])
    cdef index left = 0
    for s in range(n_slots):
        if state[s, 0] < count:
            left += (count - state[s, 0] + n_slots - 1) // n_slots
    return left


cdef void search(const index* indptr, const index* indices, const double* weights, index n,
                 const index* sources, const index* rows, index count, index n_slots, index budget,
                 index* state, double* dist, index* place, real* out) noexcept nogil:
    cdef double* keys = dist + n
    cdef index* items = place + n
    cdef index i = state[0], size = state[1], v
    while i < count and budget > 0:
        if size < 0:
            size = begin(dist, keys, items, place, n, sources[i])
            budget -= n >> 3
        while size > 0 and budget > 0:
            size = step(indptr, indices, weights, dist, keys, items, place, size, &v)
            budget -= 1 + indptr[v + 1] - indptr[v]
        if size == 0:
            for v in range(n):
                out[rows[i] * n + v] = <real>dist[v]
            i += n_slots
            size = -1
    state[0] = i
    state[1] = size

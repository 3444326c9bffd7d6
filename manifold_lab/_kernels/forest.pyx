"""Spanning forest by union and find: docs/graphs.md (components, trees, bridges).

Edges are taken in the order given; one that joins two trees is kept, so that edges sorted by
length give a minimum spanning forest (Kruskal), zero lengths and ties included.
Time O(m log n), no scratch. Called by graph/components.py. Bench: kernels.Forest.
"""

import numpy as np

from manifold_lab._kernels.types cimport index


def join(index[::1] parent not None, const index[::1] u not None, const index[::1] v not None):
    """Join u[e] and v[e] in the forest ``parent``, in place; return 1 for each e that was needed.

    A root is its own parent and the smallest vertex of its tree.
    """
    cdef index e, a, b, m = u.shape[0]
    needed = np.zeros(m, dtype=np.uint8)
    cdef unsigned char[::1] out = needed
    if v.shape[0] != m:
        raise ValueError(f"{m} first ends and {v.shape[0]} second ends; pass one of each an edge.")
    with nogil:
        for e in range(m):
            a = root(parent, u[e])
            b = root(parent, v[e])
            if a < b:
                parent[b] = a
                out[e] = 1
            elif b < a:
                parent[a] = b
                out[e] = 1
    return needed


cdef inline index root(index[::1] parent, index x) noexcept nogil:
    while parent[x] != x:
        parent[x] = parent[parent[x]]   # halve the path, so that the next search is short
        x = parent[x]
    return x

"""Put the vertices of a graph in an order in which neighbours stand together.

Distances to a few pivots, far from each other, serve as coordinates; the vertices are halved
again and again at the median of the coordinate that spreads most. Nothing depends on the order but
speed, so the distances may be as crude as they are where a vertex cannot be reached.
"""

import numpy as np

from manifold_lab._kernels import dijkstra

PIVOTS = 4
LEAF = 8  # vertices in a part that is not halved


def neighbours_together(indptr, indices, weights):
    """Return the vertices of a CSR graph so that near ones are near in the order.

    Time O(m + n log n) a pivot and O(n log n) a level of halving.
    """
    n = indptr.size - 1
    return _halve(_pivot_distances(indptr, indices, weights), n)


def _pivot_distances(indptr, indices, weights):
    """Return (n, 1 + PIVOTS) coordinates: components far apart, distances to pivots in each."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = indptr.size - 1
    links = csr_array((np.ones(indices.size, bool), indices, indptr), shape=(n, n))
    _, label = connected_components(links, directed=False)
    near = np.full(n, np.inf)
    pivots = np.unique(label, return_index=True)[1]
    columns = []
    for _ in range(PIVOTS):
        columns.append(_distance_to(pivots, indptr, indices, weights))
        near = np.minimum(near, columns[-1])
        order = np.lexsort((near, label))  # the last of a component is the farthest
        pivots = order[np.append(np.flatnonzero(np.diff(label[order])), n - 1)]
    C = np.stack(columns, axis=1)
    widest = C.max(initial=0.0, where=np.isfinite(C))
    C[~np.isfinite(C)] = 2 * widest
    return np.column_stack([label * (3 * widest), C])


def _distance_to(pivots, indptr, indices, weights):
    """Return the distance of each vertex from the nearest pivot, by one search.

    It starts at one vertex more, joined to every pivot by an edge of length zero.
    """
    n = indptr.size - 1
    grown = (
        np.append(indptr, indices.size + pivots.size),
        np.concatenate([indices, pivots]),
        np.concatenate([weights, np.zeros(pivots.size)]),
    )
    out, state = np.empty((1, n + 1)), dijkstra.slots(n + 1, 1)
    source, row = np.array([n], np.intp), np.zeros(1, np.intp)
    while dijkstra.advance(*grown, source, row, *state, 2**20, out, 1):
        pass
    return out[0, :n]


def _halve(C, n):
    """Return the order of the leaves of a balanced tree of median splits, level by level."""
    order, parts = np.arange(n), 1
    while parts * LEAF < n:
        starts = np.arange(parts) * n // parts
        rows = C[order]
        spread = np.maximum.reduceat(rows, starts) - np.minimum.reduceat(rows, starts)
        part = np.repeat(np.arange(parts), np.diff(starts, append=n))
        along = rows[np.arange(n), spread.argmax(axis=1)[part]]
        order = order[np.lexsort((along, part))]
        parts *= 2
    return order

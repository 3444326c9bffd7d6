"""Connected components, spanning forests, and the closed classes of a directed graph.

Components are *weak*: the direction of an edge does not matter. Everything is exact for edges of
length zero, because lengths are not looked at, or only to be sorted.
"""

from typing import NamedTuple

import numpy as np

from manifold_lab._kernels import forest

_EDGES = 2**22  # edges whose first ends are written out at a time


class Components(NamedTuple):
    """The components of a graph, numbered in the order of their smallest vertex."""

    labels: np.ndarray  #: component of each vertex, (n,)
    sizes: np.ndarray  #: number of vertices of each component, (c,)


def weak_components(indptr, indices):
    """Return the weakly connected components of a CSR graph.

    Parameters
    ----------
    indptr : ndarray of shape (n + 1,)
    indices : ndarray of shape (m,)

    Returns
    -------
    Components
        ``labels`` (n,) and ``sizes`` (c,).

    Examples
    --------
    >>> import numpy as np
    >>> labels, sizes = weak_components(np.array([0, 1, 1, 2]), np.array([1, 2]))
    >>> labels.tolist(), sizes.tolist()
    ([0, 0, 1], [2, 1])
    """
    parent = np.arange(len(indptr) - 1, dtype=np.intp)
    for u, v in _edge_blocks(indptr, indices):
        forest.join(parent, u, v)
    return components_of(parent)


def components_of(parent):
    """Return the components of a forest in which a root is its tree's smallest vertex."""
    root = np.asarray(parent)
    while True:
        above = root[root]
        if np.array_equal(above, root):
            break
        root = above
    _, labels, sizes = np.unique(root, return_inverse=True, return_counts=True)
    return Components(labels.astype(np.intp, copy=False), sizes)


def tree_edges(n, u, v, order):
    """Return, in order, the edges that first join two trees when they are taken in ``order``.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v : ndarray of shape (m,)
        Ends of the edges.
    order : ndarray of shape (m,)
        Positions of the edges, shortest first for a minimum spanning forest.

    Returns
    -------
    ndarray
        Those entries of ``order`` that are needed.
    """
    parent = np.arange(n, dtype=np.intp)
    needed = forest.join(parent, *(ends[order].astype(np.intp, copy=False) for ends in (u, v)))
    return order[needed.astype(bool)]


def closed_classes(indptr, indices):
    """Return the closed classes of a directed graph, in which edges lead from rows to columns.

    A class is a set of vertices that reach each other; it is closed if no edge leaves it. The
    weights of locally linear embedding have one null vector for each, so more than one means that
    the embedding falls apart even where the graph is connected.

    Returns
    -------
    labels : ndarray of shape (n,)
        Number of the closed class of each vertex, in the order of their smallest vertex; -1 for
        a transient vertex, which is in none.
    sizes : ndarray of shape (number of closed classes,)

    Examples
    --------
    >>> import numpy as np  # 0 <-> 1 -> 2 <-> 3: only 2 and 3 are never left
    >>> labels, sizes = closed_classes(np.array([0, 1, 3, 4, 5]), np.array([1, 0, 2, 3, 2]))
    >>> labels.tolist(), sizes.tolist()
    ([-1, -1, 0, 0], [2])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(indptr) - 1
    ones = np.ones(len(indices), dtype=np.int8)  # weights do not matter, and zeros are no edges
    graph = csr_array((ones, indices, indptr), shape=(n, n))
    count, strong = connected_components(graph, directed=True, connection="strong")
    closed = np.ones(count, dtype=bool)
    for u, v in _edge_blocks(indptr, indices):
        tail = strong[u]
        closed[tail[tail != strong[v]]] = False
    inside = np.flatnonzero(closed[strong])
    _, first, found, sizes = np.unique(
        strong[inside], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    labels = np.full(n, -1, dtype=np.intp)
    labels[inside] = rank[found]
    return labels, sizes[order]


def _edge_blocks(indptr, indices):
    """Yield both ends of the edges, in blocks of rows that bound the memory."""
    n, row = len(indptr) - 1, 0
    while row < n:
        last = int(np.searchsorted(indptr, indptr[row] + _EDGES, side="right")) - 1
        last = min(max(last, row + 1), n)
        u = np.repeat(np.arange(row, last, dtype=np.intp), np.diff(indptr[row : last + 1]))
        yield u, np.ascontiguousarray(indices[indptr[row] : indptr[last]], dtype=np.intp)
        row = last

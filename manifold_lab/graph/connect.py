"""What would connect a graph: shortest bridges, the smallest k, the smallest eps. All exact.

Bridges are found in the rounds of Borůvka's algorithm: each component takes its shortest edge to
the outside. What a point's nearest foreign point was stays true until that point is foreign no
more, and its distance stays a lower bound, so that few points are searched again.
"""

from typing import NamedTuple

import numpy as np

from manifold_lab._kernels import forest
from manifold_lab.graph.components import components_of, tree_edges
from manifold_lab.graph.space import kth_column

_LIST_ENTRIES = 2**23  # neighbours listed while looking for the smallest k


class Bridges(NamedTuple):
    """Edges that were added to connect a graph, shortest first."""

    edges: np.ndarray  #: their ends, the smaller index first, (m, 2)
    lengths: np.ndarray  #: (m,)


def bridges(space, labels, lists=None):
    """Return the shortest edges that connect the parts given by ``labels``.

    Parameters
    ----------
    space : Space
    labels : ndarray of shape (n,)
        Part of each point, numbered from 0 without gaps.
    lists : tuple of ndarray of shape (n, k), optional
        ``(distances, indices)`` of each point's nearest others: looked at before searching.

    Returns
    -------
    Bridges
        With lengths in units of the space. One less than there are parts; of all ways to connect
        them the one of least total length, and of least longest edge. With every point a part of
        its own, the minimum spanning tree.
    """
    labels = labels.copy()
    n, parts = len(labels), int(labels.max()) + 1
    r, near = np.zeros(n), np.full(n, -1, dtype=np.intp)  # at least so far; the point, if known
    found = []
    while parts > 1:
        _refresh(space, labels, parts, lists, r, near)
        rows = _best_rows(labels, parts, r, near)
        edges = np.sort(np.column_stack([rows, near[rows]]), axis=1)
        order = np.lexsort((edges[:, 1], edges[:, 0], r[rows]))
        kept = tree_edges(parts, labels[edges[:, 0]], labels[edges[:, 1]], order)
        found.append((edges[kept], r[rows[kept]]))
        parent = np.arange(parts, dtype=np.intp)
        ends = labels[edges[kept]].T
        forest.join(parent, *map(np.ascontiguousarray, ends))
        joined = components_of(parent)
        labels, parts = joined.labels[labels], len(joined.sizes)
    edges = np.concatenate([np.empty((0, 2), dtype=np.intp), *(e for e, _ in found)])
    lengths = np.concatenate([np.empty(0), *(d for _, d in found)])
    order = np.lexsort((edges[:, 1], edges[:, 0], lengths))
    return Bridges(edges[order], lengths[order])


def _refresh(space, labels, parts, lists, r, near):
    """Make (r, near) true for every row that may hold its part's shortest way out."""
    stale = np.flatnonzero((near < 0) | (labels[near] == labels))
    near[stale] = -1
    if lists is not None:
        foreign = labels[lists[1][stale]] != labels[stale][:, None]
        hit, column = foreign.any(axis=1), foreign.argmax(axis=1)
        listed = stale[hit]
        r[listed], near[listed] = lists[0][listed, column[hit]], lists[1][listed, column[hit]]
        stale = stale[~hit]
        r[stale] = np.maximum(r[stale], lists[0][stale, -1])  # farther than all listed
    best = _best(labels, parts, r, near)
    rows = stale[r[stale] <= best[labels[stale]]]
    if rows.size:
        r[rows], near[rows] = space.nearest_foreign(rows, labels)


def _best(labels, parts, r, near):
    known = near >= 0
    best = np.full(parts, np.inf)
    np.minimum.at(best, labels[known], r[known])
    return best


def _best_rows(labels, parts, r, near):
    """Return for each part the row of its shortest edge outwards, ties by the edge's ends."""
    best = _best(labels, parts, r, near)
    rows = np.flatnonzero((near >= 0) & (r == best[labels]))
    low, high = np.minimum(rows, near[rows]), np.maximum(rows, near[rows])
    rows = rows[np.lexsort((high, low, labels[rows]))]
    return rows[np.unique(labels[rows], return_index=True)[1]]


def smallest_eps(space):
    """Return the least eps whose graph is connected: the longest edge of the spanning tree.

    The tree is that of all points, not of a neighbour graph. None for a single point; 0.0 if all
    points coincide, so that any eps connects them.
    """
    n = len(space)
    if n < 2:
        return None
    lists = space.knn(min(10, n - 1))
    return float(space.out(bridges(space, np.arange(n), lists).lengths[-1:])[0])


def smallest_k(space, k, *, mutual=False):
    """Return the least number of neighbours whose graph is connected; None for a single point.

    Parameters
    ----------
    space : Space
    k : int
        Where to start looking; the answer does not depend on it.
    mutual : bool
        Of the graph that holds an edge only if both ends list each other. The default is that
        of the graph that holds it if one does.
    """
    n = len(space)
    if n < 2:
        return None
    least = _least_mutual if mutual else _least_union
    k = min(max(k, 1), n - 1)
    while True:
        found, labels = least(space.knn(k)[1])
        if found is not None:
            return found
        if k == n - 1 or 2 * k * n > _LIST_ENTRIES:
            break
        k = min(2 * k, n - 1)
    if not mutual:
        return _least_by_ranks(space, labels)
    return _least_by_bisection(space, k, labels)


def _least_union(ids):
    """Return the least k that connects lists of neighbours, or None, and the parts they leave."""
    n, parts = len(ids), len(ids)
    parent, rows = np.arange(n, dtype=np.intp), np.arange(n, dtype=np.intp)
    for column in range(ids.shape[1]):
        parts -= int(forest.join(parent, rows, np.ascontiguousarray(ids[:, column])).sum())
        if parts == 1:
            return column + 1, None
    return None, components_of(parent).labels


def _least_mutual(ids):
    n, k = ids.shape
    rows = np.repeat(np.arange(n, dtype=np.intp), k)
    ranks = np.tile(np.arange(1, k + 1), n)
    v = ids.ravel()
    low, high = np.minimum(rows, v), np.maximum(rows, v)
    order = np.lexsort((high, low))
    low, high, ranks = low[order], high[order], ranks[order]
    twice = np.flatnonzero((low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    u, v = low[twice], high[twice]
    worse = np.maximum(ranks[twice], ranks[twice + 1])
    parent = np.arange(n, dtype=np.intp)
    order = np.argsort(worse, kind="stable")
    needed = forest.join(parent, u[order], v[order]).astype(bool)
    if needed.sum() == n - 1:
        return int(worse[order[needed][-1]]), None
    return None, components_of(parent).labels


def _least_by_ranks(space, labels):
    """Return the least k by the rank of the nearest point of each part, from each point.

    Two parts are joined by k neighbours if and only if some point of one has a point of the other
    among its first k. Rough distances say from where a rank may be the least so far; only these
    ranks are counted exactly. Time O(n^2 c) for c parts, memory O(n + c^2).
    """
    parts = int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")  # columns part by part
    starts = np.searchsorted(labels[order], np.arange(parts))
    rank = np.full((parts, parts), len(labels))
    for rows, D in space.others(rough=True):
        nearest = np.minimum.reduceat(D[:, order], starts, axis=1) * (1 - 2 * space.slack)
        for part in range(parts):
            away = np.flatnonzero(labels[rows] != part)
            bound = 1 + np.count_nonzero(nearest[away, part, None] > D[away], axis=1)
            for at in np.argsort(bound, kind="stable"):
                own = labels[rows[away[at]]]
                if bound[at] < rank[own, part]:
                    exact = _rank(space, rows[away[at]], labels == part)
                    rank[own, part] = min(rank[own, part], exact)
    u, v = np.nonzero(~np.eye(parts, dtype=bool))
    kept = tree_edges(parts, u, v, np.argsort(rank[u, v], kind="stable"))
    return int(rank[u, v][kept[-1]])


def _rank(space, row, members):
    """Return the rank, by (distance, index), of the first member among the others of a point."""
    (_, D), *_ = space.others(np.array([row]))
    level = D[0, members].min()
    first = np.flatnonzero((D[0] == level) & members)[0]
    return 1 + np.count_nonzero(D[0] < level) + np.count_nonzero(D[0, :first] == level)


def _least_by_bisection(space, k, labels):
    """Return the least k of the mutual graph, which does not connect at k. Memory O(n).

    A pass over all distances for each k tried. One side's lists join no later than both sides',
    which says where to begin; from there the answer is often near.
    """
    step, low, high = 1, max(k, _least_by_ranks(space, labels) - 1), len(space) - 1
    while low + step < high:
        if _mutually_connected(space, low + step, labels):
            high = low + step
            break
        low, step = low + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if _mutually_connected(space, middle, labels):
            high = middle
        else:
            low = middle
    return high


def _mutually_connected(space, k, labels):
    """Say whether k neighbours on both sides connect the parts given by ``labels``."""
    n = len(space)
    last, last_id = np.empty(n), np.empty(n, dtype=np.intp)
    for rows, D in space.others():
        last[rows], last_id[rows] = kth_column(D, k)
    parent = np.arange(int(labels.max()) + 1, dtype=np.intp)
    columns = np.arange(n)
    for rows, D in space.others():
        mine, theirs = last[rows][:, None], last
        listed = (mine > D) | ((mine == D) & (columns <= last_id[rows][:, None]))
        listed &= (theirs > D) | ((theirs == D) & (rows[:, None] <= last_id))
        listed &= labels[rows][:, None] != labels
        i, v = np.nonzero(listed)
        forest.join(parent, labels[rows[i]], labels[v])
    return len(components_of(parent).sizes) == 1

"""Small weighted graphs, each hard for shortest paths in its own way, as (indptr, indices, weights)."""

import numpy as np
from scipy.spatial.distance import cdist


def from_edges(n, tails, heads, weights, directed=False):
    """CSR arrays of an edge list; without ``directed`` every edge also leads back."""
    tails, heads = np.asarray(tails, np.intp), np.asarray(heads, np.intp)
    weights = np.asarray(weights, np.float64)
    if not directed:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        weights = np.concatenate([weights, weights])
    order = np.lexsort((heads, tails))
    counts = np.bincount(tails, minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    return indptr, heads[order], weights[order]


def nearest(X, k, directed=False):
    """The union graph of k nearest neighbours, zero-length edges included."""
    D = cdist(X, X)
    n = len(D)
    ranked = D.copy()
    np.fill_diagonal(ranked, np.inf)
    linked = np.zeros((n, n), bool)
    linked[np.arange(n)[:, None], np.argsort(ranked, axis=1, kind="stable")[:, :k]] = True
    if not directed:
        linked |= linked.T
    tails, heads = np.nonzero(linked)
    return from_edges(n, tails, heads, D[tails, heads], directed=True)


def roll(n, rng):
    """Points on a Swiss roll."""
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.c_[t * np.cos(t), 21 * rng.random(n), t * np.sin(t)]


def _lattice(rng):
    X = np.stack(np.meshgrid(np.arange(18.0), np.arange(15.0)), axis=-1).reshape(-1, 2)
    return nearest(X, 4)


def _duplicates(rng):
    return nearest(np.repeat(rng.random((60, 2)), 5, axis=0), 9)


def _islands(rng):
    X = np.concatenate([rng.random((size, 2)) + 100 * i for i, size in enumerate((90, 60, 1, 40))])
    linked = nearest(X[:150], 4), nearest(X[151:], 3)
    gap = np.full(1, linked[0][0][-1])  # vertex 150 has no edge
    indptr = np.concatenate([linked[0][0], gap, linked[1][0][1:] + linked[0][0][-1]])
    indices = np.concatenate([linked[0][1], linked[1][1] + 151])
    return indptr, indices, np.concatenate([linked[0][2], linked[1][2]])


def _star(rng):
    return from_edges(200, np.full(199, 77), np.delete(np.arange(200), 77), rng.random(199))


def _path(rng):
    order = rng.permutation(300)
    return from_edges(300, order[:-1], order[1:], rng.random(299))


def _directed(rng):
    return nearest(rng.random((250, 3)), 5, directed=True)


def _parallel(rng):
    """Parallel edges of unequal length, and loops, in one direction only."""
    tails, heads = rng.integers(0, 80, (2, 600))
    return from_edges(80, tails, heads, rng.random(600), directed=True)


def _uneven(rng):
    """Lengths over sixty orders of magnitude: the order of one source says little of another's."""
    tails, heads = rng.integers(0, 200, (2, 900))
    return from_edges(200, tails, heads, 10.0 ** rng.uniform(-30, 30, 900))


MAKERS = {
    "swiss roll": lambda rng: nearest(roll(400, rng), 8),
    "rounded": lambda rng: nearest(np.round(roll(300, rng), 1), 7),
    "lattice": _lattice,
    "duplicates": _duplicates,
    "all equal": lambda rng: nearest(np.ones((100, 2)), 6),
    "islands": _islands,
    "star": _star,
    "path": _path,
    "complete": lambda rng: nearest(rng.random((70, 4)), 69),
    "directed": _directed,
    "parallel": _parallel,
    "uneven": _uneven,
    "no path": lambda rng: from_edges(80, [0, 3], [1, 4], [np.inf, 1.0]),
    "one edge": lambda rng: from_edges(2, [0], [1], [0.5]),
    "one vertex": lambda rng: from_edges(1, [], [], []),
    "no edges": lambda rng: from_edges(40, [], [], []),
    "loop": lambda rng: from_edges(1, [0], [0], [1.0], directed=True),
}


def make(name):
    """Return the graph of that name, always the same."""
    return MAKERS[name](np.random.default_rng(sorted(MAKERS).index(name)))

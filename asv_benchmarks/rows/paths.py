"""Shortest paths: all pairs of a neighbour graph, a few landmarks, and all pairs of a dense graph."""

import functools
from typing import NamedTuple

import numpy as np

from asv_benchmarks.benchmarks.common import complete_graph, roll_graph
from asv_benchmarks.rows import Peer, Row

_CHECKED = 100  # sources whose distances are proved shortest
_BOUNDS = {"float64": 1e-12, "float32": 2e-7}


class Data(NamedTuple):
    A: object  # CSR matrix of edge lengths
    sources: np.ndarray
    dtype: str


def _setup(make, size, small, dtype, quick):
    n, count = small if quick else size
    sources = np.arange(n) if count is None else np.random.default_rng(0).permutation(n)[:count]
    return Data(make(n), sources, dtype)


def agree(data, D, exact):
    """Prove some rows shortest: no edge shortens a path, and every path ends in an edge.

    That is D[s, v] = min over u of D[s, u] + w[u, v] for all v but s itself, where it is zero.
    """
    if D.shape != (data.sources.size, data.A.shape[0]):
        return f"a result of shape {D.shape}"
    some = np.unique(np.linspace(0, data.sources.size - 1, _CHECKED).astype(int))
    D, at = np.asarray(D[some], np.float64), (np.arange(some.size), data.sources[some])
    if D[at].any():
        return "a vertex is away from itself"
    A = data.A  # symmetric, and no row is empty
    by_edge = np.minimum.reduceat(D[:, A.indices] + A.data, A.indptr[:-1], axis=1)
    by_edge[at] = 0.0
    error = np.abs(D - by_edge).max() / D.max()
    bound = _BOUNDS[data.dtype if exact else "float32"]
    return "" if error <= bound else f"distances off by {error:.1e}, allowed {bound:.0e}"


def ours(data):
    from manifold_lab.graph.geodesic import shortest_paths

    A = data.A
    return shortest_paths(A.indptr, A.indices, A.data, sources=data.sources, dtype=data.dtype)


def _scipy(data):
    from scipy.sparse.csgraph import dijkstra

    return dijkstra(data.A, indices=data.sources)


def _scipy_floyd(data):
    from scipy.sparse.csgraph import floyd_warshall

    return floyd_warshall(data.A)


def _igraph(data):
    import igraph

    A = data.A.tocoo()
    once = A.row < A.col
    edges = np.column_stack([A.row[once], A.col[once]])
    graph = igraph.Graph(n=A.shape[0], edges=edges.tolist())
    return np.array(graph.distances(source=data.sources.tolist(), weights=A.data[once].tolist()))


_SCIPY = {"distribution": "scipy", "module": "scipy.sparse.csgraph"}
_PEERS = {
    "scipy": Peer(_scipy, **_SCIPY),
    "igraph": Peer(_igraph, distribution="igraph", module="igraph"),
}
_DENSE_PEERS = {**_PEERS, "scipy Floyd": Peer(_scipy_floyd, **_SCIPY)}


def _row(name, make, peers, *, goal, size, small, dtype="float64"):
    setup = functools.partial(_setup, make, size, small, dtype)
    return Row(f"shortest paths, {name}", goal, setup, ours, peers, agree)


_roll = functools.partial(_row, make=roll_graph, peers=_PEERS, small=(300, None))

ROWS = (
    _roll("Swiss roll 5,000, f64", goal=15, size=(5_000, None)),
    _roll("Swiss roll 5,000, f32", goal=15, size=(5_000, None), dtype="float32"),
    _roll("Swiss roll 20,000, 20 sources", goal=3, size=(20_000, 20), small=(300, 3)),
    _roll("Swiss roll 20,000, 500 sources", goal=8, size=(20_000, 500), small=(300, 90)),
    _row(
        "complete 1,000", complete_graph, _DENSE_PEERS, goal=5, size=(1_000, None), small=(90, None)
    ),
)

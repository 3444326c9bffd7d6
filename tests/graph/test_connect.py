"""Bridges, the smallest k and the smallest eps against brute force, ties and duplicates included."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from manifold_lab.errors import ParameterError
from manifold_lab.graph import NeighborGraph, connect, neighbor_graph
from manifold_lab.graph.connect import smallest_eps, smallest_k
from manifold_lab.graph.space import space_of
from manifold_lab.metrics import Mahalanobis, WeightedEuclidean, pairwise


def distances(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))


def clusters(seed, d=2, sizes=(3, 7, 12), gap=4.0, whole=False):
    """Separate clusters, in random order; on whole numbers and with duplicates if asked."""
    rng = np.random.default_rng(seed)
    parts = [rng.standard_normal((m, d)) + gap * c for c, m in enumerate(sizes)]
    X = np.concatenate(parts)
    if whole:
        X = np.round(2 * X)
        X[rng.integers(len(X), size=5)] = X[rng.integers(len(X), size=5)]
    return rng.permutation(X)


SETS = {
    "clusters": lambda seed: clusters(seed),
    "lattice": lambda seed: clusters(seed, whole=True),
    "line": lambda seed: clusters(seed, d=1, sizes=(2, 2, 9, 4), whole=True),
    "many": lambda seed: clusters(seed, d=3, sizes=(4,) * 9, gap=2.0),
    "cloud": lambda seed: np.random.default_rng(seed).standard_normal((25, 3)),
    "twins": lambda seed: np.repeat(clusters(seed, sizes=(2, 3, 4)), 3, axis=0),
    "binary": lambda seed: np.random.default_rng(seed).integers(0, 2, (24, 3)).astype(float),
}
cases = pytest.mark.parametrize("name", SETS)
seeds = pytest.mark.parametrize("seed", range(4))


def space(X, metric="euclidean"):
    return space_of(X, metric, "test")


def spaces(X):
    return space(X), space(distances(X), "precomputed")


def brute_k(X, mutual):
    mode = "mutual" if mutual else "union"
    for k in range(1, len(X)):
        if len(neighbor_graph(X, k=k, mode=mode).components().sizes) == 1:
            return k
    raise AssertionError("k = n - 1 connects")


def brute_eps(X):
    for eps in np.unique(distances(X)):
        D = csr_array(distances(X) <= eps)
        if len(NeighborGraph.from_csr(D.astype(float)).components().sizes) == 1:
            return eps
    raise AssertionError("the largest distance connects")


# ------------------------------------------------------------------ smallest k


@cases
@seeds
@pytest.mark.parametrize("mutual", [False, True])
@pytest.mark.parametrize("entries", [0, 2**23])
def test_the_smallest_k_is_that_of_brute_force(name, seed, mutual, entries, monkeypatch):
    # without room for longer lists the passes over all distances have to find it
    monkeypatch.setattr(connect, "_LIST_ENTRIES", entries)
    X = SETS[name](seed)
    expected = brute_k(X, mutual)
    for points in spaces(X):
        assert {smallest_k(points, start, mutual=mutual) for start in (1, 3)} == {expected}


def test_the_smallest_k_of_far_clusters_is_the_size_of_the_smallest():
    X = np.concatenate([np.arange(30.0), 1000 + np.arange(50.0)])[:, None]
    assert smallest_k(space(X), 5) == 30
    assert smallest_k(space(X), 5, mutual=True) == 50


def test_the_smallest_k_does_not_need_all_distances_at_once(monkeypatch):
    monkeypatch.setattr(connect, "_LIST_ENTRIES", 0)
    monkeypatch.setattr("manifold_lab.graph.space._BLOCK", 1)  # a row at a time
    X = clusters(0, whole=True)
    assert smallest_k(space(X), 2) == brute_k(X, False)
    assert smallest_k(space(X), 2, mutual=True) == brute_k(X, True)


# ------------------------------------------------------------------ smallest eps


@cases
@seeds
def test_the_smallest_eps_is_that_of_brute_force(name, seed):
    X = SETS[name](seed)
    expected = brute_eps(X)
    for points in spaces(X):
        assert smallest_eps(points) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_eps_connects_and_the_next_smaller_number_does_not(seed, dtype):
    X = np.random.default_rng(seed).standard_normal((80, 3)).astype(dtype)
    eps = smallest_eps(space(X))
    assert len(neighbor_graph(X, eps=eps).components().sizes) == 1
    assert len(neighbor_graph(X, eps=np.nextafter(eps, 0)).components().sizes) > 1


def callable_metric(x, y):
    return float(np.abs(x - y).max())


@pytest.mark.parametrize(
    "metric",
    [
        "manhattan",
        "sqeuclidean",
        "cosine",
        callable_metric,
        WeightedEuclidean(np.arange(1.0, 21.0)),
        Mahalanobis(np.diag(np.arange(1.0, 21.0)) + 0.1),
    ],
    ids=str,
)
def test_other_metrics(metric):
    X = clusters(1, d=20, gap=1.5)
    eps, k = smallest_eps(space(X, metric)), smallest_k(space(X, metric), 2)

    def parts(**how):
        return len(neighbor_graph(X, metric=metric, **how).components().sizes)

    assert parts(eps=eps) == 1 < parts(eps=np.nextafter(eps, 0))
    assert parts(k=k) == 1 < parts(k=k - 1)
    D = pairwise(X, metric=metric)
    graph = neighbor_graph(X, k=3, metric=metric)
    rows = np.repeat(np.arange(len(X)), np.diff(graph.indptr))
    np.testing.assert_allclose(graph.weights, D[rows, graph.indices], rtol=1e-12)
    labels = graph.components().labels
    lengths = graph.connect().bridges.lengths
    quotient = np.full((labels.max() + 1,) * 2, np.inf)
    np.minimum.at(quotient, (labels[:, None], labels), D)
    expected = minimum_spanning_tree(quotient).data
    np.testing.assert_allclose(lengths, np.sort(expected), rtol=1e-12)


def test_points_that_coincide_need_no_eps():
    assert smallest_eps(space(np.ones((20, 2)))) == 0.0
    assert smallest_k(space(np.ones((20, 2))), 1) == brute_k(np.ones((20, 2)), False)


def test_a_single_point_has_neither():
    assert smallest_eps(space(np.ones((1, 2)))) is None
    assert smallest_k(space(np.ones((1, 2))), 1) is None


# ------------------------------------------------------------------ bridges


def brute_bridges(X, labels):
    """Kruskal on all pairs, by (length, smaller end, larger end)."""
    D, labels = distances(X), labels.copy()
    pairs = sorted((D[i, j], i, j) for i in range(len(X)) for j in range(i + 1, len(X)))
    chosen = []
    for length, i, j in pairs:
        if labels[i] != labels[j]:
            labels[labels == labels[i]] = labels[j]
            chosen.append((length, i, j))
    return chosen


@cases
@seeds
@pytest.mark.parametrize("k", [1, 2])
def test_bridges_are_those_of_brute_force(name, seed, k):
    X = SETS[name](seed)
    for graph in (
        neighbor_graph(X, k=k),
        neighbor_graph(X, k=k, mode="mutual"),
        neighbor_graph(distances(X), k=k, metric="precomputed"),
    ):
        labels, sizes = graph.components()
        joined = graph.connect()
        edges, lengths = joined.bridges
        found = [(d, i, j) for (i, j), d in zip(edges.tolist(), lengths, strict=True)]
        assert found == brute_bridges(X, labels)
        assert len(found) == len(sizes) - 1
        assert joined.components().sizes.tolist() == [len(X)]
        assert joined.n_edges == graph.n_edges + len(found)
        added = joined.to_csr()
        assert all(added[i, j] == added[j, i] == d for d, i, j in found)


def test_points_that_are_searched_by_halves(monkeypatch):
    """Clusters too large for a list to reach out of: found digit by digit of their labels."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.standard_normal((90, 2)) + [30 * c, 7 * c * c] for c in range(5)])
    graph = neighbor_graph(X, k=6)
    labels, sizes = graph.components()
    assert len(sizes) >= 5
    edges, lengths = graph.connect().bridges
    found = [(d, i, j) for (i, j), d in zip(edges.tolist(), lengths, strict=True)]
    assert found == brute_bridges(X, labels)


def test_a_directed_graph_gets_both_directions():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    joined = neighbor_graph(X, k=1, mode="directed").connect()
    A = joined.to_csr()
    assert A[1, 2] == A[2, 1] == 9.0
    assert joined.mode == "directed"


def test_a_connected_graph_is_returned_itself(rng):
    graph = neighbor_graph(rng.standard_normal((20, 2)), k=19)
    assert graph.connect() is graph
    assert graph.bridges.edges.shape == (0, 2)


def test_the_first_graph_is_left_alone_and_bridges_are_said():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    graph = neighbor_graph(X, k=1)
    joined = graph.connect()
    assert repr(joined) == "NeighborGraph(n=4, n_edges=3, k=1, mode='union', bridges=1)"
    assert graph.components().sizes.tolist() == [2, 2]
    assert joined.connect() is joined


def test_a_graph_without_points_cannot_be_connected():
    graph = NeighborGraph.from_csr(csr_array((3, 3)))
    with pytest.raises(ParameterError, match=r"3 components and no points.*points=X"):
        graph.connect()
    joined = NeighborGraph.from_csr(csr_array((3, 3)), points=[[0.0], [5.0], [1.0]]).connect()
    assert joined.bridges.edges.tolist() == [[0, 2], [1, 2]]

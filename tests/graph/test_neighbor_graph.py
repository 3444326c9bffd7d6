"""Neighbour graphs against brute force: ties, duplicates, zero lengths, modes, sparse input."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from manifold_lab.errors import ParameterError
from manifold_lab.graph import NeighborGraph, neighbor_graph


def lattice(side=6):
    """Integer points with many exact ties, and some of them twice."""
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
    return np.concatenate([grid, grid[::5]]).astype(float)


def distances(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))


def listed(X, k=None, eps=None):
    """Ordered pairs (i, j): j is among the first k of i by (distance, index), or within eps."""
    D, n = distances(X), len(X)
    pairs = set()
    for i in range(n):
        order = sorted((D[i, j], j) for j in range(n) if j != i)
        chosen = order[:k] if k else [(d, j) for d, j in order if d <= eps]
        pairs |= {(i, j) for _, j in chosen}
    return pairs


def stored(graph):
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    return dict(
        zip(zip(rows.tolist(), graph.indices.tolist(), strict=True), graph.weights, strict=True)
    )


EXPECTED = {
    "directed": lambda pairs: pairs,
    "union": lambda pairs: {(i, j) for i, j in pairs} | {(j, i) for i, j in pairs},
    "mutual": lambda pairs: {(i, j) for i, j in pairs if (j, i) in pairs},
}


@pytest.mark.parametrize("mode", EXPECTED)
@pytest.mark.parametrize("how", [{"k": 1}, {"k": 4}, {"k": 7}, {"eps": 1.0}, {"eps": 1.5}])
@pytest.mark.parametrize("precomputed", [False, True])
def test_edges_and_lengths_are_those_of_brute_force(mode, how, precomputed):
    X = lattice()
    D = distances(X)
    graph = (
        neighbor_graph(D, metric="precomputed", mode=mode, **how)
        if precomputed
        else neighbor_graph(X, mode=mode, **how)
    )
    edges = stored(graph)
    assert set(edges) == EXPECTED[mode](listed(X, **how))
    assert all(D[pair] == weight for pair, weight in edges.items())
    for i in range(graph.n):
        row = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        assert (np.diff(row) > 0).all()


def test_duplicates_are_joined_by_edges_of_length_zero():
    graph = neighbor_graph(np.zeros((5, 3)), k=2)
    assert set(stored(graph)) == EXPECTED["union"](listed(np.zeros((5, 3)), k=2))
    assert (graph.weights == 0).all()
    assert graph.components().sizes.tolist() == [5]
    assert graph.to_csr().nnz == len(graph.indices)
    np.testing.assert_array_equal(graph.shortest_paths(), np.zeros((5, 5)))


def test_eps_includes_its_own_distance_to_the_last_bit(rng):
    X = rng.standard_normal((50, 3))
    D = neighbor_graph(X, k=49).shortest_paths(method="dijkstra")
    for eps in D[np.triu_indices(50, 1)][::97]:
        assert eps in neighbor_graph(X, eps=eps).weights
        assert eps not in neighbor_graph(X, eps=np.nextafter(eps, 0)).weights


def test_an_infinite_eps_joins_all():
    graph = neighbor_graph(lattice(3), eps=np.inf)
    assert graph.n_edges == graph.n * (graph.n - 1) // 2


def test_float32_stays_float32(rng):
    X = rng.standard_normal((40, 3)).astype(np.float32)
    graph = neighbor_graph(X, k=3)
    assert graph.weights.dtype == np.float32
    assert graph.shortest_paths().dtype == np.float32
    double = neighbor_graph(X.astype(np.float64), k=3)
    np.testing.assert_array_equal(graph.indices, double.indices)
    np.testing.assert_array_equal(graph.weights, double.weights.astype(np.float32))


def test_types_of_the_arrays_and_that_they_are_read_only(rng):
    graph = neighbor_graph(rng.standard_normal((20, 2)), k=3)
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.intp
    for name in ("indptr", "indices", "weights"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(graph, name)[0] = 0
    with pytest.raises(AttributeError):
        graph.k = 4


def test_points_are_referred_to_and_not_copied(rng):
    X = rng.standard_normal((20, 2))
    before = X.copy()
    graph = neighbor_graph(X, k=3)
    assert graph.points is X
    assert X.flags.writeable
    graph.connect().diagnose()
    np.testing.assert_array_equal(X, before)


def test_it_says_what_it_is(rng):
    X = rng.standard_normal((20, 2))
    graph = neighbor_graph(X, k=3, mode="directed")
    assert repr(graph) == "NeighborGraph(n=20, n_edges=60, k=3, mode='directed')"
    assert (graph.k, graph.eps, graph.mode, graph.metric) == (3, None, "directed", "euclidean")
    assert neighbor_graph(X, eps=np.float32(0.5)).eps == 0.5


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_a_copy_is_equal_and_works(copied, rng):
    graph = neighbor_graph(rng.standard_normal((30, 2)), k=1)
    other = copied(graph)
    assert stored(other) == stored(graph)
    assert other.connect().bridges.edges.tolist() == graph.connect().bridges.edges.tolist()


# ------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "got neither"),
        ({"k": 2, "eps": 1.0}, "got k=2 and eps=1.0"),
        ({"k": 10}, "k=10 .* each of the 10 samples has 9 others"),
        ({"k": 0}, "'k' .* an int >= 1. Got 0"),
        ({"k": 2.5}, "'k' .* Got 2.5"),
        ({"eps": 0.0}, "'eps' .* Got 0.0"),
        ({"eps": -1.0}, "'eps' .* Got -1.0"),
        ({"eps": np.nan}, "'eps' .* Got nan"),
        ({"k": 2, "mode": "either"}, "'mode' .* Got 'either'"),
        ({"k": 2, "n_jobs": 0}, "'n_jobs' .* Got 0"),
    ],
)
def test_parameters_outside_their_bounds(how, words, rng):
    with pytest.raises(ParameterError, match=words):
        neighbor_graph(rng.standard_normal((10, 2)), **how)


def test_samples_that_are_not_finite(rng):
    X = rng.standard_normal((10, 2))
    X[3, 1] = np.nan
    with pytest.raises(ParameterError, match="row 3, column 1"):
        neighbor_graph(X, k=2)


def test_distances_that_are_none(rng):
    D = distances(rng.standard_normal((6, 2)))
    asymmetric, negative = D.copy(), D.copy()
    asymmetric[1, 4] += 0.1
    negative[2, 3] = -1.0
    for bad, words in (
        (D[:4], "square matrix of distances, X has shape \\(4, 6\\)"),
        (asymmetric, r"X is not symmetric: X\[1, 4\]"),
        (negative, r"X\[2, 3\] = -1.0 is no distance"),
        (csr_array(D), "NeighborGraph.from_csr"),
    ):
        with pytest.raises(ParameterError, match=words):
            neighbor_graph(bad, k=2, metric="precomputed")


def test_distances_that_differ_by_rounding_are_made_symmetric(rng):
    D = distances(rng.standard_normal((30, 2)))
    noisy = D * (1 + 1e-13 * rng.standard_normal(D.shape))
    graph = neighbor_graph(noisy, k=4, metric="precomputed")
    edges = stored(graph)
    assert all(edges[j, i] == weight for (i, j), weight in edges.items())
    np.testing.assert_allclose([D[pair] for pair in edges], list(edges.values()), rtol=1e-12)


# ------------------------------------------------------------------ sparse graphs


def test_a_sparse_graph_keeps_stored_zeros_and_the_least_of_several():
    rows, columns = [0, 1, 2, 2, 3, 3], [1, 0, 3, 3, 3, 0]
    lengths = [0.0, 2.0, 5.0, 4.0, 1.0, 7.0]
    matrix = coo_array((lengths, (rows, columns)), shape=(4, 4))
    assert stored(NeighborGraph.from_csr(matrix)) == {
        (0, 1): 0.0,
        (1, 0): 0.0,
        (0, 3): 7.0,
        (3, 0): 7.0,
        (2, 3): 4.0,
        (3, 2): 4.0,
    }
    assert stored(NeighborGraph.from_csr(matrix, mode="mutual")) == {(0, 1): 0.0, (1, 0): 0.0}
    directed = NeighborGraph.from_csr(matrix, mode="directed")
    assert stored(directed) == {(0, 1): 0.0, (1, 0): 2.0, (2, 3): 4.0, (3, 0): 7.0}
    assert matrix.nnz == 6


def test_a_graph_of_several_billion_possible_edges_is_indexed_without_overflow():
    n = 100_000
    ends = np.array([n - 1, 70_000, 2]), np.array([n - 2, 90_000, n - 1])
    graph = NeighborGraph.from_csr(coo_array(([1.0, 2.0, 3.0], ends), shape=(n, n)))
    assert sorted(stored(graph)) == sorted(
        [*zip(*map(list, ends), strict=True), *zip(*map(list, ends[::-1]), strict=False)]
    )
    assert len(graph.components().sizes) == n - 3


def test_a_sparse_graph_round_trips(rng):
    graph = neighbor_graph(rng.standard_normal((30, 2)), k=3)
    again = NeighborGraph.from_csr(graph.to_csr(), points=graph.points)
    assert stored(again) == stored(graph)
    assert again.points is graph.points


def test_empty_and_single_graphs():
    empty = NeighborGraph.from_csr(csr_array((5, 5)))
    assert empty.n_edges == 0
    assert empty.components().sizes.tolist() == [1] * 5
    assert np.isinf(empty.shortest_paths()[0, 1])
    single = neighbor_graph([[1.0, 2.0]], eps=1.0)
    assert single.n_edges == 0
    assert single.connect() is single
    assert single.diagnose().smallest_k is None


@pytest.mark.parametrize(
    ("matrix", "more", "words"),
    [
        (np.eye(3), {}, "needs a scipy sparse matrix, got ndarray"),
        (csr_array((3, 4)), {}, "square matrix, got shape \\(3, 4\\)"),
        (csr_array([[0, -1.0], [0, 0]]), {}, "from 0 to 1 has the length -1.0"),
        (csr_array([[0, 0], [np.inf, 0]]), {}, "from 1 to 0 has the length inf"),
        (csr_array([[0, 1j], [0, 0]]), {}, "complex128"),
        (csr_array((3, 3)), {"mode": "both"}, "'mode'"),
        (csr_array((3, 3)), {"points": np.ones((2, 2))}, "3 vertices, and there are 2 points"),
    ],
)
def test_matrices_that_are_no_graphs(matrix, more, words):
    with pytest.raises(ParameterError, match=words):
        NeighborGraph.from_csr(matrix, **more)


def test_paths_of_a_directed_graph_go_one_way():
    graph = NeighborGraph.from_csr(
        csr_array([[0, 2.0, 0], [0, 0, 3.0], [0, 0, 0]]), mode="directed"
    )
    np.testing.assert_array_equal(
        graph.shortest_paths(sources=[0, 2]), [[0, 2, 5], [np.inf] * 2 + [0]]
    )

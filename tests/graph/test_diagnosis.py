"""Open and short circuits: found where they are, and nowhere else.

A true shortcut joins samples whose distance along the surface is more than four times their
distance across, both taken on the surface itself, before noise: noise alone makes neighbours
whose distance along the surface is many times a tiny length.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array

from manifold_lab.datasets import s_curve, swiss_roll
from manifold_lab.graph import NeighborGraph, neighbor_graph
from manifold_lab.graph.diagnosis import mutual_ranks
from manifold_lab.graph.shortcuts import STRETCH, csr_of, detours


def roll(n, noise, k, seed):
    """Return a graph and the set of its true shortcut edges."""
    X, T = swiss_roll(n_samples=n, noise=noise, random_state=seed)
    clean, _ = swiss_roll(n_samples=n, random_state=seed)
    graph = neighbor_graph(X, k=k)
    u, v, _ = graph.edges()
    along = np.linalg.norm(T[u] - T[v], axis=1)
    across = np.linalg.norm(clean[u] - clean[v], axis=1)
    true = along > 4 * across
    return graph, set(zip(u[true].tolist(), v[true].tolist(), strict=True))


def counts(n, noise, ks, seeds):
    """Return the numbers of true edges, of those found, and of edges flagged."""
    total = np.zeros(3, dtype=int)
    for k in ks:
        for seed in seeds:
            graph, true = roll(n, noise, k, seed)
            found = set(map(tuple, graph.diagnose(n_jobs=1).suspects.tolist()))
            total += len(true), len(true & found), len(found)
    return total


@pytest.mark.parametrize("noise", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("n", [400, 700, 1000])
def test_short_circuits_of_rolls_are_found_and_little_else(n, noise):
    true, right, flagged = counts(n, noise, (8, 16, 25), (11, 12))
    assert true > 20
    assert right >= 0.95 * true
    assert right >= 0.9 * flagged


def test_short_circuits_of_few_samples_without_noise():
    """250 samples are hardly nearer to each other than the sheets are."""
    true, right, flagged = counts(250, 0.0, (8, 12, 16, 20, 25), (11, 12))
    assert true > 1000
    assert right >= 0.95 * true
    assert right >= 0.9 * flagged


@pytest.mark.parametrize("k", [8, 12])
def test_a_well_sampled_roll_has_none(k):
    graph, true = roll(2000, 0.0, k, 3)
    assert not true
    assert not graph.diagnose().short_circuits


def torus(n, rng):
    """Uniform on the surface of the torus with radii 3 and 1."""
    a, b = rng.uniform(0, 2 * np.pi, (2, 4 * n))
    kept = rng.uniform(0, 4, 4 * n) < 3 + np.cos(a)
    a, b = a[kept][:n], b[kept][:n]
    return np.column_stack([(3 + np.cos(a)) * np.cos(b), (3 + np.cos(a)) * np.sin(b), np.sin(a)])


CLOUDS = {
    "s_curve": lambda n, rng: s_curve(n_samples=n, random_state=rng)[0],
    "torus": torus,
    "uniform 2-D": lambda n, rng: rng.uniform(size=(n, 2)),
    "uniform 5-D": lambda n, rng: rng.uniform(size=(n, 5)),
    "normal 10-D": lambda n, rng: rng.standard_normal((n, 10)),
}


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("n", [500, 1000])
def test_nothing_is_flagged_where_nothing_is_wrong(name, n):
    for k in (8, 12, 20):
        X = CLOUDS[name](n, np.random.default_rng(k))
        assert not neighbor_graph(X, k=k).diagnose().short_circuits, k


def test_an_eps_graph_and_a_sparse_graph_are_judged_alike():
    X, T = swiss_roll(n_samples=800, random_state=1)
    for graph in (
        neighbor_graph(X, eps=6.6),
        NeighborGraph.from_csr(neighbor_graph(X, eps=6.6).to_csr()),
    ):
        u, v, lengths = graph.edges()
        along = np.linalg.norm(T[u] - T[v], axis=1)
        true = set(zip(*(ends[along > 4 * lengths].tolist() for ends in (u, v)), strict=True))
        found = set(map(tuple, graph.diagnose().suspects.tolist()))
        assert len(true) > 10
        assert len(true & found) >= 0.95 * len(true)
        assert len(true & found) >= 0.9 * len(found)


def test_one_wrong_edge_of_a_graph_of_few_neighbours():
    """All that five neighbours list would be mutually near, were it not for longer lists."""
    graph, true = roll(400, 0.0, 5, 5)
    (group,) = graph.diagnose().short_circuits
    assert true == {tuple(group.edges[0].tolist())}
    assert group.effect > 0.05
    for name in CLOUDS:
        X = CLOUDS[name](500, np.random.default_rng(3))
        assert not neighbor_graph(X, k=5).diagnose().short_circuits, name


def test_directions_do_not_matter():
    graph, _ = roll(400, 0.0, 16, 5)
    directed = neighbor_graph(graph.points, k=16, mode="directed").diagnose()
    np.testing.assert_array_equal(directed.suspects, graph.diagnose().suspects)
    assert len(directed.suspects)


def test_the_mutual_graph_has_fewer_and_they_are_found():
    X, T = swiss_roll(n_samples=400, random_state=5)
    graph = neighbor_graph(X, k=25, mode="mutual")
    u, v, lengths = graph.edges()
    along = np.linalg.norm(T[u] - T[v], axis=1)
    true = set(zip(*(ends[along > 4 * lengths].tolist() for ends in (u, v)), strict=True))
    assert 0 < len(true) < len(roll(400, 0.0, 25, 5)[1])
    found = set(map(tuple, graph.diagnose().suspects.tolist()))
    assert len(true & found) >= 0.95 * len(true)
    assert len(true & found) >= 0.9 * len(found)


def test_the_same_for_any_number_of_threads():
    graph, _ = roll(400, 0.25, 16, 2)
    one, two = graph.diagnose(n_jobs=1), graph.diagnose(n_jobs=2)
    assert str(one) == str(two)
    assert [g.effect for g in one.groups] == [g.effect for g in two.groups]
    np.testing.assert_array_equal(one.suspects, two.suspects)


def test_duplicated_samples_change_nothing_of_substance():
    X, _ = swiss_roll(n_samples=600, random_state=4)
    twice = neighbor_graph(np.repeat(X, 2, axis=0), k=17).diagnose()
    assert twice.connected
    assert all(np.isfinite(group.stretch).all() for group in twice.groups)
    assert (neighbor_graph(np.zeros((30, 2)), k=3).diagnose()).groups == ()


# ------------------------------------------------------------------ the parts of it


def test_a_group_says_what_it_is():
    """A long thin loop of a strip, closed at its end by two parallel edges."""
    t = np.linspace(0, 1.9 * np.pi, 300)
    ring = np.column_stack([10 * np.cos(t), 10 * np.sin(t)])
    base = neighbor_graph(ring, k=10).to_csr().tolil()
    for i, j in ((0, 299), (2, 297)):
        base[i, j] = np.linalg.norm(ring[i] - ring[j])
    (group,) = NeighborGraph.from_csr(base.tocsr()).diagnose().groups
    assert group.kind == "short circuit"
    assert group.edges.tolist() == [[0, 299], [2, 297]]
    np.testing.assert_allclose(
        group.lengths, np.linalg.norm(ring[[0, 2]] - ring[[299, 297]], axis=1)
    )
    length = 10 * 1.9 * np.pi
    np.testing.assert_allclose(group.stretch[1], length / group.lengths[0], rtol=0.01)
    assert group.score == pytest.approx(np.mean(group.stretch))  # of two, the median is the mean
    # closed, half of the pairs at arc x > c / 2 are c - x apart; x has the density 2 (1 - x)
    c = (length + group.lengths[0]) / length
    x = np.linspace(c / 2, 1, 10_001)
    shares = np.trapezoid((2 - c / x) * 2 * (1 - x), x)
    assert group.effect == pytest.approx(shares, rel=0.1)


def test_the_effect_of_each_group_is_close_to_that_on_all_pairs():
    graph, _ = roll(400, 0.0, 16, 5)
    groups = graph.diagnose().groups
    u, v, w = graph.edges()
    of = {tuple(edge): i for i, group in enumerate(groups) for edge in group.edges.tolist()}
    number = np.array([of.get(edge, -1) for edge in zip(u.tolist(), v.tolist(), strict=True)])

    def paths(kept):
        A = csr_array((w[kept], (u[kept], v[kept])), shape=(400, 400))
        return NeighborGraph.from_csr(A).shortest_paths()[~np.eye(400, dtype=bool)]

    before = paths(number == -1)
    assert len(groups) >= 2
    for i, group in enumerate(groups):
        after = paths((number == -1) | (number == i))
        assert group.effect == pytest.approx(np.mean(1 - after / before), rel=0.3, abs=0.002)
    assert groups[0].effect > 0.1


def test_mutual_ranks_by_hand():
    X = np.array([[0.0], [1.0], [2.5], [2.75], [9.0]])
    graph = neighbor_graph(X, k=2)
    u, v, lengths = graph.edges()
    ranks = dict(
        zip(
            zip(u.tolist(), v.tolist(), strict=True),
            mutual_ranks(graph, u, v, lengths),
            strict=True,
        )
    )
    # lists: 0: 1 2, 1: 0 2, 2: 3 1, 3: 2 1, 4: 3 2; 5 stands for "not listed"
    assert ranks == {(0, 1): 1, (0, 2): 5, (1, 2): 2, (1, 3): 5, (2, 3): 1, (2, 4): 5, (3, 4): 5}
    by_rows = NeighborGraph.from_csr(graph.to_csr())
    assert mutual_ranks(by_rows, u, v, lengths).tolist() == [1, 3, 2, 3, 1, 4, 3]


def test_detours_are_those_of_scipy(rng):
    from scipy.sparse.csgraph import dijkstra

    graph = neighbor_graph(rng.standard_normal((60, 2)), k=4)
    u, v, w = graph.edges()
    half = np.arange(len(u)) % 3 > 0
    H = csr_of(60, u[half], v[half], w[half])
    D = dijkstra(csr_array((H[2], H[1], H[0]), shape=(60, 60)))
    for n_jobs in (1, 2):
        found = detours(H, u, v, np.full(len(u), 1e9), n_jobs=n_jobs)
        np.testing.assert_allclose(found, D[u, v], rtol=1e-12)
        limited = detours(H, u, v, STRETCH * w, n_jobs=n_jobs)
        near = D[u, v] <= STRETCH * w
        np.testing.assert_allclose(limited[near], D[u, v][near], rtol=1e-12)
        assert (limited[~near] > STRETCH * w[~near]).all()


def test_ways_around_an_edge_do_without_it(rng):
    from scipy.sparse.csgraph import dijkstra

    graph = neighbor_graph(rng.standard_normal((40, 2)), k=4)
    u, v, w = graph.edges()
    H = csr_of(40, u, v, w)
    around = detours(H, u, v, np.full(len(u), 1e9), around=True)
    for e in range(0, len(u), 5):
        rest = np.arange(len(u)) != e
        a, b, c = csr_of(40, u[rest], v[rest], w[rest])
        expected = dijkstra(csr_array((c, b, a), shape=(40, 40)), indices=u[e])[v[e]]
        np.testing.assert_allclose(around[e], expected, rtol=1e-12)


def test_edges_of_length_zero_in_detours():
    H = csr_of(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.0, 0.0, 1.0]))
    found = detours(H, np.array([0, 0]), np.array([2, 3]), np.array([0.0, 0.0]))
    assert found.tolist() == [0.0, np.inf]


# ------------------------------------------------------------------ the report


def test_a_report_of_separate_clusters(rng):
    X = np.concatenate([rng.standard_normal((20, 2)), rng.standard_normal((30, 2)) + 100])
    diagnosis = neighbor_graph(X, k=5).diagnose()
    text = str(diagnosis)
    assert "Open circuit: 2 components, of 30, 20 vertices." in text
    assert f"k = {diagnosis.smallest_k}, eps = {diagnosis.smallest_eps!r}." in text
    assert diagnosis.smallest_k == 20
    assert not diagnosis.connected
    assert "separate clusters" in text
    assert "connect()" in text
    assert "Short circuits: none suspected." in text
    assert repr(diagnosis).startswith("Diagnosis(components=2, short_circuits=0, ")


def test_a_report_of_short_circuits():
    graph, _ = roll(400, 0.0, 16, 5)
    diagnosis = graph.diagnose()
    text = str(diagnosis)
    assert text.startswith("NeighborGraph(n=400")
    assert "Open circuits: none, the graph is connected." in text
    assert "Short circuits: " in text
    group = diagnosis.short_circuits[0]
    assert f"score {group.score:.1f} (the way around is " in text
    assert f"effect {group.effect:.1%} (distances shrink" in text
    assert "smaller k or eps" in text


def test_a_report_of_seams():
    X, _ = swiss_roll(n_samples=800, random_state=808)
    graph = neighbor_graph(X, k=8)
    assert not graph.diagnose().groups  # judged within the graph of twelve neighbours
    diagnosis = NeighborGraph.from_csr(graph.to_csr()).diagnose()  # which is not known here
    assert diagnosis.seams
    assert max(group.effect for group in diagnosis.seams) <= 0.03
    assert f"Seams: {len(diagnosis.seams)}, " in str(diagnosis)


def test_a_connected_graph_is_connected_after_its_bridges(rng):
    X = np.concatenate([rng.standard_normal((20, 2)), rng.standard_normal((30, 2)) + 100])
    joined = neighbor_graph(X, k=5).connect().diagnose()
    assert joined.connected
    assert not joined.groups  # a bridge is all there is: it is not suspect


def test_without_points_the_smallest_values_are_not_known():
    diagnosis = NeighborGraph.from_csr(csr_array((4, 4))).diagnose()
    assert (diagnosis.smallest_k, diagnosis.smallest_eps) == (None, None)
    assert "not known without points" in str(diagnosis)
    assert diagnosis.sizes.tolist() == [1, 1, 1, 1]


def test_points_that_coincide():
    assert "any eps > 0" in str(neighbor_graph(np.ones((6, 2)), k=2).diagnose())

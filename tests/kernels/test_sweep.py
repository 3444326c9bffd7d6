"""Sweeps give the bits of Dijkstra's algorithm, at every level that is built and that the CPU runs."""

import importlib
import importlib.util

import numpy as np
import path_graphs
import pytest

from manifold_lab._kernels import dijkstra, levels


def built():
    """Names of the modules to test: the baseline, and the levels beside it."""
    home = "manifold_lab._kernels"
    names = [f"{home}.sweep"] + [f"{home}.{level}.sweep" for level in levels.runnable()[1:]]
    return [name for name in names if importlib.util.find_spec(name)]


@pytest.fixture(params=built())
def kernel(request):
    return importlib.import_module(request.param)


def turned(indptr, indices, weights):
    """The graph with every edge turned around, and an infinite one beside it the other way."""
    n = len(indptr) - 1
    tails = np.repeat(np.arange(n), np.diff(indptr))
    both = np.concatenate([indices, tails]), np.concatenate([tails, indices])
    weights = np.concatenate([weights, np.full(len(weights), np.inf)])
    return path_graphs.from_edges(n, *both, weights, directed=True)


def run(kernel, graph, sources, *, back=None, batch=64, visits=10**6, n_threads=2, dtype=float):
    out = np.full((len(sources), len(graph[0]) - 1), np.nan, dtype)
    back = turned(*graph) if back is None else back
    rows = np.arange(len(sources))
    done = kernel.sweep(*graph, *back, sources, rows, batch, visits, out, n_threads)
    assert np.isnan(out[~done]).all()
    return out, done


def searched(graph, sources):
    n = len(graph[0]) - 1
    out = np.empty((len(sources), n))
    slots = dijkstra.slots(n, 1)
    dijkstra.advance(*graph, sources, np.arange(len(sources)), *slots, 2**40, out, 1)
    return out


GRAPHS = [name for name in path_graphs.MAKERS if len(path_graphs.make(name)[1])]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("batch", [1, 16, 200])
def test_bits_of_dijkstra_on_every_graph(kernel, rng, name, batch):
    graph = path_graphs.make(name)
    sources = rng.permutation(len(graph[0]) - 1)  # far ones side by side: the hardest order
    out, done = run(kernel, graph, sources, batch=batch)
    assert done.all()
    assert out.tobytes() == searched(graph, sources).tobytes()


@pytest.mark.parametrize("name", ["swiss roll", "rounded", "duplicates", "lattice", "islands"])
def test_an_undirected_graph_may_be_its_own_back(kernel, rng, name):
    graph = path_graphs.make(name)
    sources = np.arange(len(graph[0]) - 1)
    out, done = run(kernel, graph, sources, back=graph)
    assert done.all()
    assert out.tobytes() == searched(graph, sources).tobytes()


@pytest.mark.parametrize("count", [1, 7, 8, 9, 15, 16, 17, 33])
def test_every_number_of_sources(kernel, count):
    graph = path_graphs.make("swiss roll")
    sources = np.arange(count) * 3
    out, done = run(kernel, graph, sources, batch=16)
    assert done.all()
    assert (out == searched(graph, sources)).all()


def test_a_source_may_come_twice(kernel):
    graph = path_graphs.make("swiss roll")
    sources = np.array([5, 5, 6, 5])
    assert (run(kernel, graph, sources)[0] == searched(graph, sources)).all()


def test_same_bits_for_any_number_of_threads(kernel):
    graph = path_graphs.make("rounded")
    sources = np.arange(300)
    one, *others = (run(kernel, graph, sources, batch=16, n_threads=t)[0] for t in (1, 2, 5))
    assert all(one.tobytes() == other.tobytes() for other in others)


def test_too_many_visits_leave_a_group_and_the_rest_of_its_batch(kernel):
    graph, sources = path_graphs.make("swiss roll"), np.arange(64)
    out, done = run(kernel, graph, sources, batch=32, visits=100)
    assert not done.any()
    # the flags of what was left must not reach the next group: all sources of vertex 0's kind
    lonely = path_graphs.make("islands")
    mixed = np.concatenate([np.arange(32), np.full(32, 150)])  # 150 has no edge: no visit at all
    out, done = run(kernel, lonely, mixed, batch=32, visits=3, n_threads=1)
    assert done.tolist() == [False] * 32 + [True] * 32
    assert (out[32:] == searched(lonely, mixed[32:])).all()


def test_float32_is_rounded_once(kernel):
    graph, sources = path_graphs.make("swiss roll"), np.arange(400)
    out = run(kernel, graph, sources, dtype=np.float32)[0]
    assert (out == searched(graph, sources).astype(np.float32)).all()


def test_rows_are_written_where_asked(kernel):
    graph = path_graphs.make("swiss roll")
    out = np.full((5, 400), -1.0)
    sources, rows = np.array([9, 8]), np.array([3, 1])
    assert kernel.sweep(*graph, *graph, sources, rows, 16, 10**6, out, 1).all()
    assert (out[[0, 2, 4]] == -1).all()
    assert (out[rows] == searched(graph, sources)).all()


def test_subnormal_lengths_are_not_flushed_to_zero(kernel):
    graph = path_graphs.from_edges(3, [0, 1], [1, 2], [5e-324, 5e-324])
    assert run(kernel, graph, np.arange(3))[0][0].tolist() == [0.0, 5e-324, 1e-323]


def test_without_edges_nothing_is_done(kernel):
    graph = path_graphs.make("no edges")
    assert not run(kernel, graph, np.arange(40))[1].any()

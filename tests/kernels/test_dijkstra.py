"""Searches from single sources, whole and in pieces, against Floyd and Warshall."""

import numpy as np
import oracles
import path_graphs
import pytest

from manifold_lab._kernels import dijkstra


def search(graph, sources=None, *, n_slots=1, budget=2**40, dtype=np.float64):
    n = len(graph[0]) - 1
    sources = np.arange(n) if sources is None else np.asarray(sources, np.intp)
    out = np.full((len(sources), n), np.nan, dtype)
    slots = dijkstra.slots(n, n_slots)
    rows = np.arange(len(sources))
    left = [len(sources)]
    while left[-1]:
        left.append(dijkstra.advance(*graph, sources, rows, *slots, budget, out, n_slots))
        assert left[-1] <= left[-2]
    return out


@pytest.mark.parametrize("name", path_graphs.MAKERS)
def test_shortest_on_every_graph(name):
    graph = path_graphs.make(name)
    np.testing.assert_allclose(search(graph), oracles.shortest_paths(*graph), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["swiss roll", "islands", "duplicates", "directed", "one vertex"])
@pytest.mark.parametrize("n_slots", [1, 2, 5])
@pytest.mark.parametrize("budget", [1000, 5000])
def test_pieces_and_slots_do_not_change_a_bit(name, n_slots, budget):
    graph = path_graphs.make(name)
    sources = np.arange(0, len(graph[0]) - 1, 40)
    whole = search(graph, sources)
    assert search(graph, sources, n_slots=n_slots, budget=budget).tobytes() == whole.tobytes()


def test_one_vertex_at_a_time():
    graph = path_graphs.make("islands")
    sources = np.array([3, 150, 170])
    assert search(graph, sources, budget=1).tobytes() == search(graph, sources).tobytes()


def test_sums_run_from_the_source_on():
    # (1e16 + 1) + 1 is 1e16, (1 + 1) + 1e16 is not
    graph = path_graphs.from_edges(4, [0, 1, 2], [1, 2, 3], [1e16, 1.0, 1.0])
    D = search(graph)
    assert D[0, 3] == 1e16
    assert D[3, 0] == 1e16 + 2


def test_a_later_path_may_be_shorter():
    # vertex 3 is reached at 10, then at 6, then at 3: its place in the heap must rise
    graph = path_graphs.from_edges(4, [0, 0, 0, 1, 2, 1], [3, 1, 2, 3, 3, 2], [10, 1, 4, 5, 1, 1])
    assert search(graph, [0])[0].tolist() == [0, 1, 2, 3]


def test_rows_are_written_where_asked():
    graph = path_graphs.make("swiss roll")
    out = np.full((5, 400), -1.0)
    slots = dijkstra.slots(400, 2)
    dijkstra.advance(*graph, np.array([9, 8]), np.array([3, 1]), *slots, 2**40, out, 2)
    assert (out[[0, 2, 4]] == -1).all()
    assert (out[[3, 1]] == search(graph, [9, 8])).all()


def test_float32_is_rounded_once():
    graph = path_graphs.make("swiss roll")
    assert (search(graph, dtype=np.float32) == search(graph).astype(np.float32)).all()


def test_no_source_is_no_work():
    assert search(path_graphs.make("star"), []).shape == (0, 200)


def test_read_only_graph_stays_as_it_was():
    graph = path_graphs.make("directed")
    before = [part.tobytes() for part in graph]
    for part in graph:
        part.setflags(write=False)
    search(graph)
    assert [part.tobytes() for part in graph] == before

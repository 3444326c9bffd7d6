"""Floyd's algorithm in blocks, against five lines of NumPy, at every level built and runnable."""

import importlib
import importlib.util

import numpy as np
import oracles
import path_graphs
import pytest

from manifold_lab._kernels import levels


def built():
    """Names of the modules to test: the baseline, and the levels beside it."""
    home = "manifold_lab._kernels"
    names = [f"{home}.floyd"] + [f"{home}.{level}.floyd" for level in levels.runnable()[1:]]
    return [name for name in names if importlib.util.find_spec(name)]


@pytest.fixture(params=built())
def kernel(request):
    return importlib.import_module(request.param)


def close(kernel, graph, *, block=64, step=200, n_threads=2):
    """All distances of a graph, by blocks of vertices and pieces of rows."""
    n = len(graph[0]) - 1
    D = np.full((n, -(-n // kernel.width) * kernel.width), np.inf)
    tails = np.repeat(np.arange(n), np.diff(graph[0]))
    np.minimum.at(D, (tails, graph[1]), graph[2])
    np.fill_diagonal(D, 0.0)
    for first in range(0, n, block):
        last = min(first + block, n)
        kernel.close_block(D, first, last, n_threads)
        for top in range(0, n, step):
            kernel.pass_through(D, first, last, top, min(top + step, n), n_threads)
    assert np.isinf(D[:, n:]).all()
    return D[:, :n]


@pytest.mark.parametrize("name", path_graphs.MAKERS)
def test_shortest_on_every_graph(kernel, name):
    graph = path_graphs.make(name)
    np.testing.assert_allclose(
        close(kernel, graph), oracles.shortest_paths(*graph), rtol=1e-13, atol=0
    )


@pytest.mark.parametrize("block", [1, 5, 16, 33, 400])
def test_every_size_of_block(kernel, block):
    graph = path_graphs.make("swiss roll")
    np.testing.assert_allclose(
        close(kernel, graph, block=block, step=200, n_threads=1),
        oracles.shortest_paths(*graph),
        rtol=1e-13,
        atol=0,
    )


@pytest.mark.parametrize("name", ["complete", "swiss roll", "directed"])
def test_threads_and_pieces_do_not_change_a_bit(kernel, name):
    graph = path_graphs.make(name)
    one = close(kernel, graph, n_threads=1, step=10**6).tobytes()
    for n_threads, step in ((2, 100), (5, 100), (1, 7)):
        assert close(kernel, graph, n_threads=n_threads, step=step).tobytes() == one

"""The picture holds the graph, the suspects and the components, where they belong."""

import sys

import numpy as np
import pytest

from manifold_lab.datasets import swiss_roll
from manifold_lab.errors import MissingExtraError, ParameterError
from manifold_lab.graph import neighbor_graph
from manifold_lab.graph.plot import PLAIN, SHORT

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import colors  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def diagnosis():
    X, _ = swiss_roll(n_samples=300, random_state=1)
    found = neighbor_graph(X, k=14).diagnose()
    assert found.short_circuits
    return found


def lines(ax, colour):
    """Return how many line segments of a colour there are."""
    from matplotlib.collections import LineCollection

    return sum(
        len(collection.get_segments())
        for collection in ax.collections
        if isinstance(collection, LineCollection)
        and np.allclose(collection.get_colors()[0], colors.to_rgba(colour))
    )


def test_a_solid_picture(diagnosis, tmp_path):
    ax = diagnosis.plot()
    assert ax.name == "3d"
    path = tmp_path / "graph.png"
    ax.figure.savefig(path, dpi=60)
    assert path.stat().st_size > 10_000
    assert f"{len(diagnosis.suspects)} edges" in ax.get_title()
    assert "suspected short circuit" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_flat_picture_of_given_coordinates(diagnosis):
    _, T = swiss_roll(n_samples=300, random_state=1)
    ax = diagnosis.plot(coordinates=T)
    assert lines(ax, PLAIN) == diagnosis.graph.n_edges
    assert lines(ax, SHORT) == len(diagnosis.suspects)
    points = ax.collections[-1].get_offsets()
    np.testing.assert_array_equal(points, T)


def test_components_have_colours_of_their_own_and_bridges_are_drawn():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0], [12.0, 0.0]])
    graph = neighbor_graph(X, k=1)
    ax = graph.diagnose().plot()
    shades = ax.collections[-1].get_array()
    assert shades.tolist() == [1, 1, 0, 0, 0]
    assert "2 components" in ax.get_title()
    joined = graph.connect().diagnose().plot()
    assert "bridge" in [text.get_text() for text in joined.get_legend().get_texts()]


def test_many_features_are_drawn_by_their_principal_scores(rng):
    X = rng.standard_normal((50, 6)) * [9, 5, 1, 1, 1, 1]
    ax = neighbor_graph(X, k=5).diagnose().plot()
    assert ax.get_title().endswith("(first two principal scores)")
    spread = np.std(ax.collections[-1].get_offsets(), axis=0)
    np.testing.assert_allclose(spread, [9, 5], rtol=0.3)


def test_one_feature_and_one_sample():
    neighbor_graph([[0.0], [1.0], [2.0]], k=1).diagnose().plot()
    neighbor_graph([[0.0, 1.0, 2.0, 3.0]], eps=1.0).diagnose().plot()


def test_axes_are_used_if_they_fit(diagnosis):
    figure = plt.figure()
    solid = figure.add_subplot(121, projection="3d")
    flat = figure.add_subplot(122)
    assert diagnosis.plot(solid) is solid
    with pytest.raises(ParameterError, match="three coordinates, and the axes two dimensions"):
        diagnosis.plot(flat)


def test_coordinates_that_do_not_fit(diagnosis):
    for bad, words in ((np.ones((5, 2)), "300 vertices"), (np.ones((300, 4)), "two or three")):
        with pytest.raises(ParameterError, match=words):
            diagnosis.plot(coordinates=bad)
    D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    with pytest.raises(ParameterError, match="distances only.*coordinates=Z"):
        neighbor_graph(D, k=2, metric="precomputed").diagnose().plot()


def test_without_matplotlib_there_is_a_remedy(diagnosis, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r'pip install "manifold-lab\[plot\]"'):
        diagnosis.plot()

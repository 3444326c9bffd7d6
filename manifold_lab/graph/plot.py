"""Picture of a diagnosed graph: edges, components, suspected short circuits."""

import numpy as np

from manifold_lab.checks import as_points
from manifold_lab.errors import MissingExtraError, ParameterError

PLAIN, SHORT, SEAM, BRIDGE = "0.75", "#d62728", "#ff9f1c", "#2ca02c"


def draw(diagnosis, ax=None, coordinates=None):
    """Draw a diagnosis into ``ax``, or into a new figure, and return the axes.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    ParameterError
        There are no coordinates, or they do not fit the graph or the axes.
    """
    graph = diagnosis.graph
    Z, projected = _coordinates(graph, coordinates)
    solid = Z.shape[1] == 3
    ax = _axes(ax, solid)
    labels, sizes = graph.components()
    u, v, _ = graph.edges()
    _lines(ax, Z, np.column_stack([u, v]), PLAIN, 0.5, None, 1)
    for groups, colour, width, name, level in (
        (diagnosis.seams, SEAM, 1.2, "seam", 2),
        (diagnosis.short_circuits, SHORT, 1.6, "suspected short circuit", 3),
    ):
        if groups:
            _lines(ax, Z, np.concatenate([g.edges for g in groups]), colour, width, name, level)
    if len(graph.bridges.edges):
        _lines(ax, Z, graph.bridges.edges, BRIDGE, 1.6, "bridge", 3)
    # the largest component first, so that its colour is the usual one
    rank = np.argsort(np.argsort(-sizes, kind="stable"))
    ax.scatter(*Z.T, c=rank[labels] % 10, cmap="tab10", vmin=-0.5, vmax=9.5, s=8, zorder=4)
    ax.set_title(_title(diagnosis, projected))
    ax.set_aspect("equal", adjustable="datalim" if not solid else "box")
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc="best")
    return ax


def _axes(ax, solid):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError(
            'Plots need matplotlib. Run `pip install "manifold-lab[plot]"` and try again.'
        ) from error
    if ax is None:
        figure = plt.figure(figsize=(7, 6), layout="constrained")
        return figure.add_subplot(projection="3d" if solid else None)
    if solid != (ax.name == "3d"):
        need, have = ("three", "two") if solid else ("two", "three")
        raise ParameterError(
            f"The vertices have {need} coordinates, and the axes {have} dimensions. Pass axes of "
            "the right kind (projection='3d'), or other coordinates."
        )
    return ax


def _coordinates(graph, coordinates):
    """Return where to draw the vertices, and whether that is a projection."""
    if coordinates is not None:
        Z = as_points(coordinates, "plot", name="coordinates", min_features=2)
        if Z.shape[0] != graph.n or Z.shape[1] > 3:
            raise ParameterError(
                f"coordinates have shape {Z.shape}; the graph has {graph.n} vertices, drawn in two "
                "or three dimensions. Pass one row for each vertex, of two or three columns."
            )
        return Z, False
    if graph.points is None:
        raise ParameterError(
            "The graph knows distances only, not where its points are. Pass coordinates=Z, for "
            "example an embedding."
        )
    X = np.asarray(graph.points, dtype=np.float64)
    if X.shape[1] in (2, 3):
        return X, False
    if X.shape[1] == 1:
        return np.column_stack([X, np.zeros(len(X))]), False
    centred = X - X.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    scores = centred @ axes[:2].T
    return np.pad(scores, ((0, 0), (0, 2 - scores.shape[1]))), True  # one sample has one axis


def _lines(ax, Z, edges, colour, width, label, level):
    from matplotlib.collections import LineCollection
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    solid = Z.shape[1] == 3
    kind, add = (
        (Line3DCollection, "add_collection3d") if solid else (LineCollection, "add_collection")
    )
    lines = kind(Z[edges], colors=colour, linewidths=width, label=label, zorder=level)
    getattr(ax, add)(lines)


def _title(diagnosis, projected):
    c, short = len(diagnosis.sizes), diagnosis.short_circuits
    edges = sum(len(group.edges) for group in short)
    said = [
        "connected" if c == 1 else f"{c} components",
        f"{edges} edges in {len(short)} suspected short circuit{'s' * (len(short) > 1)}"
        if short
        else "no short circuit suspected",
    ]
    return ", ".join(said) + ("\n(first two principal scores)" if projected else "")

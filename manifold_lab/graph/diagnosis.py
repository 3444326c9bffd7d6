"""Diagnosis of a neighbour graph: open circuits, and suspected short circuits.

A range that is too small leaves the graph in pieces (an open circuit); one that is too large
joins parts of the surface that are far apart along it (a short circuit). Both ruin geodesics.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from manifold_lab.graph.connect import smallest_eps, smallest_k
from manifold_lab.graph.shortcuts import SCORE, WIDTH, find_suspects

EFFECT = 0.03  # a group that shortens distances by less, on average, is a seam
_LISTED = 10  # components and groups that a report lists


class Group(NamedTuple):
    """Suspected edges side by side, judged together."""

    kind: str  #: "short circuit" if the effect is above 3 % and the score above 6, else "seam"
    edges: np.ndarray  #: ends, (m, 2)
    lengths: np.ndarray  #: (m,)
    rank: int  #: least mutual rank: both ends of some edge are among each other's first so many
    stretch: tuple  #: least and largest ratio of the way around an edge to its length
    score: float  #: median of these ratios
    effect: float  #: mean of 1 - D' / D over pairs, D without and D' with the group: 0.1 = a tenth


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What is wrong with a neighbour graph, if anything; ``str()`` is a report.

    Attributes
    ----------
    sizes : ndarray of shape (c,)
        Vertices of each component, in the order of ``graph.components()``.
    smallest_k : int or None
        The least k whose graph (of the same mode) is connected; exact. None if the graph has no
        points to measure, or a single vertex.
    smallest_eps : float or None
        The least eps whose graph is connected; exact. 0.0 if all points coincide.
    groups : tuple of Group
        Suspected edges, largest effect first.
    graph : NeighborGraph
    """

    graph: object
    sizes: np.ndarray
    smallest_k: int | None
    smallest_eps: float | None
    groups: tuple = field(default=())

    @property
    def connected(self):
        """True if the graph is in one piece."""
        return len(self.sizes) <= 1

    @property
    def short_circuits(self):
        """The groups whose effect is above 3 % and whose score is above 6."""
        return tuple(group for group in self.groups if group.kind == "short circuit")

    @property
    def seams(self):
        """The other groups: edges across thin or empty places of the sample."""
        return tuple(group for group in self.groups if group.kind == "seam")

    @property
    def suspects(self):
        """Ends of all edges in short circuits, (m, 2)."""
        none = np.empty((0, 2), dtype=np.intp)
        return np.concatenate([none, *(group.edges for group in self.short_circuits)])

    def __repr__(self):
        return (
            f"Diagnosis(components={len(self.sizes)}, short_circuits={len(self.short_circuits)}, "
            f"seams={len(self.seams)}, smallest_k={self.smallest_k}, "
            f"smallest_eps={self.smallest_eps})"
        )

    def __str__(self):
        return "\n".join([str(self.graph), *_open_report(self), *_short_report(self)])

    def plot(self, ax=None, *, coordinates=None):
        """Draw the graph and the suspected edges.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Two- or three-dimensional, as the points are; a new one by default.
        coordinates : array-like of shape (n, 2) or (n, 3), optional
            Where to draw the vertices: by default the points themselves, or their first two
            principal scores if they have more than three features.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        ParameterError
            The graph has no points and no coordinates are given, or they do not fit.
        """
        from manifold_lab.graph.plot import draw

        return draw(self, ax, coordinates)


def diagnose(graph, *, n_jobs=None):
    """Return the :class:`Diagnosis` of a graph."""
    _, sizes = graph.components()
    k = eps = None
    if graph.space is not None:
        k = smallest_k(graph.space, graph.k or 10, mutual=graph.mode == "mutual")
        eps = smallest_eps(graph.space)
    wide, asked = _widened(graph)
    u, v, lengths = wide.edges()
    ranks = mutual_ranks(wide, u, v, lengths)
    groups = [
        Group(
            kind="short circuit" if found.effect > EFFECT and found.score > SCORE else "seam",
            edges=np.column_stack([u[found.edges], v[found.edges]]),
            lengths=lengths[found.edges],
            rank=int(ranks[found.edges].min()),
            stretch=(float(found.stretch.min()), float(found.stretch.max())),
            score=found.score,
            effect=found.effect,
        )
        for found in find_suspects(graph.n, u, v, lengths, ranks, asked, n_jobs=n_jobs)
    ]
    groups.sort(key=lambda group: (-group.effect, group.edges[0].tolist()))
    return Diagnosis(graph, sizes, k, eps, tuple(groups))


def _widened(graph):
    """Return the undirected graph in which edges are judged, and which of its edges are asked for.

    Where lists are short, thin places of the sample have few edges, and look like gaps: a graph of
    fewer than twelve neighbours is judged within that of twelve.
    """
    from manifold_lab.graph.neighbor_graph import NeighborGraph, compressed

    n, k = graph.n, graph.k
    few = graph.space is not None and k is not None and k < WIDTH < n
    if graph.mode != "directed" and not few:
        return graph, np.ones(graph.n_edges, dtype=bool)
    u, v, lengths = graph.edges()
    own = np.minimum(u, v).astype(np.int64) * n + np.maximum(u, v)
    if few:
        k = WIDTH
        r, ids = graph.space.knn(k)
        u = np.concatenate([u, np.repeat(np.arange(n), k)])
        v = np.concatenate([v, ids.ravel()])
        lengths = np.concatenate([lengths, graph.space.out(r.ravel()).astype(lengths.dtype)])
    indptr, indices, weights = compressed(n, u, v, lengths, "union")
    wide = NeighborGraph(indptr, indices, weights, k=k, space=graph.space)
    u, v, _ = wide.edges()
    return wide, np.isin(u.astype(np.int64) * n + v, own)


def mutual_ranks(graph, u, v, lengths):
    """Return the larger of the ranks that the ends of edges have in each other's lists.

    With k neighbours the lists are those of the points, and who is not listed has rank n;
    otherwise a vertex lists its edges by (length, index).
    """
    n, m = graph.n, len(u)
    if graph.k is not None and graph.space is not None:
        ids = graph.space.knn(graph.k)[1]
        keys = (np.arange(n, dtype=np.int64)[:, None] * n + ids).ravel()
        ranks = np.tile(np.arange(1, graph.k + 1), n)
    else:
        rows, ends = np.concatenate([u, v]), np.concatenate([v, u])
        order = np.lexsort((ends, np.concatenate([lengths, lengths]), rows))
        keys = rows[order].astype(np.int64) * n + ends[order]
        counts = np.bincount(rows, minlength=n)
        ranks = np.arange(2 * m) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    order = np.argsort(keys)
    keys, ranks = keys[order], ranks[order]
    asked = np.concatenate([u.astype(np.int64) * n + v, v.astype(np.int64) * n + u])
    at = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
    found = np.full(2 * m, n)  # above every rank, also that of short lists
    hit = keys[at] == asked if len(keys) else np.zeros(2 * m, dtype=bool)
    found[hit] = ranks[at[hit]]
    return np.maximum(found[:m], found[m:])


# ------------------------------------------------------------------ the report


def _open_report(diagnosis):
    c, k, eps = len(diagnosis.sizes), diagnosis.smallest_k, diagnosis.smallest_eps
    if c > 1:
        sizes = np.sort(diagnosis.sizes)[::-1]
        listed = ", ".join(map(str, sizes[:_LISTED])) + (", ..." if c > _LISTED else "")
        yield f"Open circuit: {c} components, of {listed} vertices."
    else:
        yield "Open circuits: none, the graph is connected."
    if k is None and diagnosis.graph.space is None:
        yield "  Smallest connecting k and eps: not known without points (from_csr(points=X))."
    elif k is not None:
        shown = "any eps > 0" if eps == 0 else f"eps = {eps!r}"
        yield f"  Smallest connecting values: k = {k}, {shown}."
    if c > 1:
        yield "  Remedy: use one of these, or connect() for the shortest bridges between components."
        if k is not None and k >= diagnosis.sizes.min():
            yield (
                "  The samples form separate clusters (a k of at least the smallest cluster's size "
                "is needed): embed each by itself, or connect()."
            )


def _short_report(diagnosis):
    short, seams = diagnosis.short_circuits, diagnosis.seams
    if short:
        edges = sum(len(group.edges) for group in short)
        yield f"Short circuits: {len(short)} suspected, {edges} edges in all."
        yield from (_line(group, diagnosis.graph.n) for group in short[:_LISTED])
        if len(short) > _LISTED:
            yield f"  ... and {len(short) - _LISTED} more."
        yield (
            "  Remedy: a smaller k or eps, mode='mutual', more samples, or without these edges. "
            "A surface that truly closes on itself there looks the same."
        )
    else:
        yield "Short circuits: none suspected."
    if seams:
        edges, most = sum(len(group.edges) for group in seams), seams[0].effect
        yield (
            f"Seams: {len(seams)}, of {edges} edges across thin places of the sample "
            f"(effect at most {most:.1%})."
        )


def _line(group, n):
    low, high = group.stretch
    edges = "1 edge" if len(group.edges) == 1 else f"{len(group.edges)} edges"
    near = group.edges[np.argmin(group.lengths)]
    mutual = "none mutual" if group.rank >= n else f"best mutual rank {group.rank}"
    return (
        f"  {edges} near {near[0]} - {near[1]}: score {group.score:.1f} (the way around is "
        f"{low:.1f} to {high:.1f} times as long), effect {group.effect:.1%} (distances shrink by so "
        f"much on average), {mutual}."
    )

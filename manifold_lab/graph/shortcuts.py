"""Edges that jump between sheets: found by the detours around them, in groups.

An edge is judged by its stretch, the length of the shortest way around it over its own. Taking
edges out one at a time finds nothing, because a parallel shortcut takes over; so every edge is
judged in a graph H that holds no doubtful one. H starts as the spanning tree and the edges that
are mutually near (each end among the first six of the other), and grows in rounds by all edges
whose stretch in H is at most four. What never gets in is suspect.

Where samples are so few that sheets are hardly farther apart than samples, a single shortcut
among the first edges of H lets in all others. Hence a second look: H starts without the edges
whose own way around in it is long, and grows by a stretch of three only. That opens harmless
cracks as well, so only a group of a large share of all edges and of a large effect counts.

What a detour around a crack in a thin sample costs is little more than the bound; the way around
a shortcut leads along the surface and is many times as long. The median stretch of a group, its
score, tells them apart.
"""

import time
from typing import NamedTuple

import numpy as np

from manifold_lab._kernels import forest, stretch, threads
from manifold_lab.graph.components import components_of, tree_edges, weak_components

STRETCH = 4.0  # a way around more than so many times as long is suspect
BASE_RANK = 6  # edges of this mutual rank or better start H
WIDTH = 12  # neighbours of the graph within which one of fewer is judged
SCORE = 6.0  # the median stretch that makes a group a short circuit, if its effect does too
SOURCES = 24  # vertices from which the effect of a group is measured

SECOND_STRETCH = 3.0  # of edges that enter H in the second look
SECOND_DOUBT = 8.0  # of edges that do not start it
SECOND_SHARE = 0.08  # of all edges, that a group must have there
SECOND_EFFECT = 0.10


class Suspicion(NamedTuple):
    """A group of edges that no short detour vouches for."""

    edges: np.ndarray  #: positions among the edges given, (m,)
    stretch: np.ndarray  #: length of the way around over that of the edge, (m,)
    effect: float  #: mean share by which the group shortens distances in H

    @property
    def score(self):
        """The median stretch."""
        return float(np.median(self.stretch))


def find_suspects(n, u, v, lengths, ranks, asked, *, n_jobs=None):
    """Return the suspected shortcuts among the edges of an undirected graph, by group.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v, lengths : ndarray of shape (m,)
        The edges, each once.
    ranks : ndarray of shape (m,)
        Mutual rank: the larger of the ranks that the ends have in each other's lists.
    asked : ndarray of shape (m,), bool
        Edges that may be named; the others only take part in judging them.
    n_jobs : int, optional

    Returns
    -------
    list of Suspicion
    """
    edges = u, v, lengths.astype(np.float64)
    base = ranks <= BASE_RANK
    base[tree_edges(n, u, v, np.lexsort((v, u, lengths)))] = True
    first = _judge(n, edges, base, asked, STRETCH, 0, n_jobs)
    sure = _without_doubtful(n, edges, base, n_jobs)
    least = SECOND_SHARE * len(u)
    second = _judge(n, edges, sure, asked, SECOND_STRETCH, least, n_jobs)
    second = [group for group in second if group.effect > SECOND_EFFECT and group.score > SCORE]
    taken = np.concatenate([np.empty(0, dtype=np.intp), *(group.edges for group in second)])
    return second + [group for group in first if not np.isin(group.edges, taken).any()]


def _judge(n, edges, base, asked, admitted, least, n_jobs):
    """Return the suspects of more than ``least`` edges, H growing from ``base``."""
    u, v, lengths = edges
    sound = base.copy()
    while True:
        pending = np.flatnonzero(~sound)
        H = csr_of(n, u[sound], v[sound], lengths[sound])
        limits = STRETCH * lengths[pending]
        around = detours(H, u[pending], v[pending], limits, n_jobs=n_jobs)
        enter = around <= admitted * lengths[pending]
        if not enter.any():
            break
        sound[pending[enter]] = True  # together: none is judged by another of its round
    suspects = pending[(around > limits) & asked[pending]]
    groups = _grouped(n, u, v, suspects, H)
    found = [suspects[groups == number] for number in range(groups.max(initial=-1) + 1)]
    found = [group for group in found if len(group) > least]
    labels = weak_components(H[0], H[1]).labels if found else None
    before = {}
    return [Suspicion(group, *_measure(H, labels, edges, group, before, n_jobs)) for group in found]


def _without_doubtful(n, edges, base, n_jobs):
    """Return ``base`` without edges whose way around in it is long, still connecting as much."""
    u, v, lengths = edges
    at = np.flatnonzero(base)
    graph = csr_of(n, u[at], v[at], lengths[at])
    limits = SECOND_DOUBT * lengths[at]
    around = detours(graph, u[at], v[at], limits, around=True, n_jobs=n_jobs)
    sure = base.copy()
    sure[at] = (around <= limits) | (lengths[at] == 0)  # duplicates are one point
    order = at[np.lexsort((lengths[at], ~sure[at]))]  # those that are sure first
    sure[tree_edges(n, u, v, order)] = True
    return sure


def csr_of(n, u, v, lengths):
    """Return ``(indptr, indices, lengths)`` of an undirected graph from its edges, each once."""
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(n + 1, dtype=np.intp)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    columns = columns[order].astype(np.intp, copy=False)
    return indptr, columns, np.concatenate([lengths, lengths])[order]


def detours(graph, u, v, limits, *, around=False, n_jobs=None):
    """Return the distances of pairs in a CSR graph; infinite if beyond every limit of its u.

    With ``around``, the pairs are edges of the graph, and each has to do without itself.
    """
    indptr, indices, weights = graph
    order = np.argsort(u, kind="stable")
    sources, first = u[order], np.arange(len(u))
    if not around:  # one search answers all pairs of a vertex
        sources, first = np.unique(sources, return_index=True)
    first = np.append(first, len(u))
    targets, limits = v[order].astype(np.intp, copy=False), limits[order]
    found = np.empty(len(u))
    start, step, n_threads = 0, 64, threads.count(n_jobs)
    while start < len(sources):  # in pieces of at most about 50 ms, so that Ctrl-C is heard
        began = time.perf_counter()
        stop = min(start + step, len(sources))
        part = slice(first[start], first[stop])
        found[order[part]] = stretch.detours(
            indptr,
            indices,
            weights,
            sources[start:stop].astype(np.intp, copy=False),
            first[start : stop + 1] - first[start],
            targets[part],
            limits[part],
            around,
            n_threads,
        )
        start, took = stop, time.perf_counter() - began
        step = step * 2 if took < 0.02 else max(1, step // 2) if took > 0.05 else step
    return found


def _grouped(n, u, v, suspects, H):
    """Return the group of each suspect: those that share an end, or are one edge of H apart."""
    if not len(suspects):
        return np.empty(0, dtype=np.intp)
    ends = np.unique(np.concatenate([u[suspects], v[suspects]]))
    inside = np.full(n, -1, dtype=np.intp)
    inside[ends] = np.arange(len(ends))
    indptr, indices, _ = H
    counts = indptr[ends + 1] - indptr[ends]
    at = np.repeat(indptr[ends] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    rows, columns = np.repeat(np.arange(len(ends)), counts), inside[indices[at]]
    a = np.concatenate([rows[columns >= 0], inside[u[suspects]]])
    b = np.concatenate([columns[columns >= 0], inside[v[suspects]]])
    parent = np.arange(len(ends), dtype=np.intp)
    forest.join(parent, a, b)
    labels = components_of(parent).labels
    return np.unique(labels[inside[u[suspects]]], return_inverse=True)[1]


def _measure(H, labels, edges, group, before, n_jobs):
    """Return the stretch of each edge of a group in H, and the effect of the group.

    The effect is the mean of 1 - D' / D over pairs of a source and a vertex, with D the distances
    in H from a few sources spread over the group's component, and D' those in H with the group:
    0.1 means that the group makes distances a tenth shorter on average. It averages over all
    pairs, also those whose shortest path stays clear of the group. ``before`` keeps D.
    """
    from manifold_lab.graph.geodesic import shortest_paths

    u, v, lengths = (values[group] for values in edges)
    n, part = len(H[0]) - 1, labels[u[0]]
    if part not in before:
        members = np.flatnonzero(labels == part)
        sources = members[np.unique(np.linspace(0, len(members) - 1, SOURCES).astype(int))]
        before[part] = sources, members, shortest_paths(*H, sources=sources, n_jobs=n_jobs)
    sources, members, D = before[part]
    around = detours(H, u, v, np.full(len(u), np.finfo(float).max), n_jobs=n_jobs)
    effect = 0.0
    if ((D[:, u] + lengths < D[:, v]) | (D[:, v] + lengths < D[:, u])).any():
        ends = np.repeat(np.arange(n), np.diff(H[0]))
        half = ends < H[1]
        joined = zip((ends[half], H[1][half], H[2][half]), (u, v, lengths), strict=True)
        a, b, both = map(np.concatenate, joined)
        graph = csr_of(n, a, b, both)
        after = shortest_paths(*graph, sources=sources, n_jobs=n_jobs)[:, members]
        was = D[:, members]
        effect = 1 - np.divide(after, was, out=np.ones_like(was), where=was > 0).mean()
    return around / lengths, float(effect)  # a suspect's length is not zero: zero is in the tree

"""Neighbour graphs: who is near whom, as compressed sparse rows.

An edge is a stored entry, also where its length is zero (duplicated samples); nothing here turns
the arrays into a matrix whose zeros might be dropped.
"""

from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from manifold_lab._interop import is_sparse
from manifold_lab.checks import (
    N_JOBS,
    Float,
    Int,
    OneOf,
    as_points,
    check_memory,
    parameter_problem,
)
from manifold_lab.errors import ParameterError
from manifold_lab.graph.components import weak_components
from manifold_lab.graph.connect import Bridges, bridges
from manifold_lab.graph.space import Space, space_of

MODES = ("union", "mutual", "directed")
OWNER = "neighbor_graph"


def neighbor_graph(X, *, k=None, eps=None, metric="euclidean", mode="union", n_jobs=None):
    """Build the graph of the k nearest neighbours, or of all neighbours within eps.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Samples, or their distances. A graph that exists already as a sparse matrix is taken by
        :meth:`NeighborGraph.from_csr`.
    k : int, optional
        Each sample lists its k nearest others, ties by index; k < n.
    eps : float, optional
        Each sample lists all others at a distance <= eps. One of k and eps is required.
    metric : str, metric object or callable
        As everywhere in the package; "precomputed" for distances.
    mode : {"union", "mutual", "directed"}
        An edge joins two samples if one lists the other, if both do, or leads from each sample to
        those it lists. With eps the three hold the same edges.
    n_jobs : int, optional

    Returns
    -------
    NeighborGraph
        It refers to X, without a copy, to answer what lies beyond its edges.

    Raises
    ------
    ParameterError
        Neither or both of k and eps; k >= n; a value outside its bounds; distances that are
        negative or not symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> graph = neighbor_graph(np.array([[0.0], [1.0], [3.0], [9.0]]), k=1)
    >>> graph.indptr.tolist(), graph.indices.tolist(), graph.weights.tolist()
    ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2], [1.0, 1.0, 2.0, 2.0, 6.0, 6.0])
    >>> neighbor_graph(np.array([[0.0], [1.0], [3.0], [9.0]]), eps=2.0).components().sizes.tolist()
    [3, 1]
    """
    _check(k, eps, mode, n_jobs)
    X = _as_input(X, metric)
    n = len(X)
    if k is not None and k >= n:
        raise ParameterError(
            f"k={k} neighbours were asked for, and each of the {n} samples has {n - 1} others. "
            f"Use k <= {n - 1}, or give more samples."
        )
    space = space_of(X, metric, OWNER, n_jobs)
    if k is not None:
        check_memory(n * k * 64, OWNER, "Use a smaller k.")
        weights, ids = space.knn(int(k))
        edges = np.repeat(np.arange(n), int(k)), ids.ravel(), weights.ravel()
    else:
        edges = space.within(float(eps))
    weights = space.out(edges[2]).astype(X.dtype, copy=False)
    indptr, indices, weights = compressed(n, edges[0], edges[1], weights, mode)
    k, eps = None if k is None else int(k), None if eps is None else float(eps)
    return NeighborGraph(
        indptr, indices, weights, k=k, eps=eps, mode=mode, metric=metric, space=space
    )


def _check(k, eps, mode, n_jobs):
    if (k is None) == (eps is None):
        seen = "neither" if k is None else f"k={k} and eps={eps}"
        raise ParameterError(
            f"{OWNER} needs either k, the number of neighbours, or eps, their largest distance; "
            f"got {seen}. Pass one, for example k=10."
        )
    optional = OneOf((None,))
    problems = [
        parameter_problem("k", k, (optional, Int(1)), OWNER),
        parameter_problem("eps", eps, (optional, Float(0)), OWNER),
        parameter_problem("mode", mode, (OneOf(MODES),), OWNER),
        parameter_problem("n_jobs", n_jobs, N_JOBS, OWNER),
    ]
    if isinstance(eps, Real) and eps == np.inf:  # every pair: legal, and a way to say so
        problems[1] = None
    found = [problem for problem in problems if problem]
    if found:
        raise ParameterError(" ".join(found))


def _as_input(X, metric):
    if is_sparse(X) and isinstance(metric, str) and metric == "precomputed":
        raise ParameterError(
            f"Got a sparse matrix of precomputed distances, in which {OWNER} cannot tell a "
            "distance of zero from one that is not known. If it is a graph, pass it to "
            "NeighborGraph.from_csr; if it is complete, pass X.toarray()."
        )
    return as_points(X, OWNER)


def compressed(n, u, v, weights, mode):
    """Return ``(indptr, indices, weights)`` of listed edges; the least weight of equal ones.

    Parameters
    ----------
    n : int
    u, v, weights : ndarray of shape (m,)
        u lists v. Loops are left out.
    mode : {"union", "mutual", "directed"}
    """
    if (u == v).any():
        u, v, weights = u[u != v], v[u != v], weights[u != v]
    indptr, m = np.zeros(n + 1, dtype=np.int64), len(u)
    if not m:
        return indptr, np.empty(0, dtype=np.intp), weights[:0].copy()
    keys = u.astype(np.int64) * n + v  # below 2^63 for every n that fits into memory
    if mode != "directed":
        keys = np.concatenate([keys, v.astype(np.int64) * n + u])
        weights = np.concatenate([weights, weights])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    keys, weights = keys[first], np.minimum.reduceat(weights[order], first)
    if mode == "mutual":
        listed = order < m  # as given, or turned around
        both = np.logical_or.reduceat(listed, first) & np.logical_or.reduceat(~listed, first)
        keys, weights = keys[both], weights[both]
    rows, columns = np.divmod(keys, n)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return indptr, columns.astype(np.intp, copy=False), weights


NO_BRIDGES = Bridges(np.empty((0, 2), dtype=np.intp), np.empty(0))


@dataclass(frozen=True, eq=False, repr=False)
class NeighborGraph:
    """A weighted graph of neighbours in compressed sparse rows. Immutable.

    Made by :func:`neighbor_graph`, or by :meth:`from_csr` from a sparse matrix. The edges of
    vertex i lead to ``indices[indptr[i]:indptr[i + 1]]``, in increasing order; an undirected graph
    (mode "union" or "mutual") holds each edge twice. Stored zeros are edges of length zero.

    Attributes
    ----------
    indptr : ndarray of shape (n + 1,), int64
    indices : ndarray of shape (m,), intp
    weights : ndarray of shape (m,), float32 or float64
        Lengths of the edges.
    k, eps : int or None, float or None
        How the graph was built.
    mode : {"union", "mutual", "directed"}
    metric : str, metric object or callable
    bridges : Bridges
        ``edges`` (m, 2) and ``lengths`` (m,) that :meth:`connect` added, none otherwise.
    points : ndarray of shape (n, d) or None
        The samples it was built from, referred to and not copied: :meth:`connect` and
        :meth:`diagnose` measure distances between them, and the plot draws them. Do not write
        to that array while the graph is in use.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    k: int | None = None
    eps: float | None = None
    mode: str = "union"
    metric: object = "euclidean"
    bridges: Bridges = NO_BRIDGES
    space: Space | None = field(default=None)

    def __post_init__(self):
        for array in (self.indptr, self.indices, self.weights, *self.bridges):
            array.flags.writeable = False

    @classmethod
    def from_csr(cls, graph, *, points=None, metric="euclidean", mode="union", n_jobs=None):
        """Take a graph that exists already as a sparse matrix of edge lengths.

        Parameters
        ----------
        graph : sparse matrix or array of shape (n, n)
            A stored entry (i, j) is an edge, also if it is zero; the least of several entries
            counts, and entries (i, i) do not. Read, not kept.
        points : array-like, optional
            Samples of shape (n, d), or distances of shape (n, n) with metric="precomputed". They
            are needed to connect the graph and to know the smallest connecting k and eps.
        metric : str, metric object or callable
            Distance of the points.
        mode : {"union", "mutual", "directed"}
            Join i and j if one of (i, j) and (j, i) is stored, if both are, or keep directions.
        n_jobs : int, optional

        Raises
        ------
        ParameterError
            Not sparse, not square, or a length that is negative, NaN or infinite.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> NeighborGraph.from_csr(csr_array([[0, 2.0, 0], [0, 0, 1.0], [0, 0, 0]]))
        NeighborGraph(n=3, n_edges=2, mode='union')
        """
        owner = "NeighborGraph.from_csr"
        if not is_sparse(graph):
            raise ParameterError(
                f"{owner} needs a scipy sparse matrix, got {type(graph).__name__}. For samples or "
                "a full matrix of distances use neighbor_graph."
            )
        problem = parameter_problem("mode", mode, (OneOf(MODES),), owner)
        if problem:
            raise ParameterError(problem)
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
            raise ParameterError(
                f"A graph is a square matrix, got shape {graph.shape}. Pass one row and one "
                "column for each vertex."
            )
        u, v, weights = _as_edges(graph, owner)
        space = None
        if points is not None:
            points = _as_input(points, metric)
            if len(points) != graph.shape[0]:
                raise ParameterError(
                    f"The graph has {graph.shape[0]} vertices, and there are {len(points)} points. "
                    "Pass the point of each vertex."
                )
            space = space_of(points, metric, owner, n_jobs)
        indptr, indices, weights = compressed(graph.shape[0], u, v, weights, mode)
        return cls(indptr, indices, weights, mode=mode, metric=metric, space=space)

    @property
    def n(self):
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def n_edges(self):
        """Number of edges; an undirected one counts once."""
        return len(self.indices) // (1 if self.mode == "directed" else 2)

    @property
    def points(self):
        """The samples it was built from, or None."""
        return None if self.space is None else self.space.points

    def __repr__(self):
        said = [f"n={self.n}", f"n_edges={self.n_edges}"]
        said += [f"{name}={getattr(self, name)}" for name in ("k", "eps") if getattr(self, name)]
        said.append(f"mode={self.mode!r}")
        if len(self.bridges.edges):
            said.append(f"bridges={len(self.bridges.edges)}")
        return f"NeighborGraph({', '.join(said)})"

    def to_csr(self):
        """Return the graph as a scipy CSR array; edges of length zero are stored zeros."""
        from scipy.sparse import csr_array

        arrays = (self.weights.copy(), self.indices.copy(), self.indptr.copy())
        return csr_array(arrays, shape=(self.n, self.n))

    def edges(self):
        """Return ``(u, v, weights)`` of the edges; an undirected one once, with u < v."""
        u = np.repeat(np.arange(self.n), np.diff(self.indptr))
        if self.mode == "directed":
            return u, self.indices, self.weights
        half = u < self.indices
        return u[half], self.indices[half], self.weights[half]

    def components(self):
        """Return the connected components, whatever the direction of edges.

        Returns
        -------
        Components
            ``labels`` (n,), numbered by the smallest vertex of each, and ``sizes``.
        """
        return weak_components(self.indptr, self.indices)

    def connect(self):
        """Return a connected graph: this one and the shortest bridges between its components.

        There is one bridge less than components, listed in ``bridges`` of the new graph; no other
        choice is shorter in all or has a shorter longest bridge. A directed graph gets both
        directions. A connected graph is returned itself.

        Raises
        ------
        ParameterError
            The graph was made from a sparse matrix without points, so distances are not known.
        """
        labels, sizes = self.components()
        if len(sizes) <= 1:
            return self
        if self.space is None:
            raise ParameterError(
                f"The graph has {len(sizes)} components and no points to measure bridges between "
                "them. Pass points=X to NeighborGraph.from_csr."
            )
        edges, lengths = bridges(self.space, labels)
        added = Bridges(edges, self.space.out(lengths))
        a, b = added.edges.T
        u = np.repeat(np.arange(self.n), np.diff(self.indptr))
        lengths = added.lengths.astype(self.weights.dtype)
        indptr, indices, weights = compressed(
            self.n,
            np.concatenate([u, a, b]),
            np.concatenate([self.indices, b, a]),
            np.concatenate([self.weights, lengths, lengths]),
            "directed",  # both directions are there already
        )
        before = self.bridges
        added = Bridges(*(np.concatenate(pair) for pair in zip(before, added, strict=True)))
        kept = {name: getattr(self, name) for name in ("k", "eps", "mode", "metric", "space")}
        return NeighborGraph(indptr, indices, weights, **kept, bridges=added)

    def shortest_paths(
        self, sources=None, *, method="auto", dtype=None, n_jobs=None, progress=False
    ):
        """Return the lengths of the shortest paths from the sources (all by default) to all.

        As :func:`manifold_lab.graph.geodesic.shortest_paths`; ``dtype`` is that of the weights
        by default. Paths in a graph of mode "directed" follow its edges one way. Few sources run
        Dijkstra's algorithm, many run sweeps in an order of it [yen1970]_, to the same bits.

        Returns
        -------
        ndarray of shape (n_sources, n)
            Infinite where there is no path.
        """
        from manifold_lab.graph.geodesic import shortest_paths

        return shortest_paths(
            self.indptr,
            self.indices,
            self.weights,
            sources=sources,
            method=method,
            dtype=self.weights.dtype if dtype is None else dtype,
            n_jobs=n_jobs,
            progress=progress,
        )

    def diagnose(self, *, n_jobs=None):
        """Look for the two failures of a neighbour graph, open circuits and short circuits.

        Returns
        -------
        Diagnosis
            ``str()`` is a report with remedies, ``plot()`` a picture.
        """
        from manifold_lab.graph.diagnosis import diagnose

        return diagnose(self, n_jobs=n_jobs)


def _as_edges(graph, owner):
    A = graph.tocoo()  # keeps stored zeros and repeated entries
    if A.dtype.kind not in "biuf":
        raise ParameterError(
            f"The lengths of {owner} have dtype {A.dtype}; convert them to float64."
        )
    weights = A.data.astype(np.float32 if A.dtype == np.float32 else np.float64)
    u, v = (A.row, A.col)
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if bad.size:
        at = bad[0]
        raise ParameterError(
            f"The edge from {u[at]} to {v[at]} has the length {weights[at]}. Lengths are finite "
            "and not negative: leave out edges that are not there, and turn similarities into "
            "distances."
        )
    return u, v, weights

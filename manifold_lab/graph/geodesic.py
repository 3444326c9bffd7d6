"""Shortest paths on a weighted graph: Dijkstra's distances, or Floyd's for dense graphs.

Three kernels, chosen by one stated rule each. ``sweep`` computes eight or sixteen
neighbouring sources at a time with exactly the bits of Dijkstra's algorithm, ``dijkstra`` one
source at a time, and ``floyd`` everything at once on a dense matrix. Work is done in pieces of
about 50 ms, so that Ctrl-C is heard; nothing is returned before all of it is done.
"""

import time

import numpy as np

from manifold_lab._kernels import dijkstra, levels, threads
from manifold_lab._progress import progress as progress_of
from manifold_lab.checks import N_JOBS, OneOf, check_memory, parameter_problem
from manifold_lab.errors import ParameterError
from manifold_lab.graph.ordering import neighbours_together

METHODS = ("auto", "dijkstra", "floyd")
OWNER = "shortest_paths"
REMEDY = (
    "Ask for fewer sources (n_landmarks in a reducer), store float32 (dtype=np.float32), "
    "or free memory."
)

# where one kernel overtakes another, measured on neighbour graphs and random ones
FLOYD_DENSITY = 1 / 6  # edges over n^2 from which on Floyd's algorithm is faster
SWEEP_LEAST = 64  # sources from which on sweeps are faster than searches: so many,
SWEEP_SHARE = 1 / 1000  # and this share of the vertices, since far ones share less
SWEEP_MOST = 2**18  # vertices, above which one batch takes too long to be interrupted

SECONDS = 0.05  # of a piece
BATCH = 128  # sources that share an order of the vertices
BATCH_LABELS = 2**22  # sources times vertices of a batch: less than a piece
MAX_VISITS = 30  # a vertex and group of sources, before a search is surer
TOUCHED = 2**28  # bytes from which on the result is made resident before it is filled
EDGES = 2**20  # a slot of searches looks at in a piece
BLOCK = 64  # vertices that Floyd's algorithm passes through at a time
ADDITIONS = 2**27  # of Floyd's algorithm in a piece


def shortest_paths(
    indptr,
    indices,
    weights,
    *,
    sources=None,
    method="auto",
    dtype=np.float64,
    n_jobs=None,
    progress=False,
):
    """Return the lengths of the shortest paths from the sources to all vertices.

    Parameters
    ----------
    indptr, indices, weights : array of shape (n + 1,), (m,), (m,)
        The edges as compressed sparse rows: those from vertex i lead to
        ``indices[indptr[i]:indptr[i + 1]]``. Explicit zeros are edges of length zero, infinite
        weights are no edges. An undirected graph holds every edge twice, with equal weights.
    sources : array of int, optional
        Vertices to start from, by default all.
    method : {"auto", "dijkstra", "floyd"}
        "floyd" fills a dense matrix, and is chosen by "auto" if all vertices are sources and at
        least one in six pairs is an edge. "dijkstra" sums each path from its source on, and
        gives the same bits whatever the number of threads; the distances of "floyd" differ from
        these by rounding.
    dtype : float64 or float32
        How distances are stored. They are computed in float64 and rounded once.
    n_jobs : int, optional
        Threads; None or -1 for all cores. Results do not depend on it.
    progress : bool
        Show how far the work has come.

    Returns
    -------
    ndarray of shape (n_sources, n)
        Infinite where there is no path. Computed in one direction each, so that D[i, j] and
        D[j, i] of an undirected graph may differ by rounding.

    Raises
    ------
    ParameterError
        The arrays are not a graph; a weight is negative or NaN, or so large that distances could
        overflow; a source is not a vertex; an unknown method or dtype.
    MemoryBudgetError
        The result does not fit into memory.

    Examples
    --------
    >>> import numpy as np
    >>> shortest_paths(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]), np.array([2.0, 2.0, 3.0, 3.0]))
    array([[0., 2., 5.],
           [2., 0., 3.],
           [5., 3., 0.]])
    """
    dtype = _check_parameters(method, dtype, n_jobs)
    indptr, indices, weights = graph = _as_graph(indptr, indices, weights)
    n, m = indptr.size - 1, indices.size
    _check_weights(indptr, indices, weights, dtype)
    sources = _as_sources(sources, n)
    if method == "auto":
        everything = sources.size >= n
        method = "floyd" if everything and m >= FLOYD_DENSITY * n * n and n > 1 else "dijkstra"
    n_threads = threads.count(n_jobs)
    result = sources.size * n * dtype.itemsize
    if method == "floyd":
        check_memory(result + 8 * n * (n + 64), OWNER, REMEDY)
        return _floyd(graph, sources, dtype, n_threads, progress)
    check_memory(result + n_threads * (8 * n * 25 + 12 * m) + 32 * m, OWNER, REMEDY)
    out = np.empty((sources.size, n), dtype)
    if out.size:
        _touch(out)
        _dijkstra(graph, sources, out, n_threads, progress)
    return out


def _touch(out):
    """Make the system give the memory now, bit by bit: rows are filled here and there, and the
    first of them would wait for most of it without hearing Ctrl-C."""
    flat = out.reshape(-1)
    if out.nbytes > TOUCHED:
        for start in range(0, flat.size, 2**21):
            flat[start : start + 2**21 : 512] = 0  # a page holds at least 512 numbers


# ------------------------------------------------------------------ the door


def _check_parameters(method, dtype, n_jobs):
    for name, value, allowed in (("method", method, (OneOf(METHODS),)), ("n_jobs", n_jobs, N_JOBS)):
        problem = parameter_problem(name, value, allowed, OWNER)
        if problem:
            raise ParameterError(problem)
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    if known not in (np.float32, np.float64):
        raise ParameterError(
            f"The 'dtype' parameter of {OWNER} must be float32 or float64. Got {dtype!r} instead."
        )
    return known


def _as_graph(indptr, indices, weights):
    """Return the three arrays as intp, intp and float64, known to be a graph."""
    indptr, indices = _integers(indptr, "indptr"), _integers(indices, "indices")
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if indptr.size == 0 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ParameterError(
            f"indptr must start at 0 and never decrease, with one entry more than there are "
            f"vertices. Got {indptr.size} entries. Pass the indptr of a CSR matrix."
        )
    if not indptr[-1] == indices.size == weights.size or weights.ndim != 1:
        raise ParameterError(
            f"indptr ends at {indptr[-1]}, but there are {indices.size} indices and weights of "
            f"shape {weights.shape}. Pass indptr, indices and data of one CSR matrix."
        )
    n = indptr.size - 1
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        at = int(np.flatnonzero((indices < 0) | (indices >= n))[0])
        raise ParameterError(
            f"indices[{at}] is {indices[at]}, but the graph has the vertices 0 to {n - 1}. "
            "Pass the indices of a square CSR matrix."
        )
    return indptr, indices, weights


def _integers(values, name):
    values = np.asarray(values)
    if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
        raise ParameterError(
            f"{name} must be a 1-D array of integers. Got shape {values.shape}, dtype "
            f"{values.dtype}. Convert it with astype(np.int64)."
        )
    return np.ascontiguousarray(values, dtype=np.intp)


def _check_weights(indptr, indices, weights, dtype):
    if not weights.size:
        return
    if not weights.min() >= 0:  # NaN is not
        at = int(np.flatnonzero(~(weights >= 0))[0])
        tail = int(np.searchsorted(indptr, at, side="right")) - 1
        raise ParameterError(
            f"The edge from {tail} to {indices[at]} has the weight {weights[at]}. Shortest paths "
            "need weights that are zero or positive: drop the edge, or mend its length."
        )
    longest = weights.max(initial=0.0, where=np.isfinite(weights))
    if longest > np.finfo(dtype).max / max(indptr.size - 1, 1):
        raise ParameterError(
            f"The longest edge is {longest:.3g}, and a path of {indptr.size - 2} such edges cannot "
            f"be stored in {dtype}. Scale the weights down{' or use float64' * (dtype == 'f4')}."
        )


def _as_sources(sources, n):
    if sources is None:
        return np.arange(n, dtype=np.intp)
    sources = _integers(sources, "sources")
    if sources.size and (sources.min() < 0 or sources.max() >= n):
        bad = int(sources[(sources < 0) | (sources >= n)][0])
        raise ParameterError(
            f"The source {bad} is not a vertex: the graph has the vertices 0 to {n - 1}."
        )
    return sources


# ------------------------------------------------------------------ the algorithms


def _dijkstra(graph, sources, out, n_threads, progress):
    """Fill ``out`` by sweeps where there are many sources, and by searches what these leave."""
    n, m = graph[0].size - 1, graph[1].size
    rows = np.arange(sources.size)
    many = sources.size >= max(SWEEP_LEAST, SWEEP_SHARE * n) and m > 0 and n <= SWEEP_MOST
    with progress_of(sources.size, "shortest paths", progress) as advance:
        if many:
            rank = np.empty(n, np.intp)
            rank[neighbours_together(*graph)] = np.arange(n)
            rows = rows[np.argsort(rank[sources], kind="stable")]
            rows = _sweep(graph, sources, rows, out, n_threads, advance)
        _search(graph, sources, rows, out, n_threads, advance)


def _sweep(graph, sources, rows, out, n_threads, advance):
    """Fill ``out[rows]``, and return the rows that need too many sweeps."""
    kernel = levels.load("sweep")
    n = graph[0].size - 1
    back = _back(*graph)
    share = max(1, min(BATCH, BATCH_LABELS // n, rows.size // (4 * n_threads)) // kernel.lanes)
    batch = share * kernel.lanes
    size, start, left = batch * n_threads, 0, []
    while start < rows.size:
        piece = rows[start : start + size]
        begun = time.perf_counter()
        done = kernel.sweep(
            *graph, *back, sources[piece], piece, batch, MAX_VISITS * n, out, n_threads
        )
        spent = time.perf_counter() - begun
        advance(int(done.sum()))
        left.append(piece[~done])
        start += piece.size
        if 2 * left[-1].size > piece.size:  # this graph is not for sweeps
            break
        size = max(1, int(size * min(4.0, SECONDS / spent)) // (batch * n_threads))
        size *= batch * n_threads
    return np.concatenate([*left, rows[start:]])


def _back(indptr, indices, weights):
    """Return the graph with its edges turned around, each with one the other way beside it.

    Those that had none are infinite. An undirected graph is returned as it is.
    """
    n = indptr.size - 1
    tails = np.repeat(np.arange(n), np.diff(indptr))
    there, back = tails * n + indices, indices * n + tails  # n is at most SWEEP_MOST
    order = np.argsort(back, kind="stable")
    if np.array_equal(back[order], there) and np.array_equal(weights[order], weights):
        return indptr, indices, weights
    lonely = ~np.isin(back, there)
    heads = np.concatenate([indices, tails[lonely]])
    order = np.argsort(heads, kind="stable")
    ends = np.cumsum(np.bincount(heads, minlength=n))
    return (
        np.concatenate([[0], ends]).astype(np.intp),
        np.concatenate([tails, indices[lonely]])[order],
        np.concatenate([weights, np.full(lonely.sum(), np.inf)])[order],
    )


def _search(graph, sources, rows, out, n_threads, advance):
    """Fill ``out[rows]``, one source at a time in each slot."""
    if not rows.size:
        return
    n_slots = min(n_threads, rows.size)
    indptr, indices, weights = graph
    state, labels, places = dijkstra.slots(indptr.size - 1, n_slots)
    before = rows.size
    while before:
        now = dijkstra.advance(
            indptr,
            indices,
            weights,
            sources[rows],
            rows,
            state,
            labels,
            places,
            EDGES,
            out,
            n_threads,
        )
        advance(before - now)
        before = now


def _floyd(graph, sources, dtype, n_threads, progress):
    """Return the rows of the sources of the closed distance matrix."""
    kernel = levels.load("floyd")
    indptr, indices, weights = graph
    n = indptr.size - 1
    # an odd number of groups of columns: a stride of 2^k bytes would keep evicting the cache
    D = np.empty((n, (-(-n // kernel.width) | 1) * kernel.width))
    for top in range(0, n, BLOCK):  # in pieces, for Ctrl-C
        D[top : top + BLOCK] = np.inf
    tails = np.repeat(np.arange(n), np.diff(indptr))
    D[tails, indices] = weights
    if (D[tails, indices] != weights).any():  # of parallel edges, the shortest
        np.minimum.at(D, (tails, indices), weights)
    D[np.arange(n), np.arange(n)] = 0.0
    step = max(32, ADDITIONS // (BLOCK * max(n, 1)))
    with progress_of(n, "shortest paths", progress) as advance:
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            kernel.close_block(D, first, last, n_threads)
            for top in range(0, n, step):
                kernel.pass_through(D, first, last, top, min(top + step, n), n_threads)
            advance(last - first)
    return D[sources, :n].astype(dtype, copy=False)

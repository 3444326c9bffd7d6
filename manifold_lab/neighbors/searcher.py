"""Search with any metric: through the Euclidean index where a map allows it, directly elsewhere.

A searcher holds its own copy of the training rows. Its two questions, ``knn`` and ``within``, are
answered exactly, sorted by (distance, index); ``Q=None`` asks for the training rows without
themselves. Distances have the type of the rows.
"""

import numpy as np

from manifold_lab.checks import check_memory
from manifold_lab.metrics.base import exponent, scaled
from manifold_lab.metrics.direct import check_distances
from manifold_lab.metrics.mapped import Mapped, SquaredEuclidean
from manifold_lab.neighbors.exact import Index

_PIECE = 2**26  # operations between two moments at which Ctrl-C is heard
_ENTRIES = 2**21  # of a block of distances


def searcher(X, metric, owner, n_jobs=None):
    """Return the searcher of the rows of X, which are copied, under a metric object.

    Raises
    ------
    ParameterError
        The rows do not suit the metric.
    """
    metric.check_width(X.shape[1], owner)
    if metric.precomputed:
        return Direct(check_distances(X, owner), metric, owner, n_jobs)
    metric.check_rows(X, owner)
    if isinstance(metric, Mapped):
        return Through(X, metric, owner, n_jobs)
    return Direct(X, metric, owner, n_jobs)


class Through:
    """Search of mapped rows, by the Euclidean index of their points."""

    def __init__(self, X, metric, owner, n_jobs):
        self.X, self.metric, self.owner, self.n_jobs = np.array(X), metric, owner, n_jobs
        self._prepare()

    def _prepare(self):
        self.frame = self.metric.frame(self.X)
        points = np.ascontiguousarray(self.frame(self.X, self.owner))
        self.index = Index(points, n_jobs=self.n_jobs)

    def __getstate__(self):
        state = dict(self.__dict__)
        del state["frame"], state["index"]  # made again, for the machine it is loaded on
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._prepare()

    def _ask(self, Q):
        """Return an index and the points of Q, both of one type, and the type of the answer."""
        if Q is None:
            return self.index, None, self.X.dtype
        self.metric.check_rows(Q, self.owner)
        points, index = self.frame(Q, self.owner), self.index
        if points.dtype != index.X.dtype:
            if index.X.dtype == np.float32:  # rounding the queries could change their neighbours
                index = Index(index.X.astype(np.float64), n_jobs=self.n_jobs)
            points = points.astype(np.float64)
        return index, np.ascontiguousarray(points), np.result_type(self.X, Q)

    def knn(self, Q, k):
        index, points, dtype = self._ask(Q)
        r, ids = index.knn(points, k=k)
        D = self._distances(r, ids, Q, np.repeat(np.arange(len(r)), k))
        if isinstance(self.metric, SquaredEuclidean):  # a root may have hidden which is nearer
            order = np.lexsort((ids, r, D), axis=1)
            D, ids = np.take_along_axis(D, order, 1), np.take_along_axis(ids, order, 1)
        return D.astype(dtype, copy=False), ids

    def within(self, Q, eps):
        index, points, dtype = self._ask(Q)
        with np.errstate(over="ignore", under="ignore"):
            radius = float(np.ldexp(self.metric.to_euclidean(eps), -self.frame.exponent))
        if not 0 < radius < np.inf:
            radius = float(np.clip(radius, 5e-324, 1.7e308))
        indptr, ids, r = index.within(points, eps=radius)
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        D = self._distances(r, ids, Q, rows)
        if isinstance(self.metric, SquaredEuclidean):
            order = np.lexsort((ids, r, D, rows))
            D, ids = D[order], ids[order]
        inside = eps >= D
        if not inside.all():
            D, ids = D[inside], ids[inside]
            counts = np.bincount(rows[inside], minlength=len(indptr) - 1)
            indptr = np.concatenate([[0], np.cumsum(counts)])
        return indptr, ids, D.astype(dtype, copy=False)

    def _distances(self, r, ids, Q, rows):
        with np.errstate(over="ignore", under="ignore"):
            if isinstance(self.metric, SquaredEuclidean):  # whole numbers stay whole
                return _squares(self.X, self.X if Q is None else Q, ids, rows)
            if self.frame.exponent:
                r = scaled(r, self.frame.exponent)
            return self.metric.from_euclidean(r)


class Direct:
    """Search by all distances, a block of rows at a time."""

    def __init__(self, X, metric, owner, n_jobs=None):
        self.X, self.metric, self.owner, self.n_jobs = np.array(X), metric, owner, n_jobs

    def knn(self, Q, k):
        m = len(self.X if Q is None else Q)
        check_memory(16 * m * k, self.owner, "Ask for fewer neighbours, or fewer rows at a time.")
        e, blocks = self._blocks(Q)
        found = [_smallest(D, k) for D in blocks]
        ids = np.concatenate([ids for _, ids in found])
        return self._out(scaled(np.concatenate([D for D, _ in found]), e), Q), ids

    def within(self, Q, eps):
        counts, parts, distances = [np.zeros(1, dtype=np.int64)], [], []
        e, blocks = self._blocks(Q)
        for D in blocks:
            D = scaled(D, e)
            rows, ids = np.nonzero(eps >= D)
            order = np.lexsort((ids, D[rows, ids], rows))
            rows, ids = rows[order], ids[order]
            counts.append(np.bincount(rows, minlength=len(D)))
            parts.append(ids)
            distances.append(D[rows, ids])
        indptr = np.cumsum(np.concatenate(counts))
        return indptr, np.concatenate(parts), self._out(np.concatenate(distances), Q)

    def _out(self, D, Q):
        with np.errstate(over="ignore"):
            return D.astype(self.X.dtype if Q is None else np.result_type(self.X, Q), copy=False)

    def _blocks(self, Q):
        """Return e and the distances, times 2^-e, of blocks of rows from all training rows."""
        if Q is not None:
            self.metric.check_rows(Q, self.owner)
        e = exponent(self.X, Q) if self.metric.homogeneous else 0
        return e, self._scaled_blocks(Q, e)

    def _scaled_blocks(self, Q, e):
        own, (n, d) = Q is None, self.X.shape
        Q = self.X if own else Q
        Y = self.X if self.metric.precomputed else scaled(self.X, -e)
        height = max(1, min(_ENTRIES // n, _PIECE // (n * d)))
        for start in range(0, len(Q), height):
            D = self.metric.block(scaled(Q[start : start + height], -e), Y, self.n_jobs)
            if own:
                D[np.arange(len(D)), np.arange(start, start + len(D))] = np.nan  # never chosen
            yield D


def _smallest(D, k):
    """Return the k smallest entries of each row, and their places, sorted by (entry, place)."""
    kth = np.partition(D, k - 1, axis=1)[:, k - 1, None]  # NaN is larger than everything
    rows, ids = np.nonzero(kth >= D)
    order = np.lexsort((ids, D[rows, ids], rows))
    first = np.searchsorted(rows, np.arange(len(D)))  # rows are sorted already
    ids = ids[order[(first[:, None] + np.arange(k)).ravel()]].reshape(-1, k)
    return np.take_along_axis(D, ids, axis=1), ids


def _squares(X, Q, ids, rows):
    """Return the squared distances of ``Q[rows]`` from ``X[ids]``, in the shape of ids."""
    flat, out = ids.ravel(), np.empty(ids.size)
    step = max(1, 2**20 // X.shape[1])
    for start in range(0, len(flat), step):
        part = slice(start, start + step)
        apart = Q[rows[part]].astype(np.float64) - X[flat[part]]
        out[part] = (apart * apart).sum(axis=1)
    return out.reshape(ids.shape)

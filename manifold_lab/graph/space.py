"""Samples and a distance between them: what a graph asks about points that are not its edges.

All distances between two points have the same bits, whoever asks: a smallest eps is one of them,
and a graph built with it must hold that edge. Where a metric is an increasing function of the
Euclidean distance of mapped points, everything is found and compared in terms of that distance,
and turned into the metric at the end.
"""

import numpy as np

from manifold_lab.metrics.base import exponent, scaled
from manifold_lab.metrics.direct import check_distances
from manifold_lab.metrics.mapped import Mapped
from manifold_lab.metrics.resolve import as_metric

_BLOCK = 2**22  # distances held at a time


def space_of(X, metric, owner, n_jobs=None):
    """Return the space of samples X under a metric, or of precomputed distances X.

    Raises
    ------
    ParameterError
        The metric is not known, or does not suit the samples.
    """
    metric = as_metric(metric)
    metric.check_width(X.shape[1], owner)
    if metric.precomputed:
        return Precomputed(check_distances(X, owner))
    metric.check_rows(X, owner)
    kind = MappedSpace if isinstance(metric, Mapped) else DirectSpace
    return kind(X, metric, n_jobs)


class Space:
    """Questions about n points, answered from blocks of rows of their distances.

    Distances are in units of the space; :meth:`out` turns them into the metric.
    """

    points = None  #: the samples, where there are any
    slack = 0.0  #: share by which :meth:`rough` distances may be off
    n: int

    def __len__(self):
        return self.n

    def distances(self, rows):
        """Return the distances from some points to all, a new array."""
        raise NotImplementedError

    def rough(self, rows):
        """Return them within a share ``slack``, where that is faster."""
        return self.distances(rows)

    def out(self, r):
        """Return distances of the space as the metric has them."""
        return r

    def blocks(self, rows=None, rough=False):
        """Yield ``(rows, distances)``, a bounded number of rows at a time, all by default."""
        rows = np.arange(self.n) if rows is None else rows
        step = max(1, _BLOCK // self.n)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            yield some, (self.rough if rough else self.distances)(some)

    def others(self, rows=None, rough=False):
        """Yield the same, infinite from each point to itself."""
        for some, D in self.blocks(rows, rough):
            D[np.arange(len(some)), some] = np.inf
            yield some, D

    def knn(self, k):
        """Return ``(distances, indices)`` of each point's k nearest others, ties by index."""
        r, ids = np.empty((self.n, k)), np.empty((self.n, k), dtype=np.intp)
        for rows, D in self.others():
            r[rows], ids[rows] = nearest_columns(D, k)
        return r, ids

    def within(self, eps):
        """Return ``(u, v, distances)`` of the ordered pairs at most eps, of the metric, apart."""
        parts = []
        for rows, D in self.others():
            i, v = np.nonzero(eps >= D)
            off = rows[i] != v  # if eps is infinite
            parts.append((rows[i[off]], v[off], D[i[off], v[off]]))
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def nearest_foreign(self, rows, labels):
        """Return ``(distances, indices)`` of the nearest point with another label, for some rows.

        The lowest index of equally near ones. There is more than one label.
        """
        r, ids = np.empty(len(rows)), np.empty(len(rows), dtype=np.intp)
        start = 0
        for some, D in self.blocks(rows):
            D[labels[some][:, None] == labels] = np.inf
            part = slice(start, start + len(some))
            ids[part] = D.argmin(axis=1)
            r[part] = D[np.arange(len(some)), ids[part]]
            start += len(some)
        return r, ids


def kth_column(D, k):
    """Return the k-th smallest value of each row and its column, by (value, column)."""
    level = np.partition(D, k - 1, axis=1)[:, k - 1]
    tied = level[:, None] == D
    place = k - np.count_nonzero(level[:, None] > D, axis=1)  # among the tied ones
    last = tied.argmax(axis=1)
    for row in np.flatnonzero(place > 1):
        last[row] = np.flatnonzero(tied[row])[place[row] - 1]
    return level, last


def nearest_columns(D, k):
    """Return the k smallest values of each row and their columns, sorted by (value, column)."""
    level, last = (part[:, None] for part in kth_column(D, k))
    chosen = (level > D) | ((level == D) & (np.arange(D.shape[1]) <= last))
    columns = np.nonzero(chosen)[1].reshape(-1, k)
    values = np.take_along_axis(D, columns, axis=1)
    order = values.argsort(axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(columns, order, axis=1)


class Precomputed(Space):
    """Points known by their distances only."""

    def __init__(self, D):
        self.n, self.D = len(D), D

    def distances(self, rows):
        return self.D[rows].astype(np.float64)  # indexing by an array makes a copy


class DirectSpace(Space):
    """Samples under a metric that is computed pair by pair."""

    def __init__(self, X, metric, n_jobs=None):
        self.n, self.points, self.metric = len(X), X, metric

    def distances(self, rows):
        e = exponent(self.points) if self.metric.homogeneous else 0
        Y = scaled(self.points, -e)
        return scaled(self.metric.block(Y[rows], Y), e)


class MappedSpace(Space):
    """Samples under a metric of mapped points, found by an index of these instead of blocks."""

    def __init__(self, X, metric, n_jobs=None):
        self.n, self.points, self.metric, self.n_jobs = len(X), X, metric, n_jobs
        self._prepare()

    def _prepare(self):
        self.frame = self.metric.frame(self.points)
        # in float64 also for float32: a distance rounded to float32 may be below the true one,
        # and as eps would then miss its own edge
        mapped = np.ascontiguousarray(self.frame(self.points), dtype=np.float64)
        self.index = _index(mapped, self.n_jobs)
        self.slack = (mapped.shape[1] + 8) * 2.0**-51

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("frame", "index")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._prepare()

    def out(self, r):
        with np.errstate(over="ignore", under="ignore"):
            return self.metric.from_euclidean(scaled(r, self.frame.exponent))

    def distances(self, rows):
        r, ids = self.index.knn(self.index.X[rows], k=self.n)
        D = np.empty_like(r)
        np.put_along_axis(D, ids, r, axis=1)
        return D

    def rough(self, rows):
        from manifold_lab.metrics import pairwise

        return pairwise(self.index.X[rows], self.index.X)

    def knn(self, k):
        return self.index.knn(k=k)

    def within(self, eps):
        with np.errstate(over="ignore", under="ignore"):
            radius = float(np.ldexp(self.metric.to_euclidean(eps), -self.frame.exponent))
        indptr, v, r = self.index.within(eps=float(np.clip(radius, 5e-324, 1.7e308)))
        u = np.repeat(np.arange(self.n), np.diff(indptr))
        inside = eps >= self.out(r)
        return u[inside], v[inside], r[inside]

    def nearest_foreign(self, rows, labels):
        r, ids = np.full(len(rows), np.inf), np.full(len(rows), self.n, dtype=np.intp)
        left = np.arange(len(rows))
        for k in (16, 64):
            if k < self.n and left.size:
                left = left[~self._look(rows, labels, k, r, ids, left)]
        if left.size:
            self._split(rows, labels, r, ids, left)
        return r, ids

    def _look(self, rows, labels, k, r, ids, left):
        """Search the k nearest points of the rows ``left``; say for which one is foreign."""
        near, found = self.index.knn(self.index.X[rows[left]], k=k)
        foreign = labels[found] != labels[rows[left]][:, None]
        hit, column = foreign.any(axis=1), foreign.argmax(axis=1)
        at = np.flatnonzero(hit)
        r[left[hit]], ids[left[hit]] = near[at, column[at]], found[at, column[at]]
        return hit

    def _split(self, rows, labels, r, ids, left):
        """Search for each binary digit of the labels the points that differ in it.

        Two labels differ in some digit, so the nearest of these is the nearest foreign point:
        2 log2 c searches for c labels, however large the parts are.
        """
        X = self.index.X
        for digit in range(int(labels.max()).bit_length()):
            side = (labels >> digit) & 1
            for value in (0, 1):
                subset = np.flatnonzero(side != value)
                some = left[side[rows[left]] == value]
                if not (subset.size and some.size):
                    continue
                near, found = _index(X[subset], self.n_jobs).knn(X[rows[some]], k=1)
                near, found = near[:, 0], subset[found[:, 0]]
                better = (near < r[some]) | ((near == r[some]) & (found < ids[some]))
                r[some[better]], ids[some[better]] = near[better], found[better]


def _index(X, n_jobs):
    from manifold_lab.neighbors.exact import Index

    return Index(X, n_jobs=n_jobs)

"""Euclidean neighbours by a tree of boxes, where there are few features.

The leaves hold direct differences, so nothing has to be proved. Time (n + m) log n at fixed d.
"""

import numpy as np

from manifold_lab._kernels import levels
from manifold_lab.checks import check_memory
from manifold_lab.neighbors.pieces import empty_heaps, pieces, team

_VISITED = 1000  # about as many points does a row look at


class TreeSearch:
    """A tree over points, (n, d) and C-contiguous, whose squares neither overflow nor vanish."""

    def __init__(self, points, n_jobs):
        self.points, self.n_jobs = points, n_jobs
        self.kernel = levels.load("tree")
        self.tree = self.kernel.build(points, self._team(len(points)))

    def _team(self, m):
        n, d = self.points.shape
        return team(self.n_jobs, m * min(n, _VISITED) * d)

    def _queries(self, Q):
        """Return the rows of Q, or all points, and the groups of neighbouring rows they form."""
        if Q is None:
            return self.points, *self.tree[:2]
        return Q, *self.kernel.build(Q, self._team(len(Q)))[:2]

    def _pieces(self, groups, rows, advance, share=1.0):
        each = share * len(rows) / len(groups)
        first = 2**16 // 2 ** self.points.shape[1]
        return pieces(len(groups), first, lambda done: advance(done * each))

    def knn(self, Q, k, advance):
        """Return (r, ids), each (m, k) and sorted by (r, id)."""
        rows, groups, ids_of = self._queries(Q)
        r, ids = empty_heaps(len(rows), k, len(self.points))
        fixed = self.points, self.tree, rows, groups, ids_of, Q is None
        for first, last in self._pieces(groups, rows, advance):
            self.kernel.nearest(*fixed, first, last, r, ids, self._team(len(rows)))
        return r, ids

    def within(self, Q, eps, unit, advance):
        """Return (counts, ids, r): for each row the points with r unit <= eps, sorted."""
        rows, groups, ids_of = self._queries(Q)
        fixed = self.points, self.tree, rows, groups, ids_of, Q is None
        counts = np.zeros(len(rows), dtype=np.intp)
        starts, r, ids = counts, np.empty(0), np.empty(0, dtype=np.intp)
        for fill in (False, True):
            if fill:
                starts, total = np.cumsum(counts) - counts, int(counts.sum())
                if not total:
                    advance(len(rows) / 2)
                    break
                check_memory(total * 16, "The neighbour search", "Use a smaller eps.")
                r, ids = np.empty(total), np.empty(total, dtype=np.intp)
                counts = np.zeros_like(counts)
            for first, last in self._pieces(groups, rows, advance, 0.5):
                self.kernel.inside(
                    *fixed, first, last, eps, unit, starts, counts, r, ids, self._team(len(rows))
                )
        return counts, ids, r

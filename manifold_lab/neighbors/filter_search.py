"""Euclidean neighbours by a filter and a proof, where there are many features.

Products in float32 propose k candidates and a few spares; these are ranked by direct differences in
float64; and a bound on what rounding can have done (packed.py) proves for each row that nothing was
missed. Rows without a proof are searched anew in float64, looking at everything the bound does not
exclude. Time n^2 d for a set with itself, each pair of blocks once, and 2 m n d for m queries.
"""

import numpy as np

from manifold_lab._kernels import levels
from manifold_lab.neighbors import filter_within
from manifold_lab.neighbors.packed import Copies
from manifold_lab.neighbors.pieces import PIECE_WORK, empty_heaps, pieces, team

PROBE_ROWS = 64  # rows that tell whether float32 can prove enough
FEW_POINTS = 256  # below it the filter is not worth its proof
CHUNK_ROWS = 4096  # queries packed and ranked at a time


class FilterSearch:
    """Copies of points, (n, d) and C-contiguous, whose squares neither overflow nor vanish."""

    def __init__(self, points, n_jobs):
        self.points, self.n_jobs = points, n_jobs
        self.copies = Copies(points, n_jobs)

    def _team(self, m):
        n, d = self.points.shape
        return team(self.n_jobs, m * n * d)

    def _pieces(self, groups, m):
        """Yield ranges of groups of points, for m rows."""
        each = m * groups.shape[2] * groups.shape[1]
        return pieces(len(groups), PIECE_WORK // each)

    def within(self, Q, eps, unit, advance):
        """Return (counts, ids, r): for each row the points with r unit <= eps, sorted."""
        return filter_within.within(self.points, self.copies, Q, eps, unit, self._team, advance)

    def knn(self, Q, k, advance):
        """Return (r, ids), each (m, k) and sorted by (r, id)."""
        n, rows = len(self.points), self.points if Q is None else Q
        r, ids = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.intp)
        kept = with_spares(k, n - (Q is None))
        if n < FEW_POINTS or 4 * kept > n:  # nothing to filter: look at all
            everything = np.arange(len(rows))
            self._refine(Q, everything, np.full(len(rows), np.inf), r, ids, advance)
            return r, ids
        dtype = self._filter_type(k)
        heaps = self._tournament(kept, dtype, advance) if Q is None else None
        unproved = []
        for first in range(0, len(rows), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            m = len(rows[part])
            if heaps is None:
                candidates, worst, lengths = self._candidates(rows[part], kept, dtype)
                advance(m)
            else:
                candidates, worst = heaps[0][part], heaps[1][part]
                lengths = self.copies[dtype].lengths[part]
            found = candidates[:m], worst[:m], lengths[:m]
            proved = self._rank(rows[part], *found, dtype, r[part], ids[part])
            unproved.append(first + np.flatnonzero(~proved))
        again = np.concatenate(unproved)
        self._refine(Q, again, r[again, -1], r, ids, None)
        return r, ids

    def _rank(self, rows, candidates, worst, lengths, dtype, r, ids):
        """Write the k best candidates of some rows to (r, ids); say which are proved."""
        k, ranked = r.shape[1], np.empty(candidates.shape)
        n_threads = team(self.n_jobs, candidates.size * self.points.shape[1])
        for first, last in pieces(len(rows), 128):
            part = slice(first, last)
            levels.load("ranking").rank(
                self.points, rows[part], candidates[part], ranked[part], n_threads
            )
        r[:], ids[:] = ranked[:, :k], candidates[:, :k]
        return self.copies.proved(r[:, -1], worst, lengths, dtype)

    def _filter_type(self, k):
        """Return float32, or float64 where a few rows show that float32 proves too little."""
        n = len(self.points)
        if n < 20 * PROBE_ROWS:
            return np.float32
        rows = np.ascontiguousarray(self.points[:: n // PROBE_ROWS])
        candidates, worst, lengths = self._candidates(rows, with_spares(k + 1, n), np.float32)
        r, ids = np.empty((len(rows), k + 1)), np.empty((len(rows), k + 1), dtype=np.intp)
        proved = self._rank(rows, candidates, worst, lengths, np.float32, r, ids)
        return np.float32 if proved.mean() > 0.7 else np.float64

    def _candidates(self, rows, kept, dtype):
        """Return the ``kept`` smallest qhat of each row: ids, the largest qhat, lengths of y."""
        P, packed, m = self.copies[dtype], self.copies.pack(rows, dtype), len(rows)
        keys, ids = empty_heaps(len(packed.norms), kept, 0, dtype)
        worst = np.full(len(keys), np.inf, dtype)
        fixed = P.groups, P.norms, packed.groups, packed.norms, 0, len(packed.groups)
        for first, last in self._pieces(P.groups, m):
            levels.load("neighbors").queries(
                *fixed, first, last, P.block, keys, ids, worst, self._team(m)
            )
        return ids[:m], worst[:m], packed.lengths[:m]

    def _tournament(self, kept, dtype, advance):
        """Return candidates and worst qhat of all points, each pair of blocks looked at once."""
        n, P = len(self.points), self.copies[dtype]
        keys, ids = empty_heaps(len(P.norms), kept, 0, dtype)
        worst = np.full(len(keys), np.inf, dtype)
        n_blocks = -(-len(P.groups) // P.block)
        meetings = PIECE_WORK // (P.block * P.lanes) ** 2 // P.groups.shape[1]
        for number, pairs in enumerate(rounds(n_blocks)):
            for first, last in pieces(len(pairs), meetings):
                levels.load("neighbors").tournament(
                    P.groups, P.norms, pairs[first:last], P.block, keys, ids, worst, self._team(n)
                )
            done = [n * i // (n_blocks + n_blocks % 2) for i in (number, number + 1)]
            advance(done[1] - done[0])
        return ids, worst

    def _refine(self, Q, which, bounds, r, ids, advance):
        """Search the rows ``which`` anew, no farther than bounds, and write them to (r, ids)."""
        n, k = len(self.points), r.shape[1]
        rows, kernel = self.points if Q is None else Q, levels.load("ranking")
        for start in range(0, len(which), CHUNK_ROWS):
            some = which[start : start + CHUNK_ROWS]
            mine, m = np.ascontiguousarray(rows[some]), len(some)
            own = some if Q is None else np.full(m, -1)
            P, packed = self.copies[np.float64], self.copies.pack(mine, np.float64)
            eta, error = self.copies.errors(packed.lengths[:m], np.float64)
            heap, heap_ids = empty_heaps(m, k, n)
            points = self.points, P.groups, P.norms
            asked = mine, packed.groups, packed.norms, own
            limits = bounds[start : start + CHUNK_ROWS], eta, error, self.copies.factor
            for first, last in self._pieces(P.groups, m):
                kernel.refine(*points, *asked, *limits, first, last, heap, heap_ids, self._team(m))
            kernel.sort_rows(heap, heap_ids, self._team(m))
            r[some], ids[some] = heap, heap_ids
            if advance:
                advance(m)


def with_spares(k, most):
    """Return how many candidates to keep for k neighbours."""
    return min(k + max(4, k // 4), most)


def rounds(n_blocks):
    """Yield each pair of blocks once, in rounds in which no block is met twice."""
    yield np.repeat(np.arange(n_blocks), 2).reshape(-1, 2)
    even = n_blocks + n_blocks % 2
    turn = np.arange(1, even // 2)
    for number in range(even - 1):
        pairs = np.empty((even // 2, 2), dtype=np.intp)
        pairs[0] = number, even - 1
        pairs[1:, 0], pairs[1:, 1] = (number + turn) % (even - 1), (number - turn) % (even - 1)
        yield np.ascontiguousarray(pairs[pairs.max(axis=1) < n_blocks])

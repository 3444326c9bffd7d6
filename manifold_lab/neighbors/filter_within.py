"""All Euclidean neighbours within a radius, where there are many features.

A product marks every pair that the radius does not exclude, one bit each; marked pairs are measured
by direct differences. Of a set with itself each pair is marked and measured once, then mirrored.
Time n^2 d for a set with itself, 2 m n d for m queries, and d a pair found.
"""

import numpy as np

from manifold_lab._kernels import levels
from manifold_lab.checks import check_memory
from manifold_lab.neighbors.pieces import PIECE_WORK, pieces

MARK_BITS = 2**28  # of a table of marks: 32 MB
MARK_ROWS = 4096
_OWNER, _REMEDY = "The neighbour search", "Use a smaller eps, or search fewer rows at a time."


def within(points, copies, Q, eps, unit, team, advance):
    """Return (counts, ids, r): for each row of Q, or point, those with r unit <= eps, sorted."""
    rows, parts, radius = points if Q is None else Q, [], np.float64(eps / unit)
    step = int(np.clip(MARK_BITS // len(points), 32, MARK_ROWS)) // 32 * 32  # whole groups
    for start in range(0, len(rows), step):
        mine = rows[start : start + step]
        m = len(mine)
        after = np.arange(start, start + m) if Q is None else np.full(m, -1)
        marks, lanes = _marks(copies, mine, radius, start if Q is None else 0, team(m))
        parts.append(_measured(points, mine, after, marks, lanes, eps, unit, team(m)))
        advance(m)
    counts, ids, r = (np.concatenate(column) for column in zip(*parts, strict=True))
    del parts
    return _mirrored(counts, ids, r, team(len(rows))) if Q is None else (counts, ids, r)


def _marks(copies, rows, radius, start, n_threads):
    """Return a bit for each pair that may be within, from point ``start`` on, and lanes a word."""
    for dtype in (np.float32, np.float64):
        packed = copies.pack(rows, dtype)
        limits = copies.limits(radius, packed.lengths, dtype)
        with np.errstate(over="ignore"):
            if np.median(limits) < 1.2 * copies.reach(radius) ** 2:  # float32 is sharp enough
                break
    with np.errstate(over="ignore"):
        limits = np.nextafter(limits.astype(dtype), dtype(np.inf))
    P = copies[dtype]
    marks = np.zeros((len(packed.norms), len(P.groups)), dtype=np.uint32)
    fixed = P.groups, P.norms, packed.groups, packed.norms, limits
    skipped = start // P.lanes
    each = len(rows) * P.lanes * rows.shape[1]
    for first, last in pieces(len(P.groups) - skipped, PIECE_WORK // each):
        levels.load("neighbors").mark(
            *fixed, skipped + first, skipped + last, P.block, marks, n_threads
        )
    return marks[: len(rows)], P.lanes


def _measured(points, rows, after, marks, lanes, eps, unit, n_threads):
    """Return (counts, ids, r) of the marked points that are within and come after ``after``."""
    bits = np.bitwise_count(marks).sum(axis=1, dtype=np.intp)
    starts, total = np.cumsum(bits) - bits, max(1, int(bits.sum()))
    check_memory(total * 32, _OWNER, _REMEDY)
    r, ids = np.empty(total), np.empty(total, dtype=np.intp)
    counts = np.empty(len(rows), dtype=np.intp)
    for first, last in pieces(len(rows), 256):
        part = slice(first, last)
        lists = starts[part], r, ids, counts[part]
        levels.load("ranking").gather(
            points, rows[part], after[part], marks[part], lanes, eps, unit, *lists, n_threads
        )
    kept = np.arange(total) < np.repeat(starts + counts, bits) if bits.any() else slice(0)
    return counts, ids[kept], r[kept]


def _mirrored(counts, ids, r, n_threads):
    """Return the lists of all pairs, given each pair in the list of its first point."""
    n, kernel = len(counts), levels.load("ranking")
    check_memory(32 * len(ids), _OWNER, _REMEDY)
    total = counts + np.bincount(ids, minlength=n)
    starts, places = np.cumsum(counts) - counts, np.cumsum(total) - total
    all_r, all_ids, free = np.empty(2 * len(r)), np.empty(2 * len(r), np.intp), places.copy()
    for first, last in pieces(n, 1000):
        part = slice(first, last)
        kernel.mirror(starts[part], counts[part], first, r, ids, free, all_r, all_ids)
    for first, last in pieces(n, 1000):
        part = slice(first, last)
        kernel.sort_lists(places[part], total[part], all_r, all_ids, n_threads)
    return total, all_ids, all_r

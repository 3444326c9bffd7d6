"""Exact neighbours in low dimension by a tree of boxes: docs/neighbors.md (nn.5).

A balanced median split puts the points in leaves of 16 lanes; the 16 rows of a query group walk the
tree together, nearer side first, and leave out what is farther than the worst distance of each.
Time (n + m) log n for fixed d, scratch one stack. Called by neighbors/exact.py.
Bench: rows/neighbors.py.
"""

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange
from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint32_t

import numpy as np

from manifold_lab._kernels.bits cimport lowest, within, within_each
from manifold_lab._kernels.direct cimport SEQUENTIAL, TINY, point, root
from manifold_lab._kernels.topk cimport before, replace_worst, sort_heap, sort_pairs
from manifold_lab._kernels.types cimport index

cdef enum:
    LANES = 16

MAX_FEATURES = SEQUENTIAL - 1  # a leaf adds up the features one after the other, as direct.pxd does

cdef struct Tree:
    const double* points    # (leaves, d, LANES), NaN where there is no point
    const index* ids        # (leaves, LANES)
    const double* low       # (nodes, d): the box of the points below a node
    const double* high
    const index* first      # (nodes,): leaves first:last are below a node
    const index* last
    const index* axis       # (nodes,): which feature splits it, and where
    const double* cut
    index d

cdef struct Lists:
    double* r
    index* ids
    index* starts           # row -> where its list begins
    index* counts           # row -> how many it has; NULL for heaps
    index k                 # entries of a heap
    double eps
    double unit


def build(const point[:, ::1] X not None, int n_threads):
    """Return ``(points, ids, low, high, first, last, axis, cut)``, the arrays of a tree over X."""
    cdef index n = X.shape[0], d = X.shape[1], leaves = (n + LANES - 1) // LANES
    cdef index depth = int(leaves - 1).bit_length(), nodes = (2 << depth) - 1
    cdef index level, node, leaf
    order_, values_ = np.arange(n), np.empty(n)
    cdef index[::1] order = order_
    cdef double[::1] values = values_
    boxes = np.empty((2, nodes, d))
    ranges = np.full((3, nodes), -1, dtype=np.intp)
    cuts = np.zeros(nodes)
    packed = np.empty((leaves, d, LANES))
    ids_ = np.full((leaves, LANES), -1, dtype=np.intp)
    cdef double[:, :, ::1] box = boxes, P = packed
    cdef index[:, ::1] span = ranges, ids = ids_
    cdef double[::1] cut = cuts
    span[0, 0] = 0
    span[1, 0] = leaves
    for level in range(depth + 1):
        PyErr_CheckSignals()  # Ctrl-C: a tree of millions takes longer than one wants to wait
        for node in prange((1 << level) - 1, (2 << level) - 1, nogil=True, schedule="dynamic",
                           num_threads=n_threads):
            split(&X[0, 0], n, d, nodes, node, &order[0], &values[0], &box[0, 0, 0], &span[0, 0],
                  &cut[0])
    for leaf in prange(leaves, nogil=True, schedule="static", num_threads=n_threads):
        pack_leaf(&X[0, 0], n, d, leaf, &order[0], &P[leaf, 0, 0], &ids[leaf, 0])
    return packed, ids_, boxes[0], boxes[1], ranges[0], ranges[1], ranges[2], cuts


cdef void split(const point* X, index n, index d, index nodes, index node, index* order,
                double* values, double* box, index* span, double* cut) noexcept nogil:
    """Find the box of a node and, if it has several leaves, share its points out to two nodes."""
    cdef index first = span[node], last = span[nodes + node], middle, i, f, axis = 0
    cdef double* low = box + node * d
    cdef double* high = box + (nodes + node) * d
    cdef const point* x
    cdef index start = first * LANES, stop = min(last * LANES, n)
    if first < 0:
        return
    for f in range(d):
        low[f] = INFINITY
        high[f] = -INFINITY
    for i in range(start, stop):
        x = X + order[i] * d
        for f in range(d):
            low[f] = min(low[f], <double> x[f])
            high[f] = max(high[f], <double> x[f])
    if last - first == 1:
        return
    for f in range(1, d):
        if high[f] - low[f] > high[axis] - low[axis]:
            axis = f
    for i in range(start, stop):
        values[i] = X[order[i] * d + axis]
    middle = (first + last) // 2
    select(values, order, start, stop - 1, middle * LANES)
    span[2 * nodes + node] = axis
    cut[node] = values[middle * LANES]
    span[2 * node + 1] = first
    span[nodes + 2 * node + 1] = middle
    span[2 * node + 2] = middle
    span[nodes + 2 * node + 2] = last


cdef void select(double* values, index* order, index low, index high, index at) noexcept nogil:
    """Put the entry of rank ``at`` in its place, smaller ones before it and larger ones behind."""
    cdef index i, j, middle
    cdef double pivot
    while low < high:
        middle = low + (high - low) // 2
        if values[middle] < values[low]:
            swap(values, order, middle, low)
        if values[high] < values[low]:
            swap(values, order, high, low)
        if values[high] < values[middle]:
            swap(values, order, high, middle)
        pivot = values[middle]
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                swap(values, order, i, j)
                i += 1
                j -= 1
        if at <= j:
            high = j
        elif at >= i:
            low = i
        else:
            return


cdef inline void swap(double* values, index* order, index i, index j) noexcept nogil:
    values[i], values[j] = values[j], values[i]
    order[i], order[j] = order[j], order[i]


cdef void pack_leaf(const point* X, index n, index d, index leaf, const index* order, double* P,
                    index* ids) noexcept nogil:
    cdef index t, f
    for t in range(LANES):
        for f in range(d):
            P[f * LANES + t] = NAN
        if leaf * LANES + t < n:
            ids[t] = order[leaf * LANES + t]
            for f in range(d):
                P[f * LANES + t] = X[ids[t] * d + f]


def nearest(const point[:, ::1] X not None, tuple tree not None, const point[:, ::1] Q not None,
            const double[:, :, ::1] groups not None, const index[:, ::1] rows not None, bint itself,
            index first, index last, double[:, ::1] r not None, index[:, ::1] ids not None,
            int n_threads):
    """Fill (r, ids) (m, k) for the rows of Q in the query groups first:last.

    groups and rows are the leaves of a tree over Q; they are X's own if ``itself``, and then no
    point is its own neighbour. (r, ids) come as empty heaps and leave as lists, nearest first.
    """
    cdef Tree T = view(tree)
    cdef Lists lists
    cdef index g
    lists.r = &r[0, 0]
    lists.ids = &ids[0, 0]
    lists.k = r.shape[1]
    lists.counts = NULL
    for g in prange(first, last, nogil=True, schedule="dynamic", num_threads=n_threads):
        walk(&X[0, 0], &Q[0, 0], T, &groups[g, 0, 0], &rows[g, 0], g if itself else -1, &lists)


def inside(const point[:, ::1] X not None, tuple tree not None, const point[:, ::1] Q not None,
           const double[:, :, ::1] groups not None, const index[:, ::1] rows not None, bint itself,
           index first, index last, double eps, double unit, index[::1] starts not None,
           index[::1] counts not None, double[::1] r not None, index[::1] ids not None,
           int n_threads):
    """List the points with r unit <= eps; where ids is empty, count them only.

    Row i writes from starts[i] on and adds to counts[i], which come as zeros.
    """
    cdef Tree T = view(tree)
    cdef Lists lists
    cdef index g
    lists.r = &r[0] if ids.shape[0] else NULL
    lists.ids = &ids[0] if ids.shape[0] else NULL
    lists.starts = &starts[0]
    lists.counts = &counts[0]
    lists.k = 0
    lists.eps = eps
    lists.unit = unit
    for g in prange(first, last, nogil=True, schedule="dynamic", num_threads=n_threads):
        walk(&X[0, 0], &Q[0, 0], T, &groups[g, 0, 0], &rows[g, 0], g if itself else -1, &lists)


cdef Tree view(tuple tree):
    cdef Tree T
    cdef const double[:, :, ::1] points = tree[0]
    cdef const index[:, ::1] ids = tree[1]
    cdef const double[:, ::1] low = tree[2], high = tree[3]
    cdef const index[::1] first = tree[4], last = tree[5], axis = tree[6]
    cdef const double[::1] cut = tree[7]
    T.points = &points[0, 0, 0]
    T.ids = &ids[0, 0]
    T.low = &low[0, 0]
    T.high = &high[0, 0]
    T.first = &first[0]
    T.last = &last[0]
    T.axis = &axis[0]
    T.cut = &cut[0]
    T.d = points.shape[1]
    return T


cdef void walk(const point* X, const point* Q, Tree T, const double* group, const index* rows,
               index home, Lists* lists) noexcept nogil:
    """Take one query group through the tree; ``home`` is its own leaf, or -1."""
    cdef double limits[LANES]
    cdef double gaps[LANES]
    cdef double means[SEQUENTIAL]
    cdef index stack[128]
    cdef index depth = 1, node, near, t, f, known = 0
    cdef uint32_t reached
    for t in range(LANES):
        limits[t] = limit_of(lists, rows[t])
        known += rows[t] >= 0
    for f in range(T.d):
        means[f] = 0
        for t in range(known):
            means[f] += group[f * LANES + t] / known
    if home >= 0:  # its own leaf first: most of what it keeps is there
        visit(X, Q, &T, home, group, rows, True, (1 << known) - 1, limits, lists)
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        reached = reaches(T.low + node * T.d, T.high + node * T.d, T.d, group, limits, gaps)
        if not reached:
            continue
        if T.last[node] - T.first[node] == 1:
            if T.first[node] != home:
                visit(X, Q, &T, T.first[node], group, rows, home >= 0, reached, limits, lists)
            continue
        near = 2 * node + 1 if means[T.axis[node]] < T.cut[node] else 2 * node + 2
        stack[depth] = 4 * node + 3 - near
        stack[depth + 1] = near
        depth += 2
    for t in range(known):
        if lists.counts == NULL:
            sort_heap(lists.r + rows[t] * lists.k, lists.ids + rows[t] * lists.k, lists.k)
        elif lists.ids != NULL:
            sort_pairs(lists.r + lists.starts[rows[t]], lists.ids + lists.starts[rows[t]],
                       lists.counts[rows[t]])


cdef inline double limit_of(const Lists* lists, index row) noexcept nogil:
    """The largest q that row can still use, rounded up; all that is tiny is looked at."""
    cdef double worst
    if row < 0:
        return -INFINITY
    worst = lists.r[row * lists.k] if lists.counts == NULL else lists.eps / lists.unit
    return max(worst * worst * (1 + 2.0**-50), TINY)


cdef inline uint32_t reaches(const double* low, const double* high, index d, const double* group,
                             const double* limits, double* gaps) noexcept nogil:
    """Fill gaps with the squared distance of each row to a box; which are within their limits?

    Rounding is monotone and the features are added in the order of q, so that a gap is never
    above the q of a point in the box, but for the last bits where products and sums are fused.
    """
    cdef double below, above
    cdef index f
    cdef int t
    for t in range(LANES):
        gaps[t] = 0
    for f in range(d):
        for t in range(LANES):
            below = low[f] - group[f * LANES + t]
            above = group[f * LANES + t] - high[f]
            below = below if below > above else above
            below = below if below > 0 else 0
            gaps[t] += below * below
    for t in range(LANES):
        gaps[t] *= 1 - 2.0**-46
    return within_each(gaps, limits)


cdef inline void visit(const point* X, const point* Q, const Tree* T, index leaf,
                       const double* group, const index* rows, bint itself, uint32_t reached,
                       double* limits, Lists* lists) noexcept nogil:
    """Offer the points of a leaf to the rows of a query group that it can reach."""
    cdef const double* P = T.points + leaf * T.d * LANES
    cdef const index* ids = T.ids + leaf * LANES
    cdef double q[LANES]
    cdef double x, value
    cdef index f, row, d = T.d
    cdef int s, t
    cdef uint32_t bits
    while reached:
        s = lowest(reached)
        reached &= reached - 1
        row = rows[s]
        for t in range(LANES):
            q[t] = 0
        for f in range(d):
            x = group[f * LANES + s]
            for t in range(LANES):
                value = x - P[f * LANES + t]
                q[t] += value * value
        bits = within(q, limits[s])
        while bits:
            t = lowest(bits)
            bits &= bits - 1
            if q[t] > limits[s] or (itself and ids[t] == row):
                continue
            value = root(q[t], Q + row * d, X + ids[t] * d, d)
            if lists.counts != NULL:
                add(lists, row, value, ids[t])
            elif before(value, ids[t], lists.r[row * lists.k], lists.ids[row * lists.k]):
                replace_worst(lists.r + row * lists.k, lists.ids + row * lists.k, lists.k, value,
                              ids[t])
                limits[s] = limit_of(lists, row)


cdef inline void add(Lists* lists, index row, double value, index i) noexcept nogil:
    cdef index at
    if value * lists.unit <= lists.eps:
        if lists.ids != NULL:
            at = lists.starts[row] + lists.counts[row]
            lists.r[at] = value
            lists.ids[at] = i
        lists.counts[row] += 1

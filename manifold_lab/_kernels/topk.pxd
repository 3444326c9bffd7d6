# The k smallest of many (key, id), in a max-heap by (key, id): a worst entry at the root.
#
# keys[0] is the largest key kept; children of c stand at 2 c + 1 and 2 c + 2, and no child comes
# after its parent in the order "key, then id". An empty heap holds k times (inf, n). An example for
# k = 3 is [(9, 4), (2, 7), (9, 1)]: (9, 2) would replace (9, 4), and (9, 5) comes after it.

from manifold_lab._kernels.types cimport index, real


cdef enum:
    SHORT = 32


cdef inline bint before(real key, index i, real other, index j) noexcept nogil:
    return key < other or (key == other and i < j)


cdef inline void sift_down(real* keys, index* ids, index k, index at, real key,
                           index i) noexcept nogil:
    """Put (key, i) at the free place ``at``, or below it."""
    cdef index child = 2 * at + 1
    while child < k:
        if child + 1 < k and before(keys[child], ids[child], keys[child + 1], ids[child + 1]):
            child += 1
        if not before(key, i, keys[child], ids[child]):
            break
        keys[at] = keys[child]
        ids[at] = ids[child]
        at = child
        child = 2 * at + 1
    keys[at] = key
    ids[at] = i


cdef inline void replace_worst(real* keys, index* ids, index k, real key, index i) noexcept nogil:
    """Put (key, i), which comes before the worst entry, in its place.

    A short heap is kept sorted, worst first: moving entries costs less than unforeseen branches.
    """
    cdef index at = 0
    if k > SHORT:
        sift_down(keys, ids, k, 0, key, i)
        return
    while at + 1 < k and before(key, i, keys[at + 1], ids[at + 1]):
        keys[at] = keys[at + 1]
        ids[at] = ids[at + 1]
        at += 1
    keys[at] = key
    ids[at] = i


cdef inline void sort_heap(real* keys, index* ids, index k) noexcept nogil:
    """Turn a heap into a list, best first."""
    cdef index last = k - 1, i
    cdef real key
    while last > 0:
        key = keys[last]
        i = ids[last]
        keys[last] = keys[0]
        ids[last] = ids[0]
        sift_down(keys, ids, last, 0, key, i)
        last -= 1


cdef inline void sort_pairs(real* keys, index* ids, index k) noexcept nogil:
    """Sort any k entries by (key, id)."""
    cdef index at, place, i
    cdef real key
    if k <= SHORT:
        for at in range(1, k):
            key = keys[at]
            i = ids[at]
            place = at
            while place > 0 and before(key, i, keys[place - 1], ids[place - 1]):
                keys[place] = keys[place - 1]
                ids[place] = ids[place - 1]
                place -= 1
            keys[place] = key
            ids[place] = i
        return
    at = k // 2
    while at > 0:
        at -= 1
        sift_down(keys, ids, k, at, keys[at], ids[at])
    sort_heap(keys, ids, k)

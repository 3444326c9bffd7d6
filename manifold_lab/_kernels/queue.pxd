# Min-heap of vertices with four children a node and decrease-key, and Dijkstra's step: header only.
#
# keys[0:size] and items[0:size] are the heap, place[v] says where vertex v stands in it. The
# children of node a are 4 a + 1 ... 4 a + 4: with keys 1 | 4 2 3 7 | 9 8, popping gives 1, moves
# 8 to the top, then below its smallest child: 2 | 4 8 3 7 | 9. Which of equal keys comes first is
# open: no distance depends on it.

from libc.math cimport INFINITY

from manifold_lab._kernels.types cimport index


cdef inline void put(double* keys, index* items, index* place, index at, double key,
                     index item) noexcept nogil:
    """Put ``item`` at node ``at``, free or its own with a larger key, and let it rise."""
    cdef index parent
    while at > 0:
        parent = (at - 1) >> 2
        if keys[parent] <= key:
            break
        keys[at] = keys[parent]
        items[at] = items[parent]
        place[items[at]] = at
        at = parent
    keys[at] = key
    items[at] = item
    place[item] = at


cdef inline index pop(double* keys, index* items, index* place, index size) noexcept nogil:
    """Return the vertex of least key; the heap of ``size`` vertices has one less afterwards."""
    cdef index top = items[0], last = size - 1, item = items[last], at = 0, child, c, other
    cdef double key = keys[last]
    while 4 * at + 1 < last:
        child = 4 * at + 1
        if child + 3 < last:  # sums, not branches, which nobody could predict
            other = child + 2 + (keys[child + 3] < keys[child + 2])
            child += keys[child + 1] < keys[child]
            child += (other - child) * (keys[other] < keys[child])
        else:
            for c in range(child + 1, last):
                if keys[c] < keys[child]:
                    child = c
        if keys[child] >= key:
            break
        keys[at] = keys[child]
        items[at] = items[child]
        place[items[at]] = at
        at = child
    keys[at] = key
    items[at] = item
    place[item] = at
    return top


cdef inline index begin(double* dist, double* keys, index* items, index* place, index n,
                        index source) noexcept nogil:
    """Start a search: all labels infinite, the source's zero. Return the size of the heap."""
    cdef index v
    for v in range(n):
        dist[v] = INFINITY
    dist[source] = 0
    put(keys, items, place, 0, 0, source)
    return 1


cdef inline index step(const index* indptr, const index* indices, const double* weights,
                       double* dist, double* keys, index* items, index* place, index size,
                       index* settled) noexcept nogil:
    """Settle the nearest vertex and relax its edges. Return the size of the heap.

    A settled vertex needs no mark: no label is ever less than its own, as no weight is below zero.
    """
    cdef index v = pop(keys, items, place, size), u, e
    cdef double far
    settled[0] = v
    size -= 1
    for e in range(indptr[v], indptr[v + 1]):
        u = indices[e]
        far = dist[v] + weights[e]
        if far < dist[u]:
            if dist[u] == INFINITY:
                place[u] = size
                size += 1
            dist[u] = far
            put(keys, items, place, place[u], far, u)
    return size

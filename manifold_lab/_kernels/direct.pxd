# The distance of two rows by direct differences: the only definition of a distance in a search.
#
# q = sum_f (x_f - y_f)^2 in double, one after the other below SEQUENTIAL features and in eight
# interleaved sums above; r = sqrt(q). The order depends on d alone, so that every algorithm, block
# size and thread count gives the same bits. Where q is so small that squares may have been lost,
# the pair is summed again in units of its largest difference (a power of two).

from libc.math cimport fabs, frexp, ldexp, sqrt

from manifold_lab._kernels.types cimport index

cdef enum:
    SEQUENTIAL = 16

cdef extern from *:
    """
    #define MANIFOLD_LAB_TINY 0x1p-900
    """
    const double TINY "MANIFOLD_LAB_TINY"

ctypedef fused point:
    float
    double


cdef inline double squared(const point* x, const point* y, index d) noexcept nogil:
    """q for two rows."""
    cdef double s[8]
    cdef double q = 0, t
    cdef index f
    cdef int lane
    if d < SEQUENTIAL:
        for f in range(d):
            t = <double> x[f] - <double> y[f]
            q += t * t
        return q
    for lane in range(8):
        s[lane] = 0
    for f in range(0, d - 7, 8):
        for lane in range(8):
            t = <double> x[f + lane] - <double> y[f + lane]
            s[lane] += t * t
    for f in range(d - d % 8, d):
        t = <double> x[f] - <double> y[f]
        s[f % 8] += t * t
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))


cdef inline double root(double q, const point* x, const point* y, index d) noexcept nogil:
    """r for two rows whose q is known."""
    cdef double top = 0, t
    cdef index f
    cdef int power
    if q >= TINY:
        return sqrt(q)
    for f in range(d):
        t = fabs(<double> x[f] - <double> y[f])
        if t > top:
            top = t
    if top == 0:
        return 0
    frexp(top, &power)
    q = 0
    for f in range(d):
        t = ldexp(<double> x[f] - <double> y[f], -power)
        q += t * t
    return ldexp(sqrt(q), power)


cdef inline double distance(const point* x, const point* y, index d) noexcept nogil:
    return root(squared(x, y, d), x, y, d)

# Which lanes of a group pass a test, as bits: lane t is bit t. A NaN passes none.
#
# Compilers turn such loops into one test a lane; a compare instruction gives the bits of a whole
# register. GROUP lanes are 32 floats or 16 doubles.

from libc.stdint cimport uint32_t

from manifold_lab._kernels.types cimport real

cdef extern from *:
    """
    #if defined(__AVX512F__)
    #include <immintrin.h>
    #define MANIFOLD_LAB_BITS(name, op, type, vec, load, set1, cmp, width)                        \\
        static inline uint32_t name(const type *q, const type *limits, type limit) {             \\
            vec one = set1(limit);                                                                \\
            uint32_t low = cmp(load(q), limits ? load(limits) : one, op);                         \\
            uint32_t high = cmp(load(q + width), limits ? load(limits + width) : one, op);        \\
            return low | high << width;                                                           \\
        }
    #define MANIFOLD_LAB_BITS4(name, op, plain) MANIFOLD_LAB_BITS(name, op, float, __m512,        \\
        _mm512_loadu_ps, _mm512_set1_ps, _mm512_cmp_ps_mask, 16)
    #define MANIFOLD_LAB_BITS8(name, op, plain) MANIFOLD_LAB_BITS(name, op, double, __m512d,      \\
        _mm512_loadu_pd, _mm512_set1_pd, _mm512_cmp_pd_mask, 8)
    #elif defined(__AVX__)
    #include <immintrin.h>
    #define MANIFOLD_LAB_BITS(name, op, type, vec, load, set1, cmp, movemask, width)              \\
        static inline uint32_t name(const type *q, const type *limits, type limit) {             \\
            vec one = set1(limit);                                                                \\
            uint32_t bits = 0;                                                                    \\
            for (int v = 0; v < 4; v++)                                                           \\
                bits |= (uint32_t) movemask(cmp(load(q + v * width),                              \\
                        limits ? load(limits + v * width) : one, op)) << v * width;               \\
            return bits;                                                                          \\
        }
    #define MANIFOLD_LAB_BITS4(name, op, plain) MANIFOLD_LAB_BITS(name, op, float, __m256,        \\
        _mm256_loadu_ps, _mm256_set1_ps, _mm256_cmp_ps, _mm256_movemask_ps, 8)
    #define MANIFOLD_LAB_BITS8(name, op, plain) MANIFOLD_LAB_BITS(name, op, double, __m256d,      \\
        _mm256_loadu_pd, _mm256_set1_pd, _mm256_cmp_pd, _mm256_movemask_pd, 4)
    #else
    #define MANIFOLD_LAB_BITS(name, plain, type, lanes)                                           \\
        static inline uint32_t name(const type *q, const type *limits, type limit) {             \\
            int some = 0;                                                                         \\
            uint32_t bits = 0;                                                                    \\
            for (int t = 0; t < lanes; t++)                                                       \\
                some |= q[t] plain (limits ? limits[t] : limit);                                  \\
            for (int t = 0; some && t < lanes; t++)                                               \\
                bits |= (uint32_t) (q[t] plain (limits ? limits[t] : limit)) << t;                \\
            return bits;                                                                          \\
        }
    #define MANIFOLD_LAB_BITS4(name, op, plain) MANIFOLD_LAB_BITS(name, plain, float, 32)
    #define MANIFOLD_LAB_BITS8(name, op, plain) MANIFOLD_LAB_BITS(name, plain, double, 16)
    #endif
    MANIFOLD_LAB_BITS4(manifold_lab_below4, _CMP_LT_OQ, <)
    MANIFOLD_LAB_BITS8(manifold_lab_below8, _CMP_LT_OQ, <)
    MANIFOLD_LAB_BITS4(manifold_lab_above4, _CMP_GT_OQ, >)
    MANIFOLD_LAB_BITS8(manifold_lab_above8, _CMP_GT_OQ, >)
    MANIFOLD_LAB_BITS8(manifold_lab_within8, _CMP_LE_OQ, <=)
    #if defined(__GNUC__) || defined(__clang__)
    #define MANIFOLD_LAB_LOWEST(bits) __builtin_ctz(bits)
    #else
    static inline int MANIFOLD_LAB_LOWEST(uint32_t bits) {
        int t = 0;
        while (!(bits >> t & 1)) t++;
        return t;
    }
    #endif
    """
    uint32_t below4 "manifold_lab_below4" (const float*, const float*, float) noexcept nogil
    uint32_t below8 "manifold_lab_below8" (const double*, const double*, double) noexcept nogil
    uint32_t above4 "manifold_lab_above4" (const float*, const float*, float) noexcept nogil
    uint32_t above8 "manifold_lab_above8" (const double*, const double*, double) noexcept nogil
    uint32_t within8 "manifold_lab_within8" (const double*, const double*, double) noexcept nogil
    int lowest "MANIFOLD_LAB_LOWEST" (uint32_t bits) noexcept nogil  # the first lane, bits not 0


cdef inline uint32_t below(const real* q, real limit) noexcept nogil:
    """Lanes with q < limit."""
    if real is float:
        return below4(q, NULL, limit)
    else:
        return below8(q, NULL, limit)


cdef inline uint32_t below_each(const real* q, const real* limits) noexcept nogil:
    """Lanes with q < their own limit."""
    if real is float:
        return below4(q, limits, 0)
    else:
        return below8(q, limits, 0)


cdef inline uint32_t not_above(const real* q, real limit) noexcept nogil:
    """Lanes without q > limit: NaN, where something overflowed, is among them."""
    if real is float:
        return ~above4(q, NULL, limit)
    else:
        return ~above8(q, NULL, limit) & 0xffff


cdef inline uint32_t within(const double* q, double limit) noexcept nogil:
    """Lanes with q <= limit."""
    return within8(q, NULL, limit)


cdef inline uint32_t within_each(const double* q, const double* limits) noexcept nogil:
    """Lanes with q <= their own limit."""
    return within8(q, limits, 0)

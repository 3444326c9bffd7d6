# A row of LANES doubles, relaxed along the edges of one vertex: header only.
#
# Written with the vectors of each instruction set, because compilers unroll the loop over the lanes
# before they could make vectors of it. The plain form at the end says what all of them compute;
# MIN(a, b) is a < b ? a : b in each.

from libc.stdint cimport int32_t

from manifold_lab._kernels.types cimport index

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #if defined(__AVX512F__)
    #include <immintrin.h>
    #define LANES 16
    typedef __m512d vec_t;
    #define LOAD _mm512_loadu_pd
    #define STORE _mm512_storeu_pd
    #define SPREAD _mm512_set1_pd
    #define ADD _mm512_add_pd
    #define MIN _mm512_min_pd
    #define ANY_LESS(a, b) (_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ) != 0)
    #elif defined(__AVX__)
    #include <immintrin.h>
    #define LANES 8
    typedef __m256d vec_t;
    #define LOAD _mm256_loadu_pd
    #define STORE _mm256_storeu_pd
    #define SPREAD _mm256_set1_pd
    #define ADD _mm256_add_pd
    #define MIN _mm256_min_pd
    #define ANY_LESS(a, b) (_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)) != 0)
    #elif defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    #define LANES 8
    typedef __m128d vec_t;
    #define LOAD _mm_loadu_pd
    #define STORE _mm_storeu_pd
    #define SPREAD _mm_set1_pd
    #define ADD _mm_add_pd
    #define MIN _mm_min_pd
    #define ANY_LESS(a, b) (_mm_movemask_pd(_mm_cmplt_pd(a, b)) != 0)
    #elif defined(__aarch64__) && defined(__ARM_NEON)
    #include <arm_neon.h>
    #define LANES 8
    typedef float64x2_t vec_t;
    #define LOAD vld1q_f64
    #define STORE vst1q_f64
    #define SPREAD vdupq_n_f64
    #define ADD vaddq_f64
    #define MIN vminq_f64
    #define ANY_LESS(a, b) (vmaxvq_u32(vreinterpretq_u32_u64(vcltq_f64(a, b))) != 0)
    #else
    #define LANES 8
    typedef double vec_t;
    #define LOAD(p) (*(p))
    #define STORE(p, a) (*(p) = (a))
    #define SPREAD(w) (w)
    #define ADD(a, b) ((a) + (b))
    #define MIN(a, b) ((a) < (b) ? (a) : (b))
    #define ANY_LESS(a, b) ((a) < (b))
    #endif
    #define STEP ((int)(sizeof(vec_t) / sizeof(double)))
    #define VECTORS (LANES / STEP)
    #define WIDTH (2 * LANES)

    static inline int relax(double *own, const double *labels, ptrdiff_t stride,
                            const int32_t *ids, const double *lengths, ptrdiff_t count)
    {
        vec_t best[VECTORS];
        int moved = 0;
        for (int v = 0; v < VECTORS; v++)
            best[v] = LOAD(own + v * STEP);
        for (ptrdiff_t e = 0; e < count; e++) {
            const double *other = labels + (ptrdiff_t)ids[e] * stride;
            const vec_t length = SPREAD(lengths[e]);
            for (int v = 0; v < VECTORS; v++)
                best[v] = MIN(ADD(LOAD(other + v * STEP), length), best[v]);
        }
        for (int v = 0; v < VECTORS; v++) {
            moved |= ANY_LESS(best[v], LOAD(own + v * STEP));
            STORE(own + v * STEP, best[v]);
        }
        return moved;
    }

    static inline void min_plus(double *own, const double *labels, ptrdiff_t stride,
                                const double *lengths, ptrdiff_t count)
    {
        vec_t best[2 * VECTORS];
        for (int v = 0; v < 2 * VECTORS; v++)
            best[v] = LOAD(own + v * STEP);
        for (ptrdiff_t e = 0; e < count; e++, labels += stride) {
            const vec_t length = SPREAD(lengths[e]);
            for (int v = 0; v < 2 * VECTORS; v++)
                best[v] = MIN(ADD(LOAD(labels + v * STEP), length), best[v]);
        }
        for (int v = 0; v < 2 * VECTORS; v++)
            STORE(own + v * STEP, best[v]);
    }
    """
    const int LANES
    const int WIDTH
    # own[l] = min(own[l], labels[ids[e] * stride + l] + lengths[e] for e < count), for all
    # l < LANES; true if some lane is less than before
    int relax(double* own, const double* labels, index stride, const int32_t* ids,
              const double* lengths, index count) noexcept nogil
    # own[l] = min(own[l], labels[e * stride + l] + lengths[e] for e < count), l < WIDTH
    void min_plus(double* own, const double* labels, index stride, const double* lengths,
                  index count) noexcept nogil

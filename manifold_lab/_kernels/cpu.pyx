"""What this CPU can run: one question, asked once at import by levels.py."""

cdef extern from *:
    """
    #if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12
    static int manifold_lab_cpu_level(void) {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("x86-64-v4")) return 4;
        return __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
    }
    #elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    static int manifold_lab_cpu_level(void) {  /* older compilers know only the single features */
        __builtin_cpu_init();
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
              && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
            return 1;
        if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
              && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
              && __builtin_cpu_supports("avx512vl")))
            return 3;
        return 4;
    }
    #else
    static int manifold_lab_cpu_level(void) { return 1; }
    #endif
    #ifdef _OPENMP
    #define MANIFOLD_LAB_OPENMP 1
    #else
    #define MANIFOLD_LAB_OPENMP 0
    #endif
    """
    int manifold_lab_cpu_level()
    int MANIFOLD_LAB_OPENMP


def level():
    """Return the x86-64 level of this CPU: 1 (baseline, or not x86-64), 3 or 4."""
    return manifold_lab_cpu_level()


def has_openmp():
    """Return True if the kernels were built with OpenMP."""
    return bool(MANIFOLD_LAB_OPENMP)

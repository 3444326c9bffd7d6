# The only typedefs of the kernels.

ctypedef int blas_int          # what scipy's BLAS and LAPACK take
ctypedef Py_ssize_t index      # numpy.intp

ctypedef fused real:
    float
    double

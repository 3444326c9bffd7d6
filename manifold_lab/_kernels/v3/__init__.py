"""The same kernels built for x86-64-v3; see :mod:`manifold_lab._kernels.levels`."""

"""The same kernels built for x86-64-v4; see :mod:`manifold_lab._kernels.levels`."""

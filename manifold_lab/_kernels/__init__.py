"""Compiled loops, private. A kernel is loaded through :mod:`manifold_lab._kernels.levels`."""

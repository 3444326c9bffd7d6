"""Classes that asv runs: plain ones, with no asv import, so that a test can run them too.

Kernels stand beside a rival, methods are those of the registry, data is seeded and made in
``setup``. ``MANIFOLD_LAB_BENCH`` is small (what the test uses), medium or large.
"""

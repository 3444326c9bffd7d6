"""Each kernel beside a rival at the same parameters: it stays while it is 1.5 times as fast.

``check`` asserts that both compute the same thing; the test calls it.
"""

import numpy as np
from benchmarks.common import by_size, noise

from manifold_lab.linalg.moments import moments_of


class Scatter:
    """Finite check, mean and centred scatter of rows."""

    param_names = ("n", "d", "dtype")
    params = (
        by_size([300], [10_000, 100_000]),
        by_size([7], [10, 100, 400]),
        ["float64", "float32"],
    )

    def setup(self, n, d, dtype):
        self.X = noise(n, d, dtype)

    def time_ours(self, n, d, dtype):
        return moments_of(self.X, "Scatter")

    def time_numpy(self, n, d, dtype):
        """Passes over the data, with sums in float64 as ours has them."""
        if not np.isfinite(self.X).all():
            raise ValueError("X is not finite")
        mean = self.X.mean(axis=0, dtype=np.float64)
        Y = self.X - mean
        return mean, Y.T @ Y

    def check(self, n, d, dtype):
        ours = self.time_ours(n, d, dtype)
        mean, scatter = self.time_numpy(n, d, dtype)
        np.testing.assert_allclose(ours.frame.mean(ours.mean), mean, rtol=0, atol=1e-12)
        unscaled = np.ldexp(ours.scatter, -2 * ours.frame.exponent)
        np.testing.assert_allclose(unscaled, scatter, rtol=0, atol=1e-12 * scatter.max())

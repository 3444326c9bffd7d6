"""Each kernel beside a rival at the same parameters: it stays while it is 1.5 times as fast.

``check`` asserts that both compute the same thing; the test calls it.
"""

import numpy as np
import scipy.linalg
from benchmarks.common import by_size, noise

from manifold_lab.linalg.moments import moments_of
from manifold_lab.linalg.spectral import descending_eigh


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


class Tridiagonal:
    """Eigenpairs of a small symmetric matrix, right after a kernel that used several threads."""

    param_names = ("n",)
    params = (by_size([20], [50, 100, 150]),)

    def setup(self, n):
        self.X = noise(100 * n, n, "float64")
        self.A = moments_of(self.X, "Tridiagonal").scatter

    def time_ours(self, n):
        moments_of(self.X, "Tridiagonal")
        return descending_eigh(self.A, n // 4)

    def time_scipy(self, n):
        moments_of(self.X, "Tridiagonal")
        return scipy.linalg.eigh(self.A, subset_by_index=(n - n // 4, n - 1))

    def check(self, n):
        np.testing.assert_allclose(
            self.time_ours(n)[0], self.time_scipy(n)[0][::-1], rtol=0, atol=1e-12 * self.A.max()
        )

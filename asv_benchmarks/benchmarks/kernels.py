"""Each kernel beside a rival at the same parameters: it stays while it is 1.5 times as fast.

``check`` asserts that both compute the same thing; the test calls it.
"""

import numpy as np
import scipy.linalg
from benchmarks.common import by_size, complete_graph, noise, roll_graph
from scipy import sparse
from scipy.sparse import csgraph

from manifold_lab.graph.components import tree_edges
from manifold_lab.graph.geodesic import shortest_paths
from manifold_lab.graph.shortcuts import csr_of, detours
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


class Dijkstra:
    """Shortest paths from a few vertices of a neighbour graph."""

    param_names = ("n", "sources")
    params = (by_size([300], [5_000, 100_000]), by_size([2], [2, 20]))
    method = "dijkstra"

    def setup(self, n, sources):
        self.A, self.sources = roll_graph(n), np.random.default_rng(0).permutation(n)[:sources]

    def time_ours(self, *parameters):
        A = self.A
        return shortest_paths(A.indptr, A.indices, A.data, sources=self.sources, method=self.method)

    def time_scipy(self, *parameters):
        return csgraph.dijkstra(self.A, indices=self.sources)

    def check(self, *parameters):
        ours, scipys = self.time_ours(*parameters), self.time_scipy(*parameters)
        np.testing.assert_allclose(ours, scipys, rtol=1e-12, atol=0)


class Sweep(Dijkstra):
    """Shortest paths from many vertices of a neighbour graph, or all."""

    param_names = ("n", "share")
    params = (by_size([300], [2_000, 5_000]), [0.3, 1.0])

    def setup(self, n, share):
        self.A = roll_graph(n)
        self.sources = np.random.default_rng(0).permutation(n)[: int(share * n)]


class Floyd(Dijkstra):
    """Shortest paths between all vertices of a complete graph."""

    param_names = ("n",)
    params = (by_size([150], [300, 1_000]),)
    method = "floyd"

    def setup(self, n):
        self.A, self.sources = complete_graph(n), np.arange(n)

    def time_scipy(self, n):
        return csgraph.floyd_warshall(self.A)


class Forest:
    """Minimum spanning forest of a neighbour graph."""

    param_names = ("n",)
    params = (by_size([300], [5_000, 100_000]),)

    def setup(self, n):
        self.A = roll_graph(n)
        once = sparse.triu(self.A).tocoo()
        self.ends, self.lengths = (once.row, once.col), once.data

    def time_ours(self, n):
        tree = tree_edges(n, *self.ends, np.argsort(self.lengths, kind="stable"))
        return self.lengths[tree].sum()

    def time_scipy(self, n):
        return csgraph.minimum_spanning_tree(self.A).sum()

    def check(self, n):
        np.testing.assert_allclose(self.time_ours(n), self.time_scipy(n), rtol=1e-12)


class Detours:
    """Distances of the edges of a neighbour graph in half of it, up to a limit."""

    param_names = ("n",)
    params = (by_size([300], [2_000, 5_000]),)

    def setup(self, n):
        once = sparse.triu(roll_graph(n)).tocoo()
        self.u, self.v, self.lengths = once.row, once.col, once.data
        kept = np.random.default_rng(0).random(self.u.size) < 0.5
        self.H = csr_of(n, self.u[kept], self.v[kept], self.lengths[kept])

    def time_ours(self, n):
        return detours(self.H, self.u, self.v, 4 * self.lengths)

    def time_scipy(self, n):
        indptr, indices, lengths = self.H
        H = sparse.csr_array((lengths, indices, indptr), shape=(n, n))
        return csgraph.dijkstra(H, limit=4 * self.lengths.max())[self.u, self.v]

    def check(self, n):
        ours, scipys = self.time_ours(n), self.time_scipy(n)
        near = scipys <= 4 * self.lengths
        np.testing.assert_allclose(ours[near], scipys[near], rtol=1e-12)
        assert (ours[~near] > 4 * self.lengths[~near]).all()


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

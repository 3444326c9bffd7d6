"""Neighbour graphs: building, diagnosing and connecting them, and paths on them."""

import numpy as np
from benchmarks.common import by_size

from manifold_lab.datasets import swiss_roll
from manifold_lab.graph import neighbor_graph


class Roll:
    """The graph of ten neighbours of a Swiss roll."""

    param_names = ("n",)
    params = (by_size([300], [2_000, 10_000]),)

    def setup(self, n):
        self.X, _ = swiss_roll(n_samples=n, random_state=0)
        self.graph = neighbor_graph(self.X, k=10)

    def time_build(self, n):
        return neighbor_graph(self.X, k=10)

    def time_components(self, n):
        return self.graph.components()

    def time_diagnose(self, n):
        return self.graph.diagnose()

    def time_paths_from_50(self, n):
        return self.graph.shortest_paths(sources=np.arange(50))


class Clusters:
    """Bridges between the components of twenty separate clusters."""

    param_names = ("n",)
    params = (by_size([400], [2_000, 10_000]),)

    def setup(self, n):
        rng = np.random.default_rng(0)
        centres = 100 * rng.standard_normal((20, 3))
        self.graph = neighbor_graph(rng.standard_normal((n, 3)) + centres[np.arange(n) % 20], k=10)

    def time_connect(self, n):
        return self.graph.connect()

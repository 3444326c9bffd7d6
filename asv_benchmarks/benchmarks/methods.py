"""Methods: what fits cost in time and memory, and whether the embedding is still good."""

import numpy as np
from benchmarks.common import by_size, noise

import manifold_lab
from manifold_lab.methods import BUILTINS


class Every:
    """Every built-in method with its defaults on a Swiss roll: speed must not cost quality."""

    param_names = ("method",)
    params = (sorted(BUILTINS),)
    n_samples = by_size(100, 1000, 5000)

    def setup(self, method):
        self.X, true = manifold_lab.datasets.swiss_roll(n_samples=self.n_samples)
        along = true[:, 0]
        self.y = np.digitize(along, np.quantile(along, [0.25, 0.5, 0.75]))
        self.reducer = manifold_lab.get(method)(n_components=2)

    def time_fit_transform(self, method):
        return self.reducer.fit_transform(self.X, self.y)

    def peakmem_fit_transform(self, method):
        return self.reducer.fit_transform(self.X, self.y)

    def track_trustworthiness(self, method):
        Z = self.reducer.fit_transform(self.X, self.y)
        return manifold_lab.quality.trustworthiness(self.X, Z)

    track_trustworthiness.unit = "trustworthiness"


class PCA:
    """Time of a fit: many rows of few columns, and few rows of many."""

    param_names = ("n, d, n_components", "dtype")
    params = (
        by_size([(400, 10, 3), (30, 50, 3)], [(100_000, 100, 10), (5_000, 2_000, 20)]),
        ["float64", "float32"],
    )

    def setup(self, shape, dtype):
        n, d, n_components = shape
        self.X = noise(n, d, dtype)
        self.pca = manifold_lab.get("pca")(n_components=n_components)

    def time_fit(self, shape, dtype):
        return self.pca.fit(self.X)


class PCAMemory:
    """Memory of a fit: the peak of the process, and how much of it is not the data."""

    param_names = ("n, d",)
    params = (by_size([(2_000, 50)], [(100_000, 50)], [(1_000_000, 50)]),)
    timeout = 600

    def setup(self, shape):
        self.X = noise(*shape)
        self.pca = manifold_lab.get("pca")(n_components=10)
        self.pca.fit(self.X[:100])  # so that modules and threads are there already

    def peakmem_fit(self, shape):
        return self.pca.fit(self.X)

    def track_extra_memory(self, shape):
        before = _peak_memory()
        self.pca.fit(self.X)
        return _peak_memory() - before

    track_extra_memory.unit = "bytes"


def _peak_memory():
    """Return the largest memory this process has held, in bytes; NaN where it is not told."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

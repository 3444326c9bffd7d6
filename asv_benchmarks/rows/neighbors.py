"""The kNN graph of a set with itself: few features, where a tree wins, to many, where none does."""

import functools
from typing import NamedTuple

import numpy as np

from asv_benchmarks.benchmarks.common import noise
from asv_benchmarks.rows import Peer, Row
from manifold_lab.neighbors.exact import knn

K = 10
_SAMPLE = 200  # rows that are held against the reference


class Data(NamedTuple):
    X: np.ndarray
    rows: np.ndarray  # which rows the reference has
    distances: np.ndarray  # (rows, K), in float64 by direct differences


def _setup(n, d, dtype, quick):
    X = noise(300 if quick else n, d, dtype)
    rows = np.arange(0, len(X), max(1, len(X) // _SAMPLE))
    distances = np.empty((len(rows), K))
    for at, i in enumerate(rows):
        r = np.sqrt(((X.astype(np.float64) - X[i]) ** 2).sum(axis=1))
        distances[at] = np.sort(np.delete(r, i))[:K]
    return Data(X, rows, distances)


def agree(data, result, exact):
    """Hold the distances of the neighbours found, recomputed in float64, against the nearest."""
    _, indices = result
    found = np.asarray(indices)[data.rows]
    if found.shape[1] > K:  # a peer that lists each row itself
        found = np.array(
            [[j for j in row if j != i][:K] for i, row in zip(data.rows, found, strict=True)]
        )
    X = data.X.astype(np.float64)
    r = np.sqrt(((X[found] - X[data.rows][:, None, :]) ** 2).sum(axis=2))
    if (found == data.rows[:, None]).any():
        return "a row is its own neighbour"
    # float32 search may swap neighbours that are equally far to seven digits
    bound = 1e-12 if exact and data.X.dtype == np.float64 else 1e-5
    error = np.abs(np.sort(r, axis=1) / data.distances - 1).max()
    return "" if error <= bound else f"distances off by {error:.1e}, allowed {bound:.0e}"


def ours(data):
    return knn(data.X, k=K)


def _pykdtree(data):
    from pykdtree.kdtree import KDTree

    return KDTree(data.X).query(data.X, k=K + 1)


def _scipy(data):
    from scipy.spatial import cKDTree

    return cKDTree(data.X).query(data.X, k=K + 1, workers=-1)


def _sklearn(data, algorithm):
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=-1).fit(data.X).kneighbors()


def _sklearnex(data):
    from sklearnex.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm="brute").fit(data.X).kneighbors()


def _faiss(data):
    import faiss

    index = faiss.IndexFlatL2(data.X.shape[1])
    index.add(data.X)
    return index.search(data.X, K + 1)


_LOW = {
    "pykdtree": Peer(_pykdtree, "pykdtree", "pykdtree"),
    "scipy": Peer(_scipy, "scipy", "scipy.spatial"),
    "scikit-learn": Peer(functools.partial(_sklearn, algorithm="kd_tree")),
}
_HIGH = {
    "scikit-learn": Peer(functools.partial(_sklearn, algorithm="brute")),
    "scikit-learn-intelex": Peer(_sklearnex, "scikit-learn-intelex", "sklearnex.neighbors"),
}
_HIGH_SINGLE = _HIGH | {"faiss": Peer(_faiss, "faiss-cpu", "faiss", exact=False)}


def _row(d, dtype, goal, peers, n=20_000):
    name = f"kNN graph, n={n:,} d={d} k={K}, {'f32' if dtype == 'float32' else 'f64'}"
    return Row(name, goal, functools.partial(_setup, n, d, dtype), ours, peers, agree)


ROWS = (
    _row(3, "float64", 1, _LOW),
    _row(10, "float64", 1.4, _HIGH),
    _row(10, "float32", 1.7, _HIGH_SINGLE),
    _row(50, "float64", 2, _HIGH),
    _row(50, "float32", 2.5, _HIGH_SINGLE),
    _row(784, "float64", 2.8, _HIGH),
    _row(784, "float32", 2.8, _HIGH_SINGLE),
)

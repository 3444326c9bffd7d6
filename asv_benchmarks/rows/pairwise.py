"""All distances among 5,000 samples of 50 columns, by direct differences."""

import functools
from typing import NamedTuple

import numpy as np

from asv_benchmarks.benchmarks.common import noise
from asv_benchmarks.rows import Peer, Row
from manifold_lab.metrics import pairwise


class Data(NamedTuple):
    X: np.ndarray
    first: np.ndarray  # the first row of distances, in long double


def _setup(dtype, quick):
    X = noise(300 if quick else 5_000, 50, dtype)
    apart = X.astype(np.longdouble) - X[0]
    return Data(X, np.sqrt((apart * apart).sum(axis=1)).astype(np.float64))


def agree(data, D, exact):
    """Hold the first row of distances against that in long double."""
    bound = 1e-13 if exact and data.X.dtype == np.float64 else 1e-6
    error = np.abs(np.asarray(D)[0, 1:] / data.first[1:] - 1).max()
    return "" if error <= bound else f"distances off by {error:.1e}, allowed {bound:.0e}"


def ours(data):
    return pairwise(data.X)


def _scipy(data):
    from scipy.spatial.distance import cdist

    return cdist(data.X, data.X)


def _sklearn(data):
    from sklearn.metrics import pairwise_distances

    return pairwise_distances(data.X)


_PEERS = {
    "scipy": Peer(_scipy, "scipy", "scipy.spatial"),
    "scikit-learn": Peer(_sklearn, exact=False),
}

ROWS = tuple(
    Row(
        name=f"all distances, n=5,000 d=50, {label}",
        goal=1.5,
        setup=functools.partial(_setup, dtype),
        ours=ours,
        peers=_PEERS,
        agree=agree,
    )
    for label, dtype in (("f64", "float64"), ("f32", "float32"))
)

"""kNN classification: 20,000 samples of 16 columns predict as many new ones by 5 neighbours."""

import functools
from typing import NamedTuple

import numpy as np

import manifold_lab
from asv_benchmarks.rows import Peer, Row

_K = 5
_CHECKED = 500  # rows whose votes are counted from all distances


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    Q: np.ndarray
    proba: np.ndarray  # of the first rows of Q


def _setup(dtype, quick):
    n, rng = 400 if quick else 20_000, np.random.default_rng(0)
    y = rng.integers(0, 10, size=n)
    centres = rng.normal(size=(10, 16))
    X = (centres[y] + rng.normal(size=(n, 16))).astype(dtype)
    Q = (centres[rng.integers(0, 10, size=n)] + rng.normal(size=(n, 16))).astype(dtype)
    proba = np.zeros((min(_CHECKED, n), 10))
    for i, q in enumerate(Q[:_CHECKED].astype(np.float64)):
        nearest = np.argsort(((X - q) ** 2).sum(axis=1), kind="stable")[:_K]
        proba[i] = np.bincount(y[nearest], minlength=10) / _K
    return Data(X, y, Q, proba)


def agree(data, proba, exact):
    """Hold the shares of the votes against those counted from all distances."""
    wrong = np.abs(proba[: len(data.proba)] - data.proba).max(axis=1) > 1e-6
    return f"votes of {wrong.mean():.1%} of the rows differ" if wrong.any() else ""


def ours(data):
    return manifold_lab.KNNClassifier(k=_K).fit(data.X, data.y).predict_proba(data.Q)


def _sklearn(data, algorithm="auto"):
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(_K, algorithm=algorithm, n_jobs=-1)
    return model.fit(data.X, data.y).predict_proba(data.Q)


def _sklearnex(data):
    from sklearnex.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(_K).fit(data.X, data.y).predict_proba(data.Q)


_PEERS = {
    "scikit-learn": Peer(_sklearn),
    "scikit-learn brute": Peer(functools.partial(_sklearn, algorithm="brute")),
    "scikit-learn-intelex": Peer(
        _sklearnex, distribution="scikit-learn-intelex", module="sklearnex.neighbors"
    ),
}


ROWS = tuple(
    Row(
        name=f"kNN classifier 20,000 x 16, k=5, {label}",
        goal=2,
        setup=functools.partial(_setup, dtype),
        ours=ours,
        peers=_PEERS,
        agree=agree,
    )
    for label, dtype in (("f64", "float64"), ("f32", "float32"))
)

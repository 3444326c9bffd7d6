"""PCA: many rows of few columns, and few rows of many, with a flat and a decaying spectrum."""

import functools
from typing import NamedTuple

import numpy as np
import scipy.linalg

import manifold_lab
from asv_benchmarks.benchmarks.common import decaying, noise
from asv_benchmarks.rows import Peer, Row

# largest relative error of a variance, and largest 1 - |cosine| of an axis
_BOUNDS = {"float64": (1e-6, 1e-6), "float32": (1e-4, 1e-3)}
_LOOSE = 0.1  # share of a variance that an approximate solver may miss


class Data(NamedTuple):
    X: np.ndarray
    n_components: int
    variances: np.ndarray  # of the reference, largest first
    axes: np.ndarray  # of the reference, as rows


def _setup(make, shape, small, dtype, quick):
    n, d, m = small if quick else shape
    X = make(n, d, dtype)
    Y = X - X.mean(axis=0, dtype=np.float64)
    values, vectors = scipy.linalg.eigh(Y.T @ Y / (n - 1), subset_by_index=(d - m, d - 1))
    return Data(X, m, values[::-1], vectors[:, ::-1].T)


def agree(data, model, exact):
    """Hold the variances, and the axes up to sign, against LAPACK's in float64."""
    bound, axis_bound = _BOUNDS[str(data.X.dtype)]
    error = model.explained_variance_ / data.variances - 1
    if not exact:  # what it finds is a lower bound of the truth, so it can only miss some
        if not (error <= bound).all() or not (error >= -_LOOSE).all():
            return f"variances off by {np.abs(error).max():.1e}, allowed {_LOOSE:.0e} below"
        return ""
    if not (np.abs(error) <= bound).all():
        return f"variances off by {np.abs(error).max():.1e}, allowed {bound:.0e}"
    turned = 1 - np.abs(np.sum(model.components_ * data.axes, axis=1))
    if not (turned <= axis_bound).all():
        return f"1 - |cosine| of an axis is {turned.max():.1e}, allowed {axis_bound:.0e}"
    return ""


def ours(data):
    return manifold_lab.get("pca")(n_components=data.n_components).fit(data.X)


def _sklearn(data, solver="auto"):
    from sklearn.decomposition import PCA

    return PCA(data.n_components, svd_solver=solver, random_state=0).fit(data.X)


def _sklearnex(data):
    from sklearnex.decomposition import PCA

    return PCA(data.n_components, random_state=0).fit(data.X)


_INTELEX = {"distribution": "scikit-learn-intelex", "module": "sklearnex.decomposition"}
_TALL_PEERS = {
    "scikit-learn": Peer(_sklearn),
    "scikit-learn-intelex": Peer(_sklearnex, **_INTELEX),
}
_WIDE_PEERS = {  # by default scikit-learn's are randomized here
    "scikit-learn": Peer(_sklearn, exact=False),
    "scikit-learn exact": Peer(functools.partial(_sklearn, solver="covariance_eigh")),
    "scikit-learn-intelex": Peer(_sklearnex, exact=False, **_INTELEX),
}


def _row(what, make, dtype, peers, *, goal, shape, small):
    name = f"PCA {shape[0]:,} x {shape[1]:,}, {shape[2]} axes, {what}"
    setup = functools.partial(_setup, make, shape, small, dtype)
    return Row(name, goal, setup, ours, peers, agree)


_tall = functools.partial(_row, goal=1, shape=(100_000, 100, 10), small=(400, 10, 3))
_wide = functools.partial(_row, goal=1.5, shape=(5_000, 2_000, 20), small=(60, 80, 4))

ROWS = (
    _tall("f64", noise, "float64", _TALL_PEERS),
    _tall("f32", noise, "float32", _TALL_PEERS),
    _wide("flat", noise, "float64", _WIDE_PEERS),
    _wide("decaying", decaying, "float64", _WIDE_PEERS),
)

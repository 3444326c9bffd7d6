"""Blocks of distances against NumPy, at every level that the CPU runs."""

import importlib
import importlib.util

import numpy as np
import oracles
import pytest

from manifold_lab._kernels import levels
from manifold_lab.metrics import blocks


def built():
    home = "manifold_lab._kernels"
    names = [f"{home}.distances"] + [f"{home}.{level}.distances" for level in levels.runnable()[1:]]
    return [name for name in names if importlib.util.find_spec(name)]


@pytest.fixture(params=built(), autouse=True)
def kernel(request, monkeypatch):
    module = importlib.import_module(request.param)
    monkeypatch.setattr(blocks.levels, "load", lambda name: module)
    monkeypatch.setattr(blocks, "LITTLE_WORK", 0)


ORACLE = {
    "squares": lambda T: (T * T).sum(axis=2),
    "euclidean": lambda T: np.sqrt((T * T).sum(axis=2)),
    "manhattan": lambda T: np.abs(T).sum(axis=2),
    "chebyshev": lambda T: np.abs(T).max(axis=2),
}
kinds = pytest.mark.parametrize("kind", ORACLE)


@kinds
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 17), (16, 16), (65, 30), (130, 70)])
@pytest.mark.parametrize("d", [1, 7, 40])
def test_two_sets(rng, kind, n, m, d):
    A, B = 1e8 + rng.standard_normal((n, d)), 1e8 + rng.standard_normal((m, d))
    true = ORACLE[kind](A[:, None].astype(np.longdouble) - B[None])
    np.testing.assert_allclose(blocks.distances(kind, A, B), true.astype(float), rtol=1e-14)


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 15, 16, 64, 65, 200])
def test_a_set_with_itself(rng, monkeypatch, kind, dtype, n):
    A = rng.standard_normal((n, 9)).astype(dtype)
    D = blocks.distances(kind, A, dtype=dtype, n_jobs=2)
    assert D.dtype == dtype
    assert (D == D.T).all()
    assert not np.diag(D).any()
    true = ORACLE[kind](A[:, None].astype(np.longdouble) - A[None])
    np.testing.assert_allclose(D, true.astype(dtype), rtol=3 * np.finfo(dtype).eps)
    assert (blocks.distances(kind, A, A, dtype=dtype) == D).all()
    assert (blocks.distances(kind, A, dtype=dtype, n_jobs=1) == D).all()
    monkeypatch.setattr(blocks, "_PIECE", 1)
    assert (blocks.distances(kind, A, dtype=dtype, n_jobs=2) == D).all()


def test_factor_and_read_only_fortran_rows(rng):
    A = np.asfortranarray(rng.standard_normal((40, 5)))
    A.setflags(write=False)
    D = blocks.distances("euclidean", A, factor=0.25)
    np.testing.assert_allclose(D, oracles.distances(A).astype(float) / 4, rtol=1e-14)

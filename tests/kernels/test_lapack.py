"""The by-value LAPACK facade against NumPy, with rows longer than the matrix too."""

import numpy as np
import oracles
import pytest

from manifold_lab._kernels import lapack

SIZES = [1, 2, 7, 33]
BOTH = pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-4), (np.float64, 1e-12)])
EXTRA = pytest.mark.parametrize("extra", [0, 1, 5])  # leading dimension beyond n


def spd(rng, n, dtype, extra=0):
    """A well-conditioned SPD matrix whose rows are ``extra`` entries apart."""
    A = rng.standard_normal((n, n + 3))
    wide = np.full((n, n + extra), np.nan, dtype)
    wide[:, :n] = A @ A.T / n + np.eye(n)
    return wide[:, :n]


@BOTH
@EXTRA
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("d", [1, 2, 7, 33])
def test_gram_rows(rng, n, d, extra, dtype, tol):
    A = rng.standard_normal((n, d)).astype(dtype)
    A.setflags(write=False)
    G = lapack.gram_rows_of(A, n + extra)
    assert G.dtype == dtype
    lower = np.tril(np.ones(G.shape, bool))
    lower[:, n:] = False
    true = oracles.gram_rows(A)
    assert np.abs(G[lower] - true[lower[:, :n]]).max() <= tol * np.abs(true).max()
    assert np.isnan(G[~lower]).all(), "only the lower triangle is written"


@BOTH
@EXTRA
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("m", [1, 4])
def test_solve_spd(rng, n, m, extra, dtype, tol):
    G, B = spd(rng, n, dtype, extra), rng.standard_normal((m, n)).astype(dtype)
    asked = B.copy()
    x, info = lapack.solve_spd_of(G, B)
    assert info == 0
    assert x.dtype == dtype
    true = oracles.solve_rows(G, B)
    assert np.abs(x - true).max() <= tol * np.abs(true).max()
    assert (asked == B).all()


@BOTH
def test_solve_spd_reads_the_lower_triangle_only(rng, dtype, tol):
    G, B = spd(rng, 7, dtype), rng.standard_normal((2, 7)).astype(dtype)
    true = oracles.solve_rows(G, B)
    G[np.triu_indices(7, 1)] = np.nan
    x, info = lapack.solve_spd_of(G, B)
    assert info == 0
    assert np.abs(x - true).max() <= tol * np.abs(true).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_info_is_the_first_minor_that_is_not_positive(dtype, n):
    for bad in {1, (n + 1) // 2, n}:
        G = np.eye(n, dtype=dtype)
        G[bad - 1, bad - 1] = -1
        assert lapack.solve_spd_of(G, np.ones((1, n), dtype))[1] == bad


def test_a_singular_matrix_is_not_solved_in_silence():
    assert lapack.solve_spd_of(np.ones((3, 3)), np.ones((1, 3)))[1] == 2


def test_nan_does_not_vanish():
    # reference LAPACK says so in info, OpenBLAS goes on: then it is in the answer
    x, info = lapack.solve_spd_of(np.full((2, 2), np.nan), np.ones((1, 2)))
    assert info != 0 or np.isnan(x).all()

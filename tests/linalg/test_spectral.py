"""Eigenpairs: against LAPACK, on spectra that are flat, steep, degenerate and null."""

import numpy as np
import pytest

from manifold_lab.linalg import spectral
from manifold_lab.linalg.spectral import descending_eigh, fix_signs, krylov, top_eigenpairs


def symmetric(rng, values):
    Q = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (Q * values) @ Q.T


SPECTRA = {
    "steep": lambda n: 0.5 ** np.arange(n),
    "power": lambda n: 1.0 / np.arange(1, n + 1),
    "flat": lambda n: np.linspace(1, 2, n),
    "low rank": lambda n: np.r_[5.0, 4, 3, np.zeros(n - 3)],
    "repeated": lambda n: np.r_[np.full(12, 3.0), np.full(n - 12, 1.0)],
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("count", [1, 5, 20])
def test_top_eigenpairs_of_a_large_matrix(rng, name, count):
    A = symmetric(rng, SPECTRA[name](400))
    values, vectors = top_eigenpairs(A, count, rng)[:2]
    np.testing.assert_allclose(values, np.sort(SPECTRA[name](400))[::-1][:count], atol=1e-12)
    assert np.abs(A @ vectors - vectors * values).max() < 1e-11
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 9, 60])
def test_small_matrices_go_to_lapack_and_krylov_fills_the_space(rng, n):
    A = symmetric(rng, np.arange(1.0, n + 1))
    for values, vectors in (top_eigenpairs(A, n, rng)[:2], krylov(lambda V: A @ V, n, n, rng)[:2]):
        np.testing.assert_allclose(values, np.arange(n, 0.0, -1), atol=1e-11)
        np.testing.assert_allclose(np.abs(A @ vectors - vectors * values), 0, atol=1e-10)


def test_krylov_reports_a_true_residual_when_it_stops_early(rng):
    A = symmetric(rng, SPECTRA["flat"](400))
    values, vectors, residual = krylov(lambda V: A @ V, 400, 5, rng, max_basis=32)
    true = np.linalg.norm(A @ vectors - vectors * values, axis=0).max() / values[0]
    assert residual > spectral.TOLERANCE
    np.testing.assert_allclose(residual, true, rtol=1e-6)


def test_krylov_of_the_null_operator_is_zero_not_nan(rng):
    values, vectors, residual = krylov(lambda V: 0 * V, 300, 4, rng)
    assert (values == 0).all()
    assert residual == 0
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)


def test_same_start_same_bits(rng):
    A = symmetric(rng, SPECTRA["power"](300))
    first = top_eigenpairs(A, 3, np.random.default_rng(7))
    again = top_eigenpairs(A, 3, np.random.default_rng(7))
    np.testing.assert_array_equal(first[1], again[1])


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("n", [12, 40, 100, 160])
@pytest.mark.parametrize("power", [0, -300, 150])
def test_small_matrices_without_blas(rng, name, n, power):
    A = np.ldexp(symmetric(rng, SPECTRA[name](n)), power)
    A = (A + A.T) / 2
    for count in (None, 1, n // 3):
        values, vectors = descending_eigh(A, count)
        kept = n if count is None else count
        scale = np.ldexp(1.0, power)
        np.testing.assert_allclose(
            values / scale, np.sort(SPECTRA[name](n))[::-1][:kept], atol=1e-13 * n
        )
        np.testing.assert_allclose(A @ vectors / scale, vectors * (values / scale), atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(kept), atol=1e-11)


def test_descending_order(rng):
    values, _ = descending_eigh(symmetric(rng, [3.0, -1, 2]))
    np.testing.assert_allclose(values, [3, 2, -1], atol=1e-14)


def test_signs_follow_the_largest_entry_and_near_ties_the_first():
    rows = np.array([[0.1, -0.9], [-0.5, 0.5 + 1e-12], [0.0, 0.0], [-0.5, 0.6]])
    expected = [[-0.1, 0.9], [0.5, -0.5 - 1e-12], [0.0, 0.0], [-0.5, 0.6]]
    np.testing.assert_array_equal(fix_signs(rows), expected)

"""Moments: right at any offset, scale, split and order of rows."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from manifold_lab.errors import MemoryBudgetError, ParameterError
from manifold_lab.linalg import moments
from manifold_lab.linalg.moments import Moments, frame_of, moments_of


def exact(X):
    """Mean and scatter of X in rational arithmetic, rounded once."""
    n, d = X.shape
    rows = [[Fraction(float(v)) for v in row] for row in X]
    mean = [sum(row[j] for row in rows) / n for j in range(d)]
    scatter = [
        [sum((r[a] - mean[a]) * (r[b] - mean[b]) for r in rows) for b in range(d)] for a in range(d)
    ]
    return np.array([float(m) for m in mean]), np.array([[float(v) for v in r] for r in scatter])


def unscaled(m: Moments):
    return m.frame.mean(m.mean), np.ldexp(m.scatter, -2 * m.frame.exponent)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8, -1e12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_exact_arithmetic(rng, offset, dtype):
    X = (rng.normal(size=(300, 3)) * [5, 1, 0.1] + offset).astype(dtype)
    mean, scatter = unscaled(moments_of(X, "test"))
    true_mean, true_scatter = exact(X)
    np.testing.assert_allclose(mean, true_mean, rtol=1e-15, atol=1e-14)
    np.testing.assert_allclose(scatter, true_scatter, rtol=1e-12, atol=1e-14 * true_scatter.max())


def test_sorted_rows_far_from_zero_lose_nothing():
    # the first rows are unlike the rest: a shift taken from them would cost a factor n / block
    X = np.sort(np.random.default_rng(1).normal(size=(20_000, 2)), axis=0) + 1e9
    scatter = unscaled(moments_of(X, "test"))[1]
    Y = X.astype(np.longdouble) - np.longdouble(1e9)
    Y -= Y.mean(axis=0)
    np.testing.assert_allclose(scatter, (Y.T @ Y).astype(float), rtol=4e-14)


@pytest.mark.parametrize("power", [-900, -500, -1, 0, 3, 500, 900])
def test_powers_of_two_change_no_bit(rng, power):
    X = rng.normal(size=(700, 5)) + 3
    plain, scaled = moments_of(X, "test"), moments_of(np.ldexp(X, power), "test")
    assert scaled.frame.exponent == plain.frame.exponent - power
    np.testing.assert_array_equal(scaled.scatter, plain.scatter)
    np.testing.assert_array_equal(scaled.mean, plain.mean)


@pytest.mark.parametrize("d", [3, 40, 600])
def test_kernel_and_blas_routes_agree(rng, monkeypatch, d):
    X = rng.normal(size=(900, d)) + 1e6
    direct = np.cov(X - 1e6, rowvar=False, ddof=0) * len(X)
    for limit in (0, 10_000):
        monkeypatch.setattr(moments, "KERNEL_FEATURES", limit)
        scatter = unscaled(moments_of(X, "test"))[1]
        np.testing.assert_allclose(scatter, direct, rtol=1e-11, atol=1e-12 * direct.max())
        np.testing.assert_array_equal(scatter, scatter.T)


def test_block_size_changes_only_rounding(rng, monkeypatch):
    X = rng.normal(size=(5000, 4)) + 10
    whole = moments_of(X, "test")
    monkeypatch.setattr(moments, "BLOCK_BYTES", 8 * 4 * 1024)
    pieces = moments_of(X, "test")
    assert pieces.n_rows == whole.n_rows == 5000
    np.testing.assert_allclose(pieces.scatter, whole.scatter, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_same_bits_for_any_number_of_threads(rng, n_jobs):
    X = rng.normal(size=(4000, 33)).astype(np.float32)
    one, many = moments_of(X, "test", n_jobs=1), moments_of(X, "test", n_jobs=n_jobs)
    np.testing.assert_array_equal(one.scatter, many.scatter)
    np.testing.assert_array_equal(one.mean, many.mean)


def test_merge_of_blocks_of_very_different_size(rng):
    small, large = rng.normal(size=(50, 2)), 1e170 * rng.normal(size=(60, 2))
    merged = moments_of(small, "test").merge(moments_of(large, "test"))
    other = moments_of(large, "test").merge(moments_of(small, "test"))
    X = np.vstack([small, large]) / 1e170
    direct = np.cov(X, rowvar=False, ddof=0) * 110
    for m in (merged, other):
        scaled = np.ldexp(m.scatter, 2 * (-m.frame.exponent - 565)) / (1e170 / 2.0**565) ** 2
        np.testing.assert_allclose(scaled, direct, rtol=1e-12)


def test_a_sample_that_tells_nothing_of_the_rest():
    # every row the frame looks at is zero; the others are huge: the pass is repeated
    X = np.zeros((3000, 2))
    X[1::3] = 1e200
    m = moments_of(X, "test")
    assert np.isfinite(m.scatter).all()
    np.testing.assert_allclose(m.frame.mean(m.mean), X.mean(axis=0), rtol=1e-14)


def test_frame_of_constant_rows_is_harmless():
    frame = frame_of(np.full((5, 2), 3.0))
    np.testing.assert_array_equal(frame.apply(np.full((2, 2), 3.0)), 0)


def test_sparse_rows_equal_dense_ones(rng):
    X = scipy.sparse.random_array((500, 30), density=0.1, rng=rng, format="csr")
    a, b = moments_of(X, "test"), moments_of(X.toarray(), "test")
    np.testing.assert_array_equal(a.scatter, b.scatter)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("d", [4, 700])
def test_bad_values_are_named_with_their_place(rng, value, word, d):
    X = rng.normal(size=(2500, d))
    X[1234, 3] = value
    with pytest.raises(ParameterError, match=rf"{word}.*row 1234, column 3"):
        moments_of(X, "test")


def test_scatter_that_cannot_fit_is_refused_at_once():
    X = np.broadcast_to(np.float64(1.0), (2, 3_000_000))
    with pytest.raises(MemoryBudgetError, match="randomized"):
        moments_of(X, "test")

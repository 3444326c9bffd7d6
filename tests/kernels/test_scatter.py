"""The scatter kernels against NumPy in long double, at every level that is built and that the CPU runs."""

import importlib
import importlib.util

import numpy as np
import oracles
import pytest

from manifold_lab._kernels import levels


def built():
    """Names of the scatter modules to test: the baseline, and the levels beside it."""
    home = "manifold_lab._kernels"
    names = [f"{home}.scatter"] + [f"{home}.{level}.scatter" for level in levels.runnable()[1:]]
    return [name for name in names if importlib.util.find_spec(name)]


@pytest.fixture(params=built())
def scatter(request):
    return importlib.import_module(request.param)


@pytest.fixture
def chunk_scatter(scatter):
    return scatter.chunk_scatter


def assert_right(kernel, X, shift=None, factor=1.0, chunk=32, n_threads=2):
    """Compare with the oracle, each entry on the scale of its own row and column."""
    shift = np.zeros(X.shape[1]) if shift is None else shift
    W, means = kernel(X, shift, factor, chunk, n_threads)
    W_true, means_true = oracles.chunk_scatter(X, shift, factor, chunk)
    assert W.shape == W_true.shape
    assert means.shape == means_true.shape
    assert W.dtype == means.dtype == np.float64
    size = np.sqrt(np.diag(W_true))
    assert (np.abs(W - W_true) <= 1e-13 * np.outer(size, size)).all()
    spread = np.abs(np.asarray(X, np.longdouble) * factor - shift).max(axis=0)
    assert (np.abs(means - means_true) <= 1e-14 * spread).all()
    assert (W == W.T).all()


@pytest.mark.parametrize("d", [1, 7, 8, 9, 16, 17, 24, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_tile_width(chunk_scatter, rng, d, dtype):
    # fewer and more columns than a tile of 8 or 16 holds, and remainders of one
    assert_right(chunk_scatter, rng.standard_normal((333, d)).astype(dtype))


def test_more_columns_than_moments_uses_it_for(chunk_scatter, rng):
    assert_right(chunk_scatter, rng.standard_normal((70, 513)))


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 511, 512, 513, 545, 1100])
def test_every_number_of_rows(chunk_scatter, rng, n):
    # less than a chunk, whole chunks, one row over, 16 and 17 chunks: one more than the groups
    assert_right(chunk_scatter, rng.standard_normal((n, 5)))


@pytest.mark.parametrize("chunk", [1, 2, 100, 512, 5000])
def test_every_chunk_length(chunk_scatter, rng, chunk):
    assert_right(chunk_scatter, rng.standard_normal((1000, 6)), chunk=chunk)


def test_one_row_has_no_scatter(chunk_scatter):
    W, means = chunk_scatter(np.array([[3.0, 4.0]]), np.array([1.0, 1.0]), 2.0, 32, 1)
    assert W.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert means.tolist() == [[5.0, 7.0]]


def test_equal_rows_have_no_scatter(chunk_scatter):
    W, means = chunk_scatter(np.full((100, 3), 0.1), np.full(3, 0.1), 1.0, 32, 2)
    assert not W.any()
    assert not means.any()


@pytest.mark.parametrize(("offset", "dtype"), [(1e9, np.float64), (1e5, np.float32)])
def test_large_offset_with_a_shift(chunk_scatter, rng, offset, dtype):
    X = (offset + rng.standard_normal((1000, 9))).astype(dtype)
    assert_right(chunk_scatter, X, shift=X.astype(np.float64).mean(axis=0))


@pytest.mark.parametrize("power", [-600, -530, -3, 0, 3, 530, 600])
def test_powers_of_two_are_exact(chunk_scatter, rng, power):
    X, shift = rng.standard_normal((200, 9)), rng.standard_normal(9)
    plain = chunk_scatter(X, shift, 1.0, 32, 1)
    scaled = chunk_scatter(np.ldexp(X, power), shift, np.ldexp(1.0, -power), 32, 1)
    assert (plain[0] == scaled[0]).all()
    assert (plain[1] == scaled[1]).all()


def test_subnormal_input_is_not_flushed_to_zero(chunk_scatter, rng):
    X = rng.integers(-1000, 1000, (100, 9)) * 5e-324
    assert (np.abs(X) < np.finfo(np.float64).tiny).all()
    assert_right(chunk_scatter, X, factor=2.0**1000)
    assert chunk_scatter(X, np.zeros(9), 2.0**1000, 32, 1)[0][0, 0] > 0


def test_float32_subnormal_input_is_not_flushed_to_zero(chunk_scatter, rng):
    X = (rng.integers(-1000, 1000, (100, 9)) * 1e-45).astype(np.float32)
    assert X.any()
    assert_right(chunk_scatter, X, factor=2.0**140)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (99, 8), (45, 3)])
def test_what_is_not_finite_shows_in_the_mean_of_its_chunk_only(
    chunk_scatter, rng, bad, row, column
):
    X = rng.standard_normal((100, 9))
    X[row, column] = bad
    W, means = chunk_scatter(X, np.zeros(9), 1.0, 32, 2)
    where = np.zeros(means.shape, bool)
    where[row // 32, column] = True
    assert (np.isfinite(means) == ~where).all()
    assert not np.isfinite(W[column]).any()
    kept = np.delete(np.delete(W, column, 0), column, 1)
    assert np.isfinite(kept).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_input_stays_as_it_was(chunk_scatter, rng, dtype):
    X = rng.standard_normal((50, 4)).astype(dtype)
    shift = rng.standard_normal(4)
    before = X.tobytes(), shift.tobytes()
    X.setflags(write=False)
    shift.setflags(write=False)
    assert_right(chunk_scatter, X, shift)
    assert (X.tobytes(), shift.tobytes()) == before


@pytest.mark.parametrize("shape", [(5000, 17), (700, 3), (40, 100)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(chunk_scatter, rng, shape, dtype):
    X = rng.standard_normal(shape).astype(dtype)
    one, *others = (chunk_scatter(X, np.zeros(shape[1]), 1.0, 32, t) for t in (1, 2, 3, 5, 20))
    for other in others:
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()


def test_refuses_what_it_would_misread(chunk_scatter):
    X, shift = np.ones((4, 3)), np.zeros(3)
    with pytest.raises(ValueError, match="C.contiguous"):
        chunk_scatter(np.asfortranarray(X), shift, 1.0, 32, 1)
    with pytest.raises(TypeError):
        chunk_scatter(X.astype(int), shift, 1.0, 32, 1)
    with pytest.raises(TypeError):
        chunk_scatter(None, shift, 1.0, 32, 1)


@pytest.mark.parametrize(("n", "d", "chunk"), [(1, 3, 32), (31, 1, 32), (333, 17, 32), (64, 9, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centred_chunks(scatter, rng, n, d, chunk, dtype):
    X = (1e3 + rng.standard_normal((n, d))).astype(dtype)
    X.setflags(write=False)
    shift = np.full(d, 250.0)
    Y = np.empty((n, d))
    means = scatter.centred_chunks(X, shift, 0.25, chunk, 2, Y)
    Y_true, means_true = oracles.centred_chunks(X, shift, 0.25, chunk)
    assert np.abs(Y - Y_true).max() <= 1e-14
    assert np.abs(means - means_true).max() <= 1e-14
    for n_threads in (1, 5):
        other = np.empty((n, d))
        assert (scatter.centred_chunks(X, shift, 0.25, chunk, n_threads, other) == means).all()
        assert (other == Y).all()

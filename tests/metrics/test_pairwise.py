"""All distances: against scipy's, in long double, at offsets and scales, in both types."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifold_lab import checks
from manifold_lab.errors import MemoryBudgetError, ParameterError
from manifold_lab.metrics import Mahalanobis, Minkowski, WeightedEuclidean, matrix, pairwise

SCIPY = {
    "euclidean": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "cosine": "cosine",
}


def root_of_product(x, y):
    return np.sqrt(np.abs(x - y).sum())


@pytest.fixture
def data(rng):
    return rng.normal(size=(40, 5)), rng.normal(size=(23, 5))


EVERY = [*SCIPY, "minkowski", Minkowski(1), Minkowski(np.inf), root_of_product]
EVERY += [WeightedEuclidean([1, 2, 0, 4, 5]), Mahalanobis(np.eye(5) + 1)]
every = pytest.mark.parametrize("metric", EVERY, ids=str)


@pytest.mark.parametrize("metric", SCIPY)
def test_values_are_scipys(metric, data):
    X, Y = data
    np.testing.assert_allclose(pairwise(X, Y, metric), cdist(X, Y, SCIPY[metric]), rtol=1e-13)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 7, 50])
def test_minkowski_is_scipys(p, data):
    X, Y = data
    expected = cdist(X, Y, "minkowski", p=p)
    np.testing.assert_allclose(pairwise(X, Y, "minkowski", p=p), expected, rtol=1e-13)


def test_a_function_of_two_rows(data):
    X, Y = data
    expected = [[root_of_product(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(pairwise(X, Y, root_of_product), expected)


@every
def test_symmetric_to_the_bit_with_a_zero_diagonal(metric, data, monkeypatch):
    X, _ = data
    for piece in (2**26, 5 * 40 * 7):  # in one piece, and seven rows at a time
        monkeypatch.setattr(matrix, "_PIECE", piece)
        D = pairwise(X, metric=metric)
        np.testing.assert_array_equal(D, D.T)
        assert not D.diagonal().any()
        np.testing.assert_allclose(D, pairwise(X, X, metric=metric), atol=1e-14)


@every
def test_float32_in_float32_out_with_sums_in_double(metric, data):
    X, Y = (A.astype(np.float32) for A in data)
    D = pairwise(X, Y, metric)
    assert D.dtype == np.float32
    exact = pairwise(X.astype(np.float64), Y.astype(np.float64), metric)
    np.testing.assert_array_equal(D, exact.astype(np.float32))
    assert pairwise(X, data[1], metric).dtype == np.float64


# ------------------------------------------------------------------ offsets


def test_a_large_offset_costs_nothing():
    a, b = 1e8, 1e8 + 0.1
    assert pairwise([[a]], [[b]])[0, 0] == b - a
    assert pairwise([[a], [b]])[0, 1] == b - a
    a, b = np.float32(1e8), np.float32(1e8 + 64)
    assert pairwise(np.array([[a]]), np.array([[b]]))[0, 0] == b - a


@pytest.mark.parametrize(
    "metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev", Minkowski(3)], ids=str
)
def test_offset_against_long_double(metric, rng):
    X = rng.normal(size=(20, 5)) + 1e8
    gaps = np.abs(X.astype(np.longdouble)[:, None] - X)
    expected = {
        "euclidean": np.sqrt((gaps**2).sum(axis=2)),
        "sqeuclidean": (gaps**2).sum(axis=2),
        "manhattan": gaps.sum(axis=2),
        "chebyshev": gaps.max(axis=2),
        "Minkowski(3)": np.cbrt((gaps**3).sum(axis=2)),
    }[str(metric)]
    np.testing.assert_allclose(pairwise(X, metric=metric), expected.astype(float), rtol=1e-14)


def test_offset_of_learned_metrics_against_long_double(rng):
    X = rng.normal(size=(20, 4)) + [1e8, -1e8, 1e6, 0]
    A = rng.normal(size=(4, 4))
    M, w = A @ A.T, rng.random(4)
    gaps = X.astype(np.longdouble)[:, None] - X
    expected = np.sqrt(np.einsum("ijk,kl,ijl->ij", gaps, M, gaps)).astype(float)
    np.testing.assert_allclose(pairwise(X, metric=Mahalanobis(M)), expected, rtol=1e-12)
    expected = np.sqrt((gaps**2 * w).sum(axis=2)).astype(float)
    np.testing.assert_allclose(pairwise(X, metric=WeightedEuclidean(w)), expected, rtol=1e-13)


def test_whole_numbers_stay_exact_under_a_diagonal_metric():
    X = np.array([[i, j] for i in range(5) for j in range(5)], dtype=float) + 2**40
    D = pairwise(X, metric=WeightedEuclidean([4, 4]))
    np.testing.assert_array_equal(D, 2 * pairwise(X))
    assert pairwise([[0.0, 0.0]], [[1.0, 1.0]], "sqeuclidean")[0, 0] == 2


# ------------------------------------------------------------------ scales


HOMOGENEOUS = [metric for metric in EVERY if metric not in ("sqeuclidean", root_of_product)]


@pytest.mark.parametrize("power", [-560, -530, 500, 530])
@pytest.mark.parametrize("metric", HOMOGENEOUS, ids=str)
def test_any_scale(metric, power, data):
    """1e-170, 1e-160, 1e150, 1e160: by powers of two, so to the bit."""
    X, Y = data
    degree = 0 if metric == "cosine" else power
    expected = np.ldexp(pairwise(X, Y, metric), degree)
    np.testing.assert_array_equal(
        pairwise(np.ldexp(X, power), np.ldexp(Y, power), metric), expected
    )


def test_float32_extremes(data):
    X = data[0].astype(np.float32)
    for power in (-100, 100):
        np.testing.assert_array_equal(
            pairwise(np.ldexp(X, power)), np.ldexp(pairwise(X), power).astype(np.float32)
        )


def test_tiny_differences_beside_large_numbers():
    X = np.array([[1e-200, 5.0], [4e-200, 5.0], [0.0, 5.0], [0.0, 1e100]])
    for metric in ("euclidean", Minkowski(3), "manhattan", "chebyshev"):
        D = pairwise(X, metric=metric)
        np.testing.assert_allclose(D[0, [1, 2]], [3e-200, 1e-200], rtol=1e-13)
        assert D[0, 3] == 1e100
    assert pairwise(X, metric="sqeuclidean")[0, 3] == 1e200


def test_units_and_weights_that_cancel():
    """A column of 1e-200 beside one of 1e200, and weights that make both matter."""
    X = np.array([[3e-200, 0.0], [0.0, 4e200], [0.0, 0.0]])
    P = np.diag([1e200, 1e-200])
    np.testing.assert_allclose(pairwise(X, metric=Mahalanobis.from_factor(P))[2, :2], [3, 4])
    X = np.array([[3e-100, 0.0], [0.0, 4e100], [0.0, 0.0]])
    D = pairwise(X, metric=WeightedEuclidean([1e200, 1e-200]))
    np.testing.assert_allclose(D[:2, 2], [3, 4], rtol=1e-14)
    np.testing.assert_allclose(D[0, 1], 5, rtol=1e-14)
    D = pairwise(X, metric=Mahalanobis(np.diag([1e200, 1e-200])))
    np.testing.assert_allclose(D[0, 1], 5, rtol=1e-14)


def test_a_small_angle_keeps_its_digits():
    D = pairwise([[1.0, 0.0]], [[1.0, 1e-9], [1e-300, 1e-309]], "cosine")
    np.testing.assert_allclose(D, [[0.5e-18, 0.5e-18]], rtol=1e-6)


# ------------------------------------------------------------------ what is refused


def test_precomputed_distances_are_checked_and_returned(data):
    D = pairwise(data[0])
    again = pairwise(D, metric="precomputed")
    np.testing.assert_array_equal(again, D)
    assert not np.shares_memory(again, D)
    bent = D.copy()
    bent[0, 1] += 0.5e-8 * D.max()
    fixed = pairwise(bent, metric="precomputed")
    np.testing.assert_array_equal(fixed, fixed.T)
    np.testing.assert_allclose(fixed, D, atol=1e-8 * D.max())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D[:3], r"square matrix of distances, X has shape \(3, 40\)"),
        (lambda D: D + np.eye(40), r"X\[0, 0\] = 1\.0"),
        (lambda D: np.where(D.max() == D, -1.0, D), "Negative values"),
        (lambda D: D + np.triu(np.full((40, 40), 1e-6), 1), "not symmetric"),
    ],
)
def test_what_is_no_matrix_of_distances(change, message, data):
    D = pairwise(data[0])
    with pytest.raises(ParameterError, match=message):
        pairwise(change(D), metric="precomputed")


def test_refusals(data):
    X, Y = data
    with pytest.raises(ParameterError, match="X has 5 features, Y has 4"):
        pairwise(X, Y[:, :4])
    with pytest.raises(ParameterError, match="leave Y out"):
        pairwise(pairwise(X), Y, "precomputed")
    with pytest.raises(ParameterError, match="Row 1 of Y is zero and has no direction"):
        pairwise(X, np.r_[Y[:1], np.zeros((1, 5))], "cosine")
    with pytest.raises(ParameterError, match="Input Y contains NaN"):
        pairwise(X, np.full((1, 5), np.nan))
    for wrong in (-1.0, np.nan):
        with pytest.raises(ParameterError, match=f"returned {wrong}"):
            pairwise(X, metric=lambda x, y, wrong=wrong: wrong)


def test_a_result_that_does_not_fit_is_refused(monkeypatch, data):
    monkeypatch.setattr(checks, "available_memory", lambda: 1000)
    with pytest.raises(MemoryBudgetError, match="NearestNeighbors"):
        pairwise(data[0])

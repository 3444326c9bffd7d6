"""Trustworthiness and continuity: exact, whatever the ties, the offset and the block size."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import manifold_lab
from manifold_lab.datasets import swiss_roll
from manifold_lab.errors import ManifoldLabWarning, ParameterError
from manifold_lab.quality import continuity, trustworthiness
from manifold_lab.tools import quality


def oracle(D_rank, D_near, k):
    """The definition, one sample at a time: ranks and neighbours by (distance, index)."""
    n, cost = len(D_rank), []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        ranked = sorted(others, key=lambda j: (D_rank[i, j], j))
        near = sorted(others, key=lambda j: (D_near[i, j], j))[:k]
        cost.append(sum(max(0, ranked.index(j) + 1 - k) for j in near))
    return 1 - 2 * np.array(cost) / (k * (2 * n - 3 * k - 1))


def squares(X):
    return cdist(np.asarray(X, dtype=np.float64), np.asarray(X, dtype=np.float64), "sqeuclidean")


def agrees(X, Z, k):
    """Compare both scores, in all and per point, with the oracle."""
    per_point = trustworthiness(X, Z, k=k, per_point=True)
    wanted = oracle(squares(X), squares(Z), k)
    lost = oracle(squares(Z), squares(X), k)
    np.testing.assert_allclose(per_point, wanted, rtol=0, atol=1e-14)
    assert trustworthiness(X, Z, k=k) == pytest.approx(wanted.mean(), abs=1e-14)
    assert per_point.mean() == pytest.approx(trustworthiness(X, Z, k=k), abs=1e-14)
    np.testing.assert_allclose(continuity(X, Z, k=k, per_point=True), lost, rtol=0, atol=1e-14)
    return True


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# ------------------------------------------------------------------ right values


def test_facade_and_shim():
    assert manifold_lab.quality.trustworthiness is quality.trustworthiness
    assert manifold_lab.quality.__all__ == quality.__all__


@pytest.mark.parametrize("d", [1, 3, 8, 12, 40])  # tree, direct, matrix product
@pytest.mark.parametrize("k", [1, 4, 19])
def test_oracle_on_random_data(rng, d, k):
    X = rng.normal(size=(40, d))
    assert agrees(X, X[:, :2] + rng.normal(size=(40, min(d, 2))), k)


@pytest.mark.parametrize("d", [2, 8, 20])
def test_oracle_on_duplicates(rng, d):
    X = rng.normal(size=(15, d))[rng.integers(15, size=60)]
    assert agrees(X, rng.normal(size=(60, 2)), 5)
    assert agrees(X, X[:, :2], 5)
    assert agrees(np.zeros((30, d)), rng.normal(size=(30, 2)), 3)


@pytest.mark.parametrize("d", [2, 3, 14])
def test_oracle_on_lattices_where_most_distances_tie(rng, d):
    X = np.zeros((64, d))
    X[:, :2] = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    X = rng.permutation(X)
    assert agrees(X, X[:, :1], 6)
    assert agrees(X / 3 + 0.1, np.round(rng.normal(size=(64, 2))), 6)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_oracle_on_small_integers(data):
    n, d = data.draw(st.integers(3, 14)), data.draw(st.sampled_from([1, 2, 7, 13]))
    k = data.draw(st.integers(1, (n - 1) // 2))
    numbers = st.integers(-2, 2)
    X = np.array(data.draw(st.lists(numbers, min_size=n * d, max_size=n * d))).reshape(n, d)
    Z = np.array(data.draw(st.lists(numbers, min_size=n * 2, max_size=n * 2))).reshape(n, 2)
    assert agrees(X, Z, k)


def test_tree_with_duplicates_and_ties(rng):
    """Enough rows for the tree to be used."""
    Z = rng.integers(0, 12, size=(300, 2)).astype(float)
    X = rng.normal(size=(300, 3))
    assert agrees(X, Z, 5)
    assert agrees(Z, X, 5)


@pytest.mark.parametrize("k", [1, 5, 12, 60])
@pytest.mark.parametrize("columns", [3, 64])
def test_same_as_scikit_learn(k, columns):
    peer = pytest.importorskip("sklearn.manifold").trustworthiness
    X = pytest.importorskip("sklearn.datasets").load_digits().data[:500, -columns:]
    jitter = np.random.default_rng(0)
    X = X + 0.01 * jitter.normal(size=X.shape)  # scikit-learn leaves ties to chance
    Z = X[:, :2] - X[:, 1:3]
    assert trustworthiness(X, Z, k=k) == pytest.approx(peer(X, Z, n_neighbors=k), abs=1e-12)
    assert trustworthiness(X, Z, k=k, metric="cosine") == pytest.approx(
        peer(X, Z, n_neighbors=k, metric="cosine"), abs=1e-12
    )


@pytest.mark.parametrize("d", [2, 8, 20])
def test_identity_and_similarities_are_perfect(rng, d):
    X = rng.normal(size=(120, d))
    turned = 3.0 * X @ np.linalg.qr(rng.normal(size=(d, d)))[0] + 5
    for Z in (X, turned):
        assert trustworthiness(X, Z, k=7) == 1.0
        assert continuity(X, Z, k=7) == 1.0


def test_duplicates_of_a_perfect_embedding_are_perfect():
    X = np.repeat(np.arange(20.0), 4)[:, None]
    assert trustworthiness(X, X, k=3) == 1.0


def test_exchanging_the_spaces_exchanges_the_scores(rng):
    X, Z = rng.normal(size=(90, 16)), rng.normal(size=(90, 2))
    assert trustworthiness(X, Z) == continuity(Z, X)
    assert continuity(X, Z) == trustworthiness(Z, X)
    assert trustworthiness(X, Z) != continuity(X, Z)


def test_the_worst_embedding_scores_zero():
    # each sample's nearest in Z is its farthest in X
    X = np.array([[0.0], [1.0], [10.0], [11.1]])
    Z = np.array([[0.0], [5.1], [5.0], [0.1]])
    assert trustworthiness(X, Z, k=1, per_point=True)[0] == 0
    assert trustworthiness(X, Z, k=1) == pytest.approx(oracle(squares(X), squares(Z), 1).mean())


def test_random_embedding_scores_about_a_half(rng):
    score = trustworthiness(rng.normal(size=(1500, 5)), rng.normal(size=(1500, 2)))
    assert score == pytest.approx(0.5, abs=0.02)


def test_folding_is_untrustworthy_and_tearing_is_discontinuous():
    X, T = swiss_roll(n_samples=800)
    flattened = X[:, :2]  # the layers of the roll fall on each other
    assert trustworthiness(X, T) > 0.999
    assert trustworthiness(T, flattened) < 0.9
    torn = T + np.where(T[:, :1] > 45, 200.0, 0.0) * [[0, 1]]
    assert continuity(T, torn) < 1 - 1e-4
    assert trustworthiness(T, torn) > continuity(T, torn)


# ------------------------------------------------------------------ numerics


@pytest.mark.parametrize("d", [2, 8, 20])
def test_offset_changes_nothing(rng, d):
    X = np.round(rng.normal(size=(150, d)) * 2**12) / 2**12  # exact at both places
    Z = np.round(rng.normal(size=(150, 2)) * 2**12) / 2**12
    want = trustworthiness(X, Z, per_point=True)
    assert np.array_equal(trustworthiness(X + 1e8, Z - 1e8, per_point=True), want)
    assert np.array_equal(continuity(X + 1e8, Z - 1e8), continuity(X, Z))


@pytest.mark.parametrize("d", [2, 20])
def test_two_far_clusters(rng, d):
    X = rng.normal(size=(80, d))
    X[40:] += 1e9
    assert agrees(X, X[:, :2] + rng.normal(size=(80, 2)), 5)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("d", [2, 8, 20])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_scale_changes_nothing(rng, scale, d, metric):
    X, Z = rng.normal(size=(60, d)), rng.normal(size=(60, 2))
    want = trustworthiness(X, Z, k=5, metric=metric)
    assert trustworthiness(X * scale, Z * scale, k=5, metric=metric) == want


@pytest.mark.parametrize("d", [3, 30])
def test_float32_is_scored_as_the_numbers_it_holds(rng, d):
    X, Z = (rng.normal(size=(100, m)).astype(np.float32) for m in (d, 2))
    X += np.float32(1000)
    want = trustworthiness(X.astype(np.float64), Z.astype(np.float64), per_point=True)
    assert np.array_equal(trustworthiness(X, Z, per_point=True), want)


@pytest.mark.parametrize("d", [3, 8, 30])
def test_order_of_rows_does_not_matter(rng, d):
    X, Z = rng.normal(size=(130, d)), rng.normal(size=(130, 2))
    order = rng.permutation(130)
    scores = trustworthiness(X, Z, per_point=True)
    assert np.array_equal(trustworthiness(X[order], Z[order], per_point=True), scores[order])
    assert trustworthiness(X[order], Z[order]) == trustworthiness(X, Z)


@pytest.mark.parametrize("d", [2, 8, 30])
@pytest.mark.parametrize("block", [1, 700, 10**9])
def test_size_of_blocks_does_not_matter(rng, monkeypatch, d, block):
    X = np.round(rng.normal(size=(130, d)), 1)
    Z = np.round(rng.normal(size=(130, 2)), 1)
    want = trustworthiness(X, Z, per_point=True), continuity(X, Z, per_point=True)
    monkeypatch.setattr(quality, "_BLOCK", block)
    assert np.array_equal(trustworthiness(X, Z, per_point=True), want[0])
    assert np.array_equal(continuity(X, Z, per_point=True), want[1])


@pytest.mark.parametrize("d", [2, 8])
def test_shortcuts_agree_with_differences(rng, monkeypatch, d):
    X = np.round(rng.normal(size=(600, d)), 1)
    Z = np.round(rng.normal(size=(600, d)), 1)
    monkeypatch.setattr(quality, "_TREE_UPTO", 0)
    want = trustworthiness(X, Z, per_point=True)
    for tree, product in ((8, 10**9), (0, 1)):
        monkeypatch.setattr(quality, "_TREE_UPTO", tree)
        monkeypatch.setattr(quality, "_FILTER_FROM", product)
        assert np.array_equal(trustworthiness(X, Z, per_point=True), want)


def test_memory_is_not_quadratic(rng):
    X, Z = rng.normal(size=(6000, 16)), rng.normal(size=(6000, 2))
    tracemalloc.start()
    try:
        trustworthiness(X, Z, sample=200)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 6  # three blocks of 8 MB, some copies of X


def test_inputs_are_left_alone(rng):
    X, Z = rng.normal(size=(60, 20)), rng.normal(size=(60, 2))
    D = squares(X)
    for array in (X, Z, D):
        array.flags.writeable = False
    a = trustworthiness(X, Z)
    assert trustworthiness(D, Z, metric="precomputed") == a
    assert trustworthiness(np.asfortranarray(X), Z.tolist()) == a


# ------------------------------------------------------------------ metrics


@pytest.mark.parametrize(
    ("metric", "scipy_name"),
    [
        ("euclidean", "euclidean"),
        ("sqeuclidean", "sqeuclidean"),
        ("manhattan", "cityblock"),
        ("chebyshev", "chebyshev"),
        ("cosine", "cosine"),
    ],
)
@pytest.mark.parametrize("d", [3, 20])
def test_metrics(rng, metric, scipy_name, d):
    X, Z = rng.normal(size=(50, d)) * np.arange(1, d + 1), rng.normal(size=(50, 2))
    D = cdist(X, X, scipy_name)
    want = oracle(D, squares(Z), 6)
    lost = oracle(squares(Z), D, 6)
    np.testing.assert_allclose(
        trustworthiness(X, Z, k=6, metric=metric, per_point=True), want, atol=1e-14
    )
    np.testing.assert_allclose(
        continuity(X, Z, k=6, metric=metric, per_point=True), lost, atol=1e-14
    )
    assert trustworthiness(D, Z, k=6, metric="precomputed") == pytest.approx(want.mean())
    assert continuity(D, Z, k=6, metric="precomputed") == pytest.approx(lost.mean())


def test_callable_metric(rng):
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    weights = np.array([5.0, 1.0, 0.1, 3.0])
    own = trustworthiness(X, Z, k=4, metric=lambda a, b: (weights * (a - b) ** 2).sum())
    assert own == trustworthiness(X * np.sqrt(weights), Z, k=4)
    assert own != trustworthiness(X, Z, k=4)


def test_precomputed_diagonal_is_ignored(rng):
    X, Z = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    D = squares(X)
    want = trustworthiness(D, Z, k=4, metric="precomputed")
    np.fill_diagonal(D, 100.0)
    assert trustworthiness(D, Z, k=4, metric="precomputed") == want


# ------------------------------------------------------------------ samples


def test_sample_scores_the_drawn_rows_exactly(rng):
    X, Z = rng.normal(size=(200, 15)), rng.normal(size=(200, 2))
    every = trustworthiness(X, Z, per_point=True)
    some = trustworthiness(X, Z, per_point=True, sample=50, random_state=1)
    drawn = ~np.isnan(some)
    assert drawn.sum() == 50
    assert np.array_equal(some[drawn], every[drawn])
    score = trustworthiness(X, Z, sample=50, random_state=1)
    assert score == pytest.approx(every[drawn].mean(), abs=1e-14)
    assert score != trustworthiness(X, Z, sample=50, random_state=2)
    assert trustworthiness(X, Z, sample=50) == trustworthiness(X, Z, sample=50)
    assert trustworthiness(X, Z, sample=200) == trustworthiness(X, Z)


def test_many_rows_are_sampled_and_it_says_so(rng, monkeypatch):
    monkeypatch.setattr(quality, "_ALL_ROWS", 100)
    monkeypatch.setattr(quality, "_SAMPLE", 40)
    X, Z = rng.normal(size=(101, 3)), rng.normal(size=(101, 2))
    with pytest.warns(ManifoldLabWarning, match="scored 40 of 101 rows.*sample=101") as caught:
        score = trustworthiness(X, Z)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trustworthiness(X, Z, sample=40) == score
        assert trustworthiness(X, Z, sample=101) != score
        trustworthiness(X[:100], Z[:100])


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize("score", [trustworthiness, continuity])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 10}, r"k=10 .*n_samples=20.*Pass k=9"),
        ({"k": 0}, r"'k' parameter of \w+ must be an int >= 1. Got 0"),
        ({"k": 2.0}, "'k' parameter.*Got 2.0"),
        ({"metric": "euclid"}, "metric='euclid' is not known.*'manhattan'"),
        ({"metric": None}, "metric=None is not known"),
        ({"per_point": "yes"}, "'per_point' parameter.*Got 'yes'"),
        ({"sample": 21}, "sample=21.*there are 20"),
        ({"sample": 0}, "'sample' parameter.*Got 0"),
        ({"random_state": -1}, "'random_state' parameter.*Got -1"),
        ({"Z": np.ones((19, 2))}, "X has 20 rows, Z has 19"),
        ({"Z": np.ones(20)}, "Expected 2D array for Z"),
        ({"Z": np.full((20, 2), np.nan)}, "Input Z contains NaN"),
        ({"X": np.full((20, 2), np.inf)}, "Input X contains infinity"),
        ({"X": np.ones((2, 2)), "Z": np.ones((2, 2))}, "2 sample.*minimum of 3"),
        ({"metric": "precomputed"}, r"square matrix, X has shape \(20, 3\).*20 x 20"),
        ({"X": np.ones((20, 20)) - 2 * np.eye(20), "metric": "precomputed"}, r"X\[0, 0\] = -1"),
        ({"X": np.eye(20)[:, :19], "metric": "cosine"}, "Row 19 of X is zero"),
        ({"metric": lambda a, b: np.nan}, "returned nan for rows 0 and 0"),
    ],
)
def test_errors_say_what_was_seen(score, change, message):
    arguments = {"X": np.arange(60.0).reshape(20, 3), "Z": np.ones((20, 2)), "k": 3} | change
    X, Z = arguments.pop("X"), arguments.pop("Z")
    with pytest.raises(ParameterError, match=message):
        score(X, Z, **arguments)

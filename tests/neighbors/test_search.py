"""NearestNeighbors: exact for every metric, ties by index, clear errors, no view of the caller's X."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import manifold_lab as ml
from manifold_lab import checks
from manifold_lab.errors import MemoryBudgetError, NotFittedError, ParameterError
from manifold_lab.metrics import Mahalanobis, Minkowski, WeightedEuclidean, pairwise
from manifold_lab.neighbors import searcher


def city(x, y):
    return np.abs(x - y).sum()


EVERY = [
    "euclidean",
    "sqeuclidean",
    "manhattan",
    "chebyshev",
    "minkowski",
    "cosine",
    Minkowski(3),
    WeightedEuclidean([1, 2, 3]),
    Mahalanobis([[2, 1, 0], [1, 2, 0], [0, 0, 1]]),
    Mahalanobis.from_factor([[1], [2], [3]]),
    city,
]
every = pytest.mark.parametrize("metric", EVERY, ids=str)


def brute(D, k, own):
    """The k smallest of each row of D, ties by index."""
    D = D.copy()
    if own:
        np.fill_diagonal(D, np.inf)
    ids = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, ids, axis=1), ids


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_k_nearest_of_every_metric(metric, dtype, rng):
    X, Q = (rng.normal(size=(n, 3)).astype(dtype) for n in (60, 25))
    model = ml.NearestNeighbors(k=7, metric=metric).fit(X)
    for given, D in ((None, pairwise(X, X, metric)), (Q, pairwise(Q, X, metric))):
        distances, ids = model.kneighbors(given)
        expected, order = brute(D, 7, given is None)
        assert distances.dtype == dtype
        np.testing.assert_array_equal(ids, order)
        np.testing.assert_allclose(distances, expected, rtol=1e-6 if dtype == np.float32 else 1e-12)


@every
def test_all_within_a_radius_of_every_metric(metric, rng):
    X, Q = rng.normal(size=(60, 3)), rng.normal(size=(25, 3))
    for given, D in ((None, pairwise(X, X, metric)), (Q, pairwise(Q, X, metric))):
        eps = float(np.quantile(D, 0.2))
        model = ml.NearestNeighbors(eps=eps, metric=metric).fit(X)
        indptr, ids, distances = model.radius_neighbors(given)
        assert len(indptr) == len(D) + 1
        for i, row in enumerate(D):
            inside = [j for j in np.argsort(row, kind="stable") if row[j] <= eps]
            if given is None:
                inside.remove(i)
            part = slice(indptr[i], indptr[i + 1])
            np.testing.assert_array_equal(ids[part], inside)
            np.testing.assert_allclose(distances[part], row[inside], rtol=1e-12)


@pytest.mark.parametrize("metric", [m for m in EVERY if m != "cosine"], ids=str)
def test_ties_go_to_the_lowest_index(metric):
    X = np.array([[i, j, 0] for i in range(6) for j in range(6)], dtype=float)
    D = pairwise(X, metric=metric)
    distances, ids = ml.NearestNeighbors(k=9, metric=metric).fit(X).kneighbors()
    assert (np.diff(distances, axis=1) >= 0).all()
    tied = np.diff(distances, axis=1) == 0
    assert tied.any()
    assert (np.diff(ids, axis=1)[tied] > 0).all()
    np.testing.assert_allclose(distances, brute(D, 9, True)[0], rtol=1e-12)


@every
def test_duplicates_are_found_and_the_row_itself_is_not(metric, rng):
    X = rng.normal(size=(20, 3))
    X = np.r_[X, X]
    distances, ids = ml.NearestNeighbors(k=1, metric=metric).fit(X).kneighbors()
    np.testing.assert_array_equal(ids[:, 0], np.r_[20:40, 0:20])
    assert not distances.any()
    distances, ids = ml.NearestNeighbors(k=2, metric=metric).fit(X).kneighbors(X[:20])
    np.testing.assert_array_equal(ids, np.c_[0:20, 20:40])
    assert not distances.any()


def test_squared_distances_of_whole_numbers_are_whole():
    X = np.array([[i, j] for i in range(4) for j in range(4)], dtype=float)
    model = ml.NearestNeighbors(k=8, metric="sqeuclidean").fit(X)
    assert set(np.unique(model.kneighbors()[0])) <= {1, 2, 4, 5, 8}
    _, _, distances = model.radius_neighbors(eps=2)
    assert set(np.unique(distances)) == {1, 2}


@pytest.mark.parametrize(
    "metric", ["sqeuclidean", "cosine", "euclidean", WeightedEuclidean([2, 3])]
)
def test_a_distance_of_exactly_eps_is_within(metric, rng):
    X = rng.normal(size=(30, 2))
    model = ml.NearestNeighbors(k=5, metric=metric).fit(X)
    distances, ids = model.kneighbors()
    for i in range(30):
        indptr, found, _ = model.radius_neighbors(eps=distances[i, -1])
        np.testing.assert_array_equal(found[indptr[i] : indptr[i + 1]], ids[i])


# ------------------------------------------------------------------ offsets and scales


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "minkowski", "chebyshev"])
@pytest.mark.parametrize(("offset", "scale"), [(1e8, 1), (0, 1e160), (0, 1e-170), (0, 1e300)])
def test_ids_against_long_double(metric, offset, scale, rng):
    X = (rng.normal(size=(150, 5)) + offset) * scale
    gaps = np.abs(X[:, None].astype(np.longdouble) - X)
    power = {"euclidean": 2, "manhattan": 1, "minkowski": 2}.get(metric)
    D = gaps.max(axis=2) if power is None else (gaps**power).sum(axis=2)
    _, ids = ml.NearestNeighbors(k=5, metric=metric).fit(X).kneighbors()
    np.testing.assert_array_equal(ids, brute(D, 5, True)[1])


def test_a_learned_metric_is_exact_at_an_offset(rng):
    X = rng.normal(size=(200, 4)) + 1e8
    A = rng.normal(size=(4, 4))
    gaps = X[:, None].astype(np.longdouble) - X
    D = np.einsum("ijk,kl,ijl->ij", gaps, (A @ A.T).astype(np.longdouble), gaps)
    _, ids = ml.NearestNeighbors(k=5, metric=Mahalanobis(A @ A.T)).fit(X).kneighbors()
    np.testing.assert_array_equal(ids, brute(D, 5, True)[1])


def test_queries_of_another_size_than_the_samples(rng):
    X, Q = rng.normal(size=(30, 2)), 1e200 * rng.normal(size=(5, 2))
    for metric in ("manhattan", "minkowski", "euclidean", WeightedEuclidean([1, 1])):
        distances, _ = ml.NearestNeighbors(k=3, metric=metric).fit(X).kneighbors(Q)
        ord_ = 1 if metric == "manhattan" else 2
        expected = np.linalg.norm(Q / 1e200, ord=ord_, axis=1)
        np.testing.assert_allclose(distances / 1e200, np.c_[expected, expected, expected])


def test_double_queries_of_single_samples_are_not_rounded():
    X = np.array([[0.0], [1.0]], dtype=np.float32)
    Q = np.array([[0.5 + 1e-12]])
    distances, ids = ml.NearestNeighbors(k=1).fit(X).kneighbors(Q)
    assert ids[0, 0] == 1
    assert distances.dtype == np.float64


# ------------------------------------------------------------------ precomputed


def test_precomputed_distances(rng):
    X, Q = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
    plain = ml.NearestNeighbors(k=4).fit(X)
    given = ml.NearestNeighbors(k=4, metric="precomputed").fit(pairwise(X))
    np.testing.assert_array_equal(given.kneighbors()[1], plain.kneighbors()[1])
    D = cdist(Q, X)
    np.testing.assert_array_equal(given.kneighbors(D)[1], plain.kneighbors(Q)[1])
    for a, b in zip(
        given.radius_neighbors(D, eps=1.0), plain.radius_neighbors(Q, eps=1.0), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-14)
    with pytest.raises(ParameterError, match="X has 39 features, but"):
        given.kneighbors(D[:, :39])
    with pytest.raises(ParameterError, match="Negative values"):
        given.kneighbors(-D)
    with pytest.raises(ParameterError, match="square matrix of distances"):
        ml.NearestNeighbors(metric="precomputed").fit(D)


# ------------------------------------------------------------------ numbers of neighbours


def test_the_default_is_five(rng):
    model = ml.NearestNeighbors().fit(rng.normal(size=(10, 2)))
    assert model.kneighbors()[1].shape == (10, 5)
    assert model.kneighbors(k=9)[1].shape == (10, 9)


def test_numbers_that_cannot_be(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ParameterError, match="both k=3 and eps=0.5"):
        ml.NearestNeighbors(k=3, eps=0.5).fit(X)
    with pytest.raises(ParameterError, match="k=7 neighbours of n_samples=6"):
        ml.NearestNeighbors(k=7).fit(X)
    model = ml.NearestNeighbors(k=6).fit(X)
    assert model.kneighbors(X)[1].shape == (6, 6)  # new data may ask for all
    with pytest.raises(ParameterError, match="k=6 neighbours of n_samples=6: a training row"):
        model.kneighbors()
    assert model.kneighbors(k=5)[1].shape == (6, 5)
    for k in (0, -1, 2.0, True):
        with pytest.raises(ParameterError, match="'k' parameter"):
            model.kneighbors(k=k)
        with pytest.raises(ParameterError, match="'k' parameter"):
            ml.NearestNeighbors(k=k).fit(X)
    for eps in (0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="'eps' parameter"):
            model.radius_neighbors(eps=eps)
        with pytest.raises(ParameterError, match="'eps' parameter"):
            ml.NearestNeighbors(eps=eps).fit(X)
    with pytest.raises(ParameterError, match="made without eps: pass eps"):
        model.radius_neighbors()
    with pytest.raises(ParameterError, match="made without k: pass k"):
        ml.NearestNeighbors(eps=1.0).fit(X).kneighbors()
    with pytest.raises(NotFittedError):
        ml.NearestNeighbors().kneighbors()


def test_bad_queries_and_metrics(rng):
    X = rng.normal(size=(8, 2))
    model = ml.NearestNeighbors(k=2).fit(X)
    with pytest.raises(ParameterError, match="NaN .first at row 1, column 0"):
        model.kneighbors([[0.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(ParameterError, match="'metric' parameter of NearestNeighbors must be"):
        ml.NearestNeighbors(metric="euclid").fit(X)
    with pytest.raises(ParameterError, match="Row 3 of X is zero and has no direction"):
        ml.NearestNeighbors(metric="cosine").fit(np.r_[X[:3], np.zeros((1, 2)), X])


def test_nothing_within_reach(rng):
    X = rng.normal(size=(5, 2))
    for metric in ("euclidean", "manhattan"):
        model = ml.NearestNeighbors(eps=1e-9, metric=metric).fit(X)
        indptr, ids, distances = model.radius_neighbors()
        assert indptr.tolist() == [0] * 6
        assert len(ids) == len(distances) == 0


# ------------------------------------------------------------------ the model


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed", EVERY[7]], ids=str)
def test_editing_the_data_does_not_edit_the_model(metric, rng):
    X = rng.normal(size=(20, 3))
    X = pairwise(X) if metric == "precomputed" else X
    untouched = ml.NearestNeighbors(k=3, metric=metric).fit(X.copy()).kneighbors()
    model = ml.NearestNeighbors(k=3, metric=metric).fit(X)
    X[:] = 0  # before the first search: what it prepares then must come from a copy too
    for a, b in zip(untouched, model.kneighbors(), strict=True):
        np.testing.assert_array_equal(a, b)


@every
def test_a_pickled_model_gives_the_same_bits(metric, rng):
    X, Q = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    model = ml.NearestNeighbors(k=3, metric=metric).fit(X)
    twin = pickle.loads(pickle.dumps(model))
    for a, b in zip(model.kneighbors(Q), twin.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(a, b)


def test_blocks_and_threads_change_nothing(rng, monkeypatch):
    X, Q = rng.normal(size=(80, 4)).round(1), rng.normal(size=(30, 4)).round(1)
    for metric in ("manhattan", "euclidean", Mahalanobis(np.eye(4) + 0.5)):
        whole = ml.NearestNeighbors(k=6, metric=metric, n_jobs=1).fit(X)
        expected = [*whole.kneighbors(Q), *whole.kneighbors(), *whole.radius_neighbors(eps=1.5)]
        with monkeypatch.context() as patch:
            patch.setattr(searcher, "_ENTRIES", 80 * 7)
            parts = ml.NearestNeighbors(k=6, metric=metric, n_jobs=2).fit(X)
            found = [*parts.kneighbors(Q), *parts.kneighbors(), *parts.radius_neighbors(eps=1.5)]
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_result_that_does_not_fit_is_refused(rng, monkeypatch):
    model = ml.NearestNeighbors(k=6, metric="manhattan").fit(rng.normal(size=(80, 4)))
    monkeypatch.setattr(checks, "available_memory", lambda: 1000)
    with pytest.raises(MemoryBudgetError, match="fewer"):
        model.kneighbors()

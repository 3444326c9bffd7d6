"""KNNClassifier: votes counted by hand, ties, weights, multiplicities, samples without neighbours."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

import manifold_lab as ml
from manifold_lab.errors import GraphWarning, NotFittedError, ParameterError
from manifold_lab.metrics import Mahalanobis, pairwise
from manifold_lab.neighbors import classifier


@pytest.fixture
def data(rng):
    y = np.arange(120) % 3
    return rng.normal(size=(120, 4)) + y[:, None], y


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_same_as_scikit_learn_where_it_is_right(weights, metric, data, rng):
    X, y = data
    Q = rng.normal(size=(50, 4)) + 1
    ours = ml.KNNClassifier(k=7, weights=weights, metric=metric).fit(X, y)
    peer = KNeighborsClassifier(7, weights=weights, metric=metric).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(Q), peer.predict_proba(Q), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(Q), peer.predict(Q))
    assert ours.score(Q, peer.predict(Q)) == 1


def test_votes_counted_by_hand():
    X = [[0.0], [1.0], [2.0], [4.0]]
    model = ml.KNNClassifier(k=3).fit(X, ["b", "a", "b", "a"])
    assert model.classes_.tolist() == ["a", "b"]
    assert model.predict_proba([[0.9]]).tolist() == [[1 / 3, 2 / 3]]
    assert model.predict([[0.9], [3.1]]).tolist() == ["b", "a"]
    assert model.score([[0.9], [3.1]], ["b", "b"]) == 0.5
    assert model.score([[0.9], [3.1]], ["b", "b"], sample_weight=[3, 1]) == 0.75


def test_distance_weights_by_hand():
    model = ml.KNNClassifier(k=3, weights="distance").fit([[0.0], [1.0], [4.0]], [0, 1, 1])
    # distances 0.5, 0.5, 3.5: weights 2, 2, 2/7
    expected = [2 / (4 + 2 / 7), (2 + 2 / 7) / (4 + 2 / 7)]
    np.testing.assert_allclose(model.predict_proba([[0.5]])[0], expected)


def test_a_zero_distance_takes_all():
    X = [[0.0], [0.0], [0.0], [1.0], [1.0]]
    model = ml.KNNClassifier(k=5, weights="distance").fit(X, [0, 0, 1, 2, 2])
    np.testing.assert_allclose(model.predict_proba([[0.0]])[0], [2 / 3, 1 / 3, 0])
    assert (model.predict_proba([[1e-300]])[0] > 0)[:2].all()


def test_tiny_and_huge_distances_do_not_spoil_the_weights():
    for scale in (1e-310, 1e-160, 1e160, 1e300):
        X = np.array([[0.0], [1.0], [4.0]]) * scale
        model = ml.KNNClassifier(k=3, weights="distance").fit(X, [0, 1, 1])
        expected = [2 / (4 + 2 / 7), (2 + 2 / 7) / (4 + 2 / 7)]
        np.testing.assert_allclose(model.predict_proba([[0.5 * scale]])[0], expected, rtol=1e-6)


def test_a_function_of_distances_as_weights(data, rng):
    X, y = data
    Q = rng.normal(size=(20, 4)) + 1
    ours = ml.KNNClassifier(k=9, weights=lambda d: np.exp(-d)).fit(X, y)
    peer = KNeighborsClassifier(9, weights=lambda d: np.exp(-d)).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(Q), peer.predict_proba(Q), atol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda d: d - 100, "returned -.* Weights must be finite and at least 0"),
        (lambda d: d * np.nan, "returned nan"),
        (lambda d: 1.0, r"returned shape \(\)"),
    ],
)
def test_functions_that_give_no_weights(function, message, data):
    X, y = data
    with pytest.raises(ParameterError, match=message):
        ml.KNNClassifier(weights=function).fit(X, y).predict(X)


# ------------------------------------------------------------------ ties


@pytest.mark.parametrize(("ties", "winner"), [("smallest", 0), ("nearest", 2), ("distance", 1)])
def test_ties(ties, winner):
    # distances from 0: class 2 has 1 and 9, class 1 has 2 and 3, class 0 has 4 and 8
    X = [[1.0], [-9.0], [2.0], [-3.0], [4.0], [-8.0], [100.0]]
    y = [2, 2, 1, 1, 0, 0, 3]
    model = ml.KNNClassifier(k=6, ties=ties).fit(X, y)
    assert model.predict([[0.0]]).tolist() == [winner]
    np.testing.assert_allclose(model.predict_proba([[0.0]])[0], [1 / 3, 1 / 3, 1 / 3, 0])


def test_a_tie_of_ties_goes_to_the_smallest_label():
    X, y = [[-1.0], [1.0]], ["b", "a"]
    assert ml.KNNClassifier(k=2, ties="distance").fit(X, y).predict([[0.0]]).tolist() == ["a"]
    assert ml.KNNClassifier(k=2, ties="nearest").fit(X, y).predict([[0.0]]).tolist() == ["b"]


@pytest.mark.parametrize("ties", ["smallest", "nearest", "distance"])
def test_no_tie_is_no_matter_of_the_rule(ties, data):
    X, y = data
    clear = ml.KNNClassifier(k=1).fit(X, y).predict(X)
    np.testing.assert_array_equal(ml.KNNClassifier(k=1, ties=ties).fit(X, y).predict(X), clear)


def test_rounded_weights_still_tie():
    X, w = [[1.0], [1.0], [1.0], [-1.0]], [0.1, 0.1, 0.1, 0.3]
    model = ml.KNNClassifier(eps=2.0).fit(X, [1, 1, 1, 0], sample_weight=w)
    assert model.predict([[0.0]])[0] == 0  # 0.1 + 0.1 + 0.1 is more than 0.3 in floating point


# ------------------------------------------------------------------ sample weights


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("ties", ["smallest", "nearest", "distance"])
@pytest.mark.parametrize("how", [{"k": 5}, {"k": 1}, {"k": 40}, {"eps": 2.5}])
def test_a_weight_is_a_number_of_copies(weights, ties, how, data, rng):
    X, y = data
    w = rng.integers(0, 4, size=len(X))
    Q = rng.normal(size=(40, 4)) + 1
    model = ml.KNNClassifier(weights=weights, ties=ties, **how)
    weighted = model.fit(X, y, sample_weight=w).predict_proba(Q), model.predict(Q)
    model.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted[0], model.predict_proba(Q), atol=1e-12)
    np.testing.assert_array_equal(weighted[1], model.predict(Q))


def test_the_last_neighbour_counts_in_part():
    model = ml.KNNClassifier(k=2).fit([[0.0], [1.0], [9.0]], [0, 1, 2], sample_weight=[1.5, 4, 1])
    assert model.predict_proba([[0.1]]).tolist() == [[0.75, 0.25, 0]]
    assert model.predict_proba([[0.9]]).tolist() == [[0, 1, 0]]


def test_a_row_of_weight_zero_is_as_good_as_absent(data):
    X, y = data
    w = np.ones(len(X))
    w[::2] = 0
    y = np.where(w == 0, 77, y)
    model = ml.KNNClassifier(k=3).fit(X, y, sample_weight=w)
    assert model.n_samples_fit_ == 60
    assert not (model.predict(X) == 77).any()
    plain = ml.KNNClassifier(k=3).fit(X[w > 0], y[w > 0])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    given = ml.KNNClassifier(k=3, metric="precomputed").fit(pairwise(X), y, sample_weight=w)
    np.testing.assert_array_equal(given.predict(pairwise(X)), plain.predict(X))


@pytest.mark.parametrize(
    ("w", "message"),
    [
        ([1.0] * 3, r"shape \(3,\), KNNClassifier needs one weight a row: \(4,\)"),
        ([1, -1, 1, 1], r"sample_weight\[1\] = -1.0"),
        ([1, 1, np.nan, 1], r"sample_weight\[2\] = nan"),
        ([0, 0, 0, 0], "weight is zero"),
        ([0.25] * 4, "sum to 1, less than k=2"),
    ],
)
def test_weights_that_are_refused(w, message):
    with pytest.raises(ParameterError, match=message):
        ml.KNNClassifier(k=2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], sample_weight=w)


# ------------------------------------------------------------------ within eps


def test_votes_within_a_radius():
    model = ml.KNNClassifier(eps=1.0).fit([[0.0], [1.0], [2.0], [9.0]], [0, 1, 1, 2])
    found = model.predict_proba([[0.5], [1.0], [8.0]])  # exactly 1 is within
    assert found.tolist() == [
        [0.5, 0.5, 0],
        [1 / 3, 2 / 3, 0],
        [0, 0, 1],
    ]


def test_a_sample_without_neighbours_is_an_error_by_default():
    model = ml.KNNClassifier(eps=1.0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(
        ParameterError, match=r"2 of 3 rows have no neighbour .*rows 1, 2.*outlier="
    ):
        model.predict([[0.0], [50.0], [60.0]])


def test_a_sample_without_neighbours_gets_the_answer_asked_for():
    X, y = [[0.0], [1.0]], ["no", "yes"]
    model = ml.KNNClassifier(eps=1.0, outlier="elsewhere").fit(X, y)
    with pytest.warns(GraphWarning, match="rows 1.*outlier='elsewhere'"):
        assert model.predict([[-0.5], [50.0]]).tolist() == ["no", "elsewhere"]
    with pytest.warns(GraphWarning):
        assert model.predict_proba([[-0.5], [50.0]]).tolist() == [[1, 0], [0, 0]]
    model = ml.KNNClassifier(eps=1.0, outlier="yes").fit(X, y)
    with pytest.warns(GraphWarning):
        assert model.predict_proba([[50.0]]).tolist() == [[0, 1]]
    with pytest.raises(ParameterError, match="outlier=-1 is no label like"):
        ml.KNNClassifier(eps=1.0, outlier=-1).fit(X, y)


def test_neighbours_that_all_weigh_nothing_are_none():
    model = ml.KNNClassifier(k=1, weights=lambda d: np.maximum(1 - d, 0)).fit([[0.0]], [0])
    assert model.predict([[0.5]]).tolist() == [0]
    with pytest.raises(ParameterError, match="no neighbour that votes"):
        model.predict([[5.0]])


# ------------------------------------------------------------------ the rest


def test_any_metric(data, rng):
    X, y = data
    Q = rng.normal(size=(30, 4))
    P = rng.normal(size=(4, 2))
    learned = ml.KNNClassifier(metric=Mahalanobis.from_factor(P)).fit(X, y)
    plain = ml.KNNClassifier().fit(X @ P, y)
    np.testing.assert_array_equal(learned.predict(Q), plain.predict(Q @ P))
    given = ml.KNNClassifier(metric="precomputed").fit(pairwise(X @ P), y)
    np.testing.assert_array_equal(given.predict(pairwise(Q @ P, X @ P)), plain.predict(Q @ P))


def test_many_classes_in_parts(data, monkeypatch):
    X, _ = data
    y = np.arange(120) % 50
    whole = ml.KNNClassifier(ties="nearest").fit(X, y)
    expected = whole.predict(X), whole.predict_proba(X)
    monkeypatch.setattr(classifier, "_VOTES", 50 * 7)
    np.testing.assert_array_equal(whole.predict(X), expected[0])
    np.testing.assert_array_equal(whole.predict_proba(X), expected[1])


def test_refusals(data):
    X, y = data
    with pytest.raises(ParameterError, match="k=121 neighbours of n_samples=120"):
        ml.KNNClassifier(k=121).fit(X, y)
    with pytest.raises(ParameterError, match="both k=2 and eps=1.0"):
        ml.KNNClassifier(k=2, eps=1.0).fit(X, y)
    with pytest.raises(ParameterError, match="'ties' parameter"):
        ml.KNNClassifier(ties="first").fit(X, y)
    with pytest.raises(ParameterError, match="'weights' parameter"):
        ml.KNNClassifier(weights="heavy").fit(X, y)
    with pytest.raises(ParameterError, match="continuous"):
        ml.KNNClassifier().fit(X, y + 0.5)
    with pytest.raises(NotFittedError):
        ml.KNNClassifier().predict(X)
    assert ml.KNNClassifier(k=120).fit(X, y).predict(X[:1]).tolist() == [0]


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, y = data
    model = ml.KNNClassifier().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ParameterError):
        model.fit(X, y, sample_weight=np.zeros(120))
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("weighted", [False, True])
def test_editing_the_data_does_not_edit_the_model(weighted, data):
    X, y = data[0].copy(), data[1].copy()
    w = np.ones(120) if weighted else None
    expected = ml.KNNClassifier().fit(*data).predict(data[0])
    model = ml.KNNClassifier().fit(X, y, sample_weight=w)
    X[:], y[:] = 0, 0  # before the first search
    if weighted:
        w[:] = 100
    np.testing.assert_array_equal(model.predict(data[0]), expected)


def test_grid_search_over_k_and_metric_precomputed_too(data):
    X, y = data
    grid = {"k": [1, 5, 15], "weights": ["uniform", "distance"]}
    search = GridSearchCV(ml.KNNClassifier(), {**grid, "metric": ["euclidean", "cosine"]}, cv=3)
    plain = GridSearchCV(ml.KNNClassifier(), grid, cv=3).fit(X, y)
    given = GridSearchCV(ml.KNNClassifier(metric="precomputed"), grid, cv=3).fit(pairwise(X), y)
    np.testing.assert_array_equal(
        given.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert search.fit(X, y).best_score_ >= plain.best_score_ > 0.6

"""KNNRegressor: means by hand and against scikit-learn, several targets, weights, outliers."""

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

import manifold_lab as ml
from manifold_lab.errors import GraphWarning, ParameterError
from manifold_lab.metrics import pairwise


@pytest.fixture
def data(rng):
    X = rng.normal(size=(150, 3))
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(scale=0.1, size=150)


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
def test_same_as_scikit_learn(weights, data, rng):
    X, y = data
    Q = rng.normal(size=(40, 3))
    for targets in (y, np.c_[y, -y, y**2]):
        ours = ml.KNNRegressor(k=6, weights=weights).fit(X, targets)
        peer = KNeighborsRegressor(6, weights=weights).fit(X, targets)
        found = ours.predict(Q)
        assert found.shape == (40, *targets.shape[1:])
        np.testing.assert_allclose(found, peer.predict(Q), rtol=1e-12, atol=1e-12)
        again = rng.permutation(targets)[:40]
        assert ours.score(Q, again) == pytest.approx(r2_score(again, found), rel=1e-12)


def test_score_with_weights(data, rng):
    X, y = data
    w = rng.random(150)
    model = ml.KNNRegressor(k=6).fit(X, y)
    expected = r2_score(y, model.predict(X), sample_weight=w)
    assert model.score(X, y, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_means_by_hand():
    X, y = [[0.0], [1.0], [2.0], [9.0]], [0, 10, 20, 1000]
    assert ml.KNNRegressor(k=2).fit(X, y).predict([[0.1], [1.9]]).tolist() == [5, 15]
    model = ml.KNNRegressor(k=2, weights="distance").fit(X, y)
    np.testing.assert_allclose(model.predict([[0.25], [1.0]]), [2.5, 10])  # 3:1, and a hit


def test_equal_targets_come_back_to_the_bit(rng):
    X = rng.normal(size=(50, 2))
    for value in (0.1, 1e8 + 0.1, -1e300):
        for weights in ("uniform", "distance"):
            model = ml.KNNRegressor(k=7, weights=weights).fit(X, np.full(50, value))
            assert (model.predict(X + 0.01) == value).all()


def test_the_type_of_the_targets_is_kept(data):
    X, y = data
    assert ml.KNNRegressor().fit(X, y.astype(np.float32)).predict(X).dtype == np.float32
    assert ml.KNNRegressor().fit(X.astype(np.float32), y).predict(X).dtype == np.float64
    assert ml.KNNRegressor().fit(X, np.arange(150)).predict(X).dtype == np.float64


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("how", [{"k": 4}, {"eps": 1.5, "outlier": np.nan}])
@pytest.mark.filterwarnings("ignore::manifold_lab.errors.GraphWarning")
def test_a_weight_is_a_number_of_copies(weights, how, data, rng):
    X, y = data
    w, Q = rng.integers(0, 4, size=150), rng.normal(size=(60, 3))
    model = ml.KNNRegressor(weights=weights, **how)
    weighted = model.fit(X, y, sample_weight=w).predict(Q)
    copied = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict(Q)
    np.testing.assert_allclose(weighted, copied, rtol=1e-10)


def test_the_last_neighbour_counts_in_part():
    model = ml.KNNRegressor(k=2).fit([[0.0], [1.0], [9.0]], [0, 8, 99], sample_weight=[1.5, 4, 1])
    assert model.predict([[0.1], [0.9]]).tolist() == [2, 8]


def test_a_sample_without_neighbours():
    model = ml.KNNRegressor(eps=1.0).fit([[0.0], [1.0]], [[3, 4], [5, 6]])
    with pytest.raises(ParameterError, match=r"1 of 2 rows have no neighbour .*rows 1\)"):
        model.predict([[0.0], [9.0]])
    model.set_params(outlier=np.nan).fit([[0.0], [1.0]], [[3, 4], [5, 6]])
    with pytest.warns(GraphWarning, match="outlier=nan"):
        found = model.predict([[0.5], [9.0]])
    np.testing.assert_array_equal(found, [[4, 5], [np.nan, np.nan]])
    with pytest.raises(ParameterError, match="'outlier' parameter"):
        ml.KNNRegressor(eps=1.0, outlier="none").fit([[0.0]], [1.0])


def test_precomputed(data, rng):
    X, y = data
    Q = rng.normal(size=(10, 3))
    given = ml.KNNRegressor(metric="precomputed").fit(pairwise(X), y)
    plain = ml.KNNRegressor().fit(X, y)
    np.testing.assert_array_equal(given.predict(pairwise(Q, X)), plain.predict(Q))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y[:-1], "X has 150 rows, y has 149"),
        (lambda y: np.where(y > 5, np.nan, y), "y contains NaN"),
        (lambda y: y + 1j, "Complex data not supported"),
        (lambda y: np.full(150, "a"), "use KNNClassifier"),
        (lambda y: y[:, None, None], "got an array of shape"),
        (lambda y: None, "requires y to be passed, but the target y is None"),
    ],
)
def test_targets_that_are_refused(change, message, data):
    X, y = data
    with pytest.raises(ParameterError, match=message):
        ml.KNNRegressor().fit(X, change(y))

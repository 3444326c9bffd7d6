"""Leave-one-out scores: one pass gives what a fit for each row and each k would."""

import numpy as np
import pytest

import manifold_lab as ml
from manifold_lab.errors import ParameterError
from manifold_lab.metrics import Mahalanobis, pairwise
from manifold_lab.neighbors import loo_score, searcher


@pytest.fixture
def data(rng):
    y = np.arange(45) % 3
    X = (rng.normal(size=(45, 2)) + y[:, None]).round(1)  # with ties
    return np.r_[X, X[:5]], np.r_[y, y[1:6]]  # and duplicates


def one_by_one(make, X, y, k):
    """Predict each row by a model of all the others."""
    rest = [np.delete(np.arange(len(X)), i) for i in range(len(X))]
    models = (make(k).fit(X[keep], y[keep]) for keep in rest)
    return np.array([model.predict(X[i : i + 1])[0] for i, model in enumerate(models)])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@pytest.mark.parametrize("ties", ["smallest", "nearest", "distance"])
def test_accuracy_is_that_of_one_fit_a_row(weights, ties, data):
    X, y = data

    def make(k):
        return ml.KNNClassifier(k=k, weights=weights, ties=ties)

    ks = [1, 4, 2, 17]
    expected = [np.mean(one_by_one(make, X, y, k) == y) for k in ks]
    np.testing.assert_allclose(loo_score(X, y, ks, weights=weights, ties=ties), expected)
    np.testing.assert_allclose(make(3).loo_score(X, y, ks), expected)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_r_squared_is_that_of_one_fit_a_row(weights, rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(scale=0.3, size=40)

    def make(k):
        return ml.KNNRegressor(k=k, weights=weights)

    def score(k):
        return 1 - ((one_by_one(make, X, y, k) - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()

    expected = [score(k) for k in (1, 3, 8)]
    np.testing.assert_allclose(loo_score(X, y, [1, 3, 8], weights=weights), expected)
    both = loo_score(X, np.c_[y, y], [1, 3, 8], weights=weights)
    np.testing.assert_allclose(both, expected)


def test_an_int_means_all_up_to_it(data):
    X, y = data
    np.testing.assert_array_equal(loo_score(X, y, 6), loo_score(X, y, [1, 2, 3, 4, 5, 6]))
    assert loo_score(X, y, 49).shape == (49,)


def test_the_neighbours_are_searched_once(data, monkeypatch):
    X, y = data
    calls = []
    real = searcher.Through.knn
    monkeypatch.setattr(
        searcher.Through, "knn", lambda self, Q, k: calls.append(k) or real(self, Q, k)
    )
    loo_score(X, y, 20)
    assert calls == [20]


def test_any_metric(data, rng):
    X, y = rng.normal(size=(50, 2)), data[1]  # without ties, which a map may break
    P = rng.normal(size=(2, 2))
    plain = loo_score(X @ P, y, 5)
    np.testing.assert_array_equal(loo_score(X, y, 5, metric=Mahalanobis.from_factor(P)), plain)
    D = pairwise(X @ P)
    np.testing.assert_array_equal(loo_score(D, y, 5, metric="precomputed"), plain)


def test_the_kind_is_found_or_given(data):
    X, y = data
    classes = loo_score(X, y, [3])
    np.testing.assert_array_equal(loo_score(X, y.astype(float), [3]), classes)
    numbers = loo_score(X, y, [3], kind="regressor")
    assert numbers != classes
    np.testing.assert_array_equal(ml.KNNRegressor().loo_score(X, y, [3]), numbers)


def test_the_model_is_left_alone(data):
    model = ml.KNNClassifier(k=7)
    model.loo_score(*data, [1])
    assert vars(model) == vars(ml.KNNClassifier(k=7))


@pytest.mark.parametrize(
    ("ks", "message"),
    [
        (0, "an int >= 1 and <= 49. Got 0"),
        (50, "an int >= 1 and <= 49. Got 50"),
        ([1, 50], "ks holds 50, but each k must be an int from 1 to 49"),
        ([1.5], "ks holds 1.5"),
        ([], "ks is empty"),
    ],
)
def test_ks_that_cannot_be(ks, message, data):
    with pytest.raises(ParameterError, match=message):
        loo_score(*data, ks)


def test_other_refusals(data):
    X, y = data
    with pytest.raises(ParameterError, match="has eps set"):
        ml.KNNClassifier(eps=1.0).loo_score(X, y, 3)
    with pytest.raises(ParameterError, match="'kind' parameter"):
        loo_score(X, y, 3, kind="both")
    with pytest.raises(ParameterError, match="no neighbour with a positive weight"):
        loo_score(X, y + 0.5, 3, weights=lambda d: 0 * d)
    assert not loo_score(X, y, 3, weights=lambda d: 0 * d).any()  # no vote, no hit

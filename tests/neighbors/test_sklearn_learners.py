"""scikit-learn's own checks of search and learners, by name, and its routing of weights."""

import collections
import functools
import inspect
from unittest import SkipTest

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, check_cv, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import manifold_lab as ml
from manifold_lab.metrics import pairwise

SEARCH = [
    ml.NearestNeighbors(k=5),
    ml.NearestNeighbors(eps=0.5, metric="manhattan"),
    ml.NearestNeighbors(k=6, metric="precomputed"),
]
CLASSIFIERS = [
    ml.KNNClassifier(k=5),
    ml.KNNClassifier(k=6, weights="distance", ties="nearest", metric="manhattan"),
]
REGRESSORS = [
    ml.KNNRegressor(k=5),
    ml.KNNRegressor(k=6, weights="distance", metric="chebyshev"),
    ml.KNNRegressor(k=5, metric="precomputed"),
]
EVERY = [*SEARCH, *CLASSIFIERS, *REGRESSORS]
every = pytest.mark.parametrize("model", EVERY, ids=repr)
KNOWN = (1, 9)
VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

# checks that a wrong tag would make disappear, and how many there are in all
WEIGHTED = {
    "check_all_zero_sample_weights_error",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
}
NOT_PRECOMPUTED = {  # scikit-learn has no matrices of distances for these
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_shape",
}
NAMES = {
    None: {"check_n_features_in_after_fitting", "check_positive_only_tag_during_fit"},
    "classifier": {
        "check_classifiers_classes",
        "check_classifiers_one_label",
        "check_classifiers_one_label_sample_weights",
        "check_classifiers_regression_target",
        "check_classifiers_train",
        "check_requires_y_none",
        "check_supervised_y_2d",
        "check_supervised_y_no_nan",
    },
    "regressor": {
        "check_regressor_multioutput",
        "check_regressors_int",
        "check_regressors_no_decision_function",
        "check_regressors_train",
        "check_requires_y_none",
        "check_supervised_y_2d",
        "check_supervised_y_no_nan",
    },
}
COUNTS = {  # (kind, precomputed) -> number of checks in the release we know
    (None, False): 41,
    (None, True): 43,
    ("classifier", False): 62,
    ("regressor", False): 60,
    ("regressor", True): 59,
}


def name_of(check):
    while isinstance(check, functools.partial):
        check = check.func
    return inspect.unwrap(check).__name__


@every
def test_the_checks_are_those_we_know(model):
    found = collections.Counter(name_of(check) for _, check in estimator_checks_generator(model))
    precomputed = model.metric == "precomputed"
    wanted = NAMES[model.kind] | (WEIGHTED if model.kind else set())
    if precomputed:
        wanted = (wanted - NOT_PRECOMPUTED) | {"check_nonsquare_error", "check_fit_non_negative"}
    if VERSION < KNOWN:
        pytest.skip(f"the names are those of scikit-learn {KNOWN}")
    assert wanted <= set(found)
    if VERSION == KNOWN:
        assert found.total() == COUNTS[model.kind, precomputed]


@pytest.mark.filterwarnings("ignore::manifold_lab.errors.ManifoldLabWarning")
@parametrize_with_checks(EVERY)
def test_check_estimator(estimator, check):
    try:
        check(estimator)
    except SkipTest as skip:
        pytest.fail(f"{name_of(check)} was skipped: {skip}")


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning")
@pytest.mark.parametrize("model", [SEARCH[0], CLASSIFIERS[0], REGRESSORS[0]], ids=repr)
def test_names_of_columns(model):
    estimator_checks.check_dataframe_column_names_consistency(type(model).__name__, clone(model))


@every
def test_tags_say_what_they_are(model):
    tags = get_tags(model)
    assert tags.estimator_type == model.kind
    assert is_classifier(model) is (model.kind == "classifier")
    assert is_regressor(model) is (model.kind == "regressor")
    assert tags.target_tags.required is (model.kind is not None)
    assert tags.target_tags.multi_output is (model.kind == "regressor")
    assert tags.input_tags.pairwise is (model.metric == "precomputed")
    assert tags.input_tags.positive_only is (model.metric == "precomputed")
    assert tags.non_deterministic is False
    assert tags.transformer_tags is None


# ------------------------------------------------------------------ routing of weights


@pytest.fixture
def data(rng):
    y = np.arange(60) % 2
    return rng.normal(size=(60, 3)) + y[:, None], y, rng.integers(1, 4, size=60)


@pytest.mark.parametrize("model", [ml.KNNClassifier(k=3), ml.KNNRegressor(k=3)], ids=repr)
def test_weights_are_routed_where_they_were_asked_for(model, data):
    X, y, w = data
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(model).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        search = GridSearchCV(asking, {"k": [1, 9]}, cv=3, error_score="raise")
        weighted = search.fit(X, y, sample_weight=w).cv_results_["mean_test_score"]
        half = clone(model).set_fit_request(sample_weight=True)
        half.set_score_request(sample_weight=False)
        fitted = cross_val_score(half, X, y, cv=3, params={"sample_weight": w})
        with pytest.raises(ValueError, match="sample_weight"):
            GridSearchCV(clone(model), {"k": [1]}, cv=3).fit(X, y, sample_weight=w)
    folds = list(check_cv(3, y, classifier=is_classifier(model)).split(X, y))

    def score(k, a, b, weights):
        return clone(model).set_params(k=k).fit(X[a], y[a], w[a]).score(X[b], y[b], weights)

    expected = [[score(k, a, b, w[b]) for a, b in folds] for k in (1, 9)]
    np.testing.assert_allclose(weighted, np.mean(expected, axis=1))
    np.testing.assert_allclose(fitted, [score(3, a, b, None) for a, b in folds])


def test_requests_survive_clone_and_fit(data):
    X, y, _ = data
    model = ml.KNNClassifier().set_fit_request(sample_weight="copies")
    for twin in (clone(model), model.fit(X, y)):
        assert twin.get_metadata_routing().fit.requests == {"sample_weight": "copies"}
        assert twin.get_metadata_routing().score.requests == {"sample_weight": None}
    assert ml.KNNClassifier().get_metadata_routing().fit.requests == {"sample_weight": None}


def test_weights_through_a_pipeline(data):
    X, y, w = data
    pipe = make_pipeline(StandardScaler(), ml.KNNClassifier(k=4))
    pipe.fit(X, y, knnclassifier__sample_weight=w)
    Z = pipe[0].transform(X)
    expected = ml.KNNClassifier(k=4).fit(Z, y, sample_weight=w).predict(Z)
    np.testing.assert_array_equal(pipe.predict(X), expected)


def test_cross_validation_of_a_precomputed_matrix(data):
    X, y, _ = data
    given = cross_val_score(ml.KNNClassifier(metric="precomputed"), pairwise(X), y, cv=4)
    np.testing.assert_array_equal(given, cross_val_score(ml.KNNClassifier(), X, y, cv=4))

"""scikit-learn's protocol: its own checks, what they do not see, and its tools around ours."""

import collections
import functools
import inspect
import os
import subprocess
import sys
from numbers import Integral
from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from small_reducers import Axes, Bent, Means, Recall

import manifold_lab as ml
from manifold_lab.checks import BOOL, SEED, Float, Int, OneOf
from manifold_lab.errors import DataConversionWarning, ParameterError

BUILT_IN = {
    record.name: ml.get(record.name) for record in ml.available() if record.origin == "builtin"
}

# instances with parameters that suit scikit-learn's samples of ten rows; cls() for the others
TABLE = {
    "pca": [
        {},
        {"n_components": 2},
        {"n_components": 0.9, "whiten": True},
        {"n_components": 1, "solver": "randomized"},
        {"solver": "covariance"},
        {"solver": "gram"},
    ],
}
INSTANCES = [cls(**params) for name, cls in BUILT_IN.items() for params in TABLE.get(name, [{}])]
SMALL = [Axes(), Bent(), Means(), Recall()]
EVERY = [*INSTANCES, *SMALL]
TRANSFORMERS = [model for model in EVERY if hasattr(model, "transform")]
SUPERVISED = [model for model in EVERY if model.supervised]

every = pytest.mark.parametrize("model", EVERY, ids=repr)
transformers = pytest.mark.parametrize("model", TRANSFORMERS, ids=repr)
poor_results_are_fine = pytest.mark.filterwarnings("ignore::manifold_lab.errors.ManifoldLabWarning")


@pytest.fixture
def data(rng):
    """Two overlapping classes in five dimensions."""
    y = np.arange(60) % 2
    return rng.normal(size=(60, 5)) * [3, 2, 1, 0.7, 0.4] + y[:, None], y


# ------------------------------------------------------------------ check_estimator

EVERYONE = [
    "check_array_api_input",
    "check_complex_data",
    "check_dict_unchanged",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimator_tags_renamed",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_get_params_invariance",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_mixin_order",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_set_params",
    "check_valid_tag_types",
]
THAT_TRANSFORM = [
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_general",
    "check_transformer_n_iter",
    "check_transformer_preserve_dtypes",
    "check_transformers_unfitted",
]
WITHOUT_N_ITER = ("Isomap", "KernelPCA", "LocallyLinearEmbedding")  # by name, in scikit-learn
PAIRWISE = ["check_nonsquare_error"]
LABELLED = ["check_requires_y_none"]
KNOWN = (1, 9)
VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def name_of(check):
    while isinstance(check, functools.partial):
        check = check.func
    return inspect.unwrap(check).__name__


def expected_names(model):
    names = list(EVERYONE)
    if hasattr(model, "transform"):
        names += THAT_TRANSFORM
        if type(model).__name__ in WITHOUT_N_ITER:
            names.remove("check_transformer_n_iter")
    return collections.Counter(names + PAIRWISE * model.pairwise + LABELLED * model.supervised)


@every
def test_the_checks_are_those_we_know(model):
    """A wrong tag makes checks disappear, and everything is green."""
    found = collections.Counter(name_of(check) for _, check in estimator_checks_generator(model))
    if VERSION < KNOWN:
        pytest.skip(f"the names are those of scikit-learn {KNOWN}")
    if VERSION == KNOWN:
        assert found == expected_names(model)
    else:
        assert found >= expected_names(model)


@poor_results_are_fine
@parametrize_with_checks(EVERY)
def test_check_estimator(estimator, check):
    try:
        check(estimator)
    except SkipTest as skip:
        pytest.fail(f"{name_of(check)} was skipped: {skip}")


# ------------------------------------------------------------------ what it keeps for itself

OWN_CHECKS = [
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@poor_results_are_fine
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning")
@every
@pytest.mark.parametrize("name", OWN_CHECKS)
def test_checks_of_scikit_learns_own_estimators(name, model):
    getattr(estimator_checks, name)(type(model).__name__, clone(model))


def constraints(model):
    """Translate our rules of the parameters into scikit-learn's."""
    found = {}
    for name, field in type(model).__dataclass_fields__.items():
        rules, strings, allowed = [], set(), field.metadata["allowed"]
        for rule in allowed if allowed != SEED else ():
            if rule is BOOL:
                rules.append("boolean")
            elif isinstance(rule, OneOf):
                strings.update(value for value in rule.values if isinstance(value, str))
                rules += [value for value in rule.values if not isinstance(value, str)]
            elif isinstance(rule, Int):
                ends = {(True, True): "neither", (False, True): "left", (True, False): "right"}
                closed = ends.get((rule.low is None, rule.high is None), "both")
                rules.append(Interval(Integral, rule.low, rule.high, closed=closed))
            elif isinstance(rule, Float):
                rules.append(Interval(RealNotInt, rule.low, rule.high, closed="neither"))
        rules += [StrOptions(strings)] if strings else []
        found[name] = rules or ["random_state"]
    return found


@poor_results_are_fine
@every
def test_check_param_validation(model, monkeypatch):
    monkeypatch.setattr(type(model), "_parameter_constraints", constraints(model), raising=False)
    monkeypatch.setattr(estimator_checks, "InvalidParameterError", ParameterError)
    estimator_checks.check_param_validation(type(model).__name__, clone(model))


@poor_results_are_fine
@pytest.mark.parametrize("model", [m for m in EVERY if hasattr(m, "partial_fit")], ids=repr)
def test_check_partial_fit(model):
    estimator_checks.check_estimators_partial_fit_n_features(type(model).__name__, clone(model))


# ------------------------------------------------------------------ what no check sees


@every
def test_tags_say_what_the_flags_say(model):
    tags = get_tags(model)
    assert tags.estimator_type is None
    assert tags.requires_fit is True
    assert tags.non_deterministic is False
    assert tags.no_validation is False
    assert tags._skip_test is False
    assert tags.target_tags.required is model.supervised
    assert tags.input_tags.sparse is model.accepts_sparse
    assert tags.input_tags.pairwise is model.pairwise
    assert tags.input_tags.allow_nan is False
    if hasattr(model, "transform"):
        assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    else:
        assert tags.transformer_tags is None
    assert not is_classifier(model)
    assert not is_regressor(model)


@pytest.mark.parametrize("model", SUPERVISED, ids=repr)
def test_labels_of_a_supervised_transformer(model, data):
    X, y = data
    for bad, message in (
        (None, "requires y to be passed, but the target y is None"),
        (y[:-1], "inconsistent numbers of samples"),
        (np.where(y == 0, np.nan, 1.0), "y contains NaN"),
        (y + 0.5, "continuous"),
        (np.c_[y, y], "y should be a 1d array"),
    ):
        fresh = clone(model)
        with pytest.raises(ValueError, match=message):
            fresh.fit(X, bad)
        with pytest.raises(NotFittedError):
            check_is_fitted(fresh)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        column = clone(model).fit_transform(X, y[:, None])
    np.testing.assert_array_equal(column, clone(model).fit_transform(X, y))


@every
def test_names_of_an_earlier_fit_are_forgotten(model, data):
    X, y = data
    model = clone(model).fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert list(model.feature_names_in_) == list("abcde")
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@transformers
def test_editing_the_training_data_does_not_edit_the_model(model, data):
    X, y = data
    given, labels = X.copy(), y.copy()
    model = clone(model).fit(given, labels)
    before = model.transform(X)
    given[:], labels[:] = 1e6, 0
    np.testing.assert_array_equal(model.transform(X), before)


@every
def test_set_output_survives_clone(model, data):
    X, y = data
    model = clone(clone(model).set_output(transform="pandas"))
    assert isinstance(model.fit_transform(X, y), pd.DataFrame)


@every
def test_iterations_are_counted(model, data):
    if "max_iter" not in model.get_params():
        assert not hasattr(clone(model).fit(*data), "n_iter_")
        return
    assert clone(model).fit(*data).n_iter_ >= 1


@transformers
def test_a_second_transform_gives_the_same_bits(model, data):
    model = clone(model).fit(*data)
    np.testing.assert_array_equal(model.transform(data[0]), model.transform(data[0]))


@every
def test_a_failed_fit_does_not_look_fitted(model, data):
    X, y = data
    model = clone(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 4, np.nan, X), y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert vars(model) == vars(clone(model))


@every
def test_fit_does_not_mind_the_order_of_rows(model, data, rng):
    X, y = data
    order = rng.permutation(len(X))
    Z = clone(model).fit_transform(X, y)
    P = clone(model).fit_transform(X[order], y[order])
    np.testing.assert_allclose(np.abs(P), np.abs(Z[order]), atol=1e-7 * np.abs(Z).max())


@every
def test_dates_are_not_numbers(model):
    X = np.datetime64("2024-01-01") + np.arange(50).reshape(10, 5)
    with pytest.raises(ValueError, match="dates or durations"):
        clone(model).fit(X, np.arange(10) % 2)


# ------------------------------------------------------------------ scikit-learn's tools


@transformers
def test_pipeline(model, data):
    X, y = data
    pipe = make_pipeline(StandardScaler(), clone(model), KNeighborsClassifier(3)).fit(X, y)
    S = StandardScaler().fit_transform(X)
    Z = clone(model).fit_transform(S, y)
    wanted = KNeighborsClassifier(3).fit(Z, y).predict(clone(model).fit(S, y).transform(S))
    np.testing.assert_array_equal(pipe.predict(X), wanted)
    assert (cross_val_score(pipe, X, y, cv=3) >= 0.3).all()


def test_pipeline_of_names(data):
    X, y = data
    pipe = Pipeline([("scale", StandardScaler()), ("axes", Axes())]).set_output(transform="pandas")
    Z = pipe.fit_transform(pd.DataFrame(X, columns=list("abcde")), y)
    assert list(Z.columns) == list(pipe.get_feature_names_out()) == ["axes0", "axes1"]


def test_pipeline_with_memory(data, tmp_path):
    X, y = data
    pipe = make_pipeline(
        BUILT_IN["pca"](n_components=2), KNeighborsClassifier(3), memory=str(tmp_path)
    )
    assert pipe.fit(X, y).score(X, y) == pipe.fit(X, y).score(X, y) > 0.6
    assert any(tmp_path.rglob("*.pkl"))


def test_a_method_without_transform_may_be_the_last_step(data):
    X, _ = data
    Z = make_pipeline(StandardScaler(), Recall()).fit_transform(X)
    np.testing.assert_array_equal(Z, Recall().fit_transform(StandardScaler().fit_transform(X)))
    with pytest.raises(TypeError, match="intermediate steps"):
        make_pipeline(Recall(), StandardScaler()).fit(X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(data, n_jobs):
    X, y = data
    pipe = Pipeline([("pca", BUILT_IN["pca"]()), ("knn", KNeighborsClassifier(3))])
    grid = {"pca__n_components": [1, 2, 5], "pca__solver": np.array(["svd", "covariance"])}
    search = GridSearchCV(pipe, grid, cv=3, n_jobs=n_jobs, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 6
    wanted = [
        cross_val_score(clone(pipe).set_params(**params), X, y, cv=3).mean()
        for params in search.cv_results_["params"]
    ]
    np.testing.assert_allclose(scores, wanted)
    assert search.best_estimator_.n_features_in_ == 5


def test_a_faulty_parameter_in_a_grid_is_a_fit_failure(data):
    search = GridSearchCV(
        make_pipeline(BUILT_IN["pca"](), KNeighborsClassifier(3)),
        {"pca__n_components": [-1]},
        error_score="raise",
    )
    with pytest.raises(ParameterError, match="'n_components' parameter of PCA"):
        search.fit(*data)


def test_column_transformer(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    pca = BUILT_IN["pca"](n_components=1)
    union = ColumnTransformer(
        [("left", pca, ["a", "b"]), ("right", pca, ["d", "e"])], remainder="passthrough"
    )
    Z = union.set_output(transform="pandas").fit_transform(frame, y)
    assert list(Z.columns) == ["left__pca0", "right__pca0", "remainder__c"]
    alone = BUILT_IN["pca"](n_components=1).fit_transform(X[:, :2])
    np.testing.assert_array_equal(Z["left__pca0"], alone[:, 0])
    pd.testing.assert_frame_equal(union.transform(frame), Z)


def test_feature_union(data):
    X, y = data
    union = FeatureUnion([("one", BUILT_IN["pca"](n_components=1)), ("two", Means())])
    Z = union.fit_transform(X, y)
    assert Z.shape == (60, 3)
    np.testing.assert_array_equal(Z[:, 1:], Means().fit_transform(X, y))
    assert list(union.get_feature_names_out()) == ["one__pca0", "two__means0", "two__means1"]


@every
def test_clone_is_unfitted_and_equal(model, data):
    fitted = clone(model).fit(*data)
    twin = clone(fitted)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)
    check_is_fitted(fitted)


def test_global_output_configuration(data):
    X, _ = data
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(Axes().fit_transform(X), pd.DataFrame)
        plain = Axes().set_output(transform="default").fit_transform(X)
    assert isinstance(plain, np.ndarray)
    assert isinstance(Axes().fit_transform(X), np.ndarray)


@transformers
def test_joblib_memory_maps(model, data, tmp_path):
    X, y = data
    model = clone(model).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.transform(X), model.transform(X))


def test_sparse_through_a_pipeline(data):
    X, y = data
    S = sparse.csr_matrix(np.where(np.abs(X) < 1, 0, X))
    pca = BUILT_IN["pca"](n_components=2)
    pipe = make_pipeline(StandardScaler(with_mean=False), pca, KNeighborsClassifier(3))
    dense = clone(pipe).fit(S.toarray(), y).predict_proba(S.toarray())
    np.testing.assert_array_equal(pipe.fit(S, y).predict_proba(S), dense)


@pytest.mark.parametrize("bases", [(TransformerMixin,), (TransformerMixin, BaseEstimator)])
def test_a_user_may_mix_in_scikit_learns_classes(bases, data):
    X, y = data
    PCA = BUILT_IN["pca"]
    Mixed = type("Mixed", (*bases, PCA), {})
    model = clone(Mixed(n_components=2)).set_output(transform="pandas")
    Z = model.fit_transform(X, y)
    np.testing.assert_array_equal(Z.to_numpy(), PCA(n_components=2).fit_transform(X))
    assert list(Z.columns) == ["mixed0", "mixed1"]


def test_html_with_scikit_learn(data):
    model = BUILT_IN["pca"](n_components=2)
    for html in (
        model._repr_html_(),
        model._repr_mimebundle_()["text/html"],
        make_pipeline(StandardScaler(), model)._repr_html_(),
    ):
        assert "sk-estimator" in html
        assert "PCA" in html
    assert "Not fitted" in model._repr_html_()
    assert "Not fitted" not in model.fit(*data)._repr_html_()


def test_repr_inside_a_pipeline():
    assert "PCA(n_components=2)" in repr(make_pipeline(BUILT_IN["pca"](n_components=2)))


# ------------------------------------------------------------------ without scikit-learn


def run(code):
    """Run ``code`` in a fresh interpreter and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bare_import_loads_next_to_nothing():
    out = run(
        "import sys, manifold_lab\n"
        "tops = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*sorted(tops & {'numpy', 'scipy', 'sklearn', 'pandas', 'polars', 'joblib'}))\n"
        "print(*sorted(name for name in sys.modules if name.startswith('manifold_lab')))\n"
    )
    assert out == "\nmanifold_lab\n"


@pytest.mark.parametrize("name", BUILT_IN)
def test_fit_and_transform_load_no_other_library(name):
    params = TABLE.get(name, [{}])[0]
    out = run(
        "import sys, numpy as np, manifold_lab as ml\n"
        "X = np.random.default_rng(0).normal(size=(60, 5))\n"
        f"model = ml.get({name!r})(**{params!r}).fit(X, np.arange(60) % 2)\n"
        "model.transform(X), repr(model), model._repr_html_(), model.get_feature_names_out()\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "wanted = {'sklearn', 'pandas', 'polars', 'joblib', 'threadpoolctl', 'matplotlib'}\n"
        "print(sorted(loaded & wanted), 'manifold_lab.testing' in sys.modules)\n"
    )
    assert out == "[] False\n"


def test_frames_without_scikit_learn():
    out = run(
        "import sys, numpy as np, pandas, manifold_lab as ml\n"
        "X = pandas.DataFrame(np.eye(3) + 1, columns=['a', 'b', 'c'], index=[7, 8, 9])\n"
        "Z = ml.get('pca')(n_components=1).set_output(transform='pandas').fit_transform(X)\n"
        "print(type(Z).__name__, list(Z.columns), list(Z.index), 'sklearn' in sys.modules)\n"
    )
    assert out == "DataFrame ['pca0'] [7, 8, 9] False\n"


def test_scikit_learn_loaded_later_is_noticed():
    out = run(
        "import manifold_lab as ml\n"
        "PCA = ml.get('pca')\n"
        "import sklearn.exceptions, sklearn.base\n"
        "try:\n"
        "    PCA().transform([[1.0]])\n"
        "except sklearn.exceptions.NotFittedError as error:\n"
        "    print(error)\n"
        "print(sklearn.base.clone(PCA(whiten=True)))\n"
    )
    assert out == ("This PCA instance is not fitted yet. Call 'fit' first.\nPCA(whiten=True)\n")


def test_a_joblib_file_of_a_model_opens_without_scikit_learn(tmp_path, data):
    X, _ = data
    model = BUILT_IN["pca"](n_components=2).fit(X)
    joblib.dump(model, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Z.npy", model.transform(X))
    out = run(
        "import sys, joblib, numpy as np\n"
        f"home = {str(tmp_path)!r}\n"
        "model = joblib.load(home + '/model')\n"
        "Z = model.transform(np.load(home + '/X.npy'))\n"
        "print(np.array_equal(Z, np.load(home + '/Z.npy')), 'sklearn' in sys.modules)\n"
    )
    assert out == "True False\n"

"""Estimator and Reducer: parameters, the fit template, names, containers, and faulty hooks."""

import copy
import pickle
import sys
import typing

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from small_reducers import Axes, Bent, Means, Recall

from manifold_lab.base import Estimator, Reducer, param
from manifold_lab.checks import Float, Int
from manifold_lab.errors import (
    DataConversionWarning,
    ManifoldLabError,
    MissingExtraError,
    NotFittedError,
    ParameterError,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 4)) * [4.0, 3.0, 2.0, 1.0]


class Holder(Reducer):
    """Hold another reducer."""

    inner: Reducer = param(None)
    k: int = param(3, Int(1))

    def _fit(self, X, y):
        return X[:, :1]


# ------------------------------------------------------------------ parameters


def test_parameters_are_keywords_with_defaults():
    model = Axes(scale=2.0)
    assert model.get_params() == {
        "n_components": 2,
        "scale": 2.0,
        "flip": False,
        "random_state": None,
        "n_jobs": None,
    }
    assert vars(model) == model.get_params()
    with pytest.raises(TypeError):
        Axes(2)
    with pytest.raises(TypeError, match="shade"):
        Axes(shade=1)


def test_the_class_attribute_is_the_default():
    assert Axes.n_components == 2
    assert Axes.scale == 1.0


def test_a_parameter_needs_an_annotation():
    with pytest.raises(TypeError, match="'k' is a field but has no type annotation"):

        class Wrong(Reducer):
            k = param(3)


def test_a_subclass_adds_and_overrides_parameters():
    class More(Axes):
        """Have more."""

        depth: int = param(1, Int(0))
        scale: float = param(5.0, Float(0.0))

    assert list(More().get_params()) == [*Axes().get_params(), "depth"]
    assert More().scale == 5.0
    assert Axes().scale == 1.0
    with pytest.raises(ParameterError, match="'depth' parameter of More"):
        More(depth=-1).fit(np.eye(4))


def test_a_class_variable_is_no_parameter():
    class Noted(Axes):
        """Have a note."""

        note: typing.ClassVar[str] = "text"

    assert "note" not in Noted().get_params()


def test_postponed_annotations_work():
    names = {}
    exec(
        "from __future__ import annotations\n"
        "from manifold_lab.base import Reducer, param\n"
        "class Later(Reducer):\n"
        "    k: int = param(4)\n",
        names,
    )
    assert names["Later"](k=5).get_params() == {"k": 5}


def test_repr_shows_what_differs_from_the_default_and_evaluates():
    assert repr(Axes()) == "Axes()"
    assert repr(Axes(n_components=2)) == "Axes()"
    model = Axes(n_components=3, flip=True)
    assert repr(model) == "Axes(n_components=3, flip=True)"
    assert eval(repr(model)).get_params() == model.get_params()
    assert repr(Holder(inner=Axes(scale=2.0))) == "Holder(inner=Axes(scale=2.0))"
    assert repr(Axes(flip=0)) == "Axes(flip=0)"  # equal to False, but not the same
    assert repr(Axes(scale=np.array([1.0, 2.0]))) == "Axes(scale=array([1., 2.]))"


def test_nested_parameters():
    model = Holder(inner=Holder(inner=Axes()))
    assert model.get_params()["inner__inner__scale"] == 1.0
    assert "inner__inner__scale" not in model.get_params(deep=False)
    assert model.set_params(inner__inner__scale=3.0, k=7) is model
    assert model.inner.inner.scale == 3.0
    assert model.k == 7


def test_a_nested_estimator_is_set_before_its_parameters():
    for order in (("inner", "inner__scale"), ("inner__scale", "inner")):
        values = {"inner": Axes(), "inner__scale": 4.0}
        model = Holder(inner=Bent()).set_params(**{name: values[name] for name in order})
        assert type(model.inner) is Axes
        assert model.inner.scale == 4.0


def test_set_params_refuses_before_it_sets():
    model = Axes()
    with pytest.raises(ParameterError) as caught:
        model.set_params(scale=9.0, shade=1)
    assert str(caught.value) == (
        "Invalid parameter 'shade' for estimator Axes. Valid parameters are: "
        "['flip', 'n_components', 'n_jobs', 'random_state', 'scale']."
    )
    assert model.scale == 1.0
    with pytest.raises(ParameterError, match=r"Cannot set 'k__depth': 'k' of Holder is 3"):
        Holder().set_params(k__depth=1)


def test_parameters_are_checked_at_fit_all_at_once():
    model = Axes(n_components=0, scale=-1.0, flip="no")
    with pytest.raises(ParameterError) as caught:
        model.fit(np.eye(3))
    assert str(caught.value) == (
        "The 'n_components' parameter of Axes must be an int >= 1. Got 0 instead. "
        "The 'scale' parameter of Axes must be a float in (0.0, inf). Got -1.0 instead. "
        "The 'flip' parameter of Axes must be a bool. Got 'no' instead."
    )
    with pytest.raises(ParameterError, match="n_components"):
        model.partial_fit(np.eye(3))


def test_a_parameter_whose_name_ends_in_an_underscore_survives_fit(X):
    class Ridge(Axes):
        """Have a parameter with the name of a keyword."""

        lambda_: float = param(1.0, Float(0.0))

        def _fit(self, X, y):
            super()._fit(X, y)
            self.used_ = self.lambda_

    model = Ridge(lambda_=3.0).fit(X)
    assert model.used_ == 3.0
    assert model.get_params()["lambda_"] == 3.0


def test_a_user_subclass_may_write_its_own_init(X):
    class Own(Axes):
        """Have an __init__ of its own."""

        def __init__(self, n_components=1, offset=0.0):
            super().__init__(n_components=n_components)
            self.offset = offset

        def _transform(self, X):
            return super()._transform(X) + self.offset

    model = Own(offset=2.0)
    assert model.get_params() == {"n_components": 1, "offset": 2.0}
    assert repr(model) == "Own(offset=2.0)"
    Z = model.fit_transform(X)
    np.testing.assert_allclose(Z, Axes(n_components=1).fit_transform(X) + 2.0)
    with pytest.raises(ParameterError, match="n_components"):
        Own(n_components=0).fit(X)


def test_an_init_without_parameters():
    assert Estimator().get_params() == {}
    assert repr(Reducer()) == "Reducer()"


# ------------------------------------------------------------------ fit


def test_a_linear_method_keeps_components_and_no_embedding(X):
    model = Axes().fit(X)
    assert model.n_components_ == 2
    assert not hasattr(model, "embedding_")
    np.testing.assert_allclose(model.transform(X), (X - X.mean(axis=0)) @ model.components_.T)


def test_a_method_that_returns_its_embedding_keeps_it(X):
    model = Bent()
    Z = model.fit_transform(X)
    np.testing.assert_array_equal(model.embedding_, Z)
    Z[:] = 0.0
    assert model.embedding_.any()
    assert model.n_components_ == 2


def test_fit_sets_the_number_and_the_names_of_columns(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = Axes().fit(frame)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.dtype == object
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert not hasattr(model.fit(X), "feature_names_in_")


class Failing(Axes):
    """Fail when told to, after all the work is done."""

    error: object = param(None)

    def _fit(self, X, y):
        super()._fit(X, y)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt, SystemExit])
def test_a_failed_fit_leaves_the_object_as_it_was(X, error):
    for model in (Failing(), Failing().fit(X)):
        before = dict(vars(model))
        model.error = error("now")
        with pytest.raises(error):
            model.fit(2.0 * X[:, :3])
        model.error = None
        assert vars(model) == before  # the very same arrays


def test_fit_transform_is_adopted_only_when_it_is_complete(X):
    model = Failing().fit(X)
    before = dict(vars(model))
    model.__class__ = type("Later", (Failing,), {"_transform": lambda self, X: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        model.fit_transform(2.0 * X)
    assert vars(model) == before


def test_a_stray_error_of_a_hook_is_noted_as_its_own(X):
    with pytest.raises(ZeroDivisionError) as caught:
        Failing(error=ZeroDivisionError("?")).fit(X)
    (note,) = caught.value.__notes__
    assert note.startswith("Raised by _fit of ")
    assert note.endswith("test_base.Failing.")


def test_an_error_of_ours_needs_no_note(X):
    with pytest.raises(ParameterError) as caught:
        Axes(n_components=9).fit(X)
    assert not hasattr(caught.value, "__notes__")


def test_an_interrupted_partial_fit_leaves_the_object_as_it_was(X):
    class Interrupted(Axes):
        """Be interrupted in the second batch."""

        def _partial_fit(self, X, y):
            again = hasattr(self, "scatter_")
            super()._partial_fit(X, y)
            if again:
                raise KeyboardInterrupt

    model = Interrupted().partial_fit(X)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(2.0 * X)
    assert vars(model) == before


def test_extra_arguments_reach_the_hook(X):
    class Weighted(Axes):
        """Take weights."""

        def fit(self, X, y=None, *, weights=None):
            self._run_fit(X, y, weights=weights)
            return self

        def _fit(self, X, y, weights):
            super()._fit(X, y)
            self.weights_ = weights

    assert Weighted().fit(X, weights="heavy").weights_ == "heavy"


def test_float32_in_float32_out(X):
    for model in (Axes(), Bent(), Recall()):
        assert model.fit_transform(X.astype(np.float32)).dtype == np.float32
        assert model.fit_transform(X.astype(int)).dtype == np.float64
    model = Axes().fit(X)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.inverse_transform(np.ones((2, 2), np.float32)).dtype == np.float32


def test_too_few_rows():
    with pytest.raises(ParameterError, match=r"1 sample\(s\).*minimum of 2 is required by Axes"):
        Axes().fit([[1.0, 2.0]])


def test_labels_become_class_numbers():
    class Spy(Means):
        """Keep what comes in."""

        def _fit(self, X, y):
            super()._fit(X, y)
            self.codes_ = y

    model = Spy().fit(np.eye(4), ["b", "a", "b", "a"])
    assert list(model.classes_) == ["a", "b"]
    assert list(model.codes_) == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([0, 1, 0], "X has 4 rows, y has 3"),
        ([0.0, np.nan, 1.0, 1.0], "y contains NaN"),
        ([0.1, 0.2, 0.3, 0.4], "continuous"),
    ],
)
def test_faulty_labels_leave_the_object_unfitted(y, message):
    model = Means()
    with pytest.raises(ParameterError, match=message):
        model.fit(np.eye(4), y)
    assert vars(model) == {"n_components": 2}


def test_a_column_of_labels_warns_at_the_users_line():
    with pytest.warns(DataConversionWarning) as seen:
        Means().fit(np.eye(4), [[0], [1], [0], [1]])
    assert seen[0].filename == __file__


def test_labels_of_an_unsupervised_method_are_not_even_looked_at(X):
    np.testing.assert_array_equal(
        Axes().fit(X, object()).components_, Axes().fit(X, None).components_
    )


# ------------------------------------------------------------------ transform and back


def test_hooks_bring_methods_into_being():
    assert hasattr(Axes(), "transform")
    assert hasattr(Axes(), "inverse_transform")
    assert hasattr(Axes(), "partial_fit")
    assert hasattr(Bent(), "transform")
    for name in ("inverse_transform", "partial_fit"):
        assert not hasattr(Bent(), name)
    for name in ("transform", "inverse_transform", "partial_fit"):
        assert not hasattr(Recall(), name)
    with pytest.raises(AttributeError, match="Recall has no 'transform'"):
        Recall().transform(np.eye(2))
    assert Reducer.transform.__doc__.startswith("Map new samples")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("transform", (np.eye(3),)),
        ("inverse_transform", (np.eye(2),)),
        ("get_feature_names_out", ()),
    ],
)
def test_use_before_fit(name, args):
    with pytest.raises(NotFittedError, match=r"This Axes instance is not fitted yet. Call 'fit'"):
        getattr(Axes(), name)(*args)


def test_transform_wants_the_columns_of_fit(X):
    model = Axes().fit(X)
    with pytest.raises(ParameterError) as caught:
        model.transform(X[:, :1])
    assert str(caught.value) == "X has 1 features, but Axes is expecting 4 features as input."
    with pytest.raises(ParameterError, match="Reshape your data"):
        model.transform(X[0])


def test_transform_takes_a_single_row(X):
    model = Axes().fit(X)
    np.testing.assert_allclose(model.transform(X[:1]), model.transform(X)[:1])


def test_inverse_transform_wants_the_columns_of_transform(X):
    model = Axes(n_components=4).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)
    with pytest.raises(ParameterError, match="Z has 3 columns, but Axes has 4 components"):
        model.inverse_transform(X[:, :3])
    with pytest.raises(ParameterError, match="Input Z contains NaN"):
        model.inverse_transform(np.full((1, 4), np.nan))


def test_results_are_no_views_of_the_input():
    class Same(Reducer):
        """Change nothing."""

        def _fit(self, X, y):
            return X

        def _transform(self, X):
            return X

        def _inverse_transform(self, Z):
            return Z

    X = np.eye(3)
    model = Same().fit(X)
    for result in (
        model.embedding_,
        model.transform(X),
        model.inverse_transform(X),
        model.fit_transform(X),
    ):
        assert not np.shares_memory(result, X)


def test_partial_fit_of_parts_is_fit_of_the_whole(X):
    whole, parts = Axes().fit(X), Axes()
    for part in np.array_split(X, 4):
        assert parts.partial_fit(part) is parts
    assert parts.n_samples_ == 30
    assert parts.n_components_ == 2
    np.testing.assert_allclose(parts.mean_, whole.mean_)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-12)


def test_partial_fit_checks_columns_and_names(X):
    model = Axes().partial_fit(pd.DataFrame(X, columns=list("abcd")))
    before = dict(vars(model))
    with pytest.raises(ParameterError, match="feature names should match"):
        model.partial_fit(pd.DataFrame(X, columns=list("abce")))
    with pytest.raises(ParameterError, match="expecting 4 features"):
        Axes().partial_fit(X).partial_fit(X[:, :2])
    assert vars(model) == before


def test_sparse_is_refused_unless_claimed(X):
    with pytest.raises(TypeError, match="Axes does not accept sparse input"):
        Axes().fit(sparse.csr_array(X))


# ------------------------------------------------------------------ faulty hooks


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda X: X[:-1], r"it produced shape \(29, 4\), wanted an array of 30 rows"),
        (lambda X: X[:, 0], r"it produced shape \(30,\)"),
        (lambda X: X.tolist(), "it produced list"),
        (lambda X: np.full_like(X, np.nan), r"NaN or infinity \(first in row 0\) from finite"),
        (lambda X: X + 1j, "values of type complex128, wanted real numbers"),
        (lambda X: X.astype(object), "values of type object"),
        (lambda X: None, "returned no embedding and set no components_"),
    ],
)
def test_a_faulty_method_is_named_and_not_believed(X, result, message):
    class Faulty(Reducer):
        """Produce nonsense."""

        def _fit(self, X, y):
            return result(X)

    model = Faulty()
    with pytest.raises(ManifoldLabError, match=message) as caught:
        model.fit(X)
    assert "Faulty is at fault" in str(caught.value)
    assert vars(model) == {}


def test_a_faulty_transform_is_named(X):
    class Wide(Axes):
        """Give a column too many."""

        def _transform(self, X):
            return np.ones((len(X), 3))

    with pytest.raises(ManifoldLabError, match="Wide is at fault: it produced 3 columns, wanted 2"):
        Wide().fit(X).transform(X)
    with pytest.raises(ManifoldLabError, match="wanted 2"):
        Wide().fit_transform(X)


def test_what_float32_cannot_hold_is_a_fault():
    class Large(Axes):
        """Give large numbers."""

        def _transform(self, X):
            return super()._transform(X.astype(np.float64)) * 1e39

    with pytest.raises(ManifoldLabError, match="NaN or infinity"):
        Large().fit_transform(np.eye(3, dtype=np.float32))


def test_a_class_without_fit_says_what_is_missing(X):
    with pytest.raises(NotImplementedError, match=r"Bare must define _fit\(self, X, y\)"):
        type("Bare", (Reducer,), {})().fit(X)


# ------------------------------------------------------------------ names of features


def frame(X, names):
    return pd.DataFrame(X, columns=names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (list("dcba"), "Feature names must be in the same order as they were in fit.\n"),
        (list("abcz"), "Feature names unseen at fit time:\n- z\nFeature names seen at fit time, "),
        (list("abc"), "Feature names seen at fit time, yet now missing:\n- d\n"),
    ],
)
def test_other_names_are_refused(X, names, message):
    model = Axes().fit(frame(X, list("abcd")))
    with pytest.raises(ParameterError) as caught:
        model.transform(frame(X[:, : len(names)], names))
    text = "The feature names should match those that were passed during fit.\n"
    assert str(caught.value).startswith(text + message)


def test_long_lists_of_names_are_cut(rng):
    X = rng.normal(size=(20, 8))
    model = Axes().fit(frame(X, [f"a{j}" for j in range(8)]))
    with pytest.raises(ParameterError) as caught:
        model.transform(frame(X, [f"b{j}" for j in range(8)]))
    assert "- b4\n- ...\n" in str(caught.value)
    assert "b5" not in str(caught.value)


def test_names_on_one_side_only_are_a_warning(X):
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Axes was") as w:
        Axes().fit(frame(X, list("abcd"))).transform(X)
    assert w[0].filename == __file__
    with pytest.warns(UserWarning, match="X has feature names, but Axes was fitted without"):
        Axes().fit(X).transform(frame(X, list("abcd")))


def test_numbered_columns_are_no_names(X):
    model = Axes().fit(pd.DataFrame(X))
    assert not hasattr(model, "feature_names_in_")
    model.transform(X)


def test_a_mixture_of_names_and_numbers_is_refused(X):
    with pytest.raises(TypeError, match=r"all input features have string names.*\['int', 'str'\]"):
        Axes().fit(frame(X, ["a", "b", "c", 3]))


def test_polars_has_names_too(X):
    model = Axes().fit(pl.DataFrame(X, schema=list("abcd")))
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(
        model.transform(pl.DataFrame(X, schema=list("abcd"))), Axes().fit(X).transform(X)
    )


def test_names_of_the_embedding(X):
    model = Axes(n_components=3).fit(frame(X, list("abcd")))
    assert list(model.get_feature_names_out()) == ["axes0", "axes1", "axes2"]
    assert list(model.get_feature_names_out(list("abcd"))) == ["axes0", "axes1", "axes2"]
    with pytest.raises(ParameterError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(list("abce"))
    with pytest.raises(ParameterError, match=r"should have length equal .*\(4\), got 3"):
        Axes().fit(X).get_feature_names_out(list("abc"))


# ------------------------------------------------------------------ containers


def test_output_as_pandas(X):
    given = frame(X, list("abcd")).set_index(np.arange(30) * 2)
    model = Axes().set_output(transform="pandas")
    for Z in (model.fit_transform(given), model.transform(given)):
        assert list(Z.columns) == ["axes0", "axes1"]
        assert Z.index.equals(given.index)
        np.testing.assert_array_equal(Z.to_numpy(), Axes().fit_transform(X))
    assert Axes().set_output(transform="pandas").fit_transform(X).index.equals(pd.RangeIndex(30))


def test_output_as_polars(X):
    Z = Axes().set_output(transform="polars").fit_transform(X)
    assert isinstance(Z, pl.DataFrame)
    assert Z.columns == ["axes0", "axes1"]
    np.testing.assert_array_equal(Z.to_numpy(), Axes().fit_transform(X))


def test_set_output_changes_its_mind(X):
    model = Axes().set_output(transform="pandas").set_output(transform=None)
    assert isinstance(model.fit_transform(X), pd.DataFrame)
    assert isinstance(model.set_output(transform="default").fit_transform(X), np.ndarray)
    with pytest.raises(ParameterError, match="'arrow'.*use 'default', 'pandas' or 'polars'"):
        model.set_output(transform="arrow")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_container_says_what_to_install(X, monkeypatch, library):
    model = Axes().fit(X).set_output(transform=library)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=f"pip install {library}"):
        model.transform(X)


# ------------------------------------------------------------------ copies


def test_copies_keep_everything(X):
    model = Axes(scale=2.0).fit(X).set_output(transform="pandas")
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert twin.get_params() == model.get_params()
        pd.testing.assert_frame_equal(twin.transform(X), model.transform(X))


def test_html_is_escaped_text_without_scikit_learn(monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn.utils", raising=False)
    model = Axes(random_state="<b>")
    assert model._repr_html_() == "<pre>Axes(random_state=&#x27;&lt;b&gt;&#x27;)</pre>"
    assert model._repr_mimebundle_() == {
        "text/plain": "Axes(random_state='<b>')",
        "text/html": model._repr_html_(),
    }

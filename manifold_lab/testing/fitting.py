"""What fit leaves behind, and what it leaves alone."""

from unittest import SkipTest

import numpy as np

from manifold_lab.errors import NotFittedError, ParameterError
from manifold_lab.testing.subject import assert_close, assert_same, distances, refused, state


def fit_returns_self(subject):
    model = subject.new()
    assert model.fit(*subject.data()) is model, "fit must return self"


def fit_leaves_parameters_alone(subject):
    model = subject.new()
    given = model.get_params(deep=False)
    before = state(model)
    model.fit(*subject.data())
    for name, value in given.items():
        assert getattr(model, name) is value, f"fit replaced the parameter {name!r}"
        if not isinstance(value, np.random.Generator | np.random.RandomState):
            assert_same(value, before[name], f"fit changed the parameter {name!r} in place")


def fitted_names_end_in_underscore(subject):
    model = subject.new()
    before = set(vars(model))
    model.fit(*subject.data())
    bad = [name for name in set(vars(model)) - before if not (name[0] == "_" or name[-1] == "_")]
    assert not bad, f"fitted attributes must end in an underscore: {sorted(bad)}"


def embedding_is_sound(subject):
    X, y = subject.data()
    for dtype in (np.float64, np.float32):
        model = subject.new()
        Z = model.fit_transform(X.astype(dtype), y)
        assert isinstance(Z, np.ndarray), f"fit_transform must return an array, not {type(Z)}"
        assert Z.dtype == dtype, f"{np.dtype(dtype)} in, {Z.dtype} out"
        assert Z.shape == (len(X), model.n_components_), (
            f"the embedding has shape {Z.shape}, but n_components_ is {model.n_components_}"
        )
        assert Z.flags.c_contiguous, "the embedding must be C-contiguous"
        assert np.isfinite(Z).all(), "the embedding holds NaN or infinity"
        assert model.n_features_in_ == X.shape[1], "n_features_in_ is not the number of columns"
        if hasattr(model, "embedding_"):
            assert_same(model.embedding_, Z, "embedding_ is not what fit_transform returned")


def float32_agrees_with_float64(subject):
    X, y = subject.data()
    X = X.astype(np.float32)
    single, double = (subject.new().fit_transform(X.astype(t), y) for t in (np.float32, np.float64))
    assert single.shape == double.shape, f"float32 gives {single.shape}, float64 {double.shape}"
    far = "float32 gives another embedding"
    assert_close(distances(single), distances(double), far, tol=1e-2)


def n_components_is_obeyed(subject):
    if not subject.has("n_components"):
        raise SkipTest("no n_components")
    X, y = subject.data()
    for wanted in (1, 2):
        Z = subject.new(n_components=wanted).fit_transform(X, y)
        assert Z.shape[1] == wanted, f"n_components={wanted} gave {Z.shape[1]} columns"
    beyond = sum(X.shape) + 1
    try:
        seen = subject.new(n_components=beyond).fit_transform(X, y).shape[1]
    except ParameterError:
        with refused(ParameterError, f"n_components={beyond}", "n_components"):
            subject.new(n_components=beyond).fit(X, y)
    else:
        assert seen == beyond, f"n_components={beyond} gave {seen} columns, silently"


def refit_forgets(subject):
    X, y = subject.data()
    if subject.new().pairwise:
        narrow = X[:40, :40]
    else:
        narrow = subject.data(n_samples=40, n_features=4, seed=1)[0]
    labels = None if y is None else y[:40]
    again = subject.new().fit(X, y).fit(narrow, labels)
    fresh = subject.new().fit(narrow, labels)
    assert_same(vars(again), vars(fresh), "a second fit remembers the first")


def failed_fit_changes_nothing(subject):
    X, y = subject.data()
    bad = X.copy()
    bad[3, 1] = np.nan
    for model in (subject.new(), subject.fitted()):
        before = state(model)
        with refused(ValueError, "fit with NaN"):
            model.fit(bad, y)
        assert_same(vars(model), before, "a failed fit changed the object")
        model.__class__ = _ending_in(ArithmeticError, subject.cls, "_fit")
        with refused(ArithmeticError, "a fit that fails in the end"):
            model.fit(2.0 * X, y)
        assert_same(vars(model), before, "a fit that failed in the end changed the object")


def interrupted_fit_changes_nothing(subject):
    X, y = subject.data()
    for method in ("fit", "partial_fit"):
        model, hook = subject.new(), f"_{method}"
        if not hasattr(model, method):
            continue
        getattr(model, method)(X, y)
        before = state(model)
        model.__class__ = _ending_in(KeyboardInterrupt, subject.cls, hook)
        try:
            getattr(model, method)(2.0 * X, y)
        except KeyboardInterrupt:
            assert_same(vars(model), before, f"Ctrl-C at the end of {hook} changed the object")
        else:
            raise AssertionError(f"{hook} is not what does the work, or it swallows Ctrl-C")


def _ending_in(error, cls, hook):
    """Return a subclass whose ``hook`` does its work and then raises ``error``."""

    def run(self, *args, **kwargs):
        getattr(super(sub, self), hook)(*args, **kwargs)
        raise error

    sub = type(cls.__name__, (cls,), {hook: run, "__doc__": cls.__doc__})
    return sub


def unfitted_use_is_refused(subject):
    X, _ = subject.data()
    model = subject.new()
    for name, args in (
        ("transform", (X,)),
        ("inverse_transform", (X[:, :2],)),
        ("get_feature_names_out", ()),
    ):
        if hasattr(model, name):
            with refused(NotFittedError, f"{name} before fit", "fit"):
                getattr(model, name)(*args)


def duplicates_are_tolerated(subject):
    X, y = subject.points()
    twice = np.r_[X, X[:7], X[:7]]
    Z = subject.new().fit_transform(twice, None if y is None else np.r_[y, y[:7], y[:7]])
    assert_close(Z[60:67], Z[:7], "equal rows are embedded at different places", tol=1e-6)
    assert_close(Z[67:], Z[:7], "equal rows are embedded at different places", tol=1e-6)


CHECKS = (
    fit_returns_self,
    fit_leaves_parameters_alone,
    fitted_names_end_in_underscore,
    embedding_is_sound,
    float32_agrees_with_float64,
    n_components_is_obeyed,
    refit_forgets,
    failed_fit_changes_nothing,
    interrupted_fit_changes_nothing,
    unfitted_use_is_refused,
    duplicates_are_tolerated,
)

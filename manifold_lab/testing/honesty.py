"""Flags tell the truth, and every parameter does something."""

import dataclasses
import itertools
from unittest import SkipTest

import numpy as np

from manifold_lab.checks import Float, Int, OneOf
from manifold_lab.errors import ParameterError
from manifold_lab.testing.subject import assert_close, assert_same, difference, distances, refused

ALWAYS_WITHOUT_EFFECT = ("n_jobs", "progress")  #: by contract, for every method


def results_repeat(subject):
    seeds = (
        [{}, {"random_state": None}, {"random_state": 7}] if subject.has("random_state") else [{}]
    )
    for seed in seeds:
        a, b = (vars(subject.fitted(**seed)) for _ in range(2))
        given = ", ".join(f"{name}={value}" for name, value in seed.items()) or "the same input"
        if not isinstance(a.get("random_state"), np.random.Generator | np.random.RandomState):
            assert_same(a, b, f"two fits with {given} differ")


def n_jobs_changes_no_bit(subject):
    if not subject.has("n_jobs"):
        raise SkipTest("no n_jobs")
    X, y = subject.data(n_samples=600)
    models = {n: subject.new(n_jobs=n).fit(X, y) for n in (1, 2, 3, None)}
    for n, model in models.items():
        ours, theirs = ({**vars(m), "n_jobs": None} for m in (model, models[1]))
        assert_same(ours, theirs, f"n_jobs={n} gives other bits than n_jobs=1")
        if hasattr(model, "transform"):
            Z = models[1].transform(X)
            assert_same(model.transform(X), Z, f"transform with n_jobs={n} gives other bits")


def supervised_flag_is_true(subject):
    X, y = subject.data()
    if subject.cls.supervised:
        with refused(ParameterError, "fit without y", "y"):
            subject.new().fit(X)
        with refused(ParameterError, "fit with a y that is too short", "samples"):
            subject.new().fit(X, y[:-1])
        other = subject.new().fit(X, np.roll(y, 20))
        found = difference(vars(subject.fitted()), vars(other))
        assert found, "supervised is true, but other labels give the same model"
    else:
        labels = np.arange(len(X)) % 3
        with_labels = subject.new().fit(X, labels)
        assert_same(vars(subject.fitted()), vars(with_labels), "supervised is false, but y matters")


def accepts_sparse_flag_is_true(subject):
    from scipy import sparse

    X, y = subject.points()
    X[np.abs(X) < 0.3] = 0.0
    if not subject.new().accepts_sparse:
        with refused(TypeError, "sparse input (accepts_sparse is false)", "sparse", "toarray"):
            subject.new().fit(sparse.csr_array(X), y)
        return
    wanted = distances(subject.new().fit_transform(X, y))
    for build in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        model = subject.new()
        Z = model.fit_transform(build(X), y)
        assert_close(distances(Z), wanted, f"{build.__name__} input gives another embedding", 1e-6)
        if hasattr(model, "transform"):
            a, b = model.transform(build(X)), model.transform(X)
            assert_close(a, b, f"transform of {build.__name__} differs from that of the array")


def partial_fit_learns(subject):
    model = subject.needs("partial_fit")
    X, y = subject.data()
    at_once = subject.new().partial_fit(X, y)
    Z = distances(model.transform(X))
    assert_close(distances(at_once.transform(X)), Z, "partial_fit of all rows is not fit", 1e-6)
    parts = subject.new().partial_fit(X[:30], None if y is None else y[:30])
    before = parts.transform(X)
    parts.partial_fit(X[30:], None if y is None else y[30:])
    assert difference(parts.transform(X), before), "a second partial_fit teaches nothing"
    with refused(ParameterError, "partial_fit of too few columns", "features"):
        parts.partial_fit(X[:, 1:], y)


def iterations_are_counted(subject):
    if not subject.has("max_iter"):
        raise SkipTest("no max_iter")
    n_iter = getattr(subject.fitted(), "n_iter_", None)
    assert n_iter is not None, "max_iter is a parameter, but fit sets no n_iter_"
    assert n_iter >= 1, f"n_iter_ is {n_iter}, wanted at least 1"


def every_parameter_has_an_effect(subject):
    params = subject.new().get_params(deep=False)
    declared = dict(subject.cls.no_effect)
    unknown = sorted(set(declared) - set(params))
    assert not unknown, f"no_effect names no parameter: {unknown}"
    choices = {name: _alternatives(subject, name, value) for name, value in params.items()}
    for name in params:
        if name in ALWAYS_WITHOUT_EFFECT or not choices[name]:
            continue
        if name in declared:
            found = _has_effect(subject, name, choices, others=1)
            assert not found, f"{name!r} is in no_effect, but changes the result"
        else:
            found = _has_effect(subject, name, choices, others=2)
            assert found, f"no value of {name!r} changes anything; use it, or state it in no_effect"


def _has_effect(subject, name, choices, others):
    """Look for a change by itself, then with one other parameter changed too, then with two."""
    settings = [
        (other, value)
        for other, values in choices.items()
        if other != name and other not in ALWAYS_WITHOUT_EFFECT
        for value in values
    ]
    for context in map(dict, _subsets(settings, others)):
        base = _result(subject, context)
        if base is None:
            continue
        for value in choices[name]:
            changed = _result(subject, {**context, name: value})
            if changed is not None and difference(base, changed):
                return True
    return False


def _subsets(items, most):
    for size in range(most + 1):
        yield from itertools.combinations(items, size)


def _result(subject, changes):
    """Return what fit and transform make of these parameters, or None if they are refused."""
    X, y = subject.data()
    try:
        model = subject.new(**changes).fit(X, y)
        Z = model.transform(X[:10] + 0.1) if hasattr(model, "transform") else None
    except (ValueError, TypeError, ArithmeticError, MemoryError):
        return None
    return {k: v for k, v in vars(model).items() if k not in model.get_params()}, Z


def _alternatives(subject, name, value):
    """Return a few other legal values of a parameter."""
    fields = dataclasses.fields(subject.cls) if dataclasses.is_dataclass(subject.cls) else ()
    rules = next((f.metadata.get("allowed", ()) for f in fields if f.name == name), ())
    tries = [not value] if isinstance(value, bool) else []
    for rule in rules:
        if isinstance(rule, OneOf):
            tries += rule.values
        elif isinstance(rule, Int):
            tries += [1, 2, 3, 7]
        elif isinstance(rule, Float):
            tries += [0.1, 0.5, 0.9, 1.5, 3.0]
    if not rules and isinstance(value, int | float) and not isinstance(value, bool):
        tries += [value + 1, 2 * value + 1]
    legal = [v for v in tries if not rules or any(rule.accepts(v) for rule in rules)]
    return [v for v in legal if type(v) is not type(value) or v != value]


CHECKS = (
    results_repeat,
    n_jobs_changes_no_bit,
    supervised_flag_is_true,
    accepts_sparse_flag_is_true,
    partial_fit_learns,
    iterations_are_counted,
    every_parameter_has_an_effect,
)

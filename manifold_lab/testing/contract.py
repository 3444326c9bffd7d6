"""Parameters and construction."""

import dataclasses
import inspect

import numpy as np

from manifold_lab.checks import Float, Int
from manifold_lab.errors import ParameterError
from manifold_lab.testing.subject import assert_same, refused, state


def parameters_are_keywords(subject):
    if subject.cls.__init__ is object.__init__:
        return
    for p in list(inspect.signature(subject.cls.__init__).parameters.values())[1:]:
        assert p.kind is p.KEYWORD_ONLY, f"parameter {p} must be keyword-only, and not variadic"
        assert p.default is not p.empty, f"parameter {p.name!r} has no default"
        assert not isinstance(p.default, list | dict | set | np.ndarray), (
            f"the default of {p.name!r} can be changed in place: {p.default!r}. Use None"
        )


def construction_does_no_work(subject):
    given = {name: object() for name in subject.new().get_params(deep=False)}
    model = subject.cls(**given)
    for name, value in given.items():
        assert getattr(model, name) is value, f"__init__ must keep {name!r} as it was given"
    extra = [name for name in vars(model) if name not in given and not name.startswith("_")]
    assert not extra, f"__init__ must set nothing but parameters, and sets {extra}"


def unknown_parameter_is_refused(subject):
    with refused(TypeError, "an unknown keyword"):
        subject.cls(no_such_parameter=1)
    before = state(model := subject.new())
    with refused(ParameterError, "set_params of an unknown name", "no_such_parameter"):
        model.set_params(no_such_parameter=1)
    assert_same(vars(model), before, "a refused set_params changed the object")


def parameters_round_trip(subject):
    model = subject.new()
    params = model.get_params(deep=False)
    copy = subject.cls(**params)
    other = subject.cls()
    assert other.set_params(**params) is other, "set_params must return self"
    for how, twin in (("construction", copy), ("set_params", other)):
        for name, value in params.items():
            assert getattr(twin, name) is value, f"{how} does not bring {name!r} back"


def parameter_bounds_are_enforced(subject):
    X, y = subject.data()
    model = subject.fitted()
    for field in _ruled_fields(subject):
        good = getattr(model, field.name)
        for bad in _bad_values(field.metadata["allowed"]):
            model.set_params(**{field.name: bad})
            before = state(model)
            with refused(ParameterError, f"fit with {field.name}={bad!r}", field.name):
                model.fit(X, y)
            assert_same(vars(model), before, f"a fit refused for {field.name!r} changed the object")
        model.set_params(**{field.name: good})


def _ruled_fields(subject):
    fields = dataclasses.fields(subject.cls) if dataclasses.is_dataclass(subject.cls) else ()
    own = subject.new().get_params(deep=False)
    return [field for field in fields if field.metadata.get("allowed") and field.name in own]


class _Nonsense:
    """A value no rule accepts."""

    def __repr__(self):
        return "<nonsense>"


def _bad_values(rules):
    values = [_Nonsense(), "no such value", np.nan, True]
    for rule in rules:
        if isinstance(rule, Int | Float):
            ends = [(rule.low, -1), (rule.high, 1)]
            values += [end + step for end, step in ends if end not in (None, -np.inf, np.inf)]
            values += [end for end, _ in ends if end is not None]  # excluded, if open
    return [value for value in values if not any(rule.accepts(value) for rule in rules)]


def repr_evaluates(subject):
    model = subject.new()
    names = {subject.name: subject.cls, "array": np.array, "np": np, "inf": np.inf, "nan": np.nan}
    try:
        twin = eval(repr(model), names)
    except Exception as error:
        raise AssertionError(f"repr does not evaluate: {model!r} ({error})") from error
    assert_same(twin.get_params(), model.get_params(), f"{model!r} evaluates to another object")
    assert repr(subject.cls()) == f"{subject.name}()", "repr must leave defaults out"


def docstring_opens_with_a_sentence(subject):
    doc = (vars(subject.cls).get("__doc__") or "").strip()
    first = doc.split("\n\n")[0]
    missing = not first or first.startswith(f"{subject.name}(")  # what dataclass writes
    assert not missing, "the class has no docstring"
    assert first.endswith("."), f"the docstring must open with a sentence, not {first!r}"
    assert first[0] == first[0].upper(), f"the docstring opens in lower case: {first!r}"


CHECKS = (
    parameters_are_keywords,
    construction_does_no_work,
    unknown_parameter_is_refused,
    parameters_round_trip,
    parameter_bounds_are_enforced,
    repr_evaluates,
    docstring_opens_with_a_sentence,
)

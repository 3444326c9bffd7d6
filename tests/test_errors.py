"""Exceptions and warnings: what catches them, how they read, where they point."""

import copy
import pathlib
import pickle
import subprocess
import sys
import types
import warnings

import pytest
import sklearn.exceptions

from manifold_lab import errors
from manifold_lab.base import Reducer

BUILT_IN_PARENTS = {
    "ParameterError": (ValueError,),
    "NotFittedError": (ValueError, AttributeError),
    "UnknownReducer": (KeyError,),
    "AmbiguousReducer": (KeyError,),
    "NameTakenError": (ValueError,),
    "PluginLoadError": (ImportError,),
    "DisconnectedGraph": (ValueError,),
    "MemoryBudgetError": (MemoryError,),
    "ModelFileError": (ValueError,),
    "MissingExtraError": (ImportError,),
}
WARNINGS = {
    "ConvergenceWarning",
    "DataConversionWarning",
    "DegenerateDataWarning",
    "SpectrumWarning",
    "GraphWarning",
    "PairsWarning",
}
BRIDGED = ("NotFittedError", "ConvergenceWarning", "DataConversionWarning")


def public(kind):
    found = (value for value in vars(errors).values() if isinstance(value, type))
    names = {c.__name__ for c in found if issubclass(c, kind) and not c.__name__.startswith("_")}
    return names - {kind.__name__}


def test_the_list_is_complete():
    assert public(errors.ManifoldLabError) == set(BUILT_IN_PARENTS)
    assert public(errors.ManifoldLabWarning) == WARNINGS


@pytest.mark.parametrize("name", BUILT_IN_PARENTS)
def test_errors_are_caught_by_every_name(name):
    cls = getattr(errors, name)
    for parent in (errors.ManifoldLabError, *BUILT_IN_PARENTS[name]):
        with pytest.raises(parent, match="what to change"):
            raise cls("what to change")
    assert cls.__doc__.strip().endswith(".")


@pytest.mark.parametrize("name", sorted(BUILT_IN_PARENTS) + sorted(WARNINGS))
def test_messages_read_as_written_and_survive_pickling(name):
    error = getattr(errors, name)("No 'x'\nhere.")
    error.add_note("while testing")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(twin) == "No 'x'\nhere."  # a KeyError would show the repr
        assert twin.args == error.args
        assert twin.__notes__ == ["while testing"]
        assert isinstance(twin, getattr(errors, name))


def test_a_lookup_error_without_a_message_is_empty():
    assert str(errors.UnknownReducer()) == ""


@pytest.mark.parametrize("name", BRIDGED)
def test_scikit_learn_catches_ours(name):
    ours, theirs = getattr(errors, name), getattr(sklearn.exceptions, name)
    with pytest.raises(theirs):
        raise ours("seen by both")
    with pytest.raises(ours):
        raise ours("seen by both")
    assert type(ours("a")) is type(ours("b"))  # one joined class, not one for each instance
    assert type(ours("a")).__name__ == name
    assert type(ours("a")).__module__ == "manifold_lab.errors"


def test_without_scikit_learn_the_class_is_our_own(monkeypatch):
    monkeypatch.delitem(sys.modules, "sklearn.exceptions")
    assert type(errors.NotFittedError("x")) is errors.NotFittedError


def test_a_pickled_error_opens_where_scikit_learn_is_absent(tmp_path):
    path = tmp_path / "error.pickle"
    path.write_bytes(pickle.dumps(errors.NotFittedError("Call 'fit' first.")))
    code = (
        "import pickle, sys, manifold_lab\n"
        f"error = pickle.loads(open({str(path)!r}, 'rb').read())\n"
        "assert type(error) is manifold_lab.errors.NotFittedError, type(error)\n"
        "assert 'sklearn' not in sys.modules\n"
        "print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Call 'fit' first.\n"


def test_a_subclass_of_a_bridged_error_works():
    class Special(errors.NotFittedError):
        pass

    assert isinstance(Special("x"), Special)
    assert isinstance(Special("x"), errors.NotFittedError)


# ------------------------------------------------------------------ where a warning points


def this_line():
    return sys._getframe(1).f_lineno


def location(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    (warning,) = seen
    return pathlib.Path(warning.filename).name, warning.lineno


def module(name, code, **names):
    """Run ``code`` as a module of that name and return it."""
    made = types.ModuleType(name)
    vars(made).update(names)
    exec(compile(code, f"<{name}>", "exec"), vars(made))
    return made


def test_a_warning_points_at_the_users_line():
    deep = module(
        "manifold_lab.deep.inside",
        "def work():\n    warn(GraphWarning('poor'))\ndef outer():\n    work()\n",
        warn=errors.warn,
        GraphWarning=errors.GraphWarning,
    )

    def call():
        call.line = this_line() + 1
        deep.outer()

    assert location(call) == ("test_errors.py", call.line)


def test_a_warning_of_a_plugin_points_at_the_users_line():
    plugin = module(
        "acme.inside",
        "class Acme(Reducer):\n"
        "    def _fit(self, X, y):\n"
        "        self._warn()\n"
        "        return X\n"
        "    def _warn(self):\n"
        "        warn(GraphWarning('poor'))\n",
        Reducer=Reducer,
        warn=errors.warn,
        GraphWarning=errors.GraphWarning,
    )

    def call():
        call.line = this_line() + 1
        plugin.Acme().fit([[1.0], [2.0]])

    assert location(call) == ("test_errors.py", call.line)


def test_a_warning_outside_any_call_of_ours_points_at_its_caller():
    def call():
        call.line = this_line() + 1
        errors.warn(errors.GraphWarning("poor"))

    assert location(call) == ("test_errors.py", call.line)


def test_a_module_whose_name_only_begins_like_ours_is_the_users():
    theirs = module(
        "manifold_laboratory",
        "def work(inner):\n    inner()\n",
    )
    ours = module(
        "manifold_lab",
        "def inner():\n    warn(GraphWarning('poor'))\n",
        warn=errors.warn,
        GraphWarning=errors.GraphWarning,
    )
    assert location(lambda: theirs.work(ours.inner)) == ("<manifold_laboratory>", 2)


def test_the_category_is_the_joined_class():
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="stopped"):
        errors.warn(errors.ConvergenceWarning("stopped"))

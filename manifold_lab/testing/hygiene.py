"""Good manners: pickles, no stray output, threads, files, warnings or random numbers."""

import contextlib
import io
import os
import pickle
import random
import sys
import tempfile
import threading
import warnings

import numpy as np

from manifold_lab.errors import ManifoldLabWarning
from manifold_lab.testing.subject import assert_same


def _use(subject):
    X, y = subject.data()
    model = subject.new()
    Z = model.fit_transform(X, y)
    model.fit(X, y)
    if hasattr(model, "transform"):
        Z = model.transform(X)
    if hasattr(model, "inverse_transform"):
        model.inverse_transform(Z)
    return model


def pickles(subject):
    X, _ = subject.data()
    for model in (subject.new(), subject.fitted()):
        try:
            twin = pickle.loads(pickle.dumps(model))
        except Exception as error:
            raise AssertionError(f"pickling fails: {error}") from error
        assert type(twin) is type(model), f"pickling gives a {type(twin).__name__}"
        assert_same(vars(twin), vars(model), "pickling changes the model")
    if hasattr(model, "transform"):
        assert_same(twin.transform(X), model.transform(X), "a pickled model transforms otherwise")


def fitted_arrays_may_be_read_only(subject):
    """A model loaded from a memory map holds arrays that cannot be written to."""
    X, _ = subject.data()
    model = subject.needs("transform")
    wanted = model.transform(X)
    for value in vars(model).values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    assert_same(model.transform(X), wanted, "transform differs when fitted arrays are read-only")


def global_random_state_is_untouched(subject):
    before = np.random.get_state(), random.getstate()  # noqa: NPY002 - the state users share
    _use(subject)
    after = np.random.get_state(), random.getstate()  # noqa: NPY002
    assert_same(after, before, "the global random state was used")


def is_silent(subject):
    text = _printed(lambda: _use(subject))
    assert not text, f"something was printed: {text[:200]!r}"


def _printed(action):
    """Return what ``action`` writes to standard output and error, from C code too."""
    with contextlib.ExitStack() as stack:
        python = io.StringIO()
        stack.enter_context(contextlib.redirect_stdout(python))
        stack.enter_context(contextlib.redirect_stderr(python))
        file = stack.enter_context(tempfile.TemporaryFile())
        for number in (1, 2):
            saved = os.dup(number)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, number)
            os.dup2(file.fileno(), number)
        action()
        file.seek(0)
        return python.getvalue() + file.read().decode(errors="replace")


def warnings_are_ours(subject):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _use(subject)
    stray = [w for w in seen if not issubclass(w.category, ManifoldLabWarning)]
    assert not stray, f"ordinary data gives a {stray[0].category.__name__}: {stray[0].message}"


def nothing_is_left_open(subject):
    _use(subject)  # pools that stay are started here
    before = _open_things()
    for _ in range(3):
        _use(subject)
    after = _open_things()
    for what, count in after.items():
        assert count <= before[what], f"{what} are left behind: {before[what]}, then {count}"


def _open_things():
    found = {"Python threads": threading.active_count()}
    if sys.platform == "linux":
        found["threads"] = len(os.listdir("/proc/self/task"))
        found["open files"] = len(os.listdir("/proc/self/fd"))
    return found


CHECKS = (
    pickles,
    fitted_arrays_may_be_read_only,
    global_random_state_is_untouched,
    is_silent,
    warnings_are_ours,
    nothing_is_left_open,
)

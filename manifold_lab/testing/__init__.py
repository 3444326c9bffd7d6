"""The conformance kit: what a Reducer promises, as named checks.

A plugin author needs two lines in a test file, and so does this package for its own methods::

    @pytest.mark.parametrize("check", manifold_lab.testing.checks(DiffusionMap), ids=str)
    def test_conformance(check):
        check()

Every check is always there; one that does not apply (no inverse, pandas not installed) raises
:class:`unittest.SkipTest` with the reason, which pytest and unittest report as a skip. Names of
checks are public: a rename is a breaking change. pytest itself is not needed.

A class states what it claims beyond the common contract in three attributes of
:class:`manifold_lab.Reducer`: ``invariances``, ``no_effect`` and ``min_trustworthiness``.
"""

import warnings
from unittest import SkipTest

from manifold_lab.errors import ManifoldLabWarning, ParameterError
from manifold_lab.testing import (
    contract,
    fitting,
    honesty,
    hygiene,
    inputs,
    invariance,
    quality,
    transforming,
)
from manifold_lab.testing.subject import Subject

__all__ = ["Check", "checks", "run_checks"]

_GROUPS = (contract, fitting, inputs, honesty, invariance, transforming, quality, hygiene)


class Check:
    """One named check of one class: call it; it raises AssertionError if the promise is broken.

    Attributes
    ----------
    name, group : str
        ``str(check)`` is the name.
    reason : str or None
        Why the check is expected to fail; if it passes all the same, that is an error.
    """

    def __init__(self, function, subject, reason=None):
        self.name = function.__name__
        self.group = function.__module__.rpartition(".")[2]
        self.reason = reason
        self._function, self._subject = function, subject

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"<check {self.name} of {self._subject.name}>"

    def __call__(self):
        if self.reason is None:
            self._run()
            return
        try:
            self._run()
        except AssertionError:
            return
        raise AssertionError(
            f"{self._subject.name} passes {self.name!r}, which was expected to fail "
            f"({self.reason}). Remove it from expected_failures."
        )

    def _run(self):
        with warnings.catch_warnings():
            # a poor result is the method's to report; what is checked here is the contract
            warnings.simplefilter("ignore", ManifoldLabWarning)
            try:
                self._function(self._subject)
            except SkipTest:
                raise
            except AssertionError as error:
                raise AssertionError(f"{self._subject.name}: {error}") from error
            except Exception as error:
                raise AssertionError(
                    f"{self._subject.name}: {self.name!r} met {type(error).__name__}: {error}"
                ) from error


def checks(cls_or_instance, *, expected_failures=None):
    """Return the named checks of a Reducer, each a callable without arguments.

    Parameters
    ----------
    cls_or_instance : Reducer class or instance
        An instance stands for its parameters; it is never fitted or changed.
    expected_failures : dict of str to str, optional
        Check name to the reason why it fails for now. Such a check *must* fail.

    Returns
    -------
    list of Check

    Raises
    ------
    ParameterError
        An expected failure names no check, or gives no reason.
    RuntimeError
        Under ``python -O``, which removes the assertions, so that every check would pass.

    Examples
    --------
    >>> from manifold_lab import Reducer
    >>> [str(check) for check in checks(Reducer)][:2]
    ['parameters_are_keywords', 'construction_does_no_work']
    """
    if not __debug__:
        raise RuntimeError("The checks are assertions, which python -O removes: run without -O.")
    subject, expected = Subject(cls_or_instance), dict(expected_failures or {})
    functions = [function for group in _GROUPS for function in group.CHECKS]
    unknown = sorted(set(expected) - {function.__name__ for function in functions})
    if unknown:
        raise ParameterError(
            f"expected_failures names no such check: {', '.join(unknown)}. "
            "The names are those of str(check)."
        )
    silent = sorted(name for name, reason in expected.items() if not reason)
    if silent:
        raise ParameterError(f"expected_failures needs a reason for {', '.join(silent)}.")
    return [Check(f, subject, expected.get(f.__name__)) for f in functions]


def run_checks(cls_or_instance, *, expected_failures=None):
    """Run every check and return what came of each.

    Parameters
    ----------
    cls_or_instance : Reducer class or instance
    expected_failures : dict of str to str, optional
        As in :func:`checks`.

    Returns
    -------
    list of (name, outcome, message)
        The outcome is "passed", "failed", "skipped" or "expected" (failed, as announced).

    Raises
    ------
    ParameterError
        As in :func:`checks`.

    Examples
    --------
    >>> from manifold_lab import Reducer
    >>> outcomes = {name: outcome for name, outcome, _ in run_checks(Reducer)}
    >>> outcomes["parameters_are_keywords"], outcomes["fit_returns_self"]
    ('passed', 'failed')
    """
    return [_outcome(c) for c in checks(cls_or_instance, expected_failures=expected_failures)]


def _outcome(check):
    try:
        check()
    except SkipTest as skip:
        return check.name, "skipped", str(skip)
    except AssertionError as failure:
        return check.name, "failed", str(failure)
    return check.name, "passed" if check.reason is None else "expected", check.reason or ""

"""Rows of the table that ``asv_benchmarks.versus`` prints: one module a method.

A module has ``ROWS``, a sequence of :class:`Row`; putting it in this folder is all there is to do.
"""

import dataclasses
import importlib
import importlib.metadata
import pkgutil
import time
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Peer:
    """Somebody else's way to do the work of a row."""

    run: Callable[[Any], Any]  #: data -> result, the part that is timed
    distribution: str = "scikit-learn"  #: whose version is shown
    module: str = "sklearn"  #: what must be importable
    exact: bool = True  #: does it claim exactness, or is it judged by the looser bound?

    def version(self):
        """Return the version installed, or None if it cannot be used here."""
        try:
            importlib.import_module(self.module)
            return importlib.metadata.version(self.distribution)
        except ImportError:  # PackageNotFoundError is one too
            return None


def stopwatch(run, data):
    """Return ``(seconds, result)`` of ``run(data)``."""
    start = time.perf_counter()
    result = run(data)
    return time.perf_counter() - start, result


@dataclasses.dataclass(frozen=True)
class Row:
    """One piece of work, done by us and by peers on the same data.

    ``agree(data, result, exact)`` says what is wrong with a result, "" if nothing: ours and the
    peers' are held against the same reference, never against each other.
    """

    name: str
    goal: float  #: least ratio, best peer's time over ours
    setup: Callable[[bool], Any]  #: quick -> data; not timed
    ours: Callable[[Any], Any]
    peers: dict[str, Peer]
    agree: Callable[[Any, Any, bool], str]
    clock: Callable = stopwatch  #: (run, data) -> (seconds, result)


def collect():
    """Return every row by the name of its module: ``{"pca": (Row, ...), ...}``."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: tuple(importlib.import_module(f"{__name__}.{name}").ROWS) for name in names}

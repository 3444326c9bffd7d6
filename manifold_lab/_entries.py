"""One method, loaded or not: how it is listed, how it is imported, what it must fulfil.

Code of others is imported in one place, :meth:`Entry.load`; whatever it raises stays the trouble
of that plugin. Which entry a name means is decided in :mod:`manifold_lab.registry`.
"""

import dataclasses
import functools
import importlib
import inspect
import re

from manifold_lab import __version__
from manifold_lab.base import API, MIN_API, Reducer
from manifold_lab.errors import PluginLoadError

HOME = "manifold-lab"  #: distribution of the built-ins, so ``manifold-lab:pca`` always works

# ------------------------------------------------------------------ what a listing shows


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One method as :func:`available` lists it.

    ``status`` is "ready", "not loaded", "shadowed" (the bare name means another method),
    "ambiguous" (several plugins have that name) or "failed: <reason>". Columns from ``summary``
    to ``partial_fit`` are None while the method is not loaded.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str | None
    family: str | None
    supervised: bool | None
    transforms: bool | None
    inverts: bool | None
    partial_fit: bool | None
    origin: str
    distribution: str | None
    version: str | None
    status: str
    target: str

    @property
    def qualified(self):
        """The name that is never shadowed nor ambiguous: ``distribution:name``."""
        return f"{self.distribution}:{self.name}" if self.distribution else self.name


COLUMNS = ("summary", "family", "supervised", "transforms", "inverts", "partial_fit")


class Listing(tuple):
    """An immutable sequence of :class:`Record`; as text it is a table."""

    __slots__ = ()

    def __str__(self):
        heads = ["name", "family", "supervised", "transforms", "inverts", "partial_fit"]
        rows = [
            [*(getattr(r, head) for head in heads), _source(r), r.status, r.summary] for r in self
        ]
        return format_table([*heads, "from", "status", "summary"], rows)

    __repr__ = __str__


def _source(record):
    if record.origin == "plugin":
        return f"{record.distribution} {record.version}"
    return record.origin


def format_table(heads, rows):
    """Return a plain-text table; True reads "yes", False "-" and None "?".

    Examples
    --------
    >>> print(format_table(("name", "inverts"), [("pca", True), ("nca", False)]))
    name  inverts
    ----  -------
    pca   yes
    nca   -
    """
    cells = [[in_words(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = [heads, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def in_words(cell):
    """Return a cell of a table as text."""
    return {True: "yes", False: "-", None: "?"}[cell] if not isinstance(cell, str) else cell


# ------------------------------------------------------------------ one method, loaded or not


@dataclasses.dataclass(frozen=True)
class Failure:
    reason: str
    remedy: str
    cause: BaseException | None = None


@dataclasses.dataclass(eq=False)
class Entry:
    """A name and where its class comes from; remembers how loading it went."""

    name: str
    origin: str
    target: str
    aliases: tuple[str, ...] = ()
    distribution: str | None = None
    version: str | None = None
    columns: dict = dataclasses.field(default_factory=lambda: dict.fromkeys(COLUMNS))
    cls: type | None = None
    failure: Failure | None = None

    def answers(self, name):
        return name == self.name or name in self.aliases

    def load(self):
        """Return the class, importing and checking it the first time.

        No lock is held meanwhile: a module may call :func:`register` while it is imported.
        """
        if self.origin == "builtin":
            return _import(self.target)  # a damaged installation shows its own traceback
        if self.cls is None and self.failure is None:
            self._try()
        if self.cls is None:
            raise self.error() from self.failure.cause
        return self.cls

    def _try(self):
        try:
            cls = _import(self.target)
            problems, remedy = problems_of(cls)
        except (Exception, SystemExit) as error:  # a plugin may even try to end the process
            words = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".:")
            self.failure = Failure(words, "", error)
        else:
            if problems:
                self.failure = Failure("; ".join(problems), remedy)
            else:
                self.accept(cls)

    def accept(self, cls):
        self.columns, self.cls = _describe(cls), cls  # in this order: readers look at cls first

    def error(self):
        who = f" of {self.distribution} {self.version}" if self.distribution else ""
        remedy = self.failure.remedy or (
            f"Run `pip install -U {self.distribution}` or report it to the authors of "
            f"{self.distribution}"
            if self.distribution
            else "Correct the class or the target given to register"
        )
        error = PluginLoadError(
            f"The reducer {self.name!r}{who} ({self.target}) could not be loaded: "
            f"{self.failure.reason}. {remedy}; manifold_lab.refresh() allows another try."
        )
        error.distribution, error.version = self.distribution, self.version
        error.target = self.target
        return error

    def record(self, status):
        return Record(
            name=self.name,
            aliases=self.aliases,
            origin=self.origin,
            distribution=self.distribution,
            version=self.version,
            status=status,
            target=self.target,
            **self.columns,
        )


def _import(target):
    """Return what ``module:attribute`` names; entry points may add ``[extras]``."""
    module, _, attribute = target.partition("[")[0].strip().partition(":")
    path = [part for part in attribute.strip().split(".") if part]
    return functools.reduce(getattr, path, importlib.import_module(module.strip()))


def _describe(cls):
    return {
        "summary": _summary(cls),
        "family": cls.family,
        "supervised": cls.supervised,
        "transforms": hasattr(cls, "_transform"),
        "inverts": hasattr(cls, "_inverse_transform"),
        "partial_fit": hasattr(cls, "_partial_fit"),
    }


def _summary(cls):
    """Return the first sentence of the class's own docstring, "" if it has none."""
    text = cls.__dict__.get("__doc__") or ""
    if text.startswith(f"{cls.__name__}("):  # what dataclasses write where there is none
        return ""
    first = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", first, maxsplit=1)[0]


def problems_of(cls):
    """Return everything that keeps ``cls`` from being a usable reducer, and a special remedy."""
    if not isinstance(cls, type):
        return [f"it is a {type(cls).__name__}, not a class"], ""
    if not issubclass(cls, Reducer):
        return [f"{cls.__name__} does not subclass manifold_lab.Reducer"], ""
    problems, remedy = [], ""
    if cls._fit is Reducer._fit:
        problems.append(f"{cls.__name__} does not define _fit(self, X, y)")
    if inspect.isabstract(cls):
        problems.append(f"it is abstract, without {', '.join(sorted(cls.__abstractmethods__))}")
    problems += _parameter_problems(cls)
    problems += [
        f"its flag {name} is {getattr(cls, name)!r}, not a bool"
        for name in ("supervised", "accepts_sparse", "pairwise")
        if not isinstance(getattr(cls, name), bool)
    ]
    if not (isinstance(cls.family, str) and cls.family):
        problems.append(f"its family is {cls.family!r}, not a word")
    level = cls.api_version
    if type(level) is not int:
        problems.append(f"its api_version is {level!r}, not an int")
    elif not MIN_API <= level <= API:
        problems.append(
            f"its api_version is {level}, manifold_lab {__version__} accepts {MIN_API} to {API}"
        )
        if level > API:
            remedy = f"Run `pip install -U {HOME}`: the plugin was written for a newer one"
    return problems, remedy


def _parameter_problems(cls):
    if cls.__init__ is object.__init__:  # no parameters, though its signature looks variadic
        return []
    problems = []
    for p in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            problems.append(f"its parameter {str(p).partition(':')[0]} is variadic (name each one)")
        elif p.default is p.empty:
            problems.append(f"its parameter {p.name!r} has no default")
    return problems

"""Names to classes: built-ins (a table of strings), entry points, run-time registrations.

Listing imports no method, and every accessor resolves a name through ``_bearers``.
"""

import contextlib
import difflib
import functools
import importlib
import os
import re
import threading

from manifold_lab import __version__
from manifold_lab._entries import COLUMNS, HOME, Entry, Failure, Listing, problems_of
from manifold_lab.errors import (
    AmbiguousReducer,
    NameTakenError,
    ParameterError,
    PluginLoadError,
    UnknownReducer,
)
from manifold_lab.methods import BUILTINS

GROUP = "manifold_lab.reducers"  #: entry-point group of plugins
SWITCH = "MANIFOLD_LAB_NO_PLUGINS"  #: environment variable; "1" skips the scan for plugins

# ------------------------------------------------------------------ the three tables

_lock = threading.RLock()
_runtime: tuple[Entry, ...] = ()  # newest first; replaced as a whole, never changed in place
_plugins: tuple[Entry, ...] | None = None  # None: not scanned yet


@functools.cache
def _builtins():
    return tuple(
        Entry(
            name,
            "builtin",
            row.target,
            row.aliases,
            HOME,
            __version__,
            {column: getattr(row, column) for column in COLUMNS},
        )
        for name, row in BUILTINS.items()
    )


def _installed():
    global _plugins
    with _lock:
        if _plugins is None:
            _plugins = () if switched_off() else tuple(_scan())
        return _plugins


def switched_off():
    """True if the environment says that plugins are not to be looked for."""
    return os.environ.get(SWITCH, "") not in ("", "0")


def _scan():
    """Yield an entry for each plugin installed, reading only metadata.

    Distribution by distribution, because ``importlib.metadata.entry_points`` raises for everybody
    when one file on the path is damaged.
    """
    from importlib import metadata

    seen = set()
    for dist in metadata.distributions():
        with contextlib.suppress(Exception):  # a file nobody can read may be anybody's
            if GROUP in (dist.read_text("entry_points.txt") or ""):
                title, version = _identity(dist)
                if title not in seen or title == "unknown":  # first on the path, as import does
                    seen.add(title)
                    yield from _offered(dist, title, version)


def _identity(dist):
    try:
        return _canonical(dist.metadata["Name"]), dist.metadata["Version"] or "unknown"
    except Exception:  # no METADATA, or a damaged one: its methods may work all the same
        return "unknown", "unknown"


def _offered(dist, title, version):
    try:
        points = [point for point in dist.entry_points if point.group == GROUP]
    except Exception as error:
        broken = Entry(_snake(title), "plugin", "entry_points.txt", (), title, version)
        broken.failure = Failure("its entry_points.txt is damaged", "", error)
        return [broken]
    entries = []
    for point in points:
        entry = Entry(_snake(point.name), "plugin", point.value, (), title, version)
        if not _NAME.fullmatch(entry.name):
            entry.failure = Failure(f"its name {point.name!r} is not lower snake case", "")
        entries.append(entry)
    return entries


def _entries():
    return [*_runtime, *_builtins(), *_installed()]


def _bearers(name):
    """Return the entries a bare name means: run-time before built-in before plugins."""
    for table in (lambda: _runtime, _builtins, _installed):
        found = [entry for entry in table() if entry.answers(name)]
        if found:
            return found[:1] if table is not _installed else found
    return []


# ------------------------------------------------------------------ names

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _snake(text):
    return re.sub(r"[-\s]+", "_", text.strip()).lower()


def _canonical(text):
    return re.sub(r"[-_.]+", "-", text.strip()).lower()


def _find(text):
    """Return the one entry that ``text`` names, bare or qualified."""
    if not isinstance(text, str):
        raise ParameterError(f"A reducer is asked for by name, a str. Got {text!r} instead.")
    head, qualified, tail = text.rpartition(":")
    home, name = _canonical(head), _snake(tail)
    with _lock:
        if qualified:
            found = [e for e in _entries() if e.distribution == home and e.answers(name)]
        else:
            found = _bearers(name)
        if len(found) == 1:
            return found[0]
        raise _ambiguous(name, found) if found else _unknown(home, name)


def _ambiguous(name, found):
    names = sorted(f"{entry.distribution}:{entry.name}" for entry in found)
    if len(set(names)) == 1:
        targets = " and ".join(sorted(entry.target for entry in found))
        return AmbiguousReducer(
            f"{found[0].distribution} offers {name!r} {len(found)} times ({targets}), where one is "
            "wanted. Report it to its authors."
        )
    return AmbiguousReducer(
        f"{len(found)} plugins are called {name!r}: {' and '.join(map(repr, names))}. "
        f"Ask for one by its qualified name, get({names[0]!r}), or uninstall the other."
    )


def _unknown(home, name):
    entries = _entries()
    asked = f"{home}:{name}" if home else name
    if home:
        known = sorted(f"{e.distribution}:{e.name}" for e in entries if e.distribution)
    else:
        known = sorted({word for e in entries for word in (e.name, *e.aliases)})
    close = difflib.get_close_matches(asked, known, n=3)
    message = ""
    for entry in entries:  # whoever asks for a package by its name wants to know this first
        wanted = entry.distribution in (home, _canonical(name)) or entry.name in close
        if entry.failure and wanted:
            message += f"{entry.error()} "
    message += f"No reducer is called {asked!r}."
    if close:
        message += f" Did you mean {' or '.join(map(repr, close))}?"
    message += f" Installed: {', '.join(sorted({e.name for e in entries if not e.failure}))}."
    if switched_off():
        message += f" Plugins are switched off by {SWITCH}: unset it to use them."
    return UnknownReducer(message)


# ------------------------------------------------------------------ public


def get(name):
    """Return the class of the method called ``name``, importing it if need be.

    Parameters
    ----------
    name : str
        A name or alias; case and ``-`` do not matter. ``"distribution:name"`` asks for the
        method of that distribution, whatever else has the name.

    Raises
    ------
    UnknownReducer
        Nothing has that name; the message has the nearest ones.
    AmbiguousReducer
        Several plugins have it; the message has their qualified names.
    PluginLoadError
        The plugin that has it cannot be imported or is not a usable reducer.

    Examples
    --------
    >>> get("PCA")
    <class 'manifold_lab.methods.pca.PCA'>
    """
    return _find(name).load()


def available():
    """Return a record for each method installed, sorted by name; ``print`` it for a table.

    Nothing is imported to list it: the columns of a plugin are None until it has been loaded.

    Examples
    --------
    >>> [record.origin for record in available() if record.name == "pca"]
    ['builtin']
    """
    with _lock:  # one state of all three tables
        order = sorted(_entries(), key=lambda e: (e.name, e.distribution or "", e.target))
        return Listing(entry.record(_status(entry)) for entry in order)


def _status(entry):
    if entry.failure and entry.cls is None:
        return f"failed: {entry.failure.reason}"
    bearers = _bearers(entry.name)
    if entry not in bearers:
        return "shadowed"
    if len(bearers) > 1:
        return "ambiguous"
    return "ready" if entry.cls or entry.origin == "builtin" else "not loaded"


def register(name, target=None, *, aliases=(), replace=False):
    """Give a reducer a name in this process; without ``target``, a class decorator.

    Parameters
    ----------
    name : str
    target : type or str, optional
        A Reducer subclass, checked now, or ``"module:Class"``, imported on first use.
    aliases : sequence of str
    replace : bool
        Take the names even if they are in use; a built-in stays reachable by its qualified name.

    Returns
    -------
    context manager or decorator
        ``with register(...):`` takes the name back at the end; it may be ignored.

    Raises
    ------
    NameTakenError
        A name or alias is in use.
    ParameterError
        A name is not lower snake case, or ``target`` is neither a class nor a string.
    PluginLoadError
        The class is not a usable reducer; the message lists every problem.

    Examples
    --------
    >>> from manifold_lab import Reducer
    >>> class Same(Reducer):
    ...     '''Leave the data as it is.'''
    ...     def _fit(self, X, y):
    ...         return X
    >>> with register("same", Same):
    ...     get("same").__name__
    'Same'
    """
    if isinstance(aliases, str):
        raise ParameterError(f"aliases must be a sequence of names. Got the str {aliases!r}.")
    names = [_own_name(text) for text in (name, *aliases)]
    if target is None:

        def decorate(cls):
            _enter(names, cls, replace)
            return cls

        return decorate
    return _enter(names, target, replace)


def _own_name(text):
    if not isinstance(text, str) or not _NAME.fullmatch(_snake(text)):
        raise ParameterError(
            f"A name to register must be lower snake case, such as 'my_method'. Got {text!r}."
        )
    return _snake(text)


def _enter(names, target, replace):
    global _runtime
    entry = _runtime_entry(names, target)
    with _lock:
        for name in names:
            taken = _bearers(name)
            if taken and not replace:
                raise NameTakenError(
                    f"The name {name!r} is taken by {taken[0].target} ({taken[0].origin}). Choose "
                    "another, or pass replace=True to have it mean the new one in this process."
                )
        replaced = tuple(old for old in _runtime if old.name == entry.name)
        _runtime = (entry, *(old for old in _runtime if old not in replaced))
    return _Registration(entry, replaced)


def _runtime_entry(names, target):
    if isinstance(target, str):
        if not re.fullmatch(r"[\w.]+:[\w.]+", target):
            raise ParameterError(f"A target must look like 'module:Class'. Got {target!r}.")
        return Entry(names[0], "runtime", target, tuple(names[1:]))
    if not isinstance(target, type):
        raise ParameterError(f"A target must be a class or 'module:Class'. Got {target!r}.")
    where = f"{target.__module__}:{target.__qualname__}"
    entry = Entry(names[0], "runtime", where, tuple(names[1:]))
    problems, remedy = problems_of(target)
    if problems:
        entry.failure = Failure("; ".join(problems), remedy)
        raise entry.error()
    entry.accept(target)
    return entry


class _Registration:
    """What ``register`` returns: in a ``with`` statement it takes the name back at the end."""

    def __init__(self, entry, replaced):
        self._entry, self._replaced = entry, replaced

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        global _runtime
        with _lock:
            _runtime = (*self._replaced, *(e for e in _runtime if e is not self._entry))


def unregister(name):
    """Take back a name given by :func:`register`; what it replaced, if built in, is back.

    Raises
    ------
    UnknownReducer
        The name was not registered in this process.
    """
    global _runtime
    key = _own_name(name)
    with _lock:
        found = [entry for entry in _runtime if entry.answers(key)][:1]
        if not found:
            names = ", ".join(sorted(entry.name for entry in _runtime)) or "none"
            raise UnknownReducer(
                f"{key!r} was not registered in this process, so it cannot be taken back. "
                f"Registered names: {names}."
            )
        _runtime = tuple(entry for entry in _runtime if entry is not found[0])


def refresh():
    """Forget what is known of plugins, so that new ones are found and failed ones tried again."""
    global _plugins
    importlib.invalidate_caches()  # packages installed since the process began
    with _lock:
        _plugins = None
        _builtins.cache_clear()
        for entry in _runtime:
            entry.failure = None


def check_plugins():
    """Try to load every plugin and return their records: the doctor of the command line.

    Examples
    --------
    >>> [record.name for record in check_plugins() if record.status.startswith("failed")]
    []
    """
    for entry in _installed():
        with contextlib.suppress(PluginLoadError):
            entry.load()
    return Listing(record for record in available() if record.origin == "plugin")

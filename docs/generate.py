"""The parts of the documentation that are derived from the code.

``python docs/generate.py`` refreshes the table of methods in README.md; the tables of the site
are made while Sphinx builds it (see conf.py), so only README.md can fall behind, and a test
compares it.
"""

import dataclasses
import importlib
import inspect
import json
from pathlib import Path

import manifold_lab
from manifold_lab.checks import OneOf

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
START, END = "<!-- methods:start -->", "<!-- methods:end -->"


def table(heads, rows):
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def builtins():
    """Return the records of the built-in methods; plugins of this machine are left out."""
    return [record for record in manifold_lab.available() if record.origin == "builtin"]


# ------------------------------------------------------------------ README


def method_table(folder="docs/methods/"):
    """Return the table of built-in methods, each linked to its page in ``folder``."""
    rows = [
        [
            f"[`{record.name}`]({folder}{record.name}.md)",
            ", ".join(f"`{alias}`" for alias in record.aliases),
            record.family,
            record.summary,
            "yes" if record.supervised else "",
            "yes" if record.inverts else "",
            "yes" if record.partial_fit else "",
        ]
        for record in builtins()
    ]
    return table(["name", "also", "family", "what it is", "labels", "inverse", "partial fit"], rows)


def with_methods(text):
    """Return the text of README.md with the table between its markers made anew."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{method_table()}\n{END}{after}"


# ------------------------------------------------------------------ pages of the site


def parameter_table(name):
    """Return the table of a method's parameters: bounds from the class, words from its docstring."""
    from numpydoc.docscrape import ClassDoc  # needed by the site only

    cls = manifold_lab.get(name)
    documented = ClassDoc(cls)["Parameters"]
    meaning = {p.name: " ".join(p.desc) for p in documented}
    rows = [
        [
            f"`{field.name}`",
            f"`{field.default!r}`",
            ", ".join(map(_rule, field.metadata.get("allowed", ()))),
            meaning[field.name].replace("]_", "]"),
        ]
        for field in dataclasses.fields(cls)
    ]
    return table(["parameter", "default", "allowed", "meaning"], rows)


def _rule(rule):
    return f"`{rule}`" if isinstance(rule, OneOf) else str(rule)


def api(module):
    """Return autodoc directives for the public names of a module, in MyST.

    What the package offers itself is described there, once.
    """
    home = manifold_lab if module == "manifold_lab" else getattr(manifold_lab, module)
    own = [n for n in public_names(home) if home is manifold_lab or n not in manifold_lab.__all__]
    names = [f"{home.__name__}.{name}" for name in own]
    return _directives([(name, _resolve(name)) for name in names])


def api_methods():
    """Return autodoc directives for the class of every built-in method, in MyST."""
    classes = [manifold_lab.get(record.name) for record in builtins()]
    return _directives([(f"{cls.__module__}.{cls.__qualname__}", cls) for cls in classes])


def public_names(module):
    """Return the functions and classes a module offers; modules and strings are not documented."""
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    values = {name: getattr(module, name) for name in listed}
    return [name for name, value in values.items() if callable(value)]


def _resolve(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _directives(objects):
    lines = ["```{eval-rst}"]
    for name, value in objects:
        if not isinstance(value, type):
            lines += [f".. autofunction:: {name}", ""]
        elif issubclass(value, BaseException):
            lines += [f".. autoexception:: {name}", "   :show-inheritance:", ""]
        else:
            methods = (m for m in dir(value) if not m.startswith("_"))
            methods = [m for m in methods if inspect.isfunction(getattr(value, m))]
            lines += [f".. autoclass:: {name}", f"   :members: {', '.join(methods)}", ""]
    return "\n".join([*lines, "```"])


def versus():
    """Return the measured table of docs/versus.json, or the command that measures it."""
    path = DOCS / "versus.json"
    if not path.exists():
        return (
            "No measurement is stored with this build. "
            "`python -m asv_benchmarks.versus --json docs/versus.json` makes one."
        )
    return versus_table(json.loads(path.read_text(encoding="utf-8")))


def versus_table(report):
    """Return a report of asv_benchmarks.versus: a line for each contest, then where it was held."""
    heads = ["work", "ours", "peers", "ratio to the best", "goal", "verdict"]
    rows = [
        [
            row["name"],
            _seconds(row["seconds"]),
            "; ".join(_peer(peer) for peer in row["peers"]),
            "" if row["ratio"] is None else f"{row['ratio']:.2f}",
            f"{row['goal']:g}",
            row["verdict"],
        ]
        for row in report["rows"]
    ]
    machine, versions = report["machine"], report["versions"]
    facts = [
        f"{machine['cpu']}, {machine['cores']} cores, kernels for {machine['level']}, "
        f"{machine['system']}",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"measured {report['date']}, commit {report['commit'] or 'unknown'}",
    ]
    if report["quick"]:
        facts.append("**a trial run on tiny data**: it shows that the tool works, not how fast")
    return "\n".join([table(heads, rows), "", *(f"- {fact}" for fact in facts)])


def _peer(peer):
    result = peer["problem"] and f" (not right: {peer['problem']})"
    return f"{peer['name']} {peer['version']}: {_seconds(peer['seconds'])}{result}"


def _seconds(value):
    return "none" if value is None else f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


GENERATORS = {
    "methods": method_table,
    "parameters": parameter_table,
    "api": api,
    "api_methods": api_methods,
    "versus": versus,
}


def expand(command):
    """Return what a comment ``<!-- generate: command -->`` of a page stands for."""
    name, *arguments = command.split()
    return GENERATORS[name](*arguments)


if __name__ == "__main__":
    README.write_text(with_methods(README.read_text(encoding="utf-8")), encoding="utf-8")

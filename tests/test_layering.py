"""Imports point one way: a module sees only what stands above it in ``ORDER``.

The last tests build small trees with one fault each, to show that the first one can fail.
"""

import ast
import re
from pathlib import Path

import pytest

import manifold_lab

PACKAGE = Path(manifold_lab.__file__).parent

ORDER = [  # a level is a module or a sub-package; those on one line are re-exports of the first
    ("_interop",),
    ("errors",),
    ("_progress",),
    ("checks",),
    ("_kernels",),
    ("linalg",),
    ("metrics",),
    ("base",),
    ("neighbors",),
    ("graph",),
    ("extend",),
    ("methods",),
    ("_entries",),
    ("registry",),
    ("persistence",),
    ("tools", "datasets", "quality"),
    ("testing",),
    ("cli",),
    ("__main__",),
]
LEVEL = {name: number for number, names in enumerate(ORDER) for name in names}
LAPACK = re.compile(r"scipy\.linalg(\.|\s+c?import\s.*)cython_(blas|lapack)")
# from a cimport b, c  |  cimport a  |  import a  (at the start of a line, brackets allowed)
CYTHON = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#;]*)|c?import[ \t]+([^\n#;]*))",
    re.MULTILINE,
)


def imports_of(path):
    """Yield ``(line, module, names)`` for each import in a .py, .pyx or .pxd file.

    ``names`` are those of ``from module import names``, and empty for ``import module``.
    """
    text = path.read_text(encoding="utf-8")
    return list(_python_imports(text) if path.suffix == ".py" else _cython_imports(text))


def _python_imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module, tuple(alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and _is_import_call(node):
            yield node.lineno, node.args[0].value, ()


def _is_import_call(node):
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    literal = node.args and isinstance(node.args[0], ast.Constant)
    return name in ("import_module", "__import__") and literal


def _cython_imports(text):
    code = re.sub(r'("""|\'\'\')(?s:.*?)\1', lambda m: "\n" * m[0].count("\n"), text)
    for match in CYTHON.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        module, names, plain = match.groups()
        if module:
            parts = re.split(r"[\s,()]+", re.sub(r"\s+as\s+\w+", "", names))
            yield line, module, tuple(part for part in parts if part)
        else:
            for part in plain.split(","):
                yield line, part.split()[0], ()


def faults(package):
    """Return a sentence for each import under ``package`` that breaks a rule."""
    found = []
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".pyx", ".pxd")):
        where = path.relative_to(package).as_posix()
        home = re.split(r"[./]", where)[0]
        if home == "__init__":
            own = None  # the facade names anything, lazily, and imports nothing of ours
        elif home not in LEVEL:
            found.append(f"{where}: {home} has no level; give it a line in ORDER")
            continue
        else:
            own = LEVEL[home]
        for line, module, names in imports_of(path):
            text = f"{where}:{line}"
            if module.startswith("."):
                found.append(f"{text} imports {module} relatively; write the whole name")
            whole = f"{module} import {', '.join(names)}" if names else module
            if LAPACK.search(whole) and where != "_kernels/lapack.pyx":
                found.append(f"{text} imports {module}: only _kernels/lapack.pyx may")
            for target in _own_modules(module, names):
                found += _fault(text, where, home, own, target)
    return found


def _own_modules(module, names):
    """Return the modules of the package an import reaches, facade names resolved to their home."""
    head, _, rest = module.partition(".")
    if head != "manifold_lab":
        return []
    if rest:
        return [f"{rest}.{name}" for name in names] or [rest]
    if not names:
        return ["*"]
    home = getattr(manifold_lab, "_HOME", {})
    reached = [home.get(name, f"manifold_lab.{name}").partition(".")[2] for name in names]
    return [target for target in reached if target != "__version__"]


def _fault(text, where, home, own, target):
    if target == "*":
        return [f"{text} imports the facade as a whole; import the names it needs"]
    if own is None:
        return [f"{text} imports {target}: the facade imports lazily, in __getattr__"]
    head = target.partition(".")[0]
    if head not in LEVEL:
        return [f"{text} imports {target}: {head} has no level; give it a line in ORDER"]
    if LEVEL[head] > own:
        return [
            f"{text} imports {target}: level {own} ({home}) may not see level {LEVEL[head]} ({head})"
        ]
    if home == head == "methods" and where != "methods/__init__.py":
        return [f"{text} imports {target}: siblings in methods never import each other"]
    return []


def test_imports_point_one_way():
    assert faults(PACKAGE) == []


def test_the_walk_sees_the_package():
    """Guards against a walk over nothing: these imports exist and must be seen."""
    assert ("manifold_lab.methods", ("BUILTINS",)) in [
        (module, names) for _, module, names in imports_of(PACKAGE / "registry.py")
    ]
    lapack = [module for _, module, _ in imports_of(PACKAGE / "_kernels" / "lapack.pyx")]
    assert any("scipy.linalg" in module for module in lapack)


@pytest.mark.parametrize(
    ("file", "code", "fault"),
    [
        (
            "methods/a.py",
            "from manifold_lab.tools.quality import stress",
            "methods/a.py:1 imports tools.quality.stress: level 11 (methods) may not see level 15 (tools)",
        ),
        (
            "base.py",
            "x = 1\ndef f():\n    from manifold_lab import registry",
            "base.py:3 imports registry: level 7 (base) may not see level 13 (registry)",
        ),
        (
            "base.py",
            "from manifold_lab import get",
            "base.py:1 imports registry: level 7 (base) may not see level 13 (registry)",
        ),
        (
            "checks.py",
            "import importlib\nimportlib.import_module('manifold_lab.base')",
            "checks.py:2 imports base: level 3 (checks) may not see level 7 (base)",
        ),
        (
            "methods/a.py",
            "from manifold_lab.methods.b import B",
            "methods/a.py:1 imports methods.b.B: siblings in methods never import each other",
        ),
        (
            "methods/a.py",
            "from manifold_lab.methods import BUILTINS",
            "methods/a.py:1 imports methods.BUILTINS: siblings in methods never import each other",
        ),
        (
            "graph/a.py",
            "from . import b",
            "graph/a.py:1 imports . relatively; write the whole name",
        ),
        (
            "cli.py",
            "import manifold_lab as ml",
            "cli.py:1 imports the facade as a whole; import the names it needs",
        ),
        (
            "__init__.py",
            "from manifold_lab.base import Reducer",
            "__init__.py:1 imports base.Reducer: the facade imports lazily, in __getattr__",
        ),
        ("novelty.py", "", "novelty.py: novelty has no level; give it a line in ORDER"),
        (
            "cli.py",
            "from manifold_lab.novelty import x",
            "cli.py:1 imports novelty.x: novelty has no level; give it a line in ORDER",
        ),
        (
            "_kernels/a.pyx",
            '"""import manifold_lab.cli\n"""\nfrom manifold_lab.graph.knn cimport (x,\n  y)',
            "_kernels/a.pyx:3 imports graph.knn.x: level 4 (_kernels) may not see level 9 (graph)",
        ),
        (
            "_kernels/a.pxd",
            "cimport manifold_lab.base as b",
            "_kernels/a.pxd:1 imports base: level 4 (_kernels) may not see level 7 (base)",
        ),
        (
            "_kernels/a.pyx",
            "from .b cimport c",
            "_kernels/a.pyx:1 imports .b relatively; write the whole name",
        ),
        (
            "_kernels/a.pyx",
            "from scipy.linalg.cython_blas cimport ddot",
            "_kernels/a.pyx:1 imports scipy.linalg.cython_blas: only _kernels/lapack.pyx may",
        ),
        (
            "_kernels/a.pyx",
            "from scipy.linalg cimport cython_lapack as lp",
            "_kernels/a.pyx:1 imports scipy.linalg: only _kernels/lapack.pyx may",
        ),
    ],
)
def test_each_fault_is_found_and_named(tmp_path, file, code, fault):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    assert faults(tmp_path)[:1] == [fault]


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("registry.py", "from manifold_lab import __version__\nfrom manifold_lab.base import API"),
        ("base.py", "from manifold_lab import Reducer, _interop\nimport numpy as np, os.path"),
        ("graph/a.py", "from manifold_lab.graph.b import c"),
        ("_kernels/lapack.pyx", "from scipy.linalg.cython_blas cimport ddot, dgemm as g"),
        ("_kernels/a.pyx", "# from manifold_lab.cli import main\ncimport cython, numpy as cnp"),
        ("__init__.py", "_HOME = {'get': 'manifold_lab.registry'}"),
    ],
)
def test_what_is_allowed_passes(tmp_path, file, code):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    assert faults(tmp_path) == []

"""The documentation says what the code does: tags, keys, tables, examples."""

import ast
import contextlib
import dataclasses
import doctest
import importlib.util
import io
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import manifold_lab

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "manifold_lab"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]
SOURCES = [
    path
    for folder in ("manifold_lab", "asv_benchmarks", "docs/examples", "docs/example_plugin")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".pyx", ".pxd")
]
METHODS = [r.name for r in manifold_lab.available() if r.origin == "builtin"]
HEADINGS = [
    "Problem",
    "Algorithm",
    "Cost",
    "Parameters",
    "New samples",
    "When it fails",
    "References",
]
KEY = re.compile(r"\[([a-z]+\d{4}[a-z]?)\]")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate():
    return load(DOCS / "generate.py")


def read(path):
    return path.read_text(encoding="utf-8")


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", read(path), flags=re.DOTALL | re.MULTILINE)


def run(path):
    """Execute the Python blocks of a page one after the other; return names and output."""
    names, output = {}, io.StringIO()
    with contextlib.redirect_stdout(output):
        for block in blocks(path):
            exec(compile(block, str(path), "exec"), names)
    return names, output.getvalue()


# ------------------------------------------------------------------ examples


def test_the_example_of_the_readme_runs():
    names, output = run(ROOT / "README.md")
    assert names["Z"].shape == (1000, 2)
    share = names["pca"].explained_variance_ratio_
    assert share[0] < 0.8 <= share.sum()
    assert str(manifold_lab.available()) in output


def test_the_quick_start_runs_and_is_right_about_batches():
    pytest.importorskip("sklearn")
    names, _ = run(DOCS / "quickstart.md")
    whole = manifold_lab.get("pca")(n_components=2).fit(names["X"])
    np.testing.assert_allclose(names["pca"].components_, whole.components_, atol=1e-12)
    np.testing.assert_allclose(names["pca"].explained_variance_, whole.explained_variance_)


def test_the_quick_start_is_right_about_the_swiss_roll():
    X, _ = manifold_lab.datasets.swiss_roll(n_samples=1500, noise=0.1)
    Z = manifold_lab.get("pca")(n_components=2).fit_transform(X)
    assert manifold_lab.quality.trustworthiness(X, Z) < 0.97
    assert manifold_lab.quality.continuity(X, Z) > 0.98
    shuffled = np.random.default_rng(0).permutation(Z)
    assert abs(manifold_lab.quality.trustworthiness(X, shuffled) - 0.5) < 0.03


def public_modules():
    found = pkgutil.walk_packages(manifold_lab.__path__, "manifold_lab.")
    python = {m.name for m in found if not m.name.endswith("__main__") and is_python(m)}
    return ["manifold_lab", *sorted(python)]


def is_python(module):
    origin = module.module_finder.find_spec(module.name).origin
    return origin is not None and origin.endswith(".py")


@pytest.mark.parametrize("name", public_modules())
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name), verbose=False)
    assert result.failed == 0


def test_doctests_are_there():
    finder = doctest.DocTestFinder(exclude_empty=True)
    counted = sum(
        len(test.examples)
        for name in public_modules()
        for test in finder.find(importlib.import_module(name))
    )
    assert counted > 30


# ------------------------------------------------------------------ tables and lists


def test_the_table_of_the_readme_is_the_generated_one(generate):
    text = read(ROOT / "README.md")
    assert generate.with_methods(text) == text, "run python docs/generate.py"
    for name in METHODS:
        assert f"[`{name}`](docs/methods/{name}.md)" in text


def test_the_first_screen_of_the_readme_has_the_two_commands():
    first_screen = "\n".join(read(ROOT / "README.md").splitlines()[:30])
    assert '`pip install ".[all]" && manifold-lab demo`' in first_screen
    assert '`pip install -e ".[test]" && pytest`' in first_screen


def toctree(page):
    """Return what the table of contents of a page lists: lines of ``page`` or ``Title <page>``."""
    block = re.search(r"```\{toctree\}\n(.*?)```", read(page), re.DOTALL)[1]
    lines = [line for line in block.splitlines() if line and not line.startswith(":")]
    return [line.rpartition("<")[2].rstrip(">") for line in lines]


def test_every_method_is_in_the_table_of_contents():
    assert sorted(toctree(DOCS / "methods/index.md")) == sorted(METHODS)


def test_every_page_is_in_the_table_of_contents():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"} | {"references"}
    assert {page for page in toctree(DOCS / "index.md") if "/" not in page} == pages


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+\.(?:md|rst)|LICENSE)\)", read(page)):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("name", METHODS)
def test_a_page_has_the_fixed_headings(name):
    headings = re.findall(r"^## (.*)$", read(DOCS / f"methods/{name}.md"), flags=re.MULTILINE)
    assert [heading for heading in headings if heading in HEADINGS] == HEADINGS


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_described(name, generate):
    cls = manifold_lab.get(name)
    section = re.search(r"Parameters\n\s*-+\n(.*?)\n\s*\n", cls.__doc__, flags=re.DOTALL)[1]
    described = re.findall(r"^ {4}(\w+(?:, \w+)*) : ", section, flags=re.MULTILINE)
    names = [name for line in described for name in line.split(", ")]
    assert names == [field.name for field in dataclasses.fields(cls)]
    assert f"<!-- generate: parameters {name} -->" in read(DOCS / f"methods/{name}.md")


def test_the_table_of_parameters_comes_from_the_class(generate):
    pytest.importorskip("numpydoc")
    lines = generate.parameter_table("pca").splitlines()
    assert lines[2].startswith("| `n_components` | `None` | `None`, `'mle'`, an int >= 1, a float")
    assert len(lines) == 2 + len(dataclasses.fields(manifold_lab.get("pca")))


def test_what_pages_generate_exists(generate):
    for page in PAGES:
        for command in re.findall(r"<!-- generate: (\S+)", read(page)):
            assert command in generate.GENERATORS


def test_the_api_page_covers_every_public_name(generate):
    page = read(DOCS / "api.md")
    for module in (
        "manifold_lab",
        "metrics",
        "neighbors",
        "graph",
        "datasets",
        "quality",
        "testing",
        "errors",
    ):
        assert f"<!-- generate: api {module} -->" in page
    text = generate.expand("api manifold_lab")
    callables = [n for n in manifold_lab.__all__ if callable(getattr(manifold_lab, n))]
    assert "get" in callables
    for name in callables:
        assert f":: manifold_lab.{name}\n" in text
    assert ".. autoexception:: manifold_lab.errors.ParameterError" in generate.expand("api errors")


def test_measurements_become_a_table(generate):
    report = {
        "date": "2026-01-01",
        "commit": None,
        "quick": True,
        "machine": {"cpu": "abacus", "cores": 2, "level": "v3", "system": "wood"},
        "versions": {"numpy": "2.4"},
        "rows": [
            {
                "name": "PCA",
                "goal": 1.5,
                "problem": "",
                "seconds": 0.0105,
                "peer": "a",
                "ratio": 2.345,
                "verdict": "ok",
                "peers": [
                    {"name": "a", "version": "1", "seconds": 2.5, "problem": ""},
                    {"name": "b", "version": "2", "seconds": None, "problem": "no"},
                ],
            }
        ],
    }
    lines = generate.versus_table(report).splitlines()
    expected = "| PCA | 10.5 ms | a 1: 2.5 s; b 2: none (not right: no) | 2.35 | 1.5 | ok |"
    assert lines[2] == expected
    assert "abacus, 2 cores, kernels for v3" in lines[4]
    assert "trial run" in lines[-1]


# ------------------------------------------------------------------ tags and keys


@pytest.mark.parametrize("name", METHODS)
def test_tags_of_a_page_are_cited_in_the_code_and_no_others(name):
    page = read(DOCS / f"methods/{name}.md")
    anchors = re.findall(rf"^\(({name}\.\d+)\)=$", page, flags=re.MULTILINE)
    assert anchors == [f"{name}.{i + 1}" for i in range(len(anchors))]
    assert re.findall(r"\\tag\{([\w.]+)\}", page) == anchors
    code = (read(path) for path in SOURCES if PACKAGE in path.parents)
    cited = {tag for text in code for tag in re.findall(rf"\(({name}\.\d+)\)", text)}
    assert cited == set(anchors)


def test_every_key_has_an_entry_and_every_entry_a_reader():
    entries = re.findall(r"^\.\. \[(\w+)\]", read(DOCS / "references.rst"), flags=re.MULTILINE)
    assert entries == sorted(set(entries))
    cited = {key: path for path in [*PAGES, *SOURCES] for key in KEY.findall(read(path))}
    unknown = {key: str(path) for key, path in cited.items() if key not in entries}
    assert not unknown
    assert set(entries) <= set(cited)


# ------------------------------------------------------------------ habits


def test_the_changelog_is_headed_by_this_version():
    heads = re.findall(r"^## (.*)$", read(ROOT / "CHANGELOG.md"), flags=re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert heads[1].split()[0] == manifold_lab.__version__
    assert "CHANGELOG.md" in read(DOCS / "changelog.md")


def test_every_public_name_resolves():
    for name in manifold_lab.__all__:
        assert getattr(manifold_lab, name) is not None
    assert set(manifold_lab.__all__) <= set(dir(manifold_lab))
    assert len(manifold_lab.__all__) == len(set(manifold_lab.__all__))


def test_all_lists_of_the_package_hold_names_that_exist():
    for name in public_modules():
        module = importlib.import_module(name)
        for attribute in getattr(module, "__all__", ()):
            assert isinstance(attribute, str)
            assert hasattr(module, attribute), f"{name}.{attribute}"


def test_public_functions_begin_with_a_sentence():
    for path in (p for p in SOURCES if p.suffix == ".py" and PACKAGE in p.parents):
        tree = ast.parse(read(path))
        assert ast.get_docstring(tree), f"{path} has no docstring"
        for node in tree.body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_"
            text = ast.get_docstring(node) if public else None
            if text:
                first = text.split("\n\n")[0].strip()
                assert first[-1] in ".:?", f"{path.name}: {node.name}: {first!r}"

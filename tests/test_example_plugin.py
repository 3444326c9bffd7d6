"""The example plugin under docs/ is a real package: pip installs it, and it conforms."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import manifold_lab
from manifold_lab import registry

SOURCE = Path(__file__).parents[1] / "docs" / "example_plugin"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the example: building leaves files behind."""
    copy = tmp_path_factory.mktemp("source") / "example_plugin"
    return shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "build"))


@pytest.fixture(scope="module")
def site(project, tmp_path_factory):
    """Return a folder into which pip has installed the example, without a network."""
    target = tmp_path_factory.mktemp("site")
    flags = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *flags, "--target", target, project]
    done = subprocess.run(command, capture_output=True, text=True, cwd=target)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def python(site, *argv, cwd):
    """Run Python with the folder on its path, away from the sources, and return what it prints."""
    root = str(Path(manifold_lab.__file__).parents[1])
    env = {k: v for k, v in os.environ.items() if k != registry.SWITCH}
    env["PYTHONPATH"] = os.pathsep.join([str(site), root])
    command = [sys.executable, *argv]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_found_listed_and_conforms(site, tmp_path):
    code = """
import dataclasses, json
import manifold_lab as ml
from manifold_lab.testing import run_checks

def row():
    (record,) = (r for r in ml.available() if r.name == "random_projection")
    return dataclasses.asdict(record)

before = row()
cls = ml.get("random_projection")
Z = cls(n_components=2, random_state=3).fit_transform([[1.0, 0.0, 2.0], [0.0, 1.0, 4.0]])
print(json.dumps([before, row(), Z.tolist(), run_checks(cls)]))
"""
    before, after, Z, outcomes = json.loads(python(site, "-c", code, cwd=tmp_path))
    assert (before["status"], before["summary"]) == ("not loaded", None)
    assert (after["distribution"], after["version"]) == ("acme-projections", "1.0")
    assert after == {
        **before,
        "status": "ready",
        "summary": "Gaussian random projection: a random linear map that nearly keeps distances.",
        "family": "linear",
        "supervised": False,
        "transforms": True,
        "inverts": True,
        "partial_fit": False,
    }

    W = np.random.default_rng(3).standard_normal((2, 3)) / np.sqrt(2)
    np.testing.assert_allclose(Z, [[1, 0, 2], [0, 1, 4]] @ W.T, rtol=1e-12)

    assert len(outcomes) > 30
    assert [outcome for outcome in outcomes if outcome[1] not in ("passed", "skipped")] == []


def test_its_own_tests_pass(site, project, tmp_path):
    argv = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(project / "tests")]
    assert " passed" in python(site, *argv, cwd=tmp_path)


def test_the_doctor_finds_it_well(site, tmp_path):
    rows = json.loads(python(site, "-m", "manifold_lab", "plugins", "--json", cwd=tmp_path))
    statuses = {f"{row['distribution']}:{row['name']}": row["status"] for row in rows}
    assert statuses["acme-projections:random_projection"] == "ready"


def test_the_page_about_plugins_shows_these_very_files():
    page = (SOURCE.parent / "plugins.md").read_text(encoding="utf-8")
    for path in SOURCE.rglob("*.*"):
        if path.suffix in (".py", ".toml"):
            name = path.relative_to(SOURCE.parent).as_posix()
            assert f"{{literalinclude}} {name}" in page, f"docs/plugins.md does not show {name}"


def test_the_code_for_notebooks_on_that_page_runs():
    page = (SOURCE.parent / "plugins.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(@ml\.register.*?)```", page, flags=re.DOTALL)
    try:
        exec(code, {"ml": manifold_lab, "__name__": "notebook"})
        Z = manifold_lab.get("first_columns")(n_components=1).fit_transform([[1.0, 2], [3, 4]])
    finally:
        manifold_lab.unregister("first_columns")
    assert Z.tolist() == [[1], [3]]


def test_the_module_is_as_short_as_the_page_says():
    lines = (SOURCE / "acme_projections.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40

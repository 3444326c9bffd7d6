"""show_versions: true, complete, and alive when something is broken."""

import subprocess
import sys

import numpy as np
import pytest
import scipy

import manifold_lab
from manifold_lab.tools import versions


def test_it_prints_what_is_installed(capsys):
    assert manifold_lab.show_versions() is None
    lines = capsys.readouterr().out.splitlines()
    shown = dict(line.split(maxsplit=1) for line in lines if not line.startswith("CPU"))
    assert shown["Python"] == sys.version.split()[0]
    assert shown["numpy"] == np.__version__
    assert shown["scipy"] == scipy.__version__
    assert shown["manifold_lab"] == manifold_lab.__version__
    assert "platform" in shown
    starts = {len(line) - len(line.split("  ")[-1].lstrip()) for line in lines}
    assert len(starts) == 1  # one column


def test_kernel_level_and_threads(monkeypatch):
    from manifold_lab._kernels import cpu, levels

    found = versions.versions()
    assert found["CPU kernels"] == levels.level()
    assert found["CPU kernels"] in levels.runnable()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(cpu, "has_openmp", lambda: True)
    assert versions.versions()["threads"] == "1"
    monkeypatch.setattr(cpu, "has_openmp", lambda: False)
    assert versions.versions()["threads"] == "1 (built without OpenMP)"


def test_optional_packages_are_listed_only_where_they_are(monkeypatch):
    monkeypatch.setattr(versions, "_OPTIONAL", ("pytest", "no-such-distribution"))
    found = versions.versions()
    assert found["pytest"] == pytest.__version__
    assert "no-such-distribution" not in found


def test_broken_kernels_are_reported_and_not_raised(monkeypatch):
    monkeypatch.setitem(sys.modules, "manifold_lab._kernels.levels", None)
    monkeypatch.delattr("manifold_lab._kernels.levels", raising=False)
    shown = versions.versions()["CPU kernels"]
    assert shown.startswith("not usable: ")
    assert "levels" in shown


def test_no_optional_package_is_imported():
    code = (
        "import sys, manifold_lab; manifold_lab.show_versions();"
        "bad = {'matplotlib', 'plotly', 'pandas', 'polars', 'rich', 'sklearn'} & set(sys.modules);"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)

"""The examples on the pages of metrics and neighbours run, and show what they say."""

import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[2] / "docs"


def run(page):
    names = {}
    text = (DOCS / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, page, "exec"), names)
    return names


def test_the_page_of_metrics():
    names = run("metrics.md")
    X, D = names["X"], names["D"]
    np.testing.assert_allclose(D[0], np.abs(X - X[0]).sum(axis=1))
    M = np.linalg.inv(np.cov((X - 1e8).T))
    np.testing.assert_allclose(names["whitened"].M, M, rtol=1e-6, atol=1e-9)
    assert names["model"].score(X, names["y"]) > 0.8


def test_the_page_of_neighbours():
    names = run("neighbors.md")
    assert names["scores"].shape == (30,)
    assert names["scores"][names["best"] - 1] == names["scores"].max() > 0.7
    np.testing.assert_allclose(names["proba"].sum(axis=1), 1)
    assert len(names["indptr"]) == 6

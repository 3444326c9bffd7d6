"""The demo page: complete, offline, escaped, and not to be stopped by one faulty method."""

import contextlib
import json
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from manifold_lab import available, get, register
from manifold_lab.base import Reducer, param
from manifold_lab.checks import SEED
from manifold_lab.datasets import s_curve, swiss_roll
from manifold_lab.errors import (
    DegenerateDataWarning,
    MissingExtraError,
    ParameterError,
    warn,
)
from manifold_lab.tools import demo
from manifold_lab.tools.versions import versions


class First(Reducer):
    """Keep the first columns."""

    n_components: int = param(2)

    def _fit(self, X, y):
        return X[:, : self.n_components]


class Hostile(First):
    """Fail with a text that would run in a page."""

    def _fit(self, X, y):
        raise ValueError("</td><script>alert('k=3 & n=2')</script>")


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text outside scripts, the data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.scripts = [], [], "", []
        self.feed(text)
        self.data = json.loads(self.scripts[1])

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        if self.tags[-1:] == ["script"] and len(self.scripts) < self.tags.count("script"):
            self.scripts.append(data)
        elif self.tags[-1:] != ["style"]:
            self.text += data


@pytest.fixture
def light(monkeypatch):
    """Spare the tests the five megabytes of plotly."""
    colours = ["#000000", "#ffffff"]
    monkeypatch.setattr(demo, "_plotly", lambda: ("const Plotly = {};", colours))


@pytest.fixture
def run(tmp_path, capsys, light):
    """Run the demo, small; return its code, what it printed and the page."""

    def go(n_samples=30, **options):
        target = tmp_path / "demo.html"
        code = demo.run(output=target, n_samples=n_samples, **options)
        return code, capsys.readouterr().out, Page(target.read_text(encoding="utf-8"))

    return go


def table(out):
    """Return the printed rows as {(data set, method): rest of the line}."""
    lines = [line for line in out.splitlines() if line.startswith(("S-curve", "Swiss roll"))]
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    return {(row[0], row[1]): row[2:] for row in cells}


def test_the_real_page_is_whole_and_offline(tmp_path, capsys):
    target = tmp_path / "real.html"
    assert demo.run(output=str(target), n_samples=25, seed=3) == 0
    assert str(target) in capsys.readouterr().out
    text = target.read_text(encoding="utf-8")
    page = Page(text)
    assert text.count("plotly.js v") >= 1
    assert page.tags.count("script") == len(page.scripts) == 3
    assert len(page.scripts[0]) > 1e6
    for name in ("S-curve", "Swiss roll", *(record.name for record in available())):
        assert name in page.text
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "srcset", "action"}
    contents = [value for name, value in page.attributes if name == "content"]
    assert any(value.startswith("default-src 'none'") for value in contents)
    ours = text.replace(page.scripts[0], "")
    assert "http:" not in ours
    assert "https:" not in ours
    assert "url(" not in ours
    assert "@import" not in ours


def test_table_has_every_method_on_both_sets(run):
    code, out, page = run()
    assert code == 0
    rows = table(out)
    assert set(rows) == {(d, r.name) for d in ("S-curve", "Swiss roll") for r in available()}
    X, _ = s_curve(n_samples=30, random_state=0)
    from manifold_lab.quality import trustworthiness

    Z = get("pca")(n_components=2).fit_transform(X)
    seconds, score = rows["S-curve", "pca"]
    assert score == f"{trustworthiness(X, Z, k=10):.4f}"
    assert 0 <= float(seconds) < 10
    assert score in page.text


def test_pictures_hold_the_data_and_the_embeddings(run):
    _, _, page = run(seed=5)
    for shown, make in zip(page.data["sets"], (s_curve, swiss_roll), strict=True):
        X, T = make(n_samples=30, random_state=5)
        np.testing.assert_allclose(shown["original"], X.T, rtol=1e-4)
        np.testing.assert_allclose(shown["colour"], T[:, 0], rtol=1e-4)
        where = [record.name for record in available()].index("pca")
        Z = get("pca")(n_components=2).fit_transform(X)
        np.testing.assert_allclose(shown["embeddings"][where], Z.T, rtol=1e-4, atol=1e-12)
    ids = [value for name, value in page.attributes if name == "id"]
    assert {"p0", "p1", f"p0-{where}", f"p1-{where}"} <= set(ids)


def test_versions_and_seed_are_at_the_bottom(run):
    _, _, page = run(seed=11)
    bottom = page.text[page.text.index("seed 11") :]
    for name, version in versions().items():
        assert f"{name} {version}" in bottom


def test_no_seed_is_seed_zero(run):
    _, _, none = run(seed=None)
    assert none.data["sets"][0]["original"] == run(seed=0)[2].data["sets"][0]["original"]
    assert none.data["sets"][0]["original"] != run(seed=1)[2].data["sets"][0]["original"]


def test_a_failing_method_is_a_row_and_its_text_is_harmless(run):
    with register("hostile", Hostile), register("first", First):
        code, out, page = run()
    assert code == 0
    assert "failed: ValueError: </td><script>alert" in out
    assert page.tags.count("script") == 3
    assert page.text.count("</td><script>alert('k=3 & n=2')</script>") == 4  # tables and cards
    rows = table(out)
    assert len(rows["S-curve", "first"]) == 2
    order = sorted([*(record.name for record in available()), "first", "hostile"])
    assert page.data["sets"][1]["embeddings"][order.index("hostile")] is None


def test_a_failing_builtin_fails_the_command(run, monkeypatch):
    def broken(name):
        raise ImportError(f"no kernel for {name}")

    monkeypatch.setattr(demo, "get", broken)
    code, out, _ = run()
    assert code == 1
    assert "failed: ImportError: no kernel for pca" in out


def test_a_shadowed_method_is_shown_by_its_whole_name(run):
    with register("pca", First, replace=True):
        _, out, _ = run()
    assert {name for _, name in table(out)} >= {"pca", "manifold-lab:pca"}


def test_supervised_methods_get_labels_from_the_true_coordinate(run):
    seen = []

    class Labelled(First):
        """Take labels."""

        supervised = True

        def _fit(self, X, y):
            seen.append((X, y))
            return X[:, :2]

    with register("labelled", Labelled):
        code, out, _ = run(n_samples=80)
    assert code == 0
    assert "failed" not in out
    X, y = next(pair for pair in seen if len(pair[0]) == 80)
    want, T = s_curve(n_samples=80, random_state=0)
    assert np.array_equal(X, want)
    assert np.array_equal(np.bincount(y), [10] * 8)
    assert (np.diff(y[np.argsort(T[:, 0])]) >= 0).all()


def test_warnings_become_notes(run):
    class Doubtful(First):
        """Warn."""

        def _fit(self, X, y):
            warn(DegenerateDataWarning("only one direction <b>"))
            return X[:, :2]

    with register("doubtful", Doubtful):
        code, out, page = run()
    assert code == 0
    assert table(out)["S-curve", "doubtful"][2:] == ["only one direction <b>"]
    assert "only one direction <b>" in page.text


def test_the_seed_reaches_methods_that_draw(run):
    seen = set()

    class Drawing(First):
        """Have a seed."""

        random_state: object = param(None, *SEED)

        def _fit(self, X, y):
            seen.add(self.random_state)
            return X[:, :2]

    with register("drawing", Drawing):
        run(seed=9)
    assert seen == {9}


@pytest.mark.parametrize("columns", [1, 3])
def test_other_numbers_of_columns_are_drawn_too(run, columns):
    class Odd(Reducer):
        """Have no n_components."""

        def _fit(self, X, y):
            return X[:, :columns]

    with register("a_odd", Odd):
        code, _, page = run()
    assert code == 0
    shown = page.data["sets"][0]
    second = [0.0] * 30 if columns == 1 else shown["original"][1]
    assert shown["embeddings"][0] == [shown["original"][0], second]


def test_rich_draws_the_table_on_a_terminal(run, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    with register("hostile", Hostile):
        _, out, _ = run()
    assert "┃" in out
    assert "trustworthiness" in out
    assert "</td><script>alert" in out
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert "data set    method" in run()[1]


def test_without_plotly_it_says_so_before_computing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    monkeypatch.setattr(demo, "available", lambda: pytest.fail("it computed first"))
    with pytest.raises(MissingExtraError, match=r'pip install "manifold-lab\[report\]"'):
        demo.run(output=tmp_path / "demo.html", n_samples=30)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 19}, "'n_samples' parameter of demo must be an int >= 20. Got 19"),
        ({"seed": -1}, "'seed' parameter of demo.*Got -1"),
        ({"output": "no_such_folder/demo.html"}, "its folder does not exist"),
        ({"output": "."}, "that is a folder"),
    ],
)
def test_bad_parameters(tmp_path, light, monkeypatch, options, message):
    monkeypatch.setattr(demo, "available", lambda: pytest.fail("it computed first"))
    with contextlib.chdir(tmp_path), pytest.raises(ParameterError, match=message):
        demo.run(**options)


@pytest.mark.parametrize("n", [20, 21, 22])
def test_smallest_sizes(run, n):
    code, out, page = run(n_samples=n)
    assert code == 0
    assert "failed" not in out
    assert f"{n} samples" in page.text

"""The benchmarks run, compare like with like, and asv and the table of peers can read them."""

import dataclasses
import importlib
import importlib.util
import inspect
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import manifold_lab
from asv_benchmarks import contest, versus
from asv_benchmarks.rows import Peer, Row, collect
from asv_benchmarks.rows import pca as pca_rows

FOLDER = Path(__file__).parents[1] / "asv_benchmarks"
KINDS = ("time_", "timeraw_", "peakmem_", "track_")


def load(*names):
    """Import modules as asv does: ``benchmarks`` is a package of its own folder."""
    small = mock.patch.dict(os.environ, MANIFOLD_LAB_BENCH="small")
    with small, mock.patch.object(sys, "path", [str(FOLDER), *sys.path]):
        return [importlib.import_module(f"benchmarks.{name}") for name in names]


MODULES = load(*sorted(path.stem for path in (FOLDER / "benchmarks").glob("[a-z]*.py")))
CLASSES = [
    cls
    for module in MODULES
    for cls in vars(module).values()
    if inspect.isclass(cls) and cls.__module__ == module.__name__
]
KERNELS = [cls for cls in CLASSES if cls.__module__ == "benchmarks.kernels"]


def combinations(cls):
    return itertools.product(*getattr(cls, "params", ()))


def find(name):
    return next(cls for cls in CLASSES if cls.__name__ == name)


# ------------------------------------------------------------------ the classes


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_benchmark_runs_at_its_small_parameters(cls):
    names = [name for name in dir(cls) if name.startswith(KINDS)]
    assert names
    assert len(getattr(cls, "params", ())) == len(getattr(cls, "param_names", ()))
    for name, parameters in itertools.product(names, combinations(cls)):
        bench = cls()
        if hasattr(bench, "setup"):
            bench.setup(*parameters)
        value = getattr(bench, name)(*parameters)
        if hasattr(bench, "teardown"):
            bench.teardown(*parameters)
        if name.startswith("track_"):
            assert value >= 0 or (math.isnan(value) and sys.platform == "win32")
            assert getattr(cls, name).unit
        if name.startswith("timeraw_"):
            subprocess.run([sys.executable, "-c", value], check=True)


@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_kernel_has_a_rival_that_computes_the_same(cls):
    timed = {name for name in dir(cls) if name.startswith("time_")}
    assert timed > {"time_ours"}
    for parameters in combinations(cls):
        bench = cls()
        bench.setup(*parameters)
        bench.check(*parameters)


@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_kernel_names_its_benchmark(cls):
    sources = (Path(manifold_lab.__file__).parent / "_kernels").glob("*.pyx")
    assert any(f"Bench: kernels.{cls.__name__}." in path.read_text() for path in sources)


def test_kernel_check_sees_a_wrong_rival():
    class Wrong(find("Scatter")):
        def time_numpy(self, *parameters):
            mean, scatter = super().time_numpy(*parameters)
            return mean, scatter * (1 + 1e-9)

    bench = Wrong()
    bench.setup(300, 7, "float64")
    with pytest.raises(AssertionError, match="tolerance"):
        bench.check(300, 7, "float64")


def test_every_method_is_tracked():
    names = {record.name for record in manifold_lab.available() if record.origin == "builtin"}
    assert set(find("Every").params[0]) == names


def test_trustworthiness_is_that_of_the_embedding():
    bench = find("Every")()
    bench.setup("pca")
    Z = bench.time_fit_transform("pca")
    expected = manifold_lab.quality.trustworthiness(bench.X, Z)
    assert bench.track_trustworthiness("pca") == expected > 0.6


def test_fake_plugins_are_listed_and_gone_afterwards(monkeypatch):
    monkeypatch.delenv("MANIFOLD_LAB_NO_PLUGINS", raising=False)
    manifold_lab.refresh()
    before, path = [record.name for record in manifold_lab.available()], list(sys.path)
    bench = find("Available")()
    bench.setup(3)
    during = [record.name for record in bench.time_first_listing(3)]
    assert [record.name for record in bench.time_next_listing(3)] == during
    bench.teardown(3)
    assert sorted(before + ["fake_0", "fake_1", "fake_2"]) == during
    assert [record.name for record in manifold_lab.available()] == before
    assert sys.path == path


@pytest.mark.parametrize(
    ("size", "expected"), [("small", 1), ("", 2), ("medium", 2), ("LARGE", 3), (None, 2)]
)
def test_size_comes_from_the_environment(monkeypatch, size, expected):
    by_size = sys.modules["benchmarks.common"].by_size
    monkeypatch.delenv("MANIFOLD_LAB_BENCH", raising=False)
    if size is not None:
        monkeypatch.setenv("MANIFOLD_LAB_BENCH", size)
    assert by_size(1, 2, 3) == expected
    assert by_size(1, 2) == min(expected, 2)


def test_unknown_size_is_an_error(monkeypatch):
    monkeypatch.setenv("MANIFOLD_LAB_BENCH", "huge")
    with pytest.raises(ValueError, match=r"huge is not a size: .* small, medium, large"):
        sys.modules["benchmarks.common"].by_size(1, 2)


def test_decaying_data_has_the_stated_spectrum():
    X = sys.modules["benchmarks.common"].decaying(20_000, 5)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    np.testing.assert_allclose(values[::-1], 1 / np.arange(1, 6) ** 2, rtol=0.05)
    assert np.abs(vectors).max() < 0.99  # not along the coordinate axes


# ------------------------------------------------------------------ asv itself


@pytest.fixture
def asv(tmp_path):
    """Return a function that runs asv with our configuration, writing only to a folder of its own."""
    if importlib.util.find_spec("asv") is None:
        pytest.skip("asv is not installed: pip install asv")
    settings = json.loads((FOLDER / "asv.conf.json").read_text())
    settings |= {key: str(FOLDER / settings[key]) for key in ("repo", "benchmark_dir")}
    settings |= {key: str(tmp_path / key) for key in ("env_dir", "results_dir", "html_dir")}
    settings["branches"] = ["HEAD"]  # a checkout of one commit has no branch called main
    config = tmp_path / "asv.conf.json"
    config.write_text(json.dumps(settings))
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}  # asv keeps a file there
    where = {"ASV_PYTHONPATH": str(Path(manifold_lab.__file__).parents[1])}
    env = {**os.environ, **home, **where, "MANIFOLD_LAB_BENCH": "small"}

    def run(*arguments):
        command = [sys.executable, "-m", "asv", arguments[0], "--config", str(config)]
        done = subprocess.run(
            [*command, *arguments[1:]], env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("machine", "--yes")
    return run


def test_asv_accepts_every_benchmark(asv):
    asv("check", "--python=same")


def test_asv_measures_the_current_commit(asv, tmp_path):
    git = shutil.which("git")
    head = git and subprocess.run(
        [git, "rev-parse", "--verify", "HEAD"], cwd=FOLDER, capture_output=True, text=True
    )
    if not head or head.returncode:
        pytest.skip("not a git checkout with a commit")
    commit = head.stdout.strip()
    asv("run", "--quick", "--python=same", "--bench=PCA.time_fit", f"--set-commit-hash={commit}")
    (path,) = (tmp_path / "results_dir").glob(f"*/{commit[:8]}-*.json")
    found = json.loads(path.read_text())
    assert found["commit_hash"] == commit
    (name,) = found["results"]
    assert name == "methods.PCA.time_fit"
    values = found["results"][name][found["result_columns"].index("result")]
    assert len(values) == len(list(combinations(find("PCA"))))
    assert all(0 < value < 60 for value in values)


# ------------------------------------------------------------------ against the peers


def sleeper(seconds):
    """Return work that claims to have taken ``seconds``; nothing waits."""
    return lambda data: seconds


def row(*, ours=1.0, goal=2.0, agree=lambda data, result, exact: "", **peers):
    return Row(
        name="work",
        goal=goal,
        setup=lambda quick: None,
        ours=ours if callable(ours) else sleeper(ours),
        peers={name: Peer(run, "numpy", "numpy") for name, run in peers.items()},
        agree=agree,
        clock=lambda run, data: (run(data), None),
    )


def test_ratio_is_the_fastest_peers_time_over_ours():
    outcome = contest.contest(row(slow=sleeper(9.0), fast=sleeper(3.0)), repeat=2)
    assert (outcome["peer"], outcome["ratio"], outcome["verdict"]) == ("fast", 3.0, "ok")
    assert [peer["seconds"] for peer in outcome["peers"]] == [9.0, 3.0]
    assert outcome["peers"][0]["version"] == np.__version__


def test_slower_than_the_goal_is_short():
    assert contest.contest(row(peer=sleeper(1.9)))["verdict"] == "short"


def test_rounds_are_interleaved_and_the_best_counts():
    order, times = [], iter([0.0, 5.0, 1.0, 4.0])  # the first run warms up and is not counted

    def ours(data):
        order.append("ours")
        return next(times)

    def peer(data):
        order.append("peer")
        return 2.0

    outcome = contest.contest(row(ours=ours, peer=peer), repeat=3)
    assert order == ["ours", "peer"] * 4
    assert (outcome["seconds"], outcome["ratio"], outcome["rounds"]) == (1.0, 2.0, 3)


def test_short_work_gets_more_rounds_up_to_ten_times():
    times = row(ours=0.25, peer=sleeper(0.25))
    assert contest.contest(times, repeat=2)["rounds"] == 4  # 2 s in all
    assert contest.contest(row(ours=1e-6), repeat=2)["rounds"] == 20
    assert contest.contest(row(ours=1e-6), repeat=2, quick=True)["rounds"] == 2


def test_peer_whose_result_is_wrong_is_not_counted(capsys):
    def agree(data, result, exact):
        return "off by 3" if result == 0.5 else ""

    outcome = contest.contest(row(agree=agree, hasty=sleeper(0.5), right=sleeper(4.0)))
    assert (outcome["peer"], outcome["ratio"]) == ("right", 4.0)
    versus.show([outcome])
    assert "work: hasty, not counted: off by 3\n" in capsys.readouterr().out


def test_peer_that_raises_does_not_stop_the_run():
    def broken(data):
        raise RuntimeError("no licence")

    outcome = contest.contest(row(broken=broken, fine=sleeper(4.0)))
    assert outcome["ratio"] == 4.0
    assert outcome["peers"][0]["problem"] == "RuntimeError: no licence"
    assert outcome["peers"][0]["seconds"] is None


def test_table_says_which_peer_is_approximate():
    rough = Peer(sleeper(0.0213), "numpy", "numpy", exact=False)
    work = dataclasses.replace(row(), peers={"rough": rough})
    line = versus.cells(contest.contest(work, repeat=1))
    title = f"rough {np.__version__} (approximate)"
    assert line == ("work", "1.00 s", title, "21.3 ms", "0.02", "2", "short")


def test_our_wrong_result_is_never_ok():
    outcome = contest.contest(row(agree=lambda data, result, exact: "off", peer=sleeper(9.0)))
    assert outcome["verdict"] == "wrong"


def test_our_failure_is_told():
    def broken(data):
        raise MemoryError("too much")

    outcome = contest.contest(row(ours=broken, peer=sleeper(1.0)))
    assert (outcome["verdict"], outcome["problem"]) == ("failed", "MemoryError: too much")
    assert versus.notes([outcome]) == ["work: ours: MemoryError: too much"]


def test_absent_peer_has_no_version():
    assert Peer(sleeper(1), "no-such-thing", "no_such_thing").version() is None
    assert Peer(sleeper(1), "no-such-thing", "numpy").version() is None


def test_pca_agreement_sees_variances_and_axes():
    data = pca_rows.ROWS[0].setup(True)
    model = pca_rows.ours(data)
    assert pca_rows.agree(data, model, True) == ""
    model.components_ = -model.components_
    assert pca_rows.agree(data, model, True) == ""  # signs are free
    model.components_ = model.components_[::-1]
    assert "cosine" in pca_rows.agree(data, model, True)
    model.explained_variance_ = model.explained_variance_ * 0.95
    assert "variances off by 5.0e-02" in pca_rows.agree(data, model, True)
    assert pca_rows.agree(data, model, False) == ""
    model.explained_variance_ = data.variances * 1.01  # more than there is
    assert "variances" in pca_rows.agree(data, model, False)
    model.explained_variance_ = data.variances * np.nan
    assert "variances" in pca_rows.agree(data, model, False)


@pytest.fixture
def run(capsys, tmp_path):
    """Return a function that runs versus and returns exit code, stdout and the JSON."""

    def call(*arguments):
        path = tmp_path / "versus.json"
        code = versus.main([*arguments, "--quick", "--json", str(path)])
        return code, capsys.readouterr().out, json.loads(path.read_text())

    return call


def test_versus_prints_a_table_and_writes_json(run):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    code, out, report = run("--rows", "import,pca")
    assert code == 0, out
    rows = [*collect()["pca"], *collect()["startup"]]
    assert [found["name"] for found in report["rows"]] == [row.name for row in rows]
    assert [found["goal"] for found in report["rows"]] == [1, 1, 1.5, 1.5, 8]
    assert report["quick"] is True
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", report["date"])
    assert report["commit"] is None or re.fullmatch(r"[0-9a-f]{40}\+?", report["commit"])
    assert report["machine"]["cpu"]
    assert 1 <= report["machine"]["cores"] <= os.cpu_count()
    assert report["versions"]["manifold-lab"] == manifold_lab.__version__
    assert report["versions"]["numpy"] == np.__version__
    assert report["versions"]["scikit-learn"] == sys.modules["sklearn"].__version__
    for found in report["rows"]:
        assert found["verdict"] == "trial", found
        assert found["peer"].startswith("scikit-learn")
        seconds = {peer["name"]: peer["seconds"] for peer in found["peers"]}
        assert found["ratio"] == seconds[found["peer"]] / found["seconds"] > 0
        (line,) = (line for line in out.splitlines() if line.startswith(found["name"] + "  "))
        assert f"{found['ratio']:.2f}" in line.split()


def test_versus_runs_without_any_peer(run, monkeypatch):
    monkeypatch.setattr(Peer, "version", lambda self: None)
    code, out, report = run("--rows", "DECAYING,import")
    assert code == 0
    assert [found["verdict"] for found in report["rows"]] == ["no peer", "no peer"]
    assert [found["ratio"] for found in report["rows"]] == [None, None]
    assert all(found["seconds"] > 0 for found in report["rows"])
    assert "scikit-learn" not in report["versions"]
    assert out.count("none installed") == 2


def test_versus_fails_if_we_are_wrong(run, monkeypatch):
    monkeypatch.setattr(versus, "collect", lambda: {"x": [row(agree=lambda *a: "off by 1")]})
    code, out, _ = run()
    assert code == 1
    assert "work: ours: off by 1\n" in out


def test_versus_on_a_terminal_uses_rich(capsys, monkeypatch):
    pytest.importorskip("rich", reason="rich is not installed")
    outcome = contest.contest(row(peer=sleeper(3.0)), repeat=1)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    versus.show([outcome])
    out = capsys.readouterr().out
    assert re.search(r"[│┃].*work.*1\.00 s.*3\.00 s.*3\.00.*ok", out)


def test_versus_on_a_terminal_without_rich(capsys, monkeypatch):
    outcome = contest.contest(row(peer=sleeper(3.0)), repeat=1)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    versus.show([outcome])
    assert capsys.readouterr().out.splitlines()[0].split()[0] == "work"


def test_rows_are_chosen_by_module_or_else_by_name(monkeypatch):
    table = {
        module: [dataclasses.replace(row(), name=name) for name in names]
        for module, names in {"kpca": ["kernel PCA"], "pca": ["PCA f32", "PCA f64"]}.items()
    }
    monkeypatch.setattr(versus, "collect", lambda: table)

    def names(*words):
        return [found.name for found in versus.chosen(words)]

    assert names() == ["kernel PCA", "PCA f32", "PCA f64"]
    assert names("PCA") == ["PCA f32", "PCA f64"]
    assert names("f64", "kpca") == ["kernel PCA", "PCA f64"]


def test_row_names_are_unique():
    names = [found.name for found in versus.chosen([])]
    assert len(names) == len(set(names)) >= 5


def test_versus_refuses_an_unknown_row(capsys):
    with pytest.raises(SystemExit) as stop:
        versus.main(["--rows", "tsne"])
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert "no row matches 'tsne'. Rows: " in message
    assert "PCA 100,000" in message


def test_versus_refuses_no_rounds(capsys):
    with pytest.raises(SystemExit):
        versus.main(["--repeat", "0"])
    assert "--repeat must be at least 1. Got 0." in capsys.readouterr().err


def test_commit_is_none_outside_a_checkout(monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "none"))
    assert versus.commit() is None
    monkeypatch.setenv("PATH", str(tmp_path))  # and where there is no git at all
    assert versus.commit() is None


def test_versus_is_a_module_to_run():
    command = [sys.executable, "-m", "asv_benchmarks.versus", "--help"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    assert "--quick" in done.stdout

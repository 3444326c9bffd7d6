"""The command line: what it prints, where, and the exit code."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from plugins.installed import installed, paths

import manifold_lab
from manifold_lab import cli, errors, registry


@pytest.fixture(autouse=True)
def _plugins_on(monkeypatch):
    monkeypatch.delenv(registry.SWITCH, raising=False)
    with installed():
        yield


@pytest.fixture
def run(capsys):
    """Return a function that runs a command line and returns code, stdout, stderr."""

    def call(*argv):
        code = cli.main(argv)
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def fake_demo(monkeypatch):
    """Stand in for the demo; the list it returns receives what the command passes on."""
    calls = []
    module = types.ModuleType("manifold_lab.tools.demo")
    module.run = lambda **options: calls.append(options) or 0
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


def shell(*argv, folders=(), **keywords):
    """Run the command line in a process of its own."""
    root = str(Path(manifold_lab.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*folders, root])}
    command = [sys.executable, "-m", "manifold_lab", *argv]
    return subprocess.run(command, env=env, capture_output=True, text=True, **keywords)


# ------------------------------------------------------------------ methods


def test_methods_prints_a_table(run):
    with installed("good"):
        code, out, err = run("methods")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split()[:3] == ["name", "aliases", "family"]
    assert any(line.startswith("pca ") and "builtin" in line for line in lines)
    assert any(line.split() == ["good", *"?????", "good", "not", "loaded"] for line in lines)


def test_methods_as_json_has_every_field(run):
    with installed("good"):
        code, out, _ = run("methods", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert rows["pca"]["origin"] == "builtin"
    assert rows["pca"]["inverts"] is True
    assert rows["good"] == {
        "name": "good",
        "aliases": [],
        "summary": None,
        "family": None,
        "supervised": None,
        "transforms": None,
        "inverts": None,
        "partial_fit": None,
        "origin": "plugin",
        "distribution": "good",
        "version": "0.1",
        "status": "not loaded",
        "target": "plugin_good:Good",
    }


def test_methods_imports_no_plugin(run):
    with installed("good", "broken_exit"):
        assert run("methods")[0] == 0
        assert "plugin_good" not in sys.modules


# ------------------------------------------------------------------ plugins


def test_plugins_that_all_work(run):
    with installed("good", "shadows_builtin", "twin_a", "twin_b"):
        code, out, err = run("plugins")
    rows = [line.split(maxsplit=3) for line in out.splitlines()[2:]]
    assert (code, err) == (0, "")
    assert rows == [
        ["good", "good", "0.1", "ready"],
        ["good_too", "good", "0.1", "ready"],
        ["pca", "shadows-builtin", "0.1", 'shadowed: use get("shadows-builtin:pca")'],
        ["twin", "twin-a", "0.1", 'ambiguous: use get("twin-a:twin")'],
        ["twin", "twin-b", "0.1", 'ambiguous: use get("twin-b:twin")'],
    ]


def test_plugins_tells_the_reason_of_each_failure_and_fails(run):
    with installed("good", "broken_import", "broken_exit"):
        code, out, err = run("plugins")
    assert code == 1
    assert "failed: ModuleNotFoundError: No module named 'a_package_nobody_has'" in out
    assert "failed: SystemExit: no display found" in out
    assert err.splitlines() == [
        "manifold-lab: 2 of 4 plugins cannot be loaded: broken-exit:broken_exit, "
        "broken-import:broken_import. Upgrade or uninstall the distribution, or report it to its "
        "authors"
    ]


def test_plugins_as_json(run):
    with installed("good", "broken_value"):
        code, out, _ = run("plugins", "--json")
    statuses = {row["name"]: row["status"] for row in json.loads(out)}
    assert code == 1
    assert statuses == {
        "broken_value": "failed: ValueError: the licence file is unreadable",
        "good": "ready",
        "good_too": "ready",
    }


def test_what_a_plugin_prints_does_not_spoil_the_json(run, tmp_path, monkeypatch):
    info = tmp_path / "chatty-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chatty\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\nchatty = plugin_chatty:Missing\n")
    (tmp_path / "plugin_chatty.py").write_text("print('hello from the plugin')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.refresh()
    _, out, err = run("plugins", "--json")
    assert "chatty" in [row["name"] for row in json.loads(out)]
    assert "hello from the plugin" in err


def test_no_plugins(run, monkeypatch):
    monkeypatch.setattr(registry, "_scan", lambda: ())
    code, out, _ = run("plugins")
    assert code == 0
    assert "no package offers entry points in the group manifold_lab.reducers" in out


def test_plugins_switched_off(run, monkeypatch):
    monkeypatch.setenv(registry.SWITCH, "1")
    with installed("good"):
        code, out, _ = run("plugins")
    assert (code, out) == (
        0,
        "Plugins are switched off by MANIFOLD_LAB_NO_PLUGINS; unset it to look for them.\n",
    )


# ------------------------------------------------------------------ demo


def test_demo_passes_its_options_on(run, fake_demo):
    assert run("demo")[0] == 0
    run("demo", "--output", "a.html", "--n-samples", "50", "--seed", "7")
    assert fake_demo == [
        {"output": "manifold_lab_demo.html", "n_samples": 1000, "seed": None},
        {"output": "a.html", "n_samples": 50, "seed": 7},
    ]


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("argv", "what", "where"),
    [
        ([], "required: COMMAND", "manifold-lab --help"),
        (["method"], "invalid choice: 'method'", "manifold-lab --help"),
        (["methods", "--jsn"], "unrecognized arguments: --jsn", "manifold-lab --help"),
        (["demo", "--n-samples", "1"], "must be at least 2, got 1", "manifold-lab demo --help"),
        (["demo", "--seed", "x"], "invalid int value: 'x'", "manifold-lab demo --help"),
    ],
)
def test_wrong_usage_is_one_line_with_the_remedy(run, argv, what, where):
    code, out, err = run(*argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("manifold-lab: ")
    assert what in err
    assert err.endswith(f"See `{where}`\n")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (errors.ParameterError("k is 9.\nPass 5."), "manifold-lab: k is 9. Pass 5.\n"),
        (
            PermissionError(13, "Permission denied", "/out.html"),
            "manifold-lab: [Errno 13] Permission denied: '/out.html'\n",
        ),
        (
            ZeroDivisionError("division by zero"),
            "manifold-lab: ZeroDivisionError: division by zero. Run it again with --debug to see "
            "where, and report it\n",
        ),
    ],
)
def test_a_failure_is_one_line_unless_debug(run, monkeypatch, fake_demo, error, line):
    def fail(**options):
        raise error

    monkeypatch.setattr(sys.modules["manifold_lab.tools.demo"], "run", fail)
    assert run("demo") == (1, "", line)
    for argv in (["--debug", "demo"], ["demo", "--debug"]):
        with pytest.raises(type(error)):
            cli.main(argv)


def test_ctrl_c_is_no_traceback(run, monkeypatch, fake_demo):
    def interrupt(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["manifold_lab.tools.demo"], "run", interrupt)
    assert run("demo") == (130, "", "manifold-lab: interrupted\n")


def test_a_reader_that_stops_early_is_no_error():
    read, write = os.pipe()
    os.close(read)
    root = str(Path(manifold_lab.__file__).parents[1])
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}  # the usual case
    done = subprocess.run(
        [sys.executable, "-m", "manifold_lab", "methods"],
        env={**env, "PYTHONPATH": root},
        stdout=write,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


# ------------------------------------------------------------------ help and form


def test_help_shows_every_command_and_examples(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    for name in cli.COMMANDS:
        assert f"    {name} " in out
        assert f"\n  manifold-lab {name}" in out.partition("examples:")[2]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_example_of_the_help_can_be_parsed(run, name):
    code, out, _ = run(name, "--help")
    examples = out.partition("examples:\n")[2].splitlines()
    assert code == 0
    assert len(examples) > 1
    for line in examples:
        program, *argv = line.split()
        assert program == "manifold-lab"
        assert cli._parser().parse_args(argv).run is cli.COMMANDS[name][0]


def test_version(run):
    assert run("--version") == (0, f"manifold-lab {manifold_lab.__version__}\n", "")


def test_as_a_module_the_exit_code_reaches_the_shell():
    assert shell("--version").stdout == f"manifold-lab {manifold_lab.__version__}\n"
    assert shell("plugins", folders=paths("broken_import")).returncode == 1
    assert shell("nonsense").returncode == 2


def test_a_terminal_with_rich_gets_its_table(run, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("methods")
    assert out.startswith("┏━")
    assert "Principal component analysis" in out


def test_a_terminal_without_rich_gets_plain_text(run, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    _, out, _ = run("methods")
    assert out.splitlines()[1].startswith("----")

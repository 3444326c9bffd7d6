"""Names to classes: resolution, collisions, broken plugins, and what the messages say."""

import contextlib
import dataclasses
import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from plugins.installed import installed, paths

import manifold_lab
from manifold_lab import errors, methods, registry
from manifold_lab._entries import COLUMNS, Record, format_table
from manifold_lab.base import API, MIN_API, Reducer, param

BROKEN = ["broken_import", "broken_attribute", "broken_value", "broken_exit", "not_a_reducer"]
ACCEPTS = f"manifold_lab {manifold_lab.__version__} accepts {MIN_API} to {API}"
X = np.arange(12.0).reshape(4, 3)


class Mine(Reducer):
    """Leave the data as it is."""

    def _fit(self, X, y):
        return X


class Other(Mine):
    """Leave it, too."""


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    """No run-time name of one test is seen by the next, whatever the environment says."""
    monkeypatch.delenv(registry.SWITCH, raising=False)
    with installed():
        yield


@pytest.fixture
def install():
    """Return a function that installs plugins until the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *names: stack.enter_context(installed(*names))


def record(name, distribution=None):
    """Return the one record of that name (and distribution)."""
    (found,) = (
        r for r in registry.available() if r.name == name and distribution in (None, r.distribution)
    )
    return found


def message(error, name):
    """Return the text of the error of that class that get(name) raises."""
    with pytest.raises(error) as caught:
        registry.get(name)
    return str(caught.value)


def python(code, *folders, **environment):
    """Run code in a fresh interpreter with the folders on its path and return what it prints."""
    root = str(Path(manifold_lab.__file__).parents[1])
    env = {k: v for k, v in os.environ.items() if k != registry.SWITCH}
    env |= {"PYTHONPATH": os.pathsep.join([*folders, root]), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------ the table of built-ins


def test_builtins_and_the_files_of_methods_list_each_other():
    folder = Path(methods.__file__).parent
    files = {f"manifold_lab.methods.{p.stem}" for p in folder.glob("[!_]*.py")}
    assert {row.target.partition(":")[0] for row in methods.BUILTINS.values()} == files


def test_builtin_names_and_aliases_are_distinct_and_well_formed():
    names = [n for name, row in methods.BUILTINS.items() for n in (name, *row.aliases)]
    assert len(set(names)) == len(names)
    assert [n for n in names if not registry._NAME.fullmatch(n)] == []


@pytest.mark.parametrize("name", methods.BUILTINS)
def test_columns_of_a_builtin_equal_the_flags_of_its_class(name):
    """The summary of the table is the first sentence of the class docstring, word for word."""
    cls = registry.get(name)
    row = methods.BUILTINS[name]
    assert {column: getattr(row, column) for column in COLUMNS} == {
        "summary": cls.__doc__.split("\n")[0].strip(),
        "family": cls.family,
        "supervised": cls.supervised,
        "transforms": hasattr(cls, "_transform"),
        "inverts": hasattr(cls, "_inverse_transform"),
        "partial_fit": hasattr(cls, "_partial_fit"),
    }


@pytest.mark.parametrize("name", methods.BUILTINS)
def test_builtins_fulfil_what_is_asked_of_plugins(name):
    from manifold_lab._entries import problems_of

    assert problems_of(registry.get(name)) == ([], "")


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    "text", ["good_too", "GOOD-TOO", "Good_Too", " good too ", "good:good-too"]
)
def test_case_and_dashes_are_forgiven(install, text):
    install("good")
    assert registry.get(text).__name__ == "GoodToo"


@pytest.mark.parametrize("text", ["pca", "PCA", "manifold-lab:pca", "Manifold_Lab:PCA"])
def test_a_builtin_answers_to_its_bare_and_its_qualified_name(text):
    assert registry._find(text).target == "manifold_lab.methods.pca:PCA"


def test_an_alias_of_a_builtin_works(monkeypatch):
    row = methods.Builtin("plugin_good:Good", "Keep.", "linear", aliases=("stand_in",))
    monkeypatch.setitem(methods.BUILTINS, "stub", row)
    with installed("good"):
        assert registry.get("Stand-In").__name__ == "Good"
        assert record("stub").aliases == ("stand_in",)
    registry.refresh()


def test_an_unknown_name_gets_close_matches_and_the_list(install):
    install("good", "broken_import")
    text = message(errors.UnknownReducer, "goood")
    assert "No reducer is called 'goood'." in text
    assert "Did you mean 'good'" in text
    assert "Installed: broken_import, good, good_too" in text
    assert "pca" in text
    assert "a_package_nobody_has" not in text  # nothing was imported to say so
    assert not text.startswith("'")  # KeyError alone would print a repr


def test_an_unknown_qualified_name_gets_close_qualified_names(install):
    install("good")
    assert "Did you mean 'good:good'" in message(errors.UnknownReducer, "god:good")


def test_asking_for_a_failed_plugin_by_its_package_tells_the_reason_first(install):
    install("not_a_reducer")
    with pytest.raises(errors.PluginLoadError):
        registry.get("many_faults")
    text = message(errors.UnknownReducer, "not-a-reducer:mistyped")
    assert text.startswith("The reducer 'many_faults' of not-a-reducer 0.1")
    assert text.index("does not define _fit") < text.index("No reducer is called")


def test_a_misspelt_failed_plugin_tells_the_reason_first(install):
    install("broken_import")
    with pytest.raises(errors.PluginLoadError):
        registry.get("broken_import")
    text = message(errors.UnknownReducer, "broken_imprt")
    assert text.index("No module named 'a_package_nobody_has'") < text.index("Did you mean")


@pytest.mark.parametrize("name", [None, 3, Mine])
def test_a_name_must_be_a_string(name):
    assert "by name, a str. Got" in message(errors.ParameterError, name)


# ------------------------------------------------------------------ listing


def test_a_plugin_is_listed_before_and_after_loading(install):
    install("good")
    before = record("good")
    assert before == Record(
        name="good",
        aliases=(),
        origin="plugin",
        distribution="good",
        version="0.1",
        status="not loaded",
        target="plugin_good:Good",
        **dict.fromkeys(COLUMNS),
    )
    registry.get("good")
    assert record("good") == dataclasses.replace(
        before,
        status="ready",
        summary="Keep the first columns.",
        family="linear",
        supervised=False,
        transforms=True,
        inverts=True,
        partial_fit=False,
    )


def test_a_transductive_plugin_is_accepted_and_its_record_says_so(install):
    install("good")
    cls = registry.get("good_too")
    assert (record("good_too").transforms, record("good_too").supervised) == (False, True)
    assert not hasattr(cls(), "transform")
    assert cls().fit_transform(X, list("abba")).tolist() == [[0], [1], [1], [0]]


def test_records_and_their_sequence_are_read_only(install):
    listing = registry.available()
    assert isinstance(listing, tuple)
    with pytest.raises(dataclasses.FrozenInstanceError):
        listing[0].status = "ready"


def test_the_listing_prints_as_a_table(install):
    install("good")
    registry.get("good")
    lines = str(registry.available()).splitlines()
    assert lines[0].split() == [
        *("name", "family", "supervised", "transforms", "inverts", "partial_fit"),
        *("from", "status", "summary"),
    ]
    (row,) = (line for line in lines if line.startswith("good "))
    seen = " ".join(row.split())
    assert seen == "good linear - yes yes - good 0.1 ready Keep the first columns."
    (row,) = (line for line in lines if line.startswith("good_too "))
    assert " ".join(row.split()) == "good_too ? ? ? ? ? good 0.1 not loaded ?"
    assert repr(registry.available()) == str(registry.available())


def test_a_table_without_rows_is_its_heading():
    assert format_table(["a", "bc"], []) == "a  bc\n-  --"


def test_listing_imports_no_method_and_no_plugin():
    code = """
import sys, manifold_lab
str(manifold_lab.available()), manifold_lab.available()
try:
    manifold_lab.get("no_such_method")
except KeyError:
    pass
print([m for m in sys.modules if m.startswith(("plugin_", "manifold_lab.methods.", "scipy"))])
print([r.name for r in manifold_lab.available() if r.origin == "plugin"])
"""
    out = python(code, *paths("good", *BROKEN)).splitlines()
    assert out[0] == "[]"
    assert "'good'" in out[1]
    assert "'broken_import'" in out[1]


def test_the_order_does_not_depend_on_the_hash_seed():
    folders = paths("twin_b", "good", "twin_a", "shadows_builtin")
    code = "import manifold_lab; print([(r.name, r.target) for r in manifold_lab.available()])"
    outs = {python(code, *folders, PYTHONHASHSEED=seed) for seed in ("0", "1", "2")}
    assert len(outs) == 1
    (out,) = outs
    assert out.index("plugin_twin_a") < out.index("plugin_twin_b")


def test_the_environment_can_switch_plugins_off(install, monkeypatch):
    monkeypatch.setenv(registry.SWITCH, "1")
    install("good")
    assert {r.origin for r in registry.available()} == {"builtin"}
    text = message(errors.UnknownReducer, "good")
    assert text.endswith("switched off by MANIFOLD_LAB_NO_PLUGINS: unset it to use them.")
    monkeypatch.setenv(registry.SWITCH, "0")
    registry.refresh()
    assert registry.get("good").__name__ == "Good"


# ------------------------------------------------------------------ plugins, good and broken


def test_a_good_plugin_works():
    with installed("good"):
        reducer = registry.get("good")(n_components=1)
        assert reducer.fit_transform(X).tolist() == [[0], [3], [6], [9]]
        assert reducer.inverse_transform([[2.0]]).tolist() == [[2, 2, 2]]
        assert registry.get("good") is registry.get("good:good")
    assert "good" not in [r.name for r in registry.available()]


@pytest.mark.parametrize(
    ("folder", "name", "cause", "reason"),
    [
        (
            "broken_import",
            "broken_import",
            ModuleNotFoundError,
            "No module named 'a_package_nobody",
        ),
        ("broken_attribute", "broken_attribute", AttributeError, "has no attribute 'Missing'"),
        ("broken_value", "broken_value", ValueError, "ValueError: the licence file is unreadable"),
        ("broken_exit", "broken_exit", SystemExit, "SystemExit: no display found"),
        ("broken_metadata", "broken_metadata", Exception, "its entry_points.txt is damaged"),
        ("not_a_reducer", "not_a_reducer", None, "Plain does not subclass manifold_lab.Reducer"),
        ("not_a_reducer", "not_a_class", None, "it is a function, not a class"),
        ("old_api", "old_api", None, f"its api_version is 0, {ACCEPTS}"),
        ("old_api", "new_api", None, f"its api_version is 99, {ACCEPTS}"),
        ("bad_name", "9lives!", None, "its name '9lives!' is not lower snake case"),
    ],
)
class TestBrokenPlugin:
    """Whatever is wrong with a plugin stays with it and is told in full."""

    def test_its_error_carries_the_whole_story(self, install, folder, name, cause, reason):
        install(folder)
        with pytest.raises(errors.PluginLoadError) as caught:
            registry.get(name)
        error, title = caught.value, folder.replace("_", "-")
        assert isinstance(error, ImportError)
        assert (error.distribution, error.version) == (title, "0.1")
        assert error.target == record(name).target
        assert isinstance(error.__cause__, cause or type(None))
        text = str(error)
        assert text.startswith(f"The reducer {name!r} of {title} 0.1 ({error.target}) could not")
        assert reason in text
        remedy = "manifold-lab" if name == "new_api" else title
        assert f"`pip install -U {remedy}`" in text
        assert text.endswith("manifold_lab.refresh() allows another try.")

    def test_it_breaks_only_itself(self, install, folder, name, cause, reason):
        install(folder, "good")
        for _ in range(2):  # the second time from memory
            with pytest.raises(errors.PluginLoadError):
                registry.get(name)
        status = record(name).status
        assert status.startswith("failed: ")
        assert reason in status
        assert "\n" not in status
        assert record(name).summary is None
        assert registry.get("good").__name__ == "Good"
        assert registry._find("pca").origin == "builtin"
        assert "Did you mean 'good'" in message(errors.UnknownReducer, "gooood")


def test_every_problem_of_a_class_is_in_one_message(install):
    install("not_a_reducer")
    text = message(errors.PluginLoadError, "many_faults")
    for problem in (
        "ManyFaults does not define _fit(self, X, y)",
        "parameter 'k' has no default",
        "parameter *rest is variadic",
        "parameter **options is variadic",
        "flag supervised is 'yes', not a bool",
        "family is None",
        "api_version is '1', not an int",
    ):
        assert problem in text


def test_a_broken_plugin_is_imported_once_until_refresh(tmp_path, monkeypatch):
    info = tmp_path / "mended-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mended\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\nmended = plugin_mended:Mended\n")
    module = tmp_path / "plugin_mended.py"
    module.write_text("import sys\nsys.plugin_tries.append(1)\nraise OSError('not today')\n")
    monkeypatch.setattr(sys, "plugin_tries", [], raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.refresh()
    for _ in range(3):
        assert "OSError: not today" in message(errors.PluginLoadError, "mended")
    assert len(sys.plugin_tries) == 1
    module.write_text(
        "from manifold_lab.base import Reducer\n"
        "class Mended(Reducer):\n    def _fit(self, X, y):\n        return X\n# longer than before\n"
    )
    message(errors.PluginLoadError, "mended")  # still remembered
    registry.refresh()
    assert registry.get("mended").__name__ == "Mended"
    assert record("mended").summary == ""


def test_a_plugin_without_metadata_is_listed_and_works(tmp_path, monkeypatch):
    info = tmp_path / "bare-0.1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\nbare = plugin_good:Good\n")
    monkeypatch.syspath_prepend(paths("good")[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.refresh()
    assert (record("bare").distribution, record("bare").version) == ("unknown", "unknown")
    assert registry.get("bare").__name__ == "Good"


def test_a_distribution_twice_on_the_path_counts_once_and_the_first_wins(tmp_path, monkeypatch):
    for version in ("1", "2"):  # the later one comes first on the path
        info = tmp_path / version / f"again-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: again\nVersion: {version}\n")
        lines = f"[{registry.GROUP}]\nagain = plugin_again_{version}:Again\n"
        (info / "entry_points.txt").write_text(lines)
        monkeypatch.syspath_prepend(str(tmp_path / version))
    registry.refresh()
    listed = record("again")
    assert (listed.version, listed.status) == ("2", "not loaded")


def test_check_plugins_tries_them_all(install):
    install("good", "broken_import", "twin_a", "twin_b", "shadows_builtin")
    statuses = {r.qualified: r.status for r in registry.check_plugins()}
    assert statuses == {
        "broken-import:broken_import": "failed: ModuleNotFoundError: No module named "
        "'a_package_nobody_has'",
        "good:good": "ready",
        "good:good_too": "ready",
        "shadows-builtin:pca": "shadowed",
        "twin-a:twin": "ambiguous",
        "twin-b:twin": "ambiguous",
    }


# ------------------------------------------------------------------ collisions


def test_a_plugin_cannot_take_the_name_of_a_builtin(install):
    install("shadows_builtin")
    assert registry._find("pca").origin == "builtin"
    assert record("pca", "shadows-builtin").status == "shadowed"
    assert record("pca", "manifold-lab").status == "ready"
    assert registry.get("shadows-builtin:pca").__module__ == "plugin_shadows_builtin"
    assert record("pca", "shadows-builtin").status == "shadowed"  # loaded, and still not "pca"


def test_twins_are_ambiguous_and_reachable_by_their_qualified_names(install):
    install("twin_a", "twin_b")
    assert [r.status for r in registry.available() if r.name == "twin"] == ["ambiguous"] * 2
    assert registry.get("twin-a:twin").__module__ == "plugin_twin_a"
    assert registry.get("Twin_B:twin").__module__ == "plugin_twin_b"


def test_the_message_for_twins_names_both(install):
    install("twin_b", "twin_a")
    text = message(errors.AmbiguousReducer, "twin")
    assert text == (
        "2 plugins are called 'twin': 'twin-a:twin' and 'twin-b:twin'. Ask for one by its "
        "qualified name, get('twin-a:twin'), or uninstall the other."
    )


def test_one_distribution_that_offers_a_name_twice_is_ambiguous(tmp_path, monkeypatch):
    info = tmp_path / "double-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: double\nVersion: 0.1\n")
    lines = f"[{registry.GROUP}]\ntwo-fold = plugin_good:Good\ntwo_fold = plugin_good:GoodToo\n"
    (info / "entry_points.txt").write_text(lines)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.refresh()
    text = message(errors.AmbiguousReducer, "double:two_fold")
    assert "double offers 'two_fold' 2 times (plugin_good:Good and plugin_good:GoodToo)" in text


# ------------------------------------------------------------------ run-time names


def test_register_a_class_and_take_it_back():
    registry.register("Mine-Own", Mine, aliases=["m_o"])
    assert registry.get("mine_own") is registry.get("M-O") is Mine
    listed = record("mine_own")
    assert (listed.origin, listed.status, listed.aliases) == ("runtime", "ready", ("m_o",))
    assert (listed.summary, listed.distribution) == ("Leave the data as it is.", None)
    registry.unregister("m_o")
    message(errors.UnknownReducer, "mine_own")


def test_register_as_a_decorator_returns_the_class():
    decorated = registry.register("decorated", aliases=("deco",))(Mine)
    assert decorated is Mine is registry.get("deco")


def test_register_as_a_context_manager_restores():
    registry.register("name", Mine)
    with registry.register("name", Other, replace=True):
        assert registry.get("name") is Other
        assert [r.name for r in registry.available()].count("name") == 1
    assert registry.get("name") is Mine


def test_a_string_target_is_imported_on_first_use(install):
    install("good")
    registry.register("lazy", "plugin_good:Good")
    assert "plugin_good" not in sys.modules
    assert (record("lazy").status, record("lazy").family) == ("not loaded", None)
    assert registry.get("lazy").__name__ == "Good"
    assert (record("lazy").status, record("lazy").family) == ("ready", "linear")


def test_a_string_target_that_fails_says_so_and_is_tried_again_after_refresh():
    registry.register("lazy", "plugin_good:Good")
    text = message(errors.PluginLoadError, "lazy")
    assert "No module named 'plugin_good'" in text
    assert "target given to register" in text
    with installed("good"):  # refreshes
        assert registry.get("lazy").__name__ == "Good"


@pytest.mark.parametrize("name", ["pca", "good", "mine"])
def test_a_taken_name_is_refused(install, name):
    install("good")
    registry.register("mine", Mine)
    with pytest.raises(errors.NameTakenError, match=f"{name!r} is taken by .*pass replace=True"):
        registry.register("another", Other, aliases=[name])
    with pytest.raises(errors.NameTakenError):
        registry.register(name, Other)
    message(errors.UnknownReducer, "another")
    assert registry.get("mine") is Mine


def test_replacing_a_builtin_leaves_it_its_qualified_name():
    registry.register("pca", Mine, replace=True)
    assert registry.get("pca") is Mine
    assert registry._find("manifold-lab:pca").target == "manifold_lab.methods.pca:PCA"
    assert record("pca", "manifold-lab").status == "shadowed"
    registry.unregister("pca")
    assert registry._find("pca").origin == "builtin"


@pytest.mark.parametrize("name", ["", "1st", "a:b", "naïve", "_x", None])
def test_a_name_to_register_must_be_snake_case(name):
    with pytest.raises(errors.ParameterError, match="lower snake case"):
        registry.register(name, Mine)


@pytest.mark.parametrize("target", ["no_colon", "a:b:c", 3, Mine()])
def test_a_target_must_be_a_class_or_an_address(target):
    with pytest.raises(errors.ParameterError, match=r"'module:Class'. Got"):
        registry.register("mine", target)


def test_aliases_given_as_one_string_are_refused():
    with pytest.raises(errors.ParameterError, match=r"sequence of names. Got the str 'abc'"):
        registry.register("mine", Mine, aliases="abc")


def test_an_unusable_class_is_refused_at_once():
    class NoDefault(Reducer):
        k: int
        c: int = param(1)

    with pytest.raises(
        errors.PluginLoadError, match=r"_fit.*'k' has no default.*Correct the class"
    ):
        registry.register("no_default", NoDefault)
    message(errors.UnknownReducer, "no_default")


@pytest.mark.parametrize("name", ["pca", "never"])
def test_only_registered_names_can_be_taken_back(name):
    registry.register("mine", Mine)
    with pytest.raises(errors.UnknownReducer, match=r"not registered.*Registered names: mine"):
        registry.unregister(name)


def test_registered_names_survive_refresh():
    registry.register("mine", Mine)
    registry.refresh()
    assert registry.get("mine") is Mine


# ------------------------------------------------------------------ threads


def test_no_half_built_table_is_seen_from_other_threads(install):
    """Readers run while the tables are thrown away and rebuilt; each sees all of them."""
    install("good", "twin_a", "twin_b")
    wanted = [(r.qualified, r.status) for r in registry.available() if r.name != "good"]
    wrong, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            seen = [(r.qualified, r.status) for r in registry.available() if r.name != "good"]
            if seen != wanted or registry.get("good").__name__ != "Good":
                wrong.append(seen)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        registry.refresh()
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_module_may_register_while_it_is_imported(tmp_path, monkeypatch):
    """From another thread, too: no lock is held during the import of a plugin."""
    (tmp_path / "plugin_eager.py").write_text(
        "import threading\n"
        "from manifold_lab import registry\n"
        "from manifold_lab.base import Reducer\n"
        "class Eager(Reducer):\n    def _fit(self, X, y):\n        return X\n"
        "helper = threading.Thread(target=registry.register, args=('helped', Eager))\n"
        "helper.start()\nhelper.join(10)\nassert not helper.is_alive()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    registry.register("eager", "plugin_eager:Eager")
    assert registry.get("eager") is registry.get("helped")


# ------------------------------------------------------------------ plugins that misbehave in use


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("wrong_rows", r"produced shape \(3, 3\), wanted an array of 4 rows"),
        ("wrong_type", r"produced list, wanted an array of 4 rows"),
        ("nan", r"produced NaN or infinity \(first in row 2\) from finite input"),
        ("nothing", r"fit returned no embedding and set no components_"),
    ],
)
def test_a_plugin_that_produces_nonsense_is_named_and_leaves_no_state(install, name, what):
    install("faulty")
    cls = registry.get(name)
    reducer = cls()
    with pytest.raises(errors.ManifoldLabError, match=what) as caught:
        reducer.fit(X)
    assert f"plugin_faulty.{cls.__name__} is at fault" in str(caught.value)
    assert vars(reducer) == {}


def test_a_plugin_that_transforms_wrongly_is_named(install):
    install("faulty")
    with pytest.raises(
        errors.ManifoldLabError, match=r"plugin_faulty.WrongColumns is at fault: .*3"
    ):
        registry.get("wrong_columns")().fit(X).transform(X)
    with pytest.raises(errors.ManifoldLabError, match=r"plugin_faulty.BadInverse is at fault: .*1"):
        registry.get("bad_inverse")().fit(X).inverse_transform([[1.0]])


def test_a_plugin_that_raises_is_named_in_a_note(install):
    install("faulty")
    reducer = registry.get("raises")()
    with pytest.raises(KeyError) as caught:
        reducer.fit(X)
    assert caught.value.args == ("missing",)
    assert caught.value.__notes__ == ["Raised by _fit of plugin_faulty.Raises."]
    assert vars(reducer) == {}

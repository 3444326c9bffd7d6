"""Kernels of every instruction level: which one is chosen, and that they agree."""

import json
from pathlib import Path

import children
import numpy as np
import pytest

from manifold_lab._kernels import levels
from manifold_lab.errors import ParameterError

FIT = """
    import json, sys
    import numpy as np
    from manifold_lab._kernels import levels
    from manifold_lab.methods.pca import PCA

    X = np.load(sys.argv[1])
    pca = PCA(n_components=4, solver="covariance").fit(X)
    print(json.dumps({
        "level": levels.level(),
        "file": levels.load("scatter").__file__,
        "variances": pca.explained_variance_.tolist(),
        "components": pca.components_.tolist(),
    }))
"""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """What a fresh process fits when ``MANIFOLD_LAB_CPU`` is set; each setting run once."""
    path = tmp_path_factory.mktemp("levels") / "X.npy"
    rng = np.random.default_rng(0)
    np.save(path, rng.standard_normal((3000, 19)) @ rng.standard_normal((19, 19)) + 100)
    known = {}

    def fit(setting):
        if setting not in known:
            output = children.run(FIT, path, env={"MANIFOLD_LAB_CPU": setting})
            known[setting] = json.loads(output)
        return known[setting]

    return fit


@pytest.mark.parametrize("level", levels.runnable())
def test_a_forced_level_is_used_and_agrees_with_the_baseline(fitted, level):
    this, baseline = fitted(level), fitted("baseline")
    assert this["level"] == level
    folder = Path(this["file"]).parent
    assert folder.name == ("_kernels" if level == "baseline" else level)
    assert np.allclose(this["variances"], baseline["variances"], rtol=1e-12, atol=0)
    assert np.allclose(this["components"], baseline["components"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("setting", [None, "", "auto", " Auto "])
def test_without_a_wish_the_best_level_is_used(fitted, setting):
    assert fitted(setting)["level"] == levels.runnable()[-1]


def test_the_name_of_a_level_may_be_in_capitals(fitted):
    assert fitted("BASELINE")["level"] == "baseline"


def test_levels_are_listed_from_the_lowest():
    assert levels.runnable()[0] == "baseline"
    assert levels.runnable() == [name for name in levels._NEEDS if name in levels.runnable()]


@pytest.mark.parametrize("wish", ["v5", "avx2", "native", "3"])
def test_an_unknown_level_is_an_error_that_names_the_levels(monkeypatch, wish):
    monkeypatch.setenv("MANIFOLD_LAB_CPU", wish)
    with pytest.raises(ParameterError) as caught:
        levels.level.__wrapped__()
    assert f"MANIFOLD_LAB_CPU={wish}" in str(caught.value)
    for name in levels.runnable():
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("cpu", "runs", "not_run"), [(1, "baseline", "v3"), (3, "v3", "v4"), (3, "v3", "V4")]
)
def test_a_level_the_cpu_lacks_is_an_error_not_a_crash(monkeypatch, cpu, runs, not_run):
    monkeypatch.setattr(levels.cpu, "level", lambda: cpu)
    monkeypatch.setenv("MANIFOLD_LAB_CPU", not_run)
    with pytest.raises(ParameterError, match=f"this CPU runs .*{runs}\\. Set it to one of these"):
        levels.level.__wrapped__()
    monkeypatch.delenv("MANIFOLD_LAB_CPU")
    assert levels.level.__wrapped__() == runs


def test_a_wrong_level_stops_the_first_use_of_a_kernel_not_the_import():
    output = children.run(
        """
        import manifold_lab
        from manifold_lab.methods.pca import PCA
        try:
            PCA(solver="covariance").fit([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
        except manifold_lab.errors.ParameterError as error:
            print(error)
        """,
        env={"MANIFOLD_LAB_CPU": "v99"},
    )
    assert output.startswith("MANIFOLD_LAB_CPU=v99 cannot be used: this CPU runs baseline")


def test_subnormals_survive_importing_every_kernel_of_every_level():
    # one library linked with -ffast-math would flush them to zero in the whole process
    output = children.run(
        """
        import importlib, pkgutil
        import numpy as np
        import manifold_lab._kernels as home
        from manifold_lab._kernels import levels

        names = [module.name for module in pkgutil.walk_packages(home.__path__, home.__name__ + ".")]
        too_new = {f".{name}." for name in levels._NEEDS if name not in levels.runnable()}
        names = [name for name in names if not any(part in name for part in too_new)]
        for name in names:
            importlib.import_module(name)
        tiny, one = float("5e-324"), float("1")
        assert tiny * one > 0
        assert np.float64("1e-310") / 2 > 0
        assert (np.full(64, 1e-310) / 2 > 0).all()
        print(*names)
        """
    )
    names = output.split()
    for level in levels.runnable():
        middle = "" if level == "baseline" else f".{level}"
        assert f"manifold_lab._kernels{middle}.scatter" in names

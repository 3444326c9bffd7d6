"""What is shipped: the sdist, the wheel made from it and used elsewhere, and the other builds.

One sdist and one wheel are built for the whole run, from a clean copy of the checkout and without
the network; the serial, plain and debug kernels are built beside it, baseline only.
"""

import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import children
import numpy as np
import pytest

CHECKOUT = Path(__file__).parents[1]
MADE = shutil.ignore_patterns(
    "*.so", "*.pyd", "__pycache__", "*.egg-info", "build", "dist", ".*", "_build", "generated"
)

pytestmark = [
    pytest.mark.skipif(
        not (CHECKOUT / "setup.py").exists() or importlib.util.find_spec("build") is None,
        reason="needs a checkout and the test extra",
    ),
]
unix = pytest.mark.skipif(sys.platform == "win32", reason="stands a shell script in for cc")
level_builds = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64") or sys.platform == "win32",
    reason="levels are built for x86-64 by gcc and clang",
)


def copy_checkout(target):
    """Copy what a commit of everything would hold: no build product, nothing that is ignored."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive, or no git
        return shutil.copytree(CHECKOUT, target, ignore=MADE)
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target / name)
    return target


def python(*arguments, cwd, env=None, timeout=280):
    """Run this interpreter in ``cwd`` without the checkout on its path."""
    clean = {"PYTHONPATH": None, "MANIFOLD_LAB_DEBUG": None, "MANIFOLD_LAB_NO_OPENMP": None}
    line = [sys.executable, *arguments]
    return children.command(line, cwd=cwd, env={**clean, **(env or {})}, timeout=timeout)


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """Paths (sdist, wheel): the wheel is built from the unpacked sdist, the source gone."""
    home = tmp_path_factory.mktemp("build")
    source = copy_checkout(home / "source")
    build = ("-m", "build", "--no-isolation", "--outdir", str(home / "dist"))
    python(*build, "--sdist", cwd=source)
    shutil.rmtree(source)
    (sdist,) = (home / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(home / "unpacked", filter="data")
    (unpacked,) = (home / "unpacked").iterdir()
    python(*build, "--wheel", cwd=unpacked)
    (wheel,) = (home / "dist").glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="session")
def installed(dist, tmp_path_factory):
    """Run a line in a new virtual environment, outside the checkout, that holds the wheel.

    There is no network to fetch NumPy and SciPy from, so the environment is shown the folder
    they are in by a path file, which comes after its own packages.
    """
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home / "env", symlinks=os.name != "nt")
    scripts = home / "env" / ("Scripts" if os.name == "nt" else "bin")
    interpreter = scripts / ("python.exe" if os.name == "nt" else "python")
    install = ("-m", "pip", "--python", str(interpreter), "install", "--no-deps", "--no-index")
    python(*install, str(dist[1]), cwd=home)
    ask = "import sysconfig; print(sysconfig.get_path('platlib'))"
    packages = Path(children.command([interpreter, "-I", "-c", ask]).strip())
    (packages / "numpy_and_scipy.pth").write_text(str(Path(np.__file__).parents[1]))

    def run(*arguments, script=interpreter):
        return children.command([script, *arguments], cwd=home, env={"PYTHONPATH": None})

    run.scripts = scripts
    return run


def build_in_place(home, env):
    """Return a copy of the checkout whose kernels were built in place under ``env``."""
    source = copy_checkout(home / "source")
    python("setup.py", "-q", "build_ext", "--inplace", cwd=source, env=env)
    return source


BITS = """
    import json, sys
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    from manifold_lab._kernels import cpu, levels, threads
    from manifold_lab.linalg.moments import moments_of

    X = np.random.default_rng(0).standard_normal((5000, 19)) + 100
    moments = moments_of(X, "test", n_jobs=2)
    print(json.dumps({
        "openmp": cpu.has_openmp(),
        "threads": threads.count(2),
        "files": [cpu.__file__, levels.load("scatter").__file__],
        "bits": moments.scatter.tobytes().hex() + moments.mean.tobytes().hex(),
    }))
"""


def bits_of(source, level="baseline"):
    env = {"MANIFOLD_LAB_CPU": level, "PYTHONPATH": None}
    return json.loads(children.run(BITS, source, env=env))


def kernels_in(names):
    """Return the compiled modules among ``names``, as paths below _kernels without suffix."""
    compiled = [name for name in names if name.endswith((".so", ".pyd"))]
    return sorted(name.partition("_kernels/")[2].partition(".")[0] for name in compiled)


def kernel_table(levels=False):
    """Return the kernels that setup.py lists, sorted; with ``levels`` those built at each level."""
    rows = re.findall(r'Kernel\("(\w+)"(, levels=True)?', (CHECKOUT / "setup.py").read_text())
    return sorted(name for name, levelled in rows if levelled or not levels)


# ---------------------------------------------------------------------- what is in them


def test_sdist_holds_the_sources_of_the_kernels_and_nothing_built(dist):
    with tarfile.open(dist[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = {
        path.relative_to(CHECKOUT).as_posix() for path in CHECKOUT.glob("manifold_lab/**/*.p[xy]*")
    }
    sources = {name for name in sources if name.endswith((".py", ".pyx", ".pxd"))}
    assert "manifold_lab/_kernels/scatter.pyx" in sources
    assert sources <= names
    assert {"setup.py", "pyproject.toml", "README.md", "LICENSE", "manifold_lab/py.typed"} <= names
    assert not [name for name in names if name.endswith((".c", ".so", ".pyd", ".o", ".pyc"))]


def test_wheel_holds_the_package_and_no_tests(dist):
    with zipfile.ZipFile(dist[1]) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        requirements = [
            line
            for line in archive.read(metadata).decode().splitlines()
            if line.startswith("Requires-Dist") and "extra ==" not in line
        ]
    assert {name.split("/")[0].split("-")[0] for name in names} == {"manifold_lab"}
    assert "manifold_lab/py.typed" in names
    assert not [name for name in names if "tests/" in name or name.endswith((".c", ".o", ".pyc"))]
    assert {line.split()[1].split(">")[0] for line in requirements} == {"numpy", "scipy"}
    assert {"cpu", "lapack", "scatter"} <= set(kernels_in(names))


@level_builds
def test_wheel_holds_kernels_of_every_level(dist):
    with zipfile.ZipFile(dist[1]) as archive:
        names = kernels_in(archive.namelist())
    levelled = [f"{level}/{name}" for name in kernel_table(levels=True) for level in ("v3", "v4")]
    assert "v4/scatter" in levelled
    assert names == sorted(kernel_table() + levelled)


# ---------------------------------------------------------------------- and it works


def test_installed_wheel_is_used_outside_the_checkout(installed):
    output = installed(
        "-I",
        "-c",
        "if True:"
        """
        import sys
        import numpy as np
        import manifold_lab as ml
        from manifold_lab._kernels import levels

        X = np.random.default_rng(0).standard_normal((400, 6)) @ np.diag([6, 5, 4, 3, 2, 1]) + 7
        for solver in ("auto", "covariance"):
            Z = ml.get("pca")(n_components=3, solver=solver).fit_transform(X)
            U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
            signs = np.sign(Vt[np.arange(6), np.abs(Vt).argmax(axis=1)])
            assert np.allclose(Z, (U * s * signs)[:, :3], rtol=0, atol=1e-10)
        print(ml.__file__)
        print(levels.load("scatter").__file__)
        """,
    )
    for line in output.splitlines():
        assert "elsewhere" in line
        assert not Path(line).is_relative_to(CHECKOUT)


def test_installed_console_script(installed):
    import manifold_lab

    output = installed("--version", script=installed.scripts / "manifold-lab")
    assert manifold_lab.__version__ in output.split()


@unix
@pytest.mark.parametrize("reason", ["asked for", "compiler has none"])
def test_without_openmp_and_levels_the_plain_build_gives_the_same_bits(tmp_path, installed, reason):
    # a compiler that knows no -march=x86-64-v3, as others than gcc and clang do, and in one case
    # no OpenMP either; unoptimised, for speed: without -ffast-math the bits are the same
    refused = "-march=*" if reason == "asked for" else "-march=*|*openmp"
    compiler = tmp_path / "cc"
    compiler.write_text(
        "#!/bin/sh\n"
        f'for word in "$@"; do case $word in {refused}) exit 1;; esac; done\n'
        'exec cc "$@" -O0\n'
    )
    compiler.chmod(0o755)
    env = {"CC": str(compiler), "MANIFOLD_LAB_NO_OPENMP": "1" if reason == "asked for" else None}
    source = build_in_place(tmp_path, env)
    built = {path.relative_to(source).as_posix() for path in source.glob("manifold_lab/**/*.so")}
    assert kernels_in(built) == kernel_table()
    plain = bits_of(source)
    assert all(Path(file).is_relative_to(source) for file in plain["files"])
    assert plain["openmp"] is False
    assert plain["threads"] == 1
    packages = Path(installed("-I", "-c", "import manifold_lab as m; print(m.__path__[0])").strip())
    wheel = bits_of(packages.parent)
    assert all(Path(file).is_relative_to(packages) for file in wheel["files"])
    assert plain["bits"] == wheel["bits"]
    if reason == "asked for" and wheel["openmp"]:
        # the other way round in the same tree: no source is newer, yet the kernels are built anew
        python("setup.py", "-q", "build_ext", "--inplace", cwd=source, env={"CC": str(compiler)})
        assert bits_of(source)["openmp"] is True


@level_builds
def test_a_cpu_with_levels_and_a_build_without_them(tmp_path, installed):
    """Nothing to do with the compiler: the level is chosen, the module is not there."""
    packages = Path(installed("-I", "-c", "import manifold_lab as m; print(m.__path__[0])").strip())
    shutil.copytree(packages, tmp_path / "manifold_lab")
    for level in ("v3", "v4"):
        for path in (tmp_path / "manifold_lab" / "_kernels" / level).glob("*.so"):
            path.unlink()
    assert bits_of(tmp_path, "auto")["bits"] == bits_of(packages.parent, "baseline")["bits"]


def test_debug_build_checks_bounds_and_passes_the_kernel_tests(tmp_path):
    source = build_in_place(tmp_path, {"MANIFOLD_LAB_DEBUG": "1"})
    assert not list(source.glob("manifold_lab/_kernels/v*/*.so"))
    script = """if True:
        import sys
        import numpy as np
        import pytest
        code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "tests/kernels"])
        from manifold_lab._kernels import lapack, scatter
        for module in (lapack, scatter):
            assert module.__file__.startswith(sys.argv[1]), module.__file__
        try:
            scatter.chunk_scatter(np.ones((4, 3)), np.empty(0), 1.0, 32, 1)
        except IndexError as error:
            assert "Out of bounds" in str(error)
        else:
            sys.exit("a vector that is too short was not noticed")
        sys.exit(code)
    """
    output = python("-c", script, str(source), cwd=source)
    assert " passed" in output
    assert "failed" not in output

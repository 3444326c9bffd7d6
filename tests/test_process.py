"""Forks, worker processes, memory limits and other interpreters: no hang, no crash, right results.

Everything happens in a child process, so that a fault ends the child and not the suite.
"""

import importlib.util
import sys
import sysconfig

import children
import pytest

from manifold_lab._kernels import cpu

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and address space limits")
fork = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="fork is not safe here")
openmp = pytest.mark.skipif(not cpu.has_openmp(), reason="the kernels are built without OpenMP")

# ---------------------------------------------------------------------- fork

PREPARE_FORK = """
    import os, sys, warnings
    import numpy as np
    from manifold_lab._kernels import threads
    from manifold_lab.errors import ManifoldLabWarning
    from manifold_lab.linalg.moments import moments_of
    from manifold_lab.methods.pca import PCA

    X = np.random.default_rng(0).standard_normal((20_000, 20))

    def bits(n_jobs=None):
        return moments_of(X, "test", n_jobs).scatter.tobytes()

    def in_child(work):
        "Exit code of a forked child that runs ``work``; 0 only if that returns True."
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if work() is True else 2
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def run_forking(script, **more):
    # from 3.12 on, Python itself warns of a fork beside threads, as it should
    return children.run(PREPARE_FORK + script, timeout=60, **more).split()


@fork
@openmp
def test_a_child_forked_after_use_finishes_on_one_thread_with_one_warning():
    output = run_forking("""
    true = bits(n_jobs=2)

    def work():
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            same = bits(n_jobs=2) == true and bits(n_jobs=2) == true
        messages = [str(w.message) for w in seen if w.category is ManifoldLabWarning]
        return same and len(messages) == 1 and "forked" in messages[0] and threads.count(2) == 1

    print(in_child(work), in_child(work), bits(n_jobs=2) == true, threads.count(2))
    """)
    assert output == ["0", "0", "True", "2"]


@fork
@openmp
def test_a_child_forked_by_a_thread_after_use_finishes():
    output = run_forking("""
    import threading
    codes = []

    def use_then_fork():
        true = bits(n_jobs=2)
        codes.append(in_child(lambda: bits(n_jobs=2) == true))

    thread = threading.Thread(target=use_then_fork)
    thread.start()
    thread.join()
    print(*codes)
    """)
    assert output == ["0"]


@fork
@openmp
def test_a_fork_within_a_fork_finishes():
    output = run_forking("""
    true = bits(n_jobs=2)
    same = lambda: bits(n_jobs=2) == true
    print(in_child(lambda: same() and in_child(lambda: same() and in_child(same) == 0) == 0))
    """)
    assert output == ["0"]


@fork
@openmp
def test_an_explicit_single_job_in_a_forked_child_is_silent():
    output = run_forking("""
    true = bits(n_jobs=2)

    def work():
        warnings.simplefilter("error", ManifoldLabWarning)
        return bits(n_jobs=1) == true

    print(in_child(work))
    """)
    assert output == ["0"]


@fork
@openmp
def test_a_child_forked_before_any_use_may_use_threads():
    output = run_forking("""
    true = bits(n_jobs=1)

    def work():
        warnings.simplefilter("error", ManifoldLabWarning)
        before = len(os.listdir("/proc/self/task"))
        same = bits(n_jobs=2) == true
        return same and len(os.listdir("/proc/self/task")) == before + 1

    print(in_child(work), in_child(work), bits(n_jobs=2) == true)
    """)
    assert output == ["0", "0", "True"]


@fork
@openmp
def test_pca_works_in_a_forked_child():
    output = run_forking("""
    fit = lambda: PCA(n_components=3, solver="covariance").fit(X).components_
    true = fit()
    print(in_child(lambda: bool(np.allclose(fit(), true, rtol=0, atol=1e-10))))
    """)
    assert output == ["0"]


# ---------------------------------------------------------------------- worker processes

WORKERS = """
import sys
import warnings

import numpy as np

from manifold_lab.linalg.moments import moments_of

X = np.random.default_rng(0).standard_normal((20_000, 20))


def bits(n_jobs):
    return moments_of(X, "test", n_jobs).scatter.tobytes()


def by_pool(method):
    import multiprocessing

    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(bits, [2, 2, 2, 2])


def by_loky():
    import joblib

    return joblib.Parallel(2, backend="loky")(joblib.delayed(bits)(2) for _ in range(4))


if __name__ == "__main__":
    true = bits(2)
    results = by_loky() if sys.argv[1] == "loky" else by_pool(sys.argv[1])
    print(len(results), all(result == true for result in results))
"""


@openmp
@pytest.mark.parametrize(
    "method",
    [
        pytest.param("fork", marks=fork),
        "spawn",
        pytest.param("forkserver", marks=fork),
        "loky",
    ],
)
def test_pools_of_workers_after_use(tmp_path, method):
    if method == "loky":
        pytest.importorskip("joblib")
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    assert children.run(script, method).split() == ["4", "True"]


# ---------------------------------------------------------------------- memory

LIMIT = """
    import resource, sys
    import numpy as np
    from manifold_lab.errors import MemoryBudgetError
    from manifold_lab.methods.pca import PCA

    MB = 2**20

    def status(key):
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

    def leave(size):
        "Let this process allocate ``size`` bytes more."
        limit = status("VmSize") + size
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

    def free():
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

    small = np.random.default_rng(0).standard_normal((300, 8))
    fit_small = lambda: PCA(solver="covariance", n_jobs=1).fit(small).singular_values_
    true = fit_small()
"""


@linux
@pytest.mark.parametrize("solver", ["auto", "covariance", "svd", "gram"])
def test_a_fit_that_cannot_fit_is_refused_and_the_process_lives_on(solver):
    output = children.run(f"""{LIMIT}
    X = np.random.default_rng(0).random((2500, 2500))
    pca = PCA(solver="{solver}", n_components=2)
    leave(40 * MB)
    try:
        pca.fit(X)
    except MemoryError as error:
        print(type(error).__name__, "GB" in str(error), hasattr(pca, "components_"))
    print((fit_small() == true).all())
    """)
    assert output.split() == ["MemoryBudgetError", "True", "False", "True"]


@linux
def test_a_failing_allocation_in_the_kernel_is_a_memory_error_without_a_leak():
    # it takes 8 MB of sums and 4 MB of rows, straight from the system by this setting of glibc
    script = f"""{LIMIT}
    from manifold_lab._kernels import levels
    kernel = levels.load("scatter").chunk_scatter
    X = np.random.default_rng(0).random((4000, 256))
    shift = np.zeros(256)
    W, means = kernel(X, shift, 1.0, 128, 1)
    outcomes = []
    for size in [0, 1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 16, 20, 32, 64]:
        leave(size * MB // 2)
        try:
            outcomes.append(bool((kernel(X, shift, 1.0, 128, 1)[0] == W).all()))
        except MemoryError:
            outcomes.append(None)
        free()
    assert False not in outcomes, outcomes
    leave(8 * MB)
    sizes = []
    for _ in range(300):
        try:
            kernel(X, shift, 1.0, 128, 1)
        except MemoryError:
            sizes.append(status("VmSize"))
    free()
    assert len(sizes) == 300
    print(outcomes[0], outcomes[-1], sizes[-1] - sizes[10], (fit_small() == true).all())
    """
    output = children.run(script, env={"MALLOC_MMAP_THRESHOLD_": "65536"})
    assert output.split() == ["None", "True", "0", "True"]


@linux
@openmp
@pytest.mark.parametrize(("size", "team"), [(0, 1), (1, 1), (9, 1), (20, 1), (100, 1), (1000, 8)])
def test_without_room_for_stacks_the_kernel_runs_on_one_thread(size, team):
    # libgomp ends the whole process when it cannot start a thread
    output = children.run(f"""{LIMIT}
    from manifold_lab._kernels import levels, threads
    kernel = levels.load("scatter").chunk_scatter
    X = np.random.default_rng(0).random((400, 8))
    true = kernel(X, np.zeros(8), 1.0, 32, 1)[0]
    leave({size} * MB)
    team = threads.count(8)
    print(team, (kernel(X, np.zeros(8), 1.0, 32, team)[0] == true).all())
    """)
    assert output.split() == [str(team), "True"]


@linux
def test_any_one_allocation_of_python_may_fail():
    pytest.importorskip("_testcapi")
    output = children.run(f"""{LIMIT}
    import _testcapi
    from manifold_lab._kernels import levels
    kernel = levels.load("scatter").chunk_scatter
    shift = np.zeros(8)
    W = kernel(small, shift, 1.0, 32, 1)[0]
    failed = passed = number = 0
    while passed < 20:
        number += 1
        got = None
        try:
            _testcapi.set_nomemory(number, number + 1)
            got = kernel(small, shift, 1.0, 32, 1)
            _testcapi.remove_mem_hooks()
        except (MemoryError, SystemError):  # the latter where NumPy forgets to say why
            _testcapi.remove_mem_hooks()
            failed += 1
        if got is not None:
            assert (got[0] == W).all()
            passed += 1
    print(failed, (kernel(small, shift, 1.0, 32, 1)[0] == W).all())
    """)
    failed, right = output.split()
    assert int(failed) >= 10
    assert right == "True"


@linux
def test_peak_memory_of_a_fit_on_a_million_rows():
    output = children.run(f"""{LIMIT}
    X = np.random.default_rng(0).random((1_000_000, 50))
    before = status("VmHWM")
    pca = PCA(n_components=10).fit(X)
    print(status("VmHWM") - before, pca.explained_variance_[0], X.nbytes)
    """)
    more, variance, data = map(float, output.split())
    assert data == 400e6
    assert variance == pytest.approx(1 / 12, rel=0.03)
    assert more <= 60e6


# ---------------------------------------------------------------------- other interpreters


def test_a_second_interpreter_gets_an_import_error(tmp_path):
    names = ("_interpreters", "_xxsubinterpreters")  # from 3.13 on, and before
    name = next((name for name in names if importlib.util.find_spec(name)), None)
    if name is None:
        pytest.skip("this Python has no module for sub-interpreters")
    inner = f"""if True:
        try:
            import manifold_lab._kernels.KERNEL
            outcome = "imported"
        except ImportError:
            outcome = "ImportError"
        with open({str(tmp_path / "outcome")!r}, "a") as file:
            file.write(outcome + " ")
    """
    output = children.run(f"""
    import {name} as interpreters
    import numpy as np
    from manifold_lab._kernels import cpu, lapack, levels

    kernel = levels.load("scatter").chunk_scatter
    for module in ("cpu", "scatter", "lapack"):
        other = interpreters.create()
        interpreters.run_string(other, {inner!r}.replace("KERNEL", module))
        interpreters.destroy(other)
    print(kernel(np.array([[0.0], [2.0]]), np.zeros(1), 1.0, 32, 1)[0][0, 0])
    """)
    assert output.split() == ["2.0"]
    assert (tmp_path / "outcome").read_text().split() == ["ImportError"] * 3


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL by build"
)
def test_kernels_leave_the_gil_off():
    output = children.run("""
    import sys
    from manifold_lab._kernels import cpu, lapack, levels, scatter
    levels.load("scatter")
    print(sys._is_gil_enabled())
    """)
    assert output.split() == ["False"]

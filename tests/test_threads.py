"""How many threads a kernel starts, and that neither results nor settings depend on it."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import children
import numpy as np
import pytest

from manifold_lab._kernels import cpu, levels, threads
from manifold_lab.linalg.moments import moments_of
from manifold_lab.methods.pca import PCA

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
openmp = pytest.mark.skipif(not cpu.has_openmp(), reason="the kernels are built without OpenMP")

# a child that imports and warms up all it needs on one thread, BLAS included, then counts
PREPARE = """
    import os, sys, threading
    import numpy as np
    from manifold_lab._kernels import threads
    from manifold_lab.linalg.moments import moments_of

    def alive():
        return len(os.listdir("/proc/self/task"))

    X = np.random.default_rng(0).standard_normal((20_000, 20))
    true = moments_of(X, "test", n_jobs=1)
    X.T @ X
    before = alive()
"""


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, 4), (-1, 4), (-2, 3), (-4, 1), (-9, 1), (1, 1), (2, 2), (7, 7), (np.int64(3), 3)],
)
def test_n_jobs(four_cores, n_jobs, expected):
    assert threads.requested(n_jobs) == expected


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 2), (-1, 2), (-2, 2), (-4, 1), (1, 1), (3, 3)]
)
def test_omp_num_threads_limits_all_but_an_explicit_number(
    four_cores, monkeypatch, n_jobs, expected
):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads.requested(n_jobs) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [("3,2", 3), (" 3 ", 3), ("99", 4), ("", 4), ("0", 4), ("many", 4)]
)
def test_omp_num_threads_as_people_write_it(four_cores, monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads.requested() == expected


def test_cores_follow_the_cpu_affinity(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert threads.cores() == 3


def test_cores_without_an_affinity_are_those_of_the_machine(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert threads.cores() == os.cpu_count()


@linux
@openmp
@pytest.mark.parametrize(
    ("call", "omp_num_threads", "started"),
    [
        ("moments_of(X, 'test', n_jobs=3)", None, 2),
        ("moments_of(X, 'test', n_jobs=1)", None, 0),
        ("moments_of(X, 'test')", "1", 0),
        ("moments_of(X, 'test', n_jobs=-1)", "1", 0),
        ("os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); moments_of(X, 'test')", None, 0),
    ],
)
def test_as_many_operating_system_threads_as_asked_for(call, omp_num_threads, started):
    script = f"{PREPARE}    {call}\n    print(alive() - before)"
    assert int(children.run(script, env={"OMP_NUM_THREADS": omp_num_threads})) == started


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_gives_the_same_bits_for_any_n_jobs(rng, dtype):
    X = rng.standard_normal((30_000, 21)).astype(dtype)
    one, *others = (moments_of(X, "test", n_jobs=n_jobs) for n_jobs in (1, 2, 5, None))
    for other in others:
        assert other.mean.tobytes() == one.mean.tobytes()
        assert other.scatter.tobytes() == one.scatter.tobytes()


@pytest.mark.parametrize("solver", ["auto", "covariance", "svd", "gram", "randomized"])
def test_pca_gives_the_same_bits_for_any_n_jobs(rng, solver):
    X = rng.standard_normal((600, 40)) * np.geomspace(1, 1e-3, 40)
    one, *others = (
        PCA(n_components=3, solver=solver, n_jobs=n_jobs).fit_transform(X) for n_jobs in (1, 2, 5)
    )
    for other in others:
        assert other.tobytes() == one.tobytes()


def test_no_setting_of_the_process_is_changed(rng):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    X = rng.standard_normal((5000, 30))
    levels.load("scatter")
    before = threadpoolctl.threadpool_info(), dict(os.environ)
    for solver in ("covariance", "svd", "gram", "randomized"):
        for n_jobs in (None, 1, 3):
            pca = PCA(n_components=2, solver=solver, n_jobs=n_jobs).fit(X[:2000])
            pca.transform(X)
    assert threadpoolctl.threadpool_info() == before[0]
    assert dict(os.environ) == before[1]


@linux
@openmp
@pytest.mark.parametrize("main_uses_threads_too", [False, True])
def test_eight_python_threads_do_not_become_a_crowd(main_uses_threads_too):
    # each Python thread that starts an OpenMP team keeps it: 8 teams of all cores, if let
    script = f"""{PREPARE}
    if {main_uses_threads_too}:
        moments_of(X, "test")
        before = alive()
    done, leave, wrong = threading.Barrier(9), threading.Barrier(9), []

    def work():
        for _ in range(5):
            got = moments_of(X, "test")
            if got.scatter.tobytes() != true.scatter.tobytes():
                wrong.append(threading.get_ident())
        done.wait()
        leave.wait()

    for _ in range(8):
        threading.Thread(target=work).start()
    done.wait()
    print(alive() - before, threads.cores(), len(wrong))
    leave.wait()
    """
    more, cores, wrong = map(int, children.run(script).split())
    assert wrong == 0
    assert 8 <= more <= cores + 8


@linux
@openmp
def test_the_team_passes_on_when_its_thread_has_ended():
    script = f"""{PREPARE}
    def work():
        moments_of(X, "test", n_jobs=2)
        teams.append(alive() - before)

    for _ in range(3):
        teams = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(*teams)
        while alive() > before:  # the system ends them a moment after Python does
            pass
    """
    # the Python thread and one helper, every time: neither refused nor piled up
    assert children.run(script).split() == ["2", "2", "2"]


def test_one_fitted_object_serves_many_threads(rng):
    X = rng.standard_normal((4000, 30))
    pca = PCA(n_components=5).fit(X)
    true, state = pca.transform(X), {k: repr(v) for k, v in vars(pca).items()}
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: pca.transform(X), range(40)))
    assert all(Z.tobytes() == true.tobytes() for Z in results)
    assert {k: repr(v) for k, v in vars(pca).items()} == state


def test_fits_in_many_threads_do_not_disturb_each_other(rng):
    X = rng.standard_normal((3000, 20))
    true = PCA(n_components=2, solver="covariance").fit(X).components_.tobytes()
    with ThreadPoolExecutor(8) as pool:
        fits = pool.map(lambda _: PCA(n_components=2, solver="covariance").fit(X), range(24))
        assert all(pca.components_.tobytes() == true for pca in fits)

"""How many threads a kernel may start, without changing any setting of the process.

``n_jobs`` as given; None and -1 are every core the process may use (its CPU affinity), at most
``OMP_NUM_THREADS``. Results never depend on the answer, so it may change from call to call.
"""

import os
import threading

from manifold_lab._kernels import cpu
from manifold_lab.checks import address_space_left
from manifold_lab.errors import ManifoldLabWarning, warn

_THREAD_BYTES = 2**26  # address space of a thread: its stack, and what malloc may reserve for it

_lock = threading.Lock()
_team_owner: threading.Thread | None = None  # the thread, beside the main one, that has a team
_used = False  # has this process started OpenMP threads?
_forked = False  # is this a child, forked after it had?


def cores():
    """Return the number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1


def _environment_limit():
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(text) if text.isdigit() and int(text) > 0 else None


def requested(n_jobs=None):
    """Return the number of threads ``n_jobs`` asks for."""
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    available = cores() if n_jobs is None else max(1, cores() + 1 + int(n_jobs))
    limit = _environment_limit()
    return available if limit is None else min(available, limit)


def count(n_jobs=None):
    """Return the number of threads a kernel called now, from this thread, should use.

    One in a child forked after OpenMP threads ran (they do not survive the fork, and waiting
    for them would hang); one where a limit on the address space leaves no room for stacks
    (OpenMP ends the process when it cannot start a thread); and one in all but one of several
    Python threads: each would start a team of its own and keep it, so that eight threads on two
    cores would become sixteen.
    """
    wanted = requested(n_jobs)
    if wanted == 1 or not cpu.has_openmp() or not _room_for(wanted):
        return 1
    if _forked:
        _warn_forked()
        return 1
    global _used
    if _may_have_team():
        _used = True
        return wanted
    return 1


def _room_for(n_threads):
    left = address_space_left()
    return left is None or left > n_threads * _THREAD_BYTES


def _may_have_team():
    global _team_owner
    me = threading.current_thread()
    if me is threading.main_thread():
        return True
    with _lock:
        if _team_owner is None or not _team_owner.is_alive():
            _team_owner = me
        return _team_owner is me


_told = False


def _warn_forked():
    global _told
    if not _told:
        _told = True
        warn(
            ManifoldLabWarning(
                "This process was forked after manifold_lab had used several threads, so its "
                "kernels run on one thread here. Start workers with 'spawn' or 'forkserver' "
                "to use more, or pass n_jobs=1 to silence this."
            )
        )


def _after_fork_in_child():
    global _forked, _lock, _team_owner
    _forked, _lock, _team_owner = _used, threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

"""Cut work into pieces short enough for Ctrl-C, and into as many threads as it is worth."""

import time

import numpy as np

from manifold_lab._kernels import threads

PIECE_WORK = 400_000_000  # multiplications between two chances to interrupt, at first
LITTLE_WORK = 4_000_000  # multiplications that one thread does sooner than two


def pieces(total, first, advance=None):
    """Yield ranges that cover range(total): ``first`` steps each, more while that is soon done.

    Never fewer: on a busy machine short pieces would only add to the waiting of threads.
    """
    start, step = 0, max(1, first)
    while start < total:
        began = time.perf_counter()
        stop = min(start + step, total)
        yield start, stop
        if advance:
            advance(stop - start)
        start = stop
        if time.perf_counter() - began < 0.02:
            step *= 2


def team(n_jobs, work):
    """Return the number of threads for so many multiplications.

    One for what is over before a second could start: waiting for it takes a busy machine longer.
    """
    return threads.count(n_jobs) if work > LITTLE_WORK else 1


def empty_heaps(m, k, n, dtype=np.float64):
    """Return keys and ids of m heaps of k entries that everything comes before (topk.pxd)."""
    return np.full((m, k), np.inf, dtype), np.full((m, k), n, dtype=np.intp)

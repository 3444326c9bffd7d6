"""The filter and the ranking of neighbours against NumPy, at every level that the CPU runs.

Small whole numbers have exact products and squares in both types, so bits can be compared.
"""

import importlib
import importlib.util

import numpy as np
import oracles
import pytest

from manifold_lab._kernels import levels

TYPES = [np.float32, np.float64]


def built(kernel):
    """Names of the modules of a kernel to test: the baseline, and the levels beside it."""
    home = "manifold_lab._kernels"
    names = [f"{home}.{kernel}"] + [f"{home}.{level}.{kernel}" for level in levels.runnable()[1:]]
    return [name for name in names if importlib.util.find_spec(name)]


@pytest.fixture(params=built("neighbors"))
def neighbors(request):
    return importlib.import_module(request.param)


@pytest.fixture(params=built("ranking"))
def ranking(request):
    return importlib.import_module(request.param)


def whole(rng, n, d, high=9):
    return rng.integers(-high, high, (n, d)).astype(np.float64)


def packed(neighbors, X, dtype, centre=None, factor=1.0):
    lanes = 128 // np.dtype(dtype).itemsize
    g = -(-len(X) // lanes)
    P, norms = np.full((g, X.shape[1], lanes), np.nan, dtype), np.full(g * lanes, np.nan, dtype)
    lengths = np.zeros(g * lanes)
    centre = np.zeros(X.shape[1]) if centre is None else centre
    neighbors.pack(X, centre, factor, P, norms, lengths, 2)
    return P, norms, lengths


def heaps(rows, k, dtype):
    return (
        np.full((rows, k), np.inf, dtype),
        np.full((rows, k), -1, dtype=np.intp),
        np.full(rows, np.inf, dtype),
    )


def squares(X, Q):
    return ((Q[:, None, :] - X[None]) ** 2).sum(axis=2)


# ------------------------------------------------------------------ packing


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("n", [1, 15, 16, 17, 32, 33, 70])
def test_pack_centres_scales_and_lays_out_lanes(neighbors, rng, n, source, dtype):
    X, centre = rng.standard_normal((n, 5)).astype(source), rng.standard_normal(5)
    P, norms, lengths = packed(neighbors, X, dtype, centre, 0.25)
    Y = ((X - centre) * 0.25).astype(dtype)
    rows = P.transpose(0, 2, 1).reshape(-1, 5)
    assert (rows[:n] == Y).all()
    assert not rows[n:].any()
    assert np.isinf(norms[n:]).all()
    true = np.sqrt((Y.astype(np.longdouble) ** 2).sum(axis=1))
    np.testing.assert_allclose(norms[:n], true**2, rtol=2 * np.finfo(dtype).eps)
    assert (lengths[:n] >= true).all()
    np.testing.assert_allclose(lengths[:n], true, rtol=1e-13)


# ------------------------------------------------------------------ the filter


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("n", "d", "block"), [(200, 3, 1), (333, 17, 2), (97, 50, 4), (40, 1, 1)])
def test_tournament_keeps_the_smallest_of_each_row(neighbors, rng, n, d, block, dtype):
    X, k = whole(rng, n, d), 7
    P, norms, _ = packed(neighbors, X, dtype)
    keys, ids, worst = heaps(len(norms), k, dtype)
    blocks = -(-len(P) // block)
    for a in range(blocks):
        for b in range(a, blocks):
            pair = np.array([[a, b]])
            neighbors.tournament(P, norms, pair, block, keys, ids, worst, 2)
    q = squares(X, X)
    np.fill_diagonal(q, np.inf)
    assert (np.sort(keys[:n], axis=1) == np.sort(q, axis=1)[:, :k]).all()
    assert (np.take_along_axis(q, ids[:n], axis=1) == keys[:n]).all()
    assert all(len(set(row)) == k for row in ids[:n].tolist())
    assert (worst == keys[:, 0]).all()
    assert np.isinf(keys[n:]).all()  # nothing was offered to lanes without a point


@pytest.mark.parametrize("k", [1, 32, 33, 90])  # lists up to 32, heaps above
@pytest.mark.parametrize("dtype", TYPES)
def test_queries_keep_the_smallest_of_each_row(neighbors, rng, k, dtype):
    X, Q = whole(rng, 150, 6), whole(rng, 45, 6)
    P, norms, _ = packed(neighbors, X, dtype)
    QP, query_norms, _ = packed(neighbors, Q, dtype)
    keys, ids, worst = heaps(len(query_norms), k, dtype)
    for first in range(len(P)):  # in pieces, as the Python layer does
        neighbors.queries(
            P, norms, QP, query_norms, 0, len(QP), first, first + 1, 1, keys, ids, worst, 2
        )
    q = squares(X, Q)
    assert (np.sort(keys[:45], axis=1) == np.sort(q, axis=1)[:, :k]).all()
    assert (np.take_along_axis(q, ids[:45], axis=1) == keys[:45]).all()
    assert (worst[:45] == keys[:45].max(axis=1)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_mark_sets_a_bit_for_each_point_within_the_limit(neighbors, rng, dtype):
    X, Q = whole(rng, 150, 4), whole(rng, 21, 4)
    P, norms, _ = packed(neighbors, X, dtype)
    QP, query_norms, _ = packed(neighbors, Q, dtype)
    limits = rng.integers(0, 300, len(query_norms)).astype(dtype)
    marks = np.zeros((len(query_norms), len(P)), dtype=np.uint32)
    neighbors.mark(P, norms, QP, query_norms, limits, 0, len(P), 2, marks, 2)
    lanes = P.shape[2]
    bits = (marks[:, :, None] >> np.arange(lanes, dtype=np.uint32) & 1).reshape(len(marks), -1)
    assert (bits[:21, :150] == (squares(X, Q) <= limits[:21, None])).all()
    assert not bits[:21, 150:].any()
    if lanes == 16:
        assert (marks < 2**16).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_mark_keeps_what_overflowed(neighbors, dtype):
    X = np.full((3, 2), np.finfo(dtype).max / 4).astype(np.float64)
    P, norms, _ = packed(neighbors, X, dtype)
    marks = np.zeros((len(norms), len(P)), dtype=np.uint32)
    neighbors.mark(P, norms, P, norms, np.full(len(norms), 1, dtype), 0, len(P), 1, marks, 1)
    assert (marks[:3, 0] & 7 == 7).all()


# ------------------------------------------------------------------ the ranking


@pytest.mark.parametrize("d", [1, 15, 16, 23, 24, 100])
@pytest.mark.parametrize("source", TYPES)
def test_rank_gives_distances_in_order(ranking, rng, d, source):
    X, Q = (rng.standard_normal((m, d)).astype(source) for m in (60, 9))
    ids = np.array([rng.permutation(60)[:40] for _ in range(9)])
    r = np.empty(ids.shape)
    ranking.rank(X, Q, ids, r, 2)
    D = oracles.distances(X, Q)
    np.testing.assert_allclose(r, np.take_along_axis(D, ids, 1).astype(float), rtol=1e-15 * (4 + d))
    assert (np.diff(r, axis=1) >= 0).all()


def test_rank_puts_ties_in_order_of_index(ranking):
    X, ids = np.ones((50, 3)), np.arange(50)[::-1].copy().reshape(1, 50)
    ranking.rank(X, X[:1], ids, np.empty((1, 50)), 1)
    assert ids.tolist() == [list(range(50))]


@pytest.mark.parametrize("d", [3, 40])
def test_squares_that_would_vanish_are_summed_in_their_own_units(ranking, rng, d):
    X = np.vstack([np.zeros(d), rng.standard_normal((5, d)) * 1e-200, np.ones(d)])
    ids, r = np.arange(7).reshape(1, 7), np.empty((1, 7))
    ranking.rank(X, np.zeros((1, d)), ids, r, 1)
    true, order = oracles.knn(X * 2.0**600, np.zeros((1, d)), k=7)
    assert (ids == order).all()
    np.testing.assert_allclose(r * 2.0**600, true.astype(float), rtol=1e-14)
    assert r[0, 0] == 0 < r[0, 1]


def test_levels_agree_in_bits(rng):
    X = rng.standard_normal((200, 37))
    found = []
    for name in built("ranking"):
        ids, r = np.arange(200).reshape(1, 200), np.empty((1, 200))
        importlib.import_module(name).rank(X, X[:1], ids, r, 1)
        found.append(r.tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("bound", ["none", "sharp"])
@pytest.mark.parametrize("source", TYPES)
def test_refine_finds_all_neighbours_and_ties(neighbors, ranking, rng, source, bound):
    X, k = rng.integers(0, 3, (130, 4)).astype(source), 12
    P, norms, _ = packed(neighbors, X, np.float64)
    true, order = oracles.knn(X, k=k)
    bounds = np.full(130, np.inf) if bound == "none" else true[:, -1].astype(float)
    r, ids = np.full((130, k), np.inf), np.full((130, k), 130)
    etas = np.full(130, 1e-14)
    for first in range(len(P)):
        ranking.refine(
            X, P, norms, X, P, norms, np.arange(130), bounds, etas, etas, 1.0, first, first + 1,
            r, ids, 2,
        )  # fmt: skip
    ranking.sort_rows(r, ids, 2)
    assert (ids == order).all()
    np.testing.assert_allclose(r, true.astype(float), rtol=1e-15)


def test_gather_keeps_marked_points_within_eps(ranking, rng):
    X = whole(rng, 100, 3)
    marks = rng.integers(0, 2**32, (5, 4), dtype=np.uint32)  # lanes beyond the points as well
    marked = (marks[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(5, -1)[:, :100] == 1
    bits = np.bitwise_count(marks).sum(axis=1, dtype=np.intp)
    starts, counts = np.cumsum(bits) - bits, np.empty(5, np.intp)
    after = np.array([0, 1, 50, -1, -1])
    r, ids = np.empty(bits.sum()), np.empty(bits.sum(), dtype=np.intp)
    ranking.gather(X, X[:5], after, marks, 32, 10.0, 1.0, starts, r, ids, counts, 2)
    q = squares(X, X[:5])
    for i in range(5):
        expected = [j for j in range(100) if marked[i, j] and q[i, j] <= 100 and j > after[i]]
        expected.sort(key=lambda j: (q[i, j], j))
        part = slice(starts[i], starts[i] + counts[i])
        assert ids[part].tolist() == expected
        assert (r[part] == np.sqrt(q[i, expected])).all()


def test_mirror_writes_each_pair_to_both_lists(ranking, rng):
    X = whole(rng, 60, 2)
    indptr, ids, r = oracles.within(X, eps=2.0)
    rows = np.repeat(np.arange(60), np.diff(indptr))
    upper, total = ids > rows, np.diff(indptr).astype(np.intp)
    counts = np.bincount(rows[upper], minlength=60)
    starts, places = np.cumsum(counts) - counts, np.cumsum(total) - total
    all_r, all_ids, free = np.empty(len(ids)), np.empty(len(ids), np.intp), places.copy()
    half = r[upper].astype(float), ids[upper].astype(np.intp)
    for part in (slice(0, 13), slice(13, 60)):
        ranking.mirror(starts[part], counts[part], part.start, *half, free, all_r, all_ids)
    assert (free == places + total).all()
    ranking.sort_lists(places, total, all_r, all_ids, 2)
    assert (all_ids == ids).all()
    assert (all_r == r.astype(float)).all()

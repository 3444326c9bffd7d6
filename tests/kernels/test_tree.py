"""The tree of boxes against NumPy, at every level that the CPU runs."""

import importlib
import importlib.util

import numpy as np
import oracles
import pytest

from manifold_lab._kernels import levels


def built():
    home = "manifold_lab._kernels"
    names = [f"{home}.tree"] + [f"{home}.{level}.tree" for level in levels.runnable()[1:]]
    return [name for name in names if importlib.util.find_spec(name)]


@pytest.fixture(params=built())
def tree(request):
    return importlib.import_module(request.param)


def nearest(tree, X, Q, k, n_threads=2):
    own = tree.build(X, n_threads)
    groups = own if Q is None else tree.build(Q, n_threads)
    rows = X if Q is None else Q
    r, ids = np.full((len(rows), k), np.inf), np.full((len(rows), k), len(X))
    last = len(groups[0])
    middle = last // 2
    for a, b in ((0, middle), (middle, last)):  # in pieces, as the Python layer does
        tree.nearest(X, own, rows, groups[0], groups[1], Q is None, a, b, r, ids, n_threads)
    return r, ids


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 300, 1000])
def test_build_shares_points_out_to_boxes(tree, rng, n, dtype):
    X = rng.standard_normal((n, 3)).astype(dtype)
    points, ids, low, high, first, last, axis, cut = tree.build(X, 2)
    kept = ids.ravel()[ids.ravel() >= 0]
    assert sorted(kept.tolist()) == list(range(n))
    rows = points.transpose(0, 2, 1).reshape(-1, 3)
    assert (rows[ids.ravel() >= 0] == X[kept]).all()
    assert np.isnan(rows[ids.ravel() < 0]).all()
    for node in np.flatnonzero(first >= 0):
        below = ids[first[node] : last[node]].ravel()
        inside = X[below[below >= 0]]
        assert (low[node] == inside.min(axis=0)).all()
        assert (high[node] == inside.max(axis=0)).all()
        if last[node] - first[node] > 1:
            left, right = 2 * node + 1, 2 * node + 2
            assert first[left] == first[node]
            assert last[left] == first[right]
            assert last[right] == last[node]
            assert high[left][axis[node]] <= cut[node] <= low[right][axis[node]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "k"), [(2, 1, 1), (50, 2, 49), (500, 3, 10), (400, 15, 40)])
def test_nearest_of_a_set_with_itself(tree, rng, n, d, k, dtype):
    X = rng.standard_normal((n, d)).astype(dtype)
    r, ids = nearest(tree, X, None, k)
    true, order = oracles.knn(X, k=k)
    assert (ids == order).all()
    np.testing.assert_allclose(r, true.astype(float), rtol=1e-14)


@pytest.mark.parametrize("m", [1, 16, 77])
def test_nearest_of_new_rows(tree, rng, m):
    X, Q = rng.standard_normal((300, 4)), 3 * rng.standard_normal((m, 4))
    r, ids = nearest(tree, X, Q, 300)  # all of them, in order
    true, order = oracles.knn(X, Q, k=300)
    assert (ids == order).all()
    np.testing.assert_allclose(r, true.astype(float), rtol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_ties_by_index(tree, rng, d):
    X = rng.integers(0, 4, (700, d)).astype(np.float64)
    assert (nearest(tree, X, None, 11)[1] == oracles.knn(X, k=11)[1]).all()


def test_same_bits_for_any_number_of_threads(tree, rng):
    X = rng.standard_normal((1000, 3))
    one, *others = (nearest(tree, X, None, 5, t) for t in (1, 2, 5))
    for other in others:
        assert (one[0] == other[0]).all()
        assert (one[1] == other[1]).all()


def test_inside_counts_then_fills(tree, rng):
    X, eps = rng.integers(0, 6, (400, 3)).astype(np.float64), 2.0
    own = tree.build(X, 1)
    counts, nothing = np.zeros(400, dtype=np.intp), (np.empty(0), np.empty(0, dtype=np.intp))
    fixed = (X, own, X, own[0], own[1], True, 0, len(own[0]), eps, 1.0)
    tree.inside(*fixed, counts, counts, *nothing, 2)
    indptr, indices, distances = oracles.within(X, eps=eps)
    assert (counts == np.diff(indptr)).all()
    r, ids, again = np.empty(len(indices)), np.empty(len(indices), np.intp), np.zeros_like(counts)
    tree.inside(*fixed, indptr[:-1].astype(np.intp), again, r, ids, 2)
    assert (again == counts).all()
    assert (ids == indices).all()
    assert (r == distances.astype(float)).all()


def test_sorted_and_repeated_values_do_not_slow_the_build_down(tree):
    X = np.repeat(np.arange(1000.0), 50).reshape(-1, 1)  # the time limit of the suite is the test
    points, *_ = tree.build(X, 1)
    assert (np.nanmax(points, axis=(1, 2))[:-1] <= np.nanmin(points, axis=(1, 2))[1:]).all()

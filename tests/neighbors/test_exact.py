"""Exact neighbours: equal to long double wherever they are hard, however they are found."""

import numpy as np
import oracles
import pytest

from manifold_lab import checks
from manifold_lab.errors import MemoryBudgetError, ParameterError
from manifold_lab.neighbors import exact, filter_search, filter_within, packed, pieces

WAYS = ["tree", "brute"]


def assert_same(found, other):
    for a, b in zip(found, other, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def assert_right(X, k, way, Q=None, rtol=1e-14):
    """Compare ids with long double, all of them, and distances to rounding."""
    distances, indices = exact.knn(X, Q, k=k, algorithm=way)
    true, order = oracles.knn(X, Q, k=k)
    assert indices.dtype == np.intp
    assert distances.dtype == X.dtype
    assert (indices == order).all()
    np.testing.assert_allclose(distances, true.astype(X.dtype), rtol=rtol)


def clusters(rng, n, d, gap):
    X = rng.standard_normal((n, d))
    X[: n // 2] += gap
    return X


HARD = {
    "offset 1e8": lambda rng: 1e8 + rng.standard_normal((2000, 5)),
    "half the rows at 1e8": lambda rng: clusters(rng, 1300, 5, 1e8),
    "scale 1e160": lambda rng: 1e160 * rng.standard_normal((1000, 5)),
    "scale 1e-170": lambda rng: 1e-170 * rng.standard_normal((1000, 5)),
    "scale 1e307": lambda rng: 1e307 * rng.random((600, 5)),
    "subnormal": lambda rng: 5e-324 * rng.integers(-(10**6), 10**6, (600, 3)),
    "tiny beside large": lambda rng: np.vstack(
        [1e-200 * rng.standard_normal((300, 5)), rng.standard_normal((300, 5))]
    ),
    "one far point": lambda rng: np.vstack([rng.standard_normal((600, 5)), np.full((1, 5), 1e60)]),
    "lattice": lambda rng: rng.integers(0, 4, (700, 5)).astype(float),
    "all equal": lambda rng: np.full((400, 6), 0.1),
    "many duplicates": lambda rng: np.repeat(rng.standard_normal((60, 4)), 10, axis=0),
    "one feature": lambda rng: rng.standard_normal((700, 1)),
    "constant but one": lambda rng: np.eye(500, 3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HARD)
def test_every_id_is_right(rng, name, way):
    X = HARD[name](rng)
    assert_right(X, 10, way, rtol=1e-14 if name != "subnormal" else 0.5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HARD)
def test_every_id_is_right_for_new_rows(rng, name, way):
    X = HARD[name](rng)
    Q = np.ascontiguousarray(X[::9]) * 1.25
    assert_right(X, 10, way, Q, rtol=1e-14 if name != "subnormal" else 0.5)


@pytest.mark.parametrize("gap", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("d", [3, 20])
def test_float32_clusters_far_apart(rng, gap, d):
    X = clusters(rng, 1300, d, gap).astype(np.float32)
    assert_right(X, 10, "auto", rtol=2e-7)


@pytest.mark.parametrize("d", [8, 16, 50, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_features(rng, d, dtype):
    X = rng.standard_normal((400, d)).astype(dtype)
    assert_right(X, 12, "brute", rtol=2e-7 if dtype == np.float32 else 1e-13)
    assert_right(X, 12, "brute", X[:33] + dtype(0.5), rtol=2e-7 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [2, 3, 16, 17, 255, 256, 257])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_but_itself(rng, n, dtype, way):
    X = rng.standard_normal((n, 3)).astype(dtype)
    assert_right(X, n - 1, way, rtol=2e-7 if dtype == np.float32 else 1e-14)
    assert_right(X, 1, way, rtol=2e-7 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("name", HARD)
def test_tree_and_filter_agree_in_bits(rng, name):
    X = HARD[name](rng)
    assert_same(*(exact.knn(X, k=7, algorithm=way) for way in WAYS))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads_and_size_of_blocks(rng, monkeypatch, way, dtype):
    X = rng.standard_normal((1500, 6)).astype(dtype)
    X[::3] = X[::3].round()  # some ties
    Q = np.ascontiguousarray(X[::5]) / 2
    one = exact.Index(X, n_jobs=1, algorithm=way)
    first = [one.knn(k=9), one.knn(Q, k=9), one.within(eps=0.9), one.within(Q, eps=0.9)]
    for module, name, value in (
        (packed, "CACHE_BYTES", 2**12),
        (filter_search, "CHUNK_ROWS", 100),
        (filter_within, "MARK_ROWS", 64),
        (filter_search, "PROBE_ROWS", 10**6),
        (pieces, "LITTLE_WORK", 0),
    ):
        monkeypatch.setattr(module, name, value)
        two = exact.Index(X, n_jobs=2, algorithm=way)
        second = [two.knn(k=9), two.knn(Q, k=9), two.within(eps=0.9), two.within(Q, eps=0.9)]
        for a, b in zip(first, second, strict=True):
            assert_same(a, b)


def test_order_of_rows_changes_nothing_but_names(rng):
    X, turn = rng.standard_normal((800, 12)), rng.permutation(800)
    distances, indices = exact.knn(X, k=6)
    turned, names = exact.knn(X[turn], k=6)
    assert (turned == distances[turn]).all()
    assert (turn[names] == indices[turn]).all()


@pytest.mark.parametrize("power", [-900, -500, -7, 7, 400, 500, 900])
@pytest.mark.parametrize("way", WAYS)
def test_powers_of_two_change_no_bit(rng, power, way):
    X = rng.standard_normal((500, 6))
    distances, indices = exact.knn(X, k=5, algorithm=way)
    scaled, same = exact.knn(np.ldexp(X, power), k=5, algorithm=way)
    assert (indices == same).all()
    assert (np.ldexp(distances, power) == scaled).all()


# ------------------------------------------------------------------ within a radius


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HARD)
def test_within_finds_everything(rng, name, way):
    X = HARD[name](rng)[::2].copy()
    D = oracles.distances(X)
    eps = float(np.quantile(D, 0.02)) or float(D[D > 0].min(initial=1.0))
    near = np.abs(D - eps) < 1e-13 * eps
    if near.any() and name not in ("lattice", "constant but one", "all equal"):
        eps *= 1 + 1e-9
    indptr, indices, distances = exact.within(X, eps=eps, algorithm=way)
    true = oracles.within(X, eps=eps)
    assert indptr.dtype == np.int64
    assert (indptr == true[0]).all()
    assert (indices == true[1]).all()
    tolerance = 1e-14 if name != "subnormal" else 0.5
    np.testing.assert_allclose(distances, true[2].astype(float), rtol=tolerance)


@pytest.mark.parametrize("d", [3, 30])
def test_within_of_a_reported_distance_includes_it(rng, d):
    # fl(sqrt(q))^2 is below q for a quarter of all q: squares must not be compared
    X = rng.standard_normal((400, d))
    distances, indices = exact.knn(X, k=3)
    for i in range(0, 400, 16):
        _, found, r = exact.within(X, X[i : i + 1], eps=distances[i, 2])
        assert found.tolist() == [i, *indices[i]]
        assert (r[1:] == distances[i]).all()


@pytest.mark.parametrize("way", WAYS)
def test_within_nothing(rng, way):
    X = rng.standard_normal((300, 4))
    indptr, indices, distances = exact.within(X, eps=1e-9, algorithm=way)
    assert not indptr.any()
    assert indices.size == distances.size == 0
    assert indices.dtype == np.intp


def test_within_keeps_duplicates_but_not_itself():
    X = np.zeros((40, 9))
    indptr, indices, distances = exact.within(X, eps=1.0)
    assert (np.diff(indptr) == 39).all()
    assert not distances.any()
    assert all(i not in indices[indptr[i] : indptr[i + 1]] for i in range(40))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_within_everything(rng, way, scale):
    X = scale * rng.standard_normal((300, 4))
    indptr, indices, _ = exact.within(X, X[:9], eps=1e300, algorithm=way)
    assert (np.diff(indptr) == 300).all()
    assert sorted(indices[:300].tolist()) == list(range(300))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("of_x", "of_q"), [("f4", "f8"), ("f8", "f4")])
def test_rows_of_the_other_type_are_not_rounded(rng, way, of_x, of_q):
    X, Q = rng.standard_normal((400, 5)).astype(of_x), rng.standard_normal((30, 5)).astype(of_q)
    Q[0] = X[7] if of_q == "f4" else X[7].astype(float) + 1e-9
    assert_right(X, 8, way, Q, rtol=2e-7)
    nearest = exact.knn(X, Q, k=1, algorithm=way)[0][0, 0]
    if of_q == "f8":
        assert nearest == pytest.approx(1e-9 * 5**0.5, rel=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_queries_far_outside(rng, way):
    X = rng.standard_normal((400, 5))
    Q = rng.standard_normal((20, 5)) * 10.0 ** rng.integers(0, 300, (20, 1))
    Q[:5] = 2 * X[:5]
    distances, indices = exact.knn(X, Q, k=3, algorithm=way)
    true, _ = oracles.knn(X, Q, k=3)
    np.testing.assert_allclose(distances, true.astype(float), rtol=1e-14)
    near = np.abs(Q).max(axis=1) < 1e3
    assert (indices[near] == oracles.knn(X, Q[near], k=3)[1]).all()


# ------------------------------------------------------------------ proofs


def test_rows_that_cannot_be_proved_are_searched_again(rng, monkeypatch):
    X = rng.integers(0, 3, (1000, 9)).astype(np.float64)  # ties at the k-th distance everywhere
    again = []
    refine = filter_search.FilterSearch._refine

    def spy(self, Q, which, *rest):
        again.append(len(which))
        return refine(self, Q, which, *rest)

    monkeypatch.setattr(filter_search.FilterSearch, "_refine", spy)
    assert_right(X, 10, "brute")
    assert again[0] > 500
    again.clear()
    exact.knn(rng.standard_normal((1000, 9)), k=10, algorithm="brute")
    assert again[0] < 50  # the certificate is worth its name


def test_float64_filter_where_float32_proves_nothing(rng):
    X = clusters(rng, 2600, 20, 1e5)
    assert filter_search.FilterSearch(X, None)._filter_type(10) == np.float64
    X = rng.standard_normal((2600, 20))
    assert filter_search.FilterSearch(X, None)._filter_type(10) == np.float32


# ------------------------------------------------------------------ manners


@pytest.mark.parametrize("way", ["auto", *WAYS])
def test_inputs_may_be_read_only_and_stay(rng, way):
    X, Q = rng.standard_normal((300, 5)), rng.standard_normal((20, 5))
    before = X.tobytes(), Q.tobytes()
    X.setflags(write=False)
    Q.setflags(write=False)
    exact.knn(X, Q, k=3, algorithm=way)
    exact.within(X, Q, eps=0.5, algorithm=way)
    exact.knn(X, k=3, algorithm=way)
    assert (X.tobytes(), Q.tobytes()) == before


@pytest.mark.parametrize(("k", "Q", "most"), [(0, False, 9), (10, False, 9), (11, True, 10)])
def test_impossible_k_is_refused_with_both_numbers(k, Q, most):
    X = np.eye(10, 3)
    with pytest.raises(ParameterError, match=rf"k={k} .* {most} to choose from \(n=10\)"):
        exact.knn(X, X if Q else None, k=k)


def test_other_errors():
    X = np.eye(20)
    with pytest.raises(ParameterError, match=r"eps=0 is not a radius"):
        exact.within(X, eps=0)
    with pytest.raises(ParameterError, match="at most 15 features, and there are 20"):
        exact.knn(X, k=1, algorithm="tree")
    with pytest.raises(ParameterError, match="algorithm='ball' is unknown"):
        exact.knn(X, k=1, algorithm="ball")


@pytest.mark.parametrize("d", [3, 30])
def test_memory_is_planned(rng, monkeypatch, d):
    monkeypatch.setattr(checks, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryBudgetError, match="neighbour search would need"):
        exact.knn(rng.standard_normal((500, d)), k=3)


def test_never_a_matrix_of_all_pairs(rng):
    import tracemalloc

    X = rng.standard_normal((6000, 12))
    exact.knn(X[:300], k=5)
    tracemalloc.start()
    exact.knn(X, k=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 / 8


@pytest.mark.parametrize("d", [3, 12])
def test_progress_reaches_the_end(rng, monkeypatch, d):
    import contextlib

    seen = []

    @contextlib.contextmanager
    def spy(total, label, enabled):
        assert enabled
        yield seen.append
        assert sum(seen) == pytest.approx(total)
        seen.clear()

    monkeypatch.setattr(exact, "_progress", spy)
    X = rng.standard_normal((1500, d))
    for Q in (None, X[:500]):
        exact.knn(X, Q, k=3, progress=True)
        exact.within(X, Q, eps=0.5, progress=True)


def test_pieces_cover_everything_once():
    for total in (0, 1, 5, 1000):
        found = list(pieces.pieces(total, 3))
        assert [i for a, b in found for i in range(a, b)] == list(range(total))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
def test_rounds_meet_each_pair_once_and_no_block_twice(n):
    met = []
    for pairs in filter_search.rounds(n):
        used = [b for a, b in pairs.tolist()] + [a for a, b in pairs.tolist() if a != b]
        assert len(used) == len(set(used))
        met += [tuple(sorted(pair)) for pair in pairs.tolist()]
    assert sorted(met) == [(a, b) for a in range(n) for b in range(a, n)]

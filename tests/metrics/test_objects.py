"""Metric objects: what they compute, what they refuse, and that they are values."""

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

import manifold_lab as ml
from manifold_lab.errors import DegenerateDataWarning, ParameterError
from manifold_lab.metrics import (
    Cosine,
    Euclidean,
    Mahalanobis,
    Minkowski,
    WeightedEuclidean,
    as_metric,
    pairwise,
)


@pytest.fixture
def psd(rng):
    A = rng.normal(size=(4, 4))
    return A @ A.T


def distances(points):
    return cdist(points, points)


# ------------------------------------------------------------------ maps


def test_points_of_a_mahalanobis_metric_have_its_distances(rng, psd):
    X = rng.normal(size=(30, 4))
    metric = Mahalanobis(psd)
    gaps = X[:, None] - X
    expected = np.sqrt(np.einsum("ijk,kl,ijl->ij", gaps, psd, gaps).clip(0))
    np.testing.assert_allclose(distances(metric.map(X)), expected, atol=1e-12)
    np.testing.assert_allclose(pairwise(X, metric=metric), expected, atol=1e-12)
    np.testing.assert_allclose(metric.M, psd, rtol=1e-12)
    np.testing.assert_allclose(metric.P @ metric.P.T, psd, rtol=1e-12)


def test_points_of_a_weighted_metric_have_its_distances(rng):
    X, w = rng.normal(size=(30, 3)), np.array([2.0, 0.0, 0.5])
    expected = np.sqrt((((X[:, None] - X) ** 2) * w).sum(axis=2))
    np.testing.assert_allclose(distances(WeightedEuclidean(w).map(X)), expected, atol=1e-13)
    np.testing.assert_allclose(pairwise(X, metric=WeightedEuclidean(w)), expected, atol=1e-13)


def test_a_low_rank_metric_has_few_columns(rng):
    P = rng.normal(size=(6, 2))
    metric = Mahalanobis(P @ P.T)
    assert metric.P.shape == (6, 2)
    X = rng.normal(size=(20, 6))
    np.testing.assert_allclose(pairwise(X, metric=metric), distances(X @ P), atol=1e-12)
    np.testing.assert_allclose(
        pairwise(X, metric=Mahalanobis.from_factor(P)), distances(X @ P), atol=1e-12
    )


def test_a_metric_of_rank_zero_sees_no_difference(rng):
    X = rng.normal(size=(5, 3))
    assert not pairwise(X, metric=Mahalanobis(np.zeros((3, 3)))).any()
    assert not pairwise(X, metric=WeightedEuclidean(np.zeros(3))).any()


def test_maps_keep_the_type(rng, psd):
    X = rng.normal(size=(5, 4)).astype(np.float32)
    assert Mahalanobis(psd).map(X).dtype == np.float32
    assert WeightedEuclidean(np.ones(4)).map(X).dtype == np.float32
    assert Euclidean().map(X.astype(int)).dtype == np.float64


def test_a_row_is_mapped_to_the_same_bits_alone_and_among_others(rng):
    """Otherwise a training row asked for again would not be at distance zero."""
    X = rng.normal(size=(300, 37))
    for metric in (
        Mahalanobis.from_factor(rng.normal(size=(37, 37))),
        Mahalanobis.from_factor(rng.normal(size=(37, 5))),
        Cosine(),
    ):
        frame = metric.frame(X)
        whole = frame(X)
        for i in (0, 1, 63, 64, 150, 299):
            np.testing.assert_array_equal(frame(X[i : i + 1])[0], whole[i])
        np.testing.assert_array_equal(frame(X[::-1])[::-1], whole)


# ------------------------------------------------------------------ the classical choice


def test_the_inverse_covariance_whitens(rng):
    X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 1e6
    metric = Mahalanobis.from_covariance(X)
    np.testing.assert_allclose(np.cov(metric.map(X - X[0]).T), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(metric.M, np.linalg.inv(np.cov(X.T)), rtol=1e-6)


def test_units_do_not_matter_to_the_inverse_covariance(rng):
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    units = np.array([1e200, 1e-200, 1.0, 1e-7])
    plain = pairwise(X, metric=Mahalanobis.from_covariance(X))
    scaled = pairwise(X * units, metric=Mahalanobis.from_covariance(X * units))
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_a_singular_covariance_is_announced(rng):
    X = rng.normal(size=(50, 3))
    X = np.c_[X, X[:, 0] + X[:, 1], np.full(50, 7.0)]
    with pytest.warns(DegenerateDataWarning, match="rank 3 of 5"):
        metric = Mahalanobis.from_covariance(X)
    expected = pairwise(X[:, :3], metric=Mahalanobis.from_covariance(X[:, :3]))
    np.testing.assert_allclose(pairwise(X, metric=metric), expected, rtol=1e-9)


# ------------------------------------------------------------------ what is refused


def test_a_negative_eigenvalue_is_named():
    with pytest.raises(ParameterError, match=r"eigenvalue -0\.5 \(the largest is 2\)"):
        Mahalanobis(np.diag([2.0, 1.0, -0.5]))
    with pytest.raises(ValueError, match=r"eigenvalue -1e-09"):
        Mahalanobis(np.diag([1.0, -1e-9]))
    with pytest.raises(ParameterError, match="eigenvalue -1e\\+200"):
        Mahalanobis(np.diag([1e200, -1e200]))


def test_rounding_below_zero_is_clipped(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    M = Q @ np.diag([1.0, 0.3, -1e-11]) @ Q.T
    metric = Mahalanobis((M + M.T) / 2)
    assert metric.P.shape == (3, 2)
    np.testing.assert_allclose(metric.M, M, atol=2e-11)


def test_clipping_never_costs_more_than_the_eigenvalue():
    """Scaled column by column, this matrix would have eigenvalues 101 and -99."""
    M = np.array([[1.0, 1e-6], [1e-6, 1e-16]])
    np.testing.assert_allclose(Mahalanobis(M).M, M, atol=2e-12)


def test_asymmetry_is_forgiven_up_to_rounding(psd):
    largest = np.abs(psd).max()
    bent = psd.copy()
    bent[0, 1] += 0.9e-8 * largest
    np.testing.assert_allclose(Mahalanobis(bent).M, (bent + bent.T) / 2, rtol=1e-10)
    bent[0, 1] += 0.2e-8 * largest
    with pytest.raises(ParameterError, match=r"not symmetric: M\[0, 1\]"):
        Mahalanobis(bent)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mahalanobis(np.ones((2, 3))), r"square, got shape \(2, 3\)"),
        (lambda: Mahalanobis([[np.nan]]), "NaN"),
        (lambda: Mahalanobis.from_factor([[np.inf]]), "infinity"),
        (lambda: WeightedEuclidean([1.0, 2.0, -3.0]), r"Weight 2 .* is -3\.0"),
        (lambda: WeightedEuclidean([1.0, np.nan]), "NaN"),
        (lambda: WeightedEuclidean([[1.0]]), "vector"),
        (lambda: WeightedEuclidean([]), "vector"),
        (lambda: Minkowski(0.5), "must be a number >= 1. Got 0.5"),
        (lambda: Minkowski("3"), "must be a number >= 1"),
        (lambda: Minkowski(np.nan), "must be a number >= 1"),
        (lambda: as_metric("euclid"), "metric='euclid' is not known"),
        (lambda: as_metric(3), "metric=3 is not known"),
        (lambda: as_metric("cosine", p=3), "p=3 is the exponent of metric='minkowski'"),
    ],
)
def test_what_is_no_metric_is_refused_when_it_is_made(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_columns_must_fit(rng):
    with pytest.raises(ParameterError, match="X has 2 features, but the WeightedEuclidean.* for 3"):
        pairwise(rng.normal(size=(4, 2)), metric=WeightedEuclidean([1, 2, 3]))


# ------------------------------------------------------------------ values


def metrics(psd):
    return [
        Euclidean(),
        Cosine(),
        WeightedEuclidean([1.0, 2.0, 3.0, 4.0]),
        Mahalanobis(psd),
        Minkowski(3),
        as_metric("manhattan"),
        as_metric("precomputed"),
        as_metric(np.hypot),
    ]


def test_metrics_are_values(psd):
    ours, again = metrics(psd), metrics(psd.copy())
    assert ours == again
    assert len({*ours, *again}) == len(ours)
    assert WeightedEuclidean([1.0, 2.0]) != WeightedEuclidean([1.0, 3.0])
    assert Minkowski(3) != Minkowski(4)


def test_metrics_survive_pickle_copy_and_clone(psd, rng):
    X = rng.normal(size=(6, 4))
    for metric in (m for m in metrics(psd) if not m.precomputed and m != as_metric(np.hypot)):
        for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
            assert twin == metric
            assert hash(twin) == hash(metric)
            np.testing.assert_array_equal(pairwise(X, metric=twin), pairwise(X, metric=metric))
        assert clone(ml.NearestNeighbors(metric=metric)).metric == metric
        assert repr(metric)


def test_a_metric_cannot_be_changed_from_outside(psd):
    w = np.ones(2)
    metric = WeightedEuclidean(w)
    w[0] = 100
    assert metric.w[0] == 1
    for twin in (metric, copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        with pytest.raises(ValueError, match="read-only"):
            twin.w[0] = 5
    metric = Mahalanobis(psd)
    metric.M[:] = 0
    np.testing.assert_allclose(metric.M, psd, rtol=1e-12)


def test_names_resolve():
    assert as_metric("euclidean") == Euclidean()
    assert as_metric("minkowski", p=3) == Minkowski(3)
    assert as_metric("minkowski") == Minkowski(2)
    metric = Cosine()
    assert as_metric(metric) is metric

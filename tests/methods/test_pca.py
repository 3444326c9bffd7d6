"""PCA: analytic cases, optimality, invariants, agreement, and the numbers others get wrong."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA as Peer

from manifold_lab.errors import (
    ConvergenceWarning,
    DegenerateDataWarning,
    ManifoldLabWarning,
    ParameterError,
    SpectrumWarning,
)
from manifold_lab.linalg import principal
from manifold_lab.methods import pca as module
from manifold_lab.methods.pca import PCA, choose_solver

SOLVERS = ["covariance", "svd", "gram", "randomized"]
EXACT = ["covariance", "svd", "gram"]


def longdouble_spectrum(X):
    """Variances of X with the centring done in long double."""
    Y = X.astype(np.longdouble)
    Y -= Y.mean(axis=0)
    return np.linalg.eigvalsh((Y.T @ Y / (len(X) - 1)).astype(float))[::-1]


def mixed(rng, n, d, offset=0.0):
    return (
        rng.normal(size=(n, d)) * np.linspace(3, 0.2, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
        + offset
    )


# ------------------------------------------------------------------ analytic cases


@pytest.mark.parametrize("solver", SOLVERS)
def test_points_on_a_line(solver):
    t = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    X = np.outer(t, [3 / 5, -4 / 5]) + np.array([10, 20])
    pca = PCA(n_components=1, solver=solver).fit(X)
    np.testing.assert_allclose(pca.components_, [[-3 / 5, 4 / 5]], atol=1e-15)
    np.testing.assert_allclose(pca.mean_, [10, 20])
    np.testing.assert_allclose(pca.explained_variance_, [5.0])
    np.testing.assert_allclose(pca.transform(X)[:, 0], -t, atol=1e-14)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-14)


def test_axis_aligned_ellipsoid():
    X = np.vstack([np.diag([5.0, 2, 1]), -np.diag([5.0, 2, 1])])
    pca = PCA().fit(X)
    np.testing.assert_allclose(pca.explained_variance_, np.array([50, 8, 2]) / 5)
    np.testing.assert_allclose(pca.explained_variance_ratio_, np.array([50, 8, 2]) / 60)
    np.testing.assert_allclose(pca.components_, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(pca.singular_values_**2, [50, 8, 2])


# ------------------------------------------------------------------ identities


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(300, 12), (40, 90), (400, 350)])
def test_optimality(rng, solver, shape):
    X = mixed(rng, *shape, offset=7)
    pca = PCA(n_components=5, solver=solver).fit(X)
    Y = X - X.mean(axis=0)
    S = Y.T @ Y / (len(X) - 1)
    W = pca.components_
    np.testing.assert_allclose(W @ W.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(W @ S, pca.explained_variance_[:, None] * W, atol=1e-10)
    # (10.14): what is lost is the sum of the eigenvalues left out
    lost = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum() / (len(X) - 1)
    left_out = np.trace(S) - pca.explained_variance_.sum()
    np.testing.assert_allclose(lost, left_out, rtol=1e-9)
    np.testing.assert_allclose(pca.noise_variance_, left_out / (shape[1] - 5), rtol=1e-9)


@pytest.mark.parametrize("shape", [(300, 12), (40, 90)])
def test_solvers_agree_to_rounding(rng, shape):
    X = mixed(rng, *shape, offset=100)
    models = [PCA(n_components=6, solver=solver).fit(X) for solver in SOLVERS]
    for other in models[1:]:
        np.testing.assert_allclose(other.components_, models[0].components_, atol=1e-11)
        np.testing.assert_allclose(
            other.explained_variance_, models[0].explained_variance_, rtol=1e-12
        )


def test_deflation_gives_the_second_axis(rng):
    X = mixed(rng, 200, 6)
    two = PCA(n_components=2).fit(X)
    rest = X - np.outer(two.transform(X)[:, 0], two.components_[0])
    np.testing.assert_allclose(
        PCA(n_components=1).fit(rest).components_[0], two.components_[1], atol=1e-10
    )


def test_rotation_scaling_and_duplication(rng):
    X = mixed(rng, 150, 5)
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    Z = PCA(n_components=3).fit_transform(X)
    moved = PCA(n_components=3).fit_transform(4 * X @ Q + 3)
    np.testing.assert_allclose(np.abs(moved), 4 * np.abs(Z), atol=1e-10)
    twice = PCA(n_components=3).fit(np.vstack([X, X]))
    np.testing.assert_allclose(
        twice.components_, PCA(n_components=3).fit(X).components_, atol=1e-10
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_whitened_scores_have_unit_covariance(rng, solver):
    X = mixed(rng, 120, 8, offset=50)
    pca = PCA(n_components=4, whiten=True, solver=solver)
    Z = pca.fit_transform(X)
    np.testing.assert_allclose(np.cov(Z, rowvar=False), np.eye(4), atol=1e-12)
    plain = PCA(n_components=4, solver=solver).fit(X)
    np.testing.assert_allclose(
        pca.inverse_transform(Z), plain.inverse_transform(plain.transform(X)), atol=1e-11
    )


def test_whitening_never_blows_up_a_null_direction(rng):
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 4))
    with pytest.warns(DegenerateDataWarning, match="asked for, but the data has 2"):
        Z = PCA(n_components=3, whiten=True).fit_transform(X)
    np.testing.assert_array_equal(Z[:, 2], 0)
    np.testing.assert_allclose(np.cov(Z[:, :2], rowvar=False), np.eye(2), atol=1e-12)


# ------------------------------------------------------------------ agreement


@pytest.mark.parametrize("load", [load_digits, load_wine, load_breast_cancer])
@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_agrees_with_scikit_learn_on_real_data(load, solver):
    X = load().data
    peer = Peer(n_components=5, svd_solver="full").fit(X)
    ours = PCA(n_components=5, solver=solver).fit(X)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-9
    )
    np.testing.assert_allclose(ours.singular_values_, peer.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(ours.noise_variance_, peer.noise_variance_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(peer.transform(X)), atol=1e-7)
    np.testing.assert_allclose(ours.score_samples(X), peer.score_samples(X), rtol=1e-7)
    np.testing.assert_allclose(ours.score(X), peer.score(X), rtol=1e-9)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_minka_agrees_with_scikit_learn(load):
    X = load().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert PCA(n_components="mle").fit(X).n_components_ == Peer("mle").fit(X).n_components_


def test_minka_finds_the_dimension_of_the_signal(rng):
    X = rng.normal(size=(600, 10)) * np.r_[6, 5, 4, np.ones(7)]
    for scale in (1.0, 1e-100):
        assert PCA(n_components="mle").fit(X * scale).n_components_ == 3


def test_minka_with_equal_eigenvalues_is_finite_and_silent():
    X = np.kron(np.eye(4), np.ones((3, 1)))
    assert 1 <= PCA(n_components="mle").fit(np.vstack([X, -X])).n_components_ <= 3


# ------------------------------------------------------------------ how many components


def test_threshold_is_met_with_equality():
    X = np.vstack([np.eye(8), -np.eye(8)])  # eight equal eigenvalues
    assert PCA(n_components=0.5).fit(X).n_components_ == 4


@pytest.mark.parametrize("d", [10, 7])
def test_threshold_at_every_exact_tie(d):
    X = np.vstack([np.eye(d), -np.eye(d)])
    for kept in range(1, d):
        assert PCA(n_components=kept / d).fit(X).n_components_ == kept


def test_threshold_is_the_smallest_number_that_suffices(rng):
    X = mixed(rng, 200, 9)
    shares = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    for t in (0.3, 0.77, 0.95, 0.999):
        kept = PCA(n_components=t).fit(X).n_components_
        assert shares[kept - 1] >= t
        assert kept == 1 or shares[kept - 2] < t


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (0, "n_components"),
        (1.0, "n_components"),
        (0.0, "n_components"),
        (True, "n_components"),
        ("all", "n_components"),
        (6, "limit is 5.*n_components <= 5"),
    ],
)
def test_impossible_numbers_of_components(rng, bad, message):
    with pytest.raises(ParameterError, match=message):
        PCA(n_components=bad).fit(rng.normal(size=(30, 5)))


def test_requests_a_solver_cannot_meet(rng):
    X = rng.normal(size=(30, 5))
    with pytest.raises(ParameterError, match="needs an int n_components.*auto"):
        PCA(n_components=0.9, solver="randomized").fit(X)
    with pytest.raises(ParameterError, match="n_samples >= n_features"):
        PCA(n_components="mle").fit(X[:3])
    with pytest.raises(ParameterError, match="densify"):
        PCA(solver="svd").fit(scipy.sparse.csr_array(X))


# ------------------------------------------------------------------ numbers others get wrong


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 1e5), (np.float64, 1e9)])
def test_a_large_mean_costs_nothing(rng, solver, dtype, offset):
    X = (rng.normal(size=(2000, 5)) * [5, 3, 2, 1, 0.5] + offset).astype(dtype)
    pca = PCA(solver=solver).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, longdouble_spectrum(X), rtol=1e-12)
    assert pca.components_.dtype == pca.mean_.dtype == dtype
    assert pca.explained_variance_.dtype == np.float64
    Z = pca.transform(X)
    assert Z.dtype == dtype
    # the mean is kept in double inside: a float32 mean of 1e5 would shift every score by 4e-3
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_large_and_small_units(rng, solver, scale):
    X = mixed(rng, 100, 4)
    plain = PCA(n_components=3, solver=solver).fit(X)
    scaled = PCA(n_components=3, solver=solver).fit(X * scale)
    np.testing.assert_allclose(
        scaled.explained_variance_, plain.explained_variance_ * scale**2, rtol=1e-12
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-170, 1e-300])
def test_units_whose_square_cannot_be_represented(rng, solver, scale):
    X = mixed(rng, 100, 4)
    plain = PCA(n_components=3, solver=solver).fit(X)
    with pytest.warns(SpectrumWarning, match="cannot be represented") as caught:
        scaled = PCA(n_components=3, solver=solver).fit(X * scale)
    assert len(caught) == 1
    np.testing.assert_allclose(scaled.components_, plain.components_, atol=1e-12)
    np.testing.assert_allclose(
        scaled.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-12
    )
    np.testing.assert_allclose(scaled.singular_values_, plain.singular_values_ * scale, rtol=1e-12)
    assert (scaled.explained_variance_ == (np.inf if scale > 1 else 0)).all()
    np.testing.assert_allclose(
        scaled.transform(X * scale), plain.transform(X) * scale, rtol=1e-9, atol=1e-12 * scale
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_identical_rows(solver):
    X = np.full((20, 3), 1e7)
    with pytest.warns(DegenerateDataWarning, match="identical") as caught:
        pca = PCA(n_components=2, solver=solver).fit(X)
    assert len(caught) == 1
    np.testing.assert_array_equal(pca.explained_variance_ratio_, 0)
    np.testing.assert_array_equal(pca.transform(X), 0)
    np.testing.assert_array_equal(pca.inverse_transform(pca.transform(X)), X)
    assert pca.rank_ == 0


def test_one_sample_is_refused():
    with pytest.raises(ParameterError, match=r"1 sample.*minimum of 2"):
        PCA().fit([[1.0, 2.0]])


@pytest.mark.parametrize("solver", EXACT)
def test_fewer_samples_than_features(rng, solver):
    X = rng.normal(size=(6, 40)) + 1e6
    pca = PCA(solver=solver).fit(X)
    assert pca.components_.shape == (6, 40)
    assert pca.rank_ == 5
    np.testing.assert_array_equal(pca.explained_variance_[5], 0)
    np.testing.assert_array_equal(pca.components_[5], 0)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, rtol=1e-15)
    assert pca.noise_variance_ == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_and_collinear_columns(rng, solver):
    a, b = rng.normal(size=(2, 5000))
    X = np.column_stack([a, b, 3 * a - b, np.full(5000, 8.0)])
    with pytest.warns(DegenerateDataWarning, match="has 2 directions"):
        pca = PCA(n_components=4, solver=solver).fit(X)
    assert pca.rank_ == 2
    np.testing.assert_array_equal(pca.explained_variance_[2:], 0)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-12)


def test_score_of_a_singular_covariance_is_that_of_the_projection(rng):
    flat = rng.normal(size=(30, 2)) * [3, 1]
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0][:2]
    with pytest.warns(DegenerateDataWarning, match="2 of 4 directions"):
        scores = PCA().fit(flat @ Q + 5).score_samples(flat @ Q + 5)
    np.testing.assert_allclose(scores, PCA().fit(flat).score_samples(flat), rtol=1e-10)


def test_flat_spectrum_warns_when_asked_and_is_exact_when_not(rng, monkeypatch):
    monkeypatch.setattr(principal, "PATIENT_BLOCKS", 4)
    X = rng.normal(size=(1200, 1000))
    with pytest.warns(ConvergenceWarning, match="residual of.*solver='auto'"):
        PCA(n_components=5, solver="randomized").fit(X)
    monkeypatch.setattr(module, "choose_solver", lambda *args: "randomized")
    pca = PCA(n_components=5).fit(X)
    assert pca.solver_ == "covariance"
    np.testing.assert_allclose(pca.explained_variance_, longdouble_spectrum(X)[:5], rtol=1e-11)


# ------------------------------------------------------------------ sparse input


@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "randomized"])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense(rng, solver, shape, dtype):
    X = scipy.sparse.random_array(shape, density=0.2, rng=rng, format="csr", dtype=np.float64)
    X = X.astype(dtype)
    sparse = PCA(n_components=4, solver=solver).fit(X)
    dense = PCA(n_components=4, solver="svd").fit(X.toarray())
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=tolerance)
    np.testing.assert_allclose(sparse.transform(X), dense.transform(X.toarray()), atol=tolerance)
    assert sparse.transform(X).dtype == dtype


@pytest.mark.parametrize("kind", ["csc_array", "coo_array", "csr_matrix", "lil_array"])
def test_other_sparse_formats(rng, kind):
    X = scipy.sparse.random_array((60, 10), density=0.3, rng=rng)
    converted = getattr(scipy.sparse, kind)(X)
    np.testing.assert_allclose(
        PCA(n_components=2).fit_transform(converted),
        PCA(n_components=2).fit_transform(X.toarray()),
        atol=1e-12,
    )


def test_sparse_input_is_never_densified_whole(rng):
    # dense, X would take 160 GB
    X = scipy.sparse.random_array((200_000, 100_000), density=1e-6, rng=rng, format="csr")
    pca = PCA(n_components=2).fit(X)
    assert pca.solver_ == "randomized"
    assert pca.explained_variance_[0] >= pca.explained_variance_[1] > 0


# ------------------------------------------------------------------ batches


@pytest.mark.parametrize("sizes", [(2, 98, 100), (150, 49, 1), (200,), (67, 66, 67)])
def test_any_split_into_batches_equals_one_fit(rng, sizes):
    X = mixed(rng, 200, 6, offset=1e6)
    whole = PCA(n_components=4, solver="covariance").fit(X)
    parts = PCA(n_components=4)
    with warnings.catch_warnings():  # the first two rows have one direction
        warnings.simplefilter("ignore", DegenerateDataWarning)
        for batch in np.split(X, np.cumsum(sizes)[:-1]):
            parts.partial_fit(batch)
    assert parts.n_samples_ == 200
    np.testing.assert_allclose(parts.explained_variance_, whole.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(parts.mean_, whole.mean_, rtol=1e-15)
    np.testing.assert_allclose(parts.noise_variance_, whole.noise_variance_, rtol=1e-9)


def test_batches_in_another_order(rng):
    X = mixed(rng, 90, 4)
    forward, backward = PCA(), PCA()
    for batch in np.split(X, 3):
        forward.partial_fit(batch)
    for batch in np.split(X, 3)[::-1]:
        backward.partial_fit(batch)
    np.testing.assert_allclose(
        forward.explained_variance_, backward.explained_variance_, rtol=1e-12
    )


def test_a_failed_batch_changes_nothing(rng):
    X = mixed(rng, 60, 3)
    pca = PCA().partial_fit(X)
    before = pca.transform(X)
    with pytest.raises(ParameterError, match="NaN"):
        pca.partial_fit(np.full((5, 3), np.nan))
    with pytest.raises(ParameterError, match="4 features.*expecting 3"):
        pca.partial_fit(rng.normal(size=(5, 4)))
    assert pca.n_samples_ == 60
    np.testing.assert_array_equal(pca.transform(X), before)


def test_batches_after_a_plain_fit_start_anew_and_say_so(rng):
    X, more = mixed(rng, 60, 3), mixed(rng, 40, 3)
    pca = PCA().fit(X)
    with pytest.warns(ManifoldLabWarning, match="starts anew and forgets those 60 rows"):
        pca.partial_fit(more)
    assert pca.n_samples_ == 40
    pca.partial_fit(X)
    np.testing.assert_allclose(
        pca.explained_variance_, PCA().fit(np.vstack([more, X])).explained_variance_, rtol=1e-12
    )


def test_sparse_batches(rng):
    X = scipy.sparse.random_array((100, 8), density=0.4, rng=rng, format="csr")
    pca = PCA().partial_fit(X[:50]).partial_fit(X[50:])
    np.testing.assert_allclose(
        pca.explained_variance_, PCA().fit(X.toarray()).explained_variance_, rtol=1e-10
    )


# ------------------------------------------------------------------ the rule


def test_the_rule_follows_the_shape():
    assert choose_solver(150, 4, None, False) == "svd"
    assert choose_solver(100_000, 100, 10, False) == "covariance"
    assert choose_solver(300, 20_000, 10, False) == "gram"
    assert choose_solver(20_000, 5000, 20, False) == "randomized"
    assert choose_solver(20_000, 5000, 2000, False) == "covariance"
    assert choose_solver(100_000, 50_000, 10, True) == "randomized"
    assert choose_solver(100_000, 50_000, None, True) == "covariance"


@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_same_bits_for_any_n_jobs(rng, n_jobs):
    X = mixed(rng, 3000, 60)
    np.testing.assert_array_equal(
        PCA(solver="covariance", n_jobs=n_jobs).fit(X).components_,
        PCA(solver="covariance").fit(X).components_,
    )

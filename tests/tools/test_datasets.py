"""Data sets: the points lie on their surface, and T is what it is said to be."""

import inspect

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.spatial import cKDTree

import manifold_lab
from manifold_lab import datasets
from manifold_lab.errors import ParameterError

SURFACES = [
    datasets.s_curve,
    datasets.swiss_roll,
    datasets.punctured_sphere,
    datasets.twin_peaks,
    datasets.helix,
]
NOISY = [*SURFACES, datasets.joined_clusters]
EVERY = [*NOISY, datasets.gaussians]


def is_uniform(values, low, high):
    return stats.kstest(values, "uniform", args=(low, high - low)).pvalue > 1e-3


def test_shim_and_facade_are_the_same_functions():
    from manifold_lab.tools import datasets as written

    assert manifold_lab.datasets is datasets
    assert datasets.__all__ == sorted(written.__all__)
    assert all(getattr(datasets, name) is getattr(written, name) for name in datasets.__all__)


@pytest.mark.parametrize("make", EVERY, ids=lambda f: f.__name__)
def test_all_parameters_are_keywords_with_defaults(make):
    parameters = inspect.signature(make).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters)


@pytest.mark.parametrize("make", EVERY, ids=lambda f: f.__name__)
def test_seeds_reproduce(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (make(n_samples=50, random_state=seed) for seed in (3, 3, 4))
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(first[0], other[0])
    assert np.array_equal(make(n_samples=50)[0], make(n_samples=50, random_state=None)[0])
    rng = np.random.default_rng(3)
    assert np.array_equal(make(n_samples=50, random_state=rng)[0], first[0])
    assert not np.array_equal(make(n_samples=50, random_state=rng)[0], first[0])
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("make", NOISY, ids=lambda f: f.__name__)
def test_noise_has_the_stated_sd_and_leaves_the_truth_alone(make):
    clean, truth = make(n_samples=4000, random_state=1)
    noisy, same = make(n_samples=4000, random_state=1, noise=0.25)
    assert np.array_equal(truth, same)
    error = noisy - clean
    assert error.std(axis=0) == pytest.approx(0.25, rel=0.05)
    assert np.abs(np.corrcoef(error.T) - np.eye(3)).max() < 0.06


@pytest.mark.parametrize("make", EVERY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_small_sets(make, n):
    X, T = make(n_samples=n)
    assert X.dtype == np.float64
    assert len(X) == len(T) == n
    assert np.isfinite(X).all()


# ------------------------------------------------------------------ the surfaces


def test_s_curve_lies_on_its_circles():
    X, T = datasets.s_curve(n_samples=2000)
    side = np.where(X[:, 2] > 0, 1, -1)  # the lower arc is centred at z = -1, the upper at +1
    assert np.abs(np.hypot(X[:, 0], X[:, 2] - side) - 1).max() < 1e-12
    assert np.array_equal(X[:, 1], T[:, 1])
    assert is_uniform(T[:, 0], 0, 3 * np.pi)
    assert is_uniform(T[:, 1], 0, 2)


@pytest.mark.parametrize("hole", [False, True])
def test_swiss_roll_lies_on_its_spiral(hole):
    X, T = datasets.swiss_roll(n_samples=1000, hole=hole)
    t = np.hypot(X[:, 0], X[:, 2])  # radius and angle of the spiral are the same number
    assert t.min() >= 1.5 * np.pi - 1e-12
    assert t.max() <= 4.5 * np.pi + 1e-12
    assert np.abs(X[:, 0] - t * np.cos(t)).max() < 1e-12
    assert np.abs(X[:, 2] - t * np.sin(t)).max() < 1e-12
    assert np.array_equal(X[:, 1], T[:, 1])


def test_swiss_roll_first_coordinate_is_the_integral_of_its_speed():
    X, T = datasets.swiss_roll(n_samples=25)
    for (x, _, z), s in zip(X, T[:, 0], strict=True):
        length, _ = integrate.quad(
            lambda t: np.hypot(1, t), 1.5 * np.pi, np.hypot(x, z), epsabs=1e-12
        )
        assert s == pytest.approx(length, abs=1e-11)


def test_swiss_roll_is_uniform_on_the_surface():
    _, T = datasets.swiss_roll(n_samples=3000)
    length = integrate.quad(lambda t: np.hypot(1, t), 1.5 * np.pi, 4.5 * np.pi)[0]
    assert is_uniform(T[:, 0], 0, length)
    assert is_uniform(T[:, 1], 0, 21)


def test_swiss_roll_hole_is_empty_and_the_rest_is_evenly_filled():
    _, T = datasets.swiss_roll(n_samples=8000, hole=True)
    length = integrate.quad(lambda t: np.hypot(1, t), 1.5 * np.pi, 4.5 * np.pi)[0]
    counts = np.histogram2d(*T.T, bins=3, range=[(0, length), (0, 21)])[0]
    assert counts.sum() == 8000
    assert counts[1, 1] == 0
    rim = np.delete(counts.ravel(), 4)
    assert stats.chisquare(rim).pvalue > 1e-3


@pytest.mark.parametrize(
    ("make", "curvature"),
    [
        (datasets.s_curve, 1.0),
        (datasets.swiss_roll, 0.24),
        (lambda **kw: datasets.swiss_roll(hole=True, **kw), 0.24),
        (datasets.helix, 1.0),
        (lambda **kw: datasets.helix(turns=2, radius=3, pitch=5, **kw), 1 / 3),
    ],
    ids=["s_curve", "swiss_roll", "swiss_roll_hole", "helix", "helix_wide"],
)
def test_developable_surfaces_come_with_isometric_coordinates(make, curvature):
    X, T = make(n_samples=3000)
    near, index = cKDTree(T).query(T, 6)
    dT, dX = near[:, 1:], np.linalg.norm(X[index[:, 1:]] - X[:, None], axis=2)
    assert dT.max() * curvature < 1.2  # close enough for the bounds below to say something
    # a chord is shorter than its arc, and by no more than that of the tightest circle
    assert (dX <= dT * (1 + 1e-9) + 1e-12).all()
    assert (dX >= dT * (1 - (curvature * dT) ** 2 / 24) * (1 - 1e-9) - 1e-12).all()


def test_helix_is_uniform_along_its_length():
    X, T = datasets.helix(n_samples=2000, turns=3, radius=2, pitch=1.5)
    assert np.abs(np.hypot(X[:, 0], X[:, 1]) - 2).max() < 1e-12
    angle = X[:, 2] / 1.5 * 2 * np.pi
    assert np.abs(X[:, 0] - 2 * np.cos(angle)).max() < 1e-12
    assert T.shape == (2000, 1)
    assert is_uniform(T[:, 0], 0, 3 * np.hypot(2 * np.pi * 2, 1.5))


def test_punctured_sphere_is_uniform_below_its_opening():
    X, T = datasets.punctured_sphere(n_samples=3000, cap=1.0)
    assert np.abs(np.linalg.norm(X, axis=1) - 1).max() < 1e-12
    assert X[:, 2].max() <= np.cos(1.0)
    assert is_uniform(X[:, 2], -1, np.cos(1.0))  # Archimedes: equal heights are equal areas
    assert is_uniform(np.arctan2(X[:, 1], X[:, 0]), -np.pi, np.pi)
    theta = np.linalg.norm(T, axis=1)
    assert np.abs(np.cos(theta) + X[:, 2]).max() < 1e-12  # geodesic distance from the bottom
    assert np.abs(T * np.sin(theta)[:, None] - X[:, :2] * theta[:, None]).max() < 1e-12


def test_twin_peaks_is_its_formula():
    X, T = datasets.twin_peaks(n_samples=2000, height=3.0)
    assert np.array_equal(X[:, :2], T)
    assert np.abs(X[:, 2] - 3 * np.sin(np.pi * T[:, 0]) * np.tanh(3 * T[:, 1])).max() < 1e-12
    assert X[:, 2].max() > 2.9
    assert X[:, 2].min() < -2.9
    assert is_uniform(T[:, 0], -1, 1)
    assert is_uniform(T[:, 1], -1, 1)


# ------------------------------------------------------------------ labelled sets


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_joined_clusters_are_balls_and_segments(n_clusters):
    X, y = datasets.joined_clusters(n_samples=2000, n_clusters=n_clusters, separation=5.0)
    assert set(y) == {-1, *range(n_clusters)}
    assert (y == -1).sum() == 200
    sizes = np.bincount(y[y >= 0])
    assert sizes.max() - sizes.min() <= 1
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters
    ring = 2.5 / np.sin(np.pi / n_clusters)
    centres = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), 0 * angle])
    radius = np.linalg.norm(X[y >= 0] - centres[y[y >= 0]], axis=1)
    assert radius.max() <= 1 + 1e-12
    assert is_uniform(radius**3, 0, 1)
    # on a bridge the distances to two consecutive centres add up to their separation
    to = np.linalg.norm(X[y == -1, None] - centres, axis=2)
    assert np.abs((to[:, 1:] + to[:, :-1]).min(axis=1) - 5).max() < 1e-12
    assert to.min() > 1


def test_joined_clusters_hang_together_only_by_their_bridges():
    def parts(X, eps):
        from scipy.sparse.csgraph import connected_components

        return connected_components(cKDTree(X).sparse_distance_matrix(cKDTree(X), eps))[0]

    joined, _ = datasets.joined_clusters(n_samples=1500)
    apart, y = datasets.joined_clusters(n_samples=1500, bridges=0)
    assert -1 not in y
    assert parts(joined, 0.6) == 1
    assert parts(apart, 0.6) == 3


def test_joined_clusters_rows_are_mixed():
    _, y = datasets.joined_clusters(n_samples=1000)
    assert set(y[:100]) == {-1, 0, 1, 2}


def test_gaussians_have_unit_covariance_and_spaced_means():
    X, y = datasets.gaussians(n_samples=30_001, n_classes=3, n_features=4, separation=3.0)
    sizes = np.bincount(y)
    assert sizes.max() - sizes.min() <= 1
    for c in range(3):
        part = X[y == c]
        assert part.mean(axis=0) == pytest.approx([3.0 * (c - 1), 0, 0, 0], abs=0.05)
        assert np.abs(np.cov(part.T) - np.eye(4)).max() < 0.06
    assert len(set(y[:30])) == 3


def test_bayes_error_of_two_unit_gaussians_two_apart():
    assert datasets.gaussians_bayes_error() == pytest.approx(0.15865525393145707, rel=1e-14)
    assert datasets.gaussians_bayes_error(separation=0.0) == 0.5
    assert datasets.gaussians_bayes_error(n_classes=4, separation=0) == pytest.approx(0.75)
    assert datasets.gaussians_bayes_error(separation=20) == pytest.approx(
        stats.norm.sf(10), rel=1e-12
    )


@pytest.mark.parametrize(("n_classes", "separation"), [(2, 2.0), (3, 1.0), (5, 2.5)])
def test_bayes_error_agrees_with_integration_and_with_samples(n_classes, separation):
    error = datasets.gaussians_bayes_error(n_classes=n_classes, separation=separation)
    means = separation * (np.arange(n_classes) - (n_classes - 1) / 2)
    x = np.linspace(means[0] - 12, means[-1] + 12, 200_001)
    best = stats.norm.pdf(x[:, None], means).max(axis=1) / n_classes
    assert error == pytest.approx(1 - integrate.trapezoid(best, x), abs=1e-8)

    n = 200_000
    X, y = datasets.gaussians(n_samples=n, n_classes=n_classes, separation=separation)
    wrong = np.abs(X[:, :1] - means).argmin(axis=1) != y
    assert abs(wrong.mean() - error) < 4 * np.sqrt(error * (1 - error) / n)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("make", "bad", "seen"),
    [
        (datasets.s_curve, {"n_samples": 0}, "0"),
        (datasets.s_curve, {"n_samples": 2.5}, "2.5"),
        (datasets.s_curve, {"n_samples": True}, "True"),
        (datasets.s_curve, {"noise": -0.1}, "-0.1"),
        (datasets.s_curve, {"noise": float("nan")}, "nan"),
        (datasets.s_curve, {"random_state": -7}, "-7"),
        (datasets.swiss_roll, {"hole": 1}, "1"),
        (datasets.punctured_sphere, {"cap": 3.2}, "3.2"),
        (datasets.punctured_sphere, {"cap": 0.0}, "0.0"),
        (datasets.twin_peaks, {"height": float("inf")}, "inf"),
        (datasets.helix, {"turns": 0}, "0"),
        (datasets.helix, {"radius": -1.5}, "-1.5"),
        (datasets.joined_clusters, {"n_clusters": 1}, "1"),
        (datasets.joined_clusters, {"bridges": 1.5}, "1.5"),
        (datasets.joined_clusters, {"separation": 1.9}, "1.9"),
        (datasets.gaussians, {"n_classes": 1}, "1"),
        (datasets.gaussians, {"n_features": 0}, "0"),
        (datasets.gaussians_bayes_error, {"separation": -2}, "-2"),
    ],
)
def test_bad_parameters_are_named_with_their_value(make, bad, seen):
    with pytest.raises(ParameterError) as caught:
        make(**bad)
    message = str(caught.value)
    assert repr(next(iter(bad))) in message
    assert make.__name__ in message
    assert seen in message


def test_every_bad_parameter_is_reported_at_once():
    with pytest.raises(ParameterError, match=r"(?s)'n_samples'.*-3.*'noise'.*-1"):
        datasets.s_curve(n_samples=-3, noise=-1)

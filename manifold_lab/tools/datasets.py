"""Small seeded data sets whose truth is known.

Each surface returns ``(X, T)``: samples X and their true intrinsic coordinates T. Where the
surface unrolls without stretching (S-curve, Swiss roll, helix), T is isometric: distances in T
are geodesic distances on the surface, so that an embedding can be judged by how well it matches
T up to rotation. Labelled sets return ``(X, y)``.

``noise`` is the standard deviation of Gaussian noise added to every coordinate of X; it is drawn
last, so the same seed gives the same T with and without it. ``random_state=None`` is a fixed seed.
"""

import math

import numpy as np

from manifold_lab.checks import BOOL, SEED, Float, Int, as_rng, parameter_problem
from manifold_lab.errors import ParameterError

__all__ = [
    "gaussians",
    "gaussians_bayes_error",
    "helix",
    "joined_clusters",
    "punctured_sphere",
    "s_curve",
    "swiss_roll",
    "twin_peaks",
]

_RULES = {
    "n_samples": (Int(1),),
    "noise": (Float(0, math.inf, closed=True),),
    "random_state": SEED,
    "hole": (BOOL,),
    "cap": (Float(0, math.pi),),
    "height": (Float(),),
    "turns": (Float(0),),
    "radius": (Float(0),),
    "pitch": (Float(),),
    "n_clusters": (Int(2),),
    "n_classes": (Int(2),),
    "n_features": (Int(1),),
    "bridges": (Float(0, 1, closed=True),),
    "separation": (Float(0, math.inf, closed=True),),
}


def s_curve(*, n_samples=1000, noise=0.0, random_state=None):
    """Draw from the S-curve: two three-quarter circles of radius 1 joined into an S, width 2.

    Uniform on the surface, which unrolls to a rectangle of 3π by 2.

    Parameters
    ----------
    n_samples : int
    noise : float
        Standard deviation of the noise added to X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    T : ndarray of shape (n_samples, 2)
        Isometric: arc length along the S, and position across it.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, T = s_curve(n_samples=200)
    >>> X.shape, T.shape
    ((200, 3), (200, 2))
    """
    rng = _enter("s_curve", n_samples=n_samples, noise=noise, random_state=random_state)
    s, v = rng.uniform((0, 0), (3 * np.pi, 2), (n_samples, 2)).T
    t = s - 1.5 * np.pi
    X = np.column_stack([np.sin(t), v, np.sign(t) * (np.cos(t) - 1)])
    return _noisy(X, noise, rng), np.column_stack([s, v])


def swiss_roll(*, n_samples=1000, hole=False, noise=0.0, random_state=None):
    """Draw from the Swiss roll: the spiral (t cos t, t sin t), 1.5π ≤ t ≤ 4.5π, of width 21.

    Uniform on the surface, which unrolls to a rectangle of about 90 by 21.

    Parameters
    ----------
    n_samples : int
    hole : bool
        Leave the middle ninth of the rectangle empty.
    noise : float
        Standard deviation of the noise added to X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    T : ndarray of shape (n_samples, 2)
        Isometric: arc length along the spiral, and position across it.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, T = swiss_roll(n_samples=200, hole=True)
    >>> bool(abs(T[:, 1] - 10.5).min() < 3.5)  # the hole does not reach across the whole roll
    True
    """
    rng = _enter(
        "swiss_roll", n_samples=n_samples, hole=hole, noise=noise, random_state=random_state
    )
    unit = rng.uniform(size=(n_samples, 2))
    if hole:
        cell = rng.integers(8, size=n_samples)
        cell += cell >= 4  # of 3 x 3 equal cells, number 4 is the middle one
        unit = (unit + np.column_stack(np.divmod(cell, 3))) / 3
    inner, outer = _spiral_length(np.pi * np.array([1.5, 4.5]))
    s, v = unit[:, 0] * (outer - inner), unit[:, 1] * 21
    t = _spiral_angle(inner + s)
    X = np.column_stack([t * np.cos(t), v, t * np.sin(t)])
    return _noisy(X, noise, rng), np.column_stack([s, v])


def _spiral_length(t):
    """Arc length of the spiral (t cos t, t sin t) from the origin: ∫ √(1 + t²) dt."""
    return (t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2


def _spiral_angle(s):
    """Invert :func:`_spiral_length` for s > 1 by Newton's method."""
    t = np.sqrt(2 * s)
    for _ in range(4):  # error squared each time; it starts at most 0.3, is rounding after three
        t -= (_spiral_length(t) - s) / np.sqrt(1 + t * t)
    return t


def punctured_sphere(*, n_samples=1000, cap=math.pi / 4, noise=0.0, random_state=None):
    """Draw from the unit sphere without the cap around its top; uniform on what is left.

    A sphere cannot be flattened without stretching, so T is not isometric: it is the chart in
    which directions and distances *from the bottom* are true.

    Parameters
    ----------
    n_samples : int
    cap : float
        Angle between the top and the rim of the opening, 0 < cap < π.
    noise : float
        Standard deviation of the noise added to X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    T : ndarray of shape (n_samples, 2)
        θ (cos φ, sin φ): θ is the geodesic distance from the bottom, φ the longitude.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, T = punctured_sphere(n_samples=200)
    >>> bool(X[:, 2].max() < 0.7072)  # cos(π/4)
    True
    """
    rng = _enter(
        "punctured_sphere", n_samples=n_samples, cap=cap, noise=noise, random_state=random_state
    )
    z, phi = rng.uniform((-1, 0), (math.cos(cap), 2 * np.pi), (n_samples, 2)).T
    around = np.column_stack([np.cos(phi), np.sin(phi)])
    level = np.sqrt((1 - z) * (1 + z))  # radius of the circle at height z
    T = np.arctan2(level, -z)[:, None] * around
    return _noisy(np.column_stack([level[:, None] * around, z]), noise, rng), T


def twin_peaks(*, n_samples=1000, height=1.0, noise=0.0, random_state=None):
    """Draw from the surface z = height · sin(πu) tanh(3v): two peaks and two pits.

    Uniform in the parameters u and v, not on the surface, which cannot be flattened without
    stretching: T is not isometric but holds the parameters themselves.

    Parameters
    ----------
    n_samples : int
    height : float
    noise : float
        Standard deviation of the noise added to X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        (u, v, z).
    T : ndarray of shape (n_samples, 2)
        (u, v), each from -1 to 1.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, T = twin_peaks(n_samples=200)
    >>> bool((X[:, :2] == T).all())
    True
    """
    rng = _enter(
        "twin_peaks", n_samples=n_samples, height=height, noise=noise, random_state=random_state
    )
    T = rng.uniform(-1, 1, (n_samples, 2))
    z = height * np.sin(np.pi * T[:, 0]) * np.tanh(3 * T[:, 1])
    return _noisy(np.column_stack([T, z]), noise, rng), T


def helix(*, n_samples=1000, turns=4.0, radius=1.0, pitch=0.5, noise=0.0, random_state=None):
    """Draw from a circular helix, uniform along it.

    Parameters
    ----------
    n_samples : int
    turns : float
    radius : float
    pitch : float
        Rise per turn.
    noise : float
        Standard deviation of the noise added to X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    T : ndarray of shape (n_samples, 1)
        Isometric: arc length from the lower end.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, T = helix(n_samples=200)
    >>> T.shape
    (200, 1)
    """
    rng = _enter(
        "helix",
        n_samples=n_samples,
        turns=turns,
        radius=radius,
        pitch=pitch,
        noise=noise,
        random_state=random_state,
    )
    t = rng.uniform(0, 2 * np.pi * turns, n_samples)
    rise = pitch / (2 * np.pi)
    X = np.column_stack([radius * np.cos(t), radius * np.sin(t), rise * t])
    return _noisy(X, noise, rng), (t * math.hypot(radius, rise))[:, None]


def joined_clusters(
    *, n_samples=1000, n_clusters=3, separation=6.0, bridges=0.1, noise=0.0, random_state=None
):
    """Draw from unit balls in space joined into a chain by straight bridges.

    The centres are the corners of a regular polygon of side ``separation``. Consecutive balls
    are joined by a bridge of equally spaced samples, rim to rim; without bridges
    (``bridges=0``) a neighbour graph falls apart into the clusters.

    Parameters
    ----------
    n_samples : int
    n_clusters : int
        At least 2; sizes differ by at most one.
    separation : float
        Distance between consecutive centres, at least 2 so that the balls do not overlap.
    bridges : float
        Fraction of the samples that lies on bridges.
    noise : float
        Standard deviation of the noise added to X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    y : ndarray of int of shape (n_samples,)
        Number of the cluster; -1 on a bridge.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, y = joined_clusters(n_samples=200, n_clusters=2, bridges=0.05)
    >>> [int((y == c).sum()) for c in (-1, 0, 1)]
    [10, 95, 95]
    """
    rng = _enter(
        "joined_clusters",
        n_samples=n_samples,
        n_clusters=n_clusters,
        separation=separation,
        bridges=bridges,
        noise=noise,
        random_state=random_state,
    )
    if separation < 2:
        raise ParameterError(
            f"The 'separation' parameter of joined_clusters is {separation!r}, but unit balls "
            "closer than 2 overlap and need no bridge. Pass 2 or more."
        )
    n_bridge = round(bridges * n_samples)
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters
    ring = separation / (2 * math.sin(math.pi / n_clusters))
    centres = ring * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n_clusters)])

    y = np.arange(n_samples - n_bridge) % n_clusters
    direction = rng.normal(size=(len(y), 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    balls = centres[y] + direction * np.cbrt(rng.uniform(size=(len(y), 1)))

    parts = [balls]
    for c, on in enumerate(np.array_split(np.arange(n_bridge), n_clusters - 1)):
        step = (centres[c + 1] - centres[c]) / separation
        along = np.linspace(1, separation - 1, len(on) + 2)[1:-1]  # from rim to rim, ends excluded
        parts.append(centres[c] + along[:, None] * step)
    order = rng.permutation(n_samples)
    y = np.concatenate([y, np.full(n_bridge, -1)])[order]
    return _noisy(np.concatenate(parts)[order], noise, rng), y


def gaussians(*, n_samples=1000, n_classes=2, n_features=2, separation=2.0, random_state=None):
    """Draw from equally likely Gaussian classes of unit covariance, means equally spaced on a line.

    The means lie on the first axis, ``separation`` apart, so the smallest error any classifier
    can reach is known: :func:`gaussians_bayes_error`.

    Parameters
    ----------
    n_samples : int
    n_classes : int
        At least 2; sizes differ by at most one.
    n_features : int
    separation : float
        Distance between neighbouring means, in standard deviations.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of int of shape (n_samples,)
        Number of the class, in the order of the means along the line.

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> X, y = gaussians(n_samples=200, n_features=3)
    >>> X.shape, int(y.sum())
    ((200, 3), 100)
    """
    rng = _enter(
        "gaussians",
        n_samples=n_samples,
        n_classes=n_classes,
        n_features=n_features,
        separation=separation,
        random_state=random_state,
    )
    y = rng.permutation(np.arange(n_samples) % n_classes)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 0] += separation * (y - (n_classes - 1) / 2)
    return X, y


def gaussians_bayes_error(*, n_classes=2, separation=2.0):
    """Return the exact Bayes error of :func:`gaussians`: 2 (C - 1)/C · Φ(-separation/2).

    The best rule takes the nearest mean; an inner class loses both tails beyond half the
    separation, the two outer classes one each.

    Parameters
    ----------
    n_classes : int
    separation : float

    Raises
    ------
    ParameterError
        A parameter is outside its bounds.

    Examples
    --------
    >>> round(gaussians_bayes_error(separation=2.0), 4)
    0.1587
    """
    _enter("gaussians_bayes_error", n_classes=n_classes, separation=separation)
    tail = math.erfc(separation / math.sqrt(8)) / 2
    return 2 * (n_classes - 1) / n_classes * tail


def _enter(owner, random_state=None, **params):
    """Check every parameter, all problems in one message, and return the random generator."""
    params["random_state"] = random_state
    problems = (
        parameter_problem(name, value, _RULES[name], owner) for name, value in params.items()
    )
    found = [problem for problem in problems if problem]
    if found:
        raise ParameterError(" ".join(found))
    return as_rng(random_state)


def _noisy(X, noise, rng):
    return X + noise * rng.normal(size=X.shape) if noise else X

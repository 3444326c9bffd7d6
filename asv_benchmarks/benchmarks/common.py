"""Sizes and seeded data."""

import os

import numpy as np

SIZES = ("small", "medium", "large")


def by_size(small, medium, large=None):
    """Return the value for the size that ``MANIFOLD_LAB_BENCH`` names, by default medium.

    Without ``large`` a large run takes the medium value.

    Raises
    ------
    ValueError
        The variable is none of small, medium and large.
    """
    size = os.environ.get("MANIFOLD_LAB_BENCH", "").strip().lower() or "medium"
    if size not in SIZES:
        raise ValueError(
            f"MANIFOLD_LAB_BENCH={size} is not a size: set it to one of {', '.join(SIZES)}."
        )
    return {"small": small, "medium": medium, "large": medium if large is None else large}[size]


def noise(n, d, dtype="float64", seed=0):
    """Return (n, d) Gaussian noise, every direction alike; no memory beside the result."""
    X = np.empty((n, d), dtype)
    np.random.default_rng(seed).standard_normal(out=X, dtype=X.dtype)
    return X


def decaying(n, d, dtype="float64", seed=0):
    """Return (n, d) samples with standard deviations 1, 1/2, 1/3, ... along random directions."""
    rotation = np.linalg.qr(noise(d, d, seed=seed + 1))[0]
    X = noise(n, d, seed=seed) / np.arange(1.0, d + 1) @ rotation.T
    return X.astype(dtype, copy=False)

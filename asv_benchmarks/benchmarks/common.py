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


def roll_graph(n, k=10, seed=0):
    """Return the k-neighbour union graph of a Swiss roll as a CSR matrix of distances."""
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    X = np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])
    distances, indices = cKDTree(X).query(X, k + 1)
    edges = distances[:, 1:].ravel(), indices[:, 1:].ravel(), np.arange(0, n * k + 1, k)
    A = csr_array(edges, shape=(n, n))
    A = A.maximum(A.T).tocsr()
    A.sort_indices()
    return A


def complete_graph(n, d=10, seed=0):
    """Return the lengths of all edges between n random points, as a CSR matrix."""
    from scipy.sparse import csr_array
    from scipy.spatial.distance import pdist, squareform

    return csr_array(squareform(pdist(noise(n, d, seed=seed)) ** 2))

"""
In many dimensions everything is equally far
============================================

Nearest neighbours need samples nearby. In a cube of many dimensions there are none: distances
concentrate about their mean, and the nearest sample is hardly nearer than the farthest.
"""

import matplotlib.pyplot as plt
import numpy as np

import manifold_lab as ml

rng = np.random.default_rng(0)
dimensions = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]

# %%
# **Nearest and farthest** of 500 uniform samples, seen from each of them: their ratio tends to one.

ratio, needed = [], []
for d in dimensions:
    X = rng.random((500, d))
    D = ml.metrics.pairwise(X)
    np.fill_diagonal(D, np.nan)
    ratio.append(np.mean(np.nanmin(D, axis=1) / np.nanmax(D, axis=1)))
    needed.append(0.1 ** (1 / d))

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2))
left.semilogx(dimensions, ratio, "o-")
left.set(xlabel="dimensions", ylabel="nearest / farthest", ylim=(0, 1))
right.semilogx(dimensions, needed, "o-")
right.set(
    xlabel="dimensions", ylabel="edge", ylim=(0, 1), title="edge of a cube with 10 % of the samples"
)
figure.tight_layout()
print(f"nearest / farthest: {ratio[0]:.3f} in one dimension, {ratio[-1]:.2f} in a thousand")

# %%
# **What counts is the dimension of the data**, not the number of columns: a curve in a thousand
# columns has near neighbours. That is why dimensions can be reduced.

t = np.sort(rng.random(500))
waves = np.sin(2 * np.pi * np.outer(t, np.arange(1, 4)) + 1)
curve = waves @ rng.normal(size=(3, 1000))
distances, _ = ml.NearestNeighbors(k=1).fit(curve).kneighbors()
farthest = ml.metrics.pairwise(curve).max(axis=1)
print(f"on a curve in 1,000 columns: {np.mean(distances[:, 0] / farthest):.4f}")

figure, axis = plt.subplots(figsize=(6, 3))
for d in (2, 20, 200):
    X = rng.random((300, d))
    D = ml.metrics.pairwise(X)[np.triu_indices(300, 1)]
    axis.hist(D / D.mean(), bins=60, density=True, histtype="step", label=f"{d} dimensions")
axis.set(xlabel="distance / mean distance", ylabel="density")
axis.legend()
figure.tight_layout()
plt.show()

"""
PCA: how many axes, and what they show
======================================

Two hundred noisy curves on forty points are 200 samples with 40 features, yet each curve was
drawn from three numbers. PCA finds how many, and which shapes they move.
"""

import matplotlib.pyplot as plt
import numpy as np

import manifold_lab as ml

rng = np.random.default_rng(0)
t = np.linspace(0, 1, 40)
shapes = np.array([np.sin(2 * np.pi * t), np.cos(4 * np.pi * t), t - 0.5])
amounts = rng.normal(size=(200, 3)) * [3, 2, 1]
X = 20 + amounts @ shapes + rng.normal(scale=0.15, size=(200, 40))

# %%
# **How many?** A fraction keeps the smallest number of axes that holds at least that share of the
# variance; ``"mle"`` weighs the evidence for each number.

share = ml.get("pca")(n_components=0.95).fit(X)
evidence = ml.get("pca")(n_components="mle").fit(X)
print("95 % of the variance:", share.n_components_, "axes")
print("Minka's estimate:    ", evidence.n_components_, "axes")

full = ml.get("pca")().fit(X)
figure, axis = plt.subplots(figsize=(6, 3))
axis.semilogy(np.arange(1, 11), full.explained_variance_[:10], "o-")
axis.axvline(evidence.n_components_ + 0.5, color="grey", linestyle=":")
axis.set(xlabel="axis", ylabel="variance", title="three axes stand out of the noise")
figure.tight_layout()

# %%
# **What do they show?** Each component is a curve; the scores say how much of it a sample has.

pca = ml.get("pca")(n_components=3).fit(X)
Z = pca.transform(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(t, pca.components_.T)
left.set(xlabel="t", title="components")
points = right.scatter(Z[:, 0], Z[:, 1], c=amounts[:, 0], s=12)
figure.colorbar(points, label="true amount of the first shape")
right.set(xlabel="first score", ylabel="second score", title="samples")
figure.tight_layout()

# %%
# **And back.** Three numbers per curve give the curve without most of its noise. The squared error
# left over is the variance of the axes left out, times n - 1.

smooth = pca.inverse_transform(Z)
left_out = full.explained_variance_[3:].sum() * (len(X) - 1)
print(f"squared error {((X - smooth) ** 2).sum():.4f}, variance left out {left_out:.4f}")

figure, axis = plt.subplots(figsize=(6, 3))
axis.plot(t, X[0], ".", label="sample")
axis.plot(t, smooth[0], label="from three scores")
axis.legend()
figure.tight_layout()
plt.show()

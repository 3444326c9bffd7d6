"""
The nearest neighbour errs at most twice as often as anybody must
=================================================================

Two classes, each a normal density of unit variance, two apart. Nobody can do better than to cut in
the middle: the Bayes error is 0.159. A single nearest neighbour, which knows nothing of densities,
tends to 0.225, less than twice as much (10.2).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import manifold_lab as ml

rng = np.random.default_rng(0)
bayes = norm.cdf(-1)


def sample(n, d):
    y = rng.integers(0, 2, size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 2 * y - 1
    return X, y


# %%
# **The limit.** Near x the neighbour's class is drawn from the same posterior as that of the sample,
# so they differ with probability 2 eta (1 - eta). Its mean over x is what the error tends to.

x = np.linspace(-8, 8, 4001)
one, other = norm.pdf(x, -1), norm.pdf(x, 1)
density, eta = (one + other) / 2, one / (one + other)
limit = np.trapezoid(density * 2 * eta * (1 - eta), x)
print(f"Bayes {bayes:.4f}, nearest neighbour {limit:.4f}, twice Bayes {2 * bayes:.4f}")

# %%
# **The error**, by leaving each row out, as the sample grows.

sizes = [30, 100, 300, 1000, 3000, 10000]
errors = {}
for d in (1, 5, 20):
    errors[d] = [
        np.mean(
            [1 - ml.neighbors.loo_score(*sample(n, d), [1])[0] for _ in range(max(1, 3000 // n))]
        )
        for n in sizes
    ]

figure, axis = plt.subplots(figsize=(6, 3.5))
for d, error in errors.items():
    axis.semilogx(sizes, error, "o-", label=f"{d} dimension{'s' if d > 1 else ''}")
for level, text in ((bayes, "Bayes"), (limit, "limit"), (2 * bayes, "twice Bayes")):
    axis.axhline(level, color="grey", linestyle=":")
    axis.text(1.02, level, text, va="center", transform=axis.get_yaxis_transform())
axis.set(xlabel="samples", ylabel="error of one neighbour", title="dense sampling is the condition")
axis.legend()
figure.tight_layout()

# %%
# **More neighbours** come nearer to Bayes: all of these from one search.

ks = np.unique(np.geomspace(1, 500, 25).astype(int))
scores = ml.neighbors.loo_score(*sample(5000, 2), ks)
figure, axis = plt.subplots(figsize=(6, 3))
axis.semilogx(ks, 1 - scores, "o-")
axis.axhline(bayes, color="grey", linestyle=":")
axis.set(xlabel="k", ylabel="error", title="5,000 samples in two dimensions")
figure.tight_layout()
plt.show()

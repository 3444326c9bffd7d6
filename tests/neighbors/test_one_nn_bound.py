"""The error of the nearest neighbour (10.2), on a distribution whose Bayes error is known.

Two unit normal densities, 2 apart: the Bayes error is Phi(-1), and the error of the nearest
neighbour tends to E[2 eta (1 - eta)], eta the posterior of one class.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

import manifold_lab as ml
from manifold_lab.neighbors import loo_score

BAYES = norm.cdf(-1)


def limit():
    def integrand(x):
        a, b = norm.pdf(x, -1), norm.pdf(x, 1)
        return a * b / (a + b)  # 2 eta (1 - eta) p(x), with p = (a + b) / 2

    return quad(integrand, -12, 12)[0]


def sample(rng, n, d):
    y = rng.integers(0, 2, size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 2 * y - 1
    return X, y


def test_the_numbers_of_the_theory():
    assert math.isclose(BAYES, 0.15866, abs_tol=1e-5)
    assert math.isclose(limit(), 0.22480, abs_tol=1e-5)
    assert BAYES <= limit() <= 2 * BAYES * (1 - BAYES)  # the bound of two classes


def test_the_error_on_new_samples(rng):
    X, y = sample(rng, 20_000, 1)
    Q, truth = sample(rng, 20_000, 1)
    error = 1 - ml.KNNClassifier(k=1).fit(X, y).score(Q, truth)
    # training and test rows are both random: twice the variance of a share, at most
    spread = 2 * math.sqrt(limit() * (1 - limit()) / 20_000)
    assert abs(error - limit()) < 4 * spread
    assert BAYES - 4 * spread < error <= 2 * BAYES


def test_the_error_with_each_row_left_out(rng):
    X, y = sample(rng, 20_000, 2)
    errors = 1 - loo_score(X, y, [1, 3, 25, 201])
    spread = 2 * math.sqrt(limit() * (1 - limit()) / 20_000)
    assert abs(errors[0] - limit()) < 4 * spread + 0.005  # in two dimensions rows are less dense
    assert (np.diff(errors) < 0).all()  # more neighbours come nearer to Bayes
    assert abs(errors[-1] - BAYES) < 4 * spread

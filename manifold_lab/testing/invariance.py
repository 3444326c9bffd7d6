"""What may be done to the rows without changing the shape of their embedding.

Embeddings are compared by the distances between their rows, so a sign, a rotation or the order
of equal columns does not matter. A class that is not invariant says so in ``invariances``.
"""

from unittest import SkipTest

import numpy as np

from manifold_lab.testing.subject import assert_close, distances

_TOL = 1e-6


def _claims(subject, what):
    if what not in subject.new().invariances:
        raise SkipTest(f"{subject.name} does not claim {what} among its invariances")


def row_order_does_not_matter(subject):
    _claims(subject, "permutation")
    X, y = subject.data()
    order = np.random.default_rng(1).permutation(len(X))
    mixed = X[order][:, order] if subject.new().pairwise else X[order]
    Z = subject.new().fit_transform(X, y)
    P = subject.new().fit_transform(mixed, None if y is None else y[order])
    assert_close(distances(P), distances(Z[order]), "the order of the rows matters", _TOL)


def translation_does_not_matter(subject):
    _claims(subject, "translation")
    X, y = subject.points()
    Z = subject.new().fit_transform(X, y)
    moved = subject.new().fit_transform(X + np.linspace(-20, 30, X.shape[1]), y)
    assert_close(distances(moved), distances(Z), "the place of the origin matters", _TOL)


def rotation_does_not_matter(subject):
    _claims(subject, "rotation")
    X, y = subject.points()
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(X.shape[1],) * 2))[0]
    Z = subject.new().fit_transform(X, y)
    turned = subject.new().fit_transform(X @ Q, y)
    assert_close(distances(turned), distances(Z), "the direction of the axes matters", _TOL)


CHECKS = (row_order_does_not_matter, translation_does_not_matter, rotation_does_not_matter)

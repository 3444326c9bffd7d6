"""Does the embedding show what is there?"""

from unittest import SkipTest

import numpy as np

from manifold_lab.testing.subject import assert_close


def plane_is_recovered(subject):
    """Points of a plane in space: a linear method finds it exactly, the others nearly."""
    if not subject.has("n_components"):
        raise SkipTest("no n_components")
    if subject.new().pairwise:
        raise SkipTest("X is a square matrix of distances or similarities")
    rng = np.random.default_rng(4)
    T = rng.uniform(size=(200, 2)) * (2.0, 1.0)
    frame = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    X = T @ frame.T + (5.0, -3.0, 1.0)
    y = (T[:, 0] + 0.3 * rng.normal(size=200) > 1.0).astype(int) + (T[:, 1] > 0.5)
    model = subject.new(n_components=2)
    Z = model.fit_transform(X, y if subject.cls.supervised else None)
    if hasattr(model, "embedding_"):
        _is_trustworthy(X, Z, 0.9, "a plane")
    else:
        A = np.c_[Z, np.ones(len(Z))]
        fit = A @ np.linalg.lstsq(A, T, rcond=None)[0]
        assert_close(fit, T, "a linear method must map a plane onto a plane", tol=1e-7)


def trustworthiness_is_as_promised(subject):
    floor = subject.new().min_trustworthiness
    if floor is None:
        raise SkipTest("min_trustworthiness is None: nothing is promised")
    from manifold_lab.tools.datasets import swiss_roll

    X, T = swiss_roll(n_samples=500)
    y = np.searchsorted(np.quantile(T[:, 0], [1 / 3, 2 / 3]), T[:, 0])
    Z = subject.new().fit_transform(X, y if subject.cls.supervised else None)
    _is_trustworthy(X, Z, floor, "a Swiss roll")


def _is_trustworthy(X, Z, floor, what):
    from manifold_lab.tools.quality import trustworthiness

    found = trustworthiness(X, Z, k=10)
    assert found >= floor, f"trustworthiness of {what} is {found:.3f}, wanted at least {floor}"


CHECKS = (plane_is_recovered, trustworthiness_is_as_promised)

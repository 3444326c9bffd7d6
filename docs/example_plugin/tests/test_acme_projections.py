import numpy as np
import pytest
from acme_projections import RandomProjection

import manifold_lab as ml
from manifold_lab.testing import checks


@pytest.mark.parametrize("check", checks(RandomProjection), ids=str)
def test_conformance(check):
    check()


def test_the_entry_point_is_found():
    assert ml.get("random_projection") is RandomProjection


def test_squared_distances_are_kept_on_average():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 50))
    ratios = [
        np.sum(np.diff(RandomProjection(random_state=s).fit_transform([x, z]), axis=0) ** 2)
        for s in range(2000)
    ] / np.sum((x - z) ** 2)
    assert ratios.mean() == pytest.approx(1.0, abs=4 / np.sqrt(2000))  # four standard errors


def test_as_many_components_as_features_lose_nothing():
    X = np.random.default_rng(1).normal(size=(20, 4))
    model = RandomProjection(n_components=4)
    np.testing.assert_allclose(model.inverse_transform(model.fit_transform(X)), X, atol=1e-10)


def test_more_components_than_features_are_refused():
    with pytest.raises(ValueError, match="at most n_components=3"):
        RandomProjection(n_components=4).fit(np.eye(3))

"""Settings and fixtures of the whole suite."""

import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # read once, when scipy is first imported

import numpy as np
import pytest


@pytest.fixture
def rng():
    """A generator with a fixed seed, fresh for every test."""
    return np.random.default_rng(0)

"""What a check gets to work with: fresh instances, sample data, and exact comparisons."""

import contextlib
import copy
from unittest import SkipTest

import numpy as np

from manifold_lab.base import Reducer


class Subject:
    """The class under test together with the parameters it is tested with."""

    def __init__(self, cls_or_instance):
        if isinstance(cls_or_instance, type):
            self.cls, self.params = cls_or_instance, {}
        else:
            self.cls = type(cls_or_instance)
            self.params = cls_or_instance.get_params(deep=False)
        if not issubclass(self.cls, Reducer):
            raise TypeError(
                f"{self.cls.__name__} is not a manifold_lab.Reducer; the kit checks reducers."
            )
        self.name = self.cls.__name__

    def new(self, **changes):
        """Return a fresh, unfitted instance; nested estimators are copied."""
        return self.cls(**copy.deepcopy({**self.params, **changes}))

    def has(self, parameter):
        return parameter in self.new().get_params(deep=False)

    def data(self, n_samples=60, n_features=5, seed=0):
        """Return X, a connected cloud of distinct spreads, and three overlapping classes y.

        y is None for a method that needs none; X holds distances for a pairwise one.
        """
        rng = np.random.default_rng(seed)
        spread = 3.0 * 0.65 ** np.arange(n_features)
        X = rng.normal(size=(n_samples, n_features)) * spread + rng.normal(size=n_features)
        score = X[:, 0] + rng.normal(size=n_samples)
        y = np.searchsorted(np.quantile(score, [1 / 3, 2 / 3]), score)
        if self.new().pairwise:
            X = distances(X)
        return X, (y if self.cls.supervised else None)

    def points(self, n_samples=60, n_features=5, seed=0):
        """Return X and y as :meth:`data`, skipping a method that takes no points."""
        if self.new().pairwise:
            raise SkipTest("X is a square matrix of distances or similarities")
        return self.data(n_samples, n_features, seed)

    def fitted(self, **changes):
        return self.new(**changes).fit(*self.data())

    def needs(self, method):
        """Return a fitted instance that has ``method``, or skip."""
        model = self.fitted()
        if not hasattr(model, method):
            raise SkipTest(f"{self.name} has no {method}")
        return model


def pandas():
    """Return pandas, or skip."""
    try:
        import pandas as pd
    except ImportError:
        raise SkipTest("pandas is not installed") from None
    return pd


def state(model):
    """Return a deep copy of everything the model holds."""
    return copy.deepcopy(vars(model))


def difference(a, b, at="it"):
    """Return where a and b first differ, bit by bit, or None if they do not."""
    if a is b:
        return None
    if type(a) is not type(b):
        return f"{at}: {type(a).__name__} against {type(b).__name__}"
    if isinstance(a, np.ndarray):
        return _array_difference(a, b, at)
    if isinstance(a, dict):
        if list(a) != list(b) and set(a) != set(b):
            return f"{at}: names {sorted(map(str, set(a) ^ set(b)))} on one side only"
        pairs = [(a[key], b[key], f"{at}[{key!r}]") for key in a]
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            return f"{at}: length {len(a)} against {len(b)}"
        pairs = [(x, y, f"{at}[{i}]") for i, (x, y) in enumerate(zip(a, b, strict=True))]
    elif isinstance(a, np.random.Generator):
        pairs = [(a.bit_generator.state, b.bit_generator.state, at)]
    elif isinstance(a, np.random.RandomState):
        pairs = [(a.get_state(), b.get_state(), at)]
    elif hasattr(a, "__dict__") and not callable(a):
        pairs = [(vars(a), vars(b), at)]
    else:
        return None if a == b or (a != a and b != b) else f"{at}: {a!r} against {b!r}"
    return next((found for x, y, here in pairs if (found := difference(x, y, here))), None)


def _array_difference(a, b, at):
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{at}: {a.dtype}{a.shape} against {b.dtype}{b.shape}"
    if np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return None
    if a.dtype.kind in "fiu":
        gap = np.nanmax(np.abs(a.astype(np.float64) - b))
        return f"{at}: values differ by up to {gap:.3g}"
    return f"{at}: values differ"


def assert_same(a, b, what):
    """Raise unless a and b are the same to the last bit."""
    found = difference(a, b)
    assert found is None, f"{what} ({found})"


def assert_close(Z, wanted, what, tol=1e-7):
    """Raise unless Z equals ``wanted`` within ``tol`` of the latter's size."""
    assert Z.shape == wanted.shape, f"{what} (shape {Z.shape}, wanted {wanted.shape})"
    scale = np.abs(wanted).max(initial=0.0) or 1.0
    gap = np.abs(np.subtract(Z, wanted, dtype=np.float64)).max(initial=0.0) / scale
    assert gap <= tol, f"{what} (relative difference {gap:.3g}, allowed {tol:.0e})"


def distances(Z):
    """Return all Euclidean distances between the rows of Z: what isometries leave alone."""
    Z = np.asarray(Z, dtype=np.float64)
    return np.sqrt(((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))


@contextlib.contextmanager
def refused(kind, action, *parts):
    """Require that the block raises ``kind``, and that the message has every one of ``parts``."""
    try:
        yield
    except kind as error:
        text = str(error)
    except Exception as error:
        raise AssertionError(
            f"{action} must raise {kind.__name__}, not {type(error).__name__}: {error}"
        ) from error
    else:
        raise AssertionError(f"{action} must raise {kind.__name__}, and was accepted")
    missing = [part for part in parts if part.lower() not in text.lower()]
    assert not missing, f"{action}: the message says nothing of {missing}: {text}"

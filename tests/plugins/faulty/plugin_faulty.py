"""Plugins that load well and then misbehave, each in its own way."""

import numpy as np

from manifold_lab.base import Reducer


class Raises(Reducer):
    """Raise from the inside."""

    def _fit(self, X, y):
        return X / {}["missing"]


class WrongRows(Reducer):
    """Lose a row."""

    def _fit(self, X, y):
        return X[1:]


class WrongColumns(Reducer):
    """Announce two columns, then deliver three."""

    def _fit(self, X, y):
        return X[:, :2]

    def _transform(self, X):
        return X[:, :3]


class WrongType(Reducer):
    """Return a list."""

    def _fit(self, X, y):
        return X.tolist()


class Nan(Reducer):
    """Return NaN in the row numbered 2."""

    def _fit(self, X, y):
        Z = X.copy()
        Z[2, 0] = np.nan
        return Z


class Nothing(Reducer):
    """Return nothing and learn nothing."""

    def _fit(self, X, y):
        return None


class BadInverse(Reducer):
    """Go back to the wrong space."""

    def _fit(self, X, y):
        return X[:, :1]

    def _inverse_transform(self, Z):
        return Z

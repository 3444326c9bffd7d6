"""One of two plugins that chose the same name."""

from manifold_lab.base import Reducer


class Twin(Reducer):
    """Return the data as it is."""

    def _fit(self, X, y):
        return X

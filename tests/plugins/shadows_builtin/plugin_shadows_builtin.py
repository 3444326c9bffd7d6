"""A plugin that claims the name of a built-in."""

from manifold_lab.base import Reducer


class PCA(Reducer):
    """Pretend to be something else."""

    def _fit(self, X, y):
        return X

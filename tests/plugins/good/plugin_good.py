"""A plugin as it should be: one method that maps new samples, one that cannot."""

from manifold_lab.base import Reducer, param
from manifold_lab.checks import Int


class Good(Reducer):
    """Keep the first columns. The rest of this text is not the summary."""

    n_components: int = param(2, Int(1))

    api_version = 1
    family = "linear"

    def _fit(self, X, y):
        return self._transform(X)

    def _transform(self, X):
        return X[:, : self.n_components]

    def _inverse_transform(self, Z):
        return Z[:, [0] * self.n_features_in_]


class GoodToo(Reducer):
    """Number the rows."""

    supervised = True

    def _fit(self, X, y):
        return y[:, None].astype(X.dtype)

"""What every metric object has: value semantics, and a check of the number of columns."""

import numpy as np

from manifold_lab.errors import ParameterError


class Metric:
    """A distance between rows; immutable, compared by value, so it can be a dict key.

    A metric is either *mapped* (:class:`manifold_lab.metrics.mapped.Mapped`: rows are mapped to
    points whose Euclidean distance says everything) or *direct*
    (:class:`manifold_lab.metrics.direct.Direct`: only the distance of two rows is known).
    """

    precomputed = False  #: are the rows themselves distances?
    n_features = None  #: number of columns it is made for; None fits any

    def _key(self):
        """Return what tells two metrics of one class apart; arrays are compared by their bytes."""
        return ()

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return _plain(self._key()) == _plain(other._key())

    def __hash__(self):
        return hash((type(self), _plain(self._key())))

    def __repr__(self):
        return f"{type(self).__name__}()"

    def __setstate__(self, state):
        self.__dict__.update(state)
        for value in state.values():  # pickle and copy forget that an array is read-only
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def check_width(self, d, owner):
        """Raise if rows of d columns do not suit this metric."""
        if self.n_features is not None and d != self.n_features:
            raise ParameterError(
                f"X has {d} features, but the {type(self).__name__} metric of {owner} was made "
                f"for {self.n_features}. Make the metric from samples of the same columns."
            )

    def check_rows(self, X, owner, name="X"):
        """Raise if a row has no distance to others under this metric."""


def _plain(key):
    return tuple((v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for v in key)


def frozen(array):
    """Return a read-only float64 copy of an array."""
    array = np.array(array, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array


def exponent(*arrays):
    """Return e such that 2^-e brings the largest |entry| of the arrays into [0.5, 1)."""
    sizes = [max(float(A.max()), -float(A.min())) for A in arrays if A is not None and A.size]
    return int(np.frexp(max(sizes, default=0.0))[1])


def scaled(X, power):
    """Return X times 2^power in float64: exact, except that an entry may leave the range."""
    X = np.asarray(X, dtype=np.float64)
    if power is None or (np.ndim(power) == 0 and power == 0):
        return X
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(X, power)

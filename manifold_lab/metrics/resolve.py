"""From what a user passes as ``metric`` to a metric object."""

from manifold_lab.errors import ParameterError
from manifold_lab.metrics.base import Metric
from manifold_lab.metrics.direct import Chebyshev, Function, Manhattan, Minkowski, Precomputed
from manifold_lab.metrics.mapped import Cosine, Euclidean, SquaredEuclidean

NAMES = {
    "euclidean": Euclidean,
    "sqeuclidean": SquaredEuclidean,
    "manhattan": Manhattan,
    "chebyshev": Chebyshev,
    "minkowski": Minkowski,
    "cosine": Cosine,
    "precomputed": Precomputed,
}


class _Rule:
    """What a parameter ``metric`` may be, in the form :func:`manifold_lab.base.param` takes."""

    def accepts(self, value):
        if isinstance(value, str):
            return value in NAMES
        return isinstance(value, Metric) or (callable(value) and not isinstance(value, type))

    def __str__(self):
        return f"a metric ({', '.join(map(repr, NAMES))}, an object of manifold_lab.metrics, or a function of two rows)"


METRIC = _Rule()


def as_metric(metric, *, p=None):
    """Return the metric object that a name, an object or a function stands for.

    Parameters
    ----------
    metric : str, metric or callable
        A name of this module's list, an object (returned as it is), or a function of two rows
        that returns their distance, symmetric and at least zero.
    p : float, optional
        The exponent, for "minkowski" only; 2 by default.

    Raises
    ------
    ParameterError
        It is none of these, or p was given for another metric.

    Examples
    --------
    >>> as_metric("minkowski", p=3)
    Minkowski(3)
    """
    if not METRIC.accepts(metric):
        raise ParameterError(f"metric={metric!r} is not known; it must be {METRIC}.")
    if p is not None and metric != "minkowski":
        raise ParameterError(
            f"p={p!r} is the exponent of metric='minkowski', but metric={metric!r}. Leave p out."
        )
    if isinstance(metric, str):
        return Minkowski(p) if p is not None else NAMES[metric]()
    return metric if isinstance(metric, Metric) else Function(metric)

"""Distances: objects that any neighbour-based method accepts, and :func:`pairwise`.

Where a method takes ``metric``, it takes a name ("euclidean", "sqeuclidean", "manhattan",
"chebyshev", "minkowski", "cosine", "precomputed"), one of the objects below, such as a learned
one, or a function of two rows.
"""

from manifold_lab.metrics.direct import Chebyshev, Manhattan, Minkowski
from manifold_lab.metrics.mahalanobis import Mahalanobis
from manifold_lab.metrics.mapped import Cosine, Euclidean, SquaredEuclidean, WeightedEuclidean
from manifold_lab.metrics.matrix import pairwise
from manifold_lab.metrics.resolve import as_metric

__all__ = [
    "Chebyshev",
    "Cosine",
    "Euclidean",
    "Mahalanobis",
    "Manhattan",
    "Minkowski",
    "SquaredEuclidean",
    "WeightedEuclidean",
    "as_metric",
    "pairwise",
]

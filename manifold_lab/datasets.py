"""Data sets whose truth is known; written in :mod:`manifold_lab.tools.datasets`."""

from manifold_lab.tools.datasets import (
    gaussians,
    gaussians_bayes_error,
    helix,
    joined_clusters,
    punctured_sphere,
    s_curve,
    swiss_roll,
    twin_peaks,
)

__all__ = [
    "gaussians",
    "gaussians_bayes_error",
    "helix",
    "joined_clusters",
    "punctured_sphere",
    "s_curve",
    "swiss_roll",
    "twin_peaks",
]

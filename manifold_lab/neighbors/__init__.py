"""Exact neighbour search, and what is learned from neighbours."""

from manifold_lab.neighbors.classifier import KNNClassifier
from manifold_lab.neighbors.loo import loo_score
from manifold_lab.neighbors.regressor import KNNRegressor
from manifold_lab.neighbors.search import NearestNeighbors

__all__ = ["KNNClassifier", "KNNRegressor", "NearestNeighbors", "loo_score"]

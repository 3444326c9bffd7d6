"""Neighbour graphs: building, components, bridges, diagnosis, shortest paths."""

from manifold_lab.graph.neighbor_graph import NeighborGraph, neighbor_graph

__all__ = ["NeighborGraph", "neighbor_graph"]

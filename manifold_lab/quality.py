"""Quality of an embedding; written in :mod:`manifold_lab.tools.quality`."""

from manifold_lab.tools.quality import continuity, trustworthiness

__all__ = ["continuity", "trustworthiness"]

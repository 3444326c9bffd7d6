"""Dimensionality reduction and metric learning: fast, exact, never silent.

``manifold_lab.get("pca")(n_components=2).fit_transform(X)``: a registry maps names to
:class:`Reducer` classes. Everything is imported on first use, so importing the package is cheap.
"""

import importlib

__version__ = "0.1.0"

_HOME = {  # public name -> the module that holds it
    "KNNClassifier": "manifold_lab.neighbors.classifier",
    "KNNRegressor": "manifold_lab.neighbors.regressor",
    "NearestNeighbors": "manifold_lab.neighbors.search",
    "Reducer": "manifold_lab.base",
    "param": "manifold_lab.base",
    "available": "manifold_lab.registry",
    "get": "manifold_lab.registry",
    "refresh": "manifold_lab.registry",
    "register": "manifold_lab.registry",
    "unregister": "manifold_lab.registry",
    "show_versions": "manifold_lab.tools.versions",
}
_MODULES = ("datasets", "errors", "graph", "metrics", "neighbors", "quality", "testing")

__all__ = [*sorted(_HOME), *_MODULES, "__version__"]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"manifold_lab.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'manifold_lab' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})

"""What this package knows of scikit-learn, pandas and polars without importing them.

Everything here *looks* in ``sys.modules``: a library the user never loaded is never imported.
The exceptions are :func:`sklearn_tags` and :class:`TakesWeights`, used only by scikit-learn itself.
"""

import copy
import importlib
import sys

_joined: dict[type, type] = {}


def sk_config(key, default):
    """Return scikit-learn's configuration value ``key`` if scikit-learn is loaded, else ``default``."""
    config = getattr(sys.modules.get("sklearn"), "get_config", None)
    return default if config is None else config().get(key, default)


def _join(own):
    """Return a class derived from ``own`` *and* from scikit-learn's class of the same name."""
    peer = getattr(sys.modules.get("sklearn.exceptions"), own.__name__, None)
    if peer is None or issubclass(own, peer):
        return own
    if own not in _joined:
        names = {"__module__": own.__module__, "__doc__": own.__doc__, "_own": own}
        _joined[own] = type(own.__name__, (own, peer), names)
    return _joined[own]


def _rebuild(own, args):
    return own(*args)


class Bridged:
    """Mixin for exceptions and warnings: caught by scikit-learn's name too, if it is loaded.

    ``except`` looks at the real method resolution order, so the instance itself must be of a
    joined class; pickling goes back to ours, so that it opens where scikit-learn is absent.
    """

    def __new__(cls, *args):
        return super().__new__(_join(cls), *args)

    def __reduce__(self):
        return _rebuild, (getattr(self, "_own", type(self)), self.args), self.__dict__ or None


def is_sparse(X):
    """True for a scipy sparse matrix or array; scipy.sparse is not imported to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(X)


def column_names(X):
    """Return the column names of a data frame as a list, or None for anything else."""
    columns = getattr(X, "columns", None)
    if columns is None or not (hasattr(X, "__array__") or hasattr(X, "__dataframe__")):
        return None
    return list(columns)


def wrap(Z, container, columns, index):
    """Return Z as a data frame of ``container`` ("pandas" or "polars"), or Z itself.

    Raises
    ------
    ImportError
        That library is not installed.
    """
    if container == "default" or container is None:
        return Z
    names = [str(name) for name in columns]
    if container == "pandas":
        return importlib.import_module("pandas").DataFrame(
            Z, columns=names, index=index, copy=False
        )
    if container == "polars":
        return importlib.import_module("polars").DataFrame(Z, schema=names, orient="row")
    raise ValueError(
        f"output container {container!r} is not known; use 'default', 'pandas' or 'polars'."
    )


def _is_frame(X, library):
    frame = getattr(sys.modules.get(library), "DataFrame", None)
    return frame is not None and isinstance(X, frame)


def row_index(X):
    """Return the row index of a pandas frame, or None."""
    return X.index if _is_frame(X, "pandas") else None


def column_types(X):
    """Return the types of a pandas frame's columns as a list, empty for anything else."""
    return list(X.dtypes) if _is_frame(X, "pandas") else []


def holds_dates(X):
    """True for a pandas or polars frame with a column of dates, times or durations."""
    if _is_frame(X, "polars"):
        return any(t.is_temporal() for t in X.dtypes)
    return any(t.kind in "mM" for t in column_types(X))


def sklearn_tags(traits):
    """Translate our neutral traits into scikit-learn's tag classes."""
    from sklearn.utils import (
        ClassifierTags,
        InputTags,
        RegressorTags,
        Tags,
        TargetTags,
        TransformerTags,
    )

    kind = traits["kind"]
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(
            required=traits["needs_labels"], multi_output=traits["multi_output"]
        ),
        transformer_tags=(
            TransformerTags(preserves_dtype=["float64", "float32"])
            if traits["transforms"]
            else None
        ),
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        requires_fit=True,
        input_tags=InputTags(
            sparse=traits["sparse"],
            pairwise=traits["pairwise"],
            positive_only=traits["positive_only"],
        ),
    )


class TakesWeights:
    """Mixin: ``sample_weight`` of fit and score is known to scikit-learn's metadata routing."""

    def get_metadata_routing(self):
        """Return what this estimator asks for, as scikit-learn's MetadataRequest."""
        from sklearn.utils.metadata_routing import MetadataRequest

        own = getattr(self, "_metadata_request", None)
        if own is not None:
            return copy.deepcopy(own)
        request = MetadataRequest(owner=type(self).__name__)
        request.fit.add_request(param="sample_weight", alias=None)
        request.score.add_request(param="sample_weight", alias=None)
        return request

    _get_metadata_request = get_metadata_routing

    def set_fit_request(self, *, sample_weight=None):
        """Say whether ``fit`` wants ``sample_weight`` when scikit-learn routes metadata to it.

        Parameters
        ----------
        sample_weight : bool, str or None
            True and False pass it or not, a string is its name there, None makes it an error.
        """
        return self._request("fit", sample_weight)

    def set_score_request(self, *, sample_weight=None):
        """Say whether ``score`` wants ``sample_weight``; see :meth:`set_fit_request`."""
        return self._request("score", sample_weight)

    def _request(self, method, alias):
        request = self.get_metadata_routing()
        getattr(request, method).add_request(param="sample_weight", alias=alias)
        self._metadata_request = request
        return self


def html_repr(estimator):
    """Return scikit-learn's diagram of ``estimator`` if scikit-learn is loaded, else its text."""
    utils = sys.modules.get("sklearn.utils")
    if utils is not None and hasattr(utils, "estimator_html_repr"):
        return utils.estimator_html_repr(estimator)
    import html

    return f"<pre>{html.escape(repr(estimator))}</pre>"

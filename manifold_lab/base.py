"""Estimator and Reducer: what every method gets without writing it.

A method declares its parameters as class attributes made by :func:`param` and writes ``_fit``
and ``_transform``; validation, the fitted check, feature names, output containers, cloning and
the scikit-learn protocol live here, once. scikit-learn itself is never imported.
"""

import copy
import dataclasses
import functools
import inspect
import typing

import numpy as np

from manifold_lab import _interop
from manifold_lab.checks import OneOf, as_labels, as_points, parameter_problem
from manifold_lab.errors import (
    ManifoldLabError,
    MissingExtraError,
    NotFittedError,
    ParameterError,
    warn,
)

API = 1  #: level of the plugin interface; a class states the one it was written for
MIN_API = 1  #: oldest level still accepted


def param(default, *allowed):
    """Declare a keyword parameter: its default and what it may be.

    ``allowed`` mixes rules of :mod:`manifold_lab.checks` (``Int(1)``, ``Float(0, 1)``) with
    plain values (``None``, ``"auto"``); any one of them suffices.

    Examples
    --------
    >>> from manifold_lab.checks import Int
    >>> class Halve(Reducer):
    ...     k: int = param(10, Int(1))
    >>> Halve(k=3)
    Halve(k=3)
    """
    rules = tuple(rule if hasattr(rule, "accepts") else OneOf((rule,)) for rule in allowed)
    return dataclasses.field(default=default, metadata={"allowed": rules})


class _IfDefined:
    """A public method that exists only where the class defines its private hook."""

    def __init__(self, hook, function):
        self.hook, self.function = hook, function
        functools.update_wrapper(self, function)

    def __get__(self, instance, owner):
        if instance is None:
            return self.function
        if not hasattr(owner, self.hook):
            raise AttributeError(f"{owner.__name__} has no {self.function.__name__!r}")
        return self.function.__get__(instance, owner)


def _if_defined(hook):
    return functools.partial(_IfDefined, hook)


@functools.cache
def _signature(cls):
    """Parameters of ``cls.__init__`` by name, without self and without variadic ones."""
    every = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {p.name: p for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _same(a, b):
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except (ValueError, TypeError):  # arrays compare elementwise
        return False


@typing.dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(param,))
class Estimator:
    """Parameters, validation and the fit template shared by reducers and learners.

    Every attribute that ends in an underscore is fitted state: ``fit`` builds it on a copy and
    adopts it only on success, so a failed or interrupted fit leaves the object as it was.
    """

    kind = None  #: scikit-learn's estimator type: "classifier", "regressor" or None
    supervised = False  #: does fit need y?
    accepts_sparse = False  #: does fit take CSR without densifying?
    pairwise = False  #: is X a square matrix of distances or similarities?
    min_samples = 1  #: fewest rows fit works with
    _finds_nonfinite = False  #: does _fit find NaN and infinity in its own first pass?

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        declared = any(isinstance(value, dataclasses.Field) for value in vars(cls).values())
        if "__init__" not in vars(cls) and (declared or inspect.get_annotations(cls)):
            dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)

    # -------------------------------------------------------------- parameters

    def get_params(self, deep=True):
        """Return the parameters by name; with ``deep``, those of nested estimators too."""
        params = {name: getattr(self, name) for name in _signature(type(self))}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    inner = value.get_params().items()
                    params.update((f"{name}__{key}", item) for key, item in inner)
        return params

    def set_params(self, **params):
        """Set parameters (``outer__inner`` reaches into nested estimators) and return self."""
        known = _signature(type(self))
        parts = {name: name.partition("__") for name in params}
        for head, _, _ in parts.values():
            if head not in known:
                raise ParameterError(
                    f"Invalid parameter {head!r} for estimator {type(self).__name__}. "
                    f"Valid parameters are: {sorted(known)}."
                )
        # an estimator given as a whole comes before the parameters that are meant for it
        for name, (head, nested, rest) in sorted(parts.items(), key=lambda item: item[1][1]):
            if not nested:
                setattr(self, head, params[name])
            elif hasattr(inner := getattr(self, head), "set_params"):
                inner.set_params(**{rest: params[name]})
            else:
                raise ParameterError(
                    f"Cannot set {name!r}: {head!r} of {type(self).__name__} is {inner!r}, "
                    "which has no parameters of its own."
                )
        return self

    def _check_parameters(self):
        """Raise one error that lists every parameter outside its bounds."""
        owner, problems = type(self).__name__, []
        fields = dataclasses.fields(self) if dataclasses.is_dataclass(self) else ()
        for field in fields:
            allowed = field.metadata.get("allowed")
            if allowed and hasattr(self, field.name):
                value = getattr(self, field.name)
                problems.append(parameter_problem(field.name, value, allowed, owner))
        problems = [problem for problem in problems if problem]
        if problems:
            raise ParameterError(" ".join(problems))

    def __repr__(self):
        shown = (
            f"{name}={getattr(self, name)!r}"
            for name, p in _signature(type(self)).items()
            if not _same(getattr(self, name), p.default)
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    # -------------------------------------------------------------- the fit template

    def _blank(self):
        """Return a copy of self without fitted state."""
        work, params = object.__new__(type(self)), _signature(type(self))
        work.__dict__.update(
            (name, value)
            for name, value in self.__dict__.items()
            if name in params or not name.endswith("_")  # lambda_ may be a parameter
        )
        return work

    def _adopt(self, work):
        """Take over the state of a copy whose fit succeeded, in one assignment."""
        self.__dict__ = work.__dict__

    def _enter(self, X, *, fitting):
        """Let X through the door: names, shape, type; remember or compare its columns."""
        owner = type(self).__name__
        names = _feature_names(X)
        if not fitting:
            self._compare_names(names)
        A = as_points(
            X,
            owner,
            min_samples=self.min_samples if fitting else 1,
            accept_sparse=self.accepts_sparse,
            finite=not (fitting and self._finds_nonfinite),
        )
        if fitting:
            self.n_features_in_ = A.shape[1]
            if names is not None:
                self.feature_names_in_ = names
        elif A.shape[1] != self.n_features_in_:
            raise ParameterError(
                f"X has {A.shape[1]} features, but {owner} is expecting {self.n_features_in_} "
                "features as input."
            )
        return A

    def _enter_labels(self, y, n_samples):
        """Return y as class numbers, the classes kept in ``classes_``; None if not needed."""
        if not self.supervised:
            return None
        self.classes_, codes = as_labels(y, n_samples, type(self).__name__)
        return codes

    def _compare_names(self, names):
        fitted = getattr(self, "feature_names_in_", None)
        owner = type(self).__name__
        if names is None and fitted is None:
            return
        if names is None:
            warn(
                UserWarning(
                    f"X does not have valid feature names, but {owner} was fitted with feature names"
                )
            )
        elif fitted is None:
            warn(UserWarning(f"X has feature names, but {owner} was fitted without feature names"))
        elif list(names) != list(fitted):
            raise ParameterError(_names_message(list(names), list(fitted)))

    def _need_fit(self):
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            )

    # -------------------------------------------------------------- scikit-learn's protocol

    def __sklearn_is_fitted__(self):
        return "n_features_in_" in self.__dict__

    def _traits(self):
        return {
            "kind": self.kind,
            "needs_labels": self.supervised,
            "multi_output": False,
            "sparse": self.accepts_sparse,
            "pairwise": self.pairwise,
            "positive_only": False,
            "transforms": hasattr(self, "transform"),
        }

    def __sklearn_tags__(self):
        return _interop.sklearn_tags(self._traits())

    @property
    def _repr_html_(self):
        return functools.partial(_interop.html_repr, self)

    def _repr_mimebundle_(self, **kwargs):
        return {"text/plain": repr(self), "text/html": _interop.html_repr(self)}


class Reducer(Estimator):
    """Base class of every dimensionality-reduction method, built in or plugged in.

    A subclass declares parameters with :func:`param`, writes ``_fit(X, y)`` and
    ``_transform(X)``, and optionally ``_inverse_transform(Z)`` and ``_partial_fit(X, y)``, which
    bring the public methods of those names into being. ``_fit`` returns the embedding Z, kept as
    ``embedding_``, or None for a linear map, which sets ``components_`` instead.

    Below these hooks X is float32 or float64, C-contiguous and finite, and y (where
    ``supervised`` is true) holds class numbers, with the labels in ``classes_``; ``_partial_fit``
    gets y as it was given. X may be the caller's own array: copy what you keep of it, and
    replace fitted arrays instead of changing them in place.

    The flags below are claims; :mod:`manifold_lab.testing` checks that they are true.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns seen by fit.
    feature_names_in_ : ndarray of object
        Column names seen by fit; only where every one of them is a string.
    n_components_ : int
        Number of columns of the embedding.

    Examples
    --------
    >>> import numpy as np
    >>> class First(Reducer):
    ...     '''Keep the first columns.'''
    ...     n_components: int = param(2)
    ...     def _fit(self, X, y):
    ...         return self._transform(X)
    ...     def _transform(self, X):
    ...         return X[:, : self.n_components]
    >>> First(n_components=1).fit_transform([[1.0, 2.0], [3.0, 4.0]])
    array([[1.],
           [3.]])
    """

    api_version = API
    family = "other"  #: heading under which ``available()`` lists the method
    min_samples = 2
    #: what may be done to X without changing the distances between the embedded rows
    invariances = ("permutation", "translation", "rotation")
    #: parameters that change no result, each with the reason; n_jobs and progress never do
    no_effect = {}
    #: least trustworthiness (k = 10) of the embedding of a Swiss roll of 500 points, if promised
    min_trustworthiness = None

    def _fit(self, X, y):
        raise NotImplementedError(f"{type(self).__name__} must define _fit(self, X, y)")

    def fit(self, X, y=None):
        """Learn the reduction from X and return self.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Labels, for methods that need them; ignored by the others.

        Raises
        ------
        ParameterError
            A parameter or an input is not acceptable; the object is left as it was.
        """
        self._run_fit(X, y)
        return self

    def fit_transform(self, X, y=None):
        """Learn the reduction from X and return the embedding of its rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional

        Returns
        -------
        Z : ndarray or data frame of shape (n_samples, n_components_)
        """
        return self._wrapped(self._run_fit(X, y, embed=True), X)

    @_if_defined("_transform")
    def transform(self, X):
        """Map new samples into the embedding; each row is mapped by itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)

        Returns
        -------
        Z : ndarray or data frame of shape (n_samples, n_components_)
        """
        self._need_fit()
        A = self._enter(X, fitting=False)
        Z = self._verified(self._call("_transform", A), A, self.n_components_)
        return self._wrapped(Z, X)

    @_if_defined("_inverse_transform")
    def inverse_transform(self, Z):
        """Map embedded samples back to the space of X.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components_)

        Returns
        -------
        X : ndarray of shape (n_samples, n_features_in_)
        """
        self._need_fit()
        owner = type(self).__name__
        A = as_points(Z, owner, name="Z")
        if A.shape[1] != self.n_components_:
            raise ParameterError(
                f"Z has {A.shape[1]} columns, but {owner} has {self.n_components_} components. "
                "Pass what transform returned."
            )
        return self._verified(self._call("_inverse_transform", A), A, self.n_features_in_)

    @_if_defined("_partial_fit")
    def partial_fit(self, X, y=None):
        """Learn from one more batch of rows and return self.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        """
        self._check_parameters()
        fitted = self.__sklearn_is_fitted__()
        work = copy.copy(self) if fitted else self._blank()
        A = work._enter(X, fitting=not fitted)
        work._call("_partial_fit", A, y)
        work._count_components()
        self._adopt(work)
        return self

    def _run_fit(self, X, y, *, embed=False, **extra):
        """Fit a copy of self and adopt it; with ``embed``, return the embedding of X.

        A method whose fit takes more than X and y writes its own ``fit`` and ``fit_transform``
        with those arguments, and passes them on to ``_fit`` as ``extra``.
        """
        self._check_parameters()
        work = self._blank()
        A = work._enter(X, fitting=True)
        Z = work._call("_fit", A, work._enter_labels(y, A.shape[0]), **extra)
        if Z is not None:
            work.embedding_ = work._verified(Z, A)
            work.n_components_ = work.embedding_.shape[1]
            Z = work.embedding_.copy() if embed else None  # the caller may write to it
        else:
            work._count_components()
            if embed:
                Z = work._verified(work._call("_transform", A), A, work.n_components_)
        self._adopt(work)
        return Z

    def _count_components(self):
        if hasattr(self, "n_components_"):
            return
        if not hasattr(self, "components_"):
            raise self._fault("fit returned no embedding and set no components_; it must do one")
        self.n_components_ = len(self.components_)

    def _call(self, hook, *args, **extra):
        """Run a hook; a stray exception out of it gets a note that says whose it is."""
        try:
            return getattr(self, hook)(*args, **extra)
        except ManifoldLabError:
            raise
        except Exception as error:
            cls = type(self)
            error.add_note(f"Raised by {hook} of {cls.__module__}.{cls.__qualname__}.")
            raise

    def _verified(self, Z, A, n_columns=None):
        """Check what a hook made of A, so that a faulty method is named and not believed.

        The result has the type of A, and is no view of it: A may be the caller's own array.
        """
        if not isinstance(Z, np.ndarray) or Z.ndim != 2 or Z.shape[0] != A.shape[0]:
            seen = f"shape {Z.shape}" if isinstance(Z, np.ndarray) else type(Z).__name__
            raise self._fault(f"it produced {seen}, wanted an array of {A.shape[0]} rows")
        if Z.dtype.kind not in "fiu":
            raise self._fault(f"it produced values of type {Z.dtype}, wanted real numbers")
        if n_columns is not None and Z.shape[1] != n_columns:
            raise self._fault(f"it produced {Z.shape[1]} columns, wanted {n_columns}")
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf, seen below
            Z = np.ascontiguousarray(Z, dtype=A.dtype)
        if not np.isfinite(Z).all():
            bad = int(np.argwhere(~np.isfinite(Z))[0, 0])
            raise self._fault(f"it produced NaN or infinity (first in row {bad}) from finite input")
        return Z.copy() if isinstance(A, np.ndarray) and np.may_share_memory(Z, A) else Z

    def _fault(self, what):
        cls = type(self)
        return ManifoldLabError(
            f"{cls.__module__}.{cls.__qualname__} is at fault: {what}. Report it to its author."
        )

    # -------------------------------------------------------------- output

    def set_output(self, *, transform=None):
        """Choose the container of embeddings: "default", "pandas", "polars"; None changes nothing."""
        if transform is not None:
            if transform not in ("default", "pandas", "polars"):
                raise ParameterError(
                    f"set_output(transform={transform!r}) is not known; "
                    "use 'default', 'pandas' or 'polars'."
                )
            self._sklearn_output_config = {"transform": transform}
        return self

    def _wrapped(self, Z, X):
        own = getattr(self, "_sklearn_output_config", {})
        container = own.get("transform") or _interop.sk_config("transform_output", "default")
        if container == "default":
            return Z
        names, index = self.get_feature_names_out(), _interop.row_index(X)
        try:
            return _interop.wrap(Z, container, names, index)
        except ImportError as error:
            raise MissingExtraError(
                f"Output as a {container} frame was asked for, but {container} cannot be imported: "
                f"pip install {container}, or set_output(transform='default')."
            ) from error

    def get_feature_names_out(self, input_features=None):
        """Return the names of the embedding's columns: the class name and a number.

        Parameters
        ----------
        input_features : array-like of str, optional
            Only checked against the names or the number of columns seen by fit.
        """
        self._need_fit()
        if input_features is not None:
            _check_input_features(input_features, self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{j}" for j in range(self.n_components_)], dtype=object)


def _feature_names(X):
    """Return the column names of X if all are strings, None if none is; a mixture is an error."""
    names = _interop.column_names(X)
    if not names:
        return None
    strings = sum(isinstance(name, str) for name in names)
    if strings == 0:
        return None
    if strings < len(names):
        kinds = sorted({type(name).__name__ for name in names})
        raise TypeError(
            f"Feature names are only supported if all input features have string names, but X has "
            f"{kinds} as column name types. Convert them with X.columns = X.columns.astype(str)."
        )
    return np.array(names, dtype=object)


def _names_message(names, fitted):
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _listed(names, most=5):
    lines = [f"- {name}\n" for name in names[:most]]
    return "".join(lines + ["- ...\n"] * (len(names) > most))


def _check_input_features(input_features, estimator):
    given, fitted = list(input_features), getattr(estimator, "feature_names_in_", None)
    if fitted is not None and given != list(fitted):
        raise ParameterError("input_features is not equal to feature_names_in_")
    if len(given) != estimator.n_features_in_:
        raise ParameterError(
            "input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(given)}"
        )

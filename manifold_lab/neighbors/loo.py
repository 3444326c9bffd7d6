"""Leave-one-out scores for many k in one pass: the votes of k + 1 are those of k and one more."""

from numbers import Integral

import numpy as np

from manifold_lab.checks import Int, OneOf, as_labels, check_memory, parameter_problem
from manifold_lab.errors import ParameterError
from manifold_lab.neighbors import votes
from manifold_lab.neighbors.classifier import KNNClassifier
from manifold_lab.neighbors.regressor import KNNRegressor, as_targets, r_squared

_KINDS = (OneOf(("auto", "classifier", "regressor")),)


def loo_score(
    X, y, ks, *, metric="euclidean", weights="uniform", ties="smallest", kind="auto", n_jobs=None
):
    """Return the score of a kNN learner, each row left out in turn, for several k at once.

    The neighbours are searched once, for the largest k; a row is excluded by its index, so its
    duplicates do count.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    ks : int or sequence of int
        The numbers of neighbours; an int K means 1, ..., K. All below n_samples.
    metric, weights, ties, n_jobs
        As for :class:`KNNClassifier`.
    kind : {"auto", "classifier", "regressor"}
        "auto" takes targets with several columns or with fractions for regression.

    Returns
    -------
    scores : ndarray, one for each of ``ks``
        The share of rows given their own class, or R².

    Raises
    ------
    ParameterError
        A k is not between 1 and n_samples - 1, or an input is not acceptable.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [10.0], [11.0]], [0, 0, 0, 1, 1]
    >>> loo_score(X, y, [1, 2, 3]).tolist()
    [1.0, 0.6, 0.6]
    """
    problem = parameter_problem("kind", kind, _KINDS, "loo_score")
    if problem:
        raise ParameterError(problem)
    if kind == "auto":
        kind = "regressor" if _continuous(y) else "classifier"
    shared = {"metric": metric, "weights": weights, "n_jobs": n_jobs}
    if kind == "regressor":
        return KNNRegressor(**shared).loo_score(X, y, ks)
    return KNNClassifier(ties=ties, **shared).loo_score(X, y, ks)


def _continuous(y):
    Y = np.asarray(y)
    return (Y.ndim == 2 and Y.shape[1] > 1) or bool(
        Y.dtype.kind == "f" and (np.floor(Y) != Y).any()
    )


def accuracies(model, X, y, ks):
    """Return the leave-one-out accuracy of a classifier's settings for every k."""
    ks, found, voice = _pass(model, X, ks)
    n, owner = found.m, type(model).__name__
    classes, codes = as_labels(y, n, owner)
    shape, scores = (n, found.distances.size // n), {}
    check_memory(24 * n * len(classes), owner, "Score fewer rows.")
    ids, voice = found.ids.reshape(shape), voice.reshape(shape)
    table, rows = np.zeros((n, len(classes))), np.arange(n)
    for k in range(1, shape[1] + 1):
        table[rows, codes[ids[:, k - 1]]] += voice[:, k - 1]
        if k in ks:
            seen = found
            if model.ties != "smallest":  # the rule looks at the first k
                D = found.distances.reshape(shape)[:, :k]
                seen = votes.dense(D, ids[:, :k])
            winner = votes.decide(seen, codes, table, model.ties)
            scores[k] = float(np.mean((winner == codes) & (table.max(axis=1) > 0)))
    return np.array([scores[k] for k in ks])


def r_squares(model, X, y, ks):
    """Return the leave-one-out R² of a regressor's settings for every k."""
    ks, found, voice = _pass(model, X, ks)
    n, owner = found.m, type(model).__name__
    Y = as_targets(y, n, owner).astype(np.float64).reshape(n, -1)
    shape = (n, found.distances.size // n)
    ids, voice = found.ids.reshape(shape), voice.reshape(shape)
    first = Y[ids[:, 0]]
    gaps, total, scores = np.zeros_like(Y), np.zeros((n, 1)), {}
    for k in range(1, shape[1] + 1):
        gaps += voice[:, k - 1, None] * (Y[ids[:, k - 1]] - first)
        total += voice[:, k - 1, None]
        if k in ks:
            if not total.all():
                raise ParameterError(
                    f"Row {int(np.argmin(total))} has no neighbour with a positive weight among "
                    f"its {k} nearest. Use weights that do not vanish, or larger k."
                )
            scores[k] = r_squared(Y, first + gaps / total)
    return np.array([scores[k] for k in ks])


def _pass(model, X, ks):
    """Check the arguments; return ks as a list, the neighbours for the largest, their weights."""
    owner = type(model).__name__
    if model.eps is not None:
        raise ParameterError(f"loo_score is for numbers of neighbours, but {owner} has eps set.")
    work = model._blank()
    work.k = None  # ks take its place
    work._check_parameters()
    A = work._enter(X, fitting=True)
    ks = _as_ks(ks, len(A))
    K = max(ks)
    check_memory(48 * len(A) * K, owner, "Use a smaller largest k, or fewer rows.")
    D, ids = work._searcher(A).knn(None, K)
    found = votes.dense(D, ids)
    return ks, found, votes.voices(found, model.weights, owner)


def _as_ks(ks, n):
    if isinstance(ks, Integral) and not isinstance(ks, bool):
        rule = Int(1, n - 1)
        problem = parameter_problem("ks", ks, (rule,), f"loo_score with n_samples={n}")
        if problem:
            raise ParameterError(problem)
        return list(range(1, int(ks) + 1))
    ks = list(ks)
    for k in ks:
        if not Int(1, n - 1).accepts(k):
            raise ParameterError(
                f"ks holds {k!r}, but each k must be an int from 1 to {n - 1}: a row is not its "
                f"own neighbour, and n_samples={n}. Drop it, or pass more rows."
            )
    if not ks:
        raise ParameterError("ks is empty. Pass the numbers of neighbours to score.")
    return [int(k) for k in ks]

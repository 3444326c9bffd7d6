"""How far an embedding can be trusted: neighbours gained and neighbours lost.

Trustworthiness looks at the k nearest neighbours of each sample in the embedding Z and at their
rank in X: one that is not among the k nearest there is an intruder, and costs by how far off it
is. Continuity exchanges the two spaces: it charges neighbours that were lost.

Everything is computed for a block of rows against all rows, so memory is O(n), and is exact:
neighbours and ranks are ordered by (distance, index), a sample is excluded from its own
neighbours by index, and distances are sums of differences, right at any offset. A tree (in few
dimensions) or a matrix product (in many) says which comparisons are certain; the rows with a
doubtful one are computed by differences.
"""

import functools
import math

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from manifold_lab.checks import BOOL, SEED, Int, OneOf, as_points, as_rng, parameter_problem
from manifold_lab.errors import ManifoldLabWarning, ParameterError, warn

__all__ = ["continuity", "trustworthiness"]

# Names for scipy. Squares have the order of distances, but no square root to merge close ones.
_METRICS = {
    "euclidean": "sqeuclidean",
    "sqeuclidean": "sqeuclidean",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "cosine": "cosine",
}
_BLOCK = 2**20  # entries of a block of distances
_TREE_UPTO = 6  # columns up to which a tree finds neighbours faster
_FILTER_FROM = 12  # columns from which a matrix product beats differences
_ALL_ROWS = 50_000  # above so many rows only a sample of _SAMPLE is scored
_SAMPLE = 5_000


def trustworthiness(
    X, Z, *, k=10, metric="euclidean", per_point=False, sample=None, random_state=None
):
    """Score, from 0 to 1, how far neighbours in the embedding Z are neighbours in X.

    One minus the normalised sum, over all samples and their k nearest neighbours in Z, of how
    far the neighbour's rank in X exceeds k. A random embedding scores about 0.5.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        With ``metric="precomputed"`` distances, (n_samples, n_samples); row i are those from i.
    Z : array-like of shape (n_samples, n_components)
        Its distances are Euclidean.
    k : int
        Number of neighbours, less than half of n_samples.
    metric : str or callable
        Distance in X: "euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine",
        "precomputed", or a function of two rows.
    per_point : bool
        Return the score of every sample; their mean is the score.
    sample : int, optional
        Score only so many samples, drawn at random; their ranks are still among all. By default
        all are scored, but 5,000 of them, with a warning, if there are more than 50,000.
    random_state : int, Generator, RandomState or None
        Draws the sample; None is a fixed seed.

    Returns
    -------
    float, or ndarray of shape (n_samples,) with ``per_point``
        In the array, samples that were not scored are NaN.

    Raises
    ------
    ParameterError
        k is not below n_samples / 2, X and Z differ in rows, or an input is not acceptable.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> trustworthiness(X, -X, k=2)
    1.0
    >>> round(trustworthiness(X, abs(X - 3.6), k=2), 3)  # folded: strangers become neighbours
    0.403
    """
    owner = "trustworthiness"
    far, near = _enter(owner, X, Z, k, metric, per_point, sample, random_state)
    return _score(owner, near, far, k, per_point, sample, random_state)


def continuity(X, Z, *, k=10, metric="euclidean", per_point=False, sample=None, random_state=None):
    """Score, from 0 to 1, how far neighbours in X are still neighbours in the embedding Z.

    :func:`trustworthiness` with the spaces exchanged: one minus the normalised sum, over all
    samples and their k nearest neighbours in X, of how far the neighbour's rank in Z exceeds k.

    Parameters
    ----------
    X, Z, k, metric, per_point, sample, random_state
        As for :func:`trustworthiness`; ``metric`` is still the distance in X.

    Returns
    -------
    float, or ndarray of shape (n_samples,) with ``per_point``

    Raises
    ------
    ParameterError
        As :func:`trustworthiness`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> round(continuity(X, abs(X - 3.6), k=2), 3)
    0.736
    """
    owner = "continuity"
    near, far = _enter(owner, X, Z, k, metric, per_point, sample, random_state)
    return _score(owner, near, far, k, per_point, sample, random_state)


def _enter(owner, X, Z, k, metric, per_point, sample, random_state):
    """Check every argument and return X and Z as spaces."""
    rules = {
        "k": (k, (Int(1),)),
        "per_point": (per_point, (BOOL,)),
        "sample": (sample, (OneOf((None,)), Int(1))),
        "random_state": (random_state, SEED),
    }
    problems = (parameter_problem(name, *pair, owner) for name, pair in rules.items())
    found = [problem for problem in problems if problem]
    if found:
        raise ParameterError(" ".join(found))
    X = as_points(X, owner, min_samples=3)
    Z = as_points(Z, owner, name="Z")
    n = len(X)
    if len(Z) != n:
        raise ParameterError(
            f"X has {n} rows, Z has {len(Z)}. {owner} needs the embedding of the same samples, "
            "in the same order."
        )
    if 2 * k >= n:
        raise ParameterError(
            f"k={k} neighbours of n_samples={n}: {owner} needs k < n_samples / 2. "
            f"Pass k={(n - 1) // 2} or less."
        )
    if sample is not None and sample > n:
        raise ParameterError(
            f"sample={sample} rows are asked for, but there are {n}. Pass {n} or less."
        )
    return _Space(X, metric, owner), _Space(Z, "euclidean", owner)


def _score(owner, near, far, k, per_point, sample, random_state):
    n = near.n
    if sample is None and n > _ALL_ROWS:
        sample = _SAMPLE
        warn(
            ManifoldLabWarning(
                f"{owner} scored {sample} of {n} rows, drawn at random (ranks are among all). "
                f"Pass sample={n} to score every row, or another sample to silence this."
            )
        )
    rows = np.arange(n)
    if sample is not None and sample < n:
        rows = np.sort(as_rng(random_state).choice(n, sample, replace=False))
    cost = np.full(n, np.nan)
    height = max(1, _BLOCK // n)
    for start in range(0, len(rows), height):
        block = rows[start : start + height]
        ranks = far.ranks(block, near.nearest(block, k))
        cost[block] = np.maximum(ranks - k, 0).sum(axis=1)
    # the largest cost of a row is that of the k last ranks: k (2n - 3k - 1) / 2
    worst = k * (2 * n - 3 * k - 1)
    if per_point:
        return 1 - 2 * cost / worst
    total = int(cost[rows].sum())  # whole numbers: exact in any order
    return 1 - 2 * total / (len(rows) * worst)


class _Space:
    """Samples and their distance, asked for a block of rows at a time."""

    def __init__(self, X, metric, owner):
        known = isinstance(metric, str) and metric in (*_METRICS, "precomputed")
        if not known and not callable(metric):
            raise ParameterError(
                f"metric={metric!r} is not known to {owner}; use one of "
                f"{', '.join(map(repr, (*_METRICS, 'precomputed')))}, or a function of two rows."
            )
        self.n, self.metric, self.owner = len(X), metric, owner
        self.scipy_metric = metric if callable(metric) else _METRICS.get(metric)
        self.X = X
        self.squared = self.scipy_metric == "sqeuclidean"
        self.filtered = self.squared and X.shape[1] >= _FILTER_FROM
        if metric == "precomputed":
            self._check_distances()
        elif not callable(metric):
            # by a power of two, so exactly: squares of very large and very small values exist
            largest = max(X.max(), -X.min())
            self.X = np.ldexp(np.asarray(X, dtype=np.float64), -math.frexp(largest)[1])
        if metric == "cosine" and not self.X.any(axis=1).all():
            row = int(np.argmin(self.X.any(axis=1)))
            raise ParameterError(
                f"Row {row} of X is zero and has no direction, so metric='cosine' is undefined. "
                f"Drop such rows before calling {owner}."
            )
        if self.filtered:
            self.centred = self.X - self.X.mean(axis=0)
            self.squares = np.einsum("ij,ij->i", self.centred, self.centred)

    def _check_distances(self):
        if self.X.shape[1] != self.n:
            raise ParameterError(
                f"metric='precomputed' needs a square matrix, X has shape {self.X.shape}. "
                f"Pass the {self.n} x {self.n} distances, or the metric that makes them."
            )
        if self.X.min() < 0:
            i, j = divmod(int(self.X.argmin()), self.n)
            raise ParameterError(
                f"X[{i}, {j}] = {self.X[i, j]} is not a distance. metric='precomputed' needs "
                "values >= 0; turn similarities into distances first."
            )

    def direct(self, rows):
        """Return the distances from ``rows`` to every sample; infinite to itself."""
        if self.metric == "precomputed":
            D = self.X[rows]
        else:
            D = cdist(self.X[rows], self.X, self.scipy_metric)
        if callable(self.metric) and not np.isfinite(D).all():
            i, j = np.argwhere(~np.isfinite(D))[0]
            raise ParameterError(
                f"The metric given to {self.owner} returned {D[i, j]} for rows {rows[i]} and {j}. "
                "It must return a finite number for every pair."
            )
        D[np.arange(len(rows)), rows] = np.inf
        return D

    def approximate(self, rows):
        """Return squared distances by a matrix product, and a bound on what is wrong with them.

        Sums of d products err by at most d u |x||y|, u = eps/2, and centring by u per entry. All
        together, with the error of the direct sum, that is less than 4 (d + 8) u (|x|² + |y|²);
        the bound is twice as large.
        """
        s, d = self.squares[rows, None], self.X.shape[1]
        D = self.centred[rows] @ self.centred.T
        D *= -2
        D += s
        D += self.squares
        D[np.arange(len(rows)), rows] = np.inf
        return D, 4 * (d + 8) * np.finfo(np.float64).eps * (s + self.squares.max())

    def nearest(self, rows, k):
        """Return the indices of the k nearest of each row, (len(rows), k), in no special order."""
        if self.squared and self.X.shape[1] <= _TREE_UPTO and 50 * k <= self.n:
            found, doubtful = self._nearest_by_tree(rows, k)
        elif self.filtered:
            found, doubtful = self._nearest_by_product(rows, k)
        else:
            return _k_smallest(self.direct(rows), k)
        if doubtful.any():
            found[doubtful] = _k_smallest(self.direct(rows[doubtful]), k)
        return found

    @functools.cached_property
    def _tree(self):
        return cKDTree(self.X, balanced_tree=False)

    def _nearest_by_tree(self, rows, k):
        distance, index = self._tree.query(self.X[rows], k + 2)
        own = index == rows[:, None]
        # certain if the sample itself and the k next to it are clearly nearer than one more
        certain = distance[:, k + 1] > distance[:, k] * (1 + 1e-12)
        found = np.empty((len(rows), k), dtype=np.intp)
        found[certain] = index[certain, : k + 1][~own[certain, : k + 1]].reshape(-1, k)
        return found, ~certain

    def _nearest_by_product(self, rows, k):
        D, wrong = self.approximate(rows)
        kth = np.partition(D, k - 1, axis=1)[:, k - 1, None]
        chosen = kth + 2 * wrong >= D  # holds the k nearest, and more if that is doubtful
        doubtful = np.count_nonzero(chosen, axis=1) != k
        found = np.empty((len(rows), k), dtype=np.intp)
        found[~doubtful] = np.nonzero(chosen[~doubtful])[1].reshape(-1, k)
        return found, doubtful

    def ranks(self, rows, others):
        """Return the rank, from 1, of ``others[i]`` among all samples seen from ``rows[i]``."""
        if not self.filtered:
            return _ranks(self.direct(rows), others)
        D, wrong = self.approximate(rows)
        t = np.take_along_axis(D, others, axis=1)
        below, upto = _counts(D, t - 2 * wrong, t + 2 * wrong)
        doubtful = (upto - below != 1).any(axis=1)  # another sample is about as far
        if doubtful.any():
            upto[doubtful] = _ranks(self.direct(rows[doubtful]), others[doubtful])
        return upto


def _k_smallest(D, k):
    """Return the places of the k smallest entries of each row, ties by index."""
    kth = np.partition(D, k - 1, axis=1)[:, k - 1, None]
    chosen = kth >= D
    excess = np.flatnonzero(np.count_nonzero(chosen, axis=1) > k)
    if len(excess):
        tied = D[excess] == kth[excess]
        below = chosen[excess] & ~tied
        room = k - np.count_nonzero(below, axis=1)[:, None]
        chosen[excess] = below | (tied & (np.cumsum(tied, axis=1) <= room))
    return np.nonzero(chosen)[1].reshape(-1, k)


def _ranks(D, others):
    """Return the ranks, from 1, of the entries ``others`` of each row of D, ties by index."""
    t = np.take_along_axis(D, others, axis=1)
    below, upto = _counts(D, t, t)
    for i, a in np.argwhere(upto - below > 1):
        upto[i, a] = below[i, a] + 1 + np.count_nonzero(D[i, : others[i, a]] == t[i, a])
    return upto


def _counts(D, low, high):
    """Return how many entries of each row of D are < low and how many <= high."""
    below, upto = np.empty(low.shape, dtype=np.intp), np.empty(high.shape, dtype=np.intp)
    for i, row in enumerate(np.sort(D, axis=1)):  # faster than comparing with each bound
        below[i] = row.searchsorted(low[i], "left")
        upto[i] = row.searchsorted(high[i], "right")
    return below, upto

"""Exact Euclidean neighbours by k or by eps: a tree in few dimensions, a filter in many.

Either way a distance is computed by one function of direct differences (direct.pxd), so the answer,
ties included, does not depend on the way it was found.
"""

import numpy as np

from manifold_lab._kernels import levels
from manifold_lab._progress import progress as _progress
from manifold_lab.checks import check_memory
from manifold_lab.errors import ParameterError
from manifold_lab.neighbors.filter_search import FilterSearch, with_spares
from manifold_lab.neighbors.tree_search import TreeSearch

TREE_FEATURES = 7  # up to here the tree wins, measured

_REMEDY = "Search fewer rows at a time, or reduce k or the number of features."


def knn(X, Q=None, *, k, n_jobs=None, algorithm="auto", progress=False):
    """Return the k nearest rows of X for each row of Q, exactly.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        float32 or float64, C-contiguous and finite.
    Q : ndarray of shape (m, d), optional
        New data. None asks for X's own rows, each without itself.
    k : int
    n_jobs : int, optional
    algorithm : {"auto", "tree", "brute"}
        How; the result is the same.
    progress : bool
        Show how far it is.

    Returns
    -------
    distances : ndarray of shape (m, k), of X's type
    indices : ndarray of shape (m, k)
        Each row sorted by (distance, index).

    Raises
    ------
    ParameterError
        k is not between 1 and the number of rows to choose from.
    MemoryBudgetError
        The result and the packed copies do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from manifold_lab.neighbors.exact import knn
    >>> distances, indices = knn(np.array([[0.0], [1.0], [3.0]]), k=1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    return Index(X, n_jobs=n_jobs, algorithm=algorithm).knn(Q, k=k, progress=progress)


def within(X, Q=None, *, eps, n_jobs=None, algorithm="auto", progress=False):
    """Return the rows of X no farther than eps for each row of Q, exactly.

    Returns
    -------
    indptr : ndarray of shape (m + 1,), int64
    indices, distances : ndarray
        Row i has ``indptr[i]:indptr[i + 1]``, sorted by (distance, index).

    Raises
    ------
    ParameterError
        eps is not positive.
    MemoryBudgetError
        The result does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from manifold_lab.neighbors.exact import within
    >>> indptr, indices, distances = within(np.array([[0.0], [1.0], [3.0]]), eps=2.0)
    >>> indptr.tolist(), indices.tolist(), distances.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [1.0, 1.0, 2.0, 2.0])
    """
    return Index(X, n_jobs=n_jobs, algorithm=algorithm).within(Q, eps=eps, progress=progress)


class Index:
    """The rows of X, prepared once for many searches.

    What a search needs is built when it is first needed: the tree, or copies in float32 and, for
    rows that float32 cannot decide, in float64. Searching does not change the answer of another.
    """

    def __init__(self, X, *, n_jobs=None, algorithm="auto", exponent=None):
        self.X = X
        self.n_jobs = n_jobs
        self.exponent = _exponent(X) if exponent is None else exponent
        self.algorithm = _chosen(algorithm, X.shape[1])
        self._searcher = None  # over 2^exponent X
        self._double = None  # an index of X in float64

    def knn(self, Q=None, *, k, progress=False):
        """Return ``(distances, indices)`` as :func:`knn` does."""
        n, m = len(self.X), len(self.X if Q is None else Q)
        most = n - 1 if Q is None else n
        if not 1 <= k <= most:
            raise ParameterError(
                f"k={k} neighbours were asked for, and there are {most} to choose from (n={n}). "
                f"Use 1 <= k <= {most}, or give more rows."
            )
        self._plan(m, k)
        index, Q = self._joint(Q)
        with _progress(m, "neighbours", progress) as advance:
            r, ids = index._search().knn(Q, k, advance)
        return self._distances(r, index.exponent), ids

    def within(self, Q=None, *, eps, progress=False):
        """Return ``(indptr, indices, distances)`` as :func:`within` does."""
        if not eps > 0:
            raise ParameterError(f"eps={eps} is not a radius. Use a positive number.")
        m = len(self.X if Q is None else Q)
        self._plan(m, 1)
        index, Q = self._joint(Q)
        unit = float(np.ldexp(1.0, -index.exponent))
        with _progress(m, "neighbours", progress) as advance:
            counts, ids, r = index._search().within(Q, float(eps), unit, advance)
        indptr = np.zeros(m + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        return indptr, ids, self._distances(r, index.exponent)

    def _search(self):
        if self._searcher is None:
            points = np.ldexp(self.X, self.exponent) if self.exponent else self.X
            kind = TreeSearch if self.algorithm == "tree" else FilterSearch
            self._searcher = kind(points, self.n_jobs)
        return self._searcher

    def _joint(self, Q):
        """Return an index and Q in units that neither's squares leave, usually this and Q."""
        if Q is None:
            return self, None
        if Q.dtype != self.X.dtype:  # the search is in the wider of the two
            if self._double is None:
                X = self.X.astype(np.float64)
                self._double = Index(X, n_jobs=self.n_jobs, algorithm=self.algorithm)
            return self._double._joint(Q.astype(np.float64))
        exponent = min(_exponent(Q), self.exponent) if np.any(Q) else self.exponent
        index = self
        if exponent < self.exponent:
            index = Index(self.X, n_jobs=self.n_jobs, algorithm=self.algorithm, exponent=exponent)
        return index, np.ldexp(Q, index.exponent) if index.exponent else Q

    def _distances(self, r, exponent):
        with np.errstate(over="ignore"):  # farther than the largest float is infinitely far
            if exponent:
                np.ldexp(r, -exponent, out=r)
            return r.astype(self.X.dtype, copy=False)

    def _plan(self, m, k):
        (n, d), size = self.X.shape, self.X.itemsize
        copies = n * d * (8 if self.algorithm == "tree" else 12)
        scaled = n * d * size if self.exponent else 0
        lists = m * (with_spares(k, n) * 12 + k * 16)
        check_memory(copies + scaled + lists, "The neighbour search", _REMEDY)


def _chosen(algorithm, d):
    if algorithm not in ("auto", "tree", "brute"):
        raise ParameterError(f"algorithm={algorithm!r} is unknown. Use 'auto', 'tree' or 'brute'.")
    if algorithm == "auto":
        return "tree" if d <= TREE_FEATURES else "brute"
    most = levels.load("tree").MAX_FEATURES
    if algorithm == "tree" and d > most:
        raise ParameterError(
            f"algorithm='tree' is for at most {most} features, and there are {d}. Use 'auto'."
        )
    return algorithm


def _exponent(X):
    """Return the e for which squares of differences of 2^e X are safe; mostly 0.

    float32 is: its squares fit in a double. In float64 small differences between large rows are
    looked after pair by pair (direct.pxd).
    """
    if X.dtype == np.float32:
        return 0
    low, high = X.min(), X.max()
    top = int(np.frexp(max(-low, high))[1])  # max |x| < 2^top
    if top > 500:
        return 500 - top
    if low == high or top > -300:
        return 0
    return -top

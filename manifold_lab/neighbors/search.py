"""NearestNeighbors: exact search by k or by eps, with any metric."""

import numpy as np

from manifold_lab.base import Estimator, param
from manifold_lab.checks import N_JOBS, Float, Int, parameter_problem
from manifold_lab.errors import ParameterError
from manifold_lab.metrics.resolve import METRIC, as_metric
from manifold_lab.neighbors.searcher import searcher

DEFAULT_K = 5


class NeighborEstimator(Estimator):
    """What search and the learners share: k or eps, a metric, and an index of the rows."""

    k: int | None = param(None, None, Int(1))
    eps: float | None = param(None, None, Float(0.0))
    metric: object = param("euclidean", METRIC)
    n_jobs: int | None = param(None, *N_JOBS)

    def _check_parameters(self):
        super()._check_parameters()
        if self.k is not None and self.eps is not None:
            raise ParameterError(
                f"{type(self).__name__} got both k={self.k} and eps={self.eps}. Neighbours are "
                "the k nearest, or all within eps: pass one of them."
            )

    @property
    def _k(self):
        """k as asked for, 5 if neither k nor eps was, None with eps."""
        return DEFAULT_K if self.k is None and self.eps is None else self.k

    @property
    def _precomputed(self):
        return METRIC.accepts(self.metric) and as_metric(self.metric).precomputed

    def _traits(self):
        table = {"pairwise": self._precomputed, "positive_only": self._precomputed}
        return super()._traits() | table

    def _check_k(self, k, n):
        if k is not None and k > n:
            raise ParameterError(
                f"k={k} neighbours of n_samples={n}: {type(self).__name__} cannot find more "
                f"neighbours than samples. Pass k={n} or less, or more samples."
            )

    def _searcher(self, X):
        """Return the searcher of rows X, which it copies."""
        return searcher(X, as_metric(self.metric), type(self).__name__, self.n_jobs)

    def _keep(self, X):
        self.n_samples_fit_, self._searcher_ = len(X), self._searcher(X)


class NearestNeighbors(NeighborEstimator):
    """Find the nearest training rows, exactly, sorted by (distance, index).

    Parameters
    ----------
    k : int, optional
        Number of neighbours; 5 if ``eps`` is not given either.
    eps : float, optional
        Radius: all rows at a distance of at most ``eps``. Not together with ``k``.
    metric : str, metric object or callable
        "euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "cosine",
        "precomputed", an object of :mod:`manifold_lab.metrics`, or a function of two rows.
    n_jobs : int, optional
        Threads; None or -1 are all cores. Results do not depend on it.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_fit_ : int

    Examples
    --------
    >>> import numpy as np
    >>> model = NearestNeighbors(k=2).fit(np.array([[0.0], [1.0], [3.0]]))
    >>> model.kneighbors()  # of the training rows, without themselves
    (array([[1., 3.],
           [1., 2.],
           [2., 3.]]), array([[1, 2],
           [0, 2],
           [1, 0]]))
    >>> model.radius_neighbors([[0.5]], eps=1.0)
    (array([0, 2]), array([0, 1]), array([0.5, 0.5]))
    """

    def fit(self, X, y=None):
        """Keep and index the rows of X and return self.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With ``metric="precomputed"`` distances, (n_samples, n_samples).
        y : ignored

        Raises
        ------
        ParameterError
            A parameter or X is not acceptable; the object is left as it was.
        """
        self._check_parameters()
        work = self._blank()
        A = work._enter(X, fitting=True)
        work._check_k(work._k, len(A))
        work._keep(A)
        self._adopt(work)
        return self

    def kneighbors(self, Q=None, k=None):
        """Return the k nearest training rows of each row of Q.

        Parameters
        ----------
        Q : array-like of shape (n_queries, n_features), optional
            New data: a row that is also a training row finds it, at distance zero. None asks for
            the training rows, each without itself (but with its duplicates). With
            ``metric="precomputed"`` distances from the training rows, (n_queries, n_samples).
        k : int, optional
            By default that of the model.

        Returns
        -------
        distances : ndarray of shape (n_queries, k)
        indices : ndarray of shape (n_queries, k)
            Both sorted by (distance, index).

        Raises
        ------
        ParameterError
            k is not below n_samples (Q=None), or above it, or Q is not acceptable.
        """
        self._need_fit()
        k = self._asked("k", k, self._k, Int(1))
        n = self.n_samples_fit_
        if Q is None and k >= n:
            raise ParameterError(
                f"k={k} neighbours of n_samples={n}: a training row is not its own neighbour, so "
                f"it has {n - 1}. Pass k={n - 1} or less, or more samples."
            )
        self._check_k(k, n)
        A = None if Q is None else self._enter(Q, fitting=False)
        return self._searcher_.knn(A, int(k))

    def radius_neighbors(self, Q=None, eps=None):
        """Return all training rows within eps of each row of Q, as the parts of a CSR matrix.

        Parameters
        ----------
        Q : array-like of shape (n_queries, n_features), optional
            As for :meth:`kneighbors`.
        eps : float, optional
            By default that of the model. A row at a distance of exactly ``eps`` is within it.

        Returns
        -------
        indptr : ndarray of shape (n_queries + 1,)
            Query i has the entries ``indptr[i]:indptr[i + 1]`` of the other two.
        indices, distances : ndarray
            Sorted by (distance, index) for each query.

        Raises
        ------
        ParameterError
            eps is missing or not positive, or Q is not acceptable.
        """
        self._need_fit()
        eps = self._asked("eps", eps, self.eps, Float(0.0))
        A = None if Q is None else self._enter(Q, fitting=False)
        return self._searcher_.within(A, float(eps))

    def _asked(self, name, given, own, rule):
        value = own if given is None else given
        owner = type(self).__name__
        if value is None:
            raise ParameterError(
                f"{owner} was made without {name}: pass {name} to this method, or to {owner}."
            )
        problem = parameter_problem(name, value, (rule,), owner)
        if problem:
            raise ParameterError(problem)
        return value


def sample_weights(weights, n, owner):
    """Return weights as a new float64 vector, or None for None.

    Raises
    ------
    ParameterError
        Wrong length, negative, NaN, or all zero.
    """
    if weights is None:
        return None
    w = np.array(weights, dtype=np.float64)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.shape != (n,):
        raise ParameterError(
            f"sample_weight has shape {w.shape}, {owner} needs one weight a row: ({n},)."
        )
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ParameterError(
            f"sample_weight[{i}] = {w[i]} is not a weight. {owner} needs finite numbers of at "
            "least 0."
        )
    if not w.any():
        raise ParameterError(f"Every sample weight is zero, so {owner} has nothing to learn from.")
    return w

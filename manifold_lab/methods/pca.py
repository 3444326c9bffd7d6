"""Principal component analysis: docs/methods/pca.md (10.14)-(10.18).

1 centre, 2 scatter, 3 its largest eigenpairs, 4 project. Time O(n d^2 + d^3) by the scatter,
O(n^2 d + n^3) by the Gram matrix, memory O(d^2) or O(n^2) beside the data.
"""

import math
from numbers import Integral

import numpy as np

from manifold_lab._interop import is_sparse
from manifold_lab.base import Reducer, param
from manifold_lab.checks import BOOL, N_JOBS, SEED, Float, Int, as_rng, available_memory
from manifold_lab.errors import (
    ConvergenceWarning,
    DegenerateDataWarning,
    ManifoldLabWarning,
    ParameterError,
    SpectrumWarning,
    warn,
)
from manifold_lab.linalg import principal
from manifold_lab.linalg.evidence import minka_dimension
from manifold_lab.linalg.moments import moments_of
from manifold_lab.linalg.spectral import TOLERANCE

EPS = np.finfo(np.float64).eps
LARGE = 1e11  # n d min(n, d) from which S or K costs more than an iteration for few components
SMALL = 2e7  # n d min(n, d) up to which the SVD, the most accurate route, costs milliseconds


class PCA(Reducer):
    """Principal component analysis: the directions of largest variance.

    Right where a sum of squares minus a squared mean is not: rows are centred before anything is
    squared, by a shift and a power of two, so an offset of 1e9 or a scale of 1e160 costs nothing.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default None
        Number d' of components; the smallest number that keeps at least this share of the
        variance (10.18); Minka's estimate [minka2000]_; or all min(n_samples, n_features).
    solver : {"auto", "covariance", "svd", "gram", "randomized"}, default "auto"
        "covariance" takes one pass and d x d memory, "gram" n x n memory, "svd" is the most
        accurate for tiny components, "randomized" iterates for a few components of a large X.
        "auto" chooses by size, and what it chooses is exact to rounding.
    whiten : bool, default False
        Divide each score by its standard deviation.
    random_state : int, Generator or None
        Start of the iterations; None is a fixed seed.
    n_jobs : int or None
        Threads of the scatter kernel; the result has the same bits for any.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Unit axes, largest variance first, the largest |entry| of each positive; a direction the
        data does not have is a row of zeros.
    mean_ : ndarray of shape (n_features_in_,)
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of float64
    noise_variance_ : float
        Mean variance of the d - d' directions left out.
    rank_ : int
        Number of kept directions with variance above rounding.
    n_samples_ : int
    solver_ : str
        The route taken.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]])
    >>> pca = PCA(n_components=1).fit(X)
    >>> pca.explained_variance_ratio_
    array([1.])
    >>> pca.inverse_transform(pca.transform(X)).round(12)
    array([[1., 2.],
           [2., 4.],
           [3., 6.],
           [4., 8.]])
    """

    family = "linear"
    accepts_sparse = True
    _finds_nonfinite = True

    n_components: int | float | str | None = param(None, None, "mle", Int(1), Float(0, 1))
    solver: str = param("auto", "auto", "covariance", "svd", "gram", "randomized")
    whiten: bool = param(False, BOOL)
    random_state: object = param(None, *SEED)
    n_jobs: int | None = param(None, *N_JOBS)

    # ------------------------------------------------------------------ fit

    def _fit(self, X, y):
        n, d = X.shape
        sparse = is_sparse(X)
        self._check_request(n, d, sparse)
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = choose_solver(n, d, self._count(), sparse)
        axes = self._solve(X)
        if self.solver == "auto" and axes.residual > TOLERANCE and exact_fits(n, d):
            self.solver_ = exact_solver(n, d)
            axes = self._solve(X)
        self._keep(axes, X.dtype)

    def _solve(self, X):
        count, rng, owner = self._count(), as_rng(self.random_state), type(self).__name__
        if self.solver_ == "covariance":
            return principal.covariance_axes(moments_of(X, owner, self.n_jobs), count, rng)
        if self.solver_ == "svd":
            return principal.svd_axes(X, count, owner)
        if self.solver_ == "gram":
            return principal.gram_axes(X, count, rng, owner)
        patient = self.solver != "auto" or not exact_fits(*X.shape)  # is there another way?
        return principal.krylov_axes(X, count, rng, owner, patient)

    def _partial_fit(self, X, y):
        before = getattr(self, "_moments_", None)
        if before is None and hasattr(self, "components_"):
            warn(
                ManifoldLabWarning(
                    f"This PCA was fitted by fit, which keeps no running sums: partial_fit starts "
                    f"anew and forgets those {self.n_samples_} rows. Call partial_fit for every batch."
                )
            )
        owner = type(self).__name__
        moments = moments_of(X, owner, self.n_jobs, frame=before and before.frame)
        self._moments_ = moments if before is None else before.merge(moments)
        self._check_request(self._moments_.n_rows, X.shape[1], sparse=False, partial=True)
        self.solver_ = "covariance"
        rng = as_rng(self.random_state)
        axes = principal.covariance_axes(self._moments_, self._count(), rng)
        self._keep(axes, np.result_type(X.dtype, getattr(self, "components_", X).dtype))

    def _count(self):
        """Return the number of components if it is known beforehand, else None."""
        return self.n_components if isinstance(self.n_components, Integral) else None

    def _check_request(self, n, d, sparse, partial=False):
        limit, count = d if partial else min(n, d), self._count()
        if count is not None and count > limit:
            raise ParameterError(
                f"n_components={count} is more than PCA can find in {n} samples of {d} features: "
                f"the limit is {limit}. Use n_components <= {limit}, or None."
            )
        if self.n_components == "mle" and n < d:
            raise ParameterError(
                f"n_components='mle' needs n_samples >= n_features, got {n} samples of {d} features. "
                "Use a share such as n_components=0.95."
            )
        if self.solver == "randomized" and count is None and not partial:
            raise ParameterError(
                f"solver='randomized' needs an int n_components, got {self.n_components!r}: "
                "it never sees the whole spectrum. Use solver='auto'."
            )
        if self.solver == "svd" and sparse:
            raise ParameterError(
                "solver='svd' would densify sparse X. Use solver='auto', 'covariance', 'gram' or "
                "'randomized'."
            )

    def _keep(self, axes, dtype):
        """Choose d' and set the fitted attributes, back in the units of X."""
        n, d = axes.n_rows, len(axes.mean)
        kept = self._kept(axes.values, axes.total, n, d)
        values, vectors = axes.values[:kept], axes.vectors[:kept]
        self.n_samples_, self.rank_ = n, int(np.count_nonzero(values))
        self._mean_ = axes.mean
        self.mean_, self.components_ = axes.mean.astype(dtype), vectors.astype(dtype)
        self.n_components_ = kept
        self.singular_values_ = np.ldexp(np.sqrt(values), -axes.exponent)
        rest = axes.total - math.fsum(values)
        if kept == d or rest <= n * d * EPS * axes.total:
            rest = 0.0
        with np.errstate(over="ignore", under="ignore"):  # said in words below
            self.explained_variance_ = np.ldexp(values / (n - 1), -2 * axes.exponent)
            left_out = rest / max(d - kept, 1) / (n - 1)
            self.noise_variance_ = float(np.ldexp(left_out, -2 * axes.exponent))
        self.explained_variance_ratio_ = values / (axes.total or 1.0)
        self._warn(axes, values)

    def _kept(self, values, total, n, d):
        if self.n_components is None:
            return min(n, d)
        if self.n_components == "mle":
            return minka_dimension(values, n)  # (pca.8)
        if self._count() is not None:
            return self._count()
        # (10.18) (pca.7): smallest d' whose share is >= t; the slack is the rounding of exact ties
        wanted = self.n_components * (1 - 8 * d * EPS / 2) * total
        for kept in range(1, len(values)):
            if math.fsum(values[:kept]) >= wanted:
                return kept
        return len(values)

    def _warn(self, axes, values):
        count = self._count()
        if axes.residual > TOLERANCE:
            warn(
                ConvergenceWarning(
                    f"solver='randomized' stopped at a relative residual of {axes.residual:.1e} "
                    f"(wanted {TOLERANCE:.0e}): the spectrum is too flat for {count} components to "
                    "stand out. Use solver='auto' for an exact answer, if it fits in memory."
                )
            )
        if axes.total == 0:
            warn(
                DegenerateDataWarning(
                    f"All {axes.n_rows} rows of X are identical: there is no direction of variance, "
                    "and every score is zero. Check the input."
                )
            )
        elif count is not None and self.rank_ < count:
            warn(
                DegenerateDataWarning(
                    f"n_components={count} were asked for, but the data has {self.rank_} directions "
                    "above rounding; the missing columns are zero. Ask for fewer."
                )
            )
        if (
            np.isinf(self.explained_variance_).any()
            or ((self.explained_variance_ == 0) & (values > 0)).any()
        ):
            warn(
                SpectrumWarning(
                    f"Variances near {self.singular_values_[0]:.1e} squared cannot be represented "
                    "and are inf or 0; axes, ratios, singular values and scores are right. "
                    "Rescale X to see them."
                )
            )

    # ------------------------------------------------------------------ use

    def _transform(self, X):
        Z = principal.project(X, self._mean_, self.components_)  # (10.13) (pca.9)
        if self.whiten:
            deviation = self._deviations()
            Z *= np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        return Z

    def _inverse_transform(self, Z):
        if self.whiten:
            Z = Z * self._deviations()
        return (Z @ self.components_.astype(np.float64) + self._mean_).astype(Z.dtype)  # (pca.10)

    def _deviations(self):
        return self.singular_values_ / math.sqrt(self.n_samples_ - 1)

    def score_samples(self, X):
        """Return the log-likelihood of each row under probabilistic PCA [tipping1999]_ (pca.11).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_in_)

        Returns
        -------
        ndarray of shape (n_samples,), float64
            Where the fitted covariance is singular, with a warning, that of the projection on the
            directions that have variance.
        """
        self._need_fit()
        A = self._enter(X, fitting=False)
        A = A.toarray() if is_sparse(A) else A
        real = self.explained_variance_ > 0
        variances, W = self.explained_variance_[real], self.components_[real].astype(np.float64)
        left_out = A.shape[1] - len(variances)
        d = A.shape[1] if self.noise_variance_ > 0 else len(variances)
        if d < A.shape[1]:
            warn(
                DegenerateDataWarning(
                    f"The fitted covariance is singular: {d} of {A.shape[1]} directions have "
                    "variance, and the likelihood is that of the projection on them. Fit with fewer "
                    "n_components for a density over all directions."
                )
            )
        Y = A - self._mean_
        Z = Y @ W.T
        fit = (Z**2 / variances).sum(axis=1) + np.log(variances).sum()
        if left_out and self.noise_variance_ > 0:
            fit += ((Y - Z @ W) ** 2).sum(axis=1) / self.noise_variance_
            fit += left_out * np.log(self.noise_variance_)
        return -0.5 * (fit + d * np.log(2 * np.pi))

    def score(self, X, y=None):
        """Return the mean log-likelihood of the rows of X; see :meth:`score_samples`."""
        return float(self.score_samples(X).mean())


def choose_solver(n, d, count, sparse):
    """Return the route "auto" takes for n rows, d columns and ``count`` components (None: all)."""
    smaller = min(n, d)
    if n * d * smaller <= SMALL and not sparse:
        return "svd"
    few = count is not None and count <= smaller // 50
    costly = d > 2000 if sparse else n * d * smaller > LARGE
    return "randomized" if few and costly else exact_solver(n, d)


def exact_solver(n, d):
    """Return the route that works on the smaller of S (d x d) and K (n x n)."""
    return "covariance" if d <= n else "gram"


def exact_fits(n, d):
    """True if the matrix of the exact route, and what is made of it, fits in memory."""
    return 4 * 8 * min(n, d) ** 2 < available_memory() / 2

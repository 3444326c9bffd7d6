"""The Mahalanobis distance sqrt((x - y)' M (x - y)) with M = P P' (10.34), the learnable one."""

import numpy as np
import scipy.linalg

from manifold_lab.checks import as_points
from manifold_lab.errors import DegenerateDataWarning, ParameterError, warn
from manifold_lab.metrics.base import exponent, frozen, scaled
from manifold_lab.metrics.frame import Frame, product
from manifold_lab.metrics.mapped import Mapped

_ASYMMETRY = 1e-8  # share of the largest entry by which M may differ from its transpose
_NEGATIVE = 1e-10  # share of the largest eigenvalue that a negative one may have, from rounding


class Mahalanobis(Mapped):
    """The Mahalanobis distance, the Euclidean distance of the rows x P with M = P P' (10.34).

    M is factored once, when the metric is made. It is symmetrised if it is asymmetric by at most
    1e-8 of its largest entry; eigenvalues of at least -1e-10 of the largest count as zero. A
    metric of low rank is searched in as few dimensions.

    Parameters
    ----------
    M : array-like of shape (n_features, n_features)
        Symmetric and positive semi-definite.

    Attributes
    ----------
    P : ndarray of shape (n_features, rank)
        The factor, M = P P'.
    M : ndarray of shape (n_features, n_features)

    Raises
    ------
    ParameterError
        M is not square, not symmetric, or has a negative eigenvalue, which is named.

    Examples
    --------
    >>> from manifold_lab.metrics import Mahalanobis, pairwise
    >>> metric = Mahalanobis([[2.0, 1.0], [1.0, 2.0]])
    >>> pairwise([[0.0, 0.0]], [[1.0, 1.0]], metric=metric).round(6)
    array([[2.44949]])
    >>> Mahalanobis([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
    ...
    manifold_lab.errors.ParameterError: M has the eigenvalue -1 (the largest is 3), so it is not \
positive semi-definite and gives no distance. Set negative eigenvalues to zero first.
    """

    def __init__(self, M):
        self._set(*_factor(_symmetric(M)))

    def _set(self, factor, powers):
        if factor.shape[1] == 0:
            factor = np.zeros((len(factor), 1))  # of rank zero: every distance is zero
        self._factor = frozen(factor)
        self._powers = np.asarray(powers, dtype=np.int64)
        self._powers.flags.writeable = False
        self.n_features = len(factor)

    @classmethod
    def from_factor(cls, P):
        """Return the metric of M = P P'.

        Parameters
        ----------
        P : array-like of shape (n_features, rank)
            Any real matrix; a linear reducer's is ``components_.T``.

        Examples
        --------
        >>> Mahalanobis.from_factor([[3.0], [4.0]]).M
        array([[ 9., 12.],
               [12., 16.]])
        """
        P = as_points(P, cls.__name__, name="P").astype(np.float64)
        powers = np.frexp(np.abs(P).max(axis=1))[1]
        metric = cls.__new__(cls)
        metric._set(scaled(P, -powers[:, None]), powers)
        return metric

    @classmethod
    def from_covariance(cls, X):
        """Return the classical choice, M the inverse of the covariance matrix of X.

        Every column is scaled by its own power of two first, so columns of very different units
        lose nothing. Where the covariance is singular, differences along the directions that X
        does not have are not counted, with a warning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two samples.

        Examples
        --------
        >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 20.0], [2.0, 20.0]]
        >>> Mahalanobis.from_covariance(X).M.round(6) + 0
        array([[0.75  , 0.    ],
               [0.    , 0.0075]])
        """
        A = as_points(X, f"{cls.__name__}.from_covariance", min_samples=2)
        n, d = A.shape
        into = -np.frexp(np.maximum(A.max(axis=0), -A.min(axis=0)).astype(np.float64))[1]
        Y = scaled(A, into)
        Y = Y - Y[0]  # exact near an offset, so that the mean is one of small numbers
        Y -= Y.mean(axis=0)
        spread = -np.frexp(np.abs(Y).max(axis=0))[1]
        Y = scaled(Y, spread)
        if n > d:
            Y = np.linalg.qr(Y, mode="r")
        _, sizes, axes = scipy.linalg.svd(Y, full_matrices=False)
        kept = sizes > max(n, d) * 2**-52 * sizes[0]
        rank = int(np.count_nonzero(kept)) if sizes[0] > 0 else 0
        if rank < d:
            warn(
                DegenerateDataWarning(
                    f"The covariance of X has rank {rank} of {d}, so it has no inverse: "
                    "differences along the missing directions are not counted. Drop constant "
                    "or dependent columns, or reduce X with PCA first."
                )
            )
        factor = axes[:rank].T / sizes[:rank] * np.sqrt(n - 1)
        metric = cls.__new__(cls)
        metric._set(factor, into + spread)
        return metric

    @property
    def P(self):
        return scaled(self._factor, self._powers[:, None])

    @property
    def M(self):
        P = self.P
        with np.errstate(over="ignore", under="ignore"):
            return P @ P.T

    def _key(self):
        return self._factor, self._powers

    def __repr__(self):
        d, rank = self._factor.shape
        return f"<Mahalanobis of {d} features, rank {rank}>"

    def _map(self, X):
        return product(scaled(X, self._powers), self._factor)

    def frame(self, *arrays):
        return Frame(arrays, self._factor, self._powers)


def _symmetric(M):
    M = as_points(M, "Mahalanobis", name="M").astype(np.float64)
    n, d = M.shape
    if n != d:
        raise ParameterError(
            f"M must be square, got shape {M.shape}. A factor P of M = P P' goes to "
            "Mahalanobis.from_factor."
        )
    M = scaled(M, -1)  # sums of two entries stay finite
    apart, largest = np.abs(M - M.T), np.abs(M).max()
    if apart.max() > _ASYMMETRY * largest:
        i, j = divmod(int(apart.argmax()), d)
        raise ParameterError(
            f"M is not symmetric: M[{i}, {j}] = {2 * M[i, j]:g}, M[{j}, {i}] = {2 * M[j, i]:g}. "
            "Pass (M + M.T) / 2 if that is what is meant."
        )
    return M + M.T


def _factor(M):
    """Return ``(factor, powers)``, P = 2^powers factor, of a symmetric M."""
    d, top = len(M), exponent(M)
    values, vectors = np.linalg.eigh(scaled(M, -top))
    if values[0] < -_NEGATIVE * values[-1]:
        least, most = scaled(values[[0, -1]], top)
        raise ParameterError(
            f"M has the eigenvalue {least:.6g} (the largest is {most:.6g}), so it is not positive "
            "semi-definite and gives no distance. Set negative eigenvalues to zero first."
        )
    odd = top % 2
    roots, powers = values * (1 + odd), np.full(d, top // 2)
    # column by column, so that small units keep their digits; not where clipping would then
    # take more than rounding had added
    diagonal = np.diagonal(M)
    if (diagonal >= 0).all() and not M[diagonal == 0].any():
        own = np.where(diagonal > 0, np.frexp(diagonal)[1] // 2, 0)
        even = scaled(scaled(M, -own), -own[:, None])
        if np.isfinite(even).all():
            even_values, even_vectors = np.linalg.eigh(even)
            if even_values[0] >= -_NEGATIVE * even_values[-1]:
                roots, vectors, powers = even_values, even_vectors, own
    kept = roots > d * 2**-52 * roots[-1]
    return vectors[:, kept] * np.sqrt(roots[kept]), powers

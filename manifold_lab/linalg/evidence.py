"""How many principal axes are signal: Minka's evidence (pca.8) [minka2000]_."""

import numpy as np
from scipy.special import gammaln

EPS = np.finfo(np.float64).eps


def minka_dimension(values, n):
    """Return the dimension of largest evidence [minka2000]_ for eigenvalues of a scatter of n rows."""
    d = len(values)
    scores = [_minka_evidence(values / (n - 1), k, n) for k in range(1, d)]
    return 1 + int(np.argmax(scores)) if scores else 1


def _minka_evidence(variances, k, n):
    """Return log p(X | d' = k) by Laplace's method, up to a constant."""
    d = len(variances)
    noise = variances[k:].mean()
    if variances[k - 1] <= 0 or noise <= 0:
        return -np.inf
    i = np.arange(1, k + 1)
    sphere = (gammaln((d - i + 1) / 2) - np.log(np.pi) * (d - i + 1) / 2).sum() - k * np.log(2)
    likelihood = -n / 2 * (np.log(variances[:k]).sum() + (d - k) * np.log(noise))
    free = d * k - k * (k + 1) / 2
    smooth = np.concatenate([variances[:k], np.full(d - k, noise)])
    a, b = np.triu_indices(k, 1, d)
    # equal eigenvalues have no curvature between them: as close as rounding can tell, not zero
    gap = np.maximum(variances[a] - variances[b], EPS * variances[a])
    inverse_gap = np.maximum(1 / smooth[b] - 1 / smooth[a], EPS / smooth[a])
    curvature = (np.log(inverse_gap) + np.log(gap) + np.log(n)).sum()
    return (
        sphere + likelihood + (free + k) / 2 * np.log(2 * np.pi) - (curvature + k * np.log(n)) / 2
    )

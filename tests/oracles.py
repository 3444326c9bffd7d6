"""What each kernel computes, in a few lines of NumPy."""

import numpy as np


def centred_chunks(X, shift, factor, chunk):
    """y = x f - s less the mean of its chunk of rows, and these means, in long double."""
    Y = np.asarray(X, dtype=np.longdouble) * np.longdouble(factor) - shift
    chunks = [Y[i : i + chunk] for i in range(0, len(Y), chunk)]
    means = np.array([part.mean(axis=0) for part in chunks])
    return np.concatenate([part - mean for part, mean in zip(chunks, means, strict=True)]), means


def chunk_scatter(X, shift, factor, chunk):
    """Scatter about the means of chunks of y = x f - s, and these means, in long double."""
    Y, means = centred_chunks(X, shift, factor, chunk)
    return Y.T @ Y, means


def gram_rows(A):
    """A A' in double precision."""
    A = A.astype(np.float64)
    return A @ A.T


def solve_rows(G, B):
    """The rows x with G x = b for each row b of B, in double precision."""
    return np.linalg.solve(G.astype(np.float64), B.astype(np.float64).T).T


def shortest_paths(indptr, indices, weights):
    """Lengths of all shortest paths by Floyd and Warshall; the shortest of parallel edges counts."""
    D = np.full((len(indptr) - 1,) * 2, np.inf)
    np.minimum.at(D, (np.repeat(np.arange(len(D)), np.diff(indptr)), indices), weights)
    np.fill_diagonal(D, 0.0)
    for k in range(len(D)):
        D = np.minimum(D, D[:, k, None] + D[k])
    return D


def distances(X, Q=None):
    """Euclidean distances (m, n) of the rows of Q to those of X, in long double."""
    Q = X if Q is None else Q
    power = np.frexp(max(np.abs(X).max(), np.abs(Q).max()))[1]
    X, Q = (np.ldexp(np.asarray(A, dtype=np.longdouble), -power) for A in (X, Q))
    return np.ldexp(np.array([np.sqrt(((x - X) ** 2).sum(axis=1)) for x in Q]), power)


def knn(X, Q=None, *, k):
    """Distances and indices of the k nearest rows by (distance, index); X's own without itself."""
    D = distances(X, Q)
    if Q is None:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


def within(X, Q=None, *, eps):
    """Row pointers, indices and distances of the rows no farther than eps."""
    D = distances(X, Q)
    if Q is None:
        np.fill_diagonal(D, np.inf)
    found = [i[row[i] <= eps] for row, i in zip(D, np.argsort(D, 1, kind="stable"), strict=True)]
    indptr = np.cumsum([0, *map(len, found)])
    lengths = [row[i] for row, i in zip(D, found, strict=True)]
    return indptr, np.concatenate(found), np.concatenate(lengths)

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

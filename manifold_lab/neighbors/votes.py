"""Who votes, and with what weight: the neighbours of queries as flat lists.

A list has one entry a neighbour, sorted by (query, distance, index). A share is how much of a
training row counts: its sample weight, of which the last neighbour may give only a part.
"""

from typing import NamedTuple

import numpy as np

from manifold_lab.errors import ParameterError


class Neighbours(NamedTuple):
    """The neighbours of m queries."""

    m: int
    rows: np.ndarray  # whose neighbour it is
    ids: np.ndarray  # which of the training rows
    distances: np.ndarray
    shares: np.ndarray

    def part(self, first, last):
        """Return those of the queries first, ..., last - 1, which become 0, ..."""
        a, b = np.searchsorted(self.rows, (first, last))
        return Neighbours(last - first, self.rows[a:b] - first, *(v[a:b] for v in self[2:]))


def nearest(search, Q, k, weights):
    """Return the neighbours, nearest first, until their shares sum to k."""
    if weights is None:
        return dense(*search.knn(Q, k))
    n, found, waiting = len(weights), [], np.arange(len(Q))
    count = min(n, k)
    while len(waiting):
        D, ids = search.knn(np.ascontiguousarray(Q[waiting]), count)
        own = weights[ids]
        before = np.cumsum(own, axis=1) - own
        done = (before[:, -1] + own[:, -1] >= k) | (count == n)
        shares = np.clip(k - before[done], 0, own[done])
        rows = np.repeat(waiting[done], count)
        found.append((rows, ids[done].ravel(), D[done].ravel(), shares.ravel()))
        waiting, count = waiting[~done], min(n, 2 * count)
    rows, ids, D, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept = np.flatnonzero(shares > 0)
    kept = kept[np.argsort(rows[kept], kind="stable")]
    return Neighbours(len(Q), rows[kept], ids[kept], D[kept].astype(np.float64), shares[kept])


def dense(D, ids):
    """Return the neighbours of arrays (m, k) with a share of one each."""
    m, k = D.shape
    rows = np.repeat(np.arange(m), k)
    return Neighbours(m, rows, ids.ravel(), D.ravel().astype(np.float64), np.ones(m * k))


def around(search, Q, eps, weights):
    """Return all neighbours within eps."""
    indptr, ids, D = search.within(Q, eps)
    m = len(indptr) - 1
    shares = np.ones(len(ids)) if weights is None else weights[ids]
    rows = np.repeat(np.arange(m), np.diff(indptr))
    return Neighbours(m, rows, ids, D.astype(np.float64), shares)


def voices(found, weights, owner):
    """Return the weight of each neighbour: its share, by its distance if ``weights`` says so.

    Weights of one query matter only relative to each other, so "distance" divides the distance
    of the nearest by that of each, which cannot overflow.
    """
    if weights == "uniform":
        return found.shares
    D = found.distances
    if weights == "distance":
        nearest_of = np.zeros(found.m)
        nearest_of[found.rows[::-1]] = D[::-1]  # the first entry of a query is written last
        top = nearest_of[found.rows]
        with np.errstate(invalid="ignore", divide="ignore"):
            return found.shares * np.where(top == D, 1.0, top / D)  # 0 / D: a zero takes all
    w = np.asarray(weights(D.copy()), dtype=np.float64)
    if w.shape != D.shape:
        raise ParameterError(
            f"The weights function of {owner} got distances of shape {D.shape} and returned shape "
            f"{w.shape}. It must return a weight for each distance."
        )
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ParameterError(
            f"The weights function of {owner} returned {w[i]} for the distance {D[i]}. Weights "
            "must be finite and at least 0."
        )
    return found.shares * w


def sums(places, values, size):
    """Return the sums of the values that belong to each place, in order; of none, 0."""
    return np.bincount(places, values, size).astype(np.float64)  # numpy makes ints of no values


_CLOSE = 1e-12  # votes so close, relatively, are tied: sums of weights are rounded


def elect(found, codes, n_classes, voice, ties):
    """Return ``(votes, winner)``: the sums (m, n_classes), and the class of the largest."""
    m = found.m
    places = found.rows * n_classes + codes[found.ids]
    votes = sums(places, voice, m * n_classes).reshape(m, n_classes)
    return votes, decide(found, codes, votes, ties)


def decide(found, codes, votes, ties):
    """Return the class with most votes; ``ties`` says which of several."""
    tied = votes >= votes.max(axis=1, keepdims=True) * (1 - _CLOSE)
    open_rows = np.count_nonzero(tied, axis=1) > 1
    if ties == "smallest" or not open_rows.any():
        return tied.argmax(axis=1)
    n_classes = votes.shape[1]
    own = codes[found.ids]
    counts = tied[found.rows, own] & open_rows[found.rows] & (found.shares > 0)
    rows, own = found.rows[counts], own[counts]
    winner = tied.argmax(axis=1)
    if ties == "nearest":
        winner[rows[::-1]] = own[::-1]  # the nearest is written last
        return winner
    lengths = (found.distances * found.shares)[counts]
    paths = sums(rows * n_classes + own, lengths, votes.size).reshape(votes.shape)
    paths[~tied] = np.inf
    close = paths <= paths.min(axis=1, keepdims=True) * (1 + _CLOSE)
    winner[open_rows] = close[open_rows].argmax(axis=1)
    return winner

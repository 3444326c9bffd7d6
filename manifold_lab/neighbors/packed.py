"""Centred copies of points for the filter of a search, and bounds on what they lose.

y = (x - centre) factor, in float32 or float64, in groups of lanes (tile.pxd). The filter is
``qhat = |y_i|^2 + |y_j|^2 - 2 <y_i, y_j>``; docs/neighbors.md (nn.1) and (nn.2) bound its errors.
"""

from typing import NamedTuple

import numpy as np

from manifold_lab._kernels import levels
from manifold_lab.neighbors.pieces import pieces, team

CACHE_BYTES = 2**19  # of packed points that stay in a core's cache


class Packed(NamedTuple):
    """Points in groups of lanes, with norms |y|^2 and lengths >= |y|."""

    groups: np.ndarray  # (g, d, lanes)
    norms: np.ndarray  # (g * lanes,), infinite in empty lanes
    lengths: np.ndarray  # (g * lanes,), float64
    longest: float

    @property
    def lanes(self):
        return self.groups.shape[2]

    @property
    def block(self):
        """How many groups stay in the cache together."""
        _, d, lanes = self.groups.shape
        return int(np.clip(CACHE_BYTES // (d * 128), 1, 512 // lanes))


class Copies:
    """The packed copies of one set of points, each made when it is first needed."""

    def __init__(self, points, n_jobs):
        self.points, self.n_jobs = points, n_jobs
        sample = points[:: max(1, len(points) // 1000)].astype(np.float64)
        self.centre = sample.mean(axis=0)
        top = np.abs(sample - self.centre).max()
        self.factor = float(np.ldexp(1.0, -np.frexp(top)[1]))  # brings most of y near one
        self._kept = {}

    def __getitem__(self, dtype):
        if dtype not in self._kept:
            self._kept[dtype] = self.pack(self.points, dtype)
        return self._kept[dtype]

    def pack(self, points, dtype):
        """Return points, of this set or others, in groups."""
        n, d = points.shape
        lanes = 128 // np.dtype(dtype).itemsize
        g = -(-n // lanes)
        groups = _aligned((g, d, lanes), dtype)
        norms, lengths = np.empty(g * lanes, dtype), np.zeros(g * lanes)
        for first, last in pieces(g, 256):
            part, rows = slice(first, last), slice(first * lanes, last * lanes)
            out = groups[part], norms[rows], lengths[rows]
            levels.load("neighbors").pack(
                points[rows], self.centre, self.factor, *out, team(self.n_jobs, 8 * n * d)
            )
        return Packed(groups, norms, lengths, float(lengths.max()))

    def errors(self, lengths, dtype):
        """Return (eta, E): what packing loses of a distance, and products of a qhat, by row.

        eta = eta_i + eta_max with eta_i = 2 u |y_i|, and E = gamma_{d+3} (|y_i| + max |y|)^2, in
        units of y; both with room for what is below the smallest normal number.
        """
        d, info = self.points.shape[1], np.finfo(dtype)
        u, tiny = float(info.eps) / 2, float(info.tiny)
        reach = lengths + self[dtype].longest
        gamma = (d + 4) * u / (1 - (d + 4) * u)
        eta = 2 * u * reach + 2 * np.sqrt(d) * tiny
        return eta, gamma * reach * reach * (1 + 1e-12) + (2 * d + 2) * tiny

    def reach(self, r):
        """Return a distance r in units of y, rounded up."""
        return r * self.factor * (1 + (2 * self.points.shape[1] + 12) * 2.0**-52)

    def proved(self, r_k, worst, lengths, dtype):
        """Say for which rows no point outside the candidates can be among the k nearest.

        A point that was rejected has qhat >= worst, so |y_i - y_j|^2 >= worst - E and its distance,
        in units of y, is at least sqrt(worst - E) - eta: more than the k-th candidate's.
        """
        eta, error = self.errors(lengths, dtype)
        with np.errstate(invalid="ignore"):  # inf - inf: what overflowed proves nothing
            room = np.sqrt(np.maximum(worst.astype(np.float64) - error, 0))
            return self.reach(r_k) < room * (1 - 2.0**-50) - eta

    @np.errstate(over="ignore", invalid="ignore")  # a limit beyond all numbers excludes nothing
    def limits(self, radius, lengths, dtype):
        """Return the largest qhat that a point within ``radius`` can have, by row, in float64."""
        eta, error = self.errors(lengths, dtype)
        return (self.reach(radius) + eta) ** 2 * (1 + 2.0**-49) + error


def _aligned(shape, dtype):
    """Return an array whose groups start on cache lines."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + size].view(dtype).reshape(shape)

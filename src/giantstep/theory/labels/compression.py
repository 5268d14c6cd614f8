"""Laws of labels on few nodes, however many values they were made of: Gauss nodes between the edges of panels.

Averages of a function that is a polynomial on each panel are kept; weights may be negative.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement
from math import prod

import numpy as np

from ...gaussian import REACH, legendre
from ...gaussian.cuts import THIRDS, panels

_COUNTS = (16, 11, 7)  # nodes on a panel, on three rules, finest first,
_MORE = 4  # and more of them for each refinement
_OCTAVES = 2.0 ** np.arange(-1, 11)  # edges to either side of 0, over the size of a label
_IN_CACHE = 1 << 13  # values at a time
_NOISE_NODES = 20  # between edges, for averages over the noise
_SAME = 1e-10  # distance of edges, over the farthest, that is rounding
_NEGLIGIBLE = 1e-24  # weight of a node that changes no average


def separate(places: np.ndarray) -> np.ndarray:
    """In order, without those that differ by rounding."""
    places = np.sort(places)
    return places[np.diff(places, prepend=-np.inf) > _SAME * np.abs(places).max()]


def panel_nodes(edges: np.ndarray, count: int) -> np.ndarray:
    """Gauss nodes between edges, end to end."""
    half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    return (middle[:, None] + half[:, None] * legendre(count)[0]).reshape(-1)


@lru_cache
def _to_lagrange(count: int) -> np.ndarray:
    """From values of Legendre's polynomials to those of Lagrange's through the nodes, [count, count]."""
    return np.linalg.inv(np.polynomial.legendre.legvander(legendre(count)[0], count - 1))


def compress_law(y: np.ndarray, weights: np.ndarray, which: np.ndarray, edges: np.ndarray, count: int) -> np.ndarray:
    """Laws of values y [...] with weights [rows, ...] on the nodes between edges: [rows, laws, nodes].

    A value belongs to law `which` [...], 0 to laws - 1. On a panel, w at y becomes Σ_i L_i(y) w at its nodes y_i, with
    Lagrange's polynomials L_i: Σ_i L_i(y) g(y_i) is g(y) for polynomials g. Averages of Legendre's come first, as
    matrix products over the values on one panel of one law: three to ten times faster than a sum for each polynomial.
    """
    y = np.clip(y, edges[0], edges[-1])
    panel = np.clip(np.searchsorted(edges, y.reshape(-1), side="right") - 1, 0, len(edges) - 2)
    left, right = edges[panel], edges[panel + 1]
    t = (2.0 * y.reshape(-1) - left - right) / (right - left)  # places on the panels, from -1 to 1
    place = np.broadcast_to(which, y.shape).reshape(-1) * (len(edges) - 1) + panel
    order = np.argsort(place, kind="stable")
    laws, rows = int(which.max()) + 1, len(weights)
    flat = np.broadcast_to(weights, (rows, *y.shape)).reshape(rows, -1)
    averages = np.zeros((laws * (len(edges) - 1), rows, count))
    for part in np.array_split(order, -(-len(order) // _IN_CACHE)):
        basis, own = np.polynomial.legendre.legvander(t[part], count - 1), flat[:, part]
        occupied, starts = np.unique(place[part], return_index=True)
        for p, start, end in zip(occupied, starts, [*starts[1:], len(part)], strict=True):
            averages[p] += own[:, start:end] @ basis[start:end]
    nodes = (averages @ _to_lagrange(count)).reshape(laws, -1, rows, count)
    return np.moveaxis(nodes, 2, 0).reshape(rows, laws, -1)


def pairs(count: int) -> list[tuple[int, int]]:
    """Of variables j ≤ l, in the order of a batch's rows."""
    return list(combinations_with_replacement(range(count), 2))


def monomials(count: int) -> list[tuple[int, ...]]:
    """1, y_j and y_j y_l as the variables in them, in the order of a batch's rows."""
    return [(), *((j,) for j in range(count)), *pairs(count)]


def with_monomials(v: np.ndarray, w: np.ndarray, rows: int | None = None) -> np.ndarray:
    """w·(1, v_j, v_j v_l) for variables v [m, ...] and weights w [...], or the first few of these: [rows, ...]."""
    return np.stack([prod((v[j] for j in which), start=w) for which in monomials(len(v))[:rows]])


class LabelNodes:
    """Nodes for laws of labels: ±1, or for real labels of a `size` between edges at 0 and ±size·2^i.

    There are edges at `levels` too, at which functions of labels may bend. `coarser` (0, 1 or 2) is one of three rules
    whose differences show what compression costs.
    """

    def __init__(self, size: float | None, coarser: int, finer: int, levels: tuple[float, ...] = ()):
        self._binary, self._count = size is None, _COUNTS[coarser] + _MORE * finer
        edges = (size or 1.0) * np.concatenate([-_OCTAVES[::-1], [0.0], _OCTAVES])
        self._edges = separate(np.concatenate([edges, levels]))
        self.values = np.array([1.0, -1.0]) if self._binary else panel_nodes(self._edges, self._count)
        self._blurs: dict[float, np.ndarray] = {}

    def compress(self, mean: np.ndarray, rows: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Labels with E[Y | z] = mean [...] and weights rows [rows, ...] of several laws: [laws, rows, nodes].

        A label ±1 is 1 with probability (1 + E[Y | z])/2; a real one is its mean, noise apart.
        """
        if not self._binary:
            return np.moveaxis(compress_law(mean, rows, which, self._edges, self._count), 0, 1)
        where = np.broadcast_to(which, mean.shape).reshape(-1)
        sums = [[np.bincount(where, (w * p).reshape(-1)) for p in (1.0 + mean, 1.0 - mean)] for w in rows]
        return 0.5 * np.moveaxis(np.array(sums), -1, 0)

    def _blur(self, noise: float) -> np.ndarray:
        """From a label at each node to the law of that label with noise, [nodes, nodes]."""
        if noise not in self._blurs:
            at, which = self.values[:, None], np.arange(len(self.values))[:, None]
            x, w = panels((self._edges - at) / noise, _NOISE_NODES, REACH * THIRDS)
            self._blurs[noise] = compress_law(at + noise * x, w[None], which, self._edges, self._count)[0]
        return self._blurs[noise]

    def with_noise(self, weights: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels [U, N, J] and weights [U, N, rows, J] of U settings with Gaussian noise [U] added to real labels;
        without nodes of no weight."""
        if noise.any() and not self._binary:
            weights = weights.copy()
            for level in np.unique(noise[noise > 0.0]).tolist():
                weights[noise == level] = weights[noise == level] @ self._blur(level)
        used = np.abs(weights).reshape(-1, weights.shape[-1]).max(axis=0) > _NEGLIGIBLE
        return np.broadcast_to(self.values[used], (*weights.shape[:2], used.sum())), weights[..., used]


@lru_cache
def label_nodes(size: float | None, coarser: int, finer: int, levels: tuple[float, ...] = ()) -> LabelNodes:
    """Those nodes, with what is known of noise on them: a second batch with the same noise takes half the time."""
    return LabelNodes(size, coarser, finer, levels)

"""Real labels of several directions as fields near a given one see them: a law on a line and a short series.

Given κ, a field along P0·y leaves b = T - P0·y of the label, and only its law matters, which a few nodes b_i carry over
from all the nodes y. A field along P·y sees the same nodes moved by (P0 - P)·y: with v = (P0 - P)/scale, where scale is
the standard deviation of what is averaged besides, u(b + (P0 - P)·y) has the average

    Σ_i Σ_a c_a(b_i) v^a/√a!  scale^|a| ū^(|a|)(b_i),   c_a(b_i) = E[h_a(y); b_i],

ū being that of u(b_i + scale·z). Derivatives of that sum in v are the averages with how the label follows y. Terms fall
as |v|^|a|: all fields around P0 share a table c_a, and those at P0 itself take its first two degrees.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..upto import upto
from .pieces import carried, table_nodes
from .series import hermite, orders

_COUNT = 12  # nodes in a piece of the line of b,
_WIDTH = 4.0  # its width over the scale of what is averaged there, in the midst of the law,
_WIDEST = 6.0  # and in its tails at most, over that
_WORTH = 0.6  # nodes b over nodes y beyond which nothing is gained
_LARGEST = 1 << 16  # numbers of a law that all nodes y make, beyond which they are not kept
_BLOCK = 1 << 18  # polynomials in flight,
_LEAST = 512  # at this many nodes y or more


class NearLaw:
    """Laws around P0 [k, N] for fields at least as wide as `scale` [N], of polynomials up to `degree`.

    From nodes y [k, Q] with weights w [Q], labels T [Q] there, and `counts` [N] of them at each κ, which is met as
    often as `there` [N] says. Pieces of laws are `wider` than usual.
    """

    def __init__(
        self,
        P0: np.ndarray,
        scale: np.ndarray,
        degree: int,
        nodes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        there: np.ndarray,
        wider: float,
    ):
        self.P0, self.scale = P0, scale
        y, w, T, counts = nodes
        ends = np.concatenate([[0], np.cumsum(counts)])
        nodes_b: list[np.ndarray] = []
        tables: list[np.ndarray] = []
        few = len(orders(len(y), degree).a)
        for n in range(len(counts)):
            here = slice(ends[n], ends[n + 1])
            b = T[here] - P0[:, n] @ y[:, here]
            order = np.argsort(b)
            b, weights = b[order], w[here][order]
            edges = _edges(b, there[n] * weights, wider * _WIDTH * scale[n], _WORTH * len(b) / _COUNT)
            if edges is None and len(b) * few > _LARGEST:
                b, order, weights = b[:0], order[:0], weights[:0]
            tables.append(_on_nodes(b, y[:, here][:, order], weights, edges, degree))
            nodes_b.append(b if edges is None else table_nodes(edges, _COUNT))
        self.sizes = np.array([len(b) for b in nodes_b])
        self.known = self.sizes > 0  # κ at which there is such a law
        self._starts = np.cumsum(self.sizes) - self.sizes
        self._b, self._c = np.concatenate(nodes_b), np.concatenate(tables, axis=1).T.copy()  # [I], [I, F]
        # c_a, b c_a and b² c_a for |a| ≤ 2, summed over all nodes before each
        low = self._c[:, : len(orders(len(y), min(degree, 2)).a)]
        moments = np.stack([low, self._b[:, None] * low, self._b[:, None] ** 2 * low], axis=-1)
        self._sums = np.concatenate([np.zeros((1, *moments.shape[1:])), np.cumsum(moments, axis=0)])
        self._first, self._last = (np.array([b[end] if len(b) else 0.0 for b in nodes_b]) for end in (0, -1))
        self._ranks = self._ranked(np.repeat(upto(len(counts)), self.sizes), self._b)
        self.nbytes = self._c.nbytes + self._sums.nbytes
        self.nodes = len(self._b) + int(counts[~self.known].sum())

    def _ranked(self, at: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Numbers in the order of κ, and of b at each."""
        span = np.maximum(self._last - self._first, 1e-300)[at]
        return 4.0 * at + np.clip((b - self._first[at]) / span, -1.0, 2.0)

    def between(self, at: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Places among all nodes of the first ones beyond ends [n, 4] at some κ `at` [n]; none beyond the last."""
        which = np.repeat(at, ends.shape[-1]).reshape(ends.shape)
        found = np.searchsorted(self._ranks, self._ranked(which, ends))
        return np.maximum.accumulate(found, axis=-1)

    def everywhere(self, at: np.ndarray) -> np.ndarray:
        """The same for all nodes there."""
        first, last = self._starts[at], self._starts[at] + self.sizes[at]
        return np.stack([first, last, last, last], axis=-1)

    def picked(self, places: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
        """b [n, I] and c [n, I, F] of nodes from place 0 to 1 and from place 2 to 3 [n, 4]; without weight beyond."""
        first, second = places[:, 1] - places[:, 0], places[:, 3] - places[:, 2]
        there = upto(max(1, int((first + second).max())))
        which = there + np.where(there < first[:, None], places[:, :1], (places[:, 2] - first)[:, None])
        inside = there < (first + second)[:, None]
        which = np.where(inside, which, np.minimum(places[:, :1], len(self._b) - 1))
        c = self._c[:, : len(orders(len(self.P0), degree).a)][which]
        c[~inside] = 0.0
        return self._b[which], c

    def beyond(self, at: np.ndarray, places: np.ndarray, degree: int) -> np.ndarray:
        """Sums over nodes before, between and behind those, [n, 3·3, F]: of powers of b, for each of three parts."""
        first = self._starts[at][:, None]
        ends = np.concatenate([first, places, first + self.sizes[at][:, None]], axis=1)
        size = len(orders(len(self.P0), degree).a)
        sums = np.diff(self._sums[:, :size][ends], axis=1)[:, ::2]  # [n, parts, F, powers]
        return np.transpose(sums, (0, 3, 1, 2)).reshape(len(at), 9, size)

    @staticmethod
    def terms(c: np.ndarray, v: np.ndarray, degree: int) -> np.ndarray:
        """Σ_{|a| = j} c_a v^a/√a! and its derivatives in v, [degree + 1, n, B, 1 + k, I].

        For c [n, I, F] and v [n, B, k].
        """
        n, B, k = v.shape
        a, starts, _ = orders(k, degree)
        ends = (*starts[1:], len(a))
        powers = np.empty((degree + 2, n, B, k))
        powers[0], powers[1] = 0.0, 1.0  # the first stands for v^-1, which is never asked for
        for j in range(degree):
            np.multiply(powers[j + 1], v, out=powers[j + 2])
        factors = [np.moveaxis(powers[1:, ..., m][a[:, m]], 0, -1) for m in range(k)]  # [n, B, F]
        slopes = [np.moveaxis(powers[:-1, ..., m][a[:, m]], 0, -1) * a[:, m] for m in range(k)]
        rows = np.empty((n, B, 1 + k, len(a)))
        rows[:, :, 0] = np.prod(factors, axis=0)
        for m in range(k):
            rows[:, :, 1 + m] = np.prod([*factors[:m], slopes[m], *factors[m + 1 :]], axis=0)
        found = np.empty((degree + 1, n, B * (1 + k), c.shape[1]))
        for j, (start, end) in enumerate(zip(starts, ends, strict=True)):
            here = np.swapaxes(c[..., start:end], 1, 2)
            np.matmul(rows[..., start:end].reshape(n, B * (1 + k), -1), here, out=found[j])
        return found.reshape(degree + 1, n, B, 1 + k, -1)


def _edges(b: np.ndarray, mass: np.ndarray, width: float, most: float) -> np.ndarray | None:
    """Of the pieces of a law of sorted b [J], wider in the tails, which count less; None for more than `most`.

    What pieces lose falls as their width to the power of the number of nodes in them.
    """
    square = b - (mass @ b) / mass.sum()
    square *= square
    mass = mass * (1.0 + square * (mass.sum() / max(mass @ square, 1e-300)))
    below = np.cumsum(mass)
    above = below[-1] - below
    middle = float(b[np.searchsorted(below, 0.5 * below[-1])])
    sides: list[list[float]] = []
    for sign, far, tail in ((-1.0, float(b[0]), below), (1.0, float(b[-1]), above)):
        at, side = middle, [middle]
        while sign * at < sign * far:
            beyond = tail[max(int(b.searchsorted(at, side="right")) - 1, 0)]
            at += sign * width * min(max(float(beyond), 1e-300) ** (-1.0 / _COUNT), _WIDEST)
            side.append(at)
            if len(side) > most:
                return None
        sides.append(side)
    left, right = sides
    if len(left) + len(right) - 2 > most:
        return None
    return np.array([*reversed(left[1:]), *right]) if len(left) + len(right) > 2 else None


def _on_nodes(
    b: np.ndarray, y: np.ndarray, w: np.ndarray, edges: np.ndarray | None, degree: int
) -> np.ndarray:
    """c_a/√a! on the nodes between edges, or at sorted b [J] themselves: [F, I]; for y [k, J]."""
    order, scale = _products(len(y), degree)
    found = np.zeros((len(order), len(b) if edges is None else (len(edges) - 1) * _COUNT))
    size = max(_LEAST, _BLOCK // len(order))
    for part in (slice(i, i + size) for i in range(0, len(b), size)):
        rows = np.empty((len(order), len(b[part])))
        _multiplied(hermite(y[:, part], degree), w[part], rows)
        if edges is None:
            found[:, part] = rows
        else:
            found += carried(b[part], rows, edges, _COUNT)
    return found[order] * scale[:, None]


def _multiplied(h: np.ndarray, before: np.ndarray, rows: np.ndarray) -> int:
    """Rows before·Π_m h_{a_m}(y_m) for polynomials h [degree + 1, k, J] and all |a| ≤ degree, the last a_m fastest; how
    many there are."""
    if h.shape[1] == 1:
        np.multiply(h[:, 0], before, out=rows[: len(h)])
        return len(h)
    done = 0
    for j in range(len(h)):
        done += _multiplied(h[: len(h) - j, 1:], before * h[j, 0] if j else before, rows[done:])
    return done


@lru_cache(maxsize=16)
def _products(k: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Where `orders` stand among those rows, and 1/√a! for them."""
    from scipy.special import gammaln

    a = orders(k, degree).a
    place = np.empty(len(a), int)
    place[np.lexsort(a.T[::-1])] = upto(len(a))
    return place, np.exp(-0.5 * gammaln(a + 1.0).sum(axis=1))

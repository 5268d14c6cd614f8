"""What the samples of one batch answer, Z = (1 + Dx)⁻¹ D with x = X/α, and averages over them.

With one group of neurons every entry of Z is a combination of a few functions g of the sample over det(1 + Dx), which
is another one. Averages are then products of 1/det with tables of g, and no matrix is made for any sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..symmetric import triangle, upper_triangle

if TYPE_CHECKING:
    from .level import Level

_BLOCK, _FEWEST = 1 << 16, 64  # numbers in flight while groups are eliminated, and samples at least


@lru_cache(maxsize=64)
def _paired(size: int) -> np.ndarray:
    """Where Z_ac Z_bd stands among the products Z_e Z_f, row by row, [(a b), (c d)]."""
    entry = triangle(size)
    place = entry[:, None, :, None] * (entry.max() + 1) + entry[None, :, None, :]
    return place.reshape(size * size, size * size)


class Moments(NamedTuple):
    """E[f f' Z] [U, A, F·Q, F·Q], E[x_i f Z] [U, A, directions, Q, F·Q] and E[(x_i x_l - δ_il) Z]."""

    both: np.ndarray
    along: np.ndarray
    excess: np.ndarray


class Answer(ABC):
    """Z of every sample of a level at one x per grid point, [U, A, Q, Q].

    Z is symmetric: `entry` [Q, Q] tells which of its different entries e stands where.
    """

    entry: np.ndarray

    def __init__(self, level: Level, x: np.ndarray):
        self.level, self.x = level, x

    @cached_property
    @abstractmethod
    def _mean(self) -> np.ndarray:
        """E[Z_e], [U, A, entries]."""

    @cached_property
    @abstractmethod
    def _pairs(self) -> np.ndarray:
        """E[Z_e Z_f], [U, A, entries, entries]."""

    @abstractmethod
    def _tested(self, dX: np.ndarray | None) -> np.ndarray:
        """Averages of Z_e against the level's tests, or of its change with dX, [U, A, entries, tests]."""

    @abstractmethod
    def values(self) -> np.ndarray:
        """Z itself, [U, A, Q, Q, n]."""

    @property
    def mean(self) -> np.ndarray:
        """E[Z], [U, A, Q, Q]."""
        return np.take(self._mean, self.entry, axis=-1)

    @property
    def pairs(self) -> np.ndarray:
        """𝒵 = E[Z ⊗ Z]/α on row-major vec, [U, A, Q², Q²]: minus the derivative of E[Z] by X."""
        both = self._pairs.reshape(*self.x.shape[:2], -1)
        return np.take(both, _paired(len(self.entry)), axis=-1) * self.level.scale

    @cached_property
    def moments(self) -> Moments:
        """E[f f' Z] and its likes."""
        return self.level.moments(self._tested(None)[:, :, self.entry])

    def slopes(self, dX: np.ndarray) -> Moments:
        """Their change with dZ = -Z dX Z/α."""
        return self.level.moments(self._tested(dX)[:, :, self.entry])


class SolvedAnswer(Answer):
    """Any number of groups: the groups of every sample are eliminated one after the other, some samples at a time."""

    def __init__(self, level: Level, x: np.ndarray):
        super().__init__(level, x)
        self._upper, self.entry = upper_triangle(level.rank), triangle(level.rank)
        self._x = np.moveaxis(x, (-2, -1), (0, 1))[..., None]  # [Q, Q, U, A, 1]

    def _parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Z of some samples after the other, [Q, Q, U, A, samples]: few enough to stay in cache."""
        n, Q, K = self.level.D.shape[-1], self.level.rank, self.level.spike.shape[1]
        step = max(_FEWEST, _BLOCK // (Q * Q * self._x[0, 0].size))
        D = np.moveaxis(self.level.D, (1, 2), (0, 1))[:, :, :, None]  # [Q, Q, U, 1, n]
        for low in range(0, n, step):
            part = slice(low, low + step)
            yield part, _eliminated(np.ascontiguousarray(D[..., part]), self._x, K)

    @cached_property
    def _averaged(self) -> tuple[np.ndarray, np.ndarray]:
        E = len(self._upper[0])
        mean = np.zeros((E, *self._x.shape[2:4]), self._x.dtype)
        both = np.zeros((*self._x.shape[2:4], E, E), self._x.dtype)
        for part, Z in self._parts():
            w, values = self.level.mean[:, None, part], Z[self._upper]  # [E, U, A, samples]
            weighed = values * w
            mean += weighed.sum(axis=-1)
            both += np.moveaxis(weighed, 0, 2) @ np.moveaxis(values, 0, 3)
        return np.moveaxis(mean, 0, 2), both

    @cached_property
    def _mean(self) -> np.ndarray:
        return self._averaged[0]

    @cached_property
    def _pairs(self) -> np.ndarray:
        return self._averaged[1]

    def _tested(self, dX: np.ndarray | None) -> np.ndarray:
        found: np.ndarray | float = 0.0
        dx = None if dX is None else np.moveaxis(dX * self.level.scale, (-2, -1), (0, 1))[..., None]
        for part, Z in self._parts():
            values = (Z if dx is None else -_times(_times(Z, dx), Z))[self._upper]
            found = found + values @ self.level.tests[:, part]
        return np.moveaxis(np.asarray(found), 0, 2)

    def values(self) -> np.ndarray:
        return np.moveaxis(np.concatenate([Z for _, Z in self._parts()], axis=-1), (0, 1), (2, 3))


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of matrices [i, k, ...] and [k, j, ...], one for every sample."""
    total = a[:, 0, None] * b[None, 0]
    for k in range(1, len(b)):
        total += a[:, k, None] * b[None, k]
    return total


def _inverse(a: np.ndarray) -> np.ndarray:
    """Of matrices [1, 1, ...] or [2, 2, ...]."""
    if len(a) == 1:
        return 1.0 / a
    found = np.stack([np.stack([a[1, 1], -a[0, 1]]), np.stack([-a[1, 0], a[0, 0]])])
    found /= a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return found


def _eliminated(D: np.ndarray, x: np.ndarray, K: int) -> np.ndarray:
    """Z = (1 + Dx)⁻¹ D by Gauss and Jordan over the K groups, whose rows are a_s and b_s, or a_s alone: D does not mix
    groups. A pivot is the determinant that its group would have without those that follow."""
    rows = [np.arange(s, len(D), K) for s in range(K)]
    own = [D[np.ix_(at, at)] for at in rows]
    size = len(rows[0])
    M = [[_times(d, x[np.ix_(at, to)]) for to in rows] for d, at in zip(own, rows, strict=True)]
    for s in range(K):
        M[s][s] += np.eye(size).reshape(size, size, *(1,) * (x.ndim - 2))
    Z: list[list[np.ndarray | None]] = [[d if s == t else None for t in range(K)] for s, d in enumerate(own)]
    for s in range(K):
        pivot = _inverse(M[s][s])
        for t in range(s + 1, K):
            M[s][t] = _times(pivot, M[s][t])
        for t in range(s + 1):
            Z[s][t] = _times(pivot, Z[s][t])  # type: ignore[arg-type]
        for other in range(K):
            if other == s:
                continue
            factor = M[other][s]
            for t in range(s + 1, K):
                M[other][t] = M[other][t] - _times(factor, M[s][t])
            for t in range(s + 1):
                taken, before = _times(factor, Z[s][t]), Z[other][t]  # type: ignore[arg-type]
                Z[other][t] = -taken if before is None else before - taken
    found = np.empty((len(D), len(D), *M[0][0].shape[2:]), np.result_type(D, x))
    for s in range(K):
        for t in range(K):
            found[np.ix_(rows[s], rows[t])] = Z[s][t]
    return found


def systems(D: np.ndarray, x: np.ndarray) -> np.ndarray:
    """1 + Dx for every sample, [U, A, n, Q, Q]: one product of two large matrices."""
    U, A, Q = x.shape[:3]
    n = D.shape[-1]
    left = np.moveaxis(D, -1, 1).reshape(U, n * Q, Q)
    right = np.swapaxes(x, 1, 2).reshape(U, Q, A * Q)
    return np.eye(Q) + (left @ right).reshape(U, n, Q, A, Q).transpose(0, 3, 1, 2, 4)


@dataclass(frozen=True)
class Quotient:
    """Z_e = Σ_i N_ei(x) g_i / (1 + Σ_i L_i(x) g_i) for the entries e of Z that differ.

    Of D = (p) that is Z = p/(1 + px). Of D = (p s; s 0), with g = (p, s, s²), it is

        Z = (p - s² x3, s + s² x2; ·, -s² x1) / (1 + p x1 + 2 s x2 - s² (x1 x3 - x2²)),      x = (x1 x2; x2 x3).
    """

    g: np.ndarray  # [U, G, n]
    entry: np.ndarray  # which e is Z_ab, [Q, Q]
    weights: np.ndarray  # of samples in averages, [U, n]

    @staticmethod
    def of(level: Level) -> Quotient | None:
        """None where it is not known."""
        D = level.D
        if level.rank == 1:
            g = D[:, 0]
        elif level.rank == 2 and not np.any(D[:, 1, 1]):
            p, s = D[:, 0, 0], D[:, 0, 1]
            g = np.stack([p, s, s * s], axis=1)
        else:
            return None
        return Quotient(g, triangle(level.rank), level.mean)

    @cached_property
    def products(self) -> np.ndarray:
        """g_i g_j, i ≤ j, [U, pairs, n]."""
        i, j = upper_triangle(self.g.shape[1])
        return self.g[:, i] * self.g[:, j]

    @cached_property
    def weighted(self) -> np.ndarray:
        """g, to average with, [U, n, G]."""
        return np.ascontiguousarray(np.swapaxes(self.g * self.weights[:, None], -1, -2))

    @cached_property
    def weighted_products(self) -> np.ndarray:
        """Those products, to average with, [U, n, pairs]."""
        return np.ascontiguousarray(np.swapaxes(self.products * self.weights[:, None], -1, -2))

    def determinant(self, x: np.ndarray) -> np.ndarray:
        """1 + Σ L_i g_i, [U, A, n]."""
        if x.shape[-1] == 1:
            L = x[..., 0]
        else:
            x1, x2, x3 = x[..., 0, 0], x[..., 0, 1], x[..., 1, 1]
            L = np.stack([x1, 2.0 * x2, x2 * x2 - x1 * x3], axis=-1)
        found = L @ self.g
        found += 1.0
        return found

    def numerators(self, x: np.ndarray) -> np.ndarray:
        """N, [U, A, entries, G]."""
        if x.shape[-1] == 1:
            return np.ones((*x.shape[:2], 1, 1), x.dtype)
        N = np.zeros((*x.shape[:2], 3, 3), x.dtype)
        N[..., 0, 0] = N[..., 1, 1] = 1.0
        N[..., 0, 2], N[..., 1, 2], N[..., 2, 2] = -x[..., 1, 1], x[..., 0, 1], -x[..., 0, 0]
        return N


class QuotientAnswer(Answer):
    """One group: everything from 1/det and tables."""

    def __init__(self, level: Level, quotient: Quotient, x: np.ndarray):
        super().__init__(level, x)
        self.quotient, self.entry, self.N = quotient, quotient.entry, quotient.numerators(x)
        self.inverse = 1.0 / quotient.determinant(x)

    @cached_property
    def _squared(self) -> np.ndarray:
        return self.inverse * self.inverse

    @cached_property
    def _mean(self) -> np.ndarray:
        return (self.N @ (self.inverse @ self.quotient.weighted)[..., None])[..., 0]

    @cached_property
    def _pairs(self) -> np.ndarray:
        N = self.N
        i, j = upper_triangle(N.shape[-1])
        both = np.empty((*N.shape[:2], *N.shape[-1:] * 2), N.dtype)
        both[..., i, j] = both[..., j, i] = self._squared @ self.quotient.weighted_products
        return N @ both @ np.swapaxes(N, -1, -2)

    def _values(self) -> np.ndarray:
        return (self.N @ self.quotient.g[:, None]) * self.inverse[:, :, None]

    def values(self) -> np.ndarray:
        return self._values()[:, :, self.entry]

    def _tested(self, dX: np.ndarray | None) -> np.ndarray:
        values = self._values() if dX is None else self._change(dX)
        U, A, E = values.shape[:3]
        return (values.reshape(U, A * E, -1) @ self.level.tests).reshape(U, A, E, -1)

    def _change(self, dX: np.ndarray) -> np.ndarray:
        """-Z dx Z: combinations of products g_i g_j over det²."""
        full = self.N[:, :, self.entry]  # [U, A, Q, Q, G]
        dx = dX * self.level.scale
        pushed = np.einsum("uaikg,uakl->uailg", full, dx)
        inside = np.einsum("uailg,ualjh->uaijgh", pushed, full)
        i, j = upper_triangle(self.N.shape[-1])
        both = inside[..., i, j] + np.where(i == j, 0.0, inside[..., j, i])
        both = both[:, :, *upper_triangle(len(self.entry))]
        return -(both @ self.quotient.products[:, None]) * self._squared[:, :, None]

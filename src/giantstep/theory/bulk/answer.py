"""What the samples of one batch answer, Z = (1 + Dx)⁻¹ D with x = X/α, and averages over them.

With one group of neurons every entry of Z is a combination of a few functions g of the sample over det(1 + Dx), which
is another one. Averages are then products of 1/det with tables of g, and no matrix is made for any sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .level import Level


class Moments(NamedTuple):
    """E[f f' Z] [U, A, F·Q, F·Q], E[x_i f Z] [U, A, directions, Q, F·Q] and E[(x_i x_l - δ_il) Z]."""

    both: np.ndarray
    along: np.ndarray
    excess: np.ndarray


class Answer(ABC):
    """Z of every sample of a level at one x per grid point, [U, A, Q, Q]."""

    def __init__(self, level: Level, x: np.ndarray):
        self.level, self.x = level, x

    @cached_property
    @abstractmethod
    def mean(self) -> np.ndarray:
        """E[Z], [U, A, Q, Q]."""

    @cached_property
    @abstractmethod
    def pairs(self) -> np.ndarray:
        """𝒵 = E[Z ⊗ Z]/α on row-major vec, [U, A, Q², Q²]: minus the derivative of E[Z] by X."""

    @abstractmethod
    def values(self) -> np.ndarray:
        """Z itself, [U, A, Q, Q, n]."""

    @cached_property
    @abstractmethod
    def moments(self) -> Moments:
        """E[f f' Z] and its likes."""

    @abstractmethod
    def slopes(self, dX: np.ndarray) -> Moments:
        """Their change with dZ = -Z dX Z/α."""


class SolvedAnswer(Answer):
    """Any number of groups: a small linear system for every sample."""

    @cached_property
    def _Z(self) -> np.ndarray:
        D = np.moveaxis(self.level.D[:, None], -1, 2)
        return np.moveaxis(np.linalg.solve(systems(self.level.D, self.x), D), 2, -1)

    @cached_property
    def mean(self) -> np.ndarray:
        return (self._Z @ self.level.mean[:, None, None, :, None])[..., 0]

    @cached_property
    def pairs(self) -> np.ndarray:
        U, A, Q = self.x.shape[:3]
        flat = self._Z.reshape(U, A, Q * Q, -1)
        both = (flat * self.level.mean[:, None, None]) @ np.swapaxes(flat, -1, -2)
        both = both.reshape(U, A, Q, Q, Q, Q)  # (a c)(b d)
        return np.swapaxes(both, 3, 4).reshape(U, A, Q * Q, Q * Q) * self.level.scale

    def values(self) -> np.ndarray:
        return self._Z

    @cached_property
    def moments(self) -> Moments:
        return self._tested(self._Z)

    def slopes(self, dX: np.ndarray) -> Moments:
        dx = dX * self.level.scale
        return self._tested(-np.einsum("uaijn,uajk,uakln->uailn", self._Z, dx, self._Z, optimize=True))

    def _tested(self, Z: np.ndarray) -> Moments:
        U, A, Q = Z.shape[:3]
        found = Z.reshape(U, A, Q * Q, -1) @ self.level.tests[:, None]
        return self.level.moments(found.reshape(U, A, Q, Q, -1))


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
            g, entry = D[:, 0], np.zeros((1, 1), int)
        elif level.rank == 2 and not np.any(D[:, 1, 1]):
            p, s = D[:, 0, 0], D[:, 0, 1]
            g, entry = np.stack([p, s, s * s], axis=1), np.array([[0, 1], [1, 2]])
        else:
            return None
        return Quotient(g, entry, level.mean)

    @cached_property
    def products(self) -> np.ndarray:
        """g_i g_j, i ≤ j, [U, pairs, n]."""
        i, j = np.triu_indices(self.g.shape[1])
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
            return np.ones((*x.shape[:2], 1, 1))
        N = np.zeros((*x.shape[:2], 3, 3), x.dtype)
        N[..., 0, 0] = N[..., 1, 1] = 1.0
        N[..., 0, 2], N[..., 1, 2], N[..., 2, 2] = -x[..., 1, 1], x[..., 0, 1], -x[..., 0, 0]
        return N


class QuotientAnswer(Answer):
    """One group: everything from 1/det and tables."""

    def __init__(self, level: Level, quotient: Quotient, x: np.ndarray):
        super().__init__(level, x)
        self.quotient, self.N = quotient, quotient.numerators(x)
        self.inverse = 1.0 / quotient.determinant(x)

    @cached_property
    def _squared(self) -> np.ndarray:
        return self.inverse * self.inverse

    @cached_property
    def mean(self) -> np.ndarray:
        found = self.N @ (self.inverse @ self.quotient.weighted)[..., None]
        return found[..., 0][..., self.quotient.entry]

    @cached_property
    def pairs(self) -> np.ndarray:
        N, entry = self.N, self.quotient.entry
        G, Q = N.shape[-1], len(entry)
        i, j = np.triu_indices(G)
        both = np.empty((*N.shape[:2], G, G), N.dtype)
        both[..., i, j] = both[..., j, i] = self._squared @ self.quotient.weighted_products
        found = N @ both @ np.swapaxes(N, -1, -2)
        found = found[..., entry[:, None, :, None], entry[None, :, None, :]]  # (a b)(c d): Z_ac Z_bd
        return found.reshape(*N.shape[:2], Q * Q, Q * Q) * self.level.scale

    def values(self) -> np.ndarray:
        return self._values()[:, :, self.quotient.entry]

    def _values(self) -> np.ndarray:
        return (self.N @ self.quotient.g[:, None]) * self.inverse[:, :, None]

    @cached_property
    def moments(self) -> Moments:
        return self._tested(self._values())

    def slopes(self, dX: np.ndarray) -> Moments:
        entry = self.quotient.entry
        full = self.N[:, :, entry]  # [U, A, Q, Q, G]
        dx = dX * self.level.scale
        inside = np.einsum("uaikg,uakl,ualjh->uaijgh", full, dx, full, optimize=True)
        i, j = np.triu_indices(self.N.shape[-1])
        both = inside[..., i, j] + np.where(i == j, 0.0, inside[..., j, i])
        first = [int(np.flatnonzero(entry.reshape(-1) == e)[0]) for e in range(entry.max() + 1)]
        both = both.reshape(*both.shape[:2], -1, len(i))[:, :, first]
        return self._tested(-(both @ self.quotient.products[:, None]) * self._squared[:, :, None])

    def _tested(self, values: np.ndarray) -> Moments:
        """Averages of entries [U, A, entries, n] against the tests."""
        U, A, E = values.shape[:3]
        found = (values.reshape(U, A * E, -1) @ self.level.tests).reshape(U, A, E, -1)
        return self.level.moments(found[:, :, self.quotient.entry])

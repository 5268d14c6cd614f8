"""Averages of a clipped straight score over s ~ N(b, scale²), in closed form.

Score, squared score, slope, loss and squared error are polynomials of degree 2 at most on three pieces of the line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...gaussian import density, legendre, ndtr
from ...losses import Clipped

_UNBOUNDED = 1e100  # stands for an infinite bound: its tail has no mass, and no product with it overflows
_NARROW = 0.5  # width in standard deviations under which differences of Φ are replaced by a direct rule
_NARROW_NODES = 8  # of that rule: 1e-10 of the density, nine standard deviations out
_BEYOND = 40.0  # standard deviations at which a density is no more

Coefficient = np.ndarray | float
Polynomial = tuple[Coefficient, Coefficient, Coefficient]
Moments = tuple[np.ndarray, np.ndarray, np.ndarray]


class Piecewise(NamedTuple):
    """A function of s that is a polynomial below, inside and above the window."""

    pieces: tuple[Polynomial, Polynomial, Polynomial]

    def mean(self, moment: Callable[[int, int], np.ndarray]) -> np.ndarray | float:
        """Its average, from the average of s^power on each piece."""
        terms = (
            c * moment(piece, power)
            for piece, polynomial in enumerate(self.pieces)
            for power, c in enumerate(polynomial)
            if not isinstance(c, float) or c != 0.0
        )
        found: np.ndarray | float = next(terms, 0.0)
        for term in terms:
            found += term
        return found


def score_pieces(loss: Clipped, V: np.ndarray) -> tuple[Piecewise, Piecewise, Piecewise]:
    """f, f² and g as functions of s."""
    low, high, slope = *bounds(loss), 1.0 / (loss.a + V)
    zero = (0.0, 0.0, 0.0)
    return (
        Piecewise(((low, 0.0, 0.0), (0.0, slope, 0.0), (high, 0.0, 0.0))),
        Piecewise(((low**2, 0.0, 0.0), (0.0, 0.0, slope * slope), (high**2, 0.0, 0.0))),
        Piecewise((zero, (slope, 0.0, 0.0), zero)),
    )


def training_pieces(loss: Clipped, V: np.ndarray) -> tuple[Piecewise, Piecewise]:
    """Loss and squared error of fitted outputs, off their labels by s·a/(a + V) inside and s - V·bound outside."""
    a, rise = loss.a, loss.a + V
    (low, high), zero = bounds(loss), (0.0, 0.0, 0.0)
    value = [(-V * p**2 - 0.5 * a * p**2, p, 0.0) if abs(p) < _UNBOUNDED else zero for p in (low, high)]
    error = [((V * p) ** 2, -2.0 * V * p, 1.0) if abs(p) < _UNBOUNDED else zero for p in (low, high)]
    return (
        Piecewise((value[0], (0.0, 0.0, 0.5 * a / rise**2), value[1])),
        Piecewise((error[0], (0.0, 0.0, a**2 / rise**2), error[1])),
    )


def bounds(loss: Clipped) -> tuple[float, float]:
    """Of the score, a large number for none."""
    return max(loss.low, -_UNBOUNDED), min(loss.high, _UNBOUNDED)


class Window:
    """The interval of s ~ N(b, scale²) inside which the score is straight, and moments in and around it."""

    def __init__(self, loss: Clipped, b: np.ndarray, scale: np.ndarray, V: np.ndarray):
        low, high = bounds(loss)
        rise = loss.a + V  # f = s/rise inside
        self.b, self.scale = b, scale
        self.L, self.H = low * rise, high * rise
        self.zl, self.zh = (self.L - b) / scale, (self.H - b) / scale
        self.dl, self.dh = density(self.zl), density(self.zh)
        # Φ of what lies on the far side of each edge from the middle, negative below it: no difference of two cancels
        self._tl, self._th = (np.copysign(ndtr(-np.abs(z)), z) for z in (self.zl, self.zh))

    @cached_property
    def below(self) -> np.ndarray:
        """How likely s is to be below the window."""
        return (self.zl >= 0.0) - self._tl

    @cached_property
    def above(self) -> np.ndarray:
        """How likely s is to be above the window."""
        return (self.zh < 0.0) + self._th

    @cached_property
    def inside(self) -> Moments:
        """E[1], E[s] and E[s²] over the window; by a direct rule where differences of Φ would cancel."""
        b, scale = self.b, self.scale
        mass = self._tl - self._th
        mass += (self.zl < 0.0) & (self.zh >= 0.0)
        first = b * mass - scale * (self.dh - self.dl)
        second = b * first + scale * (scale * mass - (self.H * self.dh - self.L * self.dl))
        narrow = self.zh - self.zl < _NARROW
        if narrow.any():
            narrow &= np.maximum(self.zl, -self.zh) < _BEYOND  # else all are 0
            picked = (a[narrow] for a in (self.zl, self.zh, b, np.broadcast_to(scale, b.shape)))
            mass[narrow], first[narrow], second[narrow] = _directly(*picked)
        return mass, first, second

    @cached_property
    def outside(self) -> tuple[Moments, Moments]:
        """(E[1], E[s], E[s²]) below the window, and above it."""
        b, scale = self.b, self.scale
        power = b * b + scale**2
        below = (
            self.below,
            b * self.below - scale * self.dl,
            power * self.below - scale * (b + self.L) * self.dl,
        )
        above = (
            self.above,
            b * self.above + scale * self.dh,
            power * self.above + scale * (b + self.H) * self.dh,
        )
        return below, above

    def moment(self, piece: int, power: int) -> np.ndarray:
        """E[s^power] below, inside or above the window."""
        if piece == 1:
            return self.inside[power]
        return self.outside[piece // 2][power] if power else (self.below, self.above)[piece // 2]


def _directly(zl: np.ndarray, zh: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E[1], E[s] and E[s²] over zl < (s - b)/scale < zh, each [M], by a rule of a few nodes."""
    x, w = (a[:, None] for a in legendre(_NARROW_NODES))
    half = 0.5 * (zh - zl)
    z = 0.5 * (zh + zl) + half * x
    weight, s = half * w * density(z), b + scale * z
    return np.stack([weight.sum(axis=0), (weight * s).sum(axis=0), (weight * s * s).sum(axis=0)])

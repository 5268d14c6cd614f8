"""Quadrature, zeros and tables that all label laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebvander

from ...functions import Function
from ...gaussian.cuts import panels

REACH = 7.5  # standard deviations up to which Gaussian variables are integrated; the mass beyond is 6e-14
ROUNDING = 1e-13  # of places and, relative to the largest, of values
_PANEL, _NODES = 0.6, 16  # width of a panel in ω/√q, and its nodes; wider panels are off by 6e-9 for sin
_NARROWEST = 0.7  # width of the panels next to a cut, over s
_WAVE, _SLOW = 2.0, 9.0  # a panel's width times the function's bandwidth, beyond that of slow functions
_FINEST, _STRIDES = 256, (8, 4, 2, 1)  # intervals between the places of a table, and every how many are used
_TOLERANCE = 1e-9
_LEAST = 1e-14  # of a function whose logarithm is tabulated
_SMALL = 1e-3  # q, or s, at which the powers of functions at 0 are read off

Map: TypeAlias = np.ndarray | tuple[np.ndarray, np.ndarray]
"""The law of z given ω along one direction, a matrix [z, ω], and its derivative in ω."""


def divided(edges: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Edges of panels [P + 1], each divided into equal parts no larger than its `largest` [P]."""
    counts = np.ceil(np.diff(edges) / largest).astype(int)
    return np.interp(np.arange(counts.sum() + 1), np.concatenate([[0], np.cumsum(counts)]), edges)


def cavity_rule(
    s: float, cuts: Iterable[float], function: Function | None = None, finer: int = 1, reach: float = REACH
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over ω ~ N(0, 1 - s²) of what varies on the scale s around `cuts`.

    Elsewhere it varies as the function does, or on the scale s if that is larger.
    """
    root = np.sqrt((1.0 - s) * (1.0 + s))
    if root == 0.0:
        return np.zeros(1), np.ones(1)
    narrow, panel = _NARROWEST / finer * s / root, _PANEL / finer
    doubled = narrow * 2.0 ** np.arange(max(0, np.ceil(np.log2(panel / narrow))))
    at = [np.add.outer(np.array(list(cuts)) / root, [*-doubled, 0.0, *doubled]).ravel()]
    if function is not None:
        variation = function.variation(reach)
        wave = _WAVE / finer / np.maximum(variation.bandwidth - _SLOW, 1.0)
        edges = np.append(variation.left, variation.right[-1])
        at.append(divided(edges, np.maximum(wave, 2.0 * narrow * root)) / root)
    wide = np.linspace(-reach, reach, 2 * int(np.ceil(reach / panel)) + 1)
    x, w = panels(np.concatenate(at), _NODES, wide)
    some = w > 0.0
    return root * x[some], w[some]


def split(x: np.ndarray, size: int) -> list[np.ndarray]:
    """In parts of that size, at most."""
    return [x[start : start + size] for start in range(0, len(x), size)]


def information(A: np.ndarray, maps: Sequence[Map], weights: np.ndarray) -> np.ndarray:
    """Σ ∇Z ∇Zᵀ/Z [k, k] over labels and ω with weights [ω...], where A [y, z...] is the law of labels given z."""
    Z, slopes = contracted(A, maps)
    scaled = (slopes * np.sqrt(weights / np.maximum(Z, np.finfo(float).tiny))).reshape(len(maps), -1)
    return scaled @ scaled.T


def contracted(A: np.ndarray, maps: Sequence[Map]) -> tuple[np.ndarray, np.ndarray]:
    """A [y, z...] averaged over every z given ω [y, ω...], and its derivative along each ω [k, y, ω...].

    There is a map for each direction.
    """
    slopes: list[np.ndarray] = []
    for B, derivative in maps:
        slopes = [np.tensordot(slope, B, (1, 0)) for slope in slopes] + [np.tensordot(A, derivative, (1, 0))]
        A = np.tensordot(A, B, (1, 0))
    return A, np.stack(slopes)


def slope_of(function: Function, z: np.ndarray) -> np.ndarray:
    """The derivative at z; of functions without one by differences between two breakpoints."""
    if function.has_derivative:
        return np.asarray(function.derivative(z), float)
    from scipy.differentiate import derivative

    points = np.array([-np.inf, *function.breakpoints, np.inf])
    room = np.clip(0.5 * np.abs(z[..., None] - points).min(axis=-1), ROUNDING, 0.5)
    return derivative(function, z, initial_step=room).df


def zeros(f: Callable[..., np.ndarray], low: np.ndarray, high: np.ndarray, *args: np.ndarray) -> np.ndarray:
    """Where f(x, *args) changes sign between `low` and `high`; NaN where it has one sign at both."""
    from scipy.optimize.elementwise import find_root

    return find_root(f, (low, high), args=args).x


def changes(holds: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """The places between neighbours in x [N] where it changes whether `holds` is true."""
    at = np.flatnonzero(np.diff(holds(x)))
    return zeros(lambda z: holds(z) - 0.5, x[at], x[at + 1])


def power_at_zero(f: Callable[[float], float]) -> int:
    """The power of x with which f(x) ≥ 0 vanishes at 0; 1 where it is 0 all along."""
    near, far = f(_SMALL), f(2.0 * _SMALL)
    return round(np.log2(far / near)) if min(near, far) > 0.0 else 1


class Table:
    """A function f(s) = s^m (1 - s²)^j exp(series) of 0 ≤ s ≤ 1, with the same relative accuracy wherever it is.

    The last terms of the series tell its relative error.
    """

    def __init__(self, function: Callable[[float], float], at_zero: int, at_one: int = 0):
        self.at_zero, self.at_one = at_zero, at_one

        @cache
        def smooth(t: float) -> float:
            s = 0.5 + 0.5 * t
            return np.log(max(function(s) / float(self._singular(s)), _LEAST))

        # nodes without the ends: those of a coarser series are among those of a finer one
        for stride in _STRIDES:
            t = np.cos(np.pi * np.arange(stride, _FINEST, stride) / _FINEST)
            terms = np.linalg.solve(chebvander(t, len(t) - 1), [smooth(x) for x in t.tolist()])
            self.series = Chebyshev(terms, domain=[0.0, 1.0])
            self.relative_error = float(np.abs(terms[-3:]).max())
            if self.relative_error < _TOLERANCE:
                break
        self.series_slope = self.series.deriv()

    def _singular(self, s: np.ndarray | float) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.asarray(s) ** self.at_zero * ((1.0 - s) * (1.0 + s)) ** self.at_one

    def __call__(self, s: np.ndarray) -> np.ndarray:
        return self._singular(s) * np.exp(self.series(s))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """d ln f/ds for 0 < s < 1."""
        of_q = -2.0 * self.at_one * s / ((1.0 - s) * (1.0 + s))
        return self.at_zero / s + of_q + self.series_slope(s)

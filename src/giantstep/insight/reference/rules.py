"""Quadrature, bisection and tables that all label laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from ...functions import Function
from ...gaussian.cuts import panels

REACH = 7.5  # standard deviations up to which Gaussian variables are integrated; the mass beyond is 6e-14
_PANEL, _NODES = 0.6, 16  # width of a panel in ω/√q, and its nodes; wider panels are off by 6e-9 for sin
_NARROWEST = 0.7  # width of the panels next to a cut, over s
_WAVE, _SLOW = 2.0, 9.0  # a panel's width times the function's bandwidth, beyond that of slow functions
_FINEST, _STRIDES = 256, (8, 4, 2, 1)  # intervals between the places of a table, and every how many are used
_LEAST = 1e-14  # of a function whose logarithm is tabulated
_HALVINGS = 52  # down to rounding


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
    count = np.ceil(reach / panel)
    wide = np.clip(panel * np.arange(-count, count + 1.0), -reach, reach)
    x, w = panels(np.concatenate(at), _NODES, wide)
    some = w > 0.0
    return root * x[some], w[some]


def blocks(size: int, *arrays: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Arrays of equal length in pieces of `size`."""
    for start in range(0, len(arrays[0]), size):
        yield [array[start : start + size] for array in arrays]


def bisected(
    beyond: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, halvings: int = _HALVINGS
) -> np.ndarray:
    """The places [N] between `low` and `high` from which on `beyond` is true."""
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        passed = beyond(middle)
        low, high = np.where(passed, low, middle), np.where(passed, middle, high)
    return 0.5 * (low + high)


def changes(
    holds: Callable[[np.ndarray], np.ndarray], x: np.ndarray, halvings: int = _HALVINGS
) -> np.ndarray:
    """The places between neighbours in x [N] where it changes whether `holds` is true."""
    first = holds(x)
    at = np.flatnonzero(first[1:] != first[:-1])
    return bisected(lambda z: holds(z) != first[at], x[at], x[at + 1], halvings)


def power_at_zero(f: Callable[[float], float], small: float) -> int:
    """The power of x with which f(x) ≥ 0 vanishes at 0; 1 where it is 0 all along."""
    near, far = f(small), f(2.0 * small)
    return round(np.log2(far / near)) if min(near, far) > 0.0 else 1


class Table:
    """A function f(s) = s^m (1 - s²)^j exp(series) of 0 ≤ s ≤ 1, with the same relative accuracy wherever it is.

    The series is the first one whose last terms, the `relative_error`, are below `tolerance`.
    """

    def __init__(self, function: Callable[[float], float], powers: tuple[int, int], tolerance: float):
        self.at_zero, self.at_one = powers
        terms = np.zeros(1)

        @cache
        def smooth(number: int) -> float:
            s = 0.5 + 0.5 * float(np.cos(np.pi * number / _FINEST))
            return np.log(max(function(s) / float(self._singular(s)), _LEAST))

        for stride in _STRIDES:
            number = np.arange(stride, _FINEST, stride)
            matrix = chebyshev.chebvander(np.cos(np.pi * number / _FINEST), len(number) - 1)
            terms = np.linalg.solve(matrix, [smooth(i) for i in number.tolist()])
            self.relative_error = float(np.abs(terms[-3:]).max())
            if self.relative_error < tolerance:
                break
        self.series = Chebyshev(terms, domain=[0.0, 1.0])
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

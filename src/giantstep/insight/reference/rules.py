"""Quadrature, bisection and tables that all label laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from ...functions import Function
from ...functions.chebyshev import polynomials
from ...gaussian import legendre
from ...gaussian.cuts import panels

REACH = 7.5  # standard deviations up to which Gaussian variables are integrated; the mass beyond is 6e-14
_PANEL, _NODES = 0.6, 16  # width of a panel in ω/√q, and its nodes; wider panels are off by 6e-9 for sin
_NARROWEST = 0.7  # width of the panels next to a cut, over s
_WAVE, _SLOW = 2.0, 9.0  # a panel's width times the function's bandwidth, beyond that of slow functions
_FASTEST = 1e6  # bandwidth that is resolved, at most
_FINEST, _STRIDES = 256, (8, 4, 2, 1)  # intervals between the places of a table, and every how many are used
_LEAST = 1e-14  # of a function whose logarithm is tabulated
_HALVINGS = 52  # down to rounding


def gauss(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on every panel between edges, end to end."""
    t, w = legendre(count)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + t)).reshape(-1), (half * w).reshape(-1)


def divided(edges: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Edges of panels [P + 1], each divided into equal parts no larger than its `largest` [P]."""
    counts = np.ceil(np.diff(edges) / largest).astype(int)
    return np.interp(np.arange(counts.sum() + 1), np.concatenate([[0], np.cumsum(counts)]), edges)


def resolving(
    function: Function, narrowest: float, widest: float, finer: int = 1, reach: float = REACH
) -> np.ndarray:
    """Edges of panels that resolve a function, with widths between these two."""
    variation = function.variation(reach)
    wave = _WAVE / finer / np.clip(variation.bandwidth - _SLOW, 1.0, _FASTEST)
    edges = np.append(variation.left, variation.right[-1])
    return divided(edges, np.clip(wave, narrowest, widest))


def cavity_rule(
    s: float,
    cuts: Iterable[float],
    finer: int = 1,
    half: bool = False,
    function: Function | None = None,
    reach: float = REACH,
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over ω ~ N(0, 1 - s²) of what varies on the scale s around `cuts`.

    Elsewhere it varies as the function does, or on the scale s if that is larger. `half`: both signs of ω contribute
    equally, and nodes are from 0 on.
    """
    root = np.sqrt((1.0 - s) * (1.0 + s))
    if root == 0.0:
        return np.zeros(1), np.ones(1)
    narrow, panel = _NARROWEST / finer * s / root, _PANEL / finer
    doubled = narrow * 2.0 ** np.arange(max(0, np.ceil(np.log2(panel / narrow))))
    around = np.concatenate([-doubled, [0.0], doubled])
    at = [np.ravel(np.add.outer(list(cuts), around * root))]
    if function is not None:
        at.append(resolving(function, 2.0 * narrow * root, np.inf, finer, reach))
    count = np.ceil(reach / panel)
    wide = panel * np.arange(-count, count + 1.0)
    x, w = panels(np.concatenate(at) / root, _NODES, np.unique(np.clip(wide, 0.0 if half else -reach, reach)))
    some = w > 0.0
    return root * x[some], (1.0 + half) * w[some]


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


class Series(Chebyshev):
    """A Chebyshev series on 0 ≤ s ≤ 1; evaluated at few places it is ten times as fast as numpy's."""

    def __call__(self, arg: Any) -> Any:
        return polynomials(2.0 * np.asarray(arg) - 1.0, len(self.coef)) @ self.coef


class Table:
    """A function f(s) = s^m (1 - s²)^j exp(series) of 0 ≤ s ≤ 1, with the same relative accuracy wherever it is.

    The series is the first one whose last terms, the `relative_error`, are below `tolerance`.
    """

    def __init__(
        self,
        function: Callable[[float], float],
        powers: tuple[int, int],
        tolerance: float,
        report: Callable[[float], None] | None = None,
    ):
        self.at_zero, self.at_one = powers
        found: dict[int, float] = {}
        terms = np.zeros(1)
        for stride in _STRIDES:
            number = np.arange(stride, _FINEST, stride)
            t = np.cos(np.pi * number / _FINEST)
            for i, s in zip(number.tolist(), (0.5 + 0.5 * t).tolist(), strict=True):
                if i not in found:
                    smooth = function(s) / (s**self.at_zero * ((1.0 - s) * (1.0 + s)) ** self.at_one)
                    found[i] = np.log(max(smooth, _LEAST))
            terms = np.linalg.solve(chebyshev.chebvander(t, len(t) - 1), [found[i] for i in number.tolist()])
            self.relative_error = float(np.abs(terms[-3:]).max())
            if report is not None:
                report(1.0 / stride)
            if self.relative_error < tolerance:
                break
        self.series = Series(terms, domain=[0.0, 1.0])
        self.series_slope = self.series.deriv()

    def __call__(self, s: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return s**self.at_zero * ((1.0 - s) * (1.0 + s)) ** self.at_one * np.exp(self.series(s))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """d ln f/ds for 0 < s < 1."""
        of_q = -2.0 * self.at_one * s / ((1.0 - s) * (1.0 + s))
        return self.at_zero / s + of_q + self.series_slope(s)

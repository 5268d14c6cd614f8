"""Quadrature, interpolation and bisection that all label laws share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from ...functions.chebyshev import polynomials
from ...functions.variation import Variation
from ...gaussian import density, legendre

REACH = 7.5  # standard deviations up to which Gaussian variables are integrated; the mass beyond is 6e-14
_PANEL, _NODES = 0.6, 16  # width of a panel in ω/√q, and its nodes; wider panels are off by 6e-9 for sin
_NARROWEST = 0.7  # width of the panels next to a cut, over s
_WAVE, _SLOW = 2.0, 9.0  # a panel's width times the function's bandwidth, beyond that of slow functions
_FASTEST = 1e6  # bandwidth that is resolved, at most
_COUNTS = (32, 64, 128, 256)  # of which the points of each contain those of the last
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


def wavelength(variation: Variation) -> np.ndarray:
    """Widths of panels that resolve a function, [P]."""
    return _WAVE / np.clip(variation.bandwidth - _SLOW, 1.0, _FASTEST)


def cavity_rule(
    s: float, cuts: Iterable[float], finer: int = 1, half: bool = False, variation: Variation | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over ω ~ N(0, 1 - s²) of what varies on the scale s around `cuts`.

    Elsewhere it varies as the function does, or on the scale s if that is larger. `half`: both signs of ω contribute
    equally, and nodes are from 0 on.
    """
    root = np.sqrt((1.0 - s) * (1.0 + s))
    if root == 0.0:
        return np.zeros(1), np.ones(1)
    narrow, panel = _NARROWEST / finer * s / root, _PANEL / finer
    edges = [np.arange(-np.ceil(REACH / panel), np.ceil(REACH / panel) + 1) * panel]
    if variation is not None:
        ends = np.append(variation.left, variation.right[-1])
        edges.append(divided(ends, np.maximum(wavelength(variation) / finer, 2.0 * narrow * root)) / root)
    around = narrow * 2.0 ** np.arange(max(0, np.ceil(np.log2(panel / narrow))))
    edges += [cut / root + np.concatenate([-around, [0.0], around]) for cut in cuts]
    x, w = gauss(np.unique(np.clip(np.concatenate(edges), 0.0 if half else -REACH, REACH)), _NODES)
    return root * x, (1.0 + half) * w * density(x)


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


class Series(Chebyshev):
    """A Chebyshev series on 0 ≤ s ≤ 1; evaluated at few places it is ten times as fast as numpy's."""

    def __call__(self, arg: Any) -> Any:
        return polynomials(2.0 * np.asarray(arg) - 1.0, len(self.coef)) @ self.coef


def logarithm(
    function: Callable[[float], float], tolerance: float, report: Callable[[float], None] | None = None
) -> tuple[Series, float]:
    """A series for ln f on 0 < s < 1, of the first degree whose tail is below `tolerance`; and that tail.

    So f has the same relative accuracy wherever it is.
    """
    values, series, tail = np.zeros(0), np.zeros(1), 1.0
    for count in _COUNTS:
        t = np.cos(np.pi * np.arange(1, count) / count)
        before, values = values, np.empty(count - 1)
        values[1::2] = before if len(before) else [function(0.5 + 0.5 * x) for x in t[1::2]]
        values[::2] = [function(0.5 + 0.5 * x) for x in t[::2]]
        series = np.linalg.solve(chebyshev.chebvander(t, count - 2), np.log(np.maximum(values, _LEAST)))
        tail = float(np.abs(series[-3:]).max())
        if report is not None:
            report(count / _COUNTS[-1])
        if tail < tolerance:
            break
    return Series(series, domain=[0.0, 1.0]), tail

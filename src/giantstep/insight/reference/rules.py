"""Rules of integration that all laws of labels share, and piecewise Chebyshev series."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.polynomial import chebyshev

from ...functions.chebyshev import through
from ...functions.variation import Variation
from ...gaussian import density, legendre

REACH = 7.5  # standard deviations up to which Gaussian variables are followed; the mass beyond is 6e-14
_PANEL = 0.6  # width of a panel in ω/√q; with 16 nodes, wider panels are off by 6e-9 for sin
_NODES = 16
_NARROWEST = 0.7  # of panels around a cut, over s
_WAVE, _SLOW = 2.0, 9.0  # a panel of ω, times the bandwidth of the function beyond that of the slowest
_DEGREE = 23
FAINT = 1e-6  # a value that does not count, beside 1
_SHORTEST = 0.5**7  # half width of a panel of a series


def gauss(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on every panel between edges, end to end."""
    t, w = legendre(count)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + t)).reshape(-1), (half * w).reshape(-1)


def divided(left: np.ndarray, width: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Edges of panels that follow each other, each divided into parts that are not larger than `largest`."""
    counts = np.ceil(width / largest).astype(int)
    parts = [a + b * np.arange(n) / n for a, b, n in zip(left, width, counts, strict=True)]
    return np.concatenate([*parts, [left[-1] + width[-1]]])


def wavelength(seen: Variation) -> np.ndarray:
    """Widths of panels that follow a function, [P]."""
    return _WAVE / np.clip(seen.bandwidth - _SLOW, 1.0, 1.0 / FAINT)


def cavity_rule(
    s: float, cuts: Iterable[float], finer: int = 1, half: bool = False, seen: Variation | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over ω ~ N(0, q), q = 1 - s², of what varies on the scale s around `cuts`.

    Elsewhere it varies as the function does that was `seen`, or on the scale s if that is larger. `half`: both signs of
    ω contribute equally, and nodes are from 0 on.
    """
    root = np.sqrt((1.0 - s) * (1.0 + s))
    if root == 0.0:
        return np.zeros(1), np.ones(1)
    narrow, panel = _NARROWEST / finer * s / root, _PANEL / finer
    edges = np.arange(-np.ceil(REACH / panel), np.ceil(REACH / panel) + 1) * panel
    if seen is not None:
        largest = np.maximum(wavelength(seen) / finer, 2.0 * narrow * root)
        parts = divided(seen.left, seen.right - seen.left, largest)
        edges = np.concatenate([edges, parts / root])
    around = narrow * 2.0 ** np.arange(max(0, np.ceil(np.log2(panel / narrow))))
    for cut in cuts:
        edges = np.concatenate([edges, cut / root + np.concatenate([-around, [0.0], around])])
    x, w = gauss(np.unique(np.clip(edges, 0.0 if half else -REACH, REACH)), _NODES)
    return root * x, (1.0 + half) * w * density(x)


class PiecewiseSeries:
    """A function on 0 ≤ s ≤ 1 as Chebyshev series on panels, which are halved until their tails are negligible."""

    def __init__(
        self,
        function: Callable[[float], float],
        tolerance: float,
        report: Callable[[float], None] | None = None,
    ):
        t, to_series = through(_DEGREE + 1)
        pending, done, self.error = [(0.0, 1.0)], {}, 0.0
        while pending:
            left, right = pending.pop()
            half = 0.5 * (right - left)
            series = to_series @ np.array([function(left + half * (1.0 + x)) for x in t])
            tail = np.abs(series[-2:]).max() / max(np.abs(series).max(), FAINT)
            if tail > tolerance and half > _SHORTEST:
                pending += [(left, left + half), (left + half, right)]
                continue
            done[left], self.error = series, max(self.error, tail)
            if report is not None:
                report(1.0 - left)
        self.edges = np.array([*sorted(done), 1.0])
        self.series = np.array([done[left] for left in sorted(done)]).T

    def __call__(self, s: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Its values, or its derivative, at s [...]."""
        panel = np.clip(np.searchsorted(self.edges, s, side="right") - 1, 0, len(self.edges) - 2)
        half = 0.5 * np.diff(self.edges)[panel]
        series = chebyshev.chebder(self.series) if derivative else self.series
        values = chebyshev.chebval((s - self.edges[panel]) / half - 1.0, series[:, panel], tensor=False)
        return values / half**derivative

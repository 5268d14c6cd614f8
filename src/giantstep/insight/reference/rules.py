"""Rules of integration that all laws of labels share, and piecewise Chebyshev series in s = √(1 - q)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.polynomial import chebyshev

from ...functions.chebyshev import through
from ...gaussian import density, legendre

REACH = 8.1  # standard deviations up to which Gaussian variables are followed
_PANEL = 0.6  # width of a panel in ω/√q; with 16 nodes, wider panels are off by 6e-9 for sin
_NODES = 16
_NARROWEST = 0.7  # of panels around a kink, over √V
_DEGREE = 11
_HALVINGS = 12  # of a panel of the series, at most


def gauss(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on every panel between edges, end to end."""
    t, w = legendre(count)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + t)).reshape(-1), (half * w).reshape(-1)


def cavity_rule(
    s: float, kinks: Iterable[float], finer: int = 1, half: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over ω ~ N(0, q), q = 1 - s², of what varies around kinks on the scale s.

    `half`: from ω = 0 on, where both signs of ω contribute equally.
    """
    root = np.sqrt((1.0 - s) * (1.0 + s))
    if root == 0.0:
        return np.zeros(1), np.ones(1)
    panel = _PANEL / finer
    edges = np.arange(-np.ceil(REACH / panel), np.ceil(REACH / panel) + 1) * panel
    narrow = _NARROWEST / finer * s / root
    around = narrow * 2.0 ** np.arange(max(0, np.ceil(np.log2(panel / narrow))))
    for kink in kinks:
        edges = np.concatenate([edges, kink / root + np.concatenate([-around, [0.0], around])])
    edges = np.unique(np.clip(edges, 0.0 if half else -REACH, REACH))
    x, w = gauss(edges, _NODES)
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
        pending, done, self.error = [(0.0, 0.125), (0.125, 0.5), (0.5, 1.0)], {}, 0.0
        while pending:
            left, right = pending.pop()
            half = 0.5 * (right - left)
            series = to_series @ np.array([function(left + half * (1.0 + x)) for x in t])
            tail = np.abs(series[-2:]).max() / np.abs(series).max() if series.any() else 0.0
            if tail > tolerance and half > 0.5**_HALVINGS:
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
        return (
            chebyshev.chebval((s - self.edges[panel]) / half - 1.0, series[:, panel], tensor=False)
            / half**derivative
        )

"""Rules of integration that all laws of labels share, and piecewise Chebyshev series."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.polynomial import chebyshev

from ...functions.chebyshev import through
from ...gaussian import density, legendre

REACH = 7.5  # standard deviations up to which Gaussian variables are followed; the mass beyond is 6e-14
_PANEL = 0.6  # width of a panel in ω/√q; with 16 nodes, wider panels are off by 6e-9 for sin
_NODES = 16
_NARROWEST = 0.7  # of panels around a cut, over s
_DEGREE = 23
_SHORTEST = 0.5**8  # half width of a panel of a series


def gauss(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on every panel between edges, end to end."""
    t, w = legendre(count)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + t)).reshape(-1), (half * w).reshape(-1)


def cavity_rule(
    s: float, cuts: Iterable[float], finer: int = 1, half: bool = False, length: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over ω ~ N(0, q), q = 1 - s², of what varies on the scale s around `cuts`.

    Elsewhere it varies on the scale `length`, if that is larger than s. `half`: both signs of ω contribute equally, and
    nodes are from 0 on.
    """
    root = np.sqrt((1.0 - s) * (1.0 + s))
    if root == 0.0:
        return np.zeros(1), np.ones(1)
    narrow = _NARROWEST / finer * s / root
    panel = min(_PANEL / finer, max(2.0 * narrow, length / finer / root))
    edges = np.arange(-np.ceil(REACH / panel), np.ceil(REACH / panel) + 1) * panel
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
            tail = np.abs(series[-2:]).max() / np.abs(series).max() if series.any() else 0.0
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

"""Fixed points, thresholds and free entropy of one target: all from one tabulated function (note 14, section 2).

With s = √(1 - q) and F(s) from the channel, fixed points at α samples per dimension are the roots of

    α F(s) = 1 - s²,    α(s) = (1 - s²)/F(s),    Φ(s) - Φ(1) = ∫_s^1 (αF(s') - 1 + s'²) ds'/s'.

Tabulated is G(s) = F(s)/(s^m q^j), which is smooth and positive from s = 0 to 1: m is 0 without noise, 1 where labels
jump, 2 otherwise; j is 1 where a label alone reveals nothing, F = 0 at q = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...model.target import Target
from ...theory.labels import binary_law
from .channels import Atoms, Noiseless, channel_of, unexplained
from .rules import PiecewiseSeries, gauss

TOLERANCE = 1e-9
_NOTHING = 1e-10  # a share of variance that is 0 up to rounding
_DROP = 1e-7  # of α(s), relative: smaller ones are rounding, not a hard phase
_PROBES = (0.95, 0.7, 0.4, 0.15, 0.03)  # s at which finer rules check those of the table
_POINTS = 33  # of a panel, between which α(s) is monotone
_QUARTER = 0.5 * np.pi
_LARGEST = 1e12  # samples per dimension up to which transitions are sought


class Points(NamedTuple):
    """Fixed points, as s = √(1 - q), for each α: what message passing reaches, the optimum, and the largest overlap."""

    passing: np.ndarray
    optimal: np.ndarray
    informed: np.ndarray


class StateEvolution:
    """The Bayes-optimal inference of one direction from labels."""

    def __init__(self, target: Target, noise: float, report: Callable[[float], None] | None = None):
        channel = channel_of(target, noise)
        self.power, self.order = channel.power, int(channel.revealed(1.0) < _NOTHING)
        self.alpha_exact = np.inf if self.power else 1.0 / channel.revealed(0.5**40)
        injective = isinstance(channel, Noiseless) and not (
            len(channel.flat[0]) or np.isfinite(channel.apart).any()
        )
        revealed = (lambda s, finer=1: 1.0) if injective else channel.revealed

        def scaled(s: float, finer: int = 1) -> float:
            return revealed(s, finer) / (s**self.power * (1.0 - s * s) ** self.order)

        self.G = PiecewiseSeries(scaled, TOLERANCE, report)
        checks = [abs(scaled(s, 2) / float(self.G(np.array(s))) - 1.0) for s in _PROBES]
        self.relative_error = max(self.G.error, *checks)
        clean = binary_law(target.at(noise))
        atoms = None if clean is None else Atoms.of_signs(clean.clean)
        self.error = ErrorCurve((lambda s: unexplained(target.function, s)) if atoms is None else atoms.error)
        self.wrong_signs = None if atoms is None else ErrorCurve(atoms.wrong_signs)
        self._scan()

    def ratio(self, s: np.ndarray) -> np.ndarray:
        """α(s): the number of samples per dimension at which s is a fixed point."""
        with np.errstate(divide="ignore"):
            return (1.0 - s * s) ** (1 - self.order) / (s**self.power * np.maximum(self.G(s), _NOTHING))

    def _scan(self) -> None:
        """α(s) on a grid from s = 1 to 0, with the extrema themselves; and its thresholds."""
        edges = self.G.edges
        t = 0.5 - 0.5 * np.cos(np.pi * np.arange(_POINTS) / (_POINTS - 1))
        s = np.unique(edges[:-1, None] + np.diff(edges)[:, None] * t)[::-1]
        ratio = self.ratio(s)
        turn = 1 + np.flatnonzero((ratio[1:-1] - ratio[:-2]) * (ratio[2:] - ratio[1:-1]) < 0.0)
        low, high, up = s[turn + 1], s[turn - 1], np.where(ratio[turn] > ratio[turn - 1], 1.0, -1.0)
        for _ in range(60):  # thirds: an extremum between its neighbours
            first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
            lower = up * (self.ratio(second) - self.ratio(first)) > 0.0
            low, high = np.where(lower, first, low), np.where(lower, high, second)
        self.s = np.sort(np.concatenate([s, 0.5 * (low + high)]))[::-1]
        self.samples = self.ratio(self.s)
        weak = self.samples[0]
        self.alpha_weak = float(weak) if weak * _NOTHING < TOLERANCE else np.inf
        self.samples[0] = self.alpha_weak
        later = np.minimum.accumulate(self.samples[::-1])[::-1]
        hard = self.samples > later * (1.0 + _DROP)
        self.alpha_amp = self.alpha_optimal = np.nan
        if hard.any():
            top = self.samples[hard].max()
            self.alpha_amp = float(top) if np.isfinite(top) else np.nan
            self.alpha_optimal = self._equal_areas(float(later[hard].min()), min(float(top), _LARGEST))

    def _equal_areas(self, low: float, high: float) -> float:
        """Where the free entropies of the smallest and the largest overlap are equal."""
        for _ in range(60):
            middle = np.sqrt(low * high)
            points = self.fixed_points(np.array([middle]))
            best = self.entropy(points.informed, middle) >= self.entropy(points.passing, middle)
            low, high = (low, middle) if best.all() else (middle, high)
        return float(np.sqrt(low * high))

    def entropy(self, s: np.ndarray, alpha: np.ndarray | float) -> np.ndarray:
        """Φ(s) - Φ(1) for s [N]."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithm = np.log(s)
            rest = 0.5 * (1.0 - s * s)
            exact = np.where(np.asarray(alpha) > self.alpha_exact, np.inf, -np.inf)
            value = alpha * self._revealed_below(s) + logarithm + rest
        return np.where(s == 0.0, exact, value)

    def _revealed_below(self, s: np.ndarray) -> np.ndarray:
        """∫_s^1 F ds'/s' by Gauss rules on the panels above s."""
        total = np.zeros(len(s))
        for i, left in enumerate(s):
            if 0.0 < left < 1.0:
                edges = np.concatenate([[left], self.G.edges[self.G.edges > left]])
                x, w = gauss(
                    -np.log(np.unique(np.concatenate([edges, left ** np.linspace(0.0, 1.0, 9)])))[::-1], 16
                )
                below = np.exp(-x)
                total[i] = (below**self.power * (1.0 - below**2) ** self.order * self.G(below)) @ w
        return total

    def fixed_points(self, alpha: np.ndarray) -> Points:
        """Those for each α [N]: roots of α s^m G - q^(1-j) where α(s) rises as s falls, and the ends s = 1, 0."""
        s = np.concatenate([[1.0], self.s, [0.0]])
        samples = np.concatenate([[0.0], self.samples, [np.inf]])
        row, cell = np.nonzero((samples[:-1] < alpha[:, None]) & (alpha[:, None] <= samples[1:]))
        high, low, own = s[cell].copy(), s[cell + 1].copy(), alpha[row]
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = own * middle**self.power * self.G(middle) > (1.0 - middle**2) ** (1 - self.order)
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        roots = np.where(s[cell] == s[cell + 1], s[cell], 0.5 * (low + high))
        first = np.searchsorted(row, np.arange(len(alpha)))
        last = np.searchsorted(row, np.arange(len(alpha)), side="right") - 1
        best = first.copy()
        for i in np.flatnonzero(last > first):
            some = np.arange(first[i], last[i] + 1)
            best[i] = some[np.argmax(self.entropy(roots[some], alpha[i]))]
        return Points(roots[first], roots[best], roots[last])

    def error_estimate(self, s: np.ndarray) -> np.ndarray:
        """Relative error of the test error at fixed points s [N], from that of the table; large at thresholds."""
        inside = np.clip(s, 1e-9, 1.0 - 1e-12)
        q = (1.0 - inside) * (1.0 + inside)
        slope = (
            -2.0 * (1 - self.order) * inside / q - self.power / inside - self.G(inside, 1) / self.G(inside)
        )
        moved = self.relative_error / np.maximum(np.abs(slope), _NOTHING)
        own = self.error.slope(inside) * moved + self.error.relative_error
        return np.where(s == 0.0, 0.0, np.where(s == 1.0, self.error.relative_error, np.minimum(own, 1.0)))


class ErrorCurve:
    """An error over the power of s with which it vanishes, tabulated in the angle arcsin s: some are smooth in √q."""

    def __init__(self, error: Callable[[float], float]):
        self.power = 2 if error(1e-4) < 0.03 * error(1e-3) else 1
        self.series = PiecewiseSeries(
            lambda t: error(np.sin(_QUARTER * t)) / np.sin(_QUARTER * t) ** self.power, TOLERANCE
        )
        self.relative_error = self.series.error

    def __call__(self, s: np.ndarray) -> np.ndarray:
        return s**self.power * self.series(np.arcsin(s) / _QUARTER)

    def slope(self, s: np.ndarray) -> np.ndarray:
        """|d ln error/ds|."""
        t = np.arcsin(s) / _QUARTER
        return np.abs(self.power / s + self.series(t, 1) / self.series(t) / (_QUARTER * np.sqrt(1.0 - s * s)))


@lru_cache(maxsize=64)
def state_evolution(target: Target) -> StateEvolution:
    """The table of a target, made once."""
    return StateEvolution(target, float(np.asarray(target.noise)))

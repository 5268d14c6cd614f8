"""Fixed points, thresholds and free entropy of one target: all from one tabulated function (note 14, section 2).

With s = √(1 - q) and F(s) from the channel, fixed points at α samples per dimension are the roots of

    α F(s) = 1 - s²,    α(s) = (1 - s²)/F(s),    Φ(s) - Φ(1) = ∫_s^1 (αF(s') - 1 + s'²) ds'/s'.

Tabulated is G(s) = F(s)/(s^m q^j), which is smooth and positive from s = 0 to 1: m is 0 without noise, 1 where labels
jump, 2 otherwise; j is 1 where a label alone reveals nothing, F = 0 at q = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...model.target import Target
from ...theory.labels import binary_law
from .channels import Atoms, channel_of, unexplained
from .rules import FAINT, PiecewiseSeries, gauss

TOLERANCE = 1e-9
_NOTHING = 1e-10  # a share of variance that is 0 up to rounding
_DROP = 1e-7  # of α(s), relative: smaller ones are rounding, not a hard phase
_PROBES = (0.95, 0.7, 0.4, 0.15, 0.03)  # s at which finer rules check those of the table
_POINTS = 33  # of a panel, between which α(s) is monotone; and nodes of a rule,
_PIECES = 9  # on pieces between this number of ends
_HALVINGS = 44  # of brackets
_QUARTER = 0.5 * np.pi
_AT_ONCE = 1000  # numbers of samples whose fixed points are looked for at a time
_LARGEST = 1e12  # samples per dimension up to which transitions are sought


class StateEvolution:
    """The Bayes-optimal inference of one direction from labels."""

    def __init__(self, target: Target, report: Callable[[float], None] | None = None):
        law = binary_law(target)
        channel = channel_of(target)
        self.power, self.order = channel.power, int(channel.revealed(1.0) < _NOTHING)
        self.exact = np.inf if self.power else 1.0 / channel.revealed(_NOTHING)

        def scaled(s: float, finer: int = 1) -> float:
            return channel.revealed(s, finer) / (s**self.power * (1.0 - s * s) ** self.order)

        usual, finer = (np.array([scaled(s, rule) for s in _PROBES]) for rule in (1, 2))
        of_rules = float(np.abs((finer - usual) / np.maximum(usual, FAINT)).max())
        self.G = PiecewiseSeries(scaled, max(TOLERANCE, of_rules), report)
        self.relative_error = self.G.error + of_rules
        self.signs = None if law is None else Atoms.of_signs(law.clean)
        self.error = ErrorCurve(
            partial(unexplained, target.function) if self.signs is None else self.signs.error
        )
        self.thresholds = self._scan()

    def curve(
        self, alpha: np.ndarray, report: Callable[[float], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Overlaps, errors and the estimated relative error of the test error, for α [N]."""
        parts = np.array_split(alpha, -(-len(alpha) // _AT_ONCE))
        passing, optimal, informed = np.concatenate(
            [np.stack(self.fixed_points(part)) for part in parts], axis=1
        )
        overlaps = {"overlap": passing, "optimal_overlap": optimal, "informed_overlap": informed}
        found = {name: (1.0 - s) * (1.0 + s) for name, s in overlaps.items()}
        found |= {"test_error": self.error(passing), "optimal_error": self.error(optimal)}
        if self.signs is not None:
            found["test_error_01"] = np.array([self.signs.wrong_signs(s) for s in passing])
        return found | {"quadrature_error": self.error_estimate(passing)}

    def ratio(self, s: np.ndarray) -> np.ndarray:
        """α(s): the number of samples per dimension at which s is a fixed point."""
        with np.errstate(divide="ignore"):
            return (1.0 - s * s) ** (1 - self.order) / (s**self.power * np.maximum(self.G(s), _NOTHING))

    def _scan(self) -> dict[str, float]:
        """α(s) on a grid from s = 1 to 0, with the extrema themselves; and its thresholds."""
        edges = self.G.edges
        t = 0.5 - 0.5 * np.cos(np.pi * np.arange(_POINTS) / (_POINTS - 1))
        s = np.unique(edges[:-1, None] + np.diff(edges)[:, None] * t)[::-1]
        ratio = self.ratio(s)
        turn = 1 + np.flatnonzero((ratio[1:-1] - ratio[:-2]) * (ratio[2:] - ratio[1:-1]) < 0.0)
        low, high, up = s[turn + 1], s[turn - 1], np.where(ratio[turn] > ratio[turn - 1], 1.0, -1.0)
        for _ in range(_HALVINGS):  # thirds: an extremum between its neighbours
            first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
            lower = up * (self.ratio(second) - self.ratio(first)) > 0.0
            low, high = np.where(lower, first, low), np.where(lower, high, second)
        self.s = np.sort(np.concatenate([s, 0.5 * (low + high)]))[::-1]
        self.samples = self.ratio(self.s)
        if self.samples[0] * _NOTHING > TOLERANCE:
            self.samples[0] = np.inf
        later = np.minimum.accumulate(self.samples[::-1])[::-1]
        hard = self.samples > later * (1.0 + _DROP)
        jump = transition = np.nan
        if hard.any():
            top = float(self.samples[hard].max())
            jump = top if np.isfinite(top) else np.nan
            transition = self._equal_areas(float(later[hard].min()), min(top, _LARGEST))
        thresholds = {"alpha_weak": self.samples[0], "alpha_amp": jump, "alpha_optimal": transition}
        return thresholds | {"alpha_exact": self.exact}

    def _equal_areas(self, low: float, high: float) -> float:
        """Where the free entropies of the smallest and the largest overlap are equal."""
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            passing, _, informed = (float(s[0]) for s in self.fixed_points(np.array([middle])))
            low, high = (low, middle) if self.gain(informed, passing, middle) >= 0.0 else (middle, high)
        return float(np.sqrt(low * high))

    def gain(self, s: float, other: float, alpha: float) -> float:
        """Φ(s) - Φ(other) for s < other, up to a positive factor where s is 0."""
        if s == 0.0:
            return alpha - self.exact
        inner = self.G.edges[(self.G.edges > s) & (self.G.edges < other)]
        x, w = gauss(np.unique([*np.log(inner), *np.linspace(np.log(s), np.log(other), _PIECES)]), _POINTS)
        between = np.exp(x)
        q = 1.0 - between**2
        return float((alpha * between**self.power * q**self.order * self.G(between) - q) @ w)

    def fixed_points(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What message passing reaches, the optimum and the largest overlap, as s, for each α [N].

        They are roots of α s^m G - q^(1-j) where α(s) rises as s falls, and the ends s = 1, 0.
        """
        s = np.concatenate([[1.0], self.s, [0.0]])
        samples = np.concatenate([[0.0], self.samples, [np.inf]])
        row, cell = np.nonzero((samples[:-1] < alpha[:, None]) & (alpha[:, None] <= samples[1:]))
        high, low, own = s[cell].copy(), s[cell + 1].copy(), alpha[row]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = own * middle**self.power * self.G(middle) > (1.0 - middle**2) ** (1 - self.order)
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        roots = np.where(s[cell] == s[cell + 1], s[cell], 0.5 * (low + high))
        first = np.searchsorted(row, np.arange(len(alpha)))
        last = np.searchsorted(row, np.arange(len(alpha)), side="right") - 1
        best = first.copy()
        for i in np.flatnonzero(last > first):
            for other in range(first[i] + 1, last[i] + 1):
                if self.gain(float(roots[other]), float(roots[best[i]]), float(alpha[i])) > 0.0:
                    best[i] = other
        return roots[first], roots[best], roots[last]

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
        self.power = 2 if error(1e-3) < 0.03 * error(1e-2) else 1
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

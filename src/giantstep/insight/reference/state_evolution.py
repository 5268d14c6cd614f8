"""Fixed points, thresholds and free entropy of one target, all from one tabulated function.

With s = √(1 - q) and F(s) from the label law, fixed points at α samples per dimension are the roots of

    α F(s) = 1 - s²,    α(s) = (1 - s²)/F(s),    Φ(s) - Φ(1) = ∫_s^1 (αF(s') - 1 + s'²) ds'/s'.

Tabulated is the logarithm of G(s) = F(s)/(s^m q^j), which is smooth and positive from s = 0 to 1: m is 0 without noise,
1 where labels jump, 2 otherwise; j is the power of F at small q, 0 unless a label alone reveals nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...model.target import Target
from ...theory.labels import binary_law
from .channels import Atoms, channel_of, unexplained, vanishing_power
from .rules import Series, bisected, logarithm

_TOLERANCE = 1e-9
_NOTHING = 1e-10  # a share of variance that is 0 up to rounding
_UNSEEN = 1e-8  # F(1) that is 0 up to quadrature
_SMALL = (1e-3, 2e-3)  # q at which the power of F at small q is read off
_DROP = 1e-7  # of α(s), relative: smaller ones are rounding, not a hard phase
_PROBES = (0.95, 0.7, 0.4, 0.15, 0.03)  # s at which finer rules check those of the table
_POINTS = 301  # values of s between which α(s) is monotone
_QUARTER = 0.5 * np.pi
_TO_TOLERANCE = 32  # halvings that locate a transition
_LARGEST = 1e12  # samples per dimension up to which transitions are sought


class StateEvolution:
    """The Bayes-optimal inference of one direction from labels."""

    def __init__(self, target: Target, report: Callable[[float], None] | None = None):
        law, channel = binary_law(target), channel_of(target)
        self.power, self.order = channel.power, 0
        if channel.revealed(1.0) < _UNSEEN:
            once, twice = (channel.revealed(np.sqrt(1.0 - q)) for q in _SMALL)
            self.order = round(np.log2(twice / once))
        self.exact = np.inf if self.power else 1.0 / channel.revealed(_NOTHING)

        def scaled(s: float, finer: int = 1) -> float:
            return channel.revealed(s, finer) / (s**self.power * (1.0 - s * s) ** self.order)

        usual, finer = (np.array([scaled(s, rule) for s in _PROBES]) for rule in (1, 2))
        of_rules = float(np.abs((finer - usual) / np.maximum(usual, _NOTHING)).max())
        self.log_G, tail = logarithm(scaled, max(_TOLERANCE, of_rules), report)
        self.log_G_slope, self.relative_error = self.log_G.deriv(), tail + of_rules
        start = 1.0 / self.exact
        self.area = Series.interpolate(
            lambda s: (self.F(s) - start) / s, 2 * len(self.log_G), domain=[0.0, 1.0]
        ).integ(lbnd=1.0)
        if law is None:
            self.signs, power = None, vanishing_power(target.function)
            self.error = ErrorCurve(partial(unexplained, target.function), power)
        else:
            self.signs = Atoms.of_signs(law.clean, target.function.parity is not None)
            self.error = ErrorCurve(self.signs.error, 1)
        self.thresholds = self._scan()

    def curve(
        self, alpha: np.ndarray, report: Callable[[float], None] | None = None
    ) -> dict[str, np.ndarray]:
        """Overlaps, errors and the estimated relative error of the test error, for α [N]."""
        passing, optimal, informed = self.fixed_points(alpha)
        overlaps = {"overlap": passing, "optimal_overlap": optimal, "informed_overlap": informed}
        columns = {name: (1.0 - s) * (1.0 + s) for name, s in overlaps.items()}
        columns |= {"test_error": self.error(passing), "optimal_error": self.error(optimal)}
        if self.signs is not None:
            columns["test_error_01"] = np.array([self.signs.wrong_signs(s) for s in passing])
        return columns | {"quadrature_error": self.error_estimate(passing)}

    def F(self, s: np.ndarray) -> np.ndarray:
        """The share of the unknown variance that a label reveals."""
        return s**self.power * ((1.0 - s) * (1.0 + s)) ** self.order * np.exp(self.log_G(s))

    def samples_at(self, s: np.ndarray) -> np.ndarray:
        """α(s): the number of samples per dimension at which s is a fixed point."""
        with np.errstate(divide="ignore"):
            return ((1.0 - s) * (1.0 + s)) ** (1.0 - self.order) / (s**self.power * np.exp(self.log_G(s)))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """d ln α(s)/ds for 0 < s < 1."""
        of_q = -2.0 * (1 - self.order) * s / ((1.0 - s) * (1.0 + s))
        return of_q - self.power / s - self.log_G_slope(s)

    def _scan(self) -> dict[str, float]:
        """α(s) on a grid from s = 1 to 0, with the extrema themselves; and its thresholds."""
        s = 0.5 + 0.5 * np.cos(np.pi * np.arange(_POINTS) / (_POINTS - 1))
        falling = self.slope(s[1:-1]) > 0.0
        turn = 1 + np.flatnonzero(falling[1:] != falling[:-1])
        extrema = bisected(lambda x: (self.slope(x) > 0.0) != falling[turn - 1], s[turn], s[turn + 1])
        self.s = np.sort(np.concatenate([s, extrema]))[::-1]
        self.samples = self.samples_at(self.s)
        later = np.minimum.accumulate(self.samples[::-1])[::-1]
        hard = self.samples > later * (1.0 + _DROP)
        jump = transition = np.nan
        if hard.any():
            top = float(self.samples[hard].max())
            jump = top if np.isfinite(top) else np.nan
            low, high = np.log([later[hard].min(), min(top, _LARGEST)])
            between = bisected(self._jumped, np.array([low]), np.array([high]), _TO_TOLERANCE)
            transition = float(np.exp(between[0]))
        thresholds = {"alpha_weak": self.samples[0], "alpha_amp": jump, "alpha_optimal": transition}
        return thresholds | {"alpha_exact": self.exact}

    def _jumped(self, log_alpha: np.ndarray) -> np.ndarray:
        """Whether the largest overlap has at least the free entropy of the smallest."""
        alpha = np.exp(log_alpha)
        passing, _, informed = self.fixed_points(alpha)
        return self.free_entropy(informed, alpha) >= self.free_entropy(passing, alpha)

    def free_entropy(self, s: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Φ(s) - Φ(1)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = (1.0 - alpha / self.exact) * np.log(s)
        return np.where(s == 1.0, 0.0, rest - alpha * self.area(s) + 0.5 * (1.0 - s) * (1.0 + s))

    def fixed_points(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What message passing reaches, the optimum and the largest overlap, as s, for each α [N].

        They are roots of α(s) = α where α(s) rises as s falls, and the ends s = 1, 0.
        """
        s = np.concatenate([[1.0], self.s, [0.0]])
        samples = np.concatenate([[0.0], self.samples, [np.inf]])
        row, cell = np.nonzero((samples[:-1] < alpha[:, None]) & (alpha[:, None] <= samples[1:]))

        def above(x: np.ndarray) -> np.ndarray:
            return alpha[row] > self.samples_at(x)

        roots = bisected(above, s[cell + 1], s[cell])
        roots = np.where(s[cell] == s[cell + 1], s[cell], roots)
        first, end = (np.searchsorted(row, np.arange(len(alpha)), side=side) for side in ("left", "right"))
        best = np.lexsort([self.free_entropy(roots, alpha[row]), row])[end - 1]
        return roots[first], roots[best], roots[end - 1]

    def error_estimate(self, s: np.ndarray) -> np.ndarray:
        """Relative error of the test error at fixed points s [N], from that of the table; large at thresholds."""
        inside = np.clip(s, 1e-9, 1.0 - 1e-12)
        moved = self.relative_error / np.maximum(np.abs(self.slope(inside)), _NOTHING)
        total = self.error.slope(inside) * moved + self.error.relative_error
        return np.where(s == 0.0, 0.0, np.where(s == 1.0, self.error.relative_error, np.minimum(total, 1.0)))


class ErrorCurve:
    """An error over the power of s with which it vanishes, tabulated in the angle arcsin s: some are smooth in √q."""

    def __init__(self, error: Callable[[float], float], power: int):
        self.power = power
        self.log, self.relative_error = logarithm(
            lambda t: error(np.sin(_QUARTER * t)) / np.sin(_QUARTER * t) ** power, _TOLERANCE
        )
        self.log_slope = self.log.deriv()

    def __call__(self, s: np.ndarray) -> np.ndarray:
        return s**self.power * np.exp(self.log(np.arcsin(s) / _QUARTER))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """|d ln error/ds|."""
        of_angle = self.log_slope(np.arcsin(s) / _QUARTER) / (_QUARTER * np.sqrt((1.0 - s) * (1.0 + s)))
        return np.abs(self.power / s + of_angle)

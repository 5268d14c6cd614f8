"""Fixed points, thresholds and free entropy of one target, all from one tabulated function.

With s = √(1 - q) and F(s) from the label law, s is a fixed point at α(s) samples per dimension, and

    α(s) = (1 - s²)/F(s),    Φ(s) - Φ(1) = ∫_s^1 (αF(s') - 1 + s'²) ds'/s'.

F behaves as s^m at s = 0, where m is 0 without noise, 1 where labels jump and 2 otherwise, and as q^j at q = 0, where j
is 0 unless a label alone reveals nothing. What is left of α(s) is smooth, and tabulated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.polynomial import Chebyshev

from ...model.target import Target
from ...theory.labels import binary_law
from .channels import Levels, channel_of, unexplained
from .rules import ROUNDING, Table, changes, power_at_zero, zeros

_NOTHING = 1e-10  # a share of variance that is 0 up to rounding
_UNSEEN = 1e-8  # F(1) that is 0 up to quadrature
_DROP = 1e-7  # of α(s), relative: smaller ones are rounding, not a hard phase
_PROBES = np.array([0.95, 0.7, 0.4, 0.25, 0.15, 0.03])  # s at which finer rules check those of the table
_POINTS = 301  # values of s between which α(s) is monotone
_LARGEST = 1e12  # samples per dimension: where more are needed, no number is enough


class StateEvolution:
    """The Bayes-optimal inference of one direction from labels."""

    def __init__(self, target: Target):
        law, channel = binary_law(target), channel_of(target)
        power, order = power_at_zero(channel.revealed), 0
        if channel.revealed(1.0) < _UNSEEN:
            order = power_at_zero(lambda q: channel.revealed(np.sqrt(1.0 - q)))
        self.exact = np.inf if power else 1.0 / channel.revealed(_NOTHING)

        def samples_at(s: float, finer: int = 1) -> float:
            q = (1.0 - s) * (1.0 + s)
            # the smooth part of F is larger than rounding, so that its logarithm follows no noise
            return q / (channel.revealed(s, finer) + ROUNDING * s**power * q**order)

        self.samples_at = Table(samples_at, -power, 1 - order)
        moved = self.samples_at(_PROBES) / [samples_at(s, 2) for s in _PROBES] - 1.0
        self.relative_error = self.samples_at.relative_error + float(np.abs(moved).max())
        self.area = Chebyshev.interpolate(
            lambda s: ((1.0 - s * s) / self.samples_at(s) - 1.0 / self.exact) / s,
            2 * len(self.samples_at.series),
            domain=[0.0, 1.0],
        ).integ(lbnd=1.0)
        self.signs = None if law is None else Levels.of_signs(law.clean)
        error = partial(unexplained, target.function) if self.signs is None else self.signs.error
        self.error = Table(error, power_at_zero(error))
        self.thresholds = self._scan()

    def curve(self, alpha: np.ndarray, report: Callable[[float], None]) -> dict[str, np.ndarray]:
        """Overlaps, errors and the estimated relative error of the errors, for α [N]."""
        s = self.fixed_points(alpha)
        names = ("overlap", "optimal_overlap", "informed_overlap")
        columns = dict(zip(names, (1.0 - s) * (1.0 + s), strict=True))
        columns |= {"test_error": self.error(s[0]), "optimal_error": self.error(s[1])}
        if self.signs is not None:
            columns["test_error_01"] = np.array([self.signs.wrong_signs(one) for one in s[0]])
        report(1.0)
        return columns | {"quadrature_error": self.error_estimate(s[:2]).max(axis=0)}

    def _scan(self) -> dict[str, float]:
        """α(s) on a grid from s = 1 to 0, with the extrema themselves; and its thresholds."""
        s = 0.5 + 0.5 * np.cos(np.pi * np.arange(_POINTS) / (_POINTS - 1))
        extrema = changes(lambda x: self.samples_at.slope(x) > 0.0, s[1:-1])
        self.s = np.sort(np.concatenate([s, extrema]))[::-1]
        self.samples = self.samples_at(self.s)
        later = np.minimum.accumulate(self.samples[::-1])[::-1]
        hard = self.samples > later * (1.0 + _DROP)
        weak, jump, transition = self.samples[0], np.nan, np.nan
        if hard.any():
            jump = self.samples[hard].max()
            ends = np.array([[later[hard].min()], [min(jump, _LARGEST)]]) * (1.0 - _NOTHING)
            low, high = np.log(ends)
            transition = np.exp(zeros(self._gain, low, high)).item()
        return {
            "alpha_weak": weak if weak < _LARGEST else np.inf,
            "alpha_amp": jump if jump < _LARGEST else np.nan,
            "alpha_optimal": transition,
            "alpha_exact": self.exact,
        }

    def _gain(self, log_alpha: np.ndarray) -> np.ndarray:
        """Free entropy of the largest overlap, less that of the smallest, from -1 to 1; -1 where they are one."""
        alpha = np.exp(log_alpha)
        passing, _, informed = self.free_entropy(self.fixed_points(alpha), alpha)
        return np.where(informed == passing, -1.0, np.nan_to_num(np.clip(informed - passing, -1.0, 1.0)))

    def free_entropy(self, s: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Φ(s) - Φ(1)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = (1.0 - alpha / self.exact) * np.log(s)
        return np.where(s == 1.0, 0.0, rest - alpha * self.area(s) + 0.5 * (1.0 - s) * (1.0 + s))

    def fixed_points(self, alpha: np.ndarray) -> np.ndarray:
        """What message passing reaches, the optimum and the largest overlap, as s [3, N], for α [N].

        They are roots of α(s) = α where α(s) rises as s falls, and the ends s = 1, 0.
        """
        s = np.concatenate([[1.0], self.s, [0.0]])
        samples = np.concatenate([[0.0], self.samples, [np.inf]])
        row, cell = np.nonzero((samples[:-1] < alpha[:, None]) & (alpha[:, None] <= samples[1:]))
        roots = zeros(
            lambda x, alpha: np.minimum(self.samples_at(x), _LARGEST**2) / alpha - 1.0, s[cell + 1], s[cell], alpha[row]
        )
        roots = np.where(s[cell] == s[cell + 1], s[cell], roots)
        first, end = (np.searchsorted(row, np.arange(len(alpha)), side=side) for side in ("left", "right"))
        best = np.lexsort([self.free_entropy(roots, alpha[row]), row])[end - 1]
        return roots[np.stack([first, best, end - 1])]

    def error_estimate(self, s: np.ndarray) -> np.ndarray:
        """Relative error of the error at fixed points s [N], from that of the tables; large at thresholds."""
        inside = np.clip(s, ROUNDING, 1.0 - ROUNDING)
        moved = self.relative_error / np.maximum(np.abs(self.samples_at.slope(inside)), _NOTHING)
        of_overlap = np.where(s == inside, np.abs(self.error.slope(inside)) * moved, 0.0)
        return np.minimum(of_overlap + self.error.relative_error, 1.0)

"""Moments of labels given κ, and where they change fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...gaussian import REACH

_SHARP = 0.5  # width in κ below which a smoothed jump of the target is cut out rather than resolved
_MANY = 2.0  # the same times the number of breakpoints, where there are many
TAIL_TOLERANCE = 1e-4  # of E Y⁴, which only tells whether tails are heavy
LAYER = 6.0  # half-width, in standard deviations, of what is cut out


BatchLabels = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""From a stride to labels y [U, N, J] of a batch at each κ of that rule, and weights [U, N, rows, J] for averages of
g(y), y_m g(y) and y_m y_l g(y), where y_m are the projections on the rest of the target."""


class Label(NamedTuple):
    """Moments of the labels Y given κ, over y (the rest of the target's directions) and the labels' own law.

    E Y [U, N], E[y_m Y] [U, k, N], E Y² [U, N]. Additive noise is not included: it only adds its variance to the
    last. `clean` are the moments of the noiseless target where those differ (binary labels with flips and the like).
    """

    t0: np.ndarray
    t1: np.ndarray
    t2: np.ndarray
    clean: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def apply(self, change: Callable[[np.ndarray], np.ndarray]) -> Label:
        """With such a change of nodes."""
        clean = self.clean and tuple(map(change, self.clean))
        return Label(*map(change, self[:3]), clean)  # type: ignore[arg-type]


def kurtosis(square: float, fourth: float, noise: np.ndarray) -> np.ndarray:
    """E y⁴/(E y²)² of labels y = f + noise·ε, from E f² and E f⁴: for independent ε ~ N(0, 1) and Δ = noise²

    E y² = E f² + Δ and E y⁴ = E f⁴ + 6 Δ E f² + 3 Δ². Labels that are all 0 count as all alike.
    """
    variance = np.asarray(noise, dtype=float) ** 2
    power = square + variance
    whole = fourth + 6.0 * variance * square + 3.0 * variance**2
    return np.where(power > 0.0, whole / np.where(power > 0.0, power**2, 1.0), 1.0)


def is_sharp(breakpoints: Sequence[float], gamma: np.ndarray) -> np.ndarray:
    """Where the target's jumps or kinks, smoothed over y, remain too steep in κ for a smooth rule.

    Where there are so many of them that a rule with cuts would have several times the nodes, one without does.
    """
    met = np.count_nonzero(np.abs(breakpoints) < REACH)
    if not met:
        return np.zeros(np.shape(gamma), bool)
    width = np.sqrt(np.maximum(0.0, 1.0 - gamma**2))
    return width < np.minimum(_SHARP, _MANY / met) * np.abs(gamma)


def label_layers(breakpoints: Sequence[float], gamma: np.ndarray) -> np.ndarray:
    """Where γκ + ρy crosses a breakpoint for typical y: the layer's centre and its two rims, [U, cuts]."""
    layer = np.array([-LAYER, 0.0, LAYER])
    rho = np.sqrt(np.maximum(0.0, 1.0 - gamma**2))
    slope = np.where(gamma == 0.0, 1.0, gamma)[:, None, None]
    met = [b for b in breakpoints if abs(b) < REACH]
    cuts = (np.asarray(met)[:, None] + layer * rho[:, None, None]) / slope
    return cuts.reshape(len(gamma), -1)

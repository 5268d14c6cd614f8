"""Moments of labels given κ, and where they change fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_SHARP = 0.5  # width in κ below which a smoothed jump of the target is cut out rather than resolved
_LAYER = 6.0  # half-width, in standard deviations, of what is cut out


class Label(NamedTuple):
    """Moments of the labels Y given κ, over y (the rest of the target's directions) and the labels' own law.

    E Y [U, N], E[y_m Y] [U, k, N], E Y² [U, N]. Additive noise is not included: it only adds its variance to the
    last. `clean` are the moments of the noiseless target where those differ (binary labels with flips and the like).
    """

    t0: np.ndarray
    t1: np.ndarray
    t2: np.ndarray
    clean: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


def is_sharp(breakpoints: Sequence[float], gamma: np.ndarray) -> np.ndarray:
    """Where the target's jumps or kinks, smoothed over y, remain too steep in κ for a smooth rule."""
    if not len(breakpoints):
        return np.zeros(np.shape(gamma), bool)
    return np.sqrt(np.maximum(0.0, 1.0 - gamma**2)) < _SHARP * np.abs(gamma)


def label_layers(breakpoints: Sequence[float], gamma: np.ndarray) -> np.ndarray:
    """Where γκ + ρy crosses a breakpoint for typical y: the layer's centre and its two rims, [U, cuts]."""
    layer = np.array([-_LAYER, 0.0, _LAYER])
    rho = np.sqrt(np.maximum(0.0, 1.0 - gamma**2))
    slope = np.where(gamma == 0.0, 1.0, gamma)[:, None, None]
    cuts = (np.asarray(breakpoints)[:, None] + layer * rho[:, None, None]) / slope
    return cuts.reshape(len(gamma), -1)

"""Probabilities of normal variables."""

from __future__ import annotations

import numpy as np

_AT_ZERO = 1e-200  # stands for 0, where Owen's T function has an angle to it


def ndtr(x: np.ndarray) -> np.ndarray:
    """Φ(x), the chance that a standard normal variable is below x."""
    from scipy.special import ndtr  # here: most predictions never need it, and importing takes a while

    return ndtr(x)


def mills(x: np.ndarray) -> np.ndarray:
    """Φ(-x)/φ(x) for x ≥ 0: what a tail is of its density, which falls slowly where both are tiny."""
    from scipy.special import erfcx

    return np.sqrt(0.5 * np.pi) * erfcx(x / np.sqrt(2.0))


def both_below(h: np.ndarray, k: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """P(x < h, y < k) for standard normal x and y with that correlation, by Owen's T function."""
    from scipy.special import owens_t

    h, k = (np.where(np.abs(x) < _AT_ZERO, _AT_ZERO, np.clip(x, -40.0, 40.0)) for x in (h, k))
    r = np.clip(correlation, -1.0, 1.0)
    apart = np.sqrt(np.maximum((1.0 - r) * (1.0 + r), 1e-30))
    with np.errstate(over="ignore"):
        wedges = owens_t(h, (k - r * h) / (h * apart)) + owens_t(k, (h - r * k) / (k * apart))
    return 0.5 * (ndtr(h) + ndtr(k)) - wedges - np.where((h < 0.0) != (k < 0.0), 0.5, 0.0)

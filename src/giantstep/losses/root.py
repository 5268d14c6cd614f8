"""Root of an increasing function, element by element, without derivatives: for proximal points of any loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_STEPS = 200
_FAR = 1e15


def increasing_root(F: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    """The root of F, which grows at least as fast as its argument, to the last digit or so.

    F' ≥ 1 puts the root between `start` and start - F(start). Inside that bracket, bisection on the scale
    of the bracket alternates with inverse quadratic interpolation (Chandrupatla's method).
    """
    a = np.array(start, float)
    Fa = _finite(F(a))
    b = a - np.clip(Fa, -_FAR, _FAR)
    Fb = _finite(F(b))
    c, Fc = a, Fa
    t = np.full_like(a, 0.5)
    best = np.where(np.abs(Fa) < np.abs(Fb), a, b)
    for _ in range(_STEPS):
        x = a + t * (b - a)
        Fx = _finite(F(x))
        same = np.sign(Fx) == np.sign(Fa)
        c, Fc = np.where(same, a, b), np.where(same, Fa, Fb)
        b, Fb = np.where(same, b, a), np.where(same, Fb, Fa)
        a, Fa = x, Fx
        best = np.where(np.abs(Fa) < np.abs(Fb), a, b)
        width = np.abs(b - a)
        tolerance = 2.0 * np.spacing(np.abs(best))
        done = (width <= 2.0 * tolerance) | (np.abs(Fa) == 0.0) | (np.abs(Fb) == 0.0)
        if done.all():
            break
        t = _next_fraction(a, b, c, Fa, Fb, Fc)
        low = np.minimum(0.5, tolerance / np.where(width == 0.0, 1.0, width))
        t = np.where(done, 0.0, np.clip(t, low, 1.0 - low))
    return best


def _next_fraction(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, Fa: np.ndarray, Fb: np.ndarray, Fc: np.ndarray
) -> np.ndarray:
    """Inverse quadratic interpolation where it is safe, a half elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi, phi = (a - b) / (c - b), (Fa - Fb) / (Fc - Fb)
        safe = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        t = Fa / (Fb - Fa) * Fc / (Fb - Fc) + (c - a) / (b - a) * Fa / (Fc - Fa) * Fb / (Fc - Fb)
    return np.where(safe & np.isfinite(t), t, 0.5)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.asarray(values, float), nan=np.inf, posinf=1e300, neginf=-1e300)

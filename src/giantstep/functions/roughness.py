"""How rough a function is at its breakpoints: the power p with which it leaves them, f(b ± h) ≃ f(b±) + C h^p.

A kink or a jump has p = 1 to either side, where a polynomial follows the function. Other powers (those of |x|^0.6, and
of its derivative, p = -0.4) call for nodes that crowd towards the breakpoint. They are observed in differences
f(b + 2h) - f(b + h), which scale as h^p whatever f(b+) is: every function is treated alike, however it was given.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SMOOTH = 1.0  # stands for every side that a polynomial follows
_DISTANCES = 10.0 ** np.array(
    [-4.0, -5.5, -7.0]
)  # from the breakpoint, over its size or the gap to the next one
_TINY = 10.0 ** np.array([-60.0, -80.0])  # the same at 0, where numbers are not limited by their neighbours
_STEADY = (
    0.05  # change of the power between distances that is allowed: a logarithm passes, an oscillation does not
)
_WHOLE = 0.02  # distance from a whole number within which a power is one
_SMOOTH_FROM = 1.95  # a power from which on the usual rules converge fast enough
_ROUNDING = 1e-13


def powers(
    f: Callable[[np.ndarray], np.ndarray], breakpoints: tuple[float, ...]
) -> dict[float, tuple[float, float]]:
    """The powers p to the left and to the right of those breakpoints where one of them is not `SMOOTH`."""
    if not breakpoints:
        return {}
    b = np.asarray(breakpoints)
    gap = np.diff(b, prepend=-np.inf, append=np.inf)
    room = np.minimum(np.maximum(1.0, np.abs(b)), 0.25 * np.minimum(gap[:-1], gap[1:]))
    sides = [_powers(f, b, side * room) for side in (-1.0, 1.0)]
    found = {float(at): (float(p), float(q)) for at, p, q in zip(b, *sides, strict=True)}
    return {at: pair for at, pair in found.items() if pair != (SMOOTH, SMOOTH)}


def _powers(f: Callable[[np.ndarray], np.ndarray], b: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Those to one side of all breakpoints."""
    with np.errstate(all="ignore"):
        h = _DISTANCES[:, None] * room
        near, far = np.asarray(f(b + h), float), np.asarray(f(b + 2.0 * h), float)
        change = np.abs(far - near)
        first, second = (
            np.log(change[i] / change[i + 1]) / np.log(_DISTANCES[i] / _DISTANCES[i + 1]) for i in (0, 1)
        )
        clear = (change > _ROUNDING * (np.abs(near) + np.abs(far))).all(axis=0)
        steady = np.abs(first - second) < _STEADY
        broken = (np.abs(second - np.round(second)) > _WHOLE) | (second < 0.5)
        rough = np.isfinite(second) & clear & steady & broken & (second < _SMOOTH_FROM)
        power = np.where(rough, second, SMOOTH)
        # next to 0 a pole's own power, undisturbed by what is added to it
        growth = np.asarray(f(b + _TINY[:, None] * room), float)
        exact = np.log(np.abs(growth[0] / growth[1])) / np.log(_TINY[0] / _TINY[1])
    unbounded = rough & (power < 0.0) & (b == 0.0) & np.isfinite(exact) & (exact < 0.0)
    return np.where(unbounded, exact, power)

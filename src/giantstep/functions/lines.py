"""Functions that are straight between their breakpoints: ReLU, |x|, a clipped line, a sign, a staircase.

Seen by their values, so that every function is treated alike, however it was given: a text, a name or a callable.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

_NEAR, _POINTS = 40.0, 1 << 14  # where a function is looked at closely, and in how many places,
_FAR = np.geomspace(_NEAR, 1e12, 300)  # and those where it is looked at as well
# multiples of the golden ratio, less their whole parts, fill an interval and repeat nothing
_SPREAD = (0.5 * (np.sqrt(5.0) - 1.0) * np.arange(1, _POINTS)) % 1.0
_EVERYWHERE = np.concatenate([_NEAR * (2.0 * _SPREAD - 1.0), -_FAR, _FAR])
_ROUNDING = 16 * np.finfo(float).eps


def lines_of(f: Callable[[np.ndarray], np.ndarray], breakpoints: tuple[float, ...]) -> np.ndarray | None:
    """Value at 0 and slope of the line on each piece between breakpoints, [pieces, 2]; None if f is not straight.

    A function without breakpoints is not looked at: if it is a line, its averages are no work. One that cannot be
    asked everywhere, such as a table of values, is not known to be straight.
    """
    if not breakpoints or np.abs(breakpoints).max() >= _FAR[-1]:
        return None
    lines: list[tuple[float, float]] = []
    for left, right in pairwise((-_FAR[-1], *breakpoints, _FAR[-1])):
        close = min(right - left, 1.0) * _SPREAD[:64]
        inside = _EVERYWHERE[(left < _EVERYWHERE) & (right > _EVERYWHERE)]
        line = _line(f, np.sort(np.concatenate([inside, left + close, right - close])))
        if line is None:
            return None
        lines.append(line)
    return np.array(lines)


def _line(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> tuple[float, float] | None:
    """Value at 0 and slope of the line through f at the points x; None if there is none.

    Through the ends of the half of the points that lies nearest to 0: far ones would blur the value there.
    """
    with np.errstate(all="ignore"):
        try:
            y = np.asarray(f(x), float)
        except Exception:  # whatever a user's function says of numbers that it was not made for
            return None
        near = np.argsort(np.abs(x))[: len(x) // 2 + 1]
        low, high = near[x[near].argmin()], near[x[near].argmax()]
        slope = (y[high] - y[low]) / (x[high] - x[low])
        value = y[low] - slope * x[low]
        off, size = np.abs(y - (value + slope * x)), np.abs(y) + np.abs(slope * x) + np.abs(value)
        straight = np.isfinite(y).all() and np.all(off <= _ROUNDING * size)
    return (float(value), float(slope)) if straight else None

"""Properties of a function that its values show: parity, a wrong derivative, straight pieces, where it takes a value.

Every function is treated alike, however it was given: a name, an expression or a callable.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ..errors import ParameterError
from .breakpoints import RANGE, bisect

Parity = Literal["odd", "even"]

_PER_PIECE = 33  # places between breakpoints where a function is compared with its mirror image
_ROUNDING = 1e-13  # some hundred roundings of double precision, relative to the function's size


def observed_parity(function: Callable[[Any], Any], breakpoints: tuple[float, ...]) -> Parity | None:
    """Odd or even if f(-x) = ∓f(x) to rounding on a fine grid and inside every piece between breakpoints.

    A function that is analytic on each piece and symmetric on that many points of each is symmetric; only a
    feature narrower than the grid's 0.01 that no breakpoint announces could escape.
    """
    edges = np.unique(np.abs([0.0, RANGE, *breakpoints]))
    inside = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_PER_PIECE) + 0.5) / _PER_PIECE)
    pieces = (edges[:-1, None] + inside * np.diff(edges)[:, None]).ravel()
    x = np.concatenate([pieces, np.arange(0.0037, RANGE, 0.01)])
    with np.errstate(all="ignore"):
        right, left = np.asarray(function(x)), np.asarray(function(-x))
        usual = np.abs(right[x < 1]).max()
        allowed = _ROUNDING * (usual + np.maximum(np.abs(right), np.abs(left)))
        if np.all((right == left) | (np.abs(right - left) <= allowed)):
            return "even"
        if np.all((right == -left) | (np.abs(right + left) <= allowed)):
            return "odd"
    return None


_NEAR, _PLACES = 4.0, 401  # where a standard Gaussian lives
_NUDGE = 1e-4  # half the width of a difference: neither single precision nor oscillations blur it
_OFF = 1e-2  # of the slope and of its usual size, beyond which a place counts as wrong
_KINKS = 0.05  # share of the places that may be wrong: a difference across a kink nobody has named is


def check_slope(function: Callable[[Any], Any], slope: Callable[[Any], Any], name: str) -> None:
    """Refuse a derivative that is wrong at more than a few places: a step would follow another activation.

    Values that are not finite, and callables that fail on numpy's arrays, are not judged here.
    """
    x = np.linspace(-_NEAR, _NEAR, _PLACES) + 0.003  # off the places where kinks usually are
    try:
        with np.errstate(all="ignore"):
            expected = (np.asarray(function(x + _NUDGE)) - np.asarray(function(x - _NUDGE))) / (2.0 * _NUDGE)
            slopes = np.asarray(slope(x)) + np.zeros_like(x)
    except ParameterError:
        return
    finite = np.isfinite(expected) & np.isfinite(slopes)
    if not finite.any():
        return
    x, expected, slopes = x[finite], expected[finite], slopes[finite]
    off = np.abs(slopes - expected)
    wrong = off > _OFF * (np.abs(expected) + np.sqrt(np.mean(expected**2)))
    if wrong.mean() > _KINKS:
        at = np.where(wrong, off, 0.0).argmax()
        raise ParameterError(
            f"the derivative of {name!r} does not match the function: at x = {x[at]:.3g} it is"
            f" {slopes[at]:.4g}, and {name!r} itself has the slope {expected[at]:.4g} there; correct it, or write the"
            " function as an expression in x, which needs no derivative"
        )


_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_POINTS = 1 << 14  # places within ±RANGE where a function is compared with lines,
_FAR = np.geomspace(RANGE, 1e12, 300)  # and those farther out
# multiples of the golden ratio, less their whole parts, fill an interval and repeat nothing
_SPREAD = (_GOLDEN * np.arange(1, _POINTS)) % 1.0
_EVERYWHERE = np.concatenate([RANGE * (2.0 * _SPREAD - 1.0), -_FAR, _FAR])
_LINE_ROUNDING = 16 * np.finfo(float).eps


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
        straight = np.isfinite(y).all() and np.all(off <= _LINE_ROUNDING * size)
    return (float(value), float(slope)) if straight else None


_GRID = 2049  # points between which a function is taken to pass through a value once
_MOST = 24  # places per value that are looked for
_HALVINGS = 60


def crossings(f: Callable[[np.ndarray], Any], values: np.ndarray, reach: float) -> np.ndarray:
    """z in (-reach, reach) with f(z) = value, for each of `values` [...]: [..., m], padded with +inf.

    Jumps across a value count too. The m is that of the value with the most places, up to 24.
    """
    z = np.linspace(-reach, reach, _GRID)
    above = np.asarray(f(z)) > values.reshape(-1, 1)
    row, cell = np.nonzero(above[:, 1:] != above[:, :-1])
    first = np.searchsorted(row, np.arange(len(above)))
    place = np.arange(len(row)) - first[row]
    kept = place < _MOST
    row, cell, place = row[kept], cell[kept], place[kept]
    level, side = values.reshape(-1)[row], above[row, cell]
    low, high = bisect(lambda x: (np.asarray(f(x)) > level) == side, z[cell], z[cell + 1])
    places = np.full((len(above), int(place.max(initial=-1)) + 1), np.inf)
    places[row, place] = 0.5 * (low + high)
    return places.reshape(*values.shape, places.shape[1])


def turning_values(f: Callable[[np.ndarray], Any], reach: float) -> np.ndarray:
    """The values at which f turns back, or stays for a while, between -reach and reach."""
    z = np.linspace(-reach, reach, _GRID)
    step = np.sign(np.diff(np.asarray(f(z))))
    at = 1 + np.flatnonzero(step[1:] * step[:-1] <= 0.0)
    low, high, up = z[at - 1], z[at + 1], np.where(step[at - 1] > 0.0, 1.0, -1.0)
    for _ in range(_HALVINGS):  # golden sections; on a level stretch any point will do
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        beyond = up * (np.asarray(f(right)) - np.asarray(f(left))) > 0.0
        low, high = np.where(beyond, left, low), np.where(beyond, high, right)
    return np.unique(np.asarray(f(0.5 * (low + high))))

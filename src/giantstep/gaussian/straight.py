"""Moments in closed form, for functions that are straight between their breakpoints.

Seen from the middle m of the Gaussian, f(m + sz) is the line it has there plus what every breakpoint b adds beyond it,
j + kt at a distance t outwards: tails of the normal law, small where the breakpoint is far. With v = |b - m|/s,

    T0 = P(z > v),   T1 = E(z - v)₊ = φ(v) - v T0,   T2 = E(z - v)₊² = T0 - v T1

give all the averages, and the variance that no line explains is that of the tails alone: nothing large cancels.
"""

from __future__ import annotations

import numpy as np

from ..functions import Function
from .normal import ndtr
from .rules import density
from .samples import Moments

_BEYOND = 40.0  # standard deviations from which on tails are 0 in double precision
_CANCELLED = 1e3  # tails this many times E f² leave less than thirteen digits of it


def straight_moments(f: Function, shift: np.ndarray, scale: np.ndarray) -> Moments | None:
    """Moments of f(shift + scale·z) to rounding; None if f is not straight, or if what its tails are would cancel."""
    if f.lines is None:
        return None
    m, s = np.broadcast_arrays(shift, scale)
    value, slope, *each = f.lines
    breaks = [_Break(m, s, *one) for one in zip(*(part.tolist() for part in each), strict=True)]
    value, slope = np.full(m.shape, value), np.full(m.shape, slope)
    for one in breaks:  # the line in the middle
        value += np.where(one.left, one.jump - one.bend * one.at, 0.0)
        slope += np.where(one.left, one.bend, 0.0)
    tails = np.zeros((4, *m.shape))
    for side, outwards in ((1.0, breaks), (-1.0, breaks[::-1])):
        _add_tails(tails, side, outwards, s)
    mean, first, second, square = (np.asarray(part) for part in tails)
    remainder = np.maximum(square - mean**2 - first**2, 0.0)
    middle, along = value + slope * m, slope * s
    large = square + middle**2 + along**2
    mean += middle
    first += along
    total = mean**2 + first**2 + remainder
    if np.any(large > _CANCELLED * total):
        return None
    return Moments(mean, first, second, total, remainder)


class _Break:
    """One breakpoint, seen from every m: on which side it lies, and the tails beyond it."""

    def __init__(self, m: np.ndarray, s: np.ndarray, at: float, jump: float, bend: float):
        self.at, self.jump, self.bend = at, jump, bend
        self.left = m >= at
        self.v = np.minimum(np.abs(at - m) / np.maximum(s, 1e-300), _BEYOND)
        self.density = density(self.v)
        self.t0 = ndtr(-self.v)
        self.t1 = np.maximum(self.density - self.v * self.t0, 0.0)
        self.t2 = np.maximum(self.t0 - self.v * self.t1, 0.0)


def _add_tails(tails: np.ndarray, side: float, breaks: list[_Break], s: np.ndarray) -> None:
    """Add E g, E[zg], E[(z² - 1)g] and E g² of the tails g on one side of the middle, from the nearest break outwards.

    What the breaks so far have added is a line itself: height + rise·t, counted from the present break.
    """
    height, rise, before = np.zeros(s.shape), np.zeros(s.shape), 0.0
    for one in breaks:
        here = one.left if side < 0.0 else ~one.left
        j, k = here * (side * one.jump), here * one.bend
        height += rise * abs(one.at - before)
        before = one.at
        ks = k * s
        tails[0] += j * one.t0 + ks * one.t1
        tails[1] += side * (j * one.density + ks * one.t0)
        tails[2] += (j * one.v + ks) * one.density
        a, b = 2.0 * height + j, (2.0 * rise + k) * s
        tails[3] += j * a * one.t0 + (j * b + ks * a) * one.t1 + ks * b * one.t2
        height += j
        rise += k

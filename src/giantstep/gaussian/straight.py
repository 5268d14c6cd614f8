"""Moments in closed form, for functions that are straight between their breakpoints.

Seen from the middle m of the Gaussian, f(m + sz) is the line it has there plus what every breakpoint b adds beyond it,
j + kt at a distance t outwards: tails of the normal law, small where the breakpoint is far. With v = |b - m|/s,

    T0 = P(z > v),   T1 = E(z - v)₊ = φ(v) - v T0,   T2 = E(z - v)₊² = T0 - v T1

give all the averages, and the variance that no line explains is that of the tails alone. Tails of two breakpoints may
be large and cancel, as those of a steep ramp do: then rules over z are more exact.
"""

from __future__ import annotations

import numpy as np

from ..functions import Function
from .normal import mills
from .rules import density
from .samples import Moments

_BEYOND = 40.0  # standard deviations from which on tails are 0 in double precision
_CANCELLED = 1e3  # tails this many times E f² leave less than thirteen digits of it
_ROUNDING = 4e-16


def straight_moments(f: Function, shift: np.ndarray, scale: np.ndarray) -> tuple[Moments, np.ndarray] | None:
    """Moments of f(shift + scale·z), and their rounding over √E f²; None if f is not straight, or if tails cancel."""
    if f.lines is None:
        return None
    m, s = np.broadcast_arrays(shift, scale)
    value, slope, *each = f.lines
    with np.errstate(over="ignore", invalid="ignore"):
        breaks = [_Break(m, s, *one) for one in zip(*(part.tolist() for part in each), strict=True)]
        value, slope = np.full(m.shape, value), np.full(m.shape, slope)
        for one in breaks:  # the line in the middle
            value += np.where(one.left, one.jump - one.bend * one.at, 0.0)
            slope += np.where(one.left, one.bend, 0.0)
        tails = _Tails(s)
        for side, outwards in ((1.0, breaks), (-1.0, breaks[::-1])):
            tails.add(side, outwards)
        middle, along = value + slope * m, slope * s
        remainder = np.maximum(tails.square - tails.mean**2 - tails.first**2, 0.0)
        mean, first = tails.mean + middle, tails.first + along
        square = mean**2 + first**2 + remainder
        line = middle**2 + along**2
        if not np.all(tails.size + line <= _CANCELLED * square):  # nor where anything overflows
            return None
        lost = _ROUNDING * (1.0 + (tails.rounded + line) / np.maximum(square, 1e-300))
    return Moments(mean, first, tails.second, square, remainder), lost


class _Break:
    """One breakpoint, seen from every m: on which side it lies, and the tails beyond it."""

    def __init__(self, m: np.ndarray, s: np.ndarray, at: float, jump: float, bend: float):
        self.at, self.jump, self.bend = at, jump, bend
        self.left = m >= at
        far = np.abs(at - m) / np.where(s > 0.0, s, 1.0)
        self.v = np.where(s > 0.0, np.minimum(far, _BEYOND), _BEYOND)
        self.density = density(self.v)
        tail = mills(self.v)  # differences are of this: the density's own rounding would grow as v⁴ in them
        below = np.maximum(1.0 - self.v * tail, 0.0)
        self.t0, self.t1 = self.density * tail, self.density * below
        self.t2 = self.density * np.maximum(tail - self.v * below, 0.0)


class _Tails:
    """E g, E[zg], E[(z² - 1)g] and E g² of all tails g; and of the last one what it would be if nothing cancelled.

    `size` is that of the tails' own averages; `rounded`, that of what these are differences of.
    """

    def __init__(self, s: np.ndarray):
        self.s = s
        nothing = np.zeros(s.shape)
        self.mean = self.first = self.second = self.square = self.size = self.rounded = nothing

    def add(self, side: float, breaks: list[_Break]) -> None:
        """Those on one side of the middle, from the nearest break outwards.

        What the breaks so far have added is a line itself: height + rise·t, counted from the present break.
        """
        s, before = self.s, 0.0
        height, rise = np.zeros(s.shape), np.zeros(s.shape)
        for one in breaks:
            here = one.left if side < 0.0 else ~one.left
            j, ks = here * (side * one.jump), here * one.bend * s
            height = height + rise * abs(one.at - before)
            before = one.at
            self.mean = self.mean + j * one.t0 + ks * one.t1
            self.first = self.first + side * (j * one.density + ks * one.t0)
            self.second = self.second + (j * one.v + ks) * one.density
            a, b = 2.0 * height + j, 2.0 * rise * s + ks
            of_t0, of_t1, of_t2 = j * a, j * b + ks * a, ks * b
            self.square = self.square + of_t0 * one.t0 + of_t1 * one.t1 + of_t2 * one.t2
            own = np.abs(of_t0) * one.t0
            self.size = self.size + own + np.abs(of_t1) * one.t1 + np.abs(of_t2) * one.t2
            below = one.density + one.v * one.t0
            self.rounded = (
                self.rounded + own + np.abs(of_t1) * below + np.abs(of_t2) * (one.t0 + one.v * below)
            )
            height = height + j
            rise = rise + here * one.bend

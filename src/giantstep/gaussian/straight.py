"""Moments of functions that are straight between their breakpoints, in closed form: four times faster on large grids.

On a piece u < z < v, f(shift + scale·z) = a + bz. All averages are sums over pieces of the Gaussian's moments there,

    P0 = Φ(v) - Φ(u),   P1 = φ(u) - φ(v),   P2 = P0 + uφ(u) - vφ(v).
"""

from __future__ import annotations

import numpy as np

from ..functions import Function
from .normal import mills
from .rules import density
from .samples import Moments

_BEYOND = 40.0  # standard deviations from which on tails are 0 in double precision
_CANCELLED = 1e3  # terms of narrow pieces this many times E f² leave less than thirteen digits of it
_ROUNDING = 4e-16


def straight_moments(f: Function, shift: np.ndarray, scale: np.ndarray) -> tuple[Moments, np.ndarray] | None:
    """Moments of f(shift + scale·z), and their rounding over √E f².

    None if f is not straight, or has a steep narrow piece, whose terms would cancel: rules over z are more exact then.
    """
    if f.lines is None:
        return None
    m, s = (part[..., None] for part in np.broadcast_arrays(shift, scale))
    value, slope = f.lines.T
    a, b = value + slope * m, slope * s  # [..., pieces]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        distance = np.asarray(f.breakpoints) - m
        inner = np.where(s > 0.0, distance / s, np.where(distance > 0.0, np.inf, -np.inf))
        ends = np.full((*m.shape[:-1], 1), _BEYOND)
        z = np.concatenate([-ends, np.clip(inner, -_BEYOND, _BEYOND), ends], axis=-1)
        u, v, phi = z[..., :-1], z[..., 1:], density(z)
        tail = phi * mills(np.abs(z))  # with the same φ as the terms that it cancels with
        of_u, of_v = tail[..., :-1], tail[..., 1:]
        p0 = np.where((u < 0.0) & (v >= 0.0), 1.0 - of_u - of_v, np.abs(of_u - of_v))
        p1, p2 = -np.diff(phi), p0 - np.diff(z * phi)
        mean, first = (a * p0 + b * p1).sum(axis=-1), (a * p1 + b * p2).sum(axis=-1)
        second = -(a * np.diff(z * phi) + b * np.diff((z * z + 1.0) * phi)).sum(axis=-1)
        left, bent = a - mean[..., None], b - first[..., None]  # what the linear fit leaves of each line
        remainder = np.maximum(left**2 * p0 + 2.0 * left * bent * p1 + bent**2 * p2, 0.0).sum(axis=-1)
        square = mean**2 + first**2 + remainder
        nearest = np.maximum(np.maximum(u, -v), 0.0)
        mass = np.minimum(of_u, of_v) + np.where(nearest > 0.0, np.maximum(of_u, of_v), 1.0)
        terms = (np.abs(a) + np.abs(b) * (1.0 + nearest)) ** 2 * mass
        if not np.all(terms[..., 1:-1].sum(axis=-1) <= _CANCELLED * square):  # nor where anything overflows
            return None
        lost = _ROUNDING * (1.0 + terms.sum(axis=-1) / np.maximum(square, 1e-300))
    return Moments(mean, first, second, square, remainder), lost

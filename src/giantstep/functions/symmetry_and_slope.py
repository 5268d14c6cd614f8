"""What is observed of a function on a grid: its parity, and whether a derivative that was given is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ParameterError
from .elementary import Parity

_REACH = 40.0
_PER_PIECE = 33
_ROUNDING = 1e-13  # some hundred roundings of double precision, relative to the function's size
_NEAR, _PLACES = 4.0, 401  # where a standard Gaussian lives
_NUDGE = 1e-4  # half the width of a difference: neither single precision nor oscillations blur it
_OFF = 1e-2  # of the slope and of its usual size, beyond which a place counts as wrong
_KINKS = 0.05  # share of the places that may be wrong: a difference across a kink nobody has named is


def observed_parity(function: Callable[[Any], Any], breakpoints: tuple[float, ...]) -> Parity | None:
    """Odd or even if f(-x) = ∓f(x) to rounding on a fine grid and inside every piece between breakpoints.

    A function that is analytic on each piece and symmetric on that many points of each is symmetric; only a
    feature narrower than the grid's 0.01 that no breakpoint announces could escape.
    """
    edges = np.unique(np.abs([0.0, _REACH, *breakpoints]))
    inside = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_PER_PIECE) + 0.5) / _PER_PIECE)
    pieces = (edges[:-1, None] + inside * np.diff(edges)[:, None]).ravel()
    x = np.concatenate([pieces, np.arange(0.0037, _REACH, 0.01)])
    with np.errstate(all="ignore"):
        right, left = np.asarray(function(x)), np.asarray(function(-x))
        usual = np.abs(right[x < 1]).max()
        allowed = _ROUNDING * (usual + np.maximum(np.abs(right), np.abs(left)))
        if np.all((right == left) | (np.abs(right - left) <= allowed)):
            return "even"
        if np.all((right == -left) | (np.abs(right + left) <= allowed)):
            return "odd"
    return None


def check_slope(function: Callable[[Any], Any], slope: Callable[[Any], Any], name: str) -> None:
    """Refuse a derivative that is wrong at more than a few places: a step would follow another activation.

    What fails on numpy's arrays, or is not finite, is left to those who need it there.
    """
    x = np.linspace(-_REACH, _NEAR, _PLACES) + 0.003  # off the places where kinks usually are
    try:
        with np.errstate(all="ignore"):
            seen = (np.asarray(function(x + _NUDGE)) - np.asarray(function(x - _NUDGE))) / (2.0 * _NUDGE)
            given = np.asarray(slope(x)) + np.zeros_like(x)
    except ParameterError:
        return
    known = np.isfinite(seen) & np.isfinite(given)
    if not known.any():
        return
    x, seen, given = x[known], seen[known], given[known]
    off = np.abs(given - seen)
    wrong = off > _OFF * (np.abs(seen) + np.sqrt(np.mean(seen**2)))
    if wrong.mean() > _KINKS:
        at = np.where(wrong, off, 0.0).argmax()
        raise ParameterError(
            f"the derivative of {name!r} does not match the function: at x = {x[at]:.3g} it is"
            f" {given[at]:.4g}, and {name!r} itself has the slope {seen[at]:.4g} there; correct it, or write the"
            " function as an expression in x, which needs no derivative"
        )

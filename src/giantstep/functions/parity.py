"""Parity observed on values, for functions without a form that proves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .elementary import Parity

_REACH = 40.0
_PER_PIECE = 33
_ROUNDING = 1e-13  # some hundred roundings of double precision, relative to the function's size


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

"""Newton's method in a box, for a function of few variables whose every evaluation is dear."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_MOST = 30  # steps
_SHORTER = 0.25 ** np.arange(6)  # shares of a step that are tried, until one of them leads downhill
_FLATTEST = 1e-3  # curvature, over the largest, that a step counts on at least
_ROUNDING = 1e-13  # of the function's value

Bent = tuple[float, np.ndarray, np.ndarray]
"""A value, its slopes [n] and its second derivatives [n, n]."""


def descend(
    bent: Callable[[np.ndarray], Bent], start: np.ndarray, low: np.ndarray, high: np.ndarray, still: float
) -> np.ndarray:
    """A point of the box where every slope is at most `still` of the value, but for those that point out of the box.

    Steps take second derivatives for what they are, and negative ones for their size, so that they lead downhill; where
    a step does not, a shorter one is tried. Ends where none of them does, as happens within rounding.
    """
    y, here = start, bent(start)
    for _ in range(_MOST):
        value, slope, curvature = here
        free = ~(((y <= low) & (slope > 0.0)) | ((y >= high) & (slope < 0.0)))
        if not np.isfinite(value) or not np.any(np.abs(slope[free]) > still * value):
            break
        move = np.zeros(len(y))
        move[free] = _downhill(slope[free], curvature[np.ix_(free, free)])
        for share in _SHORTER:
            new = np.clip(y + share * move, low, high)
            there = bent(new)
            gained = value - there[0]
            flatter = np.abs(there[1][free]).max() < np.abs(slope[free]).max()
            if gained > _ROUNDING * value or (abs(gained) <= _ROUNDING * value and flatter):
                y, here = new, there
                break
        else:
            break
    return y


def _downhill(slope: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    sizes, axes = np.linalg.eigh(curvature)
    sizes = np.abs(sizes)
    sizes = np.maximum(sizes, _FLATTEST * max(sizes.max(), np.linalg.norm(slope)))
    return -axes @ ((axes.T @ slope) / sizes)

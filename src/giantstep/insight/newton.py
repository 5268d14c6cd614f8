"""A quasi-Newton method in a box, for a function of few variables whose every evaluation is dear."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_MOST = 40  # steps
_SHORTER = 0.25 ** np.arange(6)  # shares of a step that are tried, until one of them leads downhill
_FLATTEST = 1e-3  # curvature, over the largest, that a step counts on at least
_ROUNDING = 1e-13  # of the function's value
_BENT = 1e-3  # curvature along a step, over what was expected, that is believed at least

Sloped = tuple[float, np.ndarray]
"""A value and its slopes [n]."""


def descend(
    sloped: Callable[[np.ndarray], Sloped],
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    curvature: np.ndarray,
    still: float,
) -> np.ndarray:
    """A point of the box where every slope is at most `still` of the value, but for those that point out of the box.

    `curvature` [n, n] is a guess at the second derivatives, which slopes on the way correct (Broyden, Fletcher,
    Goldfarb, Shanno). Where a step does not lead downhill, a shorter one is tried. Ends where none of them does, as
    happens within rounding.
    """
    y, (value, slope) = start, sloped(start)
    for _ in range(_MOST):
        free = ~(((y <= low) & (slope > 0.0)) | ((y >= high) & (slope < 0.0)))
        if not np.isfinite(value) or not np.any(np.abs(slope[free]) > still * value):
            break
        move = np.zeros(len(y))
        move[free] = _downhill(slope[free], curvature[np.ix_(free, free)])
        move /= max(1.0, float((np.abs(move) / (high - low)).max()))  # no farther than across the box
        for share in _SHORTER:
            new = np.clip(y + share * move, low, high)
            there, bent = sloped(new)
            if np.isfinite(there):
                curvature = _corrected(curvature, new - y, bent - slope)
            gained = value - there
            flatter = np.abs(bent[free]).max() < np.abs(slope[free]).max()
            if gained > _ROUNDING * value or (abs(gained) <= _ROUNDING * value and flatter):
                y, value, slope = new, there, bent
                break
        else:
            break
    return y


def _downhill(slope: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    sizes, axes = np.linalg.eigh(curvature)
    sizes = np.abs(sizes)
    sizes = np.maximum(sizes, _FLATTEST * max(sizes.max(), np.linalg.norm(slope)))
    return -axes @ ((axes.T @ slope) / sizes)


def _corrected(curvature: np.ndarray, move: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Second derivatives that agree with a change of the slopes, as far as these leave them positive."""
    expected = curvature @ move
    before, now = move @ expected, move @ change
    if before <= 0.0:
        return curvature
    if now < _BENT * before:  # Powell's way out: in between what was expected and what was found
        share = (1.0 - _BENT) * before / (before - now)
        change = share * change + (1.0 - share) * expected
        now = move @ change
    return curvature - np.outer(expected, expected) / before + np.outer(change, change) / now

"""Averages refined until they stand still, and how far out and how finely a function must be followed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from .rules import REACH, STRIDES, density, extrapolated_error, line_rule, nested, piecewise_rule
from .samples import Moments, sample
from .straight import straight_moments

_LONGER_REACHES = (REACH, 12.0, 16.0, 21.0, 28.0, 37.0)
_TAIL = 1e-13  # admissible f² φ at the ends, over E f²
_FIRST, _LAST = 32, 8192  # points per piece: where refinement starts, and where it gives up
UNRESOLVED = _LAST // 2  # what `points_needed` answers when no number of points was enough
# Error, over √E f², of averages that are noise: values that have nothing to do with their neighbours' give √Σw² = 0.035
# on the finest rule, an unseen jump 0.003. No number of points helps those, and none is worth its time.
LOST = 0.02
_LADDER = [n for k in range(7) for n in (_FIRST << k, 3 * _FIRST // 2 << k)]  # steps of about √2


def moments(
    f: Function, shift: np.ndarray | float = 0.0, scale: np.ndarray | float = 1.0, tolerance: float = 1e-13
) -> tuple[Moments, np.ndarray]:
    """Moments of f(shift + scale·z), refined until the error estimate meets `tolerance`.

    The error is relative to f's own Gaussian norm, √E f². It is what was reached: compare it with what you
    need, since a wildly oscillating function may stop short of `tolerance`.
    """
    shift, scale = np.broadcast_arrays(np.asarray(shift, float), np.asarray(scale, float))
    if (closed := straight_moments(f, shift, scale)) is not None:
        return closed
    reach = max(tail_reach(f, float(s), float(m)) for m, s in _extremes(shift, scale))
    n = _FIRST
    while True:
        samples = sample(f, shift, scale, n, reach)
        fine, middle, coarse = (samples.moments(stride) for stride in STRIDES)
        error = extrapolated_error(_distance(fine, middle), _distance(middle, coarse))
        if np.all(error <= tolerance) or 2 * n > _LAST:
            return fine, error
        n *= 2


@lru_cache(maxsize=1024)
def resolution(
    f: Function, scale: float, reach: float, span: float, tolerance: float = 1e-13
) -> tuple[int, float]:
    """Points per piece that resolve f(shift + scale·z) for every |shift| ≤ span, or UNRESOLVED; and their error.

    Few points where all is LOST: whoever asks has the error to refuse the answer by.
    The error counts over √E f² there or, where f has died out, over that around 0.
    """
    shift = np.linspace(-span, span, 41) if span > 0 else np.zeros(1)
    if span > len(shift) * scale:  # too far apart to meet what happens around 0
        shift = np.concatenate([shift, scale * np.linspace(-6.0, 6.0, 25)])
    error = np.inf
    for n in _LADDER:
        samples = sample(f, shift, np.full_like(shift, scale), n, reach)
        fine, middle, coarse = (samples.moments(stride) for stride in STRIDES)
        own = extrapolated_error(_distance(fine, middle), _distance(middle, coarse))
        size = np.sqrt(fine.square)
        around = size[np.abs(shift).argmin()]
        error = float(np.max(own * size / np.maximum(np.maximum(size, around), 1e-300)))
        if np.all(own <= tolerance):
            return n, error
    return _FIRST if error > LOST else UNRESOLVED, error


def points_needed(f: Function, scale: float, reach: float, span: float, tolerance: float = 1e-13) -> int:
    """The first of `resolution`, for those who do not look at the error: UNRESOLVED also where all is lost."""
    n, error = resolution(f, scale, reach, span, tolerance)
    return UNRESOLVED if error > LOST else n


def expectation(
    g: Callable[[np.ndarray], np.ndarray], breakpoints: tuple[float, ...] = (), tolerance: float = 1e-13
) -> np.ndarray:
    """E g(z) over z ~ N(0, 1) for an array-valued g (nodes last), refined until it stands still."""
    n = 2 * _FIRST
    reach = next((reach for reach in _LONGER_REACHES if _negligible_beyond(g, reach)), _LONGER_REACHES[-1])
    while True:
        z, weights = piecewise_rule(np.asarray(breakpoints, float), n, reach)
        values = np.asarray(g(z.reshape(-1))).reshape((-1, *z.shape))
        fine, middle, coarse = (
            (values[..., nested(s)] * w).sum(axis=(-1, -2)) for s, w in zip(STRIDES, weights, strict=True)
        )
        size = np.sqrt((values**2 * weights[0]).sum(axis=(-1, -2))) + 1e-300
        error = extrapolated_error(np.abs(fine - middle) / size, np.abs(middle - coarse) / size)
        if np.all(error <= tolerance) or 2 * n > _LAST:
            return fine
        n *= 2


def _negligible_beyond(g: Callable[[np.ndarray], np.ndarray], reach: float) -> bool:
    """Whether g φ has died out at ±reach, compared with its size inside."""
    z, weights = line_rule(256, reach)
    with np.errstate(over="ignore", invalid="ignore"):
        inside = np.abs(np.asarray(g(z))) @ weights[0]
        ends = np.abs(np.asarray(g(np.array([-reach, reach]))))
        return bool(np.all(ends.max(axis=-1) * density(reach) <= _TAIL * inside + 1e-300))


@lru_cache(maxsize=1024)
def tail_reach(f: Function, scale: float, shift: float = 0.0) -> float:
    """How far out the Gaussian must be followed until f² φ is negligible; an error if it never is."""
    for reach in _LONGER_REACHES:
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.asarray(f(np.array([shift - scale * reach, shift + scale * reach]))) ** 2
            z, weights = line_rule(256, reach)
            total = np.asarray(f(shift + scale * z)) ** 2 @ weights[0]
            if np.all(ends * density(reach) <= _TAIL * total) and np.isfinite(total):
                return reach
    x = shift + scale * line_rule(256, _LONGER_REACHES[0])[0]
    with np.errstate(all="ignore"):
        near = np.asarray(f(x))
    if np.isnan(near).any():
        raise ParameterError(
            f"{f.name} is nan at some x; use a function that is defined for every real number"
        )
    single = np.isinf(near[1:-1]) & np.isfinite(near[:-2]) & np.isfinite(near[2:])
    if single.any():
        raise ParameterError(
            f"{f.name} is infinite at x = {x[1:-1][single][0]:g}; give it any finite value there, which no average"
            " feels, and name the place in breakpoints"
        )
    raise ParameterError(
        f"{f.name} grows too fast: its variance under a Gaussian of standard deviation {scale:g} is infinite or"
        " out of reach; use a function that grows no faster than exp(x²/4) or so"
    )


def _distance(a: Moments, b: Moments) -> np.ndarray:
    size = np.sqrt(a.square) + 1e-150
    linear = np.maximum(np.abs(a.mean - b.mean), np.abs(a.first - b.first))
    linear = np.maximum(linear, np.abs(a.second - b.second)) / size
    return np.maximum(linear, np.abs(a.square - b.square) / size**2)


def _extremes(shift: np.ndarray, scale: np.ndarray) -> list[tuple[float, float]]:
    if shift.size == 0:
        return []
    wide = float(np.abs(shift).max())
    return [(-wide, float(scale.max())), (wide, float(scale.max()))]


def round_up(value: float) -> float:
    """The next quarter power of two, so that caches keyed on a scale are hit."""
    return 0.0 if value == 0.0 else 2.0 ** (math.ceil(4.0 * math.log2(value)) / 4.0)

"""Averages refined until they converge, and how far out and how finely a function must be sampled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from .rules import REACH, STRIDES, density, extrapolated_error, line_rule, piecewise_rule
from .samples import Moments, cuts, sample
from .straight import straight_moments

_REACHES = (REACH, 12.0, 16.0, 21.0, 28.0, 37.0)
TAIL = 1e-13  # admissible f² φ at the ends, over E f²
_FIRST, UNRESOLVED = 32, 4096  # points per piece: where refinement starts, and where it gives up
_BLURRED = 13.6  # bandwidth of the square of what a Gaussian of width 1 blurs: exp(-(k/2)²/2) is 1e-10 there
_FARTHEST = 38.0  # standard deviations from which on a Gaussian is 0 in double precision
_FELT = 1e-16  # share of E f² from which on a panel counts
_LADDER = [*(n for k in range(7) for n in (_FIRST << k, 3 * _FIRST // 2 << k)), UNRESOLVED]  # steps of about √2


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
    widest, farthest = float(scale.max()), float(np.abs(shift).max())
    reach = max(tail_reach(f, widest, side * farthest) for side in (-1.0, 1.0))
    *counts, last = _counts(least_intervals(f, widest, reach, farthest, farthest))
    for n in counts[::2]:
        averages, error = _moments(f, shift, scale, n, reach)
        if np.all(error <= tolerance):
            return averages, error
    return _moments(f, shift, scale, last, reach)


def _moments(f: Function, shift: np.ndarray, scale: np.ndarray, n: int, reach: float) -> tuple[Moments, np.ndarray]:
    """Moments on the finest of three nested rules, and their error over √E f² from the differences of all three."""
    samples = sample(f, shift, scale, n, reach)
    fine, middle, coarse = (samples.moments(stride) for stride in STRIDES)
    return fine, extrapolated_error(_distance(fine, middle), _distance(middle, coarse))


def least_intervals(f: Function, scale: float, reach: float, span: float = 0.0, bias: float = 0.0) -> float:
    """Intervals under which a rule for averages of f(shift + scale·z) may miss what f does between its nodes.

    Of a line, or of each piece where it is cut. Shifts go up to `span`; they are a constant, up to `bias`, plus a
    Gaussian variable that is followed up to `REACH`. A function that would take too many is refused.
    """
    intervals, place, length = _demand(f, scale, reach, span, bias)
    if intervals > UNRESOLVED:
        raise ParameterError(
            f"{f.name} varies on a scale of {length:.1g} near x = {place:.3g}, too fast or too abruptly for the"
            " integrals of the theory; use a smoother function, or simulate"
        )
    return intervals


def is_resolvable(f: Function, scale: float, span: float = 0.0) -> bool:
    """Whether averages of f(shift + scale·z) are not refused, for constant shifts up to `span`."""
    return _demand(f, scale, tail_reach(f, scale, span), span, span)[0] <= UNRESOLVED


@lru_cache(maxsize=4096)
def _demand(f: Function, scale: float, reach: float, span: float, bias: float) -> tuple[float, float, float]:
    """`least_intervals`, however many; where they are needed, and on which length f varies there."""
    panels = f.variation(span + reach * scale)
    spread = math.hypot((span - bias) / REACH, scale) + 1e-300
    distance = np.maximum(np.maximum(panels.left, -panels.right), 0.0)  # of a panel from 0
    away = np.clip((distance - bias) / spread, 0.0, _FARTHEST)
    power = panels.size**2 * np.exp(-0.5 * away**2)
    counts = (power > _FELT * power.max()) & (scale > 0.0)
    bandwidth = np.where(counts, panels.bandwidth, 0.0)  # infinite where f overflows
    broken = sorted(cuts(f, scale))
    if broken:
        ends = np.concatenate([[-np.inf], broken, [np.inf]])
        piece = np.searchsorted(ends, panels.middle) - 1
        width = np.minimum(np.diff(ends)[piece], 2.0 / 3.0 * reach * scale)
        intervals = 0.5 * bandwidth * width
    else:
        intervals = bandwidth * reach * scale / np.pi
    too_many = intervals > UNRESOLVED
    worst = int(np.where(too_many, power, intervals if not too_many.any() else 0.0).argmax())
    return float(intervals.max()), float(panels.middle[worst]), float(panels.scale[worst])


def along_gaussian(f: Function, slope: float, width: float, cut: bool, reach: float) -> float:
    """`least_intervals` for averages over κ of E f(slope·κ + width·y): f cannot vary faster than y blurs it.

    `cut`: at f's breakpoints, if it has any.
    """
    blurred = float(blurred_intervals(slope, width, reach))
    if blurred <= 2 * _FIRST or (f.breakpoints and not cut):  # the first are fewer than any rule has
        return blurred
    return min(blurred, least_intervals(f, slope, reach))


def blurred_intervals(slope: np.ndarray | float, width: np.ndarray | float, reach: float) -> np.ndarray:
    """Intervals that averages over κ of E f(slope·κ + width·y) take at most, however fast f may vary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(slope) == 0.0, 0.0, _BLURRED * reach / np.pi * np.divide(slope, width))


def _counts(least: float) -> list[int]:
    """Numbers of points to try, one after the other, from the first that is enough."""
    return [n for n in _LADDER if n >= least]


def resolution(f: Function, shift: np.ndarray, scale: np.ndarray, reach: float, tolerance: float) -> tuple[int, float]:
    """Points per piece that resolve f(shift + scale·z) for such shifts and scales, or UNRESOLVED; and their error.

    Shifts [..., N] go along a Gaussian variable, about as far to both sides of a constant. The error is infinite where
    f is noise to every rule.
    """
    span, widest = float(np.abs(shift).max(initial=0.0)), float(np.max(scale))
    low, high = (np.asarray(end(shift, axis=-1, initial=0.0)) for end in (np.min, np.max))
    bias = 0.5 * float(np.abs(low + high).max(initial=0.0))
    return _resolution(f, round_up(widest), reach, round_up(span), round_up(bias), tolerance)


@lru_cache(maxsize=1024)
def _resolution(
    f: Function, scale: float, reach: float, span: float, bias: float, tolerance: float
) -> tuple[int, float]:
    """`resolution` for every |shift| ≤ span.

    The error counts over √E f² there or, where f has died out, over that around 0.
    """
    shift = np.linspace(-span, span, 41) if span > 0 else np.zeros(1)
    if span > len(shift) * scale:  # too far apart to meet what happens around 0
        shift = np.concatenate([shift, scale * np.linspace(-6.0, 6.0, 25)])
    error, least = np.inf, _demand(f, scale, reach, span, bias)[0]
    if least > UNRESOLVED:
        return UNRESOLVED, np.inf
    for n in _counts(least):
        fine, errors = _moments(f, shift, np.full_like(shift, scale), n, reach)
        size = np.sqrt(fine.square)
        around = size[np.abs(shift).argmin()]
        error = float(np.max(errors * size / np.maximum(np.maximum(size, around), 1e-300)))
        if error <= tolerance:
            return n, error
    return UNRESOLVED, error


def expectation(
    g: Callable[[np.ndarray], np.ndarray], of: Function, shift: float = 0.0, scale: float = 1.0, *, tolerance: float
) -> np.ndarray:
    """E g(z) over z ~ N(0, 1) for an array-valued g (nodes last) that is made of f(shift + scale·z)."""
    reach = next((reach for reach in _REACHES if _negligible_beyond(g, reach)), _REACHES[-1])
    least = least_intervals(of, scale, reach, abs(shift), abs(shift))
    points, _ = resolution(of, np.array([shift]), np.array(scale), reach, tolerance)
    z, weights = piecewise_rule((np.asarray(of.breakpoints) - shift) / scale, 2 * max(points, _counts(least)[0]), reach)
    return np.asarray(g(z.reshape(-1))) @ weights[0].reshape(-1)


def _negligible_beyond(g: Callable[[np.ndarray], np.ndarray], reach: float) -> bool:
    """Whether g φ has died out at ±reach, compared with its size inside, which is finite and not 0."""
    z, weights = line_rule(256, reach)
    with np.errstate(over="ignore", invalid="ignore"):
        inside = np.abs(np.asarray(g(z))) @ weights[0]
        ends = np.abs(np.asarray(g(np.array([-reach, reach])))).max(axis=-1)
        small = (ends * density(reach) <= TAIL * inside) & (inside > 0.0)
        return bool(np.all(small & np.isfinite(inside)))


@lru_cache(maxsize=1024)
def tail_reach(f: Function, scale: float, shift: float = 0.0) -> float:
    """How far out the Gaussian must be followed until f² φ is negligible; an error if it never is."""
    for reach in _REACHES:
        if _negligible_beyond(lambda z: np.asarray(f(shift + scale * z)) ** 2, reach):
            return reach
    x = shift + scale * line_rule(256, _REACHES[0])[0]
    with np.errstate(all="ignore"):
        near = np.asarray(f(x))
    if not near.any():
        return REACH
    lone = np.isinf(near) & np.isfinite(np.roll(near, 1)) & np.isfinite(np.roll(near, -1))  # no overflow
    bad = x[np.isnan(near) | lone]
    if bad.size:
        at = bad[np.abs(bad).argmin()]
        raise ParameterError(f"{f.name} is not finite at x = {at:.3g}; it must be for every real number")
    raise ParameterError(
        f"{f.name} grows too fast: its variance under a Gaussian of standard deviation {scale:g} is infinite or"
        " out of reach; use a function that grows no faster than exp(x²/4) or so"
    )


def _distance(a: Moments, b: Moments) -> np.ndarray:
    size = np.sqrt(a.square) + 1e-150
    linear = np.abs(np.subtract(a[:3], b[:3])).max(axis=0) / size  # mean, first and second
    return np.maximum(linear, np.abs(a.square - b.square) / size**2)


def round_up(value: float) -> float:
    """The next quarter power of two, so that caches keyed on a scale are hit."""
    return 0.0 if value == 0.0 else 2.0 ** (math.ceil(4.0 * math.log2(value)) / 4.0)

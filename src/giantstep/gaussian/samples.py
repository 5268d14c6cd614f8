"""Function values on three nested rules, cut at breakpoints, crowding towards rough ones; and their moments."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..functions import Function
from ..functions.properties import SMOOTH
from .rules import REACH, STRIDES, density, fejer_rule, line_rule, nested, piecewise_rule

_FAR = 20.0  # scale from which on a function is cut at places of its own
_GRADE = 6.0  # power of the variable with which nodes crowd towards a rough breakpoint, at least,
_STEEPEST = 60.0  # and at most: the fourth power of what is left must not overflow at the nodes
_NEAR = (
    1e-9,
    1e-250,
)  # distance, over |b|, under which a pole is continued by its power; and that of a pole at 0


class Moments(NamedTuple):
    """Averages of f(shift + scale·z) over z ~ N(0, 1): its projections on He0, He1, He2, and what is left."""

    mean: np.ndarray  # E f
    first: np.ndarray  # E[z f]
    second: np.ndarray  # E[(z² - 1) f]
    square: np.ndarray  # E f²
    remainder: np.ndarray  # E[(f - mean - first·z)²]: the variance that a linear fit does not explain


class Samples(NamedTuple):
    """Function values at the points of the finest rule, and the three nested rules to average them with."""

    values: np.ndarray  # [..., n-1] or, with breakpoints, [..., pieces, n-1]
    z: np.ndarray
    weights: tuple[np.ndarray, ...]  # one per stride

    def nodes(
        self, stride: int = 1, rows: tuple[slice, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values [..., n], nodes and weights of the rule with every `stride`-th point, its pieces end to end.

        `rows` selects along the first axes.
        """
        take = (*rows, ..., nested(stride))
        f, w = self.values[take], self.weights[STRIDES.index(stride)]
        if self.z.ndim == 1:
            return f, self.z[nested(stride)], w
        parts = f, self.z[take], w[(*rows, ...)]
        f, z, w = (part.reshape(*part.shape[:-2], -1) for part in parts)
        return f, z, w

    def moments(self, stride: int = 1, rows: tuple[slice, ...] = ()) -> Moments:
        """The moments by the rule that uses every `stride`-th point (1, 2 or 4), for some `rows` or all."""
        f, z, w = self.nodes(stride, rows)
        weighed = f * w
        mean, first = weighed.sum(axis=-1), np.vecdot(weighed, z)
        weighed *= z
        second = np.vecdot(weighed, z) - mean
        left = np.multiply(first[..., None], z, out=weighed)
        left += mean[..., None]
        np.subtract(f, left, out=left)
        left *= left
        remainder = np.vecdot(left, w)
        return Moments(mean, first, second, mean**2 + first**2 + remainder, remainder)


def sample(
    f: Function,
    shift: np.ndarray,
    scale: np.ndarray,
    n: int,
    reach: float = REACH,
    more: tuple[float, ...] = (),
) -> Samples:
    """Values of f(shift + scale·z) on the finest of three nested rules, split at f's breakpoints (and `more`)."""
    shift, scale = np.asarray(shift, float), np.asarray(scale, float)
    breakpoints = tuple(sorted({*cuts(f, float(scale.max(initial=0.0))), *more}))
    if not breakpoints:
        z, weights = line_rule(n, reach)
        return Samples(f(shift[..., None] + scale[..., None] * z), z, weights)
    shift, scale = np.broadcast_arrays(shift, scale)
    safe = np.where(scale == 0.0, 1.0, scale)[..., None]  # a vanishing scale has no breakpoints to meet
    edges = (np.asarray(breakpoints) - shift[..., None]) / safe
    if f.powers:
        return _graded(f, breakpoints, shift, scale, edges, n, reach)
    z, weights = piecewise_rule(edges, n, reach)
    return Samples(f(shift[..., None, None] + scale[..., None, None] * z), z, weights)


def cuts(f: Function, scale: float) -> set[float]:
    """Where the line is cut for averages of f on that scale.

    On a large scale a function's bends, of size one around 0, look like jumps: it is cut there too.
    """
    if scale <= _FAR:
        return set(f.breakpoints)
    outward = 2.0 * 4.0 ** np.arange(math.ceil(math.log(scale, 4.0)) + 1)
    return {*f.breakpoints, 0.0, *outward.tolist(), *(-outward).tolist()}


def grade(power: float) -> float:
    """The s of nodes at distances t^s from a breakpoint that f leaves as h^power.

    An unbounded f is averaged with its square and, where that is finite, its fourth power: h^(kp) dh becomes
    t^(s(kp + 1) - 1) dt, a whole power of t for the most singular of them.
    """
    if power == SMOOTH:
        return 1.0
    least = min((left for k in (2.0, 4.0) if (left := 1.0 + k * power) > 0.0), default=1.0)
    return _GRADE if power >= 0.0 else min(_STEEPEST, math.ceil(_GRADE * least) / least)


def _graded(
    f: Function,
    breakpoints: tuple[float, ...],
    shift: np.ndarray,
    scale: np.ndarray,
    cuts: np.ndarray,
    n: int,
    reach: float,
) -> Samples:
    """`sample` for a rough f: every piece is halved, and the nodes of a half crowd towards its end of the piece.

    Arguments are formed as breakpoint + distance. Where rounding would blur the distance, and f is unbounded, it is
    continued by its power.
    """
    fixed = np.array([-reach, -reach / 3, reach / 3, reach])
    own = np.array([f.powers.get(b, (SMOOTH, SMOOTH)) for b in breakpoints])
    power = np.concatenate([np.full((len(fixed), 2), SMOOTH), own])  # [edges, side]
    steep = np.array([[grade(p) for p in pair] for pair in power])
    steep[: len(fixed)] = steep.max()  # a breakpoint may lie close by
    shape = (*cuts.shape[:-1], len(fixed))
    edges = np.concatenate([np.broadcast_to(fixed, shape), np.clip(cuts, -reach, reach)], axis=-1)
    places = shift[..., None] + scale[..., None] * edges
    met = (np.abs(cuts) < reach) & (scale != 0.0)[..., None]
    places[..., len(fixed) :] = np.where(met, np.asarray(breakpoints), places[..., len(fixed) :])
    order = edges.argsort(axis=-1)
    edges, places = (np.take_along_axis(values, order, axis=-1) for values in (edges, places))

    def halves(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """What belongs to the left and to the right half of each piece, [..., pieces, 2, 1]."""
        return np.stack([left[..., :-1], right[..., 1:]], axis=-1)[..., None]

    s, p = (halves(values[order, 1], values[order, 0]) for values in (steep, power))
    edge, place = halves(edges, edges), halves(places, places)
    side = np.array([[1.0], [-1.0]])
    width = 0.5 * np.diff(edges, axis=-1)[..., None, None]
    t = np.sin(0.5 * np.pi * np.arange(1, n) / n) ** 2
    h = width * t**s
    z = edge + side * h
    scaled = 0.5 * width * s * t ** (s - 1.0) * density(z)
    distance = scale[..., None, None, None] * h
    near = np.where(p < 0.0, np.where(place == 0.0, _NEAR[1], _NEAR[0] * np.abs(place)), 0.0)
    values = np.asarray(f(place + side * np.maximum(distance, near)))
    if np.any(p < 0.0):
        inside = np.clip(distance / np.where(near > 0.0, near, 1.0), 1e-290, 1.0)
        values = values * np.where(p < 0.0, inside**p, 1.0)
    values = np.where(width > 0.0, values, 0.0)  # an empty piece lies on its breakpoint
    flat = (*edges.shape[:-1], -1, n - 1)
    _, reference = fejer_rule(n)
    weights = tuple(
        (scaled[..., nested(stride)] * w).reshape(*flat[:-1], len(w))
        for stride, w in zip(STRIDES, reference, strict=True)
    )
    return Samples(values.reshape(flat), np.broadcast_to(z, values.shape).reshape(flat), weights)

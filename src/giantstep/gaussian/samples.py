"""Function values on three nested rules, cut at breakpoints, and their moments."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..functions import Function
from .rules import REACH, STRIDES, line_rule, nested, piecewise_rule

_FAR = 20.0  # scale from which on a function is cut at places of its own


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

    def nodes(self, stride: int = 1, rows: tuple[slice, ...] = ()) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values [..., n], nodes and weights of the rule with every `stride`-th point, its pieces end to end.

        `rows` selects along the first axes.
        """
        take = (*rows, ..., nested(stride))
        f, w = self.values[take], self.weights[STRIDES.index(stride)]
        if self.z.ndim == 1:
            return f, self.z[nested(stride)], w
        f, z, w = (part.reshape(*part.shape[:-2], -1) for part in (f, self.z[take], w[(*rows, ...)]))
        return f, z, w

    def moments(self, stride: int = 1, rows: tuple[slice, ...] = ()) -> Moments:
        """The moments by the rule that uses every `stride`-th point (1, 2 or 4), for some `rows` or all."""
        f, z, w = self.nodes(stride, rows)
        weighed = f * w
        mean, first = weighed.sum(axis=-1), np.vecdot(weighed, z)
        # in place: with new arrays for each of these, averages with a million nodes took twice as long
        weighed *= z
        second = np.vecdot(weighed, z) - mean
        left = np.multiply(first[..., None], z, out=weighed)
        left += mean[..., None]
        np.subtract(f, left, out=left)
        left *= left
        remainder = np.vecdot(left, w)
        return Moments(mean, first, second, mean**2 + first**2 + remainder, remainder)


def sample(
    f: Function, shift: np.ndarray, scale: np.ndarray, n: int, reach: float = REACH, more: tuple[float, ...] = ()
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

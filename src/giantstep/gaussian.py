"""Gaussian expectations of functions with kinks and jumps, with an error estimate.

Everything in the theory that is not linear algebra is an average over a standard normal variable. Two rules
do them all, both *nested*: the interior points of an n-point rule contain those of the n/2- and n/4-point
rules, so one set of function values yields three answers, and their differences an honest error.

- Functions without breakpoints: the trapezoidal rule on the line, which converges geometrically for analytic
  functions under a Gaussian weight.
- Functions with breakpoints (kinks, jumps): the line is cut there, and at two fixed points so that no piece
  is wide compared with the Gaussian; each piece has a Fejér rule (open: never evaluated on a breakpoint).
- Breakpoints that a function leaves with a power of the distance (|x|^0.6, and its derivative, which is unbounded):
  the nodes of both pieces crowd towards them, so that what is left to integrate is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .errors import ParameterError
from .functions import Function
from .functions.roughness import SMOOTH

REACH = 9.0  # the normal density is 1e-18 there: enough for functions that do not grow fast
_LONGER_REACHES = (REACH, 12.0, 16.0, 21.0, 28.0, 37.0)
_TAIL = 1e-13  # admissible f² φ at the ends, over E f²
STRIDES = (1, 2, 4)
_EVEN_REACH = 3.4  # in the variable of `even_pieces`: weights are 1e-18 of the largest there
_AT_ZERO = 1e-200  # stands for 0, where Owen's T function has an angle to it
_FIRST, _LAST = 32, 8192  # points per piece: where refinement starts, and where it gives up
UNRESOLVED = _LAST // 2  # what `points_needed` answers when no number of points was enough
_LADDER = [n for k in range(7) for n in (_FIRST << k, 3 * _FIRST // 2 << k)]  # steps of about √2


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

    def nodes(self, stride: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values [..., n], nodes and weights of the rule with every `stride`-th point, its pieces end to end."""
        f, w = self.values[..., nested(stride)], self.weights[STRIDES.index(stride)]
        z = self.z[..., nested(stride)]
        if self.z.ndim == 1:
            return f, z, w
        return f.reshape(*f.shape[:-2], -1), z.reshape(*z.shape[:-2], -1), w.reshape(*w.shape[:-2], -1)

    def moments(self, stride: int = 1, rows: tuple[slice, ...] = ()) -> Moments:
        """The moments by the rule that uses every `stride`-th point (1, 2 or 4), for some `rows` or all."""
        take = (*rows, ..., nested(stride))
        shared = self.z.ndim == 1
        f, w = self.values[take], self.weights[STRIDES.index(stride)]
        z = self.z[nested(stride)] if shared else self.z[take]
        w = w if shared else w[(*rows, ...)]
        if shared:  # the same, as matrix products with test functions that carry half of the weight
            root = np.sqrt(w)
            basis = np.stack([root, root * z, root * (z * z - 1.0)])
            left = f * root
            found = left @ basis.T
            left -= found[..., :2] @ basis[:2]
            mean, first, second = np.moveaxis(found, -1, 0)
            remainder = np.einsum("...j,...j->...", left, left)
        else:
            weighed = f * w
            mean = weighed.sum(axis=(-2, -1))
            weighed *= z
            first = weighed.sum(axis=(-2, -1))
            second = np.einsum("...pj,...pj->...", weighed, z) - mean
            left = f - mean[..., None, None]
            left -= first[..., None, None] * z
            left *= left
            remainder = np.einsum("...pj,...pj->...", left, w)
        return Moments(mean, first, second, mean**2 + first**2 + remainder, remainder)


def nested(stride: int) -> slice:
    """Which of the n-1 interior points belong to the rule with n/stride intervals."""
    return slice(stride - 1, None, stride)


@lru_cache(maxsize=64)
def line_rule(n: int, reach: float = REACH) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Trapezoidal rule for E over N(0, 1): n-1 nodes on (-reach, reach), and weights for each stride."""
    z = reach * (2.0 * np.arange(1, n) / n - 1.0)
    step = 2.0 * reach / n
    return z, tuple(stride * step * density(z[nested(stride)]) for stride in STRIDES)


@lru_cache(maxsize=64)
def fejer_rule(n: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Fejér's second rule on [-1, 1]: n-1 interior nodes, and weights for each stride."""

    from scipy.fft import dst

    def weights(n: int) -> np.ndarray:
        """4/n sin θ_j Σ_k sin(kθ_j)/k over odd k < n, θ_j = πj/n."""
        k = np.arange(1, n)
        return 2.0 / n * np.sin(np.pi * k / n) * np.asarray(dst((k % 2) / k, type=1))

    return -np.cos(np.pi * np.arange(1, n) / n), tuple(weights(n // stride) for stride in STRIDES)


def piecewise_rule(
    cuts: np.ndarray, n: int, reach: float = REACH
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Composite rule for E over N(0, 1), cut at `cuts` [..., k]: nodes [..., k + 3, n-1], and weights.

    Cuts outside (-reach, reach) give empty pieces. The two fixed cuts at ±reach/3 keep every piece narrow
    enough for the Gaussian itself to be resolved by a few dozen points.
    """
    fixed = np.array([-reach, -reach / 3, reach / 3, reach])
    shape = (*cuts.shape[:-1], 4)
    edges = np.concatenate([np.broadcast_to(fixed, shape), np.clip(cuts, -reach, reach)], axis=-1)
    edges.sort(axis=-1)
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    middle = 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None]
    x, reference = fejer_rule(n)
    z = middle + half * x
    scaled = half * density(z)
    return z, tuple(scaled[..., nested(stride)] * w for stride, w in zip(STRIDES, reference, strict=True))


def even_pieces(
    low: float, high: float, cuts: np.ndarray, n: int
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """A rule for integrals from `low` to `high`, cut at `cuts` [..., k]: nodes [..., k + 1, n-1], and weights.

    On each piece the trapezoidal rule in t, z = middle + half·tanh(π/2 sinh t): about half as accurate, node by node,
    as `piecewise_rule`, but evenly spaced in a variable in which weights are analytic and die out at both ends, so that
    roots and poles there do no harm.
    """
    ends = (np.full((*cuts.shape[:-1], 1), end) for end in (low, high))
    edges = np.sort(np.concatenate([np.clip(cuts, low, high), *ends], axis=-1), axis=-1)
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    middle = 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None]
    t = _EVEN_REACH * (2.0 * np.arange(1, n) / n - 1.0)
    u = 0.5 * np.pi * np.sinh(t)
    z = middle + half * np.tanh(u)
    weights = half * (np.pi * _EVEN_REACH / n) * np.cosh(t) / np.cosh(u) ** 2
    return z, tuple(stride * weights[..., nested(stride)] for stride in STRIDES)


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
    breakpoints = tuple(sorted({*f.breakpoints, *more, *_landmarks(float(scale.max(initial=0.0)))}))
    if not breakpoints:
        z, weights = line_rule(n, reach)
        return Samples(f(shift[..., None] + scale[..., None] * z), z, weights)
    shift, scale = np.broadcast_arrays(shift, scale)
    safe = np.where(scale == 0.0, 1.0, scale)[..., None]  # a vanishing scale has no breakpoints to meet
    cuts = (np.asarray(breakpoints) - shift[..., None]) / safe
    if f.powers:
        return _graded(f, breakpoints, shift, scale, cuts, n, reach)
    z, weights = piecewise_rule(cuts, n, reach)
    return Samples(f(shift[..., None, None] + scale[..., None, None] * z), z, weights)


def _landmarks(scale: float) -> tuple[float, ...]:
    """Places to cut at where a function is seen from so far that its bends, of size one around 0, look like jumps."""
    if scale <= _FAR:
        return ()
    outward = 2.0 * 4.0 ** np.arange(math.ceil(math.log(scale, 4.0)) + 1)
    return (0.0, *outward.tolist(), *(-outward).tolist())


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


def moments(
    f: Function, shift: np.ndarray | float = 0.0, scale: np.ndarray | float = 1.0, tolerance: float = 1e-13
) -> tuple[Moments, np.ndarray]:
    """Moments of f(shift + scale·z), refined until the error estimate meets `tolerance`.

    The error is relative to f's own Gaussian norm, √E f². It is what was reached: compare it with what you
    need, since a wildly oscillating function may stop short of `tolerance`.
    """
    shift, scale = np.broadcast_arrays(np.asarray(shift, float), np.asarray(scale, float))
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
    return UNRESOLVED, error


def points_needed(f: Function, scale: float, reach: float, span: float, tolerance: float = 1e-13) -> int:
    """The first of `resolution`."""
    return resolution(f, scale, reach, span, tolerance)[0]


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


def ndtr(x: np.ndarray) -> np.ndarray:
    """Φ(x), the chance that a standard normal variable is below x."""
    from scipy.special import ndtr  # here: most predictions never need it, and importing takes a while

    return ndtr(x)


def both_below(h: np.ndarray, k: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """P(x < h, y < k) for standard normal x and y with that correlation, by Owen's T function."""
    from scipy.special import owens_t

    def off_zero(x: np.ndarray) -> np.ndarray:
        return np.where(np.abs(x) < _AT_ZERO, _AT_ZERO, np.clip(x, -40.0, 40.0))

    h, k = off_zero(h), off_zero(k)
    r = np.clip(correlation, -1.0, 1.0)
    apart = np.sqrt(np.maximum((1.0 - r) * (1.0 + r), 1e-30))
    with np.errstate(over="ignore"):
        wedges = owens_t(h, (k - r * h) / (h * apart)) + owens_t(k, (h - r * k) / (k * apart))
    return 0.5 * (ndtr(h) + ndtr(k)) - wedges - np.where((h < 0.0) != (k < 0.0), 0.5, 0.0)


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
    with np.errstate(all="ignore"):
        near = np.asarray(f(shift + scale * line_rule(256, _LONGER_REACHES[0])[0]))
    if np.isnan(near).any():
        raise ParameterError(
            f"{f.name} is nan at some x; use a function that is defined for every real number"
        )
    raise ParameterError(
        f"{f.name} grows too fast: its variance under a Gaussian of standard deviation {scale:g} is infinite or"
        " out of reach; use a function that grows no faster than exp(x²/4) or so"
    )


def extrapolated_error(last: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """Error of the finest of three nested rules from the two differences between them.

    Geometric convergence squares the difference at each step (allow the power 3/2, for prefactors): then the
    finest rule is better than the middle one by at least the ratio seen. Otherwise there is an undeclared kink
    or jump, whose errors depend erratically on where it falls between two nodes, and two rules may agree by
    accident. But not three: for a single one, max(last, previous/4) bounds the trapezoidal rule's error.
    """
    geometric = last <= np.maximum(previous**1.5, 1e-15)
    gain = np.minimum(1.0, last / np.maximum(previous, 1e-300))
    return np.where(geometric, last * gain, np.maximum(last, 0.25 * previous)) + 4e-16


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


def density(z: np.ndarray | float) -> np.ndarray:
    return np.exp(-0.5 * np.square(z)) / np.sqrt(2.0 * np.pi)

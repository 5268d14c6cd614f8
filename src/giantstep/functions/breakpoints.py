"""Where a tree is not smooth: kinks and jumps, found to machine precision, and points where it is not finite.

Every part of a tree that can break (a comparison a < b, max(a, b), abs(a), 1/a, ...) does so at the zeros of
some difference g of its arguments. These zeros are sought for |x| <= RANGE: beyond 40 standard deviations
(or 8, for a pre-activation of standard deviation 5) a Gaussian average does not feel a kink in double
precision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ParameterError
from . import tree
from .calculus import derivative
from .operations import ELEMENTARY
from .program import Program
from .tree import Node, postorder

RANGE = 40.0
SPACING = 0.01
MAX_BREAKPOINTS = 64
MODERATE = 9.0  # a function must be finite this far out
MAX_STEPS = 8_000  # of all programs that are run in search of zeros: about a second

_GRID = SPACING * np.arange(-round(RANGE / SPACING), round(RANGE / SPACING) + 1)
_MERGE = 1e-12  # zeros closer than this, relative to max(1, |x|), are one: rounding separates them
_BISECTIONS = 70  # SPACING/2**70 is below the resolution of double precision everywhere but next to 0
_TOUCHED = 1e-9  # |g| this small relative to both neighbours is a zero that rounding hides


def breakpoints(root: Node) -> tuple[float, ...]:
    """All x in [-RANGE, RANGE] where the tree or its derivative may jump, sorted."""
    points = np.empty(0)
    slopes: dict[Node, Node] = {}
    steps, known = 0, set()
    for node in postorder(root):
        difference = breaks_at(node)
        if difference is None or difference in known:
            continue
        known.add(difference)
        slope = derivative(difference, slopes)
        programs = [Program(derivative(slope, slopes)), Program(slope), Program(difference)]
        steps += sum(len(program.steps) for program in programs)
        if steps > MAX_STEPS:
            raise ParameterError(
                "the function is too intricate: finding its kinks and jumps would take too long; simplify it, or "
                "give a Python function with its derivative and breakpoints, Function(f, derivative=, breakpoints=)"
            )
        points = _merged(np.concatenate([points, zeros(programs, points)]))
        if points.size > MAX_BREAKPOINTS:
            raise ParameterError(
                f"the function has more than {MAX_BREAKPOINTS} kinks or jumps for |x| <= {RANGE:g}; "
                "use a smooth function, or one that breaks less often"
            )
    return tuple(points.tolist())


def breaks_at(node: Node) -> Node | None:
    """The quantity at whose zeros this node may break; None for operations that are smooth throughout."""
    difference = None
    if node.op in ("less", "at_most", "max", "min"):
        difference = tree.sub(*node.args[:2])
    elif node.op == "div":
        difference = node.args[1]
    elif node.op == "power" and (node.value < 0 or not float(node.value).is_integer()):
        difference = node.args[0]
    elif node.op in ELEMENTARY and (edge := ELEMENTARY[node.op].edge) is not None:
        difference = tree.sub(node.args[0], tree.const(edge))
    return None if difference is None or tree.is_const(difference) else difference


def zeros(programs: list[Program], inner: np.ndarray) -> np.ndarray:
    """Zeros and sign changes of a function g, given g'', g' and g; the breakpoints of its own parts are `inner`.

    Zeros of g that lie between neighbours of the grid do not show in its signs there. But g is monotone
    between zeros of g', and g' between those of g'' (Rolle): these are found first and join the grid, so that
    up to three zeros within SPACING of each other are told apart, and a zero that is only touched is found.
    """
    *slopes, value = programs
    x = np.union1d(_GRID, inner)
    for slope in slopes:
        x = np.union1d(x, _sign_changes(slope, x, inner))
    at = np.abs(value(x))
    touched = x[1:-1][at[1:-1] < _TOUCHED * np.minimum(at[:-2], at[2:])]
    return np.concatenate([_sign_changes(value, x, np.empty(0)), touched])


def _sign_changes(function: Program, x: np.ndarray, kinks: np.ndarray) -> np.ndarray:
    """Where the sign of `function` changes between neighbours in x; at a kink it is taken inside the cell."""
    inward = np.where(np.isin(x, kinks), RANGE * 1e-15, 0.0)
    left, right = x[:-1] + inward[:-1], x[1:] - inward[1:]
    signs = _sign(function(left))
    changes = signs != _sign(function(right))
    signs = signs[changes]
    left, right = bisect(lambda x: _sign(function(x)) == signs, left[changes], right[changes])
    return np.where(np.abs(function(left)) < np.abs(function(right)), left, right)


def bisect(
    holds: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The last place where something holds, and the next, where it does not: between `low` and `high`, which are so."""
    for _ in range(_BISECTIONS if low.size else 0):
        middle = 0.5 * (low + high)
        inside = holds(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low, high


def _sign(values: np.ndarray) -> np.ndarray:
    """-1, 0 or 1, and 2 where there is no value: the end of a domain is a change of sign like any other."""
    signs = np.sign(values)
    signs[np.isnan(signs)] = 2.0
    return signs


def _merged(points: np.ndarray) -> np.ndarray:
    """Sorted, with those that only rounding tells apart as one: the one found first, from the simpler part."""
    points = np.where(np.abs(points) < 1e-15, 0.0, points)
    order = np.argsort(points, kind="stable")
    apart = np.diff(points[order], prepend=-np.inf) > _MERGE * np.maximum(1.0, np.abs(points[order]))
    return points[np.minimum.reduceat(order, np.flatnonzero(apart))] if points.size else points


def _vicinity(points: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A wide and a narrow distance (10⁴ times smaller) from each breakpoint, short of its neighbours."""
    b = np.asarray(points)
    size = np.maximum(1.0, np.abs(b))
    gap = np.diff(b, prepend=-np.inf, append=np.inf)
    wide = np.minimum(1e-5 * size, 0.25 * np.minimum(gap[:-1], gap[1:]))
    return wide, np.maximum(1e-4 * wide, 2e-15 * size)


def jumps(root: Node, points: tuple[float, ...]) -> list[float]:
    """The breakpoints at which the function itself jumps, not only its slope.

    A continuous function obeys f(b+h) - f(b-h) = h (f'(b+h) + f'(b-h)) up to terms that vanish with h; a
    jump leaves a mismatch that stays when h is made ten thousand times smaller.
    """
    value, slope, b = Program(root), Program(derivative(root)), np.asarray(points)

    def mismatch(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the two sides of that rule, and what the rounding of b ± h makes of it."""
        with np.errstate(invalid="ignore"):  # far out the function may have overflowed: no jump shows there
            left, right = slope(b - h), slope(b + h)
            blur = 1e-15 * np.maximum(1.0, np.abs(b)) * (np.abs(left) + np.abs(right))
            return np.abs(value(b + h) - value(b - h) - h * (left + right)), blur

    (wide, _), (narrow, blur) = map(mismatch, _vicinity(points))
    around = np.linspace(-1.0, 1.0, 41)
    rounding = 1e-11 * np.abs(value(b + around[:, None])).max(axis=0) + 1e-13 * np.abs(value(around)).max()
    return b[(narrow > rounding + blur) & (narrow > 0.5 * wide)].tolist()


def check_finite(root: Node, points: tuple[float, ...]) -> None:
    """Refuse a function that cannot be averaged over a Gaussian, for a point where it is not finite."""
    value, b = Program(root), np.asarray(points)
    x = np.concatenate([np.round(np.linspace(-MODERATE, MODERATE, 1801), 2), b[np.abs(b) <= MODERATE]])
    bad = x[~np.isfinite(value(x))]
    if bad.size:
        nearest = bad[np.argmin(np.abs(bad))]
        raise ParameterError(f"the function is not finite at x = {nearest:g}; it must be for |x| <= {MODERATE:g}")
    if unbounded := poles(value, points):
        raise ParameterError(f"the function is unbounded near x = {unbounded[0]:g}; it must be finite")


def poles(f: Callable[[np.ndarray], np.ndarray], points: tuple[float, ...]) -> list[float]:
    """The breakpoints next to which a function has no bound, as 1/sqrt(abs(x)) has none next to 0."""
    b = np.asarray(points)
    wide, narrow = _vicinity(points)
    growing = np.zeros(b.shape, bool)
    with np.errstate(all="ignore"):
        for side in (-1.0, 1.0):
            far, near = np.abs(f(b + side * wide)), np.abs(f(b + side * narrow))
            growing |= np.isfinite(far) & ~(near <= 1.5 * np.maximum(far, 1.0))  # log x grows by 1.8, 1/x by 10⁴
    return b[growing].tolist()

"""What the form of a node tells about its values: bounds, and whether it can be infinite or undefined.

This is how 1 + x**2 is known never to vanish: nobody need look for its zeros, and dividing by it is harmless.
Bounds hold for every x, up to rounding, so only strict ones (1 + x**2 > 0) and those of a sign (|x| >= 0) are made
use of.
"""

from __future__ import annotations

import math
from typing import Any

Range = tuple[float, float]

_OPEN: Range = (-math.inf, math.inf)
_OVERFLOW = 700.0  # exp of more has no double precision number
_IMAGES: dict[str, Range] = {
    **dict.fromkeys(("abs", "softplus"), (0.0, math.inf)),
    **dict.fromkeys(("sigmoid", "normal_cdf", "number"), (0.0, 1.0)),
    **dict.fromkeys(("sin", "cos", "tanh", "erf", "sign"), (-1.0, 1.0)),
    "arctan": (-math.pi / 2, math.pi / 2),
    "cosh": (1.0, math.inf),
    "expm1": (-1.0, math.inf),
}


def bounds(op: str, args: tuple[Any, ...], ranges: list[Range], value: float) -> Range:
    """Numbers between which the operation's result always is, wherever it is defined."""
    match op:
        case "const":
            return value, value
        case "add":
            return _ordered(ranges[0][0] + ranges[1][0], ranges[0][1] + ranges[1][1])
        case "sub":
            return _ordered(ranges[0][0] - ranges[1][1], ranges[0][1] - ranges[1][0])
        case "neg":
            return -ranges[0][1], -ranges[0][0]
        case "mul" | "chain" if args[0] is args[1]:
            return 0.0, math.inf
        case "mul" | "chain":
            corners = [_product(a, b) for a in ranges[0] for b in ranges[1]]
            return min(corners), max(corners)
        case "div" if args[1].op == "const":
            ends = [end / args[1].value for end in ranges[0]]
            return min(ends), max(ends)
        case "div" if min(ranges[0][0], ranges[1][0]) >= 0:
            return 0.0, math.inf
        case "power" if value % 2 != 1 or ranges[0][0] >= 0:  # even, or of a base that must be positive
            return 0.0, math.inf
        case "max":
            return max(low for low, _ in ranges), max(high for _, high in ranges)
        case "min":
            return min(low for low, _ in ranges), min(high for _, high in ranges)
        case "select":
            return min(low for low, _ in ranges[1:]), max(high for _, high in ranges[1:])
        case "exp":
            return 0.0, math.exp(ranges[0][1]) if ranges[0][1] < _OVERFLOW else math.inf
        case "sqrt":
            return math.sqrt(max(ranges[0][0], 0.0)), math.sqrt(max(ranges[0][1], 0.0))
    return _IMAGES.get(op, _OPEN)


def may_fail(op: str, ranges: list[Range], value: float) -> bool:
    """Whether the operation itself may be infinite or undefined for some arguments."""
    low, high = ranges[0] if ranges else _OPEN
    match op:
        case "div":
            return not (ranges[1][0] > 0 or ranges[1][1] < 0)
        case "power" if value < 0:
            return not low > 0
        case "power":
            return not float(value).is_integer() and low < 0
        case "sqrt":
            return low < 0
        case "log":
            return not low > 0
        case "log1p":
            return not low > -1
        case "exp" | "expm1":
            return not high < _OVERFLOW
        case "sinh" | "cosh":
            return not (low > -_OVERFLOW and high < _OVERFLOW)
    return False


def _ordered(low: float, high: float) -> Range:
    """A range; the sum of opposite infinities tells nothing."""
    return -math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high


def _product(a: float, b: float) -> float:
    return a * b if a and b else 0.0

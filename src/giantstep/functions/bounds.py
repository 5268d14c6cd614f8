"""What the form of a node tells about its values: a lower bound, and whether it can be infinite or undefined.

This is how 1 + x**2 is known never to vanish: nobody need look for its zeros, and dividing by it is harmless.
Bounds hold up to rounding, so only strict ones (1 + x**2 > 0) and those of a sign (|x| >= 0) are made use of.
"""

from __future__ import annotations

import math
from typing import Any

_LEAST = {
    **dict.fromkeys(("abs", "exp", "sigmoid", "softplus", "normal_cdf", "number"), 0.0),
    **dict.fromkeys(("sin", "cos", "tanh", "erf", "sign", "expm1"), -1.0),
    "arctan": -math.pi / 2,
    "cosh": 1.0,
}


def lower_bound(op: str, args: tuple[Any, ...], lows: list[float], value: float) -> float:
    """A number that the operation's result is never below, wherever it is defined; -inf if none is known."""
    match op:
        case "const":
            return value
        case "add" if math.isfinite(lows[0] + lows[1]):
            return lows[0] + lows[1]
        case "sub" if args[1].op == "const":
            return lows[0] - args[1].value
        case "mul" | "div" | "chain" if min(lows[:2]) >= 0 or (args[0] is args[1]):
            return lows[0] * lows[1] if op == "mul" and min(lows) > 0 else 0.0
        case "power" if value % 2 != 1 or lows[0] >= 0:  # an even power, or one that needs a positive base
            return max(lows[0], 0.0) ** value if value > 0 and lows[0] < 1e4 else 0.0
        case "max":
            return max(lows)
        case "min":
            return min(lows)
        case "select":
            return min(lows[1:])
        case "sqrt":
            return math.sqrt(max(lows[0], 0.0))
    return _LEAST.get(op, -math.inf)


def may_fail(op: str, lows: list[float], value: float) -> bool:
    """Whether the operation itself may be infinite or undefined for some arguments (of an ordinary size)."""
    match op:
        case "div":
            return not lows[1] > 0
        case "power" if value < 0:
            return not lows[0] > 0
        case "power":
            return not float(value).is_integer() and lows[0] < 0
        case "sqrt":
            return lows[0] < 0
        case "log":
            return not lows[0] > 0
        case "log1p":
            return not lows[0] > -1
    return False

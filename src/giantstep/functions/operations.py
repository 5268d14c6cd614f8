"""The operations of expression trees, and how each is carried out on the arrays of any library."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Implementation = Callable[[Any], Any]


@dataclass(frozen=True)
class Elementary:
    """One function of one argument.

    `build` makes its implementation for an array namespace. The derivative is written in the expression language: the
    chain rule needs no second table. `edge` is the argument at which the function has a kink, a jump, or the end of its
    domain; `width` is that of the step around 0 of a function that rises from one level or slope to another.
    """

    build: Callable[[Any], Implementation]
    derivative: str
    edge: float | None = None
    width: float | None = None


def _standard(name: str) -> Callable[[Any], Implementation]:
    """A function that the array API standard provides under `name`."""
    return lambda xp: getattr(xp, name)


def _special(name: str) -> Callable[[Any], Implementation]:
    """erf or erfc, which the standard lacks: from scipy or torch, else by way of numpy."""

    def build(xp: Any) -> Implementation:
        if "torch" in xp.__name__:
            import torch

            return getattr(torch.special, name)
        import scipy.special

        function = getattr(scipy.special, name)
        if xp.__name__ == "numpy":
            return function
        return lambda a: xp.asarray(function(np.asarray(a)), dtype=a.dtype, device=a.device)

    return build


def _normal_cdf(xp: Any) -> Implementation:
    erfc = _special("erfc")(xp)  # of -x: relative accuracy in the left tail, where 1 + erf cancels
    return lambda a: 0.5 * erfc(a * -math.sqrt(0.5))


def _sigmoid(xp: Any) -> Implementation:
    return lambda a: 1.0 / (1.0 + xp.exp(-a))  # right in both tails: an overflow gives 1/inf = 0


def _softplus(xp: Any) -> Implementation:
    return lambda a: xp.log1p(xp.exp(-xp.abs(a))) + 0.5 * (a + xp.abs(a))


ELEMENTARY: dict[str, Elementary] = {
    "abs": Elementary(_standard("abs"), "sign(x)", edge=0.0),
    "sign": Elementary(_standard("sign"), "0", edge=0.0),
    "exp": Elementary(_standard("exp"), "exp(x)"),
    "expm1": Elementary(_standard("expm1"), "exp(x)"),
    "log": Elementary(_standard("log"), "1/x", edge=0.0),
    "log1p": Elementary(_standard("log1p"), "1/(1 + x)", edge=-1.0),
    "sqrt": Elementary(_standard("sqrt"), "0.5/sqrt(x)", edge=0.0),
    "sin": Elementary(_standard("sin"), "cos(x)"),
    "cos": Elementary(_standard("cos"), "-sin(x)"),
    "arctan": Elementary(_standard("atan"), "1/(1 + x**2)", width=1.0),
    "sinh": Elementary(_standard("sinh"), "cosh(x)"),
    "cosh": Elementary(_standard("cosh"), "sinh(x)"),
    "tanh": Elementary(_standard("tanh"), "1 - tanh(x)**2", width=1.0),
    "arcsinh": Elementary(_standard("asinh"), "1/sqrt(1 + x**2)", width=1.0),
    "erf": Elementary(_special("erf"), "2/sqrt(pi)*exp(-x**2)", width=1.0),
    "normal_cdf": Elementary(_normal_cdf, "exp(-x**2/2)/sqrt(2*pi)", width=1.5),
    "sigmoid": Elementary(_sigmoid, "sigmoid(x)*sigmoid(-x)", width=2.0),
    "softplus": Elementary(_softplus, "sigmoid(x)", width=2.0),
}


@lru_cache(maxsize=1024)
def implementation(op: str, value: float, xp: Any) -> Callable[..., Any]:
    """The array function that carries out one operation of the tree in the namespace `xp`."""
    if op in ELEMENTARY:
        return ELEMENTARY[op].build(xp)
    if op == "power":
        return _integer_power(int(value)) if float(value).is_integer() else lambda a: a**value
    if op == "chain":
        return lambda a, b, zero: xp.where((a == 0) | (b == 0), zero, a * b)
    if op in ("less", "at_most"):
        compare = operator.lt if op == "less" else operator.le
        return lambda a, b: xp.asarray(compare(a, b), dtype=a.dtype)
    if op == "select":
        return lambda condition, a, b: xp.where(condition != 0, a, b)
    return {"max": xp.maximum, "min": xp.minimum, "div": operator.truediv}.get(op) or getattr(operator, op)


def _integer_power(exponent: int) -> Callable[[Any], Any]:
    """Repeated squaring: exact for small integers and many times faster than a general power."""

    def power(a: Any) -> Any:
        result: Any = None
        for bit in f"{abs(exponent):b}":  # from the highest: square, and multiply by a where the bit is set
            result = a if result is None else result * result * a if bit == "1" else result * result
        return result if exponent > 0 else 1.0 / result

    return power

"""From a name, an expression, a polynomial or a callable to a `Function`; the first three are a `Formula`, a tree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from ..errors import ExpressionError, NotCovered, ParameterError, shown
from ..model.checks import written
from . import breakpoints as broken
from .calculus import derivative
from .expression import MAX_EXPONENT, compact, expand, parse
from .function import Function
from .names import DEFINITIONS, PARAMETERS, canonical, unknown
from .program import Program
from .tree import ZERO, Node, X, add, const, mul, postorder

DERIVATIVE_PREFIX = "d/dx "
MAX_NODES = 3000  # whose derivative is taken: a text has a thousand at most, its derivatives several times that
MAX_ORDER = 4  # of a derivative written as text

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]*")
_SHORT = 40


class Formula(Function):
    """A named function or an expression; made by `as_function`, equal when their `spec` is."""

    _tree: Node

    def __init__(self, tree: Node, spec: str, name: str, breakpoints: tuple[float, ...] | None = None):
        """`breakpoints` are those of the tree, where they are known already."""
        self.__dict__.update(_tree=tree, _program=Program(tree), _spec=spec, name=name)
        if breakpoints is not None:
            self.__dict__["_breakpoints"] = breakpoints

    @cached_property
    def _breakpoints(self) -> tuple[float, ...]:  # type: ignore[override]
        """Where the function or its derivative jumps, for |x| <= 40, sorted."""
        return broken.breakpoints(self._tree)

    @cached_property
    def _jumps(self) -> list[float]:
        return broken.jumps(self._tree, self._breakpoints)

    @property
    def has_derivative(self) -> bool:
        """Whether the function is continuous, so that its derivative is a function."""
        return not self._jumps

    @cached_property
    def derivative(self) -> Function:
        """The derivative, itself a Function; ParameterError when the function jumps.

        At a point where there is none it has the value of one side, or 0 (see `calculus.derivative`).
        """
        if self._jumps:
            raise NotCovered(
                f"{self.name!r} jumps at x = {self._jumps[0]:g}, so its derivative is not a function and a "
                "gradient step cannot use it; use SpikedRF, which needs no derivative, or a continuous activation",
                "activation",
            )
        if len(postorder(self._tree)) > MAX_NODES:
            raise ParameterError(f"{self.name!r} is too long to take its derivative; simplify the expression")
        slope = derivative(self._tree)
        # it is made of the same parts, so that it breaks at the same places
        return Formula(slope, DERIVATIVE_PREFIX + self.spec, f"{self.name}'", self.breakpoints)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_function, (self.spec,)


def as_function(function: str | Function | Callable[[Any], Any], also: tuple[str, ...] = ()) -> Function:
    """The Function that is meant by a name, an expression in x, a polynomial or a callable.

    ==============================  ==========================================================
    ``"tanh"``, ``"Leaky ReLU"``    a name of the catalogue, in any spelling
    ``"leaky_relu:0.1"``            a name with its parameter
    ``"tanh(2*x) + 0.3*x**3"``      an expression in x
    ``"poly:0,1,0.5"``              the polynomial x + x²/2
    ``"d/dx gelu"``                 the derivative of any of these
    ``numpy.polynomial`` objects    the polynomial that they stand for, in whatever basis
    ``numpy.tanh`` and the like     the function of that name
    any other callable              ``Function(f)``, with neither derivative nor breakpoints
    ==============================  ==========================================================

    `also` are further names that may have been meant where a name is unknown.
    """
    if isinstance(function, Function):
        return function
    if isinstance(function, str):
        return _from_text(function, also)
    if isinstance(function, np.poly1d):
        return _polynomial(function.coeffs[::-1])
    if hasattr(function, "convert") and hasattr(function, "coef"):
        return _polynomial(function.convert(kind=np.polynomial.Polynomial).coef)  # type: ignore[union-attr]
    if isinstance(function, np.ufunc) and function.nin == 1 and canonical(function.__name__) in DEFINITIONS:
        return _from_text(function.__name__)
    if callable(function):
        return Function(function)
    reason = "is not a function; give a name, an expression in x, or a callable"
    raise ParameterError(f"{shown(function)} {reason}", None, function, reason)


def catalogue() -> dict[str, Function]:
    """Every named function, with default parameters."""
    return {name: as_function(name) for name in DEFINITIONS}


@lru_cache(maxsize=512)
def _from_text(text: str, also: tuple[str, ...] = ()) -> Function:
    stripped = text.strip(" ")
    if stripped.startswith(DERIVATIVE_PREFIX):
        if stripped.count(DERIVATIVE_PREFIX) > MAX_ORDER:
            raise ExpressionError(f"at most {MAX_ORDER} derivatives are taken", text)
        return as_function(stripped.removeprefix(DERIVATIVE_PREFIX)).derivative
    name, colon, parameters = stripped.partition(":")
    if _NAME.fullmatch(name) and not {"x", "pi", "e"} & set(re.findall(r"\w+", name)):
        return _named(text, name, parameters.split(",") if colon else [], also)
    return _expression(text)


def _named(text: str, name: str, texts: list[str], also: tuple[str, ...]) -> Function:
    """A function of the catalogue, or a polynomial, with the texts of its parameters."""
    known = "poly" if name.lower() in ("poly", "polynomial") else canonical(name)
    if known != "poly" and known not in DEFINITIONS:
        raise ExpressionError(unknown(name, also=("poly", *also)), text)
    values = _numbers(text, texts)
    if known == "poly":
        return _polynomial(values)
    defaults = PARAMETERS.get(known, {})
    if len(values) > len(defaults):
        takes = ", ".join(f"{parameter}={value:g}" for parameter, value in defaults.items())
        reason = f"{known} takes {f'the parameter {takes}' if takes else 'no parameter'}, not {len(values)} of them"
        raise ExpressionError(reason, text, text.index(":"))
    chosen = defaults | dict(zip(defaults, values, strict=False))
    spec = known if chosen == defaults else f"{known}:{','.join(map(written, chosen.values()))}"
    return Formula(expand(DEFINITIONS[known], X, chosen), spec, spec)


def _numbers(text: str, texts: list[str]) -> list[float]:
    """Finite numbers from their texts, which end the whole text."""
    values, column = [], text.find(":") + 1
    for part in texts:
        try:
            value = float(part) if part.isascii() else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ExpressionError(f"the parameter {part[:40]!a} is not a finite number", text, column)
        values.append(value)
        column += len(part) + 1
    return values


def _polynomial(numbers: Sequence[float] | np.ndarray) -> Function:
    """The polynomial c0 + c1 x + ..."""
    if np.iscomplexobj(numbers):
        raise ParameterError(f"the polynomial's coefficients {numbers} must be real numbers")
    coefficients = np.trim_zeros(np.asarray(numbers, float), "b").tolist()
    if not all(map(math.isfinite, coefficients)) or len(coefficients) > MAX_EXPONENT + 1:
        raise ParameterError(
            f"a polynomial of degree {len(coefficients) - 1} was given; its coefficients must be finite numbers "
            f"and its degree at most {MAX_EXPONENT}"
        )
    spec = "poly:" + (",".join(map(written, coefficients)) or "0")
    horner = reduce(lambda rest, c: add(const(c), mul(X, rest)), reversed(coefficients), ZERO)  # c0 + x (c1 + x (...))
    return Formula(horner, spec, shortened(spec))


def _expression(text: str) -> Function:
    tree = parse(text)
    try:
        points = broken.breakpoints(tree)
        broken.check_finite(tree, points)
    except ParameterError as error:
        raise ExpressionError(str(error), text) from None
    spec = compact(text)
    return Formula(tree, spec, shortened(spec), points)


def shortened(text: str) -> str:
    """A text that fits on a line, as a name."""
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."

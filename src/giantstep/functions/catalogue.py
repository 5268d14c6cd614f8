"""From what a user gives (a name, an expression, a polynomial, a callable) to a `Function`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..errors import ExpressionError, ParameterError
from . import breakpoints as broken
from .expression import MAX_EXPONENT, MAX_LENGTH, expand, normalised, parse
from .formula import DERIVATIVE_PREFIX, Formula
from .function import Function
from .names import DEFINITIONS, canonical, numbers, parameter_values, unknown
from .tree import X, horner

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]*")
_SHORT = 40


def as_function(given: str | Function | Callable[[Any], Any]) -> Function:
    """The Function that is meant by a name, an expression in x, a polynomial or a callable.

    ==============================  =======================================================
    ``"tanh"``, ``"Leaky ReLU"``    a name of the catalogue, in any spelling
    ``"leaky_relu:0.1"``            a name with its parameter
    ``"tanh(2*x) + 0.3*x**3"``      an expression in x
    ``"poly:0,1,0.5"``              the polynomial x + x²/2
    ``numpy.polynomial`` objects    the polynomial that they stand for, in whatever basis
    a callable                      wrapped as ``Function(f)``; no derivative, no breakpoints
    ==============================  =======================================================
    """
    if isinstance(given, Function):
        return given
    if isinstance(given, str):
        return _from_text(given)
    if hasattr(given, "convert") and hasattr(given, "coef"):
        import numpy as np

        return _polynomial(tuple(float(c) for c in given.convert(kind=np.polynomial.Polynomial).coef))
    if callable(given):
        return Function(given)
    raise ParameterError(f"{given!r} is not a function; give a name, an expression in x, or a callable")


def catalogue() -> dict[str, Function]:
    """Every named function, with default parameters."""
    return {name: as_function(name) for name in DEFINITIONS}


@lru_cache(maxsize=512)
def _from_text(text: str) -> Function:
    stripped = text.strip(" ")
    if stripped.startswith(DERIVATIVE_PREFIX):
        return as_function(stripped.removeprefix(DERIVATIVE_PREFIX)).derivative
    name, colon, parameters = stripped.partition(":")
    if colon and _NAME.fullmatch(name) and len(text) <= MAX_LENGTH:
        return _with_parameters(name, parameters.split(","))
    if _NAME.fullmatch(stripped):
        if canonical(stripped) in DEFINITIONS:
            return _with_parameters(stripped, [])
        if not {"x", "pi", "e"} & set(re.findall(r"\w+", stripped)):
            raise ParameterError(unknown(stripped))
    return _expression(text)


def _with_parameters(name: str, texts: list[str]) -> Function:
    if name.strip().lower() in ("poly", "polynomial"):
        return _polynomial(numbers("poly", texts))
    known = canonical(name)
    if known not in DEFINITIONS:
        raise ParameterError(unknown(name, also=("poly",)))
    definition = DEFINITIONS[known]
    values = parameter_values(known, texts)
    named = dict(zip((parameter for parameter, _ in definition.parameters), values, strict=True))
    spec = known if named == dict(definition.parameters) else f"{known}:{','.join(map(repr, values))}"
    return Formula(expand(definition.text, X, named), spec, spec)


def _polynomial(coefficients: tuple[float, ...]) -> Function:
    while len(coefficients) > 1 and coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    if len(coefficients) > MAX_EXPONENT + 1:
        raise ParameterError(
            f"a polynomial of degree {len(coefficients) - 1} was given; at most {MAX_EXPONENT} is allowed"
        )
    spec = "poly:" + ",".join(f"{c!r}".removesuffix(".0") for c in coefficients)
    return Formula(horner(coefficients, X), spec, _shortened(spec))


def _expression(text: str) -> Function:
    tree = parse(text)
    try:
        reason = broken.refused(tree, broken.breakpoints(tree))
    except ParameterError as error:
        reason = str(error)
    if reason:
        raise ExpressionError(reason, text)
    spec = normalised(text)
    return Formula(tree, spec, _shortened(spec))


def _shortened(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."

"""Numeric parameters: what is a number, what opens a grid dimension, and what is refused."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from .errors import ParameterError

_LARGEST = sys.float_info.max


def parameter(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    infinite: bool = False,
) -> Any:
    """Check one numeric parameter and normalise it to a float, a 1-D array, or a DataArray.

    `strict` excludes `low` itself; `infinite` admits +inf.
    """
    usual = type(value) in (float, int) and low <= value <= high and abs(value) <= _LARGEST
    if usual and not (strict and value == low):
        return float(value)  # without arrays, which take longer than what most numbers are given to
    values = floats(name, value)
    if type(value).__name__ == "DataArray":
        checked = value.astype(float)
    else:
        if values.ndim > 1:
            raise ParameterError(
                f"{name} has {values.ndim} dimensions; give a number, a 1-D sequence, or an xarray.DataArray"
            )
        checked = values if values.ndim else float(values)
    if values.size == 0:
        raise ParameterError(f"{name} is an empty range; give at least one value")
    allowed = (values > low) if strict else (values >= low)
    allowed &= values <= high
    allowed &= np.isfinite(values) | (infinite & (values == math.inf))
    if not allowed.all():
        offender = float(values[~allowed].flat[0])
        raise ParameterError(
            f"{name} = {offender:g} is not allowed: it must be {'finite and ' * math.isinf(offender)}"
            f"{_range(low, high, strict, infinite)}"
        )
    return checked


def floats(name: str, value: Any) -> np.ndarray:
    """Numbers as an array of floats."""
    try:
        given = np.asarray(value)
        found = not_a_number(given)
        values = given.astype(float) if found in (None, "a text") else None
    except (TypeError, ValueError, OverflowError):
        found = values = None
    if values is None:
        raise ParameterError(f"{name} = {value!r} is not a number or a sequence of numbers")
    if found is not None:
        raise ParameterError(f"{name} = {value!r} has {found} where a number is needed; leave out the quotes")
    return values


def not_a_number(given: np.ndarray) -> str | None:
    """What an array has that numpy would take for a number all the same: "2" for 2, None for nan, a date for a day."""
    objects = list(given.flat) if given.dtype.kind == "O" else []
    if given.dtype.kind in "US" or any(isinstance(one, str | bytes) for one in objects):
        return "a text"
    if given.dtype.kind in "mM":
        return "a date"
    if given.dtype.kind == "c":
        return "a complex number"
    return "None" if any(one is None for one in objects) else None


def number(name: str, value: Any, **limits: Any) -> float:
    """A parameter that opens no grid: one number, within the limits that `parameter` knows."""
    checked = parameter(name, value, **limits)
    if not isinstance(checked, float):
        raise ParameterError(f"{name} = {value!r} is not a single number; ask once for each")
    return checked


def written(value: float, digits: int | None = None) -> str:
    """A number as a person writes it: 3 rather than 3.0; all digits that it has, or at most `digits`."""
    return repr(float(value)).removesuffix(".0") if digits is None else f"{value:.{digits}g}"


def _range(low: float, high: float, strict: bool, infinite: bool) -> str:
    if math.isinf(low):
        words = "a finite number" if math.isinf(high) else f"at most {high:g}"
    elif math.isinf(high):
        words = f"greater than {low:g}" if strict else f"at least {low:g}"
    else:
        words = f"between {low:g} and {high:g}"
    return words + (" (inf is allowed)" if infinite else "")


def number_tuple(name: str, given: Any) -> tuple[float, ...]:
    values = parameter(name, given)
    return (values,) if isinstance(values, float) else tuple(float(v) for v in values)


def check_count(name: str, value: Any, low: int) -> int:
    """A whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ParameterError(f"{name} = {value!r} is not allowed: it must be a whole number, at least {low}")
    return int(value)

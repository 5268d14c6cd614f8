"""Numeric parameters: what is a number, what opens a grid dimension, and what is refused."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from .errors import ParameterError

_LARGEST = sys.float_info.max
_KINDS = {  # by numpy's letter for them
    "U": "a text",
    "S": "bytes",
    "b": "a truth value",
    "m": "a date",
    "M": "a date",
    "c": "a complex number",
}
_MISREAD = {  # what could be meant for a number, and the way out
    "a text": "leave out the quotes",
    "bytes": "give numbers",
    "a truth value": "write 1 or 0",
    "a masked entry": "fill it, or leave it out",
}


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
        found = not_a_number(value)
        values = np.asarray(value).astype(float) if found in (None, "a text") else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        found = values = None
    if values is not None and found is None:
        return values
    said = f"{name} = {' '.join(repr(value).split())}"
    if found in _MISREAD:
        raise ParameterError(f"{said} has {found} where a number is needed; {_MISREAD[found]}")
    raise ParameterError(f"{said} is not a number or a sequence of numbers")


def not_a_number(value: Any) -> str | None:
    """What a value has that numpy would take for a number all the same: "2" for 2, True for 1, None for nan, a date
    for a day, a byte for its code, whatever is behind a mask."""
    if type(value) in (float, int):
        return None
    if isinstance(value, list | tuple):
        return next(filter(None, map(not_a_number, value)), None)
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    if np.ma.is_masked(value):
        return "a masked entry"
    given = np.asarray(value)
    if given.dtype.kind == "O" and (given.ndim or given is value):
        return not_a_number(given.ravel().tolist())
    return "None" if value is None else _KINDS.get(given.dtype.kind)


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


def flag(name: str, value: Any) -> bool:
    """A choice that is True or False; no text and no number stands for either."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} = {value!r} is not allowed: it must be True or False")
    return bool(value)


def flag_or_none(name: str, value: Any) -> bool | None:
    """The same where None leaves the choice to us."""
    return None if value is None else flag(name, value)


def check_report(progress: Any) -> None:
    """Refuse for `progress` what cannot be told how far the work is."""
    if progress is not None and not callable(progress):
        raise ParameterError(
            f"progress = {progress!r} is not allowed: it must be a function, to be called with the share of the work"
            " done, such as print"
        )

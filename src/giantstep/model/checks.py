"""Checks of values. A check takes the name of an argument and its value, and returns the value to compute with. It
refuses what is not allowed, in a sentence that names the argument.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ParameterError, refused, shown

Check = Callable[[str, Any], Any]


def allow(allowed: Callable[[Any], bool], reason: str) -> Check:
    """A check that returns an allowed value as it is, and refuses others for this reason."""

    def check(name: str, value: Any) -> Any:
        if not allowed(value):
            raise refused(name, value, reason)
        return value

    return check


def as_it_is(name: str, value: Any) -> Any:
    """Any value: the verb itself looks at it."""
    return value


def optional(check: Check, name: str, value: Any) -> Any:
    """None, or what `check` allows."""
    return None if value is None else check(name, value)


def one_of(*texts: str) -> Check:
    """One of some texts."""
    return allow(
        lambda value: isinstance(value, str) and value in texts, f"is unknown; use {' or '.join(map(repr, texts))}"
    )


a_text = allow(lambda value: isinstance(value, str), "is not allowed: it must be a text")
a_function = allow(callable, "is not callable; give a function")
a_report = allow(
    callable, "is not allowed: it must be a function, to be called with the share of the work done, such as print"
)
a_bulk = allow(  # the name of a law of rows, or the law itself; which of them a model has, the theory knows
    lambda value: isinstance(value, str) or hasattr(value, "trained"),
    "is not allowed: it must be a text, such as 'exact' or 'isotropic'",
)
a_dataset = allow(
    lambda value: hasattr(value, "data_vars"),
    "is not an xarray.Dataset; predict and simulate make one, and a DataArray has lost the one that it is from",
)
an_executor = allow(
    lambda value: callable(getattr(value, "submit", None)),
    "has no method submit; give an executor of concurrent.futures, a Dask client, or leave it out for local processes"
    " (workers=)",
)


def texts(name: str, value: Any) -> list[str]:
    """A text, or several."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
        raise refused(name, value, "is not allowed: it must be a name, or a list of names")
    return list(values)


def flag(name: str, value: Any) -> bool:
    """A choice that is True or False; no text and no number stands for either."""
    if not isinstance(value, bool | np.bool_):
        raise refused(name, value, "is not allowed: it must be True or False")
    return bool(value)


def check_count(name: str, value: Any, low: int, high: int = sys.maxsize) -> int:
    """A whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        most = "" if high == sys.maxsize else f" and at most {high}"
        reason = f"is not allowed: it must be a whole number, at least {low}{most}"
        text = repr(value) if isinstance(value, float) else shown(value)  # 2.0, not 2
        raise ParameterError(f"{name} = {text} {reason}", name, value, reason)
    return int(value)


def at_least(low: int, high: int = sys.maxsize) -> Check:
    """A whole number."""
    return lambda name, value: check_count(name, value, low, high)


def a_path(name: str, value: Any) -> str | os.PathLike[str]:
    """The name of a file."""
    try:
        path = str(Path(value))
        valid = value != "" and "\0" not in path and os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        valid = False
    if not valid:
        raise refused(name, value, "is no name that a file can have: give a text or a pathlib.Path")
    return value


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
    values = floats(name, value)
    labelled = type(value).__name__ == "DataArray"
    if values.ndim > 1 and not labelled:
        raise ParameterError(
            f"{name} has {values.ndim} dimensions; give a number, a 1-D sequence, or an xarray.DataArray", name
        )
    if values.size == 0:
        raise ParameterError(f"{name} is an empty range; give at least one value", name)
    allowed = (values > low) if strict else (values >= low)
    allowed &= values <= high
    allowed &= np.isfinite(values) | (infinite & (values == math.inf))
    if not allowed.all():
        offender = float(values[~allowed].flat[0])
        limits = ("finite and " * math.isinf(offender)) + _range(low, high, strict, infinite)
        raise refused(name, offender, f"is not allowed: it must be {limits}")
    if labelled:
        return value.copy(data=values)
    return values if values.ndim else float(values)


def floats(name: str, value: Any) -> np.ndarray:
    """Numbers as an array of floats."""
    try:
        misread = not_a_number(value)
        if misread in (None, "a text"):
            values = np.asarray(value).astype(float)  # fails for a text that is no number in quotes
            if misread is None:
                return values
    except (TypeError, ValueError, OverflowError, RecursionError):
        misread = None
    way_out = f"has {misread} where a number is needed; {_MISREAD[misread]}" if misread in _MISREAD else None
    raise refused(name, value, way_out or "is not a number or a sequence of numbers")


def not_a_number(value: Any) -> str | None:
    """The kind of an entry that is no number, though numpy would convert it: "2" to 2, True to 1, None to nan, a date
    to a count of days, a byte to its code, a masked entry to what is behind the mask. None where all are numbers."""
    if type(value) in (float, int):
        return None
    if isinstance(value, list | tuple):
        return next(filter(None, map(not_a_number, value)), None)
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    if np.ma.is_masked(value):
        return "a masked entry"
    array = np.asarray(value)
    if array.dtype.kind == "O" and (array.ndim or array is value):
        return not_a_number(array.ravel().tolist())
    return "None" if value is None else _KINDS.get(array.dtype.kind)


def number(name: str, value: Any, **limits: Any) -> float:
    """A parameter that opens no grid: one number, within the limits that `parameter` knows."""
    single = parameter(name, value, **limits)
    if not isinstance(single, float):
        raise refused(name, value, "is not a single number; ask once for each")
    return single


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


def number_tuple(name: str, value: Any, **limits: Any) -> tuple[float, ...]:
    """A number or a sequence of them as a tuple."""
    return tuple(np.atleast_1d(parameter(name, value, **limits)).tolist())


def finite_tuple(name: str, value: Any) -> tuple[float, ...]:
    """Finite numbers, or none at all, as a tuple in order."""
    if value is None or isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise refused(name, value, "is not a sequence of numbers")
    numbers = floats(name, list(value))
    if numbers.ndim > 1 or not np.isfinite(numbers).all():
        raise refused(name, value, "must be finite numbers, one after the other; leave out the others")
    return tuple(np.unique(numbers).tolist())

<<<<<<< HEAD:src/giantstep/ranges.py
"""Numbers as people type them, on a command line or in a file: one, a list, or a range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

_FORMS = "a number, start:stop:count, start:stop:count:log, a comma list of these, or inf"
_MOST = 10_000_000


def numbers(name: str, text: str) -> float | np.ndarray:
    """A float for a single number, otherwise an array: "0.5", "0.2:3:5", "0.01:100:9:log", "0,0.5,1:4:4"."""
    import numpy as np

    parts = text.split(",")
    if len(parts) == 1 and ":" not in text:
        return _number(name, text, text)
    return np.concatenate([_part(name, text, part) for part in parts])


def _part(name: str, text: str, part: str) -> np.ndarray:
    import numpy as np

    fields = part.split(":")
    if len(fields) == 1:
        return np.array([_number(name, text, part)])
    if len(fields) not in (3, 4) or (len(fields) == 4 and fields[3] != "log"):
        raise _refusal(name, text, f"{part!r} is not a range")
    start, stop = (_number(name, text, field) for field in fields[:2])
    if not (math.isfinite(start) and math.isfinite(stop)):
        raise _refusal(name, text, f"the ends of {part!r} are not finite")
    count = int(fields[2]) if fields[2].isascii() and fields[2].isdigit() else 0
    if not 0 < count <= _MOST:
        raise _refusal(
            name, text, f"the count {fields[2]!r} of {part!r} is not a whole number from 1 to {_MOST}"
        )
    if len(fields) == 3:
        return np.linspace(start, stop, count)
    if start <= 0 or stop <= 0:
        raise _refusal(
            name, text, f"the ends of a logarithmic range must be positive, not {start:g} and {stop:g}"
        )
    return np.geomspace(start, stop, count)


def _number(name: str, text: str, part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise _refusal(name, text, f"{part!r} is not a number") from None


def _refusal(name: str, text: str, reason: str) -> ParameterError:
    return ParameterError(f"--{name} {text}: {reason}; use {_FORMS}")
=======
"""The reading of ranges has moved up, to where files and pages reach it too."""

from ..typed import numbers as numbers
>>>>>>> explorer:src/giantstep/cli/ranges.py

"""What people type, on the command line, in a file or on a page: numbers, ranges, letters of a readout, steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from .letters import Letters
    from .network import Step

_FORMS = "a number, start:stop:count, start:stop:count:log, a comma list of these, or inf"
_MOST = 10_000_000


def numbers(name: str, text: str) -> float | np.ndarray:
    """A float for a single number, otherwise an array: "0.5", "0.2:3:5", "0.01:100:9:log", "0,0.5,1:4:4"."""
    import numpy as np

    parts = text.split(",")
    if len(parts) == 1 and ":" not in text:
        return _number(name, text, text)
    return np.concatenate([_part(name, text, part) for part in parts])


def letters(text: str) -> Letters:
    """The initial readout: a name, or letters as value:weight pairs or value:weight:bias triples."""
    from .letters import Letters, as_letters

    if ":" not in text or text[0].isalpha():  # a name, which may have a number of nodes: gaussian:20
        return as_letters(text)
    try:
        columns = list(zip(*(map(float, entry.split(":")) for entry in text.split(",")), strict=True))
        values, weights, biases = columns if len(columns) == 3 else (*columns, None)
    except ValueError:
        raise ParameterError(
            f"--readout {text}: not a list of value:weight pairs; write it like -1:0.25,0:0.5,1:0.25, or with a bias "
            "in each, like 1:0.5:0,1:0.5:0.7"
        ) from None
    return Letters(values, weights, biases)


def schedule(text: str) -> list[Step]:
    """Gradient steps as eta:alpha0 pairs, or eta:alpha0:loss triples: "1:0.5, 2:1"."""
    from .network import Step

    steps = []
    for entry in text.split(","):
        eta, _, rest = entry.strip().partition(":")
        alpha0, _, loss = rest.partition(":")
        try:
            steps.append(Step(float(eta), float(alpha0), loss or "square"))
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(
                f"--schedule {text}: {entry.strip()!r} is no step; write them like 1:0.5, 2:1 (eta:alpha0)"
            ) from None
    return steps


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

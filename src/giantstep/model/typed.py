"""What people type, on the command line, in a file or on a page: numbers, ranges, letters of a readout, steps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from .inputs import Inputs
    from .letters import Letters
    from .network import Step

_FORMS = "a number, start:stop:count, start:stop:count:log, a comma list of these, or inf"
_MOST = 10_000_000


def numbers(name: str, text: str) -> float | np.ndarray:
    """A float for a single number, otherwise an array: "0.5", "0.2:3:5", "0.01:100:9:log", "0,0.5,1:4:4"."""
    import numpy as np

    values = np.concatenate([_part(name, text, part) for part in text.split(",")])
    return values if {",", ":"} & set(text) else float(values[0])


def letters(text: str) -> Letters:
    """The initial readout: a name, or letters as value:weight pairs or value:weight:bias triples."""
    from .letters import Letters, as_letters

    if ":" not in text or text[0].isalpha():  # a name, which may have a number of nodes: gaussian:20
        return as_letters(text)
    try:
        columns = list(zip(*(map(float, entry.split(":")) for entry in text.split(",")), strict=True))
        values, weights, biases = columns if len(columns) == 3 else (*columns, None)
    except ValueError:
        reason = (
            "is not a list of value:weight pairs; write it like -1:0.25,0:0.5,1:0.25, or with a bias in each, like"
            " 1:0.5:0,1:0.5:0.7"
        )
        raise refused("readout", text, reason) from None
    return Letters(values, weights, biases)


def schedule(text: str) -> list[Step]:
    """Gradient steps as eta:alpha0 pairs, or eta:alpha0:loss triples: "1:0.5, 2:1"."""
    from .network import Step

    steps = []
    for entry in text.split(","):
        eta, _, rest = entry.strip().partition(":")
        alpha0, _, loss = rest.partition(":")
        try:
            numbers = float(eta), float(alpha0)
        except ValueError:
            reason = f"has {entry.strip()!r}, which is no step; write them like 1:0.5, 2:1 (eta:alpha0)"
            raise refused("schedule", text, reason) from None
        steps.append(Step(*numbers, loss or "square"))
    return steps


_ALTERNATIVES = {
    "eigenvalues": ("eigenvalues", "masses", "shares", "d"),
    "power_law": ("power_law", "source", "d"),
    "inputs": ("inputs", "direction", "labels"),
}
INPUTS = tuple(dict.fromkeys(name for names in _ALTERNATIVES.values() for name in names))
_USUAL_SIZE = 1000  # eigenvalues of a power law, where no d is given


def inputs(
    settings: Mapping[str, Any], folder: Path = Path(), written: Callable[[str], str] = str
) -> Inputs | None:
    """The covariance of the inputs from the words of `INPUTS`, as text or as lists; None where there are none.

    Lists are eigenvalues with their masses and shares; or `power_law` is the exponent, with a source and a d; or
    `inputs` names a .npy file with a sample, in `folder`, and `direction` one with the target's direction, or `labels`
    one with labels to estimate it from. Errors name the words as they are `written`.
    """
    from .inputs import Inputs

    words = {name: value for name, value in settings.items() if value is not None}
    kinds = [kind for kind in _ALTERNATIVES if kind in words]
    if len(kinds) > 1:
        raise ParameterError(
            f"{' and '.join(map(written, kinds))} both say what the inputs are; give one of them", kinds[1]
        )
    stray = [name for name in words if not kinds or name not in _ALTERNATIVES[kinds[0]]]
    if stray:
        owner = next(kind for kind, names in _ALTERNATIVES.items() if stray[0] in names)
        name = written(stray[0])
        raise ParameterError(f"{name} goes with {written(owner)}; give that, or leave {name} out", stray[0])
    if not kinds:
        return None
    if kinds == ["power_law"]:
        exponent, source = (_numbers(name, words.get(name, 1.0)) for name in ("power_law", "source"))
        return Inputs.power_law(exponent, words.get("d", _USUAL_SIZE), source)
    if kinds == ["inputs"]:
        if {"direction", "labels"} <= words.keys():
            both = f"{written('direction')} and {written('labels')}"
            raise ParameterError(f"{both} both say where the target is; give one of them", "labels")
        return _from_files(words, folder)
    return Inputs(**{name: _listed(name, value) for name, value in words.items()})


def _from_files(words: Mapping[str, str], folder: Path) -> Inputs:
    """The covariance of a sample in a file; errors name the file that they are about."""
    from .inputs import Inputs

    arrays = {name: _loaded(name, folder / path) for name, path in words.items()}
    try:
        return Inputs.from_data(arrays["inputs"], arrays.get("direction"), arrays.get("labels"))
    except ParameterError as error:
        about = {"direction": "direction", "y": "labels"}.get(str(error.name), "inputs")
        raise ParameterError(f"{words[about]!r}: {error}", about) from None


def _numbers(name: str, value: Any) -> Any:
    return numbers(name, value) if isinstance(value, str) else value


def _listed(name: str, value: Any) -> Any:
    """A list of numbers; of lists, if written like [[0.8, 0.2], [0.2, 0.8]]."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        import json

        try:
            return json.loads(value)
        except ValueError:
            raise _refusal(name, value, "is not a list of lists, such as [[0.8, 0.2], [0.2, 0.8]]") from None
    listed = _numbers(name, value)
    return [listed] if isinstance(value, str) and isinstance(listed, float) else listed


def _loaded(name: str, path: Path) -> np.ndarray:
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise refused(name, str(path), "does not exist; check its spelling") from None
    except IsADirectoryError:
        raise refused(name, str(path), "is a folder; name a .npy file, as np.save writes it") from None
    except (OSError, ValueError):
        raise refused(name, str(path), "is not a .npy file of numbers; write one with np.save") from None


def _part(name: str, text: str, part: str) -> np.ndarray:
    import numpy as np

    fields = part.split(":")
    if len(fields) == 1:
        return np.array([_number(name, text, part)])
    if len(fields) not in (3, 4) or (len(fields) == 4 and fields[3] != "log"):
        raise _refusal(name, text, f"has {part!r}, which is not a range")
    start, stop = (_number(name, text, field) for field in fields[:2])
    if not (math.isfinite(start) and math.isfinite(stop)):
        raise _refusal(name, text, f"has {part!r}, and its ends are not finite")
    count = int(fields[2]) if fields[2].isascii() and fields[2].isdigit() else 0
    if not 0 < count <= _MOST:
        raise _refusal(name, text, f"has {part!r}, and its count is not a whole number from 1 to {_MOST}")
    if len(fields) == 3:
        return np.linspace(start, stop, count)
    if start <= 0 or stop <= 0:
        raise _refusal(name, text, f"has {part!r}, a logarithmic range: its ends must be positive")
    return np.geomspace(start, stop, count)


def _number(name: str, text: str, part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise _refusal(
            name, text, f"{'is' if part == text else f'has {part!r}, which is'} not a number"
        ) from None


def _refusal(name: str, text: str, reason: str) -> ParameterError:
    return refused(name, text, f"{reason}; use {_FORMS}")

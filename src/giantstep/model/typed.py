"""What people type, on the command line, in a file or on a page: numbers, ranges, letters of a readout, steps."""

from __future__ import annotations

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

    try:
        values = [_part(part, "is" if part == text else f"has {part!r}, which is") for part in text.split(",")]
    except ValueError as error:
        raise refused(name, text, f"{error}; use {_FORMS}") from None
    return np.concatenate(values) if {",", ":"} & set(text) else float(values[0][0])


def _part(text: str, it_is: str) -> np.ndarray:
    """The values of one number or range; a ValueError says what `it_is` instead."""
    import numpy as np

    first, *rest = text.split(":")
    try:
        if not rest:
            return np.array([float(first)])
        stop, count, scale = rest if len(rest) > 2 else (*rest, None)
        ends, spaced = (float(first), float(stop)), {None: np.linspace, "log": np.geomspace}[scale]
    except (ValueError, KeyError):
        raise ValueError(f"{it_is} not a {'range' if rest else 'number'}") from None
    if not np.isfinite(ends).all():
        raise ValueError(f"{it_is} a range whose ends are not finite")
    if not count.isdecimal() or not 0 < int(count) <= _MOST:
        raise ValueError(f"{it_is} a range whose count is not a whole number from 1 to {_MOST}")
    if scale == "log" and min(ends) <= 0:
        raise ValueError(f"{it_is} a logarithmic range whose ends are not positive")
    return spaced(*ends, int(count))


def letters(text: str) -> Letters:
    """The initial readout: a name, or letters as value:weight pairs or value:weight:bias triples."""
    from .letters import Letters, as_letters

    if ":" not in text or text[0].isalpha():  # a name, which may have a number of nodes: gaussian:20
        return as_letters(text)
    try:
        columns = list(zip(*(map(float, entry.split(":")) for entry in text.split(",")), strict=True))
        values, weights, biases = columns if len(columns) == 3 else (*columns, None)
    except ValueError:
        raise refused(
            "readout",
            text,
            "is not a list of value:weight pairs; write it like -1:0.25,0:0.5,1:0.25, or with a bias in each, like"
            " 1:0.5:0,1:0.5:0.7",
        ) from None
    return Letters(values, weights, biases)


def schedule(text: str) -> list[Step]:
    """Gradient steps as eta:alpha0 pairs, or eta:alpha0:loss triples: "1:0.5, 2:1"."""
    from .network import Step

    try:
        entries = [entry.split(":", 2) for entry in text.replace(" ", "").split(",")]
        steps = [(float(eta), float(alpha0), *loss) for eta, alpha0, *loss in entries]
    except ValueError:
        raise refused("schedule", text, "is not a list of steps; write them like 1:0.5, 2:1 (eta:alpha0)") from None
    return [Step(*step) for step in steps]


_ALTERNATIVES = {
    "eigenvalues": ("eigenvalues", "masses", "shares", "d"),
    "power_law": ("power_law", "source", "d"),
    "inputs": ("inputs", "direction", "labels"),
}
INPUTS = tuple(dict.fromkeys(name for names in _ALTERNATIVES.values() for name in names))
_USUAL_SIZE = 1000  # eigenvalues of a power law, where no d is given


def inputs(settings: Mapping[str, Any], folder: Path = Path(), written: Callable[[str], str] = str) -> Inputs | None:
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
            raise ParameterError(
                f"{written('direction')} and {written('labels')} both say where the target is; give one of them",
                "labels",
            )
        return _from_files(words, folder)
    return Inputs(**{name: _numbers(name, value) for name, value in words.items()})


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
    """Numbers, whether typed or given; typed lists of them are like [[0.8, 0.2], [0.2, 0.8]]."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return numbers(name, value)
    import json

    try:
        return json.loads(value)
    except ValueError:
        raise refused(name, value, "is not a list of lists, such as [[0.8, 0.2], [0.2, 0.8]]") from None


def _loaded(name: str, path: Path) -> np.ndarray:
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        reasons = {
            FileNotFoundError: "does not exist; check its spelling",
            IsADirectoryError: "is a folder; name a .npy file, as np.save writes it",
        }
        reason = reasons.get(type(error), "is not a .npy file of numbers; write one with np.save")
        raise refused(name, str(path), reason) from None

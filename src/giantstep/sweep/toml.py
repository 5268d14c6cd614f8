"""A sweep as a small TOML file, and where its results are kept.

target = "sin"                       # or a table: { function = "sin", noise = [0, 0.5] }
                                     # with inputs = { eigenvalues = [2.5, 0.5], masses = [0.25, 0.75] },
                                     # { power_law = [0, 0.3], d = 500 } or { inputs = "X.npy", direction = "w.npy" }
alpha = "0.2:3:10"                   # a number, a list, or a range as on the command line
lam = [0.01, 0.1]

[model]
activation = "tanh"
eta = [0.5, 1, 2]                    # eta and alpha0: a network; r and gamma: spiked random features
alpha0 = 2
steps = [1, 2]                       # so many such steps; or a list of tables, [[model.steps]] with eta and alpha0

[theory]                             # may be empty; leave it out for none
[simulation]
d = 500
trials = 20
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ExpressionError, ParameterError
from ..model.letters import Letters
from ..model.network import Network, Step
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..model.typed import INPUTS, inputs, numbers
from .description import Sweep, check_keys, fields_of

_WORDS = (
    "activation",
    "function",
    "readout",
    "step_loss",
    "loss",
    "kind",
)  # what is not a number in these tables
_LETTERS = ("values", "weights", "biases", "c")


def store_path(path: str | os.PathLike[str]) -> Path:
    """Where a sweep's results are kept unless told otherwise: beside its file, with the ending .sqlite."""
    return Path(path).with_suffix(".sqlite")


def read(path: str | os.PathLike[str]) -> Sweep:
    """The sweep that a TOML file describes; errors name the file and the key."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(f"{str(path)!r} does not exist; check its spelling") from None
    except OSError as error:
        raise ParameterError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{str(path)!r} is not a TOML file: {error}") from None
    try:
        return sweep_of(data, Path(path).parent)
    except ExpressionError as error:
        raise ParameterError(f"{str(path)!r}: {error.text!r}: {error.reason}") from error
    except ParameterError as error:
        raise ParameterError(f"{str(path)!r}: {error}") from error


def sweep_of(data: dict[str, Any], folder: Path = Path()) -> Sweep:
    """The sweep that a TOML document describes; files that it names are in `folder`."""
    theirs = [key for key in fields_of(Target)[0] if key in data and key not in fields_of(Sweep)[0]]
    if theirs:
        raise ParameterError(f"{theirs[0]} is the target's: target = {{function = ..., {theirs[0]} = ...}}")
    check_keys("", data, *fields_of(Sweep))
    theory = data.get("theory")
    if isinstance(theory, dict) and "d" in theory:
        theory = {**theory, "d": _grid("theory.d", theory["d"])}
    return Sweep(
        **{
            **data,
            "model": _model(data["model"]),
            "target": _target(data["target"], folder),
            "alpha": _grid("alpha", data["alpha"]),
            "lam": _grid("lam", data["lam"]),
            "theory": theory,
        }
    )


def _model(given: Any) -> Network | SpikedRF:
    if not isinstance(given, dict):
        raise ParameterError(f"model = {given!r} is not a table; begin it with a line [model]")
    kinds = {"network": Network, "spikedrf": SpikedRF}
    default = "network" if {"eta", "alpha0", "steps"} & set(given) else "spikedrf"
    name = str(given.get("kind", default))
    kind = kinds.get(name.lower())
    if kind is None:
        raise ParameterError(
            f"model.kind = {name!r} is unknown; use 'network' or 'spikedrf', or leave it out"
        )
    names, needed = fields_of(kind)
    if kind is SpikedRF and not {"r", "gamma"} & set(given):
        raise ParameterError(
            "model has neither eta and alpha0, which make a network, nor r and gamma, which make spiked features"
        )
    check_keys("model", given, ["kind", *names], needed)
    plain = {key: value for key, value in given.items() if key != "kind"}
    schedule = plain.pop("steps") if _is_schedule(plain.get("steps")) else None
    values = _values("model", plain)
    if schedule is not None:
        for place, step in enumerate(schedule, start=1):
            check_keys(f"model.steps {place}", step, *fields_of(Step))
        values["steps"] = [
            Step(**_values(f"model.steps {t}", step)) for t, step in enumerate(schedule, start=1)
        ]
    if isinstance(values.get("readout"), dict):
        check_keys("model.readout", values["readout"], _LETTERS, ("values", "weights"))
        values["readout"] = Letters(**values["readout"])
    return kind(**values)


def _is_schedule(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(step, dict) for step in given)


def _target(given: Any, folder: Path) -> Target:
    if isinstance(given, str):
        return Target(given)
    if not isinstance(given, dict):
        raise ParameterError(f"target = {given!r} is neither a function, such as 'sin', nor a table")
    check_keys("target", given, *fields_of(Target))
    law = given.get("inputs")
    if law is None:
        return Target(**_values("target", given))
    if not isinstance(law, dict):
        raise ParameterError(
            f"target.inputs = {law!r} is not a table, such as {{ power_law = 0.3, d = 500 }}"
        )
    check_keys("target.inputs", law, INPUTS)
    if isinstance(law.get("power_law"), list):
        law = {**law, "power_law": _grid("target.inputs.power_law", law["power_law"])}
    rest = {key: value for key, value in given.items() if key != "inputs"}
    return Target(**_values("target", rest), inputs=inputs(law, folder))


def _values(where: str, table: dict[str, Any]) -> dict[str, Any]:
    """A table whose numbers may be lists and ranges."""
    for word in set(table) & set(_WORDS) - {"readout"}:
        if not isinstance(table[word], str):
            raise ParameterError(f"{where}.{word} = {table[word]!r} is not a text")
    words = {*_WORDS, "reuse_batch", *({"rows"} if isinstance(table.get("rows"), str) else ())}
    return {key: value if key in words else _grid(f"{where}.{key}", value) for key, value in table.items()}


def _grid(key: str, given: Any) -> Any:
    """A number, or an array: of numbers, of ranges such as "0.2:3:10", or of both."""
    if isinstance(given, list):
        return np.concatenate([np.atleast_1d(_grid(key, each)) for each in given]) if given else np.empty(0)
    if isinstance(given, str):
        return numbers(key, given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ParameterError(
            f"{key} = {given!r} is not a number, a list of numbers, or a range such as '0.2:3:10'"
        )
    try:
        return float(given)
    except OverflowError:
        raise ParameterError(f"{key} is a whole number of hundreds of digits; give one below 1e308") from None

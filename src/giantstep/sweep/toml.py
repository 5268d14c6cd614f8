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
from ..model.checks import floats
from ..model.letters import Letters
from ..model.network import Network, Step
from ..model.parameters import PARAMETERS
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..model.typed import INPUTS, inputs, numbers
from .description import Sweep, check_keys, fields_of


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
    if theirs := [key for key in fields_of(Target)[0] if key in data and key not in fields_of(Sweep)[0]]:
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
    table, ready = dict(given), {}
    name = str(table.pop("kind", "network" if {"eta", "alpha0", "steps"} & set(given) else "spikedrf"))
    kind = {"network": Network, "spikedrf": SpikedRF}.get(name.lower())
    if kind is None:
        raise ParameterError(f"model.kind = {name!r} is unknown; use 'network' or 'spikedrf', or leave it out")
    if kind is SpikedRF and not {"r", "gamma"} & set(given):
        raise ParameterError(
            "model has neither eta and alpha0, which make a network, nor r and gamma, which make spiked features"
        )
    steps = table.get("steps")
    if isinstance(steps, list) and steps and all(isinstance(step, dict) for step in steps):
        del table["steps"]
        ready["steps"] = [_made(Step, f"model.steps {t}", step) for t, step in enumerate(steps, start=1)]
    if isinstance(table.get("readout"), dict):
        readout = table.pop("readout")
        check_keys("model.readout", readout, ("values", "weights", "biases", "c"), ("values", "weights"))
        ready["readout"] = Letters(**readout)
    return _made(kind, "model", table, **ready)


def _target(given: Any, folder: Path) -> Target:
    if isinstance(given, str):
        return Target(given)
    if not isinstance(given, dict):
        raise ParameterError(f"target = {given!r} is neither a function, such as 'sin', nor a table")
    if (law := given.get("inputs")) is None:
        return _made(Target, "target", given)
    if not isinstance(law, dict):
        raise ParameterError(f"target.inputs = {law!r} is not a table, such as {{ power_law = 0.3, d = 500 }}")
    check_keys("target.inputs", law, INPUTS)
    if isinstance(law.get("power_law"), list):
        law = {**law, "power_law": _grid("target.inputs.power_law", law["power_law"])}
    rest = {key: value for key, value in given.items() if key != "inputs"}
    return _made(Target, "target", rest, inputs=inputs(law, folder))


def _made(kind: type, where: str, table: dict[str, Any], **ready: Any) -> Any:
    """A description from a table, whose numbers may be lists and ranges, and from arguments that are ready."""
    check_keys(where, table | ready, *fields_of(kind))
    numbers = {key for key in table if PARAMETERS[key].kind not in ("text", "flag")}
    values = {key: _grid(f"{where}.{key}", value) if key in numbers else value for key, value in table.items()}
    return kind(**values, **ready)


def _grid(key: str, given: Any) -> Any:
    """Numbers as they are given, ranges such as "0.2:3:10" as arrays, and a list with ranges as one array."""
    if isinstance(given, str):
        return numbers(key, given)
    if isinstance(given, list) and any(isinstance(each, str) for each in given):
        return np.concatenate([np.atleast_1d(floats(key, _grid(key, each))) for each in given])
    return given

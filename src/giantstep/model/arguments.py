"""What the arguments of the public verbs may be: one table by their names, and the decorator that checks by it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from ..errors import ParameterError, named, refused
from ..losses import as_loss
from .base import check_model
from .network import Network
from .parameters import check_count, checked, flag, number, parameter
from .target import as_target

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[str, Any], Any]
"""From an argument's name and value to what the verb works with, or an error that names the argument."""


def checked_arguments(**own: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a verb check and convert its arguments before it begins.

    Each is checked by what `own` has for its name, else by the table of arguments, else by its row in the table of
    parameters. None passes where it is the default.
    """

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        form = signature(verb)
        checks = {name: own.get(name) or _ARGUMENTS.get(name) or checked for name in form.parameters}

        @wraps(verb)
        def checked_verb(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                call = form.bind(*args, **kwargs)
            except TypeError:
                return verb(*args, **kwargs)  # Python itself says what is missing or unknown
            for name, value in call.arguments.items():
                if value is not None or form.parameters[name].default is not None:
                    with named(name):
                        call.arguments[name] = checks[name](name, value)
            return verb(*call.args, **call.kwargs)

        return checked_verb

    return decorate


def a_network(name: str, value: Any) -> Network:
    if not isinstance(value, Network):
        raise refused(name, value, "takes no step; give a Network")
    return value


def at_least(low: int, high: int = sys.maxsize) -> Check:
    """A whole number."""
    return lambda name, value: check_count(name, value, low, high)


def a_path(name: str, value: Any) -> str | os.PathLike[str]:
    if not isinstance(value, str | os.PathLike):
        raise refused(name, value, "is not a path: give a text or a pathlib.Path")
    path = os.fspath(value)
    try:
        valid = isinstance(path, str) and path and "\0" not in path and os.fsencode(path)
    except UnicodeEncodeError:
        valid = False
    if not valid:
        raise refused(name, value, "is no name that a file can have; choose another")
    return value


def a_dataset(name: str, value: Any) -> Any:
    if not hasattr(value, "data_vars"):
        kind, from_one = type(value).__name__, hasattr(value, "dims")
        way = "keep the Dataset that it is from" if from_one else "predict and simulate make one"
        raise ParameterError(f"{name} is a {kind}, and an xarray.Dataset is needed; {way}", name, value)
    return value


def a_report(name: str, value: Any) -> Callable[[float], object]:
    if not callable(value):
        raise refused(
            name,
            value,
            "is not allowed: it must be a function, to be called with the share of the work done, such as print",
        )
    return value


def a_bulk(name: str, value: Any) -> Any:
    """The name of a law of rows, or the law itself; which of them a model has, the theory knows."""
    if not isinstance(value, str) and not hasattr(value, "trained"):
        raise refused(name, value, "is not allowed: it must be a text, such as 'exact' or 'isotropic'")
    return value


def an_executor(name: str, value: Any) -> Any:
    if not callable(getattr(value, "submit", None)):
        way = "give an executor of concurrent.futures, a Dask client, or leave it out for local processes (workers=)"
        raise refused(name, value, f"has no method submit; {way}")
    return value


def as_it_is(name: str, value: Any) -> Any:
    """What the verb itself has to look at."""
    return value


_ARGUMENTS: dict[str, Check] = {
    "model": lambda name, value: check_model(value, name),
    "net": a_network,
    "target": lambda name, value: as_target(value),
    "loss": lambda name, value: as_loss(value),
    "bulk": a_bulk,
    "throw": flag,
    "tolerance": partial(number, low=0.0),
    "workers": at_least(1),
    "threads": at_least(1),
    "points": at_least(2, 100_000),
    "progress": a_report,
    "kappa": parameter,
    "budget": partial(parameter, low=0.0, strict=True),
    "dataset": a_dataset,
    "comparison": a_dataset,
    "theory": a_dataset,
    "path": a_path,
}

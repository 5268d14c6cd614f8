"""Checks of the arguments of public verbs: a table by argument name, and the decorator that applies it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from ..errors import named
from ..losses import as_loss
from .checks import Check, a_bulk, a_dataset, a_path, a_report, allow, at_least, flag, number, parameter
from .description import check_model
from .network import Network
from .parameters import PARAMETERS, checked
from .target import as_target

P = ParamSpec("P")
R = TypeVar("R")

a_network = allow(lambda value: isinstance(value, Network), "takes no step; give a Network")


def checked_arguments(**own: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a verb check and convert its arguments before it begins.

    Each is checked by what `own` has for its name, else by the table of arguments, else by its row in the table of
    parameters. None passes where it is the default. A parameter of a model or a target is refused with the place where
    it belongs.
    """

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        form = signature(verb)
        checks = {name: own.get(name) or _ARGUMENTS.get(name) or checked for name in form.parameters}

        @wraps(verb)
        def checked_verb(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in checks and name in PARAMETERS and (owners := PARAMETERS[name].of):
                    raise TypeError(
                        f"{verb.__name__}() has no argument {name!r}: it belongs to {' or '.join(owners)}, as in"
                        f" {owners[0]}(..., {name}=...)"
                    )
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


_ARGUMENTS: dict[str, Check] = {
    "model": check_model,
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

"""What the page's controls say: plain values within limits, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import ParameterError
from ..model import parameter

LONGEST_TEXT = 300  # of an expression or a list of letters


@dataclass(frozen=True)
class Settings:
    """Every control of the page with its initial value.

    `alpha` is the working point (learned function, spectrum, optimum); the learning curve runs from `alpha_min`
    to `alpha_max`. `d` is the simulation's dimension, and the theory's too if `finite` asks for its correction.
    """

    activation: str = "tanh"
    target: str = "sin"
    readout: str = "uniform"
    loss: str = "square"
    bulk: str = "exact"
    eta: float = 3.0
    alpha0: float = 10.0
    beta: float = 1.0
    lam: float = 0.1
    noise: float = 0.0
    flips: float = 0.0
    latent_noise: float = 0.0
    alpha: float = 2.0
    alpha_min: float = 0.1
    alpha_max: float = 6.0
    finite: bool = False
    d: int = 300
    trials: int = 10
    seed: int = 0

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from a visitor's JSON; what is missing keeps its initial value, what is unknown is refused."""
        if not isinstance(given, Mapping):
            raise ParameterError("the settings must be a JSON object")
        kinds = {field.name: type(field.default) for field in fields(cls)}
        if unknown := sorted(str(name)[:40] for name in given if name not in kinds):
            raise ParameterError(f"there is no setting {unknown[0]!r}; there are {', '.join(kinds)}")
        read = {str: _text, float: _number, int: _count, bool: _switch}
        settings = cls(**{name: read[kinds[name]](name, value) for name, value in given.items()})
        if settings.alpha_min >= settings.alpha_max:
            raise ParameterError(
                f"alpha_min = {settings.alpha_min:g} must be less than alpha_max = {settings.alpha_max:g}"
            )
        return settings

    def only(self, names: Iterable[str]) -> Settings:
        """These settings with all but `names` at their initial values: what an answer can depend on."""
        return Settings(**{name: value for name, value in asdict(self).items() if name in set(names)})


NUMBERS = {  # ranges in which the page computes, lowest and highest; the library itself goes further
    "eta": (0.0, 1e3),
    "alpha0": (0.0, 1e4),  # and inf
    "beta": (1e-2, 1e2),
    "lam": (0.0, 1e6),
    "noise": (0.0, 1e2),
    "flips": (0.0, 0.5),
    "latent_noise": (0.0, 1e2),
    "alpha": (1e-2, 1e2),
    "alpha_min": (1e-2, 1e2),
    "alpha_max": (1e-2, 1e2),
}
COUNTS = {"d": (10, 3000), "trials": (2, 100), "seed": (0, 2**31)}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a text")
    if len(value) > LONGEST_TEXT:
        raise ParameterError(f"{name} has {len(value)} characters; at most {LONGEST_TEXT} are read")
    return value.strip()


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ParameterError(f"{name} must be a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ParameterError(f"{name} = {str(value)[:40]!r} is not a number") from None
    if name == "alpha0" and number == math.inf:
        return number
    low, high = NUMBERS[name]
    return parameter(name, number, low=low, high=high)


def _count(name: str, value: Any) -> int:
    low, high = COUNTS[name]
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and low <= value <= high):
        raise ParameterError(f"{name} = {str(value)[:40]} must be a whole number from {low} to {high}")
    return value


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be true or false")
    return value

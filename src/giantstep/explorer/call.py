"""A call of a public verb that can be made and that can be shown: the page's Python lines are what was run."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import giantstep as gs

from ..cli.options import letters

if TYPE_CHECKING:
    from .settings import Settings

_HEAD = "import numpy as np\nimport giantstep as gs\n"
_WIDTH = 88


@dataclass(frozen=True)
class Spaced:
    """A range of values, evenly spaced or (`log`) in equal ratios."""

    low: float
    high: float
    count: int
    log: bool = False

    @property
    def value(self) -> np.ndarray:
        return (np.geomspace if self.log else np.linspace)(self.low, self.high, self.count)

    def __str__(self) -> str:
        name = "geomspace" if self.log else "linspace"
        return f"np.{name}({_literal(self.low)}, {_literal(self.high)}, {self.count})"


@dataclass(frozen=True)
class Call:
    """`found = gs.<verb>(net, y, **arguments)`, for the network and target that the settings describe."""

    verb: str
    settings: Settings
    arguments: dict[str, Any]
    model: dict[str, Any] = field(
        default_factory=dict
    )  # parameters of the network that differ from the settings
    shows: tuple[str, ...] = ()  # quantities that the last line prints
    equivalent: bool = False  # of the network's spiked features, which need no target any more

    def run(self, **more: Any) -> Any:
        """Make the call; `more` are arguments that change how it is done, not what comes out."""
        arguments = {name: _value(value) for name, value in self.arguments.items()}
        network = gs.Network(**{name: _value(value) for name, value in self._network().items()})
        target = gs.Target(self.settings.target, **self._randomness())
        subjects = (network.equivalent(target),) if self.equivalent else (network, target)
        return getattr(gs, self.verb)(*subjects, **arguments, **more)

    def python(self) -> str:
        """Lines that reproduce it, ready to paste. Texts are written as string literals, so they stay texts."""
        network = self._network()
        activation = _literal(network.pop("activation"))
        subjects = "net.equivalent(y)" if self.equivalent else "net, y"
        lines = [
            _HEAD,
            _wrapped("net = gs.Network(", [activation, *_keywords(network)]),
            _wrapped("y = gs.Target(", [_literal(self.settings.target), *_keywords(self._randomness())]),
            _wrapped(f"found = gs.{self.verb}(", [subjects, *_keywords(self.arguments)]),
        ]
        if self.shows:
            lines.append(f"print(found[{json.dumps(list(self.shows))}])")
        return "\n".join(lines) + "\n"

    def _network(self) -> dict[str, Any]:
        s = self.settings
        given = {"activation": s.activation, "eta": s.eta, "alpha0": s.alpha0, "beta": s.beta}
        if s.readout != "uniform":
            given["readout"] = s.readout if s.readout[:1].isalpha() else letters(s.readout)
        return given | self.model

    def _randomness(self) -> dict[str, float]:
        """What makes the labels random, where it is not zero."""
        names = ("noise", "flips", "latent_noise")
        return {name: getattr(self.settings, name) for name in names if getattr(self.settings, name)}


def _value(value: Any) -> Any:
    """What a verb gets: arrays for ranges, also inside a dictionary."""
    if isinstance(value, dict):
        return {name: _value(inner) for name, inner in value.items()}
    return value.value if isinstance(value, Spaced) else value


def _keywords(arguments: dict[str, Any]) -> list[str]:
    return [f"{name}={_literal(value)}" for name, value in arguments.items()]


def _literal(value: Any) -> str:
    """A value as Python text."""
    if isinstance(value, str):
        return json.dumps(value) if value.isascii() else ascii(value)  # string literals, whatever is in them
    if isinstance(value, float):
        return "np.inf" if math.isinf(value) else repr(value).removesuffix(".0")
    if isinstance(value, gs.Letters):
        biases = "" if value.biases is None else f", biases={_literal(value.biases)}"
        return f"gs.Letters({_literal(value.values)}, {_literal(value.weights)}{biases})"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(name)}: {_literal(inner)}" for name, inner in value.items()) + "}"
        )
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + (",)" if len(value) == 1 else ")")
    return str(value)


def _wrapped(opening: str, parts: list[str]) -> str:
    """One line, or one argument a line if that is too long."""
    line = f"{opening}{', '.join(parts)})"
    return line if len(line) <= _WIDTH else "\n    ".join([opening, *(f"{part}," for part in parts)]) + "\n)"

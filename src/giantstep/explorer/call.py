"""A call of a public verb that can be made and that can be shown: the page's Python lines are what was run."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import giantstep as gs

from ..model.checks import written
from ..model.inputs import PowerLaw
from ..model.typed import letters

if TYPE_CHECKING:
    from .settings import Settings

_HEAD = "import numpy as np\nimport giantstep as gs\n"
_WIDTH = 88
_LAYERS = {
    "step": ("Network", ("eta", "alpha0", "beta")),
    "spiked": ("SpikedRF", ("r", "gamma", "c", "beta")),
}
_BLOCKS = {"eigenvalues": [2.5, 0.5], "masses": [0.25, 0.75]}  # variances of the inputs, of mean 1
_USUAL = {"steps": 1, "rows": "unit", "bias_scale": 0.0}  # of a network, left out


@dataclass(frozen=True)
class Spaced:
    """A range of values, evenly spaced or (`log`) in equal ratios, then multiplied by `times` and moved by `plus`."""

    low: float
    high: float
    count: int
    log: bool = False
    times: float = 1.0
    plus: float = 0.0

    @property
    def value(self) -> np.ndarray:
        values = (np.geomspace if self.log else np.linspace)(self.low, self.high, self.count)
        return self.plus + self.times * values if self.plus or self.times != 1.0 else values

    def __str__(self) -> str:
        name = "geomspace" if self.log else "linspace"
        text = f"np.{name}({_literal(self.low)}, {_literal(self.high)}, {self.count})"
        times = f"{_literal(self.times)} * " if self.times != 1.0 else ""
        return f"{_literal(self.plus)} + {times}{text}" if self.plus else f"{times}{text}"


@dataclass(frozen=True)
class Call:
    """`found = gs.<verb>(net, y, **arguments)`, for the first layer and the target that the settings describe.

    `of` are the verb's subjects: "net" alone for what is about features (a target is named where steps were taken on
    it), "y" alone for what is about the target.
    """

    verb: str
    settings: Settings
    arguments: dict[str, Any]
    model: dict[str, Any] = field(default_factory=dict)  # of the layer, beyond what the settings say
    shows: tuple[str, ...] = ()  # quantities that the last line prints
    of: str = "net, y"

    def run(self, **more: Any) -> Any:
        """Make the call; `more` are arguments that change how it is done, not what comes out."""
        kind, given = self._layer()
        target = gs.Target(self.settings.target, **self._of_target())
        subjects: list[Any] = []
        if "net" in self.of:
            subjects.append(getattr(gs, kind)(**{name: _value(value) for name, value in given.items()}))
        if "y" in self.of:
            subjects.append(target)
        named = {"target": target} if self.of == "net" and kind == "Network" else {}
        arguments = {name: _value(value) for name, value in self.arguments.items()}
        return getattr(gs, self.verb)(*subjects, **arguments, **named, **more)

    def python(self) -> str:
        """Lines that reproduce it, ready to paste. Texts are written as string literals, so they stay texts."""
        kind, given = self._layer()
        activation = _literal(given.pop("activation"))
        named = ["target=y"] if self.of == "net" and kind == "Network" else []
        lines = [
            _HEAD,
            _wrapped(f"net = gs.{kind}(", [activation, *_keywords(given)]) if "net" in self.of else "",
            _wrapped("y = gs.Target(", [_literal(self.settings.target), *_keywords(self._of_target())]),
            _wrapped(f"found = gs.{self.verb}(", [self.of, *_keywords(self.arguments), *named]),
        ]
        lines = [line for line in lines if line]
        if self.shows:
            lines.append(f"print(found[{json.dumps(list(self.shows))}])")
        return "\n".join(lines) + "\n"

    def _layer(self) -> tuple[str, dict[str, Any]]:
        """The class that describes the first layer, and what it is given."""
        s = self.settings
        kind, names = _LAYERS[s.layer]
        given = {"activation": s.activation} | {name: getattr(s, name) for name in names}
        if s.readout != "uniform":
            given["readout"] = s.readout if s.readout[:1].isalpha() else letters(s.readout)
        if s.layer == "step":
            given |= {name: getattr(s, name) for name, usual in _USUAL.items() if getattr(s, name) != usual}
        return kind, given | self.model

    def _of_target(self) -> dict[str, Any]:
        """What makes the labels random, where it is not zero, and the inputs, where they have a covariance."""
        s, names = self.settings, ("noise", "flips", "latent_noise")
        given = {name: getattr(s, name) for name in names if getattr(s, name)}
        return given | ({"inputs": _inputs(s)} if s.structured else {})


def _inputs(settings: Settings) -> gs.Inputs:
    """A power law, or two blocks: each of the target's directions has the same share on the large one."""
    if settings.inputs == "power":
        return gs.Inputs.power_law(settings.exponent, d=settings.d)
    row = [settings.share, round(1.0 - settings.share, 12)]
    directions = gs.Target(settings.target).directions
    return gs.Inputs(**_BLOCKS, shares=row if directions == 1 else [row] * directions)


def _value(value: Any) -> Any:
    """What a verb gets: arrays for ranges, also inside a dictionary or a tuple."""
    if isinstance(value, dict):
        return {name: _value(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    return value.value if isinstance(value, Spaced) else value


def _keywords(arguments: dict[str, Any]) -> list[str]:
    return [f"{name}={_literal(value)}" for name, value in arguments.items()]


def _literal(value: Any) -> str:
    """A value as Python text."""
    if isinstance(value, str):
        return json.dumps(value) if value.isascii() else ascii(value)  # string literals, whatever is in them
    if isinstance(value, float):
        return "np.inf" if math.isinf(value) else written(value)
    if isinstance(value, gs.Letters):
        biases = "" if value.biases is None else f", biases={_literal(value.biases)}"
        return f"gs.Letters({_literal(value.values)}, {_literal(value.weights)}{biases})"
    if isinstance(value, PowerLaw):
        return f"gs.Inputs.power_law({_literal(value.exponent)}, d={value.d})"
    if isinstance(value, gs.Inputs):
        named = {name: np.asarray(getattr(value, name)).tolist() for name in ("masses", "shares")}
        return f"gs.Inputs({value.omega.tolist()}, {', '.join(_keywords(named))})"
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

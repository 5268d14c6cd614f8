"""Settings of the page as calls of the library, which can be made and written: the page's Python lines are what ran."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import giantstep as gs

from ..errors import GiantstepWarning
from ..model.checks import written
from ..model.typed import letters
from .refusals import page_words
from .settings import CONTROLS, Settings

if TYPE_CHECKING:
    import xarray as xr

_LIBRARIES = SimpleNamespace(gs=gs, np=np)
_WIDTH = 80  # of a Python line, from its opening on
_LAYERS = {"step": "Network", "spiked": "SpikedRF"}
_VARIANCES, _MASSES = [2.5, 0.5], [0.25, 0.75]  # variances of the inputs, of mean 1, and their shares of the inputs


@dataclass(frozen=True, repr=False)
class Object:
    """What a function of giantstep's or numpy's makes, and `plus`: `value` makes it, and its text is the Python that
    does.
    """

    maker: str  # "gs.Network"
    arguments: tuple[Any, ...]
    named: dict[str, Any] = field(default_factory=dict)
    plus: float = 0.0

    @property
    def value(self) -> Any:
        value = attrgetter(self.maker)(_LIBRARIES)(*self.arguments, **_value(self.named))
        return self.plus + value if self.plus else value

    def __repr__(self) -> str:
        text = _wrapped(f"{self.maker}(", [*map(_literal, self.arguments), *_keywords(self.named)])
        return f"{_literal(self.plus)} + {text}" if self.plus else text


def spaced(low: float, high: float, count: int, log: bool = False, plus: float = 0.0) -> Object:
    """A range of values, evenly spaced or (`log`) in equal ratios, then moved by `plus`."""
    return Object("np.geomspace" if log else "np.linspace", (low, high, count), plus=plus)


@dataclass(frozen=True)
class Call:
    """`answer = gs.<verb>(net, y, **arguments)`, for the first layer and the target that the settings describe.

    Arguments that are parameters of the first layer go there, in place of what the settings say.
    """

    verb: str
    settings: Settings
    arguments: dict[str, Any]
    shows: tuple[str, ...] = ()  # quantities that the last line prints
    of: tuple[str, ...] = ("net", "y")  # what the verb is about: the network, the target, or both

    def run(self, **more: Any) -> tuple[xr.Dataset, dict[str, Any]]:
        """The answer; and its Python lines, and the library's warnings in the page's words.

        `more` are arguments that change how it is computed, not what comes out.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", GiantstepWarning)
            objects = [described.value for described in self._objects().values()]
            answer = getattr(gs, self.verb)(*objects, **_value(self._own()), **more)
        notes = sorted({page_words(str(warning.message)) for warning in caught})
        return answer, {"code": self.python(), "notes": notes}

    def python(self) -> str:
        """Lines that reproduce it, ready to paste. Texts are written as string literals, so they stay texts."""
        lines = [
            "import numpy as np\nimport giantstep as gs\n",
            *(f"{name} = {described}" for name, described in self._objects().items()),
            _wrapped(f"answer = gs.{self.verb}(", [*self.of, *_keywords(self._own())]),
            *([f"print(answer[{list(self.shows)}])"] if self.shows else []),
        ]
        return "\n".join(lines) + "\n"

    def _own(self) -> dict[str, Any]:
        """The arguments of the verb itself."""
        layer = _LAYERS[self.settings.layer]
        return {
            name: value
            for name, value in self.arguments.items()
            if name not in CONTROLS or layer not in CONTROLS[name].of
        }

    def _objects(self) -> dict[str, Object]:
        """What the names in the call stand for."""
        every = {"net": _first_layer(self.settings, self.arguments), "y": target(self.settings)}
        return {name: every[name] for name in self.of}


def _first_layer(settings: Settings, arguments: dict[str, Any]) -> Object:
    named = _parameters(_LAYERS[settings.layer], asdict(settings) | arguments)
    if not settings.readout[:1].isalpha():
        named["readout"] = letters(settings.readout)
    return Object(f"gs.{_LAYERS[settings.layer]}", (named.pop("activation"),), named)


def target(settings: Settings) -> Object:
    """The target, what makes its labels random, and the inputs where they have a covariance."""
    named = _parameters("Target", asdict(settings))
    if settings.structured:
        named["inputs"] = _inputs(settings)
    return Object("gs.Target", (named.pop("target"),), named)


def _parameters(owner: str, values: dict[str, Any]) -> dict[str, Any]:
    """Those of these values that are arguments of one of the library's descriptions, where they are not its default."""
    return {
        name: values[name]
        for name, control in CONTROLS.items()
        if owner in control.of and values[name] != control.default
    }


def _inputs(settings: Settings) -> Object:
    """A power law, or two blocks: each of the target's directions has the same share on the large one."""
    if settings.inputs == "power":
        return Object("gs.Inputs.power_law", (settings.exponent,), {"d": settings.d})
    row = [settings.share, round(1.0 - settings.share, 12)]
    directions = gs.Target(settings.target).directions
    return Object(
        "gs.Inputs", (_VARIANCES,), {"masses": _MASSES, "shares": row if directions == 1 else [row] * directions}
    )


def _value(value: Any) -> Any:
    """What a verb gets: arrays for ranges and objects for their descriptions, also inside a dictionary or a tuple."""
    if isinstance(value, dict):
        return {name: _value(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_value, value))
    return value.value if isinstance(value, Object) else value


def _keywords(arguments: dict[str, Any]) -> list[str]:
    return [f"{name}={_literal(value)}" for name, value in arguments.items()]


def _literal(value: Any) -> str:
    """A value as Python text: whatever is in a text, it stays one."""
    if isinstance(value, float):
        return "np.inf" if math.isinf(value) else written(value)
    if isinstance(value, gs.Letters):
        return f"gs.{value!r}"
    return ascii(value)


def _wrapped(opening: str, parts: list[str]) -> str:
    """One line, or one argument a line if that is too long."""
    line = f"{opening}{', '.join(parts)})"
    return line if len(line) <= _WIDTH else "\n    ".join([opening, *(f"{part}," for part in parts)]) + "\n)"

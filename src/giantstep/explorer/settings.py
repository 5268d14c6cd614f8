"""Every setting of the page, in one list: its initial value, its limits, and the control that changes it.

The table of parameters has what a parameter of the library is called, its limits, its slider, and which description has
it. A new one is a field here, in one of the groups: calls and views take it from there, and the page builds its form
from this list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..errors import ParameterError, refused
from ..model.checks import a_text, check_count, flag, number
from ..model.parameters import PARAMETERS

_LONGEST_TEXT = 300  # of an expression or a list of letters
_ENDS = {"low": -1e3, "high": 1e4}  # between which a curve may run, whatever it runs along
PROBLEM, LAYER, _READOUT = "The problem", "The first layer", "The readout"
_CURVE, _SIZE = "The curve", "Finite size"
_KINDS = {str: "text", float: "number", int: "count", bool: "switch"}
_STEP, _GIVEN = {"layer": "step"}, {"layer": "spiked"}  # which first layer a control belongs to


@dataclass(frozen=True)
class Control:
    """How a setting looks on the page: `when` says for which other settings it is there."""

    group: str
    label: str
    kind: str
    symbol: str | None = None
    hint: str | None = None
    low: float = -math.inf
    high: float = math.inf
    infinite: bool = False
    slider: tuple[float, float, str] | None = None  # its ends, and "log" or "linear"
    options: tuple[tuple[str, str], ...] | None = None  # value and words
    suggestions: str | None = None  # the list of names that is offered
    short: bool = False
    more: bool = False  # folded away until it is wanted
    when: Mapping[str, str] | None = None
    of: tuple[str, ...] = ()  # descriptions of the library that have it as an argument,
    default: Any = None  # and what it is there if it is not given

    def read(self, name: str, value: Any) -> Any:
        """A visitor's value of the setting `name`, checked."""
        if self.kind == "switch":
            return flag(name, value)
        if self.kind == "count":
            return check_count(name, value, int(self.low), int(self.high))
        if self.kind == "number":
            endless = self.infinite and value == "inf"
            return math.inf if endless else number(name, value, low=self.low, high=self.high)
        if len(a_text(name, value)) > _LONGEST_TEXT:
            raise refused(name, value, f"is longer than {_LONGEST_TEXT} characters")
        if self.options and value not in dict(self.options):
            raise refused(name, value, "is not among the choices")
        return value.strip()


def _control(initial: Any, group: str, label: str, **look: Any) -> Any:
    return field(default=initial, metadata={"control": Control(group, label, _KINDS[type(initial)], **look)})


def _parameter(name: str, group: str, **look: Any) -> Any:
    """The control of one of the library's parameters."""
    row = PARAMETERS[name]
    low, high = row.typed or (-math.inf, math.inf)
    initial = look.pop("initial", row.default if row.initial is None else row.initial)
    usual = {"symbol": row.letter or None, "hint": row.note or row.words, "slider": row.slider}
    usual |= {"of": row.of, "default": row.default}
    if ("Network" in row.of) != ("SpikedRF" in row.of):
        usual["when"] = _STEP if "Network" in row.of else _GIVEN
    return _control(initial, group, row.label, low=low, high=high, **usual | look)


@dataclass(frozen=True)
class Settings:
    """What the page says. `alpha` and the others are the working point; the curve leads through it, `along` one of
    them from `low` to `high`. `d` is the simulation's dimension, and the theory's too if `finite`.
    """

    activation: str = _parameter("activation", PROBLEM, short=True, suggestions="functions")
    target: str = _parameter("function", PROBLEM, short=True, suggestions="functions")
    noise: float = _parameter("noise", PROBLEM, initial=0.1)
    flips: float = _parameter("flips", PROBLEM, short=True, more=True)
    latent_noise: float = _parameter("latent_noise", PROBLEM, short=True, more=True)

    inputs: str = _control(
        "isotropic",
        PROBLEM,
        "Inputs",
        options=(("isotropic", "isotropic"), ("blocks", "two blocks"), ("power", "power law")),
        hint="best linear and best possible are known for isotropic inputs",
        when=_STEP,
    )
    share: float = _control(
        0.9,
        PROBLEM,
        "Target on the large block",
        hint="share of the target on the quarter of the inputs with five times the variance of the others",
        low=0.0,
        high=1.0,
        slider=(0.0, 1.0, "linear"),
        when=_STEP | {"inputs": "blocks"},
    )
    exponent: float = _control(
        0.3,
        PROBLEM,
        "Exponent",
        symbol="a",
        hint="variances of the inputs fall as j^-a, j = 1 to d",
        low=0.0,
        high=1.0,
        slider=(0.0, 0.6, "linear"),
        when=_STEP | {"inputs": "power"},
    )

    layer: str = _control(
        "step", LAYER, "Comes from", options=(("step", "gradient steps"), ("spiked", "a spike, given directly"))
    )
    eta: float = _parameter("eta", LAYER)
    alpha0: float = _parameter("alpha0", LAYER, infinite=True)
    steps: int = _parameter("steps", LAYER, default=1, hint="all alike, each on a fresh batch")
    r: float = _parameter("r", LAYER)
    gamma: float = _parameter("gamma", LAYER)
    c: float = _parameter("c", LAYER)
    beta: float = _parameter("beta", LAYER)
    readout: str = _parameter(
        "readout",
        LAYER,
        suggestions="readouts",
        hint="a name, or value:weight pairs: -1:0.25,0:0.5,1:0.25; a third number is a bias",
        more=True,
    )
    rows: str = _parameter(
        "rows", LAYER, options=(("unit", "of unit norm"), ("gaussian", "Gaussian entries")), more=True
    )
    bias_scale: float = _parameter("bias_scale", LAYER, more=True)
    bulk: str = _parameter(
        "bulk",
        LAYER,
        options=(("exact", "exact"), ("isotropic", "isotropic"), ("orthogonal", "orthogonal")),
        hint="exact: the network itself; isotropic: the paper's model; orthogonal: for a given spike",
        more=True,
    )

    alpha: float = _parameter("alpha", _READOUT, hint="the dotted line on the curve")
    lam: float = _parameter("lam", _READOUT)
    loss: str = _parameter("loss", _READOUT, suggestions="losses", hint="huber:0.5 and pinball:0.9 have a parameter")

    along: str = _control(
        "alpha",
        _CURVE,
        "Runs along",
        options=tuple(
            (name, f"{PARAMETERS[name].letter}, {PARAMETERS[name].label.lower()}")
            for name in ("alpha", "lam", "beta", "eta", "alpha0", "r", "gamma")
        ),
        more=True,
    )
    low: float = _control(0.1, _CURVE, "from", **_ENDS, short=True, more=True)
    high: float = _control(6.0, _CURVE, "to", **_ENDS, short=True, more=True)
    quantity: str = _control(
        "auto",
        _CURVE,
        "Shows",
        options=(
            ("auto", "test error, or wrong signs"),
            ("test_error", "test error, squared"),
            ("train_error", "training error, squared"),
            ("test_error_01", "wrong signs, test"),
            ("train_error_01", "wrong signs, training"),
        ),
        hint="wrong signs of labels ±1 unless you choose otherwise",
        more=True,
    )
    untrained: bool = _control(True, _CURVE, "Random features", more=True)
    linear: bool = _control(True, _CURVE, "Best linear", more=True)
    best: bool = _control(True, _CURVE, "Best possible", more=True)
    limits: bool = _control(False, _CURVE, "Bounds", more=True)
    model: bool = _control(False, _CURVE, "Isotropic model", more=True)

    d: int = _parameter("d", _SIZE, short=True, hint="of the simulation", more=True)
    finite: bool = _control(True, _SIZE, "Theory at this d", more=True)
    trials: int = _parameter("trials", _SIZE, short=True, more=True)
    seed: int = _parameter("seed", _SIZE, short=True, more=True)

    @property
    def structured(self) -> bool:
        """Whether the inputs have a covariance. A spike that is given directly has no place in one."""
        return self.layer == "step" and self.inputs != "isotropic"

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from a visitor's JSON; what is missing keeps its initial value, what is unknown is refused."""
        if not isinstance(given, Mapping):
            raise ParameterError("the settings must be a JSON object")
        if unknown := sorted(str(name) for name in given if name not in CONTROLS):
            raise ParameterError(f"there is no setting {unknown[0]!r}; there are {', '.join(CONTROLS)}")
        settings = cls(**{name: CONTROLS[name].read(name, given[name]) for name in given})
        along = CONTROLS[settings.along]
        if along.when and along.when["layer"] != settings.layer:
            raise refused("along", settings.along, "is not a parameter of this first layer; choose another one")
        if settings.low >= settings.high:
            raise refused("low", settings.low, f"must be less than {settings.high:g}, where the curve ends")
        for name in ("low", "high"):
            along.read(name, getattr(settings, name))
        return settings

    def only(self, names: Iterable[str]) -> Settings:
        """These settings with all but `names` at their initial values: what an answer can depend on.

        A curve does not depend on the value of what it runs along.
        """
        used = set(names) - ({self.along} if "along" in names else set())
        return Settings(**{name: value for name, value in asdict(self).items() if name in used})


CONTROLS: dict[str, Control] = {f.name: f.metadata["control"] for f in fields(Settings)}


def settings_of(*groups: str) -> list[str]:
    """The settings of these groups, in the page's order."""
    return [name for name, control in CONTROLS.items() if control.group in groups]


def controls() -> list[dict[str, Any]]:
    """The list for the page, in its order; of each control what is not at its default."""
    usual = asdict(Control("", "", ""))
    return [
        {"name": f.name, "initial": f.default}
        | {key: value for key, value in asdict(CONTROLS[f.name]).items() if value != usual[key]}
        for f in fields(Settings)
    ]

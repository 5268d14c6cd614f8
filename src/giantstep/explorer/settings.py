"""Every setting of the page, in one list: its initial value, its limits, and the control that changes it.

The table of parameters has what a parameter of the library is called, its limits and its slider. A new one is a field
here and a word in `call.py`; the page builds its form from this list.
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
_PROBLEM, _LAYER, _READOUT, _CURVE, _SIZE = (
    "The problem",
    "The first layer",
    "The readout",
    "The curve",
    "Finite size",
)
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

    def read(self, name: str, value: Any) -> Any:
        """A visitor's value of the setting `name`, checked."""
        if self.kind == "switch":
            return flag(name, value)
        if self.kind == "count":
            return check_count(name, value, int(self.low), int(self.high))
        if self.kind == "text":
            return self._text(name, value)
        if self.infinite and value == "inf":
            return math.inf
        return self.within(name, value)

    def within(self, name: str, value: Any) -> float:
        """A number between the control's ends."""
        return number(name, value, low=self.low, high=self.high)

    def _text(self, name: str, value: Any) -> str:
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
    return _control(initial, group, row.label, low=low, high=high, **usual | look)


@dataclass(frozen=True)
class Settings:
    """What the page says. `alpha` and the others are the working point; the curve leads through it, `along` one of
    them from `low` to `high`. `d` is the simulation's dimension, and the theory's too if `finite`.
    """

    activation: str = _parameter("activation", _PROBLEM, short=True, suggestions="functions")
    target: str = _parameter("function", _PROBLEM, short=True, suggestions="functions")
    noise: float = _parameter("noise", _PROBLEM, initial=0.1)
    flips: float = _parameter("flips", _PROBLEM, short=True, more=True)
    latent_noise: float = _parameter("latent_noise", _PROBLEM, short=True, more=True)

    inputs: str = _control(
        "isotropic",
        _PROBLEM,
        "Inputs",
        options=(("isotropic", "isotropic"), ("blocks", "two blocks"), ("power", "power law")),
        hint="best linear and best possible are known for isotropic inputs",
        when=_STEP,
    )
    share: float = _control(
        0.9,
        _PROBLEM,
        "Target on the large block",
        hint="share of the target on the quarter of the inputs with five times the variance of the others",
        low=0.0,
        high=1.0,
        slider=(0.0, 1.0, "linear"),
        when=_STEP | {"inputs": "blocks"},
    )
    exponent: float = _control(
        0.3,
        _PROBLEM,
        "Exponent",
        symbol="a",
        hint="variances of the inputs fall as j^-a, j = 1 to d",
        low=0.0,
        high=1.0,
        slider=(0.0, 0.6, "linear"),
        when=_STEP | {"inputs": "power"},
    )

    layer: str = _control(
        "step",
        _LAYER,
        "Comes from",
        options=(("step", "gradient steps"), ("spiked", "a spike, given directly")),
    )
    eta: float = _parameter("eta", _LAYER, when=_STEP)
    alpha0: float = _parameter("alpha0", _LAYER, infinite=True, when=_STEP)
    steps: int = _parameter("steps", _LAYER, hint="all alike, each on a fresh batch", when=_STEP)
    r: float = _parameter("r", _LAYER, when=_GIVEN)
    gamma: float = _parameter("gamma", _LAYER, when=_GIVEN)
    c: float = _parameter("c", _LAYER, when=_GIVEN)
    beta: float = _parameter("beta", _LAYER)
    readout: str = _parameter(
        "readout",
        _LAYER,
        suggestions="readouts",
        hint="a name, or value:weight pairs: -1:0.25,0:0.5,1:0.25; a third number is a bias",
        more=True,
    )
    rows: str = _parameter(
        "rows",
        _LAYER,
        options=(("unit", "of unit norm"), ("gaussian", "Gaussian entries")),
        more=True,
        when=_STEP,
    )
    bias_scale: float = _parameter("bias_scale", _LAYER, more=True, when=_STEP)
    bulk: str = _parameter(
        "bulk",
        _LAYER,
        options=(("exact", "exact"), ("isotropic", "isotropic"), ("orthogonal", "orthogonal")),
        hint="exact: the network itself; isotropic: the paper's model; orthogonal: for a given spike",
        more=True,
    )

    alpha: float = _parameter("alpha", _READOUT, hint="the dotted line on the curve")
    lam: float = _parameter("lam", _READOUT)
    loss: str = _parameter(
        "loss", _READOUT, suggestions="losses", hint="huber:0.5 and pinball:0.9 have a parameter"
    )

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
        settings._check_curve()
        return settings

    def only(self, names: Iterable[str]) -> Settings:
        """These settings with all but `names` at their initial values: what an answer can depend on.

        A curve does not depend on the value of what it runs along.
        """
        used = set(names) - ({self.along} if "along" in names else set())
        return Settings(**{name: value for name, value in asdict(self).items() if name in used})

    def _check_curve(self) -> None:
        along = CONTROLS[self.along]
        if along.when and along.when["layer"] != self.layer:
            raise refused("along", self.along, "is not a parameter of this first layer; choose another one")
        if self.low >= self.high:
            raise refused("low", self.low, f"must be less than {self.high:g}, where the curve ends")
        for name in ("low", "high"):
            along.within(name, getattr(self, name))


CONTROLS: dict[str, Control] = {f.name: f.metadata["control"] for f in fields(Settings)}


def controls() -> list[dict[str, Any]]:
    """The list for the page, in its order; of each control what is not at its default."""
    usual = asdict(Control("", "", ""))
    return [
        {"name": f.name, "initial": f.default}
        | {key: value for key, value in asdict(CONTROLS[f.name]).items() if value != usual[key]}
        for f in fields(Settings)
    ]

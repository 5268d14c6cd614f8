"""Every setting of the page, in one list: its initial value, its limits, and the control that changes it.

A new parameter is a field here and a word in `call.py`; the page builds its form from this list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..errors import ParameterError
from .control import Control, FieldError

_PROBLEM, _LAYER, _READOUT, _CURVE, _SIZE = (
    "The problem",
    "The first layer",
    "The readout",
    "The curve",
    "Finite size",
)
_STEP, _GIVEN = {"layer": "step"}, {"layer": "spiked"}  # which first layer a control belongs to


def _set(initial: Any, group: str, label: str, **look: Any) -> Any:
    return field(default=initial, metadata={"control": Control(group, label, **look)})


@dataclass(frozen=True)
class Settings:
    """What the page says. `alpha` and the others are the working point; the curve leads through it, `along` one of
    them from `low` to `high`. `d` is the simulation's dimension, and the theory's too if `finite`.
    """

    activation: str = _set(
        "tanh",
        _PROBLEM,
        "Activation",
        symbol="σ",
        short=True,
        suggestions="functions",
        hint="a name or an expression, such as tanh(2*x)",
    )
    target: str = _set(
        "sin",
        _PROBLEM,
        "Target",
        symbol="σ⋆",
        short=True,
        suggestions="functions",
        hint="likewise: the labels, of a projection x of the input, or of several: x1 + x1*x2",
    )
    noise: float = _set(
        0.0,
        _PROBLEM,
        "Label noise",
        symbol="Δ",
        low=0.0,
        high=1e2,
        slider=(0.0, 2.0, "linear"),
        hint="standard deviation",
    )
    flips: float = _set(
        0.0, _PROBLEM, "Flipped signs", low=0.0, high=0.5, short=True, hint="share of ±1 labels", more=True
    )
    latent_noise: float = _set(
        0.0, _PROBLEM, "Latent noise", low=0.0, high=1e2, short=True, hint="before the sign", more=True
    )

    layer: str = _set(
        "step",
        _LAYER,
        "Comes from",
        options=(("step", "gradient steps"), ("spiked", "a spike, given directly")),
    )
    eta: float = _set(
        3.0,
        _LAYER,
        "Learning rate ÷ d",
        symbol="η̃",
        low=0.0,
        high=1e3,
        slider=(0.05, 50.0, "log"),
        hint="0: no step",
        when=_STEP,
    )
    alpha0: float = _set(
        10.0,
        _LAYER,
        "Step samples ÷ d",
        symbol="α₀",
        low=0.0,
        high=1e4,
        infinite=True,
        slider=(0.05, 100.0, "log"),
        hint="0: no step; inf: the population",
        when=_STEP,
    )
    steps: int = _set(
        1,
        _LAYER,
        "Number of steps",
        symbol="T",
        low=1,
        high=8,
        slider=(1, 8, "linear"),
        hint="all alike, each on a fresh batch",
        when=_STEP,
    )
    r: float = _set(
        0.9,
        _LAYER,
        "Strength of the spike",
        symbol="r",
        low=-1e2,
        high=1e2,
        slider=(0.0, 5.0, "linear"),
        when=_GIVEN,
    )
    gamma: float = _set(
        1.0,
        _LAYER,
        "Alignment with the target",
        symbol="γ",
        low=-1.0,
        high=1.0,
        slider=(-1.0, 1.0, "linear"),
        when=_GIVEN,
    )
    c: float = _set(
        1.0,
        _LAYER,
        "Squared row norm",
        symbol="c",
        low=1e-3,
        high=1e3,
        slider=(0.1, 10.0, "log"),
        when=_GIVEN,
    )
    beta: float = _set(1.0, _LAYER, "Width ÷ d", symbol="β", low=1e-2, high=1e2, slider=(0.1, 10.0, "log"))
    readout: str = _set(
        "uniform",
        _LAYER,
        "Initial readout",
        symbol="a₀",
        suggestions="readouts",
        hint="a name, or value:weight pairs: -1:0.25,0:0.5,1:0.25; a third number is a bias",
        more=True,
    )
    rows: str = _set(
        "unit",
        _LAYER,
        "Initial rows",
        options=(("unit", "of unit norm"), ("gaussian", "Gaussian entries")),
        more=True,
        when=_STEP,
    )
    bias_scale: float = _set(
        0.0,
        _LAYER,
        "Biases, times √d",
        hint="standard deviation of the neurons' biases, which are not trained; libraries draw them at about 1",
        low=0.0,
        high=100.0,
        slider=(0.0, 3.0, "linear"),
        more=True,
        when=_STEP,
    )
    bulk: str = _set(
        "exact",
        _LAYER,
        "Model of its rows",
        options=(("exact", "exact"), ("isotropic", "isotropic"), ("orthogonal", "orthogonal")),
        hint="exact: the network itself; isotropic: the paper's model; orthogonal: for a given spike",
        more=True,
    )

    alpha: float = _set(
        2.0,
        _READOUT,
        "Fit samples ÷ d",
        symbol="α",
        low=1e-2,
        high=1e2,
        slider=(0.1, 20.0, "log"),
        hint="the working point: dotted line on the curve",
    )
    lam: float = _set(
        0.1, _READOUT, "Ridge penalty", symbol="λ", low=0.0, high=1e6, slider=(1e-4, 100.0, "log")
    )
    loss: str = _set(
        "square",
        _READOUT,
        "Loss",
        symbol="ℓ",
        suggestions="losses",
        hint="huber:0.5 and pinball:0.9 have a parameter",
    )

    along: str = _set(
        "alpha",
        _CURVE,
        "Runs along",
        options=(
            ("alpha", "α, fit samples ÷ d"),
            ("lam", "λ, ridge penalty"),
            ("beta", "β, width ÷ d"),
            ("eta", "η̃, learning rate ÷ d"),
            ("alpha0", "α₀, step samples ÷ d"),
            ("r", "r, strength of the spike"),
            ("gamma", "γ, alignment"),
        ),
        more=True,
    )
    low: float = _set(0.1, _CURVE, "from", low=-1e3, high=1e4, short=True, more=True)
    high: float = _set(6.0, _CURVE, "to", low=-1e3, high=1e4, short=True, more=True)
    quantity: str = _set(
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

    d: int = _set(
        300,
        _SIZE,
        "Dimension",
        symbol="d",
        low=10,
        high=3000,
        short=True,
        hint="of the simulation",
        more=True,
    )
    finite: bool = _set(True, _SIZE, "Theory at this d", more=True)
    trials: int = _set(10, _SIZE, "Trials", low=2, high=100, short=True, more=True)
    seed: int = _set(0, _SIZE, "Seed", low=0, high=2**31, short=True, more=True)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from a visitor's JSON; what is missing keeps its initial value, what is unknown is refused."""
        if not isinstance(given, Mapping):
            raise ParameterError("the settings must be a JSON object")
        if unknown := sorted(str(name)[:40] for name in given if name not in CONTROLS):
            raise ParameterError(f"there is no setting {unknown[0]!r}; there are {', '.join(CONTROLS)}")
        kinds = {f.name: type(f.default) for f in fields(cls)}
        settings = cls(
            **{name: CONTROLS[name].read(name, value, kinds[name]) for name, value in given.items()}
        )
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
            raise FieldError("along", f"along = {self.along}: this first layer has no {along.label.lower()}")
        if self.low >= self.high:
            raise FieldError("low", f"low = {self.low:g} must be less than high = {self.high:g}")
        for name in ("low", "high"):
            along.within(name, getattr(self, name))


def controls() -> list[dict[str, Any]]:
    """The list for the page, in its order."""
    kinds = {str: "text", float: "number", int: "count", bool: "switch"}
    return [
        {"name": f.name, "initial": f.default, "kind": kinds[type(f.default)], **CONTROLS[f.name].said()}
        for f in fields(Settings)
    ]


CONTROLS: dict[str, Control] = {f.name: f.metadata["control"] for f in fields(Settings)}

"""The options that commands share, and how they make a model, a target and a grid.

Here and beside, numpy and all that needs it is imported where it is used: --help should not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from ..errors import ParameterError
from ..model.typed import INPUTS, inputs, letters, numbers, schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from cyclopts import Token

    from ..model.network import Network
    from ..model.spiked import SpikedRF
    from ..model.target import Target

_NETWORK = Group("A network: gradient steps", sort_key=1)
_FEATURES = Group("Or spiked random features, given directly", sort_key=2)
_COMMON = Group("Both", sort_key=3)
_TARGET = Group("The target", sort_key=3.2)
_INPUTS = Group("Inputs with a covariance (default: isotropic)", sort_key=3.4)
_OUTPUT = Group("Output", sort_key=5)

NETWORK_ONLY, FEATURES_ONLY = ("eta", "alpha0", "steps"), ("r", "gamma", "c")
BULKS = "theory of the first layer's rows: exact (default for a network) or isotropic"
LOSSES = (
    "loss of the readout: square, huber:0.5 (huber is huber:1), absolute, pinball:0.9; for labels ±1 also logistic,"
    " hinge, squared_hinge, exponential"
)


def option(help: str, group: Group, metavar: str, **more: Any) -> Any:
    """A text option whose value may begin with a minus sign."""
    return Parameter(help=help, group=group, metavar=metavar, allow_leading_hyphen=True, **more)


def ranges(help: str, group: Group) -> Any:
    """An option that is a number or several, as in 0.5:3:6: a command gets a float or an array."""
    return option(help, group, "RANGE", converter=_numbers, show_default=_shown)


def _shown(default: float | None) -> str | None:
    return None if default is None else f"{default:g}"


def _numbers(kind: Any, tokens: Sequence[Token]) -> float | np.ndarray:
    (token,) = tokens
    return numbers(str(token.keyword).lstrip("-"), token.value)


def whole(help: str, **more: Any) -> Any:
    """An option that is a whole number; others are refused, where cyclopts would round them without a word."""
    return Parameter(help=help, converter=_whole, **more)


def _whole(kind: Any, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    try:
        number = float(text) if any(sign in text for sign in ".eE") else int(text)  # 300.0 and 1e3 are whole
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f'"{text}" is not one whole number')


def _dataset_path(kind: Any, tokens: Sequence[Token]) -> str:
    """A file that can be written: others are refused before anything is computed."""
    from ..files import check_dataset_path

    check_dataset_path(tokens[0].value)
    return tokens[0].value


def _picture_path(kind: Any, tokens: Sequence[Token]) -> str:
    from ..plotting.style import check_picture_path

    check_picture_path(tokens[0].value)
    return tokens[0].value


@Parameter(name="*")
@dataclass(frozen=True)
class Goal:
    """What is to be learned, from isotropic inputs."""

    target: Annotated[
        str,
        option(
            "a name or an expression in the input's projection x, or in several: 'x1 + x1*x2'", _TARGET, "F"
        ),
    ] = "sin"
    noise: Annotated[Any, ranges("standard deviation of the noise on the labels", _TARGET)] = 0.0
    flips: Annotated[
        float,
        Parameter(help="chance that a ±1 label is wrong; labels become the target's signs", group=_TARGET),
    ] = 0.0
    latent_noise: Annotated[
        float,
        Parameter(
            help="standard deviation of noise that is added before the sign of ±1 labels", group=_TARGET
        ),
    ] = 0.0
    scale: Annotated[
        float | None,
        Parameter(
            help="with --target logistic, or one of several directions: labels ±1 of chance sigmoid(scale z)",
            group=_TARGET,
        ),
    ] = None

    @cached_property
    def values(self) -> dict[str, float | np.ndarray]:
        """The numeric parameters that were given, or that have defaults."""
        return {"noise": self.noise}

    def goal(self) -> Target:
        """The target that was described."""
        from ..model.target import Target

        labels = {"flips": self.flips, "latent_noise": self.latent_noise, "scale": self.scale}
        return Target(self.target, noise=self.noise, **labels)


@Parameter(name="*")
@dataclass(frozen=True)
class GoalWithInputs(Goal):
    """What is to be learned, from inputs that may have a covariance."""

    eigenvalues: Annotated[
        str | None, option("of the inputs' covariance, as in 2.5,0.5; rescaled to mean 1", _INPUTS, "LIST")
    ] = None
    masses: Annotated[
        str | None, option("share of the inputs that has each eigenvalue (default: equal)", _INPUTS, "LIST")
    ] = None
    shares: Annotated[
        str | None,
        option(
            "share of the target's variance on each (default: no preference); of several directions"
            " [[0.8, 0.2], [0.2, 0.8]]",
            _INPUTS,
            "LIST",
        ),
    ] = None
    power_law: Annotated[
        Any, ranges("eigenvalues fall as j^-exponent, j = 1 to d (1000 without --d)", _INPUTS)
    ] = None
    source: Annotated[
        str | None,
        option(
            "with --power-law: the target's shares are eigenvalue^source (default 1: no preference)",
            _INPUTS,
            "X",
        ),
    ] = None
    inputs: Annotated[
        str | None, option("a .npy file with a sample of inputs, for its covariance", _INPUTS, "FILE")
    ] = None
    direction: Annotated[
        str | None,
        option(
            "with --inputs: a .npy file with the target's direction (default: no preference)", _INPUTS, "FILE"
        ),
    ] = None

    @cached_property
    def values(self) -> dict[str, float | np.ndarray]:
        """The numeric parameters that were given, or that have defaults."""
        return super().values | ({} if self.power_law is None else {"exponent": self.power_law})

    def goal(self, d: float | np.ndarray | None = None) -> Target:
        """The target that was described; a power law has as many eigenvalues as there are inputs, if that is known."""
        from attrs import evolve

        words = {name: getattr(self, name) for name in INPUTS if name != "d"}
        if self.power_law is not None:
            size = float(d) if d is not None and getattr(d, "ndim", 0) == 0 else inf
            words |= {"d": int(size)} if size < inf else {}
        return evolve(super().goal(), inputs=inputs(words))


@Parameter(name="*")
@dataclass(frozen=True)
class Layer(GoalWithInputs):
    """The first layer and what it has learned from."""

    eta: Annotated[Any, ranges("learning rate of the step, divided by d", _NETWORK)] = None
    alpha0: Annotated[
        Any, ranges("samples in the step, divided by d; 0: random features, inf: population", _NETWORK)
    ] = None
    steps: Annotated[
        Any, ranges("how many such steps, each on a fresh batch; 0: none (default 1)", _NETWORK)
    ] = None
    schedule: Annotated[
        str | None,
        option("steps one by one, eta:alpha0 or eta:alpha0:loss each, as in '1:0.5, 2:1'", _NETWORK, "STEPS"),
    ] = None
    rows: Annotated[
        str,
        option(
            "initial rows: unit, gaussian, or d times the variance of their squared norm", _NETWORK, "LAW"
        ),
    ] = "unit"
    bias_scale: Annotated[
        float,
        Parameter(help="standard deviation of the neurons' biases, times √d; not trained", group=_NETWORK),
    ] = 0.0
    reuse_batch: Annotated[
        bool,
        Parameter(help="every step on the same batch (only simulated)", group=_NETWORK, negative=()),
    ] = False
    refit: Annotated[
        Any,
        ranges("fit the readout between steps, with this ridge penalty (only simulated)", _NETWORK),
    ] = None
    r: Annotated[Any, ranges("strength of the spike", _FEATURES)] = None
    gamma: Annotated[Any, ranges("alignment of the spike with the target, -1 to 1", _FEATURES)] = None
    c: Annotated[Any, ranges("squared norm of the rows without the spike (default 1)", _FEATURES)] = None
    activation: Annotated[
        str, option("a name (see giantstep functions) or an expression, such as 'tanh(2*x)'", _COMMON, "F")
    ] = "tanh"
    beta: Annotated[Any, ranges("width, divided by d", _COMMON)] = 1.0
    readout: Annotated[
        str,
        option(
            "initial readout: uniform, rademacher, ternary, gaussian, uniform-interval, or value:weight pairs, as in "
            "-1:0.5,1:0.5 (value:weight:bias with biases)",
            _COMMON,
            "LETTERS",
        ),
    ] = "uniform"

    @cached_property
    def values(self) -> dict[str, float | np.ndarray]:
        """The numeric parameters that were given, or that have defaults."""
        names = (*NETWORK_ONLY, *FEATURES_ONLY, "beta")
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None} | super().values

    def model(self, **changed: Any) -> Network | SpikedRF:
        """The model that was described; `changed` replaces some of its numbers."""
        from ..model.network import Network
        from ..model.spiked import SpikedRF

        values = self.values | changed
        common = {"activation": self.activation, "beta": values["beta"], "readout": letters(self.readout)}
        network, features = (
            {n: values[n] for n in names if n in values} for names in (NETWORK_ONLY, FEATURES_ONLY)
        )
        if self.schedule is not None:
            network["schedule"] = self.schedule
        if network and features:
            raise ParameterError(
                f"{_flags(network)} describe a network and {_flags(features)} spiked random features; give one kind"
            )
        initial = {} if self.rows == "unit" else {"rows": _rows(self.rows)}
        initial |= {"bias_scale": self.bias_scale} if self.bias_scale else {}
        initial |= {"reuse_batch": True} if self.reuse_batch else {}
        initial |= {} if self.refit is None else {"refit": self.refit}
        if features and initial:
            raise ParameterError(f"{_flags(initial)}: options of a network, which has --eta and --alpha0")
        common |= initial
        if self.schedule is not None:
            if len(network) > 1:
                raise ParameterError(
                    "--schedule lists all steps with their eta and alpha0: leave the others out"
                )
            return Network(steps=schedule(self.schedule), **common)
        for kind, needed, given in (
            (Network, ("eta", "alpha0"), network),
            (SpikedRF, ("r", "gamma"), features),
        ):
            missing = [name for name in needed if name not in given]
            if not missing:
                return kind(**given, **common)
            if given:
                raise ParameterError(
                    f"--{missing[0]} is missing: with {_flags(given)} alone there is no model yet"
                )
        raise ParameterError(
            "no model: give --eta and --alpha0 for a network, or --r and --gamma for spiked random features"
        )

    def undecided(self, *names: str) -> dict[str, float]:
        """Numbers of a network that something else will choose, where none were given: any will do until then."""
        if self.schedule is not None or any(name in self.values for name in FEATURES_ONLY):
            return {}
        return {name: 1.0 for name in names if name not in self.values}


@Parameter(name="*")
@dataclass(frozen=True)
class Output:
    """Where the answer goes."""

    show: Annotated[
        str | None,
        option("quantities to show, as in test_error,m (a plot has the first)", _OUTPUT, "NAMES"),
    ] = None
    format: Annotated[
        Literal["table", "csv", "json"], Parameter(help="on standard output", group=_OUTPUT)
    ] = "table"
    out: Annotated[
        str | None,
        option(
            "also write everything to a .nc, .json, .csv or .parquet file, replacing one that is there",
            _OUTPUT,
            "FILE",
            converter=_dataset_path,
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class Picture(Output):
    """Where the answer goes, and a picture of it."""

    plot: Annotated[
        str | None,
        option("also draw a .png, .pdf or .svg file", _OUTPUT, "FILE", converter=_picture_path),
    ] = None
    x: Annotated[str | None, option("parameter along the plot's horizontal axis", _OUTPUT, "NAME")] = None


def _rows(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _flags(names: Any) -> str:
    return " and ".join(f"--{name.replace('_', '-')}" for name in names)

"""The options that commands share, and how they make a model, a target and a grid.

Parameters of models, targets and readouts come from the table of parameters. Here and beside, numpy and all that needs
it is imported where it is used: --help should not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, make_dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from ..errors import ParameterError, named
from ..model.parameters import PARAMETERS, Row
from ..model.typed import inputs, letters, numbers, schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from cyclopts import Token

    from ..model.network import Network
    from ..model.spiked import SpikedRF
    from ..model.target import Target

NETWORK = Group.create_ordered("A network: gradient steps")
FEATURES = Group.create_ordered("Or spiked random features, given directly")
_BOTH = Group.create_ordered("Both")
_TARGET = Group.create_ordered("The target")
_INPUTS = Group.create_ordered("Inputs with a covariance (default: isotropic)")
QUESTION = Group.create_ordered("The question")
RUN = Group.create_ordered("The simulation")
_OUTPUT = Group.create_ordered("Output")

_HERE: dict[str, dict[str, Any]] = {  # what a command line says in other words than the table of parameters
    "activation": {"help": "a name (see giantstep functions) or an expression, such as 'tanh(2*x)'"},
    "function": {
        "name": "--target",
        "help": "a name or an expression in the input's projection x, or in several: 'x1 + x1*x2'",
    },
    "exponent": {"name": "--power-law", "help": "eigenvalues fall as j^-exponent, j = 1 to d (1000 without --d)"},
    "scale": {"help": "with --target logistic, or one of several directions: +1 has the probability sigmoid(scale z)"},
}
_MORE = {  # what it has besides, by the descriptions that this is part of: texts in forms of their own
    ("Network",): {"schedule": "steps one by one, eta:alpha0 or eta:alpha0:loss each, as in '1:0.5, 2:1'"},
    ("PowerLaw",): {
        "source": "with --power-law: the target's shares are eigenvalue^source (default 1: no preference)",
        "eigenvalues": "of the inputs' covariance, as in 2.5,0.5; rescaled to mean 1",
        "masses": "share of the inputs that has each eigenvalue (default: equal)",
        "shares": "share of the target's variance on each (default: no preference); of several directions"
        " [[0.8, 0.2], [0.2, 0.8]]",
        "inputs": "a .npy file with a sample of inputs, for its covariance",
        "direction": "with --inputs: a .npy file with the target's direction (default: no preference)",
        "labels": "with --inputs, instead of --direction: a .npy file with labels, to estimate the direction by"
        " linear regression",
    },
}
_ROWS = {name: row for name, row in PARAMETERS.items() if name != "inputs"} | {
    name: Row(words, kind="text", of=owners) for owners, texts in _MORE.items() for name, words in texts.items()
}
_METAVARS = {  # what stands for the value of a text
    **dict.fromkeys(("activation", "function"), "F"),
    **dict.fromkeys(("eigenvalues", "masses", "shares"), "LIST"),
    **dict.fromkeys(("inputs", "direction", "labels"), "FILE"),
    "rows": "LAW",
    "readout": "LETTERS",
    "schedule": "STEPS",
    "source": "X",
}


def option(help: str, metavar: str, group: Group | None = QUESTION, **more: Any) -> Any:
    """A text option whose value may begin with a minus sign."""
    return Parameter(help=help, group=group, metavar=metavar, allow_leading_hyphen=True, **more)


def ranges(help: str, group: Group | None = QUESTION, **more: Any) -> Any:
    """An option that is a number or several, as in 0.5:3:6: a command gets a float or an array."""
    return option(help, "RANGE", group, converter=_numbers, **more)


def _numbers(kind: Any, tokens: Sequence[Token]) -> float | np.ndarray:
    return numbers(str(tokens[0].keyword).lstrip("-"), tokens[0].value)


def whole(help: str, **more: Any) -> Any:
    """An option that is a whole number; others are refused, where cyclopts would round them without a word."""
    return Parameter(help=help, converter=_whole, **more)


def _whole(kind: Any, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    with suppress(ValueError, OverflowError):
        number = float(text) if any(sign in text for sign in ".eE") else int(text)  # 300.0 and 1e3 are whole
        if number == int(number):
            return int(number)
    raise ValueError(f'"{text}" is not one whole number')


def parameter(name: str, group: Group | None = QUESTION, **changed: Any) -> Any:
    """The option of a parameter, as its row of the table describes it."""
    row = _ROWS[name]
    make: dict[str, Callable[..., Any]] = {"grid": ranges, "text": option, "count": whole}
    details: dict[str, Any] = {"metavar": _METAVARS.get(name, "NAME")} if row.kind == "text" else {}
    if row.default is not None and row.kind != "flag":
        details["show_default"] = f"{row.default:g}" if isinstance(row.default, float) else str(row.default)
    details |= {"help": row.help, "group": group} | _HERE.get(name, {}) | changed
    return make.get(row.kind, Parameter)(**details)


def _path(kind: Any, tokens: Sequence[Token]) -> str:
    """A file that can be written: others are refused before anything is computed."""
    from ..files import check_dataset_path as check

    (token,) = tokens
    if token.keyword == "--plot":
        from ..plotting.style import check_picture_path as check
    with named(str(token.keyword).lstrip("-"), "path"):
        check(token.value)
    return token.value


Alpha = Annotated[Any, parameter("alpha")]
Lam = Annotated[Any, parameter("lam")]
Loss = Annotated[str, parameter("loss")]
Bulk = Annotated[str | None, parameter("bulk")]
Dimension = Annotated[Any, parameter("d", help="input dimension, for the finite-size correction")]
Size = Annotated[int, whole("input dimension", group=RUN)]

_OWNERS = {  # to which group of options a parameter belongs, by the descriptions that have it
    ("Network",): NETWORK,
    ("SpikedRF",): FEATURES,
    ("Network", "SpikedRF"): _BOTH,
    ("Target",): _TARGET,
    ("PowerLaw",): _INPUTS,
}
_GROUPS = {
    name: _OWNERS.get(tuple(owner for owner in row.of if owner not in ("Step", "TwoSpikes")))
    for name, row in _ROWS.items()
}
_TYPES: dict[str, Any] = {  # by a parameter's name, or by its kind
    "rows": float | str | None,
    "text": str | None,
    "number": float | None,
    "flag": bool | None,
}


def _fields(*groups: Group) -> list[tuple[str, Any, Any]]:
    """Fields of a class with the options of some groups; None is an option that was not given."""
    names = [name for group in groups for name in _GROUPS if _GROUPS[name] is group]
    kinds = {name: _TYPES.get(name) or _TYPES.get(_ROWS[name].kind, Any) for name in names}
    first = {name: PARAMETERS[name].initial for name in ("activation", "function")}
    return [(name, Annotated[kinds[name], parameter(name, _GROUPS[name])], first.get(name)) for name in names]


@Parameter(name="*")
class Goal(make_dataclass("_Goal", _fields(_TARGET), frozen=True)):
    """What is to be learned, from isotropic inputs."""

    def of(self, group: Group) -> dict[str, Any]:
        """What was given, or has a default, of the options of a group."""
        every = {name: getattr(self, name) for name in _GROUPS if _GROUPS[name] is group}
        return {name: value for name, value in every.items() if value is not None}

    def goal(self) -> Target:
        """The target that was described."""
        from ..model.target import Target

        return Target(**self.of(_TARGET))


@Parameter(name="*")
class Layer(make_dataclass("_Layer", _fields(_INPUTS, NETWORK, FEATURES, _BOTH), bases=(Goal,), frozen=True)):
    """The first layer and what it has learned, from inputs that may have a covariance."""

    def goal(self, d: float | np.ndarray | None = None) -> Target:
        """The target that was described; a power law has as many eigenvalues as there are inputs, if that is known."""
        from attrs import evolve

        words = self.of(_INPUTS)
        if "exponent" in words:
            words["power_law"] = words.pop("exponent")
            words |= {"d": int(d)} if isinstance(d, int | float) and d < inf else {}
        return evolve(super().goal(), inputs=inputs(words, written=_flag))

    def model(self, **otherwise: float) -> Network | SpikedRF:
        """The model that was described.

        `otherwise` has numbers for what the kind of model needs and was not given: something else chooses them, or
        nothing depends on them.
        """
        from ..model.network import Network
        from ..model.spiked import SpikedRF

        network, features, both = map(self.of, (NETWORK, FEATURES, _BOTH))
        if network and features:
            raise ParameterError(
                f"a network has {_flags(network)}, spiked random features have {_flags(features)}: give one kind"
            )
        if "readout" in both:
            both["readout"] = letters(both["readout"])
        if "schedule" in network:
            if not network.keys().isdisjoint(("eta", "alpha0", "steps")):
                raise ParameterError("--schedule lists all steps with their eta and alpha0: leave the others out")
            return Network(steps=schedule(network.pop("schedule")), **network, **both)
        needed = ("r", "gamma") if features else ("eta", "alpha0")
        given = {name: otherwise[name] for name in needed if name in otherwise} | features | network
        if missing := [name for name in needed if name not in given]:
            raise ParameterError(
                f"{_flags(missing)} {'is' if len(missing) == 1 else 'are'} missing: a network has --eta and --alpha0,"
                " spiked random features have --r and --gamma"
            )
        return (SpikedRF if features else Network)(**given, **both)


@Parameter(name="*")
@dataclass(frozen=True)
class Output:
    """Where the answer goes."""

    show: Annotated[
        str | None, option("quantities to show, as in test_error,m (a plot has the first)", "NAMES", _OUTPUT)
    ] = None
    format: Annotated[Literal["table", "csv", "json"], Parameter(help="on standard output", group=_OUTPUT)] = "table"
    out: Annotated[
        str | None,
        option(
            "also write everything to a .nc, .json, .csv or .parquet file, replacing one that is there",
            "FILE",
            _OUTPUT,
            converter=_path,
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class Picture(Output):
    """Where the answer goes, and a picture of it."""

    plot: Annotated[str | None, option("also draw a .png, .pdf or .svg file", "FILE", _OUTPUT, converter=_path)] = None
    x: Annotated[str | None, option("with --plot: parameter along its horizontal axis", "NAME", _OUTPUT)] = None

    def __post_init__(self) -> None:
        self.refuse_without_plot("x", self.x)

    def refuse_without_plot(self, name: str, value: str | None) -> None:
        """Refuse an option that is about a picture where none is drawn."""
        if value is not None and self.plot is None:
            raise ParameterError(f"--{name} goes with --plot FILE; give that, or leave --{name} out", name)


NO_GOAL, NO_LAYER, NO_OUTPUT, NO_PICTURE = Goal(), Layer(), Output(), Picture()


def _flags(names: Iterable[str]) -> str:
    return " and ".join(map(_flag, names))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"

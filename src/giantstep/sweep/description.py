"""What a sweep is: one problem, grids of its numbers, and whether to predict, to simulate, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..losses import as_loss
from ..model.base import Model, check_model
from ..model.parameters import check_count, number, parameter
from ..model.target import Target, as_target
from ..model.words import table
from ..simulation import check

if TYPE_CHECKING:
    from ..model.description import FunctionLike, Parameter


@dataclass(frozen=True)
class Theory:
    """What to predict: the arguments of `predict` beside the grid."""

    bulk: str | None = None
    d: Any = None  # a number or a list: with the finite-size correction
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.d is not None:
            object.__setattr__(self, "d", plain(parameter("theory.d", self.d, low=1.0, infinite=True)))
        if self.tolerance is not None:
            number("theory.tolerance", self.tolerance, low=0.0, strict=True)


@dataclass(frozen=True)
class Simulation:
    """What to simulate: the arguments of `simulate` beside the grid. `trials` is a count, or which ones."""

    d: int
    trials: Any = 10
    seed: int = 0
    features: str | None = None
    n_test: int | None = None
    device: str = "cpu"
    dtype: str = "float64"
    backend: str | None = None

    def __post_init__(self) -> None:
        check_count("simulation.d", self.d, 2)
        check_count("simulation.seed", self.seed, 0)
        if self.n_test is not None:
            check_count("simulation.n_test", self.n_test, 1)
        trials = plain(self.trials)
        if not isinstance(trials, int | list):
            raise ParameterError(f"simulation.trials = {trials!r} must be a count or a list of trial numbers")
        check.trial_numbers(trials)
        object.__setattr__(self, "trials", trials)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A problem on a grid, to be predicted (`theory`), simulated (`simulation`), or both. `run_sweep` computes it.

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer. Every number of it may be a 1-D list, as may the noise, `alpha` and `lam`; the sweep is the
        product of all lists.
    target : Target, str or Function
        What is to be learned.
    alpha, lam : number or sequence
        Samples for the readout divided by d, and ridge penalty.
    loss : str
        Of the readout.
    theory : bool, Theory or dict, optional
        True, or arguments of `predict` beside the grid: `bulk`, `d`, `tolerance`.
    simulation : Simulation or dict, optional
        Arguments of `simulate` beside the grid: `d`, `trials`, `seed`, ...

    Notes
    -----
    Results are filed under the description of the problem, so it must be plain data: functions are names or
    expressions, not Python functions.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=[0.5, 1, 2], alpha0=2)
    >>> sweep = gs.Sweep(net, "sin", alpha=[0.5, 1], lam=0.1, theory=True, simulation={"d": 500, "trials": 20})
    >>> sweep.simulation.trials
    20
    """

    model: Model
    target: Target
    alpha: Any
    lam: Any
    loss: str = "square"
    theory: Theory | None = None
    simulation: Simulation | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            model: Model,
            target: Target | FunctionLike,
            alpha: Parameter,
            lam: Parameter,
            loss: str = "square",
            theory: Theory | Mapping[str, Any] | bool | None = None,
            simulation: Simulation | Mapping[str, Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        check_model(self.model)
        set_(self, "target", as_target(self.target))
        set_(self, "alpha", parameter("alpha", self.alpha, low=0.0, strict=True))
        set_(self, "lam", parameter("lam", self.lam, low=0.0, infinite=True))
        theory = ({} if self.theory else None) if isinstance(self.theory, bool | np.bool_) else self.theory
        set_(self, "theory", _options(Theory, "theory", theory))
        set_(self, "simulation", _options(Simulation, "simulation", self.simulation))
        if not isinstance(self.loss, str):
            raise ParameterError(
                "loss must be a name in a sweep, such as 'square' or 'huber:1', to be kept on file"
            )
        set_(self, "loss", as_loss(self.loss).name)
        if self.theory is None and self.simulation is None:
            raise ParameterError(
                "nothing to do: give theory (an empty one will do), simulation (with its d), or both"
            )
        for name, values in self.numbers().items():
            if type(values).__name__ == "DataArray":
                raise ParameterError(
                    f"{name} is a DataArray, and a sweep is a product of lists; for zipped settings run several "
                    "sweeps into one store"
                )
        self.to_dict()  # refuses callables, with a sentence
        if self.simulation is not None:
            check.check_choices(self.model, self.simulation.features)
            check.check_readout_parameters(self.alpha, self.lam)
            check.check_loss(self.loss, self.target, self.lam)

    def _repr_html_(self) -> str:
        return table(self)

    def numbers(self) -> dict[str, Any]:
        """The model's numbers and the noise, in the order of the grid's dimensions; then alpha and lam."""
        return {**self.model.numbers(), **self.target.numbers(), "alpha": self.alpha, "lam": self.lam}

    def to_dict(self) -> dict[str, Any]:
        """This sweep as plain data."""
        return {
            "model": self.model.to_dict(),
            "target": self.target.to_dict(),
            "alpha": plain(self.alpha),
            "lam": plain(self.lam),
            "loss": self.loss,
            "theory": None if self.theory is None else asdict(self.theory),
            "simulation": None if self.simulation is None else asdict(self.simulation),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sweep:
        """The sweep that `to_dict` wrote."""
        return cls(
            **{**data, "model": Model.from_dict(data["model"]), "target": Target.from_dict(data["target"])}
        )


def plain(value: Any) -> Any:
    """numpy's numbers and arrays, and tuples, as Python's numbers and lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def check_keys(
    where: str, given: Mapping[str, Any], allowed: Sequence[str], needed: Sequence[str] = ()
) -> None:
    """Refuse keys that do not exist and name those that are missing."""
    at = f"{where}." if where else ""
    if unknown := [key for key in given if key not in allowed]:
        raise ParameterError(f"{at}{unknown[0]} is unknown; {where or 'a sweep'} has {', '.join(allowed)}")
    if missing := [key for key in needed if key not in given]:
        raise ParameterError(f"{at}{missing[0]} is missing; {where or 'a sweep'} needs {', '.join(needed)}")


def fields_of(kind: type) -> tuple[list[str], list[str]]:
    """The names of what a description is made from, and of those without a default."""
    every = signature(kind).parameters
    return list(every), [name for name, one in every.items() if one.default is one.empty]


def _options(kind: Any, name: str, given: Any) -> Any:
    if given is None or isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{name} = {given!r} is not a table of options; it may have {', '.join(fields_of(kind)[0])}"
        )
    check_keys(name, given, *fields_of(kind))
    return kind(**given)

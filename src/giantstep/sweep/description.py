"""What a sweep is: one problem, grids of its numbers, and whether to predict, to simulate, or both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from attrs import field

from ..errors import ParameterError, named
from ..losses import as_loss
from ..model.checks import at_least, number, parameter
from ..model.description import Description, Model, check_data, check_model, description
from ..model.target import Target, as_target
from ..simulation import check


def _trials(trials: Any) -> int | list[int]:
    numbers = check.trial_numbers(trials)
    return numbers if isinstance(trials, Iterable) else len(numbers)


@description
class Theory(Description):
    """What to predict: the arguments of `predict` beside the grid."""

    bulk: str | None = None
    # a number or a list: with the finite-size correction
    d: Any = field(default=None, converter=partial(parameter, "theory.d", low=1.0, infinite=True))
    tolerance: float | None = field(default=None, converter=partial(number, "theory.tolerance", low=0.0, strict=True))


def _optional(name: str) -> Any:
    """An argument of `simulate` that may be left out."""
    return field(default=None, converter=partial(check.ARGUMENTS[name], f"simulation.{name}"))


@description
class Simulation(Description):
    """What to simulate: the arguments of `simulate` beside the grid. `trials` is a count, or which ones."""

    d: int = field(converter=partial(check.ARGUMENTS["d"], "simulation.d"))
    trials: Any = field(default=10, converter=_trials)
    seed: int = field(default=0, converter=partial(at_least(0), "simulation.seed"))
    features: str | None = _optional("features")
    n_test: int | None = _optional("n_test")
    device: str = field(default="cpu", converter=partial(check.ARGUMENTS["device"], "simulation.device"))
    dtype: str = field(default="float64", converter=partial(check.ARGUMENTS["dtype"], "simulation.dtype"))
    backend: str | None = _optional("backend")


def check_keys(where: str, given: Mapping[str, Any], allowed: Sequence[str], needed: Sequence[str] = ()) -> None:
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


def _options(kind: Any, given: Any) -> Any:
    """A part of a sweep from a table of its options; True is a table without any."""
    name, (names, needed) = kind.__name__.lower(), fields_of(kind)
    if isinstance(given, bool | np.bool_):
        given = {} if given else None
    if given is None or isinstance(given, kind):
        return given
    if not isinstance(given, Mapping):
        raise ParameterError(f"{name} = {given!r} is not a table of options; it may have {', '.join(names)}")
    check_keys(name, given, names, needed)
    return kind(**given)


def _loss_name(loss: str) -> str:
    if not isinstance(loss, str):
        raise ParameterError("loss must be a name in a sweep, such as 'square' or 'huber:1', to be kept on file")
    return as_loss(loss).name


@description
class Sweep(Description):
    """A problem on a grid, to be predicted (`theory`), simulated (`simulation`), or both. `run_sweep` computes it.

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer. Every number of it may be a 1-D list, as may the noise, `alpha` and `lam`; the sweep is the
        product of all lists.
    target : Target, str or Function
        The function to learn.
    alpha : number or sequence
        Samples for the readout, divided by d.
    lam : number or sequence
        Ridge penalty of the readout.
    loss : str
        Loss of the readout.
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
    target: Target = field(converter=as_target)
    alpha: Any
    lam: Any
    loss: str = field(default="square", converter=_loss_name)
    theory: Theory | None = field(default=None, converter=partial(_options, Theory))
    simulation: Simulation | None = field(default=None, converter=partial(_options, Simulation))

    def __attrs_post_init__(self) -> None:
        check_model("model", self.model)
        if self.theory is None and self.simulation is None:
            raise ParameterError("nothing to do: give theory (an empty one will do), simulation (with its d), or both")
        for name, values in self.numbers().items():
            if type(values).__name__ == "DataArray":
                raise ParameterError(
                    f"{name} is a DataArray, and a sweep is a product of lists; for zipped settings run several "
                    "sweeps into one store"
                )
        for name in ("model", "target"):
            with named(name):
                getattr(self, name).to_dict()  # refuses callables, with a sentence
        if self.simulation is not None:
            check.check_choices(self.model, self.simulation.features)
            check.check_loss(self.loss, self.target, self.lam)

    def numbers(self) -> dict[str, Any]:
        """The model's numbers and the noise, in the order of the grid's dimensions; then alpha and lam."""
        return {**self.model.numbers(), **self.target.numbers(), "alpha": self.alpha, "lam": self.lam}

    @classmethod
    def from_dict(cls, data: Any) -> Sweep:
        """The sweep that `to_dict` wrote; in older stores its parts do not say what they are."""
        parts = check_data(cls, data)
        kinds = {"theory": {"kind": "Theory"}, "simulation": {"kind": "Simulation"}}
        said = {name: kind | parts[name] for name, kind in kinds.items() if isinstance(parts.get(name), dict)}
        return super().from_dict(parts | said)

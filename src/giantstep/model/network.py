"""Networks that take giant gradient steps on their first layer, and the steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field

from ..errors import ParameterError, refused
from ..functions import Function, as_function
from ..losses import as_loss
from .checks import number
from .description import DEFAULT, Description, Model, description
from .letters import Letters, as_letters, merge
from .parameters import checked
from .target import as_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .description import FunctionLike, Parameter
    from .spiked import SpikedRF
    from .target import Target


def _known_loss(loss: str) -> str:
    as_loss(loss)  # refuses what it does not know
    return loss


def _as_steps(steps: Parameter | Sequence[Step]) -> Any:
    """Numbers of steps, or a schedule of `Step`s."""
    if isinstance(steps, tuple | list) and any(isinstance(step, Step | dict) for step in steps):
        if others := [step for step in steps if not isinstance(step, Step)]:
            raise ParameterError(
                f"steps has {others[0]!r}, which is no Step; write steps=[Step(eta=1, alpha0=0.5), ...]", "steps"
            )
        return tuple(steps)
    counts = checked("steps", steps)
    if np.any(np.asarray(counts) != np.rint(counts)):
        raise refused("steps", counts, "must be whole numbers")
    return counts


def _as_rows(rows: str | float) -> str | float:
    if not isinstance(rows, str):
        return number("rows", rows, low=0.0)
    if rows not in ("unit", "gaussian"):
        raise refused("rows", rows, "is unknown; use 'unit', 'gaussian' or a variance")
    return rows


@description
class Step(Description):
    """One giant step of a `Network`, where the steps of a schedule differ.

    Parameters
    ----------
    eta : number or grid
        Learning rate; the step's size is `eta`·d.
    alpha0 : number or grid
        Fresh samples in the step, divided by d; `inf` is the population gradient.
    loss : str
        The loss whose gradient the step follows: "square", "huber:1", "logistic", ...

    Examples
    --------
    >>> net = gs.Network("tanh", steps=[gs.Step(eta=1, alpha0=1), gs.Step(eta=2, alpha0=0.5)])
    >>> gs.predict(net, "sin", alpha=1, lam=0.1).gamma.values.round(3)  # alignment with the target after each step
    array([0.678, 0.695])
    """

    eta: Parameter
    alpha0: Parameter
    loss: str = field(default="square", converter=_known_loss)


@description
class Network(Model):
    """A two-layer network f(x) = a·σ(Wx)/√p that takes one or several giant gradient steps on its first layer W.

    It has p = `beta`·d neurons. At initialisation the rows of W have unit norm (or see `rows`) and the readout is a =
    1/√p (or see `readout`). A step follows the gradient of the loss on n0 = `alpha0`·d samples with learning rate
    `eta`·d. Then `predict` and `simulate` fit a new readout on fresh data.

    Parameters
    ----------
    activation : str, callable or Function
        σ: a name, an expression in x, or your own function.
    eta : number or grid
        Learning rate, divided by d. 0 means no step: plain random features.
    alpha0 : number or grid
        Samples in a step, divided by d. 0 means no step; `inf` is the population gradient.
    beta : number or grid
        Width, divided by d.
    readout : str or Letters
        The initial readout: "uniform", "rademacher", "ternary", "gaussian", "uniform-interval", or `Letters`.
    step_loss : str
        Loss of the steps: each follows its gradient.
    steps : int, sequence of int, or sequence of Step, optional
        Number of steps (default 1), each on a fresh batch and with the initial readout. A list of numbers becomes a
        dimension. A list of `Step` objects is a schedule, in place of `eta` and `alpha0`.
    rows : {"unit", "gaussian"} or float
        Distribution of the initial rows w: "unit" has norm 1; "gaussian" has independent entries of variance 1/d; a
        number is d·Var|w|² (2 for Gaussian entries, 0.8 for uniform ones).
    bias_scale : float
        Neurons have independent biases of mean 0 and standard deviation `bias_scale`/√d, as large as the entries of W.
        They are not trained. The default 0 means no biases. For biases of order one see `Letters`.
    reuse_batch : bool
        Whether to take every step on the same batch. Only `simulate` can do this: the theory needs fresh batches.
    refit : number or grid, optional
        Fit the readout again after each step but the last, on that step's batch, with this ridge penalty (as `lam`: on
        the sum of ½(y - f)²). By default the initial readout stays. A fitted readout is about √d times as long as
        the initial one; the rates of later steps are divided by that factor, so that rows still move by order one.
        Only `simulate` can do this.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> round(net.equivalent("sin").gamma, 6)  # the spike's alignment with the target
    0.793651
    >>> gs.predict(net, "sin", alpha=[0.5, 1, 2], lam=0.1).test_error.values.round(4)
    array([0.1887, 0.1643, 0.1326])

    Random features, one step and two:

    >>> nets = gs.Network("tanh", eta=2, alpha0=1, steps=[0, 1, 2])
    >>> gs.predict(nets, "sin", alpha=1.5, lam=0.1).test_error.values.round(4)
    array([0.2656, 0.1864, 0.1198])
    """

    takes_steps = True

    activation: Function = field(converter=as_function)
    eta: Parameter | None = None
    alpha0: Parameter | None = None
    beta: Parameter = DEFAULT
    readout: Letters = field(default="uniform", converter=as_letters)  # type: ignore[assignment]
    step_loss: str = field(default="square", converter=_known_loss)
    steps: Parameter | Sequence[Step] | None = field(default=None, converter=_as_steps)
    rows: str | float = field(default="unit", converter=_as_rows)
    bias_scale: float = DEFAULT
    reuse_batch: bool = DEFAULT
    refit: Parameter | None = None

    def __attrs_post_init__(self) -> None:
        missing = [name for name in ("eta", "alpha0") if getattr(self, name) is None]
        if self.schedule is not None and len(missing) < 2:
            raise ParameterError(
                "steps is a schedule: each Step has its own eta and alpha0, so leave those out", "steps"
            )
        if self.schedule is None and missing:
            raise ParameterError(
                f"{missing[0]} is missing: give eta and alpha0, or a schedule, steps=[Step(eta, alpha0), ...]",
                missing[0],
            )
        if self.readout.c is not None:
            raise ParameterError(
                "Letters.c belongs to a SpikedRF; a Network's row norms follow from its step", "readout"
            )

    @property
    def schedule(self) -> tuple[Step, ...] | None:
        """The steps where each was given by itself."""
        return self.steps if isinstance(self.steps, tuple) else None  # type: ignore[return-value]

    @cached_property
    def most_steps(self) -> int:  # type: ignore[override]
        counts = 1 if self.steps is None else self.steps
        return int(np.max(np.asarray(counts))) if self.schedule is None else len(self.schedule)

    @property
    def spike_directions(self) -> int:  # type: ignore[override]
        """From the second step on, each group with a letter of its own has a spike of its own."""
        if self.most_steps < 2 or self.readout.law is not None:
            return 1
        groups = merge(self.readout, self.activation.parity == "odd").letters
        return max(1, sum(value != 0.0 for value in groups.values))

    @property
    def norm_variance(self) -> float:
        """d·Var |w|² of the initial rows."""
        return {"unit": 0.0, "gaussian": 2.0}[self.rows] if isinstance(self.rows, str) else self.rows

    def numbers(self) -> dict[str, Any]:
        of_steps = {
            f"{name}_{t}": value
            for t, step in enumerate(self.schedule or (), start=1)
            for name, value in step.numbers().items()
        }
        return of_steps | {name: value for name, value in super().numbers().items() if value is not self.schedule}

    @property
    def shaping(self) -> tuple[str, ...]:
        return (*self.numbers(), "noise", "exponent")

    def moved(self, **numbers: Any) -> Network:
        if self.schedule is None:
            return super().moved(**numbers)
        steps = [
            evolve(step, **{name: numbers.pop(f"{name}_{t}", value) for name, value in step.numbers().items()})
            for t, step in enumerate(self.schedule, start=1)
        ]
        return super().moved(**numbers, steps=steps)

    def stages(self, values: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray, str]]:
        """(eta, alpha0, loss) of each step for `values` by the names of `numbers`; eta = 0 where none is taken."""
        if self.schedule is not None:
            steps = enumerate(self.schedule, start=1)
            return [(values[f"eta_{t}"], values[f"alpha0_{t}"], step.loss) for t, step in steps]
        count = np.asarray(values.get("steps", 1))
        return [
            (np.where(count > t, values["eta"], 0.0), values["alpha0"], self.step_loss)
            for t in range(max(1, int(count.max(initial=0))))
        ]

    def equivalent(self, target: Target | FunctionLike) -> SpikedRF:
        """Result 1: the spiked random features model that the trained first layer resembles.

        Parameters
        ----------
        target : Target, str or callable
            The function that the steps learn.

        Returns
        -------
        SpikedRF
            With the spike's strength r, its alignment gamma and the row norms c that the step leaves behind.

        Examples
        --------
        >>> gs.Network("relu", eta=1, alpha0=np.inf).equivalent("sin").gamma
        1.0
        """
        from ..theory.equivalent import equivalent

        return equivalent(self, as_target(target))

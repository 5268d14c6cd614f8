"""What a user says: the model, its initial readout, and the target. Plain, frozen, checked descriptions.

Every numeric parameter takes a number, a 1-D sequence (which opens a grid dimension of that name), or an
`xarray.DataArray` (whose dimensions are its own, so that two of them can be zipped).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from .errors import ParameterError
from .functions import Function, as_function, as_hyperplanes, target_function
from .groups import merge
from .letters import Letters, as_letters
from .losses import Loss, as_loss
from .parameters import number, number_tuple, parameter
from .words import spoken, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function


class _Description:
    """What models and targets share: a dictionary form for provenance, links and sweeps, and equality by value."""

    _questions: ClassVar[
        tuple[str, ...]
    ] = ()  # methods and properties for users, beside what they have given

    def to_dict(self) -> dict[str, Any]:
        """This description as plain, JSON-ready data. A function of your own has no such form: an error.

        Returns
        -------
        dict
            What `from_dict` reads.

        Examples
        --------
        >>> gs.Step(eta=1, alpha0=2).to_dict()
        {'kind': 'Step', 'eta': 1.0, 'alpha0': 2.0, 'loss': 'square'}
        """
        data: dict[str, Any] = {"kind": type(self).__name__}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.name not in _LATER or _hashable(value) != f.default:
                data[f.name] = _plain(value)
        return data

    def __repr__(self) -> str:
        return spoken(self)

    def _repr_html_(self) -> str:
        return table(self)

    def __dir__(self) -> list[str]:
        """What tab completion offers: what a user gives and asks, not what other modules ask."""
        offered = {"to_dict", "from_dict", *self._questions, *(f.name for f in fields(self))}  # type: ignore[arg-type]
        return [name for name in super().__dir__() if name in offered or name.startswith("__")]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity == other._identity  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return tuple(_hashable(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The description that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            Plain data, such as a JSON file holds.

        Examples
        --------
        >>> gs.Step.from_dict({"kind": "Step", "eta": 1, "alpha0": 2})
        Step(1, alpha0=2)
        """
        kinds = {kind.__name__: kind for kind in (Network, SpikedRF, TwoSpikes, Target, Step)}
        kind = kinds.get(data.get("kind", cls.__name__))
        if kind is None or not issubclass(kind, cls):
            raise ParameterError(f"kind = {data.get('kind')!r} is not a {cls.__name__}")
        known = {f.name for f in fields(kind)}
        unknown = set(data) - known - {"kind"}
        if unknown:
            raise ParameterError(
                f"{kind.__name__} has no parameter {sorted(unknown)}; it has {sorted(known)}"
            )
        values = {name: value for name, value in data.items() if name != "kind"}
        if isinstance(values.get("readout"), dict):
            values["readout"] = Letters.from_dict(values["readout"])
        return kind(**{name: _restored(value) for name, value in values.items()})


_LATER = (
    "steps",
    "rows",
    "reuse_batch",
    "refit",
    "directions",
    "kinks",
)  # parameters that are written down only where they are used


class Model(_Description):
    """A first layer to put a readout on: a trained network, or spiked random features."""

    activation: Function
    beta: Any
    readout: Letters
    group: ClassVar[str] = "letter"  # the dimension along which groups of neurons are told apart
    takes_steps: ClassVar[bool] = False  # whether gradient steps on the target made it

    @cached_property
    def most_steps(self) -> int:
        """The number of gradient steps, the most of them on the grid that this model has or is from."""
        return 0

    @property
    def spike_directions(self) -> int:
        """How many directions the spikes of its groups may span."""
        return 1

    def numbers(self) -> dict[str, Any]:
        """The numeric parameters by name, each of which may open a grid dimension, in the grid's order."""
        raise NotImplementedError

    @property
    def shaping(self) -> tuple[str, ...]:
        """The numbers, with the target's noise among them, that shape the first layer."""
        raise NotImplementedError

    def at(self, **numbers: float) -> Any:
        """The same model with other numbers, which are known to be allowed."""
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__)
        moved.__dict__.update(
            {name: float(value) for name, value in numbers.items()}, most_steps=self.most_steps
        )
        return moved

    def moved(self, **numbers: Any) -> Any:
        """The same model with other numbers or grids of them, checked as any."""
        return replace(self, **numbers)  # type: ignore[type-var]

    def resolved(self) -> Model:
        """The simplest description of the same first layer."""
        return self


@dataclass(frozen=True, repr=False, eq=False)
class Step(_Description):
    """One giant step of a `Network`, where the steps of a schedule differ.

    Parameters
    ----------
    eta : number or grid
        Learning rate; the step's size is `eta`·d.
    alpha0 : number or grid
        Fresh samples in the step, divided by d; `inf` is the population gradient.
    loss : str
        The loss whose gradient is followed: "square", "huber:1", "logistic", ...

    Examples
    --------
    >>> net = gs.Network("tanh", steps=[gs.Step(eta=1, alpha0=1), gs.Step(eta=2, alpha0=0.5)])
    >>> gs.predict(net, "sin", alpha=1, lam=0.1).gamma.values.round(3)  # alignment with the target after each step
    array([0.678, 0.695])
    """

    eta: Parameter
    alpha0: Parameter
    loss: str = "square"

    if TYPE_CHECKING:

        def __init__(self, eta: Parameter, alpha0: Parameter, loss: str = "square") -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "eta", parameter("eta", self.eta, low=0.0))
        set_(self, "alpha0", parameter("alpha0", self.alpha0, low=0.0, infinite=True))
        as_loss(self.loss)  # refuses what it does not know


@dataclass(frozen=True, eq=False, repr=False)
class Network(Model):
    """A two-layer network f(x) = a·σ(Wx)/√p whose first layer W takes one giant gradient step, or several.

    It has p = `beta`·d neurons. At initialisation the rows of W have unit norm (or see `rows`) and the readout is a =
    1/√p (or see `readout`). A step follows the gradient of the loss on n0 = `alpha0`·d samples with learning rate
    `eta`·d; then a new readout is fitted on fresh data, which is where `predict` and `simulate` take over.

    Parameters
    ----------
    activation : str, callable or Function
        σ: a name, an expression in x, or a function of your own.
    eta : number or grid
        Learning rate, divided by d. 0 means no step: plain random features.
    alpha0 : number or grid
        Samples in a step, divided by d. 0 means no step; `inf` is the population gradient.
    beta : number or grid
        Width, divided by d.
    readout : str or Letters
        The initial readout: "uniform", "rademacher", "ternary", "gaussian", "uniform-interval", or `Letters`.
    step_loss : str
        The loss whose gradient the steps follow.
    steps : int, sequence of int, or sequence of Step, optional
        How many such steps, each on a fresh batch (1), with the readout as it was at the beginning; a list of numbers
        opens a dimension. A list of `Step`s is a schedule, given in place of `eta` and `alpha0`.
    rows : {"unit", "gaussian"} or float
        Law of the initial rows: of unit norm, with independent Gaussian entries of variance 1/d, or with this
        variance of the squared norm, times d.
    reuse_batch : bool
        Take every step on the same batch. For simulations alone: the theory is for fresh ones.
    refit : number or grid, optional
        Fit the readout again after each step but the last, on that step's batch, with this ridge penalty (as `lam`: on
        the sum of ½(y - f)²). By default it stays as it was drawn. A fitted readout is longer than the initial one, by
        a factor of order √d; the rates of the steps after it are divided by that factor, so that rows move by order
        one all the same. For simulations alone.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> net.equivalent("sin").gamma  # the spike's alignment with the target
    0.7936506444734059
    >>> gs.predict(net, "sin", alpha=[0.5, 1, 2], lam=0.1).test_error.values.round(4)
    array([0.1887, 0.1643, 0.1326])

    Random features, one step and two:

    >>> nets = gs.Network("tanh", eta=2, alpha0=1, steps=[0, 1, 2])
    >>> gs.predict(nets, "sin", alpha=1.5, lam=0.1).test_error.values.round(4)
    array([0.2656, 0.1864, 0.1198])
    """

    takes_steps = True
    _questions = ("equivalent", "isotropy_gap")

    activation: Function
    eta: Parameter | None = None
    alpha0: Parameter | None = None
    beta: Parameter = 1.0
    readout: Letters = "uniform"  # type: ignore[assignment]
    step_loss: str = "square"
    steps: Parameter | tuple[Step, ...] | None = None
    rows: str | float = "unit"
    reuse_batch: bool = False
    refit: Parameter | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            activation: FunctionLike,
            eta: Parameter | None = None,
            alpha0: Parameter | None = None,
            beta: Parameter = 1.0,
            readout: str | Letters = "uniform",
            step_loss: str = "square",
            steps: Parameter | Sequence[Step] | None = None,
            rows: str | float = "unit",
            reuse_batch: bool = False,
            refit: Parameter | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "activation", as_function(self.activation))
        if isinstance(self.steps, (tuple, list)) and any(not _is_number(step) for step in self.steps):
            set_(self, "steps", tuple(_as_step(step) for step in self.steps))
            if self.eta is not None or self.alpha0 is not None:
                raise ParameterError(
                    "steps is a schedule: each Step has its own eta and alpha0, so leave those out"
                )
        else:
            for name in ("eta", "alpha0"):
                if getattr(self, name) is None:
                    raise ParameterError(
                        f"{name} is missing: give eta and alpha0, or a schedule, steps=[Step(eta, alpha0), ...]"
                    )
            set_(self, "eta", parameter("eta", self.eta, low=0.0))
            set_(self, "alpha0", parameter("alpha0", self.alpha0, low=0.0, infinite=True))
            if self.steps is not None:
                set_(self, "steps", _whole("steps", parameter("steps", self.steps, low=0.0)))
        set_(self, "beta", parameter("beta", self.beta, low=0.0, strict=True))
        if self.refit is not None:
            set_(self, "refit", parameter("refit", self.refit, low=0.0))
        set_(self, "readout", as_letters(self.readout))
        if not isinstance(self.rows, str):
            set_(self, "rows", number("rows", self.rows, low=0.0))
        elif self.rows not in ("unit", "gaussian"):
            raise ParameterError(f"rows = {self.rows!r} is unknown; use 'unit', 'gaussian' or a variance")
        if self.readout.c is not None:
            raise ParameterError(
                "Letters.c belongs to a SpikedRF; a Network's row norms follow from its step"
            )

    @property
    def schedule(self) -> tuple[Step, ...] | None:
        """The steps where each was given by itself."""
        return self.steps if isinstance(self.steps, tuple) else None  # type: ignore[return-value]

    @cached_property
    def most_steps(self) -> int:
        if self.steps is None or self.schedule is not None:
            return 1 if self.steps is None else len(self.schedule or ())
        return int(np.max(np.asarray(self.steps)))

    @property
    def spike_directions(self) -> int:
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
        if self.schedule is not None:
            own = {}
            for t, step in enumerate(self.schedule, start=1):
                own |= {f"eta_{t}": step.eta, f"alpha0_{t}": step.alpha0}
        else:
            own = {"eta": self.eta, "alpha0": self.alpha0}
            own |= {} if self.steps is None else {"steps": self.steps}
        own |= {} if self.refit is None else {"refit": self.refit}
        return own | {"beta": self.beta}

    @property
    def shaping(self) -> tuple[str, ...]:
        return (*self.numbers(), "noise")

    def at(self, **numbers: float) -> Network:
        if self.schedule is None:
            return super().at(**numbers)
        moved = super().at(**{name: value for name, value in numbers.items() if name in ("beta", "refit")})
        steps = [
            replace(
                step, eta=numbers.get(f"eta_{t}", step.eta), alpha0=numbers.get(f"alpha0_{t}", step.alpha0)
            )
            for t, step in enumerate(self.schedule, start=1)
        ]
        moved.__dict__["steps"] = tuple(steps)
        return moved

    def moved(self, **numbers: Any) -> Network:
        if self.schedule is None:
            return super().moved(**numbers)
        steps = [
            Step(numbers.pop(f"eta_{t}", step.eta), numbers.pop(f"alpha0_{t}", step.alpha0), step.loss)
            for t, step in enumerate(self.schedule, start=1)
        ]
        return replace(self, **numbers, steps=tuple(steps))

    def stages(self, values: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray, str]]:
        """(eta, alpha0, loss) of each step for `values` by the names of `numbers`; eta = 0 where none is taken."""
        if self.schedule is not None:
            count = range(1, len(self.schedule) + 1)
            losses = [step.loss for step in self.schedule]
            return [
                (values[f"eta_{t}"], values[f"alpha0_{t}"], loss)
                for t, loss in zip(count, losses, strict=True)
            ]
        eta, alpha0 = values["eta"], values["alpha0"]
        if "steps" not in values:
            return [(eta, alpha0, self.step_loss)]
        steps = np.asarray(values["steps"])
        return [
            (np.where(steps > t, eta, 0.0), alpha0, self.step_loss)
            for t in range(max(1, int(steps.max(initial=0))))
        ]

    def equivalent(self, target: Target | FunctionLike) -> SpikedRF:
        """Result 1: the spiked random features model that the trained first layer resembles.

        Parameters
        ----------
        target : Target, str or callable
            What the step is taken on.

        Returns
        -------
        SpikedRF
            With the spike's strength r, its alignment gamma and the row norms c that the step leaves behind.

        Examples
        --------
        >>> gs.Network("relu", eta=1, alpha0=np.inf).equivalent("sin").gamma
        1.0
        """
        from .theory.equivalent import equivalent

        return equivalent(self, as_target(target))

    def isotropy_gap(self, target: Target | FunctionLike, *, alpha: Parameter, lam: Parameter) -> xr.Dataset:
        """By how much the paper's isotropic model of this network is off in test error, at these parameters.

        Parameters
        ----------
        target : Target, str or callable
            What is to be learned.
        alpha, lam : number or grid
            Samples for the readout divided by d, and ridge penalty.

        Returns
        -------
        xarray.Dataset
            `exact` and `isotropic` test errors, and `gap`, their difference over the exact one.

        Examples
        --------
        >>> strong = gs.Network("tanh", eta=20, alpha0=0.1)
        >>> float(strong.isotropy_gap("sin", alpha=1, lam=0.1).gap.round(2))
        -0.1
        """
        from .insight.gap import isotropy_gap

        return isotropy_gap(self, target, alpha=alpha, lam=lam)


@dataclass(frozen=True, eq=False, repr=False)
class SpikedRF(Model):
    """Spiked random features σ(Fx), F = W + r 1 vᵀ/√d, with a trainable readout: what a step leaves behind.

    Rows of W are uniform on the sphere of squared radius `c`, and |v|² = d. `Network.equivalent` gives the one that a
    trained network resembles.

    Parameters
    ----------
    activation : str, callable or Function
        σ: a name, an expression in x, or a function of your own.
    r : number or grid
        Strength of the spike. With letters, neuron i has the strength r times its letter.
    gamma : number or grid
        Alignment v·θ/d of the spike with the target, from -1 to 1; of a target of several directions, with the first,
        and with no other.
    c : number or grid
        Squared norm of the rows of W.
    beta : number or grid
        Width p, divided by d.
    readout : str or Letters
        The groups of neurons; see `Letters`.

    Examples
    --------
    >>> srf = gs.SpikedRF("tanh", r=[0, 1, 2], gamma=0.9)
    >>> gs.predict(srf, "sin", alpha=2, lam=0.1).test_error.values.round(4)
    array([0.2376, 0.0725, 0.0714])
    """

    activation: Function
    r: Parameter
    gamma: Parameter
    c: Parameter = 1.0
    beta: Parameter = 1.0
    readout: Letters = "uniform"  # type: ignore[assignment]

    if TYPE_CHECKING:

        def __init__(
            self,
            activation: FunctionLike,
            r: Parameter,
            gamma: Parameter,
            c: Parameter = 1.0,
            beta: Parameter = 1.0,
            readout: str | Letters = "uniform",
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "activation", as_function(self.activation))
        set_(self, "r", parameter("r", self.r))
        set_(self, "gamma", parameter("gamma", self.gamma, low=-1.0, high=1.0))
        set_(self, "c", parameter("c", self.c, low=0.0, strict=True))
        set_(self, "beta", parameter("beta", self.beta, low=0.0, strict=True))
        set_(self, "readout", as_letters(self.readout))

    def numbers(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("r", "gamma", "c", "beta")}

    @property
    def shaping(self) -> tuple[str, ...]:
        return ("r", "gamma", "c")


@dataclass(frozen=True, eq=False, repr=False)
class TwoSpikes(Model):
    """Spiked random features with two spikes, F = W + (r1 u1 v1ᵀ + r2 u2 v2ᵀ)/√d, v1 and v2 orthogonal.

    Parameters
    ----------
    activation : str, callable or Function
        σ: a name, an expression in x, or a function of your own.
    strengths : pair of float
        (r1, r2).
    alignments : pair of float
        (v1·θ/d, v2·θ/d), of the spikes with the target; θ is the first direction of a target of several.
    left : sequence of pairs of float
        The pairs (u1, u2) that neurons may have.
    weights : sequence of float
        The share of the neurons that has each pair.
    c, beta : float
        Squared norm of the rows of W, and width divided by d.

    Notes
    -----
    If all pairs are multiples of one pair there is only one spike, along a combination of v1 and v2. Such a model is
    replaced by the `SpikedRF` that it equals, which `reduced()` shows.

    Examples
    --------
    >>> two = gs.TwoSpikes("relu", strengths=(1, 2), alignments=(0.8, 0.5), left=[(1, 0), (0, 1)], weights=(0.5, 0.5))
    >>> float(gs.predict(two, "sin", alpha=1, lam=0.1).test_error.round(4))
    0.3943
    """

    group = "group"
    _questions = ("reduced",)
    spike_directions = 2  # type: ignore[assignment]

    activation: Function
    strengths: tuple[float, float]
    alignments: tuple[float, float]
    left: tuple[tuple[float, float], ...]
    weights: tuple[float, ...]
    c: float = 1.0
    beta: float = 1.0

    if TYPE_CHECKING:

        def __init__(
            self,
            activation: FunctionLike,
            strengths: Sequence[float],
            alignments: Sequence[float],
            left: Sequence[Sequence[float]],
            weights: Sequence[float],
            c: float = 1.0,
            beta: float = 1.0,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "activation", as_function(self.activation))
        for name in ("strengths", "alignments"):
            set_(self, name, number_tuple(f"TwoSpikes.{name}", getattr(self, name)))
        set_(self, "left", tuple(number_tuple("TwoSpikes.left", pair) for pair in self.left))
        letters = Letters(tuple(range(len(self.left))), self.weights)  # checks the weights
        set_(self, "weights", letters.weights)
        set_(self, "c", number("c", self.c, low=0.0, strict=True))
        set_(self, "beta", number("beta", self.beta, low=0.0, strict=True))
        if {len(pair) for pair in (self.strengths, self.alignments, *self.left)} != {2}:
            raise ParameterError(
                "TwoSpikes has two spikes: give two strengths, two alignments, and pairs in left"
            )
        if math.hypot(*self.alignments) > 1.0:
            raise ParameterError(
                f"alignments = {self.alignments} are those of two orthogonal directions with the target: their"
                " squares must sum to at most 1"
            )

    @property
    def readout(self) -> Letters:  # type: ignore[override]
        """The groups of neurons, numbered."""
        return Letters(tuple(range(len(self.left))), self.weights)

    def numbers(self) -> dict[str, Any]:
        return {"c": self.c, "beta": self.beta}

    @property
    def shaping(self) -> tuple[str, ...]:
        return ("c",)

    def resolved(self) -> Model:
        return self.reduced() or self

    def reduced(self) -> SpikedRF | None:
        """The one-spike model that this equals, or None if it has two spikes indeed.

        Examples
        --------
        >>> gs.TwoSpikes("relu", (1, 2), (0.6, 0.0), left=[(1, 0), (2, 0)], weights=(0.5, 0.5)).reduced().gamma
        0.6
        """
        pairs = np.asarray(self.left) * np.asarray(self.strengths)
        values, vectors = np.linalg.eigh(pairs.T @ pairs)
        if values[0] > 1e-24 * values[1]:
            return None
        direction = vectors[:, 1]
        gamma = float(direction @ np.asarray(self.alignments))
        readout = Letters(tuple(pairs @ direction), self.weights)
        return SpikedRF(self.activation, r=1.0, gamma=gamma, c=self.c, beta=self.beta, readout=readout)


@dataclass(frozen=True, eq=False, repr=False)
class Target(_Description):
    """What is to be learned: labels y = σ*(θ·x/√d) + `noise`·ε. A plain string stands for a target without noise.

    A target of several directions is g(z1, z2, ...) + noise·ε with z_j = θ_j·x/√d, the directions θ_j being
    orthonormal.

    Parameters
    ----------
    function : str, callable or Function
        σ*: a name, an expression in x, or a function of your own. "logistic" draws labels ±1 (see `scale`). "x1 +
        x1*x2" has two directions; "committee", "parity" and "staircase" are known by name.
    noise : number or grid
        Standard deviation of the Gaussian noise on the labels, in the step and in the readout.
    flips : float
        For labels ±1, the probability of a wrong sign. With it, the labels are the signs of the function.
    latent_noise : float
        For labels ±1, the standard deviation of the noise that is added before the sign is taken (with several
        directions, to the function's value).
    scale : float, optional
        Of "logistic": labels are +1 with probability sigmoid(`scale`·z); errors are measured against sign(z).
    directions : int
        How many arguments a callable has.
    kinks : sequence of pairs
        Of a callable of several directions: the hyperplanes n·z = c, as pairs (n, c), where it or its slope jumps.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> gs.predict(net, gs.Target("sin", noise=[0, 0.5]), alpha=1, lam=0.1).test_error.values.round(4)
    array([0.1643, 0.3086])
    >>> labels = gs.Target("sign", flips=0.1)
    >>> float(gs.predict(net, labels, alpha=1, lam=0.1, loss="logistic").test_error_01.round(3))
    0.256
    """

    _questions = ("binary",)

    function: Function
    noise: Parameter = 0.0
    flips: float = 0.0
    latent_noise: float = 0.0
    scale: float | None = None
    directions: int = 1
    kinks: tuple[Any, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            function: FunctionLike,
            noise: Parameter = 0.0,
            flips: float = 0.0,
            latent_noise: float = 0.0,
            scale: float | None = None,
            directions: int = 1,
            kinks: Sequence[tuple[Sequence[float], float]] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.function == "logistic":
            set_(self, "scale", 1.0 if self.scale is None else self.scale)
            set_(self, "function", "sign")
        set_(self, "kinks", as_hyperplanes(self.kinks))
        set_(self, "function", target_function(self.function, self.directions, self.kinks))
        set_(self, "directions", self.function.directions)
        set_(self, "noise", parameter("noise", self.noise, low=0.0))
        set_(self, "flips", number("flips", self.flips, low=0.0, high=0.5))
        set_(self, "latent_noise", number("latent_noise", self.latent_noise, low=0.0))
        if self.scale is not None:
            set_(self, "scale", number("scale", self.scale, low=0.0, strict=True))
        if self.random_signs and np.any(np.asarray(self.noise) > 0):
            raise ParameterError("noise is added to real labels; for ±1 labels use flips or latent_noise")

    @property
    def binary(self) -> bool:
        """Whether labels are ±1: signs with randomness of their own, or a function of these two values."""
        return self.random_signs or (not np.any(np.asarray(self.noise)) and _is_sign(self.function))

    def at(self, noise: float) -> Target:
        """The same target with another noise, which is known to be allowed."""
        moved = object.__new__(Target)
        moved.__dict__.update(self.__dict__, noise=float(noise))
        return moved

    @property
    def random_signs(self) -> bool:
        """Whether labels are ±1 with randomness of their own."""
        return self.flips > 0 or self.latent_noise > 0 or self.scale is not None


def check_model(model: Any) -> None:
    """Refuse what is no model."""
    if not isinstance(model, Model):
        raise ParameterError(f"model = {model!r} is neither a Network nor a SpikedRF (nor a TwoSpikes)")


@lru_cache(maxsize=256)
def _is_sign(function: Function) -> bool:
    """Whether a function has the values ±1 alone."""
    if function.directions == 1:
        grid = np.linspace(-9.0, 9.0, 2048)[None]  # even: 0, where a sign may be 0, is left out
    else:
        grid = np.random.default_rng(0).normal(size=(function.directions, 4096)) * 3.0
    return bool(np.all(np.abs(np.asarray(function(*grid))) == 1.0))


def as_target(target: Target | FunctionLike) -> Target:
    """The `Target` that a string, a callable or an instance stands for."""
    return target if isinstance(target, Target) else Target(target)


def _plain(value: Any) -> Any:
    if isinstance(value, Function | Loss):
        return value.spec
    if isinstance(value, Letters | Step):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [step.to_dict() for step in value] if value and isinstance(value[0], Step) else value
    if type(value).__name__ == "DataArray":
        return {"dims": list(value.dims), "data": np.asarray(value).tolist()}
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"dims", "data"}:
        import xarray as xr

        return xr.DataArray(value["data"], dims=value["dims"])
    return value


def _hashable(value: Any) -> Any:
    """A value as something that compares and hashes by content."""
    if isinstance(value, np.ndarray):
        return (value.shape, tuple(value.ravel().tolist()))
    if type(value).__name__ == "DataArray":
        return (tuple(value.dims), _hashable(np.asarray(value)))
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _as_step(given: Any) -> Step:
    """The `Step` that an instance or its dictionary stands for."""
    if isinstance(given, Step):
        return given
    if isinstance(given, dict):
        return Step.from_dict({"kind": "Step"} | given)
    raise ParameterError(f"steps has {given!r}, which is no Step; write steps=[Step(eta=1, alpha0=0.5), ...]")


def _whole(name: str, values: Any) -> Any:
    if np.any(np.asarray(values) != np.rint(np.asarray(values))):
        raise ParameterError(f"{name} = {values!r} must be whole numbers")
    return values

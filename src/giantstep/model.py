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
from .functions import Function, as_function, target_function
from .groups import merge
from .letters import Letters, as_letters
from .losses import Loss, as_loss
from .parameters import number, number_tuple, parameter
from .words import spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function


class _Description:
    """What models and targets share: a dictionary form for provenance, links and sweeps, and equality by value."""

    def to_dict(self) -> dict[str, Any]:
        """This description as plain, JSON-ready data. A user's own callable has no such form: an error."""
        data: dict[str, Any] = {"kind": type(self).__name__}
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.name not in _LATER or _hashable(value) != f.default:
                data[f.name] = _plain(value)
        return data

    def __repr__(self) -> str:
        return spoken(self)

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
        """The description that `to_dict` wrote."""
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
    """One giant step of a `Network`: learning rate `eta`·d on `alpha0`·d fresh samples, down a `loss`."""

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
    """Two-layer network f(x) = a·σ(Wx)/√p whose first layer takes giant gradient steps.

    Unit-norm rows, readout a = 1/√p (or `readout` letters) at initialisation; the step has size η = `eta`·d
    and uses n0 = `alpha0`·d samples; the width is p = `beta`·d. `eta` = 0 or `alpha0` = 0 means no step:
    plain random features. `alpha0` = inf is a step on the population gradient. `steps` = 3 takes three such steps,
    each on a fresh batch, with the readout as it was; a list of `Step`s is a schedule, in place of eta and alpha0.
    `rows` are "unit" (initial rows of unit norm), "gaussian" (independent entries of variance 1/d), or the
    variance of the squared norm of a row, times d. `reuse_batch` takes every step on the same batch, for simulations:
    the theory is for fresh ones.
    """

    takes_steps = True

    activation: Function
    eta: Parameter | None = None
    alpha0: Parameter | None = None
    beta: Parameter = 1.0
    readout: Letters = "uniform"  # type: ignore[assignment]
    step_loss: str = "square"
    steps: Parameter | tuple[Step, ...] | None = None
    rows: str | float = "unit"
    reuse_batch: bool = False

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
        return own | {"beta": self.beta}

    @property
    def shaping(self) -> tuple[str, ...]:
        return (*self.numbers(), "noise")

    def at(self, **numbers: float) -> Network:
        if self.schedule is None:
            return super().at(**numbers)
        moved = super().at(**{name: value for name, value in numbers.items() if name == "beta"})
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
        """Result 1: the spiked random features model that the trained first layer resembles."""
        from .theory.equivalent import equivalent

        return equivalent(self, as_target(target))

    def isotropy_gap(self, target: Target | FunctionLike, *, alpha: Parameter, lam: Parameter) -> xr.Dataset:
        """By how much the paper's isotropic model of this network is off in test error, at these parameters."""
        from .insight.gap import isotropy_gap

        return isotropy_gap(self, target, alpha=alpha, lam=lam)


@dataclass(frozen=True, eq=False, repr=False)
class SpikedRF(Model):
    """Spiked random features σ(Fx), F = W + r 1 vᵀ/√d, with a trainable readout.

    Rows of W are uniform on the sphere of squared radius `c`; |v|² = d; `gamma` = v·θ/d is the alignment of
    the spike with the target, of several directions with the first and with no other; p = `beta`·d. With letters,
    row i has spike strength r·value_s(i).
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

    `strengths` = (r1, r2); `alignments` = (v1·θ/d, v2·θ/d), θ the first direction of a target of several; `left` lists
    the pairs (u1, u2) that neurons have, a fraction `weights` of them each. Pairs that are all multiples of one make a
    single spike in disguise, of strength |(r1 u1, r2 u2)| along their combination: `reduced()` is that `SpikedRF`, and
    what is computed.
    """

    group = "group"
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
        """The one-spike model that this is in disguise, or None if it has two spikes indeed."""
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
    """Target y = σ*(θ·x/√d) + `noise`·ε, or g(z1, z2, ...) + noise·ε of several directions, z_j = θ_j·x/√d.

    A plain string stands for a noiseless one. "x1 + x1*x2" has two directions; a callable has as many `directions` as
    arguments, and names in `kinks` the hyperplanes n·z = c, as pairs (n, c), where it or its slope jumps; "committee",
    "parity" and "staircase" are known by name. The directions are orthonormal.

    Binary labels: `flips` is the probability of a wrong sign and `latent_noise` the noise before the sign
    (labels are then the signs of the function, whatever its values);
    `Target("logistic", scale=s)` draws ±1 with probability sigmoid(s·z), its noiseless target being sign(z).
    With several directions latent noise is added to the function's value, and the sigmoid is taken of it.
    """

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

"""What a user says: the model, its initial readout, and the target. Plain, frozen, checked descriptions.

Every numeric parameter takes a number, a 1-D sequence (which opens a grid dimension of that name), or an
`xarray.DataArray` (whose dimensions are its own, so that two of them can be zipped).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from .errors import ParameterError
from .functions import Function, as_function
from .letters import Letters, as_letters
from .parameters import number, number_tuple, parameter
from .words import spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function


class _Description:
    """Dictionary form shared by the models and the target: plain data for provenance, links and sweeps."""

    # parameters that may open a grid dimension, in the grid's order; and the numbers, with the target's noise
    # among them, that shape the first layer
    numeric: ClassVar[tuple[str, ...]] = ()
    shaping: ClassVar[tuple[str, ...]] = ()

    def numbers(self) -> dict[str, Any]:
        """The numeric parameters by name."""
        return {name: getattr(self, name) for name in self.numeric}

    def to_dict(self) -> dict[str, Any]:
        """This description as plain, JSON-ready data. A user's own callable has no such form: an error."""
        data: dict[str, Any] = {"kind": type(self).__name__}
        for f in fields(self):  # type: ignore[arg-type]
            data[f.name] = _plain(getattr(self, f.name))
        return data

    def __repr__(self) -> str:
        return spoken(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The description that `to_dict` wrote."""
        kinds = {kind.__name__: kind for kind in (Network, SpikedRF, TwoSpikes, Target)}
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


@dataclass(frozen=True, eq=False, repr=False)
class Network(_Description):
    """Two-layer network f(x) = a·σ(Wx)/√p that takes one giant gradient step on W.

    Unit-norm rows, readout a = 1/√p (or `readout` letters) at initialisation; the step has size η = `eta`·d
    and uses n0 = `alpha0`·d samples; the width is p = `beta`·d. `eta` = 0 or `alpha0` = 0 means no step:
    plain random features. `alpha0` = inf is a step on the population gradient.
    """

    numeric = ("eta", "alpha0", "beta")
    shaping = ("eta", "alpha0", "beta", "noise")

    activation: Function
    eta: Parameter
    alpha0: Parameter
    beta: Parameter = 1.0
    readout: Letters = "uniform"  # type: ignore[assignment]
    step_loss: str = "square"

    if TYPE_CHECKING:

        def __init__(
            self,
            activation: FunctionLike,
            eta: Parameter,
            alpha0: Parameter,
            beta: Parameter = 1.0,
            readout: str | Letters = "uniform",
            step_loss: str = "square",
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "activation", as_function(self.activation))
        set_(self, "eta", parameter("eta", self.eta, low=0.0))
        set_(self, "alpha0", parameter("alpha0", self.alpha0, low=0.0, infinite=True))
        set_(self, "beta", parameter("beta", self.beta, low=0.0, strict=True))
        set_(self, "readout", as_letters(self.readout))
        if self.readout.c is not None:
            raise ParameterError(
                "Letters.c belongs to a SpikedRF; a Network's row norms follow from its step"
            )

    def equivalent(self, target: Target | FunctionLike) -> SpikedRF:
        """Result 1: the spiked random features model that the trained first layer resembles."""
        from .theory.step.mapping import equivalent

        return equivalent(self, as_target(target))

    def isotropy_gap(self, target: Target | FunctionLike, *, alpha: Parameter, lam: Parameter) -> xr.Dataset:
        """By how much the paper's isotropic model of this network is off in test error, at these parameters."""
        from .insight.gap import isotropy_gap

        return isotropy_gap(self, target, alpha=alpha, lam=lam)


@dataclass(frozen=True, eq=False, repr=False)
class SpikedRF(_Description):
    """Spiked random features σ(Fx), F = W + r 1 vᵀ/√d, with a trainable readout.

    Rows of W are uniform on the sphere of squared radius `c`; |v|² = d; `gamma` = v·θ/d is the alignment of
    the spike with the target; p = `beta`·d. With letters, row i has spike strength r·value_s(i).
    """

    numeric = ("r", "gamma", "c", "beta")
    shaping = ("r", "gamma", "c")

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


@dataclass(frozen=True, eq=False, repr=False)
class TwoSpikes(_Description):
    """Spiked random features with two spikes, F = W + (r1 u1 v1ᵀ + r2 u2 v2ᵀ)/√d, v1 and v2 orthogonal.

    `strengths` = (r1, r2); `alignments` = (v1·θ/d, v2·θ/d); `left` lists the pairs (u1, u2) that neurons have, a
    fraction `weights` of them each. Pairs that are all multiples of one make a single spike in disguise, of
    strength |(r1 u1, r2 u2)| along their combination: `reduced()` is that `SpikedRF`, and what is computed.
    """

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

    def reduced(self) -> SpikedRF | None:
        """The one-spike model that this is in disguise, or None if it has two spikes indeed."""
        from .theory.two_spikes import reduced

        return reduced(self)


@dataclass(frozen=True, eq=False, repr=False)
class Target(_Description):
    """Single-index target y = σ*(θ·x/√d) + `noise`·ε. A plain string stands for a noiseless one.

    Binary labels: `flips` is the probability of a wrong sign and `latent_noise` the noise before the sign
    (labels are then the signs of the function, whatever its values);
    `Target("logistic", scale=s)` draws ±1 with probability sigmoid(s·z), its noiseless target being sign(z).
    """

    function: Function
    noise: Parameter = 0.0
    flips: float = 0.0
    latent_noise: float = 0.0
    scale: float | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            function: FunctionLike,
            noise: Parameter = 0.0,
            flips: float = 0.0,
            latent_noise: float = 0.0,
            scale: float | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.function == "logistic":
            set_(self, "scale", 1.0 if self.scale is None else self.scale)
            set_(self, "function", "sign")
        set_(self, "function", as_function(self.function))
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
        if self.random_signs:
            return True
        grid = np.linspace(-9.0, 9.0, 2048)  # even: 0, where a sign may be 0, is left out
        return not np.any(np.asarray(self.noise)) and bool(
            np.all(np.abs(np.asarray(self.function(grid))) == 1.0)
        )

    @property
    def random_signs(self) -> bool:
        """Whether labels are ±1 with randomness of their own."""
        return self.flips > 0 or self.latent_noise > 0 or self.scale is not None


def check_model(model: Any) -> None:
    """Refuse what is neither a `Network` nor a `SpikedRF`, the models that a grid or a sweep may be made of."""
    if not isinstance(model, Network | SpikedRF):
        raise ParameterError(f"model = {model!r} is neither a Network nor a SpikedRF")


def as_target(target: Target | FunctionLike) -> Target:
    """The `Target` that a string, a callable or an instance stands for."""
    return target if isinstance(target, Target) else Target(target)


def _plain(value: Any) -> Any:
    if isinstance(value, Function):
        return value.spec
    if isinstance(value, Letters):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if type(value).__name__ == "DataArray":
        return {"dims": list(value.dims), "data": np.asarray(value).tolist()}
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"dims", "data"}:
        import xarray as xr

        return xr.DataArray(value["data"], dims=value["dims"])
    return value

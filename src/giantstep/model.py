"""What a user says: the model, its initial readout, and the target. Plain, frozen, checked descriptions.

Every numeric parameter takes a number, a 1-D sequence (which opens a grid dimension of that name), or an
`xarray.DataArray` (whose dimensions are its own, so that two of them can be zipped).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .errors import ParameterError
from .functions import Function, as_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    Parameter: TypeAlias = float | Sequence[float] | np.ndarray | xr.DataArray
    FunctionLike: TypeAlias = str | Callable[[Any], Any] | Function


@dataclass(frozen=True, eq=False)
class Letters:
    """A finite vocabulary of initial readout weights: a_i = value_s/√p for a fraction weight_s of neurons.

    `biases` (optional) is added to each letter's pre-activations and never trained. `c` (optional, for
    `SpikedRF`) is the squared bulk norm of each letter's rows; the default is the model's `c`. `law` names the
    continuous distribution whose quadrature nodes these letters are ("gaussian", "uniform-interval"); then
    statistics are sums over all neurons, and a simulation gives the neurons that distribution's quantiles.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]
    biases: tuple[float, ...] | None = None
    c: tuple[float, ...] | None = None
    law: str | None = None

    def __post_init__(self) -> None:
        for name in ("values", "weights", "biases", "c"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _numbers(f"Letters.{name}", given))
        for name in ("weights", "biases", "c"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.values):
                raise ParameterError(
                    f"Letters.{name} has {len(given)} entries for {len(self.values)} values; give one each"
                )
        if min(self.weights) <= 0 or not math.isclose(sum(self.weights), 1.0, rel_tol=1e-9):
            raise ParameterError(
                f"Letters.weights = {self.weights} must be positive fractions of the neurons that sum to 1"
            )
        if self.c is not None and min(self.c) <= 0:
            raise ParameterError(f"Letters.c = {self.c} are squared row norms and must be positive")
        if self.law is not None and self.law not in _LAWS:
            raise ParameterError(
                f"Letters.law = {self.law!r} is unknown; use one of {sorted(_LAWS)}, or Letters alone"
            )
        if self.law is not None and (self.biases is not None or self.c is not None):
            raise ParameterError(
                "Letters.law is for letters alone; give biases or c with a finite vocabulary"
            )

    @property
    def single(self) -> bool:
        """Whether statistics come without a letter dimension: one letter, or a sum over a continuous law."""
        return len(self.values) == 1 or self.law is not None

    def of_neurons(self, p: int) -> np.ndarray:
        """The letters of p neurons under a continuous law: its quantiles, in order."""
        return _LAWS[self.law or ""].quantile((np.arange(p) + 0.5) / p)

    @property
    def uniform(self) -> bool:
        """One letter, of value 1, no bias: the setting of the paper's main text."""
        return self.values == (1.0,) and self.biases is None and self.c is None

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Letters:
        return cls(**data)


class _Law(NamedTuple):
    rule: Callable[[int], tuple[np.ndarray, np.ndarray]]  # Gauss nodes and weights of the law
    quantile: Callable[[np.ndarray], np.ndarray]


def _normal_quantile(share: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(share)


_LAWS = {
    "gaussian": _Law(np.polynomial.hermite_e.hermegauss, _normal_quantile),
    # variance one, as the other vocabularies (almost) have
    "uniform-interval": _Law(
        lambda n: (
            math.sqrt(3.0) * np.polynomial.legendre.leggauss(n)[0],
            np.polynomial.legendre.leggauss(n)[1],
        ),
        lambda share: math.sqrt(3.0) * (2.0 * share - 1.0),
    ),
}
_LAW_NODES = 12  # test errors to about 1e-3 (Gaussian) or 1e-5 (interval) for tanh; "gaussian:20" asks for 20

_NAMED_LETTERS = {
    "uniform": ((1.0,), (1.0,)),
    "rademacher": ((-1.0, 1.0), (0.5, 0.5)),
    "ternary": ((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25)),
}


def as_letters(spec: str | Letters) -> Letters:
    """The `Letters` that a name or an instance stands for."""
    if isinstance(spec, Letters):
        return spec
    if spec in _NAMED_LETTERS:
        return Letters(*_NAMED_LETTERS[spec])
    law, _, nodes = str(spec).partition(":")
    if law in _LAWS and (not nodes or (nodes.isdecimal() and 1 <= int(nodes) <= 100)):
        values, weights = _LAWS[law].rule(int(nodes or _LAW_NODES))
        return Letters(tuple(values), tuple(weights / weights.sum()), law=law)
    raise ParameterError(
        f"readout = {spec!r} is unknown; use a Letters(...) or one of {sorted([*_NAMED_LETTERS, *_LAWS])}"
    )


class _Description:
    """Dictionary form shared by the models and the target: plain data for provenance, links and sweeps."""

    def to_dict(self) -> dict[str, Any]:
        """This description as plain, JSON-ready data. A user's own callable has no such form: an error."""
        data: dict[str, Any] = {"kind": type(self).__name__}
        for f in fields(self):  # type: ignore[arg-type]
            data[f.name] = _plain(getattr(self, f.name))
        return data

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


@dataclass(frozen=True, eq=False)
class Network(_Description):
    """Two-layer network f(x) = a·σ(Wx)/√p that takes one giant gradient step on W.

    Unit-norm rows, readout a = 1/√p (or `readout` letters) at initialisation; the step has size η = `eta`·d
    and uses n0 = `alpha0`·d samples; the width is p = `beta`·d. `eta` = 0 or `alpha0` = 0 means no step:
    plain random features. `alpha0` = inf is a step on the population gradient.
    """

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
        from .theory.mapping import equivalent

        return equivalent(self, as_target(target))

    def isotropy_gap(self, target: Target | FunctionLike, *, alpha: Parameter, lam: Parameter) -> xr.Dataset:
        """By how much the paper's isotropic model of this network is off in test error, at these parameters."""
        from .theory.gap import isotropy_gap

        return isotropy_gap(self, target, alpha=alpha, lam=lam)


@dataclass(frozen=True, eq=False)
class SpikedRF(_Description):
    """Spiked random features σ(Fx), F = W + r 1 vᵀ/√d, with a trainable readout.

    Rows of W are uniform on the sphere of squared radius `c`; |v|² = d; `gamma` = v·θ/d is the alignment of
    the spike with the target; p = `beta`·d. With letters, row i has spike strength r·value_s(i).
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


@dataclass(frozen=True, eq=False)
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
            set_(self, name, _numbers(f"TwoSpikes.{name}", getattr(self, name)))
        set_(self, "left", tuple(_numbers("TwoSpikes.left", pair) for pair in self.left))
        letters = Letters(tuple(range(len(self.left))), self.weights)  # checks the weights
        set_(self, "weights", letters.weights)
        set_(self, "c", float(parameter("c", float(self.c), low=0.0, strict=True)))
        set_(self, "beta", float(parameter("beta", float(self.beta), low=0.0, strict=True)))
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


@dataclass(frozen=True, eq=False)
class Target(_Description):
    """Single-index target y = σ*(θ·x/√d) + `noise`·ε. A plain string stands for a noiseless one.

    Binary labels: `flips` is the probability of a wrong sign and `latent_noise` the noise before the sign;
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
        set_(self, "flips", float(parameter("flips", float(self.flips), low=0.0, high=0.5)))
        set_(self, "latent_noise", float(parameter("latent_noise", float(self.latent_noise), low=0.0)))
        if self.scale is not None:
            set_(self, "scale", float(parameter("scale", float(self.scale), low=0.0, strict=True)))
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


def as_target(target: Target | FunctionLike) -> Target:
    """The `Target` that a string, a callable or an instance stands for."""
    return target if isinstance(target, Target) else Target(target)


def parameter(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    infinite: bool = False,
) -> Any:
    """Check one numeric parameter and normalise it to a float, a 1-D array, or a DataArray.

    `strict` excludes `low` itself; `infinite` admits +inf.
    """
    if type(value).__name__ == "DataArray":
        checked, values = value.astype(float), np.asarray(value, dtype=float)
    else:
        try:
            values = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ParameterError(f"{name} = {value!r} is not a number or a sequence of numbers") from None
        if values.ndim > 1:
            raise ParameterError(
                f"{name} has {values.ndim} dimensions; give a number, a 1-D sequence, or an xarray.DataArray"
            )
        checked = values if values.ndim else float(values)
    if values.size == 0:
        raise ParameterError(f"{name} is an empty range; give at least one value")
    allowed = (values > low) if strict else (values >= low)
    allowed &= values <= high
    allowed &= np.isfinite(values) | (infinite & (values == math.inf))
    if not allowed.all():
        offender = float(values[~allowed].flat[0])
        raise ParameterError(
            f"{name} = {offender:g} is not allowed: it must be {_range(low, high, strict, infinite)}"
        )
    return checked


def _range(low: float, high: float, strict: bool, infinite: bool) -> str:
    if math.isinf(low):
        words = "a finite number" if math.isinf(high) else f"at most {high:g}"
    elif math.isinf(high):
        words = f"greater than {low:g}" if strict else f"at least {low:g}"
    else:
        words = f"between {low:g} and {high:g}"
    return words + (" (inf is allowed)" if infinite else "")


def _numbers(name: str, given: Any) -> tuple[float, ...]:
    values = parameter(name, given)
    return (values,) if isinstance(values, float) else tuple(float(v) for v in values)


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

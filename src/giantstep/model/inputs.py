"""Inputs with a covariance: its eigenvalues, how many inputs have each, and where the target lies among them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from attrs import evolve, field

from ..errors import NotCovered, ParameterError, refused
from . import input_sample as sample
from .checks import allow, check_count, flag, floats, number
from .description import Description, description

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .description import Parameter

_SUM = 1e-6  # how far shares and masses may be from their sum, as people round them
_ROUNDING = 1e-13


def _array(name: str, most_dims: int, form: str, value: Any) -> np.ndarray:
    """Finite numbers, at least 0 unless they are matrices, as an array."""
    values = np.atleast_1d(floats(name, value))
    if values.ndim > most_dims or not values.size:
        raise ParameterError(f"{name} has shape {values.shape}; give {form}", name)
    wrong = ~np.isfinite(values) | ((values < 0) & (values.ndim < 3))
    if wrong.any():
        raise refused(name, float(values[wrong].flat[0]), "is not allowed: it must be finite and at least 0")
    return values


_SHARES = "a row, a row for each direction, or a matrix for each eigenvalue"


class KeptRows(NamedTuple):
    """A user's own inputs in whitened coordinates, to be drawn from in simulations."""

    rows: np.ndarray  # [n, d]
    omega: np.ndarray  # eigenvalues of the covariance, mean 1 [d]
    theta: np.ndarray | None  # the target's directions, orthonormal [k, d]; None: drawn in each trial

    @property
    def name(self) -> str:
        return f"{len(self.rows)} rows of data"

    @property
    def spec(self) -> str:
        """Rows have no text."""
        raise ParameterError(
            f"inputs with {self.name} cannot be written to a dictionary or a file, nor be part of a sweep; use"
            " Inputs.from_data without keep=True",
            "inputs",
        )


@description
class Inputs(Description):
    r"""Inputs with a covariance Ω: x ~ N(0, Ω) instead of N(0, I). A `Target` takes it as `inputs=`.

    Three things about Ω matter: its eigenvalues, the share of the inputs that has each, and how much of the target's
    variance θᵀΩθ lies on each. The target's directions are scaled such that θ·x has variance 1, as for isotropic
    inputs, and the first layer's initial rows have unit norm in the space of the inputs.

    Parameters
    ----------
    eigenvalues : sequence of float
        Eigenvalues of the covariance, at least 0. They are rescaled to mean 1: the scale of the inputs is part of the
        activation.
    masses : sequence of float, optional
        The share of the d inputs that has each eigenvalue; sum 1. Equal by default.
    shares : array, optional
        How much of the target's variance is on each eigenvalue. For one direction a row with sum 1; for k directions
        a row for each, [k, eigenvalues]; for directions that share eigenvalues a positive matrix for each eigenvalue,
        [eigenvalues, k, k], with the identity for their sum. By default a target without preference, proportional to
        mass times eigenvalue: the directions are uniform in the space of the inputs. On an eigenvalue 0 the share is 0.
    d : int, optional
        The number of inputs that the eigenvalues were made for; a simulation then needs the same.

    Examples
    --------
    >>> inputs = gs.Inputs([2.5, 0.5], masses=[0.25, 0.75], shares=[0.8, 0.2])
    >>> inputs
    Inputs([2.5, 0.5], masses=[0.25, 0.75], shares=[0.8, 0.2])
    >>> inputs.effective_rank  # times d: as many of the inputs count
    0.5714285714285714
    >>> target = gs.Target("sin", noise=0.1, inputs=inputs)
    """

    kept: ClassVar[KeptRows | None] = None  # of an instance made from data with keep=True

    eigenvalues: Sequence[float] | np.ndarray = field(converter=partial(_array, "eigenvalues", 1, "a list of numbers"))
    masses: Sequence[float] | np.ndarray | None = field(
        default=None, converter=partial(_array, "masses", 1, "a list of numbers")
    )
    shares: Any = field(default=None, converter=partial(_array, "shares", 3, _SHARES))
    d: int | None = field(default=None, converter=partial(check_count, "d", low=1))

    def __attrs_post_init__(self) -> None:
        omega = np.asarray(self.eigenvalues)
        masses = np.full(len(omega), 1.0 / len(omega)) if self.masses is None else np.asarray(self.masses)
        if len(masses) != len(omega):
            raise ParameterError(
                f"masses has {len(masses)} entries for {len(omega)} eigenvalues; give one each", "masses"
            )
        if abs(masses.sum() - 1.0) > _SUM:
            raise ParameterError(
                f"masses are shares of the inputs and sum to 1; these sum to {masses.sum():.6g}", "masses"
            )
        mean = float(masses @ omega / masses.sum())
        if mean == 0.0:
            raise ParameterError("eigenvalues are all 0, or have no mass; one must be positive", "eigenvalues")
        near = abs(mean - 1.0) < _ROUNDING  # already rescaled: what a dictionary has keeps its digits
        self.__dict__.update(eigenvalues=omega / (1.0 if near else mean), masses=masses / masses.sum())
        if self.shares is not None:
            self._check_shares()

    def _check_shares(self) -> None:
        """Refuse shares that fit neither the eigenvalues nor any directions."""
        shares, count = np.asarray(self.shares), len(self.omega)
        matrices = _as_matrices(shares)
        if len(matrices) != count:
            raise ParameterError(
                f"shares has shape {shares.shape} for {count} eigenvalues; give a row [{count}], a row for each"
                f" direction [k, {count}], or a matrix for each eigenvalue [{count}, k, k]",
                "shares",
            )
        k = matrices.shape[1]
        if matrices.shape[2] != k or not _near(matrices, matrices.swapaxes(1, 2)):
            raise ParameterError("shares [eigenvalues, k, k] must be symmetric matrices", "shares")
        if (least := float(np.linalg.eigvalsh(matrices).min())) < -_SUM:
            raise ParameterError(
                f"shares has a matrix with the eigenvalue {least:.3g}; shares of variance are at least 0", "shares"
            )
        if not _near(total := matrices.sum(axis=0), np.eye(k)):
            sums = total.squeeze().round(6).tolist()
            raise ParameterError(
                f"shares of a direction sum to 1, and matrices to the identity; these sum to {sums}", "shares"
            )
        if np.any(matrices[self.omega == 0.0]):
            raise ParameterError(
                "shares puts part of the target on an eigenvalue 0, where the inputs do not vary; put 0 there", "shares"
            )

    @property
    def omega(self) -> np.ndarray:
        """The eigenvalues, with mean 1 [J]."""
        return np.asarray(self.eigenvalues)

    @property
    def mu(self) -> np.ndarray:
        """Their masses, with sum 1 [J]."""
        return np.asarray(self.masses)

    def tau(self, k: int) -> np.ndarray:
        """The shares of a target's k directions as matrices [J, k, k], with the identity for their sum."""
        if self.shares is None:
            return (self.mu * self.omega)[:, None, None] * np.eye(k)
        shares = np.asarray(self.shares)
        tau = _as_matrices(shares if shares.ndim == 3 else shares / shares.sum(axis=-1, keepdims=True))
        directions = tau.shape[1]
        if directions != k:
            form = f"a row for each direction [{k}, eigenvalues], or matrices [eigenvalues, {k}, {k}]"
            raise ParameterError(
                f"shares is for {directions} direction{'s' * (directions > 1)}, and the target has {k}; give"
                f" {'one row' if k == 1 else form}",
                "shares",
            )
        return tau

    @property
    def effective_rank(self) -> float:
        """(tr Ω)²/tr Ω²: how many inputs count; divided by d, where there is none.

        Examples
        --------
        >>> gs.Inputs([1.5, 0.5], d=100).effective_rank
        80.0
        """
        return (self.d or 1) / float(self.mu @ self.omega**2)

    def at(self, **numbers: float) -> Inputs:
        """A copy with other values of what `numbers` lists."""
        return evolve(self, **numbers) if numbers else self

    @classmethod
    def power_law(cls, exponent: Parameter, d: int, source: float = 1.0) -> PowerLaw:
        """Eigenvalues proportional to j^-`exponent`, j = 1 to d.

        Parameters
        ----------
        exponent : number or grid
            At least 0; 0 is isotropic. Above 1/2 there is no strict limit, and a few eigenvalues may count for
            most: look at the effective rank.
        d : int
            The number of inputs, and of eigenvalues.
        source : float
            The target's shares are proportional to the eigenvalue to the power `source`: 1 is a target without
            preference, more favours large eigenvalues, less small ones.

        Examples
        --------
        >>> gs.Inputs.power_law(0.3, d=1000)
        Inputs.power_law(0.3, d=1000)
        """
        return PowerLaw(exponent, d, source)

    @classmethod
    def from_data(cls, X: Any, direction: Any = None, y: Any = None, keep: bool = False) -> Inputs:
        """The covariance of a sample of inputs, and the place of a target in it.

        The sample is centred. Large eigenvalues are kept one by one. The others are put into bins so narrow that
        averages over the spectrum change by less than 2e-5, and answers by less than 1e-4.

        Parameters
        ----------
        X : array [samples, inputs]
            At least ten rows for each column, since noise spreads the eigenvalues of fewer.
        direction : array, optional
            The target's direction [inputs] in the same coordinates, or several [k, inputs]. These are made orthonormal
            in the covariance, with as little change as possible. By default a target without preference.
        y : array [samples], optional
            Labels to estimate the direction from, by linear regression. This is right for labels that depend on one
            direction and have a linear part in it, if the inputs are Gaussian, and refused where noise is more than a
            tenth of the estimate.
        keep : bool
            Whether a simulation draws rows of X, without replacement, instead of Gaussian inputs of this covariance.
            Their labels come from the target, not from `y`. All trials draw from the same rows, so the standard error
            over trials leaves out what another sample of inputs would have changed.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(2000, 50)) * np.linspace(2, 0.1, 50)
        >>> inputs = gs.Inputs.from_data(X, direction=np.eye(50)[0])
        >>> round(inputs.effective_rank, 1)
        28.6
        """
        if direction is not None and y is not None:
            raise ParameterError("y serves to estimate the direction, so give one or the other", "y")
        omega, rows, images = sample.whitened(X)
        theta = None if direction is None else sample.given_directions(direction, images, len(rows))
        theta = theta if y is None else sample.regressed_direction(y, rows)
        d = len(omega)
        tau = (omega / d)[:, None, None] if theta is None else np.einsum("ki,li->ikl", theta, theta)
        values, counts, shares = sample.binned(omega, tau)
        shares = None if theta is None else shares[:, 0, 0] if len(theta) == 1 else shares
        if flag("keep", keep):
            return InputsWithRows(values, counts / d, shares, d, KeptRows(rows, omega, theta))
        return cls(values, counts / d, shares, d)


@description
class InputsWithRows(Inputs):
    """Inputs of which simulations draw rows of a user's own sample: see `Inputs.from_data`."""

    kept: KeptRows | None = None  # type: ignore[misc]


@description
class PowerLaw(Inputs):
    """Eigenvalues that fall as a power of their number: see `Inputs.power_law`."""

    exponent: Parameter  # type: ignore[misc]
    d: int = field(converter=partial(check_count, "d", low=1))  # type: ignore[misc]
    source: float = field(default=1.0, converter=partial(number, "source"))
    eigenvalues: Any = field(default=None, init=False)
    masses: Any = field(default=None, init=False)
    shares: Any = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if np.ndim(self.exponent):
            return
        omega = np.arange(1.0, self.d + 1) ** -float(self.exponent)  # type: ignore[arg-type]
        omega /= omega.mean()
        shares = omega**self.source
        self.__dict__.update(eigenvalues=omega, masses=np.full(self.d, 1.0 / self.d), shares=shares / shares.sum())

    def tau(self, k: int) -> np.ndarray:
        return np.asarray(self.shares)[:, None, None] * np.eye(k)

    def __repr__(self) -> str:
        return super().__repr__().replace("PowerLaw", "Inputs.power_law", 1)


def _as_matrices(shares: np.ndarray) -> np.ndarray:
    """Shares as a matrix for each eigenvalue [J, k, k]: those of rows are diagonal."""
    rows = np.atleast_2d(shares)
    return shares if shares.ndim == 3 else np.einsum("kj,kl->jkl", rows, np.eye(len(rows)))


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    return np.allclose(one, other, rtol=0.0, atol=_SUM)


check_inputs = allow(
    lambda value: isinstance(value, Inputs), "is not allowed: it must be Inputs, such as gs.Inputs([2, 0.5])"
)


def refuse_inputs(target: Any, answer: str) -> None:
    """Refuse a target whose inputs have a covariance, for an answer that is known for isotropic ones."""
    if target.inputs is not None:
        raise NotCovered(f"{answer} is known for isotropic inputs; give a target without inputs=", "inputs")

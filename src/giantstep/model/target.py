"""What is to be learned."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field

from ..errors import ParameterError, named
from ..functions import Function, as_hyperplanes, target_function
from .description import DEFAULT, Description, description, with_values
from .inputs import Inputs, check_inputs
from .parameters import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .description import FunctionLike, Parameter


@description
class Target(Description):
    """The function to learn: labels y = σ*(θ·x/√d) + `noise`·ε. A plain string stands for a target without noise.

    A target of several directions is g(x1, x2, ...) + noise·ε. Here x1 = θ_1·x/√d and so on, and the directions θ_j are
    orthonormal.

    Parameters
    ----------
    function : str, callable or Function
        σ*: a name, an expression in x, or your own function. "logistic" draws labels ±1 (see `scale`). "x1 +
        x1*x2" has two directions; "committee", "parity" and "staircase" are known by name.
    noise : number or grid
        Standard deviation of the Gaussian noise on the labels, in the step and in the readout.
    flips : float
        For labels ±1, the probability of a wrong sign. With it, the labels are the signs of the function.
    latent_noise : float
        For labels ±1, the standard deviation of the noise that is added before the sign is taken (with several
        directions, to the function's value).
    scale : float, optional
        For "logistic": labels are +1 with probability sigmoid(`scale`·z), and errors are measured against sign(z). With
        several directions, z is the value of the function.
    directions : int
        Number of directions of "committee", "parity" and "staircase" (default 2). You need not give it for expressions,
        nor for a callable, which has one direction for each argument, unless it has `*args` or defaults.
    kinks : sequence of pairs
        For a callable of several directions: the hyperplanes n·z = c, as pairs (n, c), where it or its slope jumps.
        Integrals are split there. Expressions need none.
    inputs : Inputs, optional
        The covariance of the inputs, and where the target lies in it; isotropic inputs by default.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> gs.predict(net, gs.Target("sin", noise=[0, 0.5]), alpha=1, lam=0.1).test_error.values.round(4)
    array([0.1643, 0.3086])
    >>> labels = gs.Target("sign", flips=0.1)
    >>> float(gs.predict(net, labels, alpha=1, lam=0.1, loss="logistic").test_error_01.round(3))
    0.256

    Two directions, with a kink on the line x1 = 0, that is (1, 0)·(x1, x2) = 0:

    >>> corner = gs.Target(lambda x1, x2: np.maximum(x1, 0) + x1 * x2, kinks=[((1, 0), 0)])
    >>> corner.directions
    2
    >>> float(gs.predict(net, corner, alpha=1, lam=0.1).test_error.round(3))
    1.939
    """

    function: Function = field(converter=lambda given: given)  # made below, once the directions and kinks are known
    noise: Parameter = DEFAULT
    flips: float = DEFAULT
    latent_noise: float = DEFAULT
    scale: float | None = None
    directions: int = 1
    kinks: Sequence[tuple[Sequence[float], float]] = field(default=(), converter=as_hyperplanes)
    inputs: Inputs | None = field(default=None, converter=partial(check_inputs, "inputs"))

    def __attrs_post_init__(self) -> None:
        logistic = isinstance(self.function, str) and self.function == "logistic"
        with named("function"):
            function = target_function("sign" if logistic else self.function, self.directions, self.kinks)
        scale = 1.0 if logistic and self.scale is None else self.scale
        self.__dict__.update(function=function, directions=function.directions, scale=scale)
        takes_scale = function.directions > 1 or (function.has_spec and function.spec == "sign")
        if self.scale is not None and not takes_scale:
            raise ParameterError(
                f"scale = {self.scale:g} is for the target 'logistic', which has labels +1 with probability"
                f" sigmoid(scale·z), or for several directions; the target here is {function.name!r}: use"
                " 'logistic', or flips or latent_noise for signs of another function"
            )
        if self.random_signs and np.any(np.asarray(self.noise) > 0):
            raise ParameterError("noise is added to real labels; for ±1 labels use flips or latent_noise", "noise")
        if self.directions > 1 and self.flips > 0 and not self.latent_noise and self.scale is None:
            function.warn_of_curved_signs()  # type: ignore[attr-defined]
        if self.inputs is not None and self.inputs.shares is not None:
            self.inputs.tau(self.directions)  # refuses shares for another number of directions

    @property
    def binary(self) -> bool:
        """Whether labels are ±1: signs with randomness of their own, or a function of these two values.

        Examples
        --------
        >>> gs.Target("sign").binary
        True
        """
        return self.random_signs or (not np.any(np.asarray(self.noise)) and _is_sign(self.function))

    def numbers(self) -> dict[str, Any]:
        """The numeric parameters by name, each of which may open a grid dimension: its own and those of the inputs."""
        return super().numbers() | ({} if self.inputs is None else self.inputs.numbers())

    def moved(self, noise: Any, **of_inputs: Any) -> Target:
        """A copy with other numbers, or grids of numbers. It does not warn again of what the target's function is."""
        inputs = self.inputs and self.inputs.at(**of_inputs)
        return with_values(self, noise=checked("noise", noise), inputs=inputs)

    at = moved

    @property
    def random_signs(self) -> bool:
        """Whether labels are ±1 with randomness of their own."""
        return self.flips > 0 or self.latent_noise > 0 or self.scale is not None


def as_target(target: Target | FunctionLike) -> Target:
    """The `Target` that a string, a callable or an instance stands for."""
    if isinstance(target, Target):
        return target
    with named("target", "function"):
        return Target(target)


@lru_cache(maxsize=256)
def _is_sign(function: Function) -> bool:
    """Whether all values of a function are ±1."""
    if function.directions == 1:
        grid = np.linspace(-9.0, 9.0, 2048)[None]  # even: 0, where a sign may be 0, is left out
    else:
        grid = np.random.default_rng(0).normal(size=(function.directions, 4096)) * 3.0
    return bool(np.all(np.abs(np.asarray(function(*grid))) == 1.0))

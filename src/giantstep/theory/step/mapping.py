"""Result 1: the first layer after the step. From a network and a target to spike, alignment and row norms."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import GiantstepWarning, ParameterError
from ...gaussian import expectation, tail_reach
from ...losses import as_loss
from ..labels import binary_law
from .batch import label_batch, residuals

if TYPE_CHECKING:
    from ...functions import Function
    from ...losses import Loss
    from ...model import FunctionLike, Letters, Network, SpikedRF, Target


_NODES = 8192  # over the labels' law, for a step loss whose slope may have kinks there
_NUDGE = 1e-4  # of the initial output, to see how residuals change with it
_POOR = 0.1  # excess or stretch of the bulk beyond which the isotropic model is off by several per cent


class ActivationMoments(NamedTuple):
    """Averages of the activation and its derivative over a standard normal pre-activation."""

    mean: float  # E σ
    h1: float  # E σ' = E zσ
    h2: float  # E zσ' = E σ''
    spread: float  # E σ'² - h1²: what inflates the bulk


class TargetMoments(NamedTuple):
    """Averages of the noiseless target."""

    mean: float  # E σ*
    first: float  # E zσ*
    second: float  # E (z² - 1)σ*
    square: float  # E σ*²


class FirstLayer(NamedTuple):
    """Alignment γ [U]; for each letter its spike strength r per unit letter, and squared row norm c, [U, K]."""

    r: np.ndarray
    gamma: np.ndarray
    c: np.ndarray


@lru_cache(maxsize=256)
def activation_moments(f: Function, bias: float = 0.0) -> ActivationMoments:
    """Hermite coefficients of σ(z + bias); σ must have a derivative, because the step goes through it."""
    slope = f.derivative
    tail_reach(f, 1.0)

    def integrand(z: np.ndarray) -> np.ndarray:
        value, rate = f(z + bias), slope(z + bias)
        return np.stack([value, z * value, z * rate, rate * rate])

    mean, h1, h2, square = expectation(integrand, tuple(b - bias for b in f.breakpoints))
    return ActivationMoments(float(mean), float(h1), float(h2), float(square - h1**2))


@lru_cache(maxsize=256)
def target_moments(f: Function) -> TargetMoments:
    """Hermite coefficients of a target; one of infinite variance is an error."""
    tail_reach(f, 1.0)

    def integrand(z: np.ndarray) -> np.ndarray:
        value = f(z)
        return np.stack([value, z * value, (z * z - 1.0) * value, value * value])

    return TargetMoments(*map(float, expectation(integrand, f.breakpoints)))


def linear_error(target: Target | FunctionLike) -> float:
    """Smallest error of any linear (kernel) method in this regime: what is left of σ* beyond degree one."""
    from ...model import as_target

    target = as_target(target)
    law = binary_law(target)
    moments = target_moments(target.function if law is None else law.function())
    return moments.square - moments.first**2 - moments.mean**2


def label_moments(target: Target) -> TargetMoments:
    """Hermite coefficients of the labels that the step sees, additive noise apart."""
    law = binary_law(target)
    return target_moments(target.function) if law is None else TargetMoments(*law.hermite(), 1.0)


def initial_output(activation: Function, letters: Letters) -> float:
    """The network's mean output before the step, f0 = ℓ̄ E σ(z + bias)."""
    if letters.biases is None:
        return float(np.dot(letters.values, letters.weights)) * activation_moments(activation).mean
    means = [activation_moments(activation, bias).mean for bias in letters.biases]
    return float(np.dot(np.multiply(letters.values, letters.weights), means))


class Step(NamedTuple):
    """What decides the step: the network's activation and letters, the target, and the loss that is descended."""

    activation: Function
    letters: Letters
    target: Target
    loss: Loss

    @classmethod
    def of(cls, net: Network, target: Target, letters: Letters | None = None) -> Step:
        """That of a network; `letters` stand for its own where those have been merged."""
        return cls(
            net.activation, net.readout if letters is None else letters, target, as_loss(net.step_loss)
        )

    @property
    def output(self) -> float:
        """f0, the network's mean output at initialisation."""
        return initial_output(self.activation, self.letters)


class Residual(NamedTuple):
    """Averages [U] of the residual e that the step follows."""

    mean: np.ndarray  # E e
    first: np.ndarray  # E ze
    second: np.ndarray  # E (z² - 1)e
    square: np.ndarray  # E e²


def residual_moments(step: Step, noise: np.ndarray, moved: float = 0.0) -> Residual:
    """Moments of e = -∂ℓ(y, f0), which is y - f0 for the square loss; f0 may be `moved`."""
    if step.loss.name == "square":
        star, f0 = label_moments(step.target), step.output + moved
        square = star.square - 2.0 * f0 * star.mean + f0**2 + noise**2
        mean, first, second = (np.full_like(noise, x) for x in (star.mean - f0, star.first, star.second))
        return Residual(mean, first, second, square)
    levels, place = np.unique(noise, return_inverse=True)
    laws = [
        residuals(label_batch(step.target, float(x), _NODES), step.loss, step.output + moved)[0]
        for x in levels
    ]
    moments = [[law.mean(law.e), law.mean(law.e, 1), law.mean(law.e, 2), law.mean(law.e**2)] for law in laws]
    mean, first, second, square = np.array(moments)[place, :, 0].T
    return Residual(mean, first, second - mean, square)


def first_layer(
    step: Step, *, eta: np.ndarray, alpha0: np.ndarray, beta: np.ndarray, noise: np.ndarray
) -> FirstLayer:
    """Result 1 for arrays [U] of parameters and any letters; without a step (η = 0 or α0 = 0), r = 0 and c = 1.

    The step follows the residual e = y - f0, f0 being the network's mean output at initialisation. Its mean
    component along the rows, h2·E[e], rescales them; its sampling noise inflates them by E[e²]/α0; its
    correlation with the input is the spike. For odd activations f0 = h2 = 0 and this is the paper's mapping.
    """
    e = residual_moments(step, noise)
    stepped = (eta > 0) & (alpha0 > 0)
    per_sample = 1.0 / np.where(stepped, alpha0, np.inf)  # 1/α0; 0 at α0 = ∞
    rate = np.where(stepped, eta / beta, 0.0)[:, None]
    length = np.sqrt(e.square * per_sample + e.first**2)  # norm of the gradient's direction
    gamma = np.where(stepped & (length > 0), e.first / np.where(length > 0, length, 1.0), 0.0)
    each = _letter_moments(step.activation, step.letters)
    h1, h2, spread = (np.array(values) for values in zip(*each, strict=True))
    k = rate * np.asarray(step.letters.values)
    c = (1.0 + k * h2 * e.mean[:, None]) ** 2 + k**2 * spread * (e.square * per_sample)[:, None]
    return FirstLayer(rate * h1 * length[:, None], gamma, c)


def common_drag(
    step: Step, *, eta: np.ndarray, alpha0: np.ndarray, beta: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """What the step takes away of the rows that groups have in common, [U, K, K]: an effect of order 1/d.

    The initial output f = Σ ℓ_i σ(w_i·x)/p has the linear part Σ_t n_t ℓ_t h1_t w̄_t·x, w̄_t being the mean row of
    group t and n_t its share of the neurons. The step descends on the residual, so it moves all rows against it:
    w̄_s → w̄_s - Σ_t D_st w̄_t with D_st = k ℓ_s h1_s n_t ℓ_t h1_t and k = η/β (times the mean curvature of the
    step's loss). Neurons then share less noise along the all-ones directions than drawn ones would.
    """
    letters = step.letters
    h1 = np.array([first for first, *_ in _letter_moments(step.activation, letters)])
    low, high = (residual_moments(step, noise, moved).mean for moved in (-_NUDGE, _NUDGE))
    curvature = (low - high) / (2.0 * _NUDGE)
    rate = np.where((eta > 0) & (alpha0 > 0), eta / beta, 0.0)
    slopes = h1 * np.asarray(letters.values)
    return (rate * curvature)[:, None, None] * np.outer(slopes, slopes * np.asarray(letters.weights))


def _letter_moments(activation: Function, letters: Letters) -> list[tuple[float, float, float]]:
    """(h1, h2, spread) of each letter, at its bias."""
    biases = letters.biases or (0.0,) * len(letters.values)
    return [activation_moments(activation, bias)[1:] for bias in biases]


def warn_if_poor(step: Step, layer: FirstLayer, eta: np.ndarray, beta: np.ndarray, noise: np.ndarray) -> None:
    """Warn once where an isotropic bulk is a poor model of a network whose activation is not odd.

    Two numbers decide: how much the rows' squared norms exceed their common rescaling, and how strongly the
    step stretches the rows along the target (through the second Hermite coefficients of both functions).
    """
    if step.activation.parity == "odd":
        return
    e = residual_moments(step, noise)
    h2 = np.array([moments[1] for moments in _letter_moments(step.activation, step.letters)])
    k = (eta / beta)[:, None] * np.asarray(step.letters.values) * (layer.r != 0.0)
    shrink = 1.0 + k * h2 * e.mean[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.nanmax(layer.c / shrink**2 - 1.0)
        stretch = np.nanmax(np.abs(k * h2 * e.second[:, None] / shrink))
    if max(excess, stretch) > _POOR:
        warnings.warn(
            f"the isotropic model of this {step.activation.name} network is rough here: its rows are inflated by"
            f" {excess:.2g} and stretched along the target by {stretch:.2g} (both should be well below 0.1);"
            " name bulk='isotropic' to use the paper's model without this warning",
            GiantstepWarning,
            stacklevel=5,
        )


def equivalent(net: Network, target: Target) -> SpikedRF:
    """The spiked random features model with the network's spike, alignment and row norms."""
    from ...grid import Grid
    from ...model import Letters, SpikedRF

    grid = Grid(net.numbers() | {"noise": target.noise})
    dims = grid.dims
    letters = net.readout
    flat = {name: grid.over(name, dims).reshape(-1) for name in net.shaping}
    layer = first_layer(Step.of(net, target), **flat)
    if letters.uniform:
        r, gamma, c = (grid.labelled(values) for values in (layer.r[:, 0], layer.gamma, layer.c[:, 0]))
        return SpikedRF(net.activation, r=r, gamma=gamma, c=c, beta=net.beta)
    if dims:
        raise ParameterError(
            "equivalent() of a network with letters takes one setting: give numbers, not arrays"
        )
    # biases change the slope that each letter's spike goes through: carry that in the letters' values
    unit = float(np.abs(layer.r[0]).max()) or 1.0
    values = layer.r[0] / unit * np.asarray(letters.values)
    spikes = Letters(tuple(values), letters.weights, letters.biases, tuple(layer.c[0]))
    return SpikedRF(net.activation, r=unit, gamma=float(layer.gamma[0]), beta=net.beta, readout=spikes)

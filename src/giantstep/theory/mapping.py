"""Result 1: the first layer after the step. From a network and a target to spike, alignment and row norms."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import GiantstepWarning, ParameterError
from ..gaussian import expectation, tail_reach

if TYPE_CHECKING:
    from ..functions import Function
    from ..model import Network, SpikedRF, Target


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
    """Spike strength r per unit letter [U], alignment γ [U], squared row norms c of each letter [U, K]."""

    r: np.ndarray
    gamma: np.ndarray
    c: np.ndarray


@lru_cache(maxsize=256)
def activation_moments(f: Function) -> ActivationMoments:
    """Hermite coefficients of an activation; it must have a derivative, because the step goes through it."""
    slope = f.derivative
    tail_reach(f, 1.0)

    def integrand(z: np.ndarray) -> np.ndarray:
        value, rate = f(z), slope(z)
        return np.stack([value, z * value, z * rate, rate * rate])

    mean, h1, h2, square = expectation(integrand, f.breakpoints)
    return ActivationMoments(float(mean), float(h1), float(h2), float(square - h1**2))


@lru_cache(maxsize=256)
def target_moments(f: Function) -> TargetMoments:
    """Hermite coefficients of a target; one of infinite variance is an error."""
    tail_reach(f, 1.0)

    def integrand(z: np.ndarray) -> np.ndarray:
        value = f(z)
        return np.stack([value, z * value, (z * z - 1.0) * value, value * value])

    return TargetMoments(*map(float, expectation(integrand, f.breakpoints)))


def linear_error(target: Target) -> float:
    """Smallest error of any linear (kernel) method in this regime: what is left of σ* beyond degree one."""
    moments = target_moments(target.function)
    return moments.square - moments.first**2 - moments.mean**2


def first_layer(
    net: Network, target: Target, eta: np.ndarray, alpha0: np.ndarray, beta: np.ndarray, noise: np.ndarray
) -> FirstLayer:
    """Result 1 for arrays [U] of parameters and any letters; without a step (η = 0 or α0 = 0), r = 0 and c = 1.

    The step follows the residual e = y - f0, f0 being the network's mean output at initialisation. Its mean
    component along the rows, h2·E[e], rescales them; its sampling noise inflates them by E[e²]/α0; its
    correlation with the input is the spike. For odd activations f0 = h2 = 0 and this is the paper's mapping.
    """
    sigma, star = activation_moments(net.activation), target_moments(target.function)
    letters, weights = np.asarray(net.readout.values), np.asarray(net.readout.weights)
    f0 = float(letters @ weights) * sigma.mean
    mean_e = star.mean - f0
    square_e = star.square - 2.0 * f0 * star.mean + f0**2 + noise**2
    stepped = (eta > 0) & (alpha0 > 0)
    per_sample = 1.0 / np.where(stepped, alpha0, np.inf)  # 1/α0; 0 at α0 = ∞
    rate = np.where(stepped, eta / beta, 0.0)
    length = np.sqrt(square_e * per_sample + star.first**2)  # norm of the gradient's direction
    gamma = np.where(stepped & (length > 0), star.first / np.where(length > 0, length, 1.0), 0.0)
    k = rate[:, None] * letters
    c = (1.0 + k * sigma.h2 * mean_e) ** 2 + k**2 * sigma.spread * (square_e * per_sample)[:, None]
    return FirstLayer(rate * sigma.h1 * length, gamma, c)


def warn_if_poor(net: Network, target: Target, layer: FirstLayer, eta: np.ndarray, beta: np.ndarray) -> None:
    """Warn once where an isotropic bulk is a poor model of a network whose activation is not odd.

    Two numbers decide: how much the rows' squared norms exceed their common rescaling, and how strongly the
    step stretches the rows along the target (through the second Hermite coefficients of both functions).
    """
    if net.activation.parity == "odd":
        return
    sigma, star = activation_moments(net.activation), target_moments(target.function)
    letters, weights = np.asarray(net.readout.values), np.asarray(net.readout.weights)
    k = (eta / beta)[:, None] * letters * (layer.r != 0.0)[:, None]
    shrink = 1.0 + k * sigma.h2 * (star.mean - float(letters @ weights) * sigma.mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.nanmax(layer.c / shrink**2 - 1.0)
        stretch = np.nanmax(np.abs(k * sigma.h2 * star.second / shrink))
    if max(excess, stretch) > _POOR:
        warnings.warn(
            f"the isotropic model of this {net.activation.name} network is rough here: its rows are inflated by"
            f" {excess:.2g} and stretched along the target by {stretch:.2g} (both should be well below 0.1);"
            " name bulk='isotropic' to use the paper's model without this warning",
            GiantstepWarning,
            stacklevel=4,
        )


def equivalent(net: Network, target: Target) -> SpikedRF:
    """The spiked random features model with the network's spike, alignment and row norms."""
    from ..grid import Grid
    from ..model import Letters, SpikedRF

    grid = Grid({"eta": net.eta, "alpha0": net.alpha0, "beta": net.beta, "noise": target.noise})
    dims, shape = grid.dims, grid.shape
    flat = (grid.over(name, dims).reshape(-1) for name in ("eta", "alpha0", "beta", "noise"))
    layer = first_layer(net, target, *flat)
    letters, c = net.readout, layer.c[:, 0]
    if not letters.uniform:
        if dims:
            raise ParameterError(
                "equivalent() of a network with letters takes one setting: give numbers, not arrays"
            )
        letters = Letters(letters.values, letters.weights, letters.biases, tuple(layer.c[0]))

    def labelled(values: np.ndarray) -> object:
        if not dims:
            return float(values[0])
        import xarray as xr

        coords = {d: getattr(net, d, None) for d in dims}
        coords = {d: v for d, v in coords.items() if isinstance(v, np.ndarray)}
        return xr.DataArray(values.reshape(shape), dims=dims, coords=coords)

    r, gamma, c = labelled(layer.r), labelled(layer.gamma), labelled(c)
    return SpikedRF(net.activation, r=r, gamma=gamma, c=c, beta=net.beta, readout=letters)  # type: ignore[arg-type]

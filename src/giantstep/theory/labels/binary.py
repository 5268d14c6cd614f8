"""Binary labels: the sign of a function of z + noise, with random flips.

Labels drawn with probability sigmoid(s·z) fit in too: the logistic distribution is a mixture of normal ones
(of standard deviation 2k, k having Kolmogorov's distribution), so they are signs with latent noise whose
strength is drawn at random. Every average over a Gaussian field is then a sum of Φ's: no jump is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ParameterError
from ...functions import Function
from ...gaussian import both_below, ndtr
from ..symmetric import TINY

if TYPE_CHECKING:
    from ...model.target import Target

_MIXTURE = 28  # normal laws that make up a logistic one: sigmoid to 1e-14 everywhere
_RANGE = (0.16, 4.4)  # of k; Kolmogorov's density is below 1e-15 outside
_FAR = 40.0  # standard deviations at which a density is no more
_ROUNDING = 1e-12  # of a place where a target changes sign
_SPAN, _STEP = 12.0, 1e-3  # where sign changes of a target are looked for, and how close they may lie


@dataclass(frozen=True)
class BinaryLaw:
    """Y = ±1: sign `first` left of all `cuts` and alternating, seen at z + noise, wrong with chance `flips`."""

    cuts: tuple[float, ...]
    first: float
    flips: float = 0.0
    noise: tuple[float, ...] = (0.0,)  # standard deviations of the latent noise,
    weights: tuple[float, ...] = (1.0,)  # and how often each occurs

    @property
    def clean(self) -> BinaryLaw:
        """The same without flips and noise: what a test compares with."""
        return BinaryLaw(self.cuts, self.first)

    def expectation(self, mean: np.ndarray, variance: np.ndarray, derivatives: int = 1) -> np.ndarray:
        """E[Y] for z ~ N(mean, variance), and its first one or two derivatives in the mean."""
        shape = np.broadcast_shapes(np.shape(mean), np.shape(variance))
        found = np.zeros((1 + derivatives, *shape))
        for noise, weight in zip(self.noise, self.weights, strict=True):
            inverse = 1.0 / np.sqrt(np.maximum(variance + noise**2, TINY))
            jump = -2.0 * self.first * weight * (1.0 - 2.0 * self.flips)
            for cut in self.cuts:
                x = np.clip((mean - cut) * inverse, -_FAR, _FAR)
                density = np.exp(-0.5 * x * x) * (jump / np.sqrt(2.0 * np.pi)) * inverse
                found[0] += jump * ndtr(x)
                found[1] += density
                if derivatives > 1:
                    found[2] -= density * x * inverse
                jump = -jump
        found[0] += self.first * (1.0 - 2.0 * self.flips)
        return found

    def chance(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P(Y = +1) for z ~ N(mean, variance), and its derivative in the mean."""
        value, slope = self.expectation(mean, variance)
        return 0.5 * (1.0 + value), 0.5 * slope

    def up_below(self, h: np.ndarray, mean: np.ndarray, variance: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """P(Y = +1, x < h) for a standard normal x and z ~ N(mean, variance) that have that covariance."""
        trust = self.first * (1.0 - 2.0 * self.flips)
        below = ndtr(h)
        total = trust * below  # E[Y; x < h]
        for noise, weight in zip(self.noise, self.weights, strict=True):
            scale = np.sqrt(np.maximum(variance + noise**2, TINY))
            jump = -2.0 * weight * trust
            for cut in self.cuts:
                total = total + jump * both_below(h, (mean - cut) / scale, -covariance / scale)
                jump = -jump
        return 0.5 * (below + total)

    def moments(self, gamma: np.ndarray, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E Y [U, N], E[yY] [U, 1, N] and E Y² given κ, for z = γκ + √(1-γ²) y."""
        rho_square = np.maximum(0.0, 1.0 - gamma**2)[:, None]
        mean, slope = self.expectation(gamma[:, None] * kappa, rho_square)
        return mean, (np.sqrt(rho_square) * slope)[:, None], np.ones_like(mean)

    def function(self) -> Function:
        """The clean label as a function of z, with its jumps."""
        return _label_function(self.cuts, self.first)


@lru_cache
def _label_function(cuts: tuple[float, ...], first: float) -> Function:
    return Function(partial(_alternating, cuts, first), breakpoints=cuts, name="label")


def _alternating(cuts: tuple[float, ...], first: float, z: np.ndarray) -> np.ndarray:
    """±1 with sign `first` left of all cuts."""
    return first * (1.0 - 2.0 * (np.searchsorted(cuts, z) % 2))


def binary_law(target: Target) -> BinaryLaw | None:
    """The law of a target's labels where they are ±1; None for real labels."""
    if not target.binary or target.directions > 1:
        return None
    return BinaryLaw(*_sign_changes(target.function), target.flips, *latent_noises(target))


def latent_noises(target: Target) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Standard deviations of the noise before the sign, and how often each occurs."""
    if target.scale is None:
        return (target.latent_noise,), (1.0,)
    k, weights = _kolmogorov()
    noise = np.hypot(2.0 * k / target.scale, target.latent_noise)
    return tuple(noise.tolist()), tuple(weights.tolist())


@lru_cache
def _sign_changes(f: Function) -> tuple[tuple[float, ...], float]:
    """Where f changes sign, and its sign on the far left. Changes closer than 1e-3 to each other are not seen."""
    grid = np.arange(-_SPAN, _SPAN + _STEP, _STEP) + 0.317 * _STEP  # no grid point on a round number
    edges = np.sort(np.concatenate([grid, *([b - _ROUNDING, b + _ROUNDING] for b in f.breakpoints if abs(b) < _SPAN)]))
    signs = np.sign(np.asarray(f(edges), float))
    known = signs != 0
    if not known.any():
        raise ParameterError(f"target {f.name!r} vanishes everywhere, so its sign is no label")
    edges, signs = edges[known], signs[known]
    at = np.flatnonzero(signs[1:] != signs[:-1])
    low, high, left = edges[at].copy(), edges[at + 1].copy(), signs[at]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.sign(np.asarray(f(middle), float)) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    cuts = 0.5 * (low + high)
    cuts[np.abs(cuts) < _ROUNDING] = 0.0
    return tuple(cuts.tolist()), float(signs[0])


@lru_cache
def _kolmogorov() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for averages over Kolmogorov's distribution: trapezoidal in ln k, where it is smooth.

    Its density falls off faster than any power on both sides, so the rule converges geometrically.
    """
    t = np.linspace(float(np.log(_RANGE[0])), float(np.log(_RANGE[1])), _MIXTURE)
    k = np.exp(t)
    j = np.arange(1, 40)[:, None]
    large = 8.0 * k * ((-1.0) ** (j + 1) * j**2 * np.exp(-2.0 * j**2 * k**2)).sum(axis=0)
    exponent = ((2 * j - 1) * np.pi / k) ** 2 / 8.0
    small = np.sqrt(2.0 * np.pi) / k**2 * ((2.0 * exponent - 1.0) * np.exp(-exponent)).sum(axis=0)
    weights = np.asarray(np.where(k < 1.0, small, large) * k * float(t[1] - t[0]), dtype=float)
    return k, weights / weights.sum()

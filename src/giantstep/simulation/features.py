"""The input of the readout: the features σ(Fx + b), or their Gaussian equivalents (Result 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from .. import gaussian
from ..functions import Function
from ..functions.chebyshev import through
from ..model.spiked import SpikedRF
from ..model.target import Target
from .backend import Backend
from .data import Block
from .draw import Draws, Kind
from .exact_error import Coefficients, gaussian_error, network_error
from .gradient_step import Weights, preactivations


@dataclass(frozen=True)
class NetworkFeatures:
    """φ = σ(Fx + b) [rows, p] of a block of samples: what the network computes."""

    layer: Weights
    activation: Function
    backend: Backend

    def __call__(self, block: Block, batch: int) -> Any:
        fields = preactivations(self.layer.rows, self.layer.biases, block.inputs, self.backend)
        return self.activation(fields)

    def exact_error(
        self, target: Target, readouts: Any, statistics: dict[str, np.ndarray]
    ) -> np.ndarray | None:
        """Test errors [columns] of readouts [p, columns] without samples; None where these are cheaper, or needed."""
        clean, rows = _clean_function(target), self.layer.rows
        longest = math.sqrt(float(self.backend.xp.max(self.backend.xp.vecdot(rows, rows))))
        shift = 0.0 if self.layer.biases is None else float(self.backend.xp.max(abs(self.layer.biases)))
        if clean is None or not gaussian.is_resolvable(self.activation, gaussian.round_up(longest), shift):
            return None
        return network_error(self.layer, self.activation, clean, readouts, self.backend)


@dataclass(frozen=True)
class GaussianFeatures:
    """The equivalent of Result 2: φ = μ0(κ) 1 + μ1(κ) Wx + μ2(κ) ξ letter by letter, fresh ξ ~ N(0, I_p).

    κ = v·x, and Wx includes the part along v: W x = κ Wv + W x⊥.
    """

    layer: Weights
    coefficients: Coefficients
    draws: Draws

    def __call__(self, block: Block, batch: int) -> Any:
        layer, backend = self.layer, self.draws.backend
        kappa = backend.matmul(block.inputs, layer.v[0])
        features = backend.matmul(block.inputs, layer.rows.T)
        features -= kappa[:, None] * backend.asarray(layer.spike[0])[None, :]
        stop = block.start + features.shape[0]
        noise = self.draws.normal(batch, Kind.FEATURE_NOISE, block.start, stop, features.shape[1])
        per_letter = zip(*self.coefficients(backend.numpy(kappa)), layer.groups, strict=True)
        for mu0, mu1, mu2, group in per_letter:
            mu0, mu1, mu2 = (backend.asarray(mu)[:, None] for mu in (mu0, mu1, mu2))
            features[:, group] = mu0 + mu1 * features[:, group] + mu2 * noise[:, group]
        return features

    def exact_error(
        self, target: Target, readouts: Any, statistics: dict[str, np.ndarray]
    ) -> np.ndarray | None:
        """Test errors [columns], from the statistics of the readouts."""
        clean = _clean_function(target)
        return None if clean is None else gaussian_error(self.layer, self.coefficients, clean, statistics)


FeatureMap = NetworkFeatures | GaussianFeatures


def _clean_function(target: Target) -> Function | None:
    """The noiseless target as a function of one projection.

    None for targets of several directions, for the sign of something, and if it varies too fast to be averaged.
    """
    sign = target.binary and not Target(target.function).binary  # not a function that is ±1 itself
    if target.directions > 1 or sign or not gaussian.is_resolvable(target.function, 1.0):
        return None
    return target.function


@dataclass(frozen=True)
class ResultTwo:
    """The coefficients of Result 2 for spiked random features: averages over z ~ N(0, c_s) at fixed κ.

    μ0 = E σ(z + u_s κ + b_s), μ1 = E[z σ]/c_s, μ2² = E σ² - μ0² - c_s μ1². They are smooth functions of κ, smoothed
    on the scale √c_s/u_s: averaged on Chebyshev points of |κ| ≤ 9 once, and interpolated from there.
    """

    model: SpikedRF

    def __call__(self, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = np.clip(kappa / gaussian.REACH, -1.0, 1.0)
        mu0, mu1, mu2_squared = (chebyshev.chebval(x, rows) for rows in self._table)
        return mu0, mu1, np.sqrt(np.maximum(mu2_squared, 0.0))

    @cached_property
    def _table(self) -> np.ndarray:
        """Chebyshev coefficients of mu0, mu1, mu2²: [3, degree, letters]."""
        letters = self.model.readout
        values = float(self.model.r) * np.asarray(letters.values)  # type: ignore[arg-type]
        biases = np.asarray(letters.biases or np.zeros(len(values)))
        scales = np.sqrt(np.asarray(letters.c or np.full(len(values), self.model.c), dtype=float))
        degree = 24 + math.ceil(
            gaussian.REACH * 9 * float(np.abs(values / scales).max())
        )  # as for a Gaussian blur
        points, to_series = through(degree + 1)
        nodes = gaussian.REACH * points[:, None]
        averages, _ = gaussian.moments(self.model.activation, values * nodes + biases, scales)
        sampled = np.stack([averages.mean, averages.first / scales, averages.remainder])
        return np.einsum("ij,qjs->qis", to_series, sampled)

"""The Gaussian equivalents of features (Result 2), and test errors without samples of either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import gaussian
from ..model.spiked import SpikedRF
from ..model.target import Target
from .data import Block
from .draw import Draws, Kind
from .exact_error import Coefficients, gaussian_error, network_error
from .gradient_step import Weights


@dataclass(frozen=True)
class GaussianFeatures:
    """The equivalent of Result 2: φ = μ0(κ) 1 + μ1(κ) Wx + μ2(κ) ξ letter by letter, fresh ξ ~ N(0, I_p).

    κ = v·x, and Wx includes the part along v: W x = κ Wv + W x⊥.
    """

    layer: Weights
    coefficients: Coefficients
    draws: Draws

    def __call__(self, block: Block) -> Any:
        layer, backend = self.layer, self.draws.backend
        kappa = backend.matmul(block.inputs, layer.v[0])
        features = backend.matmul(block.inputs, layer.rows.T)
        features -= kappa[:, None] * backend.asarray(layer.spike[0])[None, :]
        stop = block.start + features.shape[0]
        noise = self.draws.normal(block.batch, Kind.FEATURE_NOISE, block.start, stop, features.shape[1])
        per_letter = zip(*self.coefficients(backend.numpy(kappa)), layer.groups, strict=True)
        for mu0, mu1, mu2, group in per_letter:
            mu0, mu1, mu2 = (backend.asarray(mu)[:, None] for mu in (mu0, mu1, mu2))
            features[:, group] = mu0 + mu1 * features[:, group] + mu2 * noise[:, group]
        return features


def exact_error(
    features: Weights | GaussianFeatures, target: Target, readouts: Any, statistics: dict[str, np.ndarray]
) -> np.ndarray | None:
    """Test errors [columns] of readouts [p, columns] without samples; None where these are cheaper, or needed.

    They are needed for targets of several directions, for the sign of something, and if the target varies too fast to
    be averaged. Errors of Gaussian features follow from the statistics of the readouts.
    """
    sign = target.binary and not Target(target.function).binary  # not a function that is ±1 itself
    if target.directions > 1 or sign or not gaussian.is_resolvable(target.function, 1.0):
        return None
    if isinstance(features, GaussianFeatures):
        return gaussian_error(features.layer, features.coefficients, target.function, statistics)
    rows, biases, xp = features.rows, features.biases, features.backend.xp
    longest = math.sqrt(float(xp.max(xp.vecdot(rows, rows))))
    shift = 0.0 if biases is None else float(xp.max(abs(biases)))
    resolvable = gaussian.is_resolvable(features.activation, gaussian.round_up(longest), shift)
    return network_error(features, target.function, readouts) if resolvable else None


@dataclass(frozen=True)
class ResultTwo:
    """The coefficients of Result 2 for spiked random features: averages over z ~ N(0, c_s) at fixed κ.

    μ0 = E σ(z + u_s κ + b_s), μ1 = E[z σ]/c_s, μ2² = E σ² - μ0² - c_s μ1².
    """

    model: SpikedRF

    def __call__(self, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        letters = self.model.readout
        spikes = float(self.model.r) * np.asarray(letters.values)[:, None]  # type: ignore[arg-type]
        biases = np.asarray(letters.biases or np.zeros(len(spikes)))[:, None]
        c = np.asarray(letters.c or np.full(len(spikes), self.model.c), dtype=float)[:, None]
        shifts = spikes * kappa + biases
        scales = np.broadcast_to(np.sqrt(c), shifts.shape)
        averages, _ = gaussian.moments(self.model.activation, shifts, scales)
        return averages.mean, averages.first / scales, np.sqrt(np.maximum(averages.remainder, 0.0))

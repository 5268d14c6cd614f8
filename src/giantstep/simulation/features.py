"""What the readout sees of a sample: the features σ(Fx + b), or their Gaussian equivalents (Result 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import gaussian
from ..functions import Function
from ..model import SpikedRF
from .backend import Backend
from .data import Block
from .draw import Batch, Draws, Kind
from .layer import Layer, preactivations

Coefficients = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""From kappa [rows] to mu0, mu1, mu2, each [letters, rows]."""


class Features(Protocol):
    """A map from a block of samples to features [rows, p]."""

    def __call__(self, block: Block, batch: Batch) -> Any: ...


@dataclass(frozen=True)
class NetworkFeatures:
    """φ = σ(Fx + b): what the network computes."""

    layer: Layer
    activation: Function
    backend: Backend

    def __call__(self, block: Block, batch: Batch) -> Any:
        fields = preactivations(self.layer.rows, self.layer.biases, block.inputs, self.backend)
        return self.backend.apply(self.activation, fields)


@dataclass(frozen=True)
class GaussianFeatures:
    """The equivalent of Result 2: φ = μ0(κ) 1 + μ1(κ) Wx + μ2(κ) ξ letter by letter, fresh ξ ~ N(0, I_p).

    κ = v·x, and Wx includes the part along v: W x = κ Wv + W x⊥.
    """

    layer: Layer
    coefficients: Coefficients
    draws: Draws

    def __call__(self, block: Block, batch: Batch) -> Any:
        layer, backend = self.layer, self.draws.backend
        kappa = backend.matmul(block.inputs, layer.v)
        features = backend.matmul(block.inputs, layer.rows.T)
        features -= kappa[:, None] * backend.asarray(layer.spike)[None, :]
        stop = block.start + features.shape[0]
        noise = self.draws.normal(batch, Kind.FEATURE_NOISE, block.start, stop, features.shape[1])
        per_letter = zip(*self.coefficients(backend.numpy(kappa)), layer.groups, strict=True)
        for mu0, mu1, mu2, group in per_letter:
            mu0, mu1, mu2 = (backend.asarray(mu)[:, None] for mu in (mu0, mu1, mu2))
            features[:, group] = mu0 + mu1 * features[:, group] + mu2 * noise[:, group]
        return features


@dataclass(frozen=True)
class ResultTwo:
    """The coefficients of Result 2 for spiked random features: averages over z ~ N(0, c_s) at fixed κ.

    μ0 = E σ(z + u_s κ + b_s), μ1 = E[z σ]/c_s, μ2² = E σ² - μ0² - c_s μ1².
    """

    model: SpikedRF

    def __call__(self, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        letters, r = self.model.readout, float(self.model.r)  # type: ignore[arg-type]
        count = len(letters.values)
        scale = np.sqrt(np.asarray(letters.c or (self.model.c,) * count, dtype=float))[:, None]
        shift = (
            r * np.asarray(letters.values)[:, None] * kappa
            + np.asarray(letters.biases or (0.0,) * count)[:, None]
        )
        averages, _ = gaussian.moments(self.model.activation, shift, np.broadcast_to(scale, shift.shape))
        return averages.mean, averages.first / scale, np.sqrt(averages.remainder)

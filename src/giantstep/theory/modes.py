"""The few directions that carry signal, by name: one table that equations, bulks and outliers read.

Given κ, features are Σ f_j(κ) e_j + μ1(κ) Wx⊥ + noise. The mean part has the *modes* e in neuron space

    ones_s   1_s         function μ0        coefficient m_s of the readout
    spike    W_s d̂_j     κ_j μ1             ζ_js          one for each direction that the spikes span
    norm     δ_s         ∂μ0/∂c             χ_s           where squared row norms fluctuate by δ
    bias     b_s         μ1                 ν_s           where neurons have biases b of order d^-½
    signal   W_s ê_m     (none: μ1 y_m)     ψ_ms          one for each direction of the target

each of them once per group s. The bulk answers on all of them but the ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .features import Features


@dataclass(frozen=True)
class Modes:
    """How many there are of each kind."""

    spikes: int = 1
    signals: int = 1
    norms: int = 0
    biases: int = 0

    # places among the bulk's modes: spikes, then signals, then what neurons have of their own: norm and bias

    @property
    def count(self) -> int:
        return self.spikes + self.signals + self.norms + self.biases

    @property
    def signal(self) -> slice:
        return slice(self.spikes, self.spikes + self.signals)

    @property
    def own(self) -> slice:
        """Norm and bias."""
        return slice(self.spikes + self.signals, self.count)

    @cached_property
    def mean(self) -> np.ndarray:
        """Those that have a function of κ of their own: all but the signals."""
        return np.concatenate(
            [np.arange(self.spikes), self.spikes + self.signals + np.arange(self.norms + self.biases)]
        )

    # places among the means: the ones, then spikes, norm and bias

    @property
    def means(self) -> int:
        return 1 + self.spikes + self.norms + self.biases

    @property
    def mean_spike(self) -> slice:
        return slice(1, 1 + self.spikes)

    @property
    def mean_norm(self) -> slice:
        return slice(1 + self.spikes, 1 + self.spikes + self.norms)

    @property
    def mean_bias(self) -> slice:
        return slice(1 + self.spikes + self.norms, self.means)


ONE = Modes()
"""One spike, one direction of the target, row norms that do not fluctuate, no biases."""


def mean_functions(features: Features, modes: Modes) -> np.ndarray:
    """The functions of κ that go with the means, [U, means·K, N]."""
    along = [features.kappa[:, [j]] * features.mu1 for j in range(features.kappa.shape[1])]
    own = [features.dmu0] * modes.norms + [features.mu1] * modes.biases
    return np.concatenate([features.mu0, *along, *own], axis=1)

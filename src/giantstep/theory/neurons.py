"""What stays the same through all steps: the activation, the letters, and how rows are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .layer import FirstLayer, Frame
from .modes import Modes

if TYPE_CHECKING:
    from ..functions import Function
    from ..letters import Letters
    from .derivative_moments import DerivativeMoments


@dataclass(frozen=True)
class Neurons:
    """What stays the same through all steps: activation and letters; and rows that start with squared norm 1."""

    activation: Function
    letters: Letters
    spread: float = 0.0  # d·Var |w|² of the initial rows
    bias_spread: float = 0.0  # d·Var b of biases of order d^-½, besides those of the letters

    @property
    def values(self) -> np.ndarray:
        return np.asarray(self.letters.values)

    @property
    def weights(self) -> np.ndarray:
        return np.asarray(self.letters.weights)

    @property
    def biases(self) -> np.ndarray:
        return np.asarray(self.letters.biases or (0.0,) * len(self.letters.values))

    def output(self, moments: DerivativeMoments) -> np.ndarray:
        """The network's own output at each node, Σ_s n_s ℓ_s E σ, [U or 1, n]."""
        return np.einsum("s,...sn->...n", self.weights * self.values, moments.mean)

    def modes(self, frame: Frame) -> Modes:
        """Those of trained rows: every neuron has a norm, and maybe a bias, of its own."""
        return Modes(frame.spikes, frame.gamma.shape[1], norms=1, biases=int(self.bias_spread > 0.0))

    def drawn(self, settings: int, directions: int = 1) -> FirstLayer:
        """U first layers before any step: no spikes."""
        K = len(self.values)
        blank = np.zeros((settings, K, K))
        return FirstLayer(
            np.ones((settings, K)),
            blank,
            np.zeros((settings, K, directions)),
            np.zeros((settings, K)),
        )

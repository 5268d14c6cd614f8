"""What every bulk answers: one K×K resolvent, its derivative, and quadratic forms on a few vectors.

Groups s = 1..K of neurons with row covariances C_s/d; C = diag(C_s). All of the random-matrix theory depends
on one symmetric K×K matrix Ṽ = τ^½ V̂1 τ^½, τ = βV2, through

    T̂(Ṽ) = (1/d) tr (C⁻¹ + Ṽ)⁻¹        (blockwise trace: K×K),

its derivative, and the resolvent's quadratic forms Ĝ on the *modes* W_s d̂, W_s ê (and, for bulks whose row
norms fluctuate, δ_s): the few directions of neuron space that carry signal (`giantstep.theory.modes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from ..modes import Modes


class Resolvent(ABC):
    """A bulk at one Ṽ per grid point: arrays are [U, A, ...], U first layers × A readout settings each."""

    T: np.ndarray  # T̂, [U, A, K, K]
    Vt: np.ndarray  # Ṽ, same shape

    @property
    @abstractmethod
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """-dT̂ and d(T̂Ṽ) along each entry of Ṽ and its mirror image, [U, A, pairs, K, K]."""

    @abstractmethod
    def forms(self) -> np.ndarray:
        """Ĝ, [U, A, modes, K, modes, K]."""

    @abstractmethod
    def cotangent(self, u: np.ndarray) -> np.ndarray:
        """Gradient of uᵀĜu with respect to Ṽ, [U, A, K, K], at fixed u [U, A, modes, K]."""


class Bulk(ABC):
    """The bulk of U first layers."""

    weights: np.ndarray  # fraction of neurons in each group, [K]
    modes: Modes
    c: np.ndarray  # mean squared norm of each group's rows, (1/d) tr C_s, [U, K]

    @abstractmethod
    def resolvent(self, Vt: np.ndarray) -> Resolvent: ...

    @cached_property
    def free(self) -> Resolvent:
        """At Ṽ = 0, where T̂ = (1/d) tr C and forms on W_s ê are those of C_s itself; for any readout."""
        K = len(self.weights)
        return self.resolvent(np.zeros((len(self.c), 1, K, K)))

    def spread_along_signals(self) -> np.ndarray:
        """ê_mᵀC_sê_n, how far rows spread along what the spikes leave open of the target, [U, K, k, k]."""
        signals = self.modes.signal
        within = np.diagonal(self.free.forms()[:, 0, signals, :, signals], axis1=2, axis2=4)  # [U, k, k, K]
        return np.moveaxis(within, -1, 1)

    def rank(self) -> np.ndarray:
        """Dimensions that enough rows span, over d, [U]: all of them, unless some inputs are constant."""
        return np.ones(len(self.c))

    def norm_overlap(self) -> np.ndarray | None:
        """(1/d) tr C_s C_t [U, K, K], where the input's own fluctuation Var(xᵀC_s x/d) = 2 tr C_s²/d² counts."""
        return None

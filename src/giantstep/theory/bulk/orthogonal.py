"""The special bulk W = Π⊥: p = d neurons, one along each direction across the spikes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..modes import ONE, Modes
from .base import Bulk, Resolvent


@dataclass
class Orthogonal(Bulk):
    """Rows e_i projected across the spikes: they never mix, and none of them sees a spike's direction."""

    weights: np.ndarray  # [K]
    modes: Modes = ONE

    @property
    def c(self) -> np.ndarray:  # type: ignore[override]
        return np.ones((1, len(self.weights)))

    def resolvent(self, Vt: np.ndarray) -> OrthogonalResolvent:
        return OrthogonalResolvent(Vt, self.modes)


class OrthogonalResolvent(Resolvent):
    """W_s W_tᵀ = δ_st: T̂ = 1 whatever Ṽ is, W v̂ = 0, and each ê is spread evenly over the groups."""

    def __init__(self, Vt: np.ndarray, modes: Modes):
        self.Vt, self._modes = Vt, modes
        self.T = np.broadcast_to(np.eye(Vt.shape[-1]), Vt.shape)

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return np.zeros_like(dVt)

    def forms(self) -> np.ndarray:
        U, A, K, _ = self.T.shape
        count, signal = self._modes.count, self._modes.signal
        G = np.zeros((U, A, count, K, count, K))
        for mode in range(count)[signal]:
            G[:, :, mode, :, mode, :] = self.T
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return np.zeros_like(self.Vt)

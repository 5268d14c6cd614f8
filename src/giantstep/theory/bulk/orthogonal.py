"""The special bulk W = Π⊥: p = d neurons, one along each direction across the spike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..modes import Modes
from .base import Bulk, Resolvent


@dataclass
class Orthogonal(Bulk):
    """Rows e_i projected across the spike: they never mix, and none of them sees the spike's direction."""

    weights: np.ndarray  # [K]
    modes = Modes()

    @property
    def c(self) -> np.ndarray:  # type: ignore[override]
        return np.ones((1, len(self.weights)))

    def resolvent(self, Vt: np.ndarray) -> OrthogonalResolvent:
        return OrthogonalResolvent(Vt)


class OrthogonalResolvent(Resolvent):
    """W_s W_tᵀ = δ_st: T̂ = 1 whatever Ṽ is, W v̂ = 0, and ê is spread evenly over the groups."""

    def __init__(self, Vt: np.ndarray):
        self.Vt = Vt
        self.T = np.broadcast_to(np.eye(Vt.shape[-1]), Vt.shape)

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return np.zeros_like(dVt)

    def forms(self) -> np.ndarray:
        U, A, K, _ = self.T.shape
        G = np.zeros((U, A, 2, K, 2, K))
        G[:, :, 1, :, 1, :] = self.T
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return np.zeros_like(self.Vt)

"""The isotropic bulk of spiked random features: C_s = c_s I, everything in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..modes import ONE, Modes
from ..symmetric import product
from .base import Bulk, Resolvent


@dataclass
class Isotropic(Bulk):
    """Rows of group s uniform on the sphere of squared radius c_s: no direction is special, no norm varies."""

    c: np.ndarray  # [U, K]
    weights: np.ndarray  # [K]
    modes: Modes = ONE

    def resolvent(self, Vt: np.ndarray) -> IsotropicResolvent:
        return IsotropicResolvent(self.c, Vt, self.modes.count)

    def norm_overlap(self) -> np.ndarray:
        return self.c[:, :, None] * self.c[:, None, :]


class IsotropicResolvent(Resolvent):
    """T̂ = (C⁻¹ + Ṽ)⁻¹ with C = diag(c): for one group the Marchenko-Pastur law in disguise."""

    def __init__(self, c: np.ndarray, Vt: np.ndarray, modes: int):
        self.Vt, self._modes = Vt, modes
        C = c[:, None, :, None]
        if Vt.shape[-1] == 1:
            self._damped = 1.0 / (1.0 + C * Vt)
            self.T = C * self._damped
        else:
            root = np.sqrt(C)
            rootT = np.swapaxes(root, -1, -2)
            inner = np.linalg.inv(np.eye(c.shape[-1]) + root * Vt * rootT)
            self.T = root * inner * rootT
            self._damped = root * inner / rootT  # (1 + CṼ)⁻¹ = 1 - T̂Ṽ, free of cancellation

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return self.first_order(dVt)[0]

    def first_order(self, dVt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = self.T[:, :, None]
        moved = product(T, dVt)
        return product(moved, T), product(moved, self._damped[:, :, None])

    def forms(self) -> np.ndarray:
        U, A, K, _ = self.T.shape
        G = np.zeros((U, A, self._modes, K, self._modes, K), self.T.dtype)
        for mode in range(self._modes):  # directions are all alike, and orthogonal
            G[:, :, mode, :, mode, :] = self.T
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        Tu = product(u, self.T)  # T̂ is symmetric
        return -np.einsum("uams,uamt->uast", Tu, Tu)

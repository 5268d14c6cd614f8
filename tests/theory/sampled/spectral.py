"""A bulk given by eigenvalues: row covariances that are diagonal in one basis of input space.

With every C_s diagonal in that basis, the resolvent falls apart into K×K matrices, one for each direction i,

    P_i = (C_i⁻¹ + Ṽ)⁻¹,    C_i = diag_s(C_s,i),

and traces and forms are sums over i. Nothing about how the covariances came about is used, which makes this
bulk the independent check of the analytic one: draw a first batch, diagonalise, compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giantstep.theory.bulk import Bulk, Resolvent
from giantstep.theory.modes import Modes


@dataclass
class Spectral(Bulk):
    """Eigenvalues C [U, K, d]; modes as W_s y [U, modes, K, d]; those of the neurons' own have
    an independent part besides, of covariance `direct` [U, K, own, own]."""

    weights: np.ndarray
    C: np.ndarray
    y: np.ndarray
    direct: np.ndarray
    modes: Modes

    @property
    def c(self) -> np.ndarray:  # type: ignore[override]
        return self.C.mean(axis=-1)

    def resolvent(self, Vt: np.ndarray) -> SpectralResolvent:
        return SpectralResolvent(self, Vt)

    def norm_overlap(self) -> np.ndarray:
        return self.C @ np.swapaxes(self.C, -1, -2) / self.C.shape[-1]


class SpectralResolvent(Resolvent):
    """K×K resolvents of every direction, [U, A, d, K, K]."""

    def __init__(self, bulk: Spectral, Vt: np.ndarray):
        self.bulk, self.Vt = bulk, Vt
        root = np.sqrt(np.swapaxes(bulk.C, 1, 2))[:, None, :, :, None]
        rootT = np.swapaxes(root, -1, -2)
        inner = np.linalg.inv(np.eye(Vt.shape[-1]) + root * Vt[:, :, None] * rootT)
        self._P = root * inner * rootT
        self.T = self._P.mean(axis=2)
        U, A, d, K, _ = self._P.shape
        flat = self._P.reshape(U, A, d, K * K)
        pairs = (np.swapaxes(flat, -1, -2) @ flat / d).reshape(U, A, K, K, K, K)  # (s a)(t b), P is symmetric
        self._pairs = np.swapaxes(pairs, 3, 4).reshape(U, A, K * K, K * K)  # mean of P ⊗ P

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        flat = dVt.reshape(*dVt.shape[:3], -1)
        return (flat @ np.swapaxes(self._pairs, -1, -2)).reshape(dVt.shape)

    def forms(self) -> np.ndarray:
        y = self.bulk.y
        G = np.einsum("umsi,uaist,unti->uamsnt", y, self._P, y, optimize="greedy")
        return with_own(G, self.bulk.modes, self.bulk.direct)

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        driven = np.einsum("umsi,uams->uais", self.bulk.y, u, optimize="greedy")
        pulled = (self._P @ driven[..., None])[..., 0]
        return -np.einsum("uais,uait->uast", pulled, pulled)


def with_own(G: np.ndarray, modes: Modes, direct: np.ndarray) -> np.ndarray:
    """Forms [U, A, modes, K, modes, K] with the part of norms and biases that no row knows of, [U, K, own, own]."""
    for s in range(G.shape[3]):
        G[:, :, modes.own, s, modes.own, s] += direct[:, None, s]
    return G

"""A bulk given by covariance matrices themselves: groups whose row covariances have no common eigenvectors.

    P = (C⁻¹ + Ṽ ⊗ 1)⁻¹,    C = diag(C_s),

is one matrix over groups and directions of input space, [K·d, K·d]. As plain as it can be, and as slow: for checks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giantstep.theory.bulk import Bulk, Resolvent
from giantstep.theory.modes import Modes

from .spectral import with_own


@dataclass
class Dense(Bulk):
    """Symmetric roots of C [U, K, d, d]; modes as W_s y [U, modes, K, d], and `direct` as for `Spectral`."""

    weights: np.ndarray
    root: np.ndarray
    y: np.ndarray
    direct: np.ndarray
    modes: Modes

    @property
    def c(self) -> np.ndarray:  # type: ignore[override]
        return (self.root**2).sum(axis=(-1, -2)) / self.root.shape[-1]

    def resolvent(self, Vt: np.ndarray) -> DenseResolvent:
        return DenseResolvent(self, Vt)

    def norm_overlap(self) -> np.ndarray:
        C = self.root @ self.root
        return np.einsum("usij,utij->ust", C, C, optimize=True) / C.shape[-1]


class DenseResolvent(Resolvent):
    """P as blocks [U, A, K, K, d, d]."""

    def __init__(self, bulk: Dense, Vt: np.ndarray):
        self.bulk, self.Vt = bulk, Vt
        U, K, d, _ = bulk.root.shape
        A = Vt.shape[1]
        self._P = np.empty((U, A, K, K, d, d))
        for u in range(U):
            pairs = np.einsum("sij,tjk->stik", bulk.root[u], bulk.root[u])
            for a in range(A):
                coupled: np.ndarray = np.eye(K * d) + (Vt[u, a][:, :, None, None] * pairs).swapaxes(
                    1, 2
                ).reshape(K * d, K * d)
                inner = np.linalg.inv(coupled).reshape(K, d, K, d).swapaxes(1, 2)
                self._P[u, a] = bulk.root[u][:, None] @ inner @ bulk.root[u][None]
        self.T = np.einsum("uastii->uast", self._P) / d

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        moved = np.einsum("uanbc,uasbij,uactji->uanst", dVt, self._P, self._P, optimize=True)
        return moved / self.bulk.root.shape[-1]

    def forms(self) -> np.ndarray:
        y = self.bulk.y
        G = np.einsum("umsi,uastij,untj->uamsnt", y, self._P, y, optimize=True)
        return with_own(G, self.bulk.modes, self.bulk.direct)

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        driven = np.einsum("umsi,uams->uasi", self.bulk.y, u, optimize=True)
        pulled = np.einsum("uastij,uatj->uasi", self._P, driven, optimize=True)
        return -np.einsum("uasi,uati->uast", pulled, pulled)

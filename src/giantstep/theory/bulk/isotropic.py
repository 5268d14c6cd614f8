"""Bulks in closed form: rows that are alike in all directions, and rows that are orthogonal.

`Isotropic` has the covariance that rows have on average over the batches. With isotropic inputs it is C_s = c_s I: the
bulk of spiked random features, and the paper's model of a network. For inputs with a covariance it is a function C_s(ω)
of the eigenvalues. `Orthogonal` is W = Π⊥: p = d neurons, one along each direction across the spikes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..modes import ONE, Modes
from ..symmetric import packing, product
from .base import Bulk, Resolvent


@dataclass(frozen=True)
class OnEigenvalues:
    """The rows' covariances [U, K, J] on J eigenvalues of masses μ [V, J], V being U or 1, and the part on each of the
    products of the directions d̂ and ê, [U, directions, directions, J]."""

    covariance: np.ndarray
    mu: np.ndarray
    overlaps: np.ndarray


@dataclass
class Isotropic(Bulk):
    """Rows of group s uniform on the sphere of squared radius c_s: no direction is special, no norm varies.

    Or, `on_eigenvalues` of the inputs, on an ellipsoid.
    """

    c: np.ndarray  # [U, K]
    weights: np.ndarray  # [K]
    modes: Modes = ONE
    on_eigenvalues: OnEigenvalues | None = None

    def resolvent(self, Vt: np.ndarray) -> Resolvent:
        if self.on_eigenvalues is None:
            return IsotropicResolvent(self.c, Vt, self.modes.count)
        return AveragedResolvent(self, self.on_eigenvalues, Vt)

    @property
    def covariance(self) -> np.ndarray:
        """Of the rows, on each eigenvalue of the inputs, [U, K, J]."""
        return self.c[..., None] if self.on_eigenvalues is None else self.on_eigenvalues.covariance

    def rank(self) -> np.ndarray:
        if (rows := self.on_eigenvalues) is None:
            return super().rank()
        return ((rows.covariance > 0.0).any(axis=1) * rows.mu).sum(axis=-1)

    def norm_overlap(self) -> np.ndarray:
        if (rows := self.on_eigenvalues) is None:
            return self.c[:, :, None] * self.c[:, None, :]
        return (rows.covariance * rows.mu[:, None]) @ np.swapaxes(rows.covariance, -1, -2)


class IsotropicResolvent(Resolvent):
    """T̂ = (C⁻¹ + Ṽ)⁻¹ with C = diag(c): for one group the Marchenko-Pastur law in disguise."""

    def __init__(self, c: np.ndarray, Vt: np.ndarray, modes: int):
        self.Vt, self._modes = Vt, modes
        self.T, self._damped = _damped(c[:, None], Vt)

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        T = self.T[:, :, None]
        moved = product(T, packing(self.T.shape[-1]).units)
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


class AveragedResolvent(Resolvent):
    """T̂ = ∫μ f with f = (C(ω)⁻¹ + Ṽ)⁻¹ for every eigenvalue ω, [U, A, J, K, K]."""

    def __init__(self, bulk: Isotropic, own: OnEigenvalues, Vt: np.ndarray):
        self.Vt, self._bulk, self._own = Vt, bulk, own
        self._f, self._damped = _damped(np.swapaxes(own.covariance, -1, -2)[:, None], Vt[:, :, None])
        self.T = self._mean(self._f)

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """∫μ over the eigenvalues, the third axis."""
        mu = self._own.mu
        return (mu.reshape(len(mu), 1, -1, *(1,) * (values.ndim - 3)) * values).sum(axis=2)

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        f, damped = self._f[:, :, :, None], self._damped[:, :, :, None]
        moved = product(f, packing(self.T.shape[-1]).units)
        return self._mean(product(moved, f)), self._mean(product(moved, damped))

    def forms(self) -> np.ndarray:
        U, A, K, _ = self.T.shape
        own, modes, c = self._own, self._bulk.modes, self._bulk.c
        G = np.zeros((U, A, modes.count, K, modes.count, K), self.T.dtype)
        rows = modes.own.start  # of modes that are rows along a direction; then the norms
        G[:, :, :rows, :, :rows] = np.einsum("umnj,uajst->uamsnt", own.overlaps, self._f, optimize=True)
        spread = (own.covariance**2 * own.mu[:, None]).sum(axis=-1) - c**2
        for group in range(K):
            G[:, :, rows:, group, rows:, group] = 2.0 * spread[:, None, group, None, None]
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        along = u[:, :, None, : self._bulk.modes.own.start] @ self._f  # [U, A, J, directions, K]
        return -np.einsum("umnj,uajms,uajnt->uast", self._own.overlaps, along, along, optimize=True)


@dataclass
class Orthogonal(Bulk):
    """Rows e_i projected across the spikes: they are orthogonal to each other and to the spikes."""

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

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        units = packing(self.T.shape[-1]).units
        units = np.broadcast_to(units, (*self.T.shape[:2], *units.shape))
        return np.zeros_like(units), units

    def forms(self) -> np.ndarray:
        U, A, K, _ = self.T.shape
        count, signal = self._modes.count, self._modes.signal
        G = np.zeros((U, A, count, K, count, K))
        for mode in range(count)[signal]:
            G[:, :, mode, :, mode, :] = self.T
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return np.zeros_like(self.Vt)


def _damped(c: np.ndarray, Vt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(C⁻¹ + Ṽ)⁻¹ and (1 + CṼ)⁻¹ = 1 - (C⁻¹ + Ṽ)⁻¹Ṽ, free of cancellation, for C = diag(c), c [..., K]."""
    C = c[..., None]
    if Vt.shape[-1] == 1:
        damped = 1.0 / (1.0 + C * Vt)
        return C * damped, damped
    root = np.sqrt(C)
    rootT = np.swapaxes(root, -1, -2)
    inner = np.linalg.inv(np.eye(Vt.shape[-1]) + root * Vt * rootT)
    return root * inner * rootT, root * inner / np.where(rootT == 0.0, 1.0, rootT)

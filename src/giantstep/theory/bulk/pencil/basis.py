"""Coefficients of the pencil's vectors over the spectrum of the inputs, in a few functions β_p(ω)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...symmetric import identity

if TYPE_CHECKING:
    from ...input_spectrum import InputSpectrum


@dataclass(frozen=True)
class SpectralBasis:
    """Functions β_p, p ≤ D, that hold polynomials in ω of a degree up to the number T of steps; V is U or 1.

    They are the indicators of the eigenvalues if there are at most T + 1, which for isotropic inputs is β = 1, and
    powers of ω/ω_max otherwise. Rows r of the pencil on functions p have the joint index p·R + r.
    """

    spectrum: InputSpectrum
    values: np.ndarray  # β_p(ω_j), [V, D, J]
    one: np.ndarray  # the function 1, [D]
    shift: np.ndarray  # multiplication by ω, [V, D, D]

    @staticmethod
    def of(spectrum: InputSpectrum, steps: int) -> SpectralBasis:
        omega, J, D = spectrum.omega, spectrum.count, steps + 1
        if D >= J:
            units = np.broadcast_to(identity(J), (len(omega), J, J))
            return SpectralBasis(spectrum, units, np.ones(J), omega[..., None] * units)
        largest = omega.max(axis=-1)[:, None, None]
        powers = (omega[:, None] / largest) ** np.arange(D)[:, None]
        return SpectralBasis(spectrum, powers, identity(D)[0], largest * np.eye(D, k=-1))

    def sums(self, G: np.ndarray) -> Sums:
        """What forms see of matrices G(ω_j) [U, A, J, R, R]."""
        U, A, J, R, _ = G.shape
        D, k = len(self.one), self.spectrum.tau.shape[-1]
        found = self._weights[:, None] @ G.reshape(U, A, J, R * R)
        on_inputs = found[:, :, : D * D].reshape(U, A, D, D, R, R).transpose(0, 1, 2, 4, 3, 5)
        on_target = found[:, :, D * D :].reshape(U, A, k, k, D, D, R, R).transpose(0, 1, 2, 4, 6, 3, 5, 7)
        return Sums(on_inputs.reshape(U, A, D * R, D * R), on_target.reshape(U, A, k * D * R, k * D * R))

    @cached_property
    def _weights(self) -> np.ndarray:
        """μω β_p β_p' and τ_ab ω β_p β_p', [V, D² + k²D², J]."""
        spectrum, V, J = self.spectrum, len(self.values), self.spectrum.count
        pairs = (self.values[:, :, None] * self.values[:, None]).reshape(V, -1, J)
        shares = spectrum.tau.reshape(len(spectrum.tau), J, -1) * spectrum.omega[..., None]
        on_target = np.swapaxes(shares, -1, -2)[:, :, None] * pairs[:, None]
        return np.concatenate([pairs * spectrum.on_inputs[:, None], on_target.reshape(V, -1, J)], axis=1)

    def times_omega(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors [U, A, n, D·R, m], times ω."""
        if len(self.one) == 1:
            return vectors  # the one eigenvalue is 1
        shape = vectors.shape
        flat = vectors.reshape(*shape[:3], len(self.one), -1)
        return (self.shift[:, None, None] @ flat).reshape(shape)

    def picked(self, size: int, rows: slice) -> np.ndarray:
        """Some of R rows on the function 1, as vectors [rows, D·R]."""
        return (self.one[:, None] * identity(size)[rows, None]).reshape(-1, len(self.one) * size)


class Sums:
    """𝒢 = ∫μω ββᵀG and ℋ = ∫τω ββᵀG."""

    def __init__(self, on_inputs: np.ndarray, on_target: np.ndarray):
        self.on_inputs, self.on_target = on_inputs, on_target

    def plus(self, other: Sums, factor: complex) -> Sums:
        """With `factor` times another."""
        return Sums(self.on_inputs + factor * other.on_inputs, self.on_target + factor * other.on_target)

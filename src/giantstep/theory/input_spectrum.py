"""The eigenvalues ω of the inputs' covariance Ω, and what a first layer is on each of them.

In whitened coordinates, g = Ω^-½ x, inputs are isotropic, and a row w is w̃ = Ω^½ w. All that counts of Ω are the masses
μ of its eigenvalues and the shares τ of the target's directions on them. Isotropic inputs have one eigenvalue, 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..model.target import Target


@dataclass(frozen=True)
class InputSpectrum:
    """J eigenvalues with Σ μω = 1, and matrices τ_j of the target's k directions with Σ_j τ_j = 1; V is U or 1."""

    omega: np.ndarray  # [V, J]
    mu: np.ndarray  # [V, J]
    tau: np.ndarray  # [V, J, k, k]

    @staticmethod
    def isotropic(directions: int) -> InputSpectrum:
        """One eigenvalue."""
        return InputSpectrum(np.ones((1, 1)), np.ones((1, 1)), np.eye(directions)[None, None])

    @staticmethod
    def of(target: Target, values: dict[str, np.ndarray]) -> InputSpectrum:
        """Of a target's inputs. On a grid of exponents, `values` has that of every first layer."""
        inputs, k = target.inputs, target.directions
        if inputs is None:
            return InputSpectrum.isotropic(k)
        if "exponent" not in values:
            return InputSpectrum._merged(inputs.omega, inputs.mu, inputs.tau(k))
        exponents, place = np.unique(values["exponent"], return_inverse=True)
        every = [inputs.at(exponent=float(exponent)) for exponent in exponents]
        parts = ([one.omega for one in every], [one.mu for one in every], [one.tau(k) for one in every])
        return InputSpectrum(*(np.stack(part)[place] for part in parts))

    @staticmethod
    def _merged(omega: np.ndarray, mu: np.ndarray, tau: np.ndarray) -> InputSpectrum:
        """Equal eigenvalues count once, so that equal ones alone are isotropic inputs, also at finite d."""
        _, first, place = np.unique(omega, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they were given
        onto = (place == order[:, None]).astype(float)
        return InputSpectrum(omega[first[order]][None], (onto @ mu)[None], np.einsum("ij,jkl->ikl", onto, tau)[None])

    @property
    def count(self) -> int:
        """J."""
        return self.omega.shape[-1]

    @cached_property
    def on_inputs(self) -> np.ndarray:
        """μω, the share of each eigenvalue in |x|², [V, J]."""
        return self.mu * self.omega

    @property
    def rank(self) -> np.ndarray:
        """The share of dimensions in which inputs vary, [V]."""
        return ((self.omega > 0.0) * self.mu).sum(axis=-1)

    def at(self, chunk: np.ndarray | slice) -> InputSpectrum:
        """The spectrum for some first layers."""
        if len(self.omega) == 1:
            return self
        return InputSpectrum(self.omega[chunk], self.mu[chunk], self.tau[chunk])


@dataclass(frozen=True)
class Profile:
    """U first layers of K groups as functions of ω.

    Their spikes are S̃_s = Σ_a P_sa(Ω) θ̃_a + Σ_m Q_sm(Ω) ν_m, with θ̃ the whitened directions of the target and ν the
    noise of batches, independent vectors of length 1. Rows have the covariance c̄_s(Ω)/d, averaged over batches.
    """

    spectrum: InputSpectrum
    P: np.ndarray  # [U, K, k, J]
    Q: np.ndarray  # [U, K, M, J]
    c: np.ndarray  # c̄, [U, K, J]

    @staticmethod
    def drawn(spectrum: InputSpectrum, settings: int, groups: int) -> Profile:
        """No spikes, rows of norm 1."""
        J, k = spectrum.tau.shape[1:3]
        P, Q = np.zeros((settings, groups, k, J)), np.zeros((settings, groups, 0, J))
        return Profile(spectrum, P, Q, np.ones((settings, groups, J)))

    @property
    def row_norms(self) -> np.ndarray:
        """c = ∫μω c̄, the mean of |w̃|², [U, K]."""
        return (self.c * self.spectrum.on_inputs[:, None]).sum(axis=-1)

    @property
    def on_target(self) -> np.ndarray:
        """Γ_sa = S̃_s·θ̃_a, [U, K, k]."""
        return np.einsum("uskj,ujka->usa", self.P, self.spectrum.tau)

    @property
    def gram(self) -> np.ndarray:
        """Σ_st = S̃_s·S̃_t, [U, K, K]."""
        return self.overlaps(self.P, self.Q).sum(axis=-1)

    def overlaps(self, P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        """The part on each eigenvalue of the products of vectors P [U, n, k, J] and Q [U, n, M, J], [U, n, n, J]."""
        along = np.einsum("unaj,ujab->unbj", P, self.spectrum.tau)
        weighted = Q * self.spectrum.mu[:, None, None]
        return np.einsum("unbj,umbj->unmj", along, P) + np.einsum("unaj,umaj->unmj", weighted, Q)

    def at(self, chunk: np.ndarray) -> Profile:
        """The profile of some first layers."""
        return Profile(self.spectrum.at(chunk), self.P[chunk], self.Q[chunk], self.c[chunk])

    def replaced(self, chunk: np.ndarray, new: Profile) -> Profile:
        """With others in place of some, which may have taken one step more."""
        Q = np.pad(self.Q, ((0, 0), (0, 0), (0, new.Q.shape[2] - self.Q.shape[2]), (0, 0)))
        P, c = self.P.copy(), self.c.copy()
        P[chunk], Q[chunk], c[chunk] = new.P, new.Q, new.c
        return Profile(self.spectrum, P, Q, c)

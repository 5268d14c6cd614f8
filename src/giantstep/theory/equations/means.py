"""The readout's means m (all-ones), ζ, ψ and χ (the modes of the bulk), from the averages that determine them.

The residual of the fit drives each mode, the modes answer through the resolvent's forms G, and their answer
changes the residual. To first order that is a linear system, exact for the square loss and one Newton-like
step for any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..bulk import Bulk
from ..symmetric import TINY, identity, packing, solve_small
from .averages import apply
from .response import Response, coupling_gradient, mean_row_coupling, signal_norms

_NULL = 1e-13  # relative size under which a direction of the all-ones modes counts as absent
_ROUNDING = 8.0 * np.finfo(float).eps
_NO_MEAN = 1e-25  # E μ0² over E σ² under which μ0 is rounding error


@dataclass
class Readout:
    """The readout's parameters, each [U, A]."""

    alpha: np.ndarray
    beta: np.ndarray
    lam: np.ndarray
    noise: np.ndarray
    d: np.ndarray
    interpolates: np.ndarray  # whether it is ridgeless with fewer samples than directions to fit
    # what steps have added to the covariance of the groups' mean rows, times p, [U, K, K]; None if rows are as drawn
    mean_row_covariance: np.ndarray | None = None

    @cached_property
    def alpha_over_beta(self) -> np.ndarray:
        """Samples per neuron, [U, A, 1]."""
        return (self.alpha / self.beta)[..., None]

    @cached_property
    def one(self) -> np.ndarray:
        """What V is added to in a score's gain 1/(1 + V), [U, A, 1]: 0 where V = v/λ diverges and v stands for it."""
        return np.where(self.interpolates, 0.0, 1.0)[..., None]

    @cached_property
    def inverse_size(self) -> np.ndarray:
        """1/(βd), [U, A, 1]."""
        return (1.0 / (self.beta * self.d))[..., None]


@dataclass
class Means:
    """The solved means, and the norms (q1, q2) = 𝒯·source + rest that they bring along, packed."""

    values: np.ndarray  # [U, A, means, K]
    psi: np.ndarray  # [U, A, k, K]
    source: np.ndarray  # [U, A, P]
    rest: np.ndarray


def solve_means(
    bulk: Bulk,
    readout: Readout,
    response: Response,
    hat1: np.ndarray,
    pairs: np.ndarray,
    r: np.ndarray,
    r_psi: np.ndarray,
    size: np.ndarray,
) -> Means:
    """Means under a score that is linear in them, E[g F1] = r - A·means over the mean modes g, A = `pairs`.

    `r` [U, A, means·K] and `r_psi` [U, A, k·K] already carry α/β, as do `pairs` and `hat1` (V̂1, which the
    resolvent contains). With 0 for the all-ones directions and c for the others (ζ, χ, ν), the residual drives
    the modes by u, and they follow it:

        u_0 = r_0 - A_00 m - A_0c c                       S m = u_0
        u_c = r_c - A_c0 m - (A_cc - V̂1) c                c = G_cc u_c + G_cψ u_ψ
        u_ψ = r_ψ                                         ψ = G_ψc u_c + G_ψψ u_ψ

    (V̂1 for ζ alone). The stiffness S is 1/(βd V2) at finite d; at d = ∞ it vanishes: the residual is orthogonal to μ0.
    m is eliminated with P = (A_00 + S)⁻¹, m = P (r_0 - A_0c c), which leaves

        (1 + G_cc R) c = G_cc (r_c - A_c0 P r_0) + G_cψ r_ψ,      R = A_cc - V̂1 - A_c0 P A_0c.

    `size` [U, A] is the features' power, against which a vanishing μ0 is recognised.
    """
    K, modes = len(bulk.weights), bulk.modes
    U, A = readout.alpha.shape
    mean, root = modes.mean, response.root
    C = len(mean) * K
    G = response.resolvent.forms() * root[:, :, None, :, None, None] * root[:, :, None, None, None, :]
    G_c = G[:, :, mean]
    G_cc = G_c[:, :, :, :, mean].reshape(U, A, C, C)
    G_cpsi = G_c[:, :, :, :, modes.signal].reshape(U, A, C, modes.signals * K)
    A_0c, A_cc = pairs[..., :K, K:], pairs[..., K:, K:].copy()
    A_c0 = np.swapaxes(A_0c, -1, -2)
    for spike in range(modes.spikes):
        block = slice(spike * K, (spike + 1) * K)
        A_cc[..., block, block] -= hat1
    P = _softness(pairs[..., :K, :K], stiffness(bulk, readout, response), size)

    P_r0, P_A0c = apply(P, r[..., :K]), P @ A_0c
    R = A_cc - A_c0 @ P_A0c
    r_c = _less(r[..., K:], apply(A_c0, P_r0))
    c = solve_small(identity(C) + G_cc @ R, apply(G_cc, r_c) + apply(G_cpsi, r_psi))
    m = P_r0 - apply(P_A0c, c)

    u = np.zeros((U, A, modes.count, K), c.dtype)
    u[:, :, mean] = (r_c - apply(R, c)).reshape(U, A, len(mean), K)
    u[:, :, modes.signal] = r_psi.reshape(U, A, modes.signals, K)
    every = modes.count * K
    Gu = apply(G.reshape(U, A, every, every), u.reshape(U, A, every)).reshape(u.shape)
    values = np.concatenate([m[:, :, None], c.reshape(U, A, len(mean), K)], axis=2)
    stiff, loose = _all_ones_energy(bulk, readout, response, m)
    norms = signal_norms(response, u, values[:, :, modes.mean_spike], stiff + (u * Gu).sum(axis=2), loose)
    return Means(values, Gu[:, :, modes.signal], *norms)


def _less(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b, and 0 where that is rounding: features that are all linear have κμ1 ∝ μ0, and G may be infinite."""
    rest = a - b
    return np.where(np.abs(rest) <= _ROUNDING * np.abs(a), 0.0, rest)


def norm_covariance(bulk: Bulk, readout: Readout) -> np.ndarray | None:
    """Covariance of the variances xᵀC_s x/d that the groups see, [U, A, K, K]: an effect of order 1/d."""
    if np.all(np.isinf(readout.d)):
        return None
    overlap = bulk.norm_overlap()
    return None if overlap is None else 2.0 / readout.d[..., None, None] * overlap[:, None]


def stiffness(bulk: Bulk, readout: Readout, response: Response) -> np.ndarray:
    """What holds the all-ones directions at finite d, [U, A, K, K]: ((1_sᵀH⁻¹1_t)/d)⁻¹, which is 1/(βd V2) δ_st.

    H is λ + V̂2 plus the pull of the linear features, through the rows that groups have in common. A gradient step
    takes some of these away: the network's own initial output is linear in them, and the step descends on the residual.
    """
    V2 = packing(len(bulk.weights)).vector(response.V)
    drawn = (readout.inverse_size / np.maximum(V2, TINY))[..., None] * identity(len(bulk.weights))
    if readout.mean_row_covariance is None:
        return drawn
    coupling = readout.mean_row_covariance[:, None] * mean_row_coupling(bulk, response)
    return drawn + readout.inverse_size[..., None] * coupling


def _all_ones_energy(bulk: Bulk, readout: Readout, response: Response, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the energy that the all-ones directions store at fixed drive: by ln V2, and minus that by V̂1."""
    pack = packing(len(bulk.weights))
    V2 = pack.vector(response.V)
    energy = m**2 * readout.inverse_size
    stiff = np.divide(energy, V2, out=np.zeros_like(energy), where=V2 > 0.0)
    if readout.mean_row_covariance is None:
        return stiff, np.zeros((*stiff.shape[:2], pack.size), stiff.dtype)
    load = (readout.inverse_size * m)[..., :, None] * m[..., None, :] * readout.mean_row_covariance[:, None]
    loose, by_log_tau = coupling_gradient(bulk, response, load)
    return stiff - by_log_tau, loose


def _softness(A00: np.ndarray, stiffness: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(A00 + stiffness)⁻¹, [U, A, K, K]: a pseudo-inverse where the stiffness vanishes (d = ∞)."""
    matrix = A00 + stiffness
    if matrix.shape[-1] == 1:  # an eigenvalue routine for each point takes a tenth of a curve's time
        present = matrix > _NO_MEAN * size[..., None, None]
        return np.where(present, 1.0 / np.where(present, matrix, 1.0), 0.0)
    # balance first: a large stiffness on one group must not hide another's direction
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    present = diagonal > _NO_MEAN * size[..., None]
    balance = np.where(present, 1.0 / np.sqrt(np.where(present, diagonal, 1.0)), 0.0)
    matrix = matrix * balance[..., :, None] * balance[..., None, :]
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > _NULL, 1.0 / np.where(values > _NULL, values, 1.0), 0.0)
    inverse = (vectors * kept[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return inverse * balance[..., :, None] * balance[..., None, :]

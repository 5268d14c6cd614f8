"""The order parameters, and the general solver's unknowns: one vector per grid point in which steps stay admissible.

Responses V and norms q are positive (matrices over the groups: positive definite), so their diagonals enter as
logarithms and their off-diagonal entries as correlations; of q1 what enters is q1 - ψψᵀ, which is positive
whatever ψ. The means m, ζ, ψ, χ, ν enter as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..modes import Modes
from ..symmetric import TINY, Packing, product
from .averages import Averages

_LEAST_V, _LEAST_Q = 1e-120, 1e-200  # floors of V(κ) and q(κ), where all features vanish
_LEAST = 1e-13  # of q1's diagonal that q1 - ψψᵀ may fall to: rounding errors, no further


@dataclass
class OrderParameters:
    """Order parameters [U, A, ...]: packed V and q, the means of each of the `modes`, and ψ."""

    V: np.ndarray  # [U, A, P]
    q: np.ndarray
    means: np.ndarray  # [U, A, means, K]
    psi: np.ndarray  # [U, A, k, K]
    modes: Modes

    @property
    def groups(self) -> int:
        return self.psi.shape[-1]

    @property
    def m(self) -> np.ndarray:
        return self.means[:, :, 0]

    @property
    def zeta(self) -> np.ndarray:
        """[U, A, S, K]."""
        return self.means[:, :, self.modes.mean_spike]

    @property
    def chi(self) -> np.ndarray:
        """Zero for bulks whose row norms do not fluctuate."""
        return self.means[:, :, self.modes.mean_norm].sum(axis=2)

    @property
    def nu(self) -> np.ndarray:
        """Zero for neurons without biases of order d^-½."""
        return self.means[:, :, self.modes.mean_bias].sum(axis=2)

    def reshaped(self, *shape: int) -> OrderParameters:
        """The points [U, A] in another shape."""
        V, q, means, psi = (part.reshape(*shape, *part.shape[2:]) for part in (self.V, self.q, self.means, self.psi))
        return OrderParameters(V, q, means, psi, self.modes)


def fields(
    state: OrderParameters, averages: Averages, pack: Packing, norm_covariance: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """M, V and q [U, A, N] and P [U, A, k, N] on the κ nodes, in the order M, P, V, q.

    `norm_covariance` is the spread of the inputs' variances at finite d.
    """
    M = state.means.reshape(*state.means.shape[:2], -1) @ averages.means
    P = state.psi @ averages.mu1[:, None]
    V = (state.V * pack.counts) @ averages.phi
    q = (state.q * pack.counts) @ averages.phi
    if norm_covariance is not None:
        q = q + norm_variance(state.m, averages.dmu0, norm_covariance)
    return M, P, np.maximum(V, _LEAST_V), np.maximum(np.maximum(q, (P * P).sum(axis=2)), _LEAST_Q)


def norm_variance(m: np.ndarray, dmu0: np.ndarray, norm_covariance: np.ndarray) -> np.ndarray:
    """What inputs of fluctuating variance add to q through ∂μ0/∂c [U, K, N], for m [U, A, K]: [U, A, N]."""
    tilt = m[..., None] * dmu0[:, None]
    return (product(norm_covariance, tilt) * tilt).sum(axis=2)


class Coordinates:
    """To and from vectors [U, A, n]."""

    def __init__(self, pack: Packing, modes: Modes):
        self._pack, self._modes = pack, modes
        self._rest = (modes.means + modes.signals) * pack.groups
        self.logarithms = np.concatenate([pack.rows == pack.cols, np.ones(pack.groups, bool)])
        self.size = 2 * pack.size + self._rest
        self.is_log = np.concatenate([self.logarithms, self.logarithms, np.zeros(self.size - 2 * pack.size, bool)])

    def vector(self, state: OrderParameters) -> np.ndarray:
        means, psi = (part.reshape(*part.shape[:2], -1) for part in (state.means, state.psi))
        remaining = self._without_psi(state)
        return np.concatenate([self._encode(state.V), self._encode(remaining), means, psi], axis=-1)

    def state(self, x: np.ndarray) -> OrderParameters:
        size, K = self._pack.size, self._pack.groups
        V, remaining = self._decode(x[..., :size]), self._decode(x[..., size : 2 * size])
        rest = x[..., 2 * size :].reshape(*x.shape[:2], -1, K)
        means, psi = rest[:, :, : self._modes.means], rest[:, :, self._modes.means :]
        return OrderParameters(V, remaining + self._outer(psi), means, psi, self._modes)

    def sizes(self, x: np.ndarray, least: np.ndarray) -> np.ndarray:
        """What a change of each entry of x is small or large against, [U, A, n]: means have their own scale.

        That of a mean is `least` [U, A] or more: what is a sum of large terms cannot be known any better.
        """
        size, K = self._pack.size, self._pack.groups
        state, sizes = self.state(x), np.ones(x.shape)
        size_of_aW = np.sqrt(state.q[..., self._pack.diagonal[:K]])
        linear = size_of_aW[..., None, :]  # the scale of ζ and ψ
        free = np.abs(state.means).max(axis=-1, keepdims=True)  # m, χ, ν have no other scale than their own
        rest = sizes[..., 2 * size :].reshape(*x.shape[:2], -1, K)
        rest[:, :, : self._modes.means] = np.maximum(np.maximum(free, linear), least[..., None, None])
        rest[:, :, self._modes.means :] = linear + TINY
        sizes[..., 2 * size :] = rest.reshape(*x.shape[:2], -1)
        return sizes

    def _without_psi(self, state: OrderParameters) -> np.ndarray:
        """(q1 - Σ_m ψ_mψ_mᵀ, q2), floored where rounding errors would make it negative."""
        remaining = state.q - self._outer(state.psi)
        return np.where(self.logarithms, np.maximum(remaining, _LEAST * np.abs(state.q) + TINY), remaining)

    def _outer(self, psi: np.ndarray) -> np.ndarray:
        return self._pack.pack(np.swapaxes(psi, -1, -2) @ psi, np.zeros_like(psi[:, :, 0]))

    def _encode(self, packed: np.ndarray) -> np.ndarray:
        rows, cols, pairs = self._pack.rows, self._pack.cols, self._pack.pairs
        root = np.sqrt(np.maximum(packed[..., : self._pack.pairs][..., rows == cols], TINY))
        out = packed.copy()
        out[..., :pairs] /= root[..., rows] * root[..., cols]
        out[..., self.logarithms] = np.log(np.maximum(packed[..., self.logarithms], TINY))
        return out

    def _decode(self, x: np.ndarray) -> np.ndarray:
        rows, cols, pairs = self._pack.rows, self._pack.cols, self._pack.pairs
        out = np.clip(x, -1.0, 1.0)
        out[..., self.logarithms] = np.exp(x[..., self.logarithms])
        root = np.sqrt(out[..., :pairs][..., rows == cols])
        off = rows != cols
        out[..., :pairs][..., off] *= (root[..., rows] * root[..., cols])[..., off]
        return out


@dataclass
class Solution:
    """Order parameters, errors [U, A], and the residual at the very point that is returned."""

    state: OrderParameters
    test_error: np.ndarray
    train_error: np.ndarray
    train_loss: np.ndarray
    residual: np.ndarray
    tail: np.ndarray  # share of the error's κ-integrand still standing at the ends of the rule
    rare: np.ndarray  # share of the test error that is due to inputs which a million samples may not hold
    start: Any  # what the same solver may begin from on another rule
    responses: Any = None  # of the square loss, on this rule

"""How the responses (V1, V2) follow from their conjugates (V̂1, V̂2): the bulk as a relation with derivatives.

With τ = βV2 and Ṽ = τ^½ V̂1 τ^½ every bulk gives

    V1 = τ^½ T̂(Ṽ) τ^½ / β,        V2_s = n_s / (λ + V̂2_s + (T̂Ṽ)_ss / τ_s).

The right-hand sides still contain V2, so this is one more fixed-point relation rather than a function: the
solver closes it together with its own, and needs no inner loop. Both sides increase with (V1, V2) and are
concave, which makes Newton's method from above monotone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..bulk import Bulk, Resolvent
from ..symmetric import identity, packing, product, solve_small
from .averages import apply


@dataclass
class Response:
    """The relation at one point: its value, and its derivatives on packed vectors of length P.

    A change dV̂ moves the closed relation by left·dV = -by_hat·dV̂; an off-diagonal entry of dV̂ moves together with its
    mirror image.
    """

    V: np.ndarray  # [U, A, P]
    left: np.ndarray  # 1 - ∂V/∂V, [U, A, P, P]: the right-hand sides depend on V2 alone
    by_hat: np.ndarray  # -∂V/∂V̂, [U, A, P, P]
    resolvent: Resolvent
    root: np.ndarray  # τ^½, [U, A, K]

    def moved(self, source: np.ndarray) -> np.ndarray:
        """𝒯·source with the relation closed, 𝒯 = -∂V/∂V̂ = left⁻¹ by_hat, [U, A, P]."""
        return solve_small(self.left, apply(self.by_hat, source))


def respond(bulk: Bulk, V: np.ndarray, hat: np.ndarray, beta: np.ndarray, lam: np.ndarray) -> Response:
    """Evaluate the relation at packed V and V̂ [U, A, P], with β and λ [U, A]."""
    pack = packing(len(bulk.weights))
    pairs, share = pack.pairs, _shares(pack.groups)
    beta, per_V2 = beta[..., None], _inverse(pack.vector(V))
    per_tau, root = per_V2 / beta, np.sqrt(beta * pack.vector(V))
    both = _outer(root)
    resolvent = bulk.resolvent(both * pack.matrix(hat))
    T, Vt = resolvent.T, resolvent.Vt
    scale = pack.upper(both)
    V1 = scale * pack.upper(T) / beta
    pull = _diagonal(product(T, Vt)) * per_tau
    V2 = bulk.weights / (lam[..., None] + pack.vector(hat) + pull)

    # -∂(V1, V2)/∂Ṽ at fixed τ, [U, A, P, pairs]
    tangent, leak = resolvent.slopes
    stiffness = V2 * V2 / bulk.weights  # -∂V2_s / ∂(λ + V̂2_s + pull_s)
    dV1 = pack.upper(tangent) * (scale / beta)[:, :, None]
    dV2 = _diagonal(leak) * (per_tau * stiffness)[:, :, None]
    by_Vt = np.concatenate([dV1, dV2], axis=-1).swapaxes(-1, -2)

    by_hat, left = np.zeros((2, *V.shape, pack.size), V1.dtype)
    by_hat[..., :pairs] = by_Vt * scale[:, :, None]
    by_hat[..., pairs:, pairs:] = stiffness[..., None] * identity(pack.groups)
    # by each ln τ, which scales rows and columns of V1 and of Ṽ, and pull as 1/τ
    scaled = np.concatenate([V1, stiffness * pull], axis=-1)[..., None] * share
    by_log_tau = scaled - product(by_Vt, pack.upper(Vt)[..., None] * share[:pairs])
    left[:] = identity(pack.size)
    left[..., pairs:] -= by_log_tau * per_V2[:, :, None]
    return Response(np.concatenate([V1, V2], axis=-1), left, by_hat, resolvent, root)


@lru_cache
def _shares(K: int) -> np.ndarray:
    """How √(τ_s τ_t) grows with each ln τ, for the packed entries, and then τ_s itself, [P, K]."""
    pack = packing(K)
    return np.concatenate([0.5 * (identity(K)[pack.rows] + identity(K)[pack.cols]), identity(K)])


def mean_row_coupling(bulk: Bulk, response: Response) -> np.ndarray:
    """Q_st [U, A, K, K]: how strongly linear features tie the mean rows of groups, once all other rows have answered.

    Q = V̂1 - V̂1 (WᵀH⁻¹W) V̂1 with H = λ + V̂2 + WV̂1Wᵀ, per unit of input space. What is known of it is its trace with
    a covariance, (1/d) tr C_s Q_st = (T̂Ṽ)_st/√(τ_sτ_t); the answer is this over c_s. It is exact for one group, and
    where the C_s of all groups are proportional to each other. They are after steps on large batches, the case in
    which Q matters.
    """
    tied = product(response.resolvent.T, response.resolvent.Vt) / bulk.c[:, None, :, None]
    return (tied + np.swapaxes(tied, -1, -2)) / 2 * _over_root_tau(response.root)


def coupling_gradient(bulk: Bulk, response: Response, load: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of Σ load·Q: by V̂1, packed [U, A, P] with V̂2's entries zero, and by ln τ [U, A, K]."""
    pack, resolvent = packing(len(bulk.weights)), response.resolvent
    share = _shares(pack.groups)[: pack.pairs]
    by_tied = load * _over_root_tau(response.root) / bulk.c[:, None, :, None]
    by_Vt = np.einsum("uast,uapst->uap", by_tied, resolvent.slopes[1])
    counts = pack.counts[: pack.pairs]
    by_hat1 = by_Vt * pack.upper(_outer(response.root)) / counts
    held = pack.upper(load * mean_row_coupling(bulk, response)) * counts
    by_log_tau = (by_Vt * pack.upper(resolvent.Vt) - held) @ share
    return np.concatenate([by_hat1, np.zeros_like(by_log_tau)], axis=-1), by_log_tau


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    return matrices[..., 0] if matrices.shape[-1] == 1 else np.diagonal(matrices, axis1=-2, axis2=-1)


def _inverse(positive: np.ndarray) -> np.ndarray:
    """1/x, and 1 where x vanishes: nothing depends on it there."""
    return 1.0 / np.where(positive == 0.0, 1.0, positive)


def _over_root_tau(root: np.ndarray) -> np.ndarray:
    """1/√(τ_s τ_t), [U, A, K, K]."""
    return _outer(_inverse(root))


def _outer(vectors: np.ndarray) -> np.ndarray:
    """v vᵀ, [U, A, K, K]."""
    return vectors[..., :, None] * vectors[..., None, :]


def signal_norms(
    response: Response, u: np.ndarray, along: np.ndarray, stiff: np.ndarray, loose: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The signal's part of (q1, q2), packed, as 𝒯·source + rest: minus the derivative of an energy by (V̂1, V̂2).

    The energy is uᵀGu plus that of the all-ones modes. G = τ^½ Ĝ τ^½ depends on Ṽ and on τ, and τ = βV2 on V̂1 and V̂2.
    V is a gradient too, so that 𝒯 is symmetric (entries off the diagonal count twice): a force on V2 is as good as one
    more V̂2. q1 leaves out aW along the spikes.

    Parameters
    ----------
    u : what drives the modes, [U, A, modes, K]
    along : the spikes' means ζ, [U, A, S, K]
    stiff : derivative of the whole energy by ln τ at fixed Ṽ, [U, A, K]
    loose : minus the derivative of the all-ones energy by V̂1 at fixed τ, packed
    """
    pack, resolvent, root = packing(response.root.shape[-1]), response.resolvent, response.root
    by_Vt = resolvent.cotangent(root[:, :, None] * u)
    by_log_tau = stiff + (by_Vt * resolvent.Vt).sum(axis=-1)
    source = np.zeros_like(response.V)
    source[..., pack.pairs :] = by_log_tau * _inverse(pack.vector(response.V))
    rest = loose.copy()
    rest[..., : pack.pairs] -= pack.upper(by_Vt * _outer(root) + along.swapaxes(-1, -2) @ along)
    return source, rest

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
from ..symmetric import Packing, identity, packing, product, solve_columns


@dataclass
class Response:
    """The relation at one point: its value, and its derivatives on packed vectors of length P.

    dV = by_V · dV_in - by_hat · dV̂, where an off-diagonal entry of dV̂ moves together with its mirror image.
    """

    V: np.ndarray  # [U, A, P]
    by_V: np.ndarray  # [U, A, P, P]; only the columns of V2 are not zero
    by_hat: np.ndarray  # [U, A, P, P]
    resolvent: Resolvent
    root: np.ndarray  # τ^½, [U, A, K]


def respond(bulk: Bulk, V: np.ndarray, hat: np.ndarray, beta: np.ndarray, lam: np.ndarray) -> Response:
    """Evaluate the relation at packed V and V̂ [U, A, P], with β and λ [U, A]."""
    pack = packing(len(bulk.weights))
    K, pairs = pack.groups, pack.pairs
    hat1, hat2, V2 = pack.matrix(hat), pack.vector(hat), pack.vector(V)
    tau = beta[..., None] * V2
    per_V2, per_tau = _inverse(V2), _inverse(tau)
    root = np.sqrt(tau)
    both = root[..., :, None] * root[..., None, :]
    resolvent = bulk.resolvent(both * hat1)
    T, Vt = resolvent.T, resolvent.Vt
    V1 = pack.upper(both * T) / beta[..., None]
    pull = _diagonal(product(T, Vt)) * per_tau
    V2 = bulk.weights / (lam[..., None] + hat2 + pull)

    # -∂(V1, λ + V̂2 + pull)/∂V̂1 at fixed τ, and by each ln τ, which scales rows and columns of Ṽ and of V1
    share = _shares(K)
    moved = np.concatenate([both[:, :, None] * pack.units, share * Vt[:, :, None]], axis=2)
    tangent, leak = resolvent.first_order(moved)
    dV1 = pack.upper(both[:, :, None] * tangent) / beta[..., None, None]
    change = np.swapaxes(np.concatenate([dV1, _diagonal(leak) * per_tau[:, :, None]], axis=-1), -1, -2)
    stiffness = (V2 * V2 / bulk.weights)[..., None]  # -∂V2_s / ∂(λ + V̂2_s + pull_s)
    change[..., pairs:, :] *= stiffness

    by_hat = change.copy()
    by_hat[..., :pairs, pairs:] = 0.0
    by_hat[..., pairs:, pairs:] = stiffness * identity(K)

    by_V = np.zeros_like(change)
    by_V[..., :pairs, pairs:] = pack.upper(share).T * V1[..., None]
    by_V[..., pairs:, pairs:] = stiffness * pull[..., None] * identity(K)
    by_V[..., pairs:] -= change[..., pairs:]
    by_V[..., pairs:] *= per_V2[..., None, :]
    return Response(np.concatenate([V1, V2], axis=-1), by_V, by_hat, resolvent, root)


def _by_conjugate(pack: Packing, root: np.ndarray) -> np.ndarray:
    """Ṽ's derivative with respect to each entry of V̂1 and its mirror image, at fixed τ: [U, A, pairs, K, K]."""
    return (root[..., :, None] * root[..., None, :])[:, :, None] * pack.units


@lru_cache
def _shares(K: int) -> np.ndarray:
    """How √(τ_s τ_t) grows with each ln τ, [K, K, K]."""
    group = np.arange(K)
    share = np.zeros((K, K, K))
    share[group, group, :] += 0.5
    share[group, :, group] += 0.5
    return share


def mean_row_coupling(bulk: Bulk, response: Response) -> np.ndarray:
    """Q_st [U, A, K, K]: how strongly linear features tie the mean rows of groups, once all other rows have answered.

    Q = V̂1 - V̂1 (WᵀH⁻¹W) V̂1, H = λ + V̂2 + WV̂1Wᵀ, per unit of input space. With (1/d) tr C_s Q_st = (T̂Ṽ)_st/√(τ_sτ_t),
    it is that over c_s: exact where the C_s are proportional to each other, as after steps on large batches, where it
    counts, and always for one group.
    """
    tied = product(response.resolvent.T, response.resolvent.Vt) / bulk.c[:, None, :, None]
    return (tied + np.swapaxes(tied, -1, -2)) / 2 * _over_root_tau(response.root)


def coupling_gradient(bulk: Bulk, response: Response, load: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of Σ load·Q: by V̂1, packed [U, A, P] with V̂2's entries zero, and by ln τ [U, A, K]."""
    pack, resolvent = packing(len(bulk.weights)), response.resolvent
    share = _shares(pack.groups)
    by_tied = load * _over_root_tau(response.root) / bulk.c[:, None, :, None]

    def along(moved: np.ndarray) -> np.ndarray:
        return np.einsum("uast,uapst->uap", by_tied, resolvent.leak(moved))

    by_hat1 = along(_by_conjugate(pack, response.root)) / pack.counts[: pack.pairs]
    scaled = np.einsum("uast,uast,kst->uak", load, mean_row_coupling(bulk, response), share)
    by_log_tau = along(share * resolvent.Vt[:, :, None]) - scaled
    return np.concatenate([by_hat1, np.zeros_like(by_log_tau)], axis=-1), by_log_tau


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    return matrices[..., 0] if matrices.shape[-1] == 1 else np.diagonal(matrices, axis1=-2, axis2=-1)


def _inverse(positive: np.ndarray) -> np.ndarray:
    """1/x, and 1 where x vanishes: nothing depends on it there."""
    return 1.0 / np.where(positive == 0.0, 1.0, positive)


def _over_root_tau(root: np.ndarray) -> np.ndarray:
    """1/√(τ_s τ_t), [U, A, K, K]."""
    inverse = _inverse(root)
    return inverse[..., :, None] * inverse[..., None, :]


def total_tangent(response: Response) -> np.ndarray:
    """-∂V/∂V̂ with the relation closed, [U, A, P, P]."""
    return solve_columns(identity(response.V.shape[-1]) - response.by_V, response.by_hat)


def signal_energy_gradient(
    response: Response, tangent: np.ndarray, u: np.ndarray, stiff: np.ndarray, loose: np.ndarray
) -> np.ndarray:
    """Minus the total derivative of uᵀGu + the all-ones energy with respect to (V̂1, V̂2): the signal's (q1, q2).

    u [U, A, modes, K] drives the modes; stiff [U, A, K] is the derivative of the all-ones energy by ln τ, and loose,
    packed, minus that by V̂1 at fixed τ. G = τ^½ Ĝ τ^½ moves with Ṽ and τ, and τ with both conjugates.
    """
    pack = packing(response.root.shape[-1])
    resolvent, root = response.resolvent, response.root
    driven = root[:, :, None, :] * u
    by_Vt = resolvent.cotangent(driven)
    Gu = np.einsum("uasktl,uatl->uask", resolvent.forms(), driven)
    by_log_tau = (driven * Gu).sum(axis=2) + stiff + (by_Vt * resolvent.Vt).sum(axis=-1)
    direct = by_Vt * root[..., :, None] * root[..., None, :]
    V2 = pack.vector(response.V)
    per_V2 = by_log_tau * _inverse(V2)
    through_tau = np.einsum("uak,uakp->uap", per_V2, tangent[..., pack.pairs :, :]) / pack.counts
    return through_tau + pack.pack(-direct, np.zeros_like(per_V2)) + loose

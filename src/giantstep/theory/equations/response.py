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
from ..symmetric import identity, packing, product, solve_columns


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


def respond(bulk: Bulk, V: np.ndarray, hat: np.ndarray, beta: np.ndarray, lam: np.ndarray) -> Response:
    """Evaluate the relation at packed V and V̂ [U, A, P], with β and λ [U, A]."""
    pack = packing(len(bulk.weights))
    K, pairs, share = pack.groups, pack.pairs, _shares(len(bulk.weights))
    hat1, hat2 = pack.matrix(hat), pack.vector(hat)
    tau = beta[..., None] * pack.vector(V)
    per_tau, root = _inverse(tau), np.sqrt(tau)
    both = _outer(root)
    resolvent = bulk.resolvent(both * hat1)
    T, Vt = resolvent.T, resolvent.Vt
    V1 = pack.upper(both * T) / beta[..., None]
    pull = _diagonal(product(T, Vt)) * per_tau
    V2 = bulk.weights / (lam[..., None] + hat2 + pull)

    # -∂(V1, V2)/∂Ṽ at fixed τ, [U, A, P, pairs]
    tangent, leak = resolvent.slopes
    stiffness = V2 * V2 / bulk.weights  # -∂V2_s / ∂(λ + V̂2_s + pull_s)
    dV1 = pack.upper(both[:, :, None] * tangent) / beta[..., None, None]
    dV2 = _diagonal(leak) * (per_tau * stiffness)[:, :, None]
    by_Vt = np.swapaxes(np.concatenate([dV1, dV2], axis=-1), -1, -2)

    by_hat = np.zeros((*V.shape, pack.size), V1.dtype)
    by_hat[..., :pairs] = by_Vt * pack.upper(both)[:, :, None]
    by_hat[..., pairs:, pairs:] = stiffness[..., None] * identity(K)

    # by each ln τ, which scales rows and columns of V1 and of Ṽ, and pull as 1/τ
    by_log_tau = -product(by_Vt, pack.upper(Vt)[..., None] * share)
    by_log_tau[:, :, :pairs] += V1[..., None] * share
    by_log_tau[:, :, pairs:] += (stiffness * pull)[..., None] * identity(K)
    left = np.broadcast_to(identity(pack.size), by_hat.shape).astype(by_hat.dtype)
    left[..., pairs:] -= by_log_tau * (per_tau * beta[..., None])[:, :, None]
    return Response(np.concatenate([V1, V2], axis=-1), left, by_hat, resolvent, root)


@lru_cache
def _shares(K: int) -> np.ndarray:
    """How √(τ_s τ_t) grows with each ln τ, for the packed entries, [pairs, K]."""
    pack = packing(K)
    return 0.5 * (identity(K)[pack.rows] + identity(K)[pack.cols])


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
    share = _shares(pack.groups)
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


def total_tangent(response: Response) -> np.ndarray:
    """-∂V/∂V̂ with the relation closed, [U, A, P, P]."""
    return solve_columns(response.left, response.by_hat)


def signal_energy_gradient(
    response: Response, tangent: np.ndarray, u: np.ndarray, stiff: np.ndarray, loose: np.ndarray
) -> np.ndarray:
    """The signal's part of (q1, q2), packed: minus the derivative of an energy with respect to (V̂1, V̂2).

    The energy is uᵀGu plus that of the all-ones mode. G = τ^½ Ĝ τ^½ depends on Ṽ and on τ, and τ on V̂1 and V̂2; the
    derivative is the total one, through both.

    Parameters
    ----------
    tangent : -∂V/∂V̂ with the relation closed, from `total_tangent`
    u : what drives the modes, [U, A, modes, K]
    stiff : derivative of the whole energy by ln τ at fixed Ṽ, [U, A, K]
    loose : minus the derivative of the all-ones energy by V̂1 at fixed τ, packed
    """
    pack = packing(response.root.shape[-1])
    resolvent, root = response.resolvent, response.root
    by_Vt = resolvent.cotangent(root[:, :, None, :] * u)
    by_log_tau = stiff + (by_Vt * resolvent.Vt).sum(axis=-1)
    direct = by_Vt * _outer(root)
    V2 = pack.vector(response.V)
    per_V2 = by_log_tau * _inverse(V2)
    through_tau = np.einsum("uak,uakp->uap", per_V2, tangent[..., pack.pairs :, :]) / pack.counts
    return through_tau + pack.pack(-direct, np.zeros_like(per_V2)) + loose

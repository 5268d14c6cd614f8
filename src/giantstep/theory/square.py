"""Result 3 for the square loss: one small nonlinear system, then linear algebra.

Scores are linear in the label, so the responses (V1, V2) close among themselves; given them the means
(m, ζ, ψ, χ) solve a linear system, and given those the norms (q1, q2) solve another. All arrays are
[U, A, ...]: U first layers, each with A settings of (α, λ, noise, d); K groups; N nodes in κ.

A ridgeless readout that interpolates (λ → 0, α < β) has V = v/λ: the same equations hold for v with λ = 1 and
1 + V replaced by v, which is what `unit` = 0 says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bulk import Bulk
from .features import Features, Label
from .response import Response, respond, signal_energy_gradient, total_tangent
from .symmetric import packing, solve_small

_NEWTON_STEPS = 60
_ROUND_OFF = 2e-14  # relative residual at which Newton's steps only stir rounding errors
_NULL = 1e-13  # relative size under which a direction of the all-ones modes counts as absent
_ALMOST_RIDGELESS = 1e-12  # a λ small enough to start from above when there is none
_NO_MEAN = 1e-25  # E μ0² over E σ² under which μ0 is rounding error


@dataclass
class Setting:
    """The readout's parameters, each [U, A]; `unit` is 1, or 0 for a ridgeless readout that interpolates."""

    alpha: np.ndarray
    beta: np.ndarray
    lam: np.ndarray
    noise: np.ndarray
    d: np.ndarray
    unit: np.ndarray


@dataclass
class Solution:
    """Order parameters and errors, [U, A] with group axes behind, and the residual at the returned point."""

    V: np.ndarray  # packed (V1, V2)
    q: np.ndarray  # packed (q1, q2)
    m: np.ndarray  # [U, A, K]
    zeta: np.ndarray
    psi: np.ndarray
    chi: np.ndarray
    test_error: np.ndarray  # [U, A]
    train_error: np.ndarray
    residual: np.ndarray
    tail: np.ndarray  # share of the error's κ-integrand still standing at the ends of the rule


class _Averages:
    """Averages over κ against products of the features' coefficients, each one matrix product."""

    def __init__(self, features: Features, label: Label, modes: int):
        K = features.mu0.shape[1]
        pack = packing(K)
        w = features.weights[:, None, :]
        quadratic = features.mu1[:, pack.rows] * features.mu1[:, pack.cols]
        self.phi = np.concatenate([quadratic, features.mu2sq], axis=1)  # [U, P, N]
        means = [features.mu0, features.kappa[:, None, :] * features.mu1, features.dmu0][:modes]
        self.means = np.concatenate(means, axis=1)  # [U, modes·K, N]
        self.mu1, self.dmu0, self.label = features.mu1, features.dmu0, label
        self._w_phi = _last(w * self.phi)
        self._w = features.weights[:, :, None]
        P, F = self.phi.shape[1], self.means.shape[1]
        self._pairs = np.triu_indices(P)
        self._w_phi2 = _last(w * self.phi[:, self._pairs[0]] * self.phi[:, self._pairs[1]])
        self._mean_pairs = np.triu_indices(F)
        rows, cols = self._mean_pairs
        t0, t1 = label.t0[:, None], label.t1[:, None]
        linear = [self.means[:, rows] * self.means[:, cols], self.means * t0, features.mu1 * t1]
        self._w_linear = _last(w * np.concatenate(linear, axis=1))
        size = features.mu0**2 + features.mu1**2 + features.mu2sq
        self.size = (w * size).sum(axis=(1, 2))[:, None]  # [U, 1]
        ends = features.kappa[:, [0, -1]]
        self._end_size = (np.exp(-0.5 * ends**2) * self.phi.sum(axis=1)[:, [0, -1]])[:, None, :]

    def hats(self, f: np.ndarray) -> np.ndarray:
        """E[φ f], [U, A, P]."""
        return f @ self._w_phi

    def squares(self, f: np.ndarray) -> np.ndarray:
        """E[φ φᵀ f], [U, A, P, P]."""
        return _symmetric(f @ self._w_phi2, self._pairs, self.phi.shape[1])

    def linear(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[g gᵀ f] and E[g t0 f] for the mean modes g, and E[μ1 t1 f]."""
        F = self.means.shape[1]
        both, rest = np.split(f @ self._w_linear, [len(self._mean_pairs[0])], axis=-1)
        return _symmetric(both, self._mean_pairs, F), rest[..., :F], rest[..., F:]

    def tilts(self, f: np.ndarray) -> np.ndarray:
        """E[∂μ0/∂c ∂μ0/∂cᵀ f], [U, A, K, K]."""
        weighted = self._w[:, :, 0][:, None] * self.dmu0
        return np.einsum("usn,utn,uan->uast", weighted, self.dmu0, f, optimize=True)

    def tail(self, f: np.ndarray) -> np.ndarray:
        """Size of f φ at the outermost nodes, for a typical φ of the features, over E[f φ]."""
        ends = np.abs(f[..., [0, -1]]) * self._end_size
        return ends.max(axis=-1) / (np.abs(self.hats(f).sum(axis=-1)) + 1e-300)

    def mean(self, f: np.ndarray) -> np.ndarray:
        """E[f], [U, A]."""
        return (f @ self._w)[..., 0]


def solve(
    features: Features, label: Label, bulk: Bulk, setting: Setting, start: np.ndarray | None = None
) -> Solution:
    """All order parameters and both errors. `start` is a packed V to begin from, such as a coarser rule's."""
    averages = _Averages(features, label, bulk.modes)
    V, residual, response, gain, Jacobian = _responses(averages, bulk, setting, start)
    ratio = (setting.alpha / setting.beta)[..., None]
    means, drive, stiff = _means(averages, bulk, setting, response, gain)
    M = _expand(means.reshape(*means.shape[:2], -1)[..., : averages.means.shape[1]], averages.means)
    psi = drive.psi
    t0, t1, t2 = (t[:, None, :] for t in label)
    base = M - 2.0 * t0
    base *= M
    base -= _expand(2.0 * psi, averages.mu1) * t1
    base += t2
    base += (setting.noise**2)[..., None]
    wobble = _wobble(bulk, setting)
    if wobble is not None:
        tilt = means[:, :, 0, :, None] * averages.dmu0[:, None]
        base += np.einsum("uast,uasn,uatn->uan", wobble, tilt, tilt, optimize=True)

    pack = packing(len(bulk.weights))
    tangent = total_tangent(response)
    signal = signal_energy_gradient(response, tangent, drive.u, stiff)
    zeta = means[:, :, 1]
    signal -= pack.pack(zeta[..., :, None] * zeta[..., None, :], np.zeros_like(zeta))
    squared = gain * gain
    source = ratio * averages.hats(base * squared)
    eye = np.eye(pack.size)
    right = _apply(response.by_hat, source) + _apply(eye - response.by_V, signal)
    q = solve_small(Jacobian, right)

    R = base
    R += _expand(q * pack.counts, averages.phi)
    left_over = (
        R * squared
    )  # squared distance to the label after the fit: zero where the readout interpolates
    chi = means[:, :, 2] if bulk.modes == 3 else np.zeros_like(zeta)
    return Solution(
        V=V,
        q=q,
        m=means[:, :, 0],
        zeta=zeta,
        psi=psi,
        chi=chi,
        test_error=averages.mean(R) - setting.noise**2,
        train_error=averages.mean(left_over) * setting.unit**2,
        residual=residual,
        tail=averages.tail(left_over),
    )


def _responses(
    averages: _Averages, bulk: Bulk, setting: Setting, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, Response, np.ndarray, np.ndarray]:
    """The fixed point V = response(V̂(V)), by Newton from above: monotone, because the map is concave.

    Returns V, its relative residual there, the bulk's response, 1/(unit + V(κ)), and the Jacobian 1 - dF/dV.
    """
    pack = packing(len(bulk.weights))
    eye = np.eye(pack.size)
    ratio = (setting.alpha / setting.beta)[..., None]
    V = _upper_start(bulk, setting) if start is None else start
    best = np.full(V.shape[:2], np.inf)
    step = 0
    while True:
        gain = 1.0 / (setting.unit[..., None] + _expand(V * pack.counts, averages.phi))
        response = respond(bulk, V, ratio * averages.hats(gain), setting.beta, setting.lam)
        gap = response.V - V
        residual = np.max(np.abs(gap) / _scale(V, pack), axis=-1)
        slope = ratio[..., None] * averages.squares(gain * gain) * pack.counts
        Jacobian = eye - response.by_V - response.by_hat @ slope
        stalled = (residual >= best) & (residual < 1e-10)  # rounding errors reached
        if step == _NEWTON_STEPS or np.all((residual <= _ROUND_OFF) | stalled):
            return V, residual, response, gain, Jacobian
        best = np.minimum(best, residual)
        newton = V + solve_small(Jacobian, gap)
        positive = np.all(pack.vector(newton) >= 0.0, axis=-1) & np.all(
            newton[..., _diagonal(pack)] >= 0, axis=-1
        )
        V = np.where(positive[..., None], newton, response.V)
        step += 1


def _upper_start(bulk: Bulk, setting: Setting) -> np.ndarray:
    """A point above the solution: the responses that there would be without any data."""
    pack = packing(len(bulk.weights))
    lam = np.where(setting.lam > 0.0, setting.lam, _ALMOST_RIDGELESS)
    shape = (*lam.shape, pack.pairs)
    V = np.concatenate([np.zeros(shape), bulk.weights / lam[..., None]], axis=-1)
    return respond(bulk, V, np.zeros_like(V), setting.beta, lam).V


@dataclass
class _Drive:
    u: np.ndarray  # [U, A, modes, K]
    psi: np.ndarray  # [U, A, K]


def _means(
    averages: _Averages, bulk: Bulk, setting: Setting, response: Response, gain: np.ndarray
) -> tuple[np.ndarray, _Drive, np.ndarray]:
    """The linear system for m, ζ, χ (and ψ): means [U, A, 3 or 2, K], what drives the modes, and stiffness energy.

    The residual of the fit drives each mode; the modes answer through the resolvent's forms G. The all-ones
    directions m are infinitely soft to it at d = ∞ (the residual is orthogonal to μ0), and have stiffness
    1/(βd V2) at finite d.
    """
    K = len(bulk.weights)
    pack = packing(K)
    U, A = setting.alpha.shape
    ratio = (setting.alpha / setting.beta)[..., None]
    both, with_t0, with_t1 = averages.linear(gain)
    both, r, r_psi = ratio[..., None] * both, ratio * with_t0, ratio * with_t1
    wobble = _wobble(bulk, setting)
    if wobble is not None:
        both[..., :K, :K] += wobble * ratio[..., None] * averages.tilts(gain)
    root = response.root
    G = response.resolvent.forms() * root[:, :, None, :, None, None] * root[:, :, None, None, None, :]
    hat1 = pack.matrix(ratio * averages.hats(gain))

    V2 = pack.vector(response.V)
    softness = _softness(both[..., :K, :K], setting, V2, ratio[..., 0] * averages.size)
    # eliminate m, then solve for the modes c = (ζ, χ)
    others = [0, 2] if bulk.modes == 3 else [0]
    C = len(others) * K
    Gcc = G[:, :, others][:, :, :, :, others].reshape(U, A, C, C)
    Gcp = G[:, :, others][:, :, :, :, 1].reshape(U, A, C, K)
    A0c, Acc = both[..., :K, K:], both[..., K:, K:].copy()
    Acc[..., :K, :K] -= hat1  # the resolvent already contains this part of ζ's own response
    Pr, PA = _apply(softness, r[..., :K]), softness @ A0c
    reduced = Acc - np.swapaxes(A0c, -1, -2) @ PA
    left = np.eye(C) + Gcc @ reduced
    right = _apply(Gcc, r[..., K:] - _apply(np.swapaxes(A0c, -1, -2), Pr)) + _apply(Gcp, r_psi)
    c = solve_small(left, right)
    m = Pr - _apply(PA, c)

    u = np.zeros((U, A, bulk.modes, K))
    u_c = r[..., K:] - _apply(np.swapaxes(A0c, -1, -2), m) - _apply(Acc, c)
    u[:, :, others] = u_c.reshape(U, A, len(others), K)
    u[:, :, 1] = r_psi
    psi = np.einsum("uasktl,uatl->uask", G, u)[:, :, 1]
    means = np.concatenate([m[:, :, None], c.reshape(U, A, len(others), K)], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        stiff = np.where(V2 > 0, m**2 / (setting.beta * setting.d)[..., None] / V2, 0.0)
    return means, _Drive(u, psi), stiff


def _wobble(bulk: Bulk, setting: Setting) -> np.ndarray | None:
    """Covariance of the variances xᵀC_s x/d that the groups see, [U, A, K, K]: an effect of order 1/d."""
    if np.all(np.isinf(setting.d)):
        return None
    overlap = bulk.norm_overlap()
    return None if overlap is None else 2.0 / setting.d[..., None, None] * overlap[:, None]


def _softness(A00: np.ndarray, setting: Setting, V2: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(A00 + stiffness)⁻¹, [U, A, K, K]: a pseudo-inverse where the stiffness vanishes (d = ∞)."""
    with np.errstate(divide="ignore"):
        stiffness = np.where(np.isinf(setting.d), 0.0, 1.0 / (setting.beta * setting.d))[
            ..., None
        ] / np.where(V2 > 0, V2, 1e-300)
    K = A00.shape[-1]
    if K == 1:
        total = A00[..., 0, 0] + stiffness[..., 0]
        present = total > _NO_MEAN * size
        return np.where(present, 1.0 / np.where(present, total, 1.0), 0.0)[..., None, None]
    matrix = A00 + stiffness[..., None] * np.eye(K)
    # balance first: a large stiffness on one group must not hide another's direction
    balance = 1.0 / np.sqrt(np.maximum(np.diagonal(matrix, axis1=-2, axis2=-1), _NO_MEAN * size[..., None]))
    values, vectors = np.linalg.eigh(matrix * balance[..., :, None] * balance[..., None, :])
    kept = np.where(values > _NULL, 1.0 / np.where(values > _NULL, values, 1.0), 0.0)
    inverse = (vectors * kept[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return inverse * balance[..., :, None] * balance[..., None, :]


def _scale(V: np.ndarray, pack: object) -> np.ndarray:
    """What an entry of V is small or large against: its own diagonal entries."""
    diagonal = V[..., _diagonal(pack)]
    K = diagonal.shape[-1] // 2
    lead = np.sqrt(diagonal[..., :K])
    rows, cols = np.triu_indices(K)
    scale = np.concatenate([lead[..., rows] * lead[..., cols], diagonal[..., K:]], axis=-1)
    return np.where(scale > 0, scale, 1.0)


def _diagonal(pack) -> np.ndarray:
    return np.concatenate([np.flatnonzero(pack.rows == pack.cols), pack.pairs + np.arange(pack.groups)])


def _expand(x: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Σ_p x_p basis_p(κ): [U, A, P] with [U, P, N] to [U, A, N]."""
    return x @ basis


def _apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def _last(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def _symmetric(entries: np.ndarray, index: tuple[np.ndarray, np.ndarray], size: int) -> np.ndarray:
    full = np.empty((*entries.shape[:-1], size, size), entries.dtype)
    full[..., index[0], index[1]] = entries
    full[..., index[1], index[0]] = entries
    return full

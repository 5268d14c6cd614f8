"""The bulk of the trained network itself: row covariances that the first batch imprinted, any activation.

Given the first batch, the rows of group s (letter ℓ_s) are independent with covariance C_s/d,

    C_s = M_s² + g_s A,    M_s = 1 + b_s B,    A = X0ᵀ diag(e²) X0/n0,    B = X0ᵀ diag(e) X0/n0,

where e is the residual that the step followed. M is the part of the step that is linear in the row's own
pre-activations (absent for odd activations), gA the rest. The spike direction v̂ ∝ X0ᵀe and the target θ are
correlated with A and B, and the squared norms of the rows fluctuate by δ_i = O(d^-½), as large as W v̂.

Everything follows from one linear pencil 𝒮 that is affine in the samples' x xᵀ; its averaged inverse X solves

    X = (S0 + E[Z] ⊕ 0)⁻¹,      Z(e) = (1 + D(e) X_D/α0)⁻¹ D(e),

D(e) being a sample's weight in the pencil and X_D the corner of X on which D acts.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..step.batch import Batch
from .base import Bulk, Resolvent

_STEPS = 200
_PLAIN = 4  # plain iterations before Newton's method on a cold start
_TOLERANCE = 1e-14


class Exact(Bulk):
    """U first layers of K groups. Coefficients m, b, g [U, K] are those of C_s; sources describe the modes.

    `sources` [U, R, 3K, n] and `target` [U, R, 3K]: each mode as a vector of the pencil, the part summed over
    samples and the part along θ. `direct` [U, K]: the variance of δ_s that is independent of everything else.
    """

    modes = 3

    def __init__(
        self,
        weights: np.ndarray,
        batch: Batch,
        per_sample: np.ndarray,
        m: np.ndarray,
        b: np.ndarray,
        g: np.ndarray,
        sources: np.ndarray,
        target: np.ndarray,
        direct: np.ndarray,
    ):
        self.weights, self.batch, self.per_sample = weights, batch, per_sample
        self.m, self.b, self.g = m, b, g
        self.sources, self.target, self.direct = sources, target, direct
        self.rank = sources.shape[1] - len(weights)  # size of D: K for odd activations, else 2K
        self._last: np.ndarray | None = None

    def resolvent(self, Vt: np.ndarray) -> ExactResolvent:
        start = self._last if self._last is not None and self._last.shape[:2] == Vt.shape[:2] else None
        found = ExactResolvent(self, Vt, start)
        self._last = found.Y
        return found

    @cached_property
    def D(self) -> np.ndarray:
        """Each sample's weight in the pencil, [U, Q, Q, n]."""
        K = len(self.weights)
        e = self.batch.e
        D = np.zeros((len(e), self.rank, self.rank, e.shape[-1]))
        s = np.arange(K)
        D[:, s, s] = self.g[:, :, None] * e[:, None] ** 2
        if self.rank == 2 * K:
            D[:, s, K + s] = D[:, K + s, s] = self.b[:, :, None] * e[:, None]
        return D

    def constant(self, Vt: np.ndarray) -> np.ndarray:
        """S0, the part of the pencil that no sample touches, [U, A, R, R]."""
        K = len(self.weights)
        S = np.zeros((*Vt.shape[:2], self.rank + K, self.rank + K), Vt.dtype)
        s, last = np.arange(K), self.rank + np.arange(K)
        if self.rank == 2 * K:
            S[:, :, s, K + s] = S[:, :, K + s, s] = self.m[:, None]
            S[:, :, K + s, K + s] = -1.0
        else:
            S[:, :, s, s] = self.m[:, None] ** 2
        S[:, :, s, last] = S[:, :, last, s] = 1.0
        S[..., self.rank :, self.rank :] = -Vt
        return S

    @cached_property
    def _free(self) -> ExactResolvent:
        """At Ṽ = 0, where T̂ = (1/d) tr C."""
        K = len(self.weights)
        return ExactResolvent(self, np.zeros((len(self.m), 1, K, K)), None)

    @cached_property
    def c(self) -> np.ndarray:  # type: ignore[override]
        return np.diagonal(self._free.T[:, 0], axis1=-2, axis2=-1)

    def norm_overlap(self) -> np.ndarray:
        K = len(self.weights)
        unit = np.zeros((1, 1, K * K, K, K))
        index = np.arange(K * K)
        unit[0, 0, index, index // K, index % K] = 1.0
        change = self._free.tangent(np.broadcast_to(unit, (len(self.m), *unit.shape[1:])))
        return change[:, 0, index, index // K, index % K].reshape(-1, K, K)


class ExactResolvent(Resolvent):
    """The pencil's averaged inverse at one Ṽ per grid point."""

    def __init__(self, bulk: Exact, Vt: np.ndarray, start: np.ndarray | None):
        self.bulk, self.Vt = bulk, Vt
        self._share = bulk.per_sample[:, None, None, None]
        w = bulk.batch.weights
        self._w0, self._w1, self._w2 = (w[:, None, power, :, None] for power in range(3))
        self.Y, self.X, self.Z = self._fixed_point(start)
        Q = bulk.rank
        self.T = -self.X[..., Q:, Q:]
        self._x3 = self.X[..., :Q, Q:]

    # the fixed point

    def _fixed_point(self, start: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        bulk, Q = self.bulk, self.bulk.rank
        S0 = bulk.constant(self.Vt)
        warm = start is not None
        Y = start if warm else np.broadcast_to(bulk.batch.mean(bulk.D)[:, None], (*self.Vt.shape[:2], Q, Q))
        best, stuck, step = np.inf, 0, 0
        while True:
            X = _padded_inverse(S0, Y)
            Z = _sample_response(bulk.D, X[..., :Q, :Q] * self._share)
            gap = self._mean(Z) - Y
            size = np.abs(Y).max(axis=(-1, -2), initial=1e-300)
            residual = float((np.abs(gap).max(axis=(-1, -2)) / size).max())
            if step == _STEPS or residual <= _TOLERANCE or (residual < 1e-11 and residual >= best):
                return Y, X, Z
            stuck = 0 if residual < 0.5 * best else stuck + 1
            best = min(best, residual)
            if (step < _PLAIN and not warm) or (stuck > 3 and step % 3):
                Y = Y + gap
            else:
                J = np.eye(Q * Q) - self._pairs(Z) @ _kron(X[..., :Q, :Q])
                Y = Y + np.linalg.solve(J, gap.reshape(*gap.shape[:2], -1, 1)).reshape(gap.shape)
            step += 1

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """E over the batch of [U, A, Q, Q, n]."""
        flat = values.reshape(*values.shape[:2], -1, values.shape[-1])
        return (flat @ self._w0)[..., 0].reshape(values.shape[:-1])

    def _pairs(self, Z: np.ndarray) -> np.ndarray:
        """𝒵 = E[Z ⊗ Z]/α0 on row-major vec, [U, A, Q², Q²]."""
        U, A, Q = Z.shape[:3]
        flat = Z.reshape(U, A, Q * Q, -1)
        both = (flat * self._w0[..., 0][:, :, None]) @ np.swapaxes(flat, -1, -2)
        both = both.reshape(U, A, Q, Q, Q, Q)  # (a c)(b d)
        return np.swapaxes(both, 3, 4).reshape(U, A, Q * Q, Q * Q) * self._share

    @cached_property
    def _chain(self) -> np.ndarray:
        """ℛ = (1 - 𝒵 X⊗X)⁻¹ 𝒵: how a change of the pencil feeds back through the samples."""
        Q = self.bulk.rank
        pairs = self._pairs(self.Z)
        return np.linalg.solve(np.eye(Q * Q) - pairs @ _kron(self.X[..., :Q, :Q]), pairs)

    # first order

    def _feedback(self, dVt: np.ndarray) -> np.ndarray:
        """ℛ[x3 dṼ x3ᵀ], [U, A, S, Q, Q]."""
        x3 = self._x3[:, :, None]
        pushed = x3 @ dVt @ np.swapaxes(x3, -1, -2)
        flat = pushed.reshape(*pushed.shape[:3], -1) @ np.swapaxes(self._chain, -1, -2)
        return flat.reshape(pushed.shape)

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        T, x3 = self.T[:, :, None], self._x3[:, :, None]
        return T @ dVt @ T + np.swapaxes(x3, -1, -2) @ self._feedback(dVt) @ x3

    def leak(self, dVt: np.ndarray) -> np.ndarray:
        Q, K = self.bulk.rank, self.T.shape[-1]
        X = self.X[:, :, None]
        x3 = self._x3[:, :, None]
        change = self.T[:, :, None] @ dVt @ X[..., Q:, :K]
        return change - np.swapaxes(x3, -1, -2) @ self._feedback(dVt) @ X[..., :Q, :K]

    # quadratic forms

    @cached_property
    def _along_target(self) -> np.ndarray:
        """X_θ: the pencil's inverse along θ, where samples weigh z² instead of 1."""
        flat = self.Z.reshape(*self.Z.shape[:2], -1, self.Z.shape[-1])
        Yz = (flat @ self._w2)[..., 0].reshape(self.Z.shape[:-1])
        return _padded_inverse(self.bulk.constant(self.Vt), Yz)

    @cached_property
    def _pulled(self) -> np.ndarray:
        """(XΦ) on the samples' corner, [U, A, Q, modes, n]."""
        Q = self.bulk.rank
        return np.einsum("uaqr,urin->uaqin", self.X[..., :Q, :], self.bulk.sources, optimize=True)

    @cached_property
    def _overlap(self) -> np.ndarray:
        """L = t + E[z (1 - ZX/α0) Φ], [U, A, R, modes]: each mode's component along θ, dressed."""
        bulk, Q = self.bulk, self.bulk.rank
        dressed = np.einsum("uaqpn,uapin->uaqin", self.Z, self._pulled, optimize=True)
        L = np.broadcast_to(
            (bulk.target + bulk.batch.mean(bulk.sources, 1))[:, None],
            (*self.T.shape[:2], *bulk.target.shape[1:]),
        ).astype(self.T.dtype)
        L[..., :Q, :] -= self._share * (dressed @ self._w1[:, :, None])[..., 0]
        return L

    def forms(self) -> np.ndarray:
        return self._forms

    @cached_property
    def _forms(self) -> np.ndarray:
        bulk = self.bulk
        K = len(bulk.weights)
        U, A = self.T.shape[:2]
        w0 = bulk.batch.weights[:, 0]
        first = np.einsum(
            "urin,uars,usjn,un->uaij", bulk.sources, self.X, bulk.sources, w0, optimize="greedy"
        )
        second = np.einsum(
            "uaqin,uaqpn,uapjn,un->uaij", self._pulled, self.Z, self._pulled, w0, optimize="greedy"
        )
        L = self._overlap
        form = self._share * (first - self._share * second)
        form = form + np.swapaxes(L, -1, -2) @ self._along_target @ L
        G = -form.reshape(U, A, 3, K, 3, K)
        s = np.arange(K)
        G[:, :, 2, s, 2, s] += bulk.direct[:, None]
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        bulk, Q = self.bulk, self.bulk.rank
        share = self._share
        flat = u.reshape(*u.shape[:2], -1)
        phi = np.einsum("urin,uai->uarn", bulk.sources, flat, optimize=True)
        ell = np.einsum("uars,uasi,uai->uar", self._along_target, self._overlap, flat, optimize=True)
        pulled = self.X[..., :Q, :] @ phi
        a = phi.copy()
        a[..., :Q, :] -= share * np.einsum("uaqpn,uapn->uaqn", self.Z, pulled)
        b = np.zeros_like(a)
        b[..., :Q, :] = np.einsum("uaqpn,uap->uaqn", self.Z, ell[..., :Q])
        w0, w1, w2 = (w[..., 0][:, :, None] for w in (self._w0, self._w1, self._w2))
        aT, bT = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
        cross = (a * w1) @ bT
        spread = (a * w0) @ aT - cross - np.swapaxes(cross, -1, -2) + (b * w2) @ bT
        R = self.X @ (share * spread) @ self.X
        back = (R[..., :Q, :Q].reshape(*R.shape[:2], 1, -1) @ np.swapaxes(self._chain, -1, -2)).reshape(
            *R.shape[:2], Q, Q
        )
        x3 = self._x3
        last = ell[..., Q:]
        return -(
            last[..., :, None] * last[..., None, :] + R[..., Q:, Q:] + np.swapaxes(x3, -1, -2) @ back @ x3
        )


def _sample_response(D: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Z = (1 + Dx)⁻¹ D for every sample: D [U, Q, Q, n], x [U, A, Q, Q]."""
    Q = x.shape[-1]
    D, x = D[:, None], x[..., None]
    if Q == 1:
        return D / (1.0 + D * x)
    if Q == 2:  # closed form; D's lower corner is zero
        p, s = D[:, :, 0, 0], D[:, :, 0, 1]
        x1, x2, x3 = x[:, :, 0, 0], x[:, :, 0, 1], x[:, :, 1, 1]
        if np.any(D[:, :, 1, 1]):
            full = np.linalg.solve(
                np.eye(2) + np.moveaxis(D, -1, 2) @ np.moveaxis(x, -1, 2), np.moveaxis(D, -1, 2)
            )
            return np.moveaxis(full, 2, -1)
        square = s * s
        scale = 1.0 / (1.0 + p * x1 + 2.0 * s * x2 - square * (x1 * x3 - x2 * x2))
        Z = np.empty((*scale.shape[:2], 2, 2, scale.shape[-1]), scale.dtype)
        Z[:, :, 0, 0] = (p - square * x3) * scale
        Z[:, :, 0, 1] = Z[:, :, 1, 0] = (s + square * x2) * scale
        Z[:, :, 1, 1] = -square * x1 * scale
        return Z
    d, y = np.moveaxis(D, -1, 2), np.moveaxis(x, -1, 2)
    both = np.broadcast_to(d, np.broadcast_shapes(d.shape, y.shape))
    return np.moveaxis(np.linalg.solve(np.eye(Q) + d @ y, both), 2, -1)


def _padded_inverse(S0: np.ndarray, Y: np.ndarray) -> np.ndarray:
    Q = Y.shape[-1]
    S = S0.copy()
    S[..., :Q, :Q] += Y
    X = np.linalg.inv(S)
    return 0.5 * (X + np.swapaxes(X, -1, -2))


def _kron(X: np.ndarray) -> np.ndarray:
    """X ⊗ X on row-major vec, [U, A, Q², Q²]."""
    Q = X.shape[-1]
    return np.einsum("uaij,uakl->uaikjl", X, X).reshape(*X.shape[:2], Q * Q, Q * Q)

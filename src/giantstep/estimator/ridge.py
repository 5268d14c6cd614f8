"""Ridge regression on features in blocks, for all penalties at once, with its exact leave-one-out errors.

Minimised is ½ Σ w (y - φ·a/√p - b)² + lam/2 |a|². Without an intercept b, means are 0 in what follows. With
Ψ = √w (φ - m)/√p, everything follows from one decomposition, ΨᵀΨ = V s Vᵀ (or, for fewer samples than neurons, that of
ΨΨᵀ, which has the same s):

    a = V c/(s + lam),  c = VᵀΨᵀ√w(y - ȳ),      f = ȳ + t·c/(s + lam),  t = Vᵀ(φ - m)/√p,
    h = w (Σ t²/(s + lam) + 1/W),               leaving the sample out, f becomes (f - h y)/(1 - h).

Copies of an input are left out together: then h is their sum and y their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simulation.backend import Backend
from .features import Features

_CERTAIN = 1e-12  # 1 - h below this is rounding


@dataclass(frozen=True)
class Linear:
    """f = a·φ/√p + intercept, for each output."""

    weights: np.ndarray  # [outputs, p]
    intercept: np.ndarray  # [outputs]
    optimality: np.ndarray  # relative duality gap [outputs]; 0 where the fit is in closed form


@dataclass(frozen=True)
class Moments:
    """What ridge regression needs to know of its samples; of no size that grows with them beyond p."""

    matrix: Any  # ΨᵀΨ [p, p], or ΨΨᵀ [n, n] where n < p
    right: Any  # Ψᵀ√w(y - ȳ) [p, outputs], or √w(y - ȳ) [n, outputs]
    rows: Any | None  # Ψ [n, p] where n < p, the samples in reverse order
    mean: Any  # m [p]
    target: np.ndarray  # ȳ [outputs]
    total: float  # W, infinite without an intercept
    backend: Backend

    def fit(self, lam: float) -> Linear:
        """The readout at one penalty."""
        backend = self.backend
        if lam > 0:
            solved = backend._by_cholesky(self.matrix, self.right, lam)
        else:
            outputs = (self.right[:, k] for k in range(self.right.shape[1]))
            found = [backend.solve_shifted(self.matrix, y, [lam])[:, 0] for y in outputs]
            solved = backend.xp.stack(found, axis=1)
        weights = solved if self.rows is None else backend.matmul(self.rows.T, solved)
        weights = backend.numpy(weights).T
        return Linear(weights, self.target - weights @ backend.numpy(self.mean), np.zeros(len(weights)))

    def at(self, lam: float) -> Penalised:
        """What leave-one-out needs at one penalty, until the next one is asked for."""
        factor = self.backend.factor_shifted(self.matrix, lam)
        return Penalised(factor, self.backend.solve_lower(factor, self.right + 0.0), lam, self)

    def spectrum(self) -> Spectrum:
        backend = self.backend
        values, vectors = backend._eigh(self.matrix)
        vectors = backend.xp.asarray(
            vectors, copy=True
        )  # they may lie in memory that the next call writes over
        s = backend.numpy(values)
        if self.rows is None:
            turned = backend.matmul(vectors.T, self.right)
            return Spectrum(np.maximum(s, 0.0), vectors, backend.numpy(turned), self)
        full = np.flatnonzero(s > len(s) * backend.eps * max(s[-1], 0.0))
        vectors = backend.xp.take(vectors, backend.indices(full), axis=1)
        turned = backend.numpy(backend.matmul(vectors.T, self.right)) * np.sqrt(s[full])[:, None]
        basis = backend.matmul(self.rows.T, vectors) * backend.asarray(1 / np.sqrt(s[full]))[None, :]
        return Spectrum(s[full], basis, turned, self)


@dataclass(frozen=True)
class Spectrum:
    """The decomposition: leave-one-out errors of all samples at all penalties follow by products."""

    values: np.ndarray  # s [k]
    basis: Any  # V [p, k]
    coefficients: np.ndarray  # c [k, outputs]
    moments: Moments

    def left_out(
        self,
        features: Features,
        labels: np.ndarray,
        weights: np.ndarray,
        copies: np.ndarray | None,
        lams: np.ndarray,
    ) -> np.ndarray:
        """Outputs at these samples [lams, n, outputs], each left out of the fit that it was part of."""
        moments, backend = self.moments, self.moments.backend
        shrink = 1 / (self.values[:, None] + lams)  # [k, lams]
        k, outputs = self.coefficients.shape
        shrunk = backend.asarray((self.coefficients[:, None, :] * shrink[:, :, None]).reshape(k, -1))
        shrink, outs, levers = backend.asarray(shrink), [], []
        shift = backend.matmul(moments.mean[None, :], self.basis)
        for _, phi in features.blocks():
            t = backend.matmul(phi, self.basis)
            t -= shift
            outs.append(backend.numpy(backend.matmul(t, shrunk)))
            t *= t
            levers.append(backend.numpy(backend.matmul(t, shrink)))
        f = np.concatenate(outs).reshape(len(labels), len(lams), outputs) + moments.target
        h = weights[:, None] * (np.concatenate(levers) + 1 / moments.total)
        return np.moveaxis(without(f, h, labels, weights, copies), 1, 0)


@dataclass(frozen=True)
class Penalised:
    """One penalty: Cholesky's factor, which takes a small part of the time of the decomposition for all."""

    factor: Any  # L: LLᵀ = ΨᵀΨ + lam or, where n < p, ΨΨᵀ + lam
    right: Any  # L⁻¹ times the right-hand sides
    lam: float
    moments: Moments

    def left_out(
        self, features: Features, labels: np.ndarray, weights: np.ndarray, copies: np.ndarray | None
    ) -> np.ndarray:
        """Outputs at these samples [n, outputs], the first of those of the fit, each left out of it.

        Where n < p they follow from K = ΨΨᵀ(ΨΨᵀ + lam)⁻¹ = 1 - lam (L⁻¹)ᵀL⁻¹. Of that, the last block of L suffices
        for the first samples, as they come last there.
        """
        moments, backend, n = self.moments, self.moments.backend, len(labels)
        if moments.rows is None:
            outs, levers = [], []
            for _, phi in features.blocks():
                columns = backend.solve_lower(self.factor, (phi - moments.mean[None, :]).T)
                outs.append(backend.numpy(backend.matmul(columns.T, self.right)))
                columns *= columns
                levers.append(backend.numpy(backend.xp.sum(columns, axis=0)))
            f, h = np.concatenate(outs), weights * np.concatenate(levers)
        else:
            inverse = backend.solve_lower(self.factor[-n:, -n:], backend.asarray(np.eye(n)))
            solved = backend.numpy(backend.matmul(inverse.T, self.right[-n:, :]))[::-1]
            right = backend.numpy(moments.right[-n:, :])[::-1]
            f = (right - self.lam * solved) / np.sqrt(weights)[:, None]
            h = 1 - self.lam * backend.numpy(backend.xp.sum(inverse * inverse, axis=0))[::-1]
        f, h = (f + moments.target)[:, None, :], (h + weights / moments.total)[:, None]
        return without(f, h, labels, weights, copies)[:, 0, :]


def without(
    f: np.ndarray, h: np.ndarray, labels: np.ndarray, weights: np.ndarray, copies: np.ndarray | None
) -> np.ndarray:
    """Outputs f [n, lams, outputs] of fits without each sample, h [n, lams] being its share in its own."""
    h, y = together(h, labels, weights, copies)
    return (f - h[:, :, None] * y[:, None, :]) / np.maximum(1 - h, _CERTAIN)[:, :, None]


def together(
    h: np.ndarray, labels: np.ndarray, weights: np.ndarray, copies: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of h and weighted means of labels over copies of the same input, at each of them."""
    if copies is None:
        return h, labels
    _, member = np.unique(copies, return_inverse=True)
    return summed(h, member), summed(weights[:, None] * labels, member) / summed(weights[:, None], member)


def summed(values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Sums over the members of each set [n, ...], at each member."""
    total = np.zeros((member.max() + 1, *values.shape[1:]))
    np.add.at(total, member, values)
    return total[member]


def moments(features: Features, labels: np.ndarray, weights: np.ndarray, intercept: bool) -> Moments:
    """One pass over the samples."""
    backend, (n, p) = features.backend, features.shape
    total, roots = float(weights.sum()), None if (weights == 1).all() else np.sqrt(weights)
    target = weights @ labels / total if intercept else np.zeros(labels.shape[1])
    right = labels - target if roots is None else roots[:, None] * (labels - target)
    few = n < p
    gram, correlation, kept = None if few else backend.zeros(p, p), backend.zeros(p, labels.shape[1]), []
    shift, drift = (
        backend.zeros(p),
        backend.zeros(p),
    )  # the mean of the first block, and from there to that of all
    for part, phi in features.blocks():
        if intercept and part.start == 0:
            shift = backend.xp.sum(phi, axis=0) / phi.shape[0]
        rows = phi - shift[None, :] if intercept else phi
        if intercept:
            drift = drift + backend.matmul(backend.asarray(weights[part]), rows) / total
        if roots is not None:
            rows = rows * backend.asarray(roots[part])[:, None]
        if few:
            kept.append(rows)
        else:
            gram = backend.add_gram(gram, rows)
            correlation = correlation + backend.matmul(rows.T, backend.asarray(right[part]))
    infinite = total if intercept else np.inf
    if not few:
        if intercept:
            outer = total * drift[:, None] * drift[None, :]
            gram -= outer.T  # by columns, as Gram matrices may be
        return Moments(gram, correlation, None, shift + drift, target, infinite, backend)
    rows = backend.xp.concat(kept, axis=0)
    if intercept:
        scale = backend.asarray(np.ones(n) if roots is None else roots)
        rows = rows - scale[:, None] * drift[None, :]
    rows, right = backend.xp.flip(rows, axis=0), backend.asarray(right[::-1].copy())
    kernel = backend.add_gram(backend.zeros(n, n), rows.T)
    return Moments(kernel, right, rows, shift + drift, target, infinite, backend)

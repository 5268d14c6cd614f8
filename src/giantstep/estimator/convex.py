"""Readouts of smooth losses by Newton's method in blocks, with their approximate leave-one-out outputs.

Minimised is Σ w ℓ(y, φ·a/√p + b) + lam/2 |a|². The intercept b is the weight of a large constant feature, so that its
penalty is a millionth of the others' and the objective is strongly convex: |gradient|²/2lam bounds how far it is above
its minimum. Newton's matrix H at the minimum also says what one sample does: leaving it out moves its own output by

    h Σ w ℓ' / (1 - h Σ w ℓ''),    h = φᵀH⁻¹φ,

one Newton step of the problem without it (the sums run over copies of the same input).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from ..errors import ConvergenceError
from ..losses import Loss
from ..simulation.convex import TOLERANCE
from .features import Features
from .ridge import summed

FREE = 1e3
_TINY = 1e-9  # the scale on which a loss is smoothed to ask for its curvature
_AIM = 1e-22
_MOST_STEPS = 100


class Smooth:
    """One output: features in blocks, labels and weights [n], a loss; penalties one after the other."""

    def __init__(
        self, features: Features, labels: np.ndarray, weights: np.ndarray, loss: Loss, intercept: bool
    ):
        self.features, self.labels, self.weights, self.loss = features, labels, weights, loss
        self.backend, self.intercept = features.backend, intercept
        self.size = features.shape[1] + intercept
        self._last: tuple[Any, ...] = (None,)

    def fit(
        self, lam: float, start: np.ndarray | None = None, roughly: float = 0.0
    ) -> tuple[np.ndarray, float]:
        """The weights, that of the constant feature last, and a bound on the relative suboptimality.

        `roughly` is a relative suboptimality that is good enough, as Newton's next step estimates it.
        """
        theta = np.zeros(self.size) if start is None else start
        z = self.outputs(theta) if theta.any() else np.zeros(len(self.labels))
        best, gap, stale = theta, float(np.inf), 0
        for _ in range(_MOST_STEPS):
            slope, curvature = self._slopes(z)
            hessian, gradient = self._second_order(slope, curvature, lam)
            gradient += lam * theta
            objective = self._objective(z) + lam / 2 * theta @ theta
            now = float(gradient @ gradient / (2 * lam) / max(objective, 1e-300))
            stale = stale + 1 if now > gap / 2 else 0
            best, gap = (theta, now) if now < gap else (best, gap)
            if gap <= _AIM or (stale >= 3 and gap <= self._tolerance):
                break
            factor = cholesky(hessian, lower=True, overwrite_a=True, check_finite=False)
            self._last = (theta, lam, z, slope, curvature, factor)
            step = -cho_solve((factor, True), gradient, check_finite=False)
            if -gradient @ step / 2 <= roughly * objective:
                return theta, now
            moves = self.outputs(step)
            length = self._length(z, moves, theta, step, lam)
            theta, z = theta + length * step, z + length * moves
        if gap > self._tolerance:
            raise ConvergenceError(
                f"the readout for loss = {self.loss.name!r} at lam = {lam:g} was found to a relative duality gap of"
                f" {gap:.1e} only, where {self._tolerance:.0e} is required; use a larger lam",
                None,
            )
        return best, float(gap)

    def left_out(
        self, theta: np.ndarray, lam: float, part: Features, copies: np.ndarray | None
    ) -> np.ndarray:
        """Outputs at the first samples, `part` of the features, each left out, to one Newton step."""
        count = part.shape[0]
        if self._last[0] is theta and self._last[1] == lam:  # the fit has just been there
            z, slope, curvature, factor = self._last[2:]
        else:
            z = self.outputs(theta)
            slope, curvature = self._slopes(z)
            hessian, _ = self._second_order(slope, curvature, lam)
            factor = cholesky(hessian, lower=True, overwrite_a=True, check_finite=False)
        h = np.concatenate(
            [
                (solve_triangular(factor, self._wide(block).T, lower=True, check_finite=False) ** 2).sum(
                    axis=0
                )
                for _, block in part.blocks()
            ]
        )
        force, bend = slope[:count], curvature[:count]
        if copies is not None:
            _, member = np.unique(copies, return_inverse=True)
            force, bend = summed(force, member), summed(bend, member)
        return z[:count] + h * force / np.maximum(1 - h * bend, 1e-12)

    def outputs(self, theta: np.ndarray) -> np.ndarray:
        columns = self.backend.asarray(theta[: self.size - self.intercept])
        z = [self.backend.numpy(self.backend.matmul(phi, columns)) for _, phi in self.features.blocks()]
        return np.concatenate(z) + (FREE * theta[-1] if self.intercept else 0.0)

    @property
    def _tolerance(self) -> float:
        return TOLERANCE["float32" if self.backend.itemsize == 4 else "float64"]

    def _wide(self, phi: Any) -> np.ndarray:
        phi = self.backend.numpy(phi)
        return np.hstack([phi, np.full((len(phi), 1), FREE)]) if self.intercept else phi

    def _objective(self, z: np.ndarray) -> float:
        return float(self.weights @ self.loss.value(self.labels, z))

    def _slopes(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w ℓ' and w ℓ''."""
        curvature = self.loss.score(self.labels, z, np.full_like(z, _TINY)).g
        return self.weights * self.loss.derivative(self.labels, z), self.weights * curvature

    def _second_order(
        self, slope: np.ndarray, curvature: np.ndarray, lam: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """lam + Σ w ℓ'' φφᵀ, its lower triangle alone, and Σ w ℓ' φ; the constant feature is included."""
        backend, p = self.backend, self.features.shape[1]
        gram, gradient, edge = backend.zeros(p, p), backend.zeros(p), backend.zeros(p)
        roots = np.sqrt(curvature)
        for part, phi in self.features.blocks():
            gram = backend.add_gram(gram, phi * backend.asarray(roots[part])[:, None])
            gradient = gradient + backend.matmul(backend.asarray(slope[part]), phi)
            edge = edge + backend.matmul(backend.asarray(curvature[part]), phi)
        matrix = np.zeros((self.size, self.size), order="F")
        matrix[:p, :p] = backend.numpy(gram)
        total = backend.numpy(gradient)
        if self.intercept:
            matrix[p, :p] = FREE * backend.numpy(edge)
            matrix[p, p] = FREE**2 * curvature.sum()
            total = np.append(total, FREE * slope.sum())
        matrix[np.diag_indices_from(matrix)] += lam
        return matrix, total

    def _length(
        self, z: np.ndarray, moves: np.ndarray, theta: np.ndarray, step: np.ndarray, lam: float
    ) -> float:
        """A full step, or where along it the objective is about smallest: a root of its increasing derivative."""
        along, square = float(theta @ step), float(step @ step)

        def derivative(length: float) -> float:
            slope = self.weights * self.loss.derivative(self.labels, z + length * moves)
            return float(slope @ moves) + lam * (along + length * square)

        start, low, high, length = derivative(0.0), 0.0, np.inf, 1.0
        if not start < 0:  # at the minimum, to rounding
            return 1.0
        for _ in range(60):
            now = derivative(length)
            if abs(now) <= 0.1 * abs(start):
                break
            low, high = (length, high) if now < 0 else (low, length)
            length = 2 * length if np.isinf(high) else (low + high) / 2
        return length

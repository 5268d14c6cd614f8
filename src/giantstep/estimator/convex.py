"""Readouts of smooth losses by Newton's method in blocks, with their approximate leave-one-out outputs.

Minimised is Σ w ℓ(y, φ·a/√p + b) + lam/2 |a|². The intercept b is the weight of a large constant feature, so that its
penalty is a millionth of the others' and the objective is strongly convex: |gradient|²/2lam bounds how far it is above
its minimum. Newton's matrix H at the minimum also says what one sample does: leaving it out moves its own output by

    h Σ w ℓ' / (1 - h Σ w ℓ''),    h = φᵀH⁻¹φ,

one Newton step of the problem without it (the sums run over copies of the same input).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..errors import ConvergenceError
from ..losses import Loss
from ..simulation.backend import INDEFINITE
from ..simulation.convex import TOLERANCE
from .features import Features
from .ridge import summed

FREE = 1e3
_TINY = 1e-9  # the scale on which a loss is smoothed to ask for its curvature
_AIM = 1e-22
_MOST_STEPS = 100
_potrf, _potrs, _trtrs = get_lapack_funcs(("potrf", "potrs", "trtrs"), dtype=np.float64)
_REMEMBERED = 2  # a walk over penalties begins where it has been, and may have been elsewhere since


@dataclass
class _Point:
    """Weights, and the losses up to second order there: without the penalty, so that every one can begin from them."""

    theta: np.ndarray
    z: np.ndarray  # outputs [n]
    slope: np.ndarray  # w ℓ' [n]
    curvature: np.ndarray  # w ℓ'' [n]
    hessian: np.ndarray  # Σ w ℓ'' φφᵀ, the lower triangle alone
    gradient: np.ndarray  # Σ w ℓ' φ
    lam: float = -1.0
    factor: np.ndarray | None = None  # Cholesky's, of the Hessian with the penalty lam

    def factored(self, lam: float) -> np.ndarray:
        if self.factor is None or lam != self.lam:
            shifted = self.hessian.copy(order="F")
            np.einsum("ii->i", shifted)[:] += lam  # a view of the diagonal
            factor, info = _potrf(shifted, lower=1, clean=0, overwrite_a=1)
            if info:
                raise np.linalg.LinAlgError(f"the Hessian at lam = {lam:g} is {INDEFINITE} {info}")
            self.lam, self.factor = lam, factor
            return factor
        return self.factor


class Smooth:
    """One output: features in blocks, labels and weights [n], a loss; penalties one after the other."""

    def __init__(
        self, features: Features, labels: np.ndarray, weights: np.ndarray, loss: Loss, intercept: bool
    ):
        self.features, self.labels, self.weights, self.loss = features, labels, weights, loss
        self.backend, self.intercept = features.backend, intercept
        self.size = features.shape[1] + intercept
        self._remembered: list[_Point] = []

    def fit(
        self, lam: float, start: np.ndarray | None = None, roughly: float = 0.0
    ) -> tuple[np.ndarray, float]:
        """The weights, that of the constant feature last, and a bound on the relative suboptimality.

        `roughly` is a relative suboptimality that is good enough, as Newton's next step estimates it.
        """
        point = self._point(np.zeros(self.size) if start is None else start)
        best, gap, stale = point.theta, float(np.inf), 0
        for _ in range(_MOST_STEPS):
            theta, z = point.theta, point.z
            gradient = point.gradient + lam * theta
            objective = self._objective(z) + lam / 2 * theta @ theta
            now = float(gradient @ gradient / (2 * lam) / max(objective, 1e-300))
            stale = stale + 1 if now > gap / 2 else 0
            best, gap = (theta, now) if now < gap else (best, gap)
            if gap <= _AIM or (stale >= 3 and gap <= self._tolerance):
                break
            step = -_potrs(point.factored(lam), gradient, lower=1)[0]
            if -gradient @ step / 2 <= roughly * objective:
                self._remembered = [*self._remembered, point][-_REMEMBERED:]
                return theta, now
            moves = self.outputs(step)
            length = self._length(z, moves, theta, step, lam)
            point = self._point(theta + length * step, z + length * moves)
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
        count, point = part.shape[0], self._point(theta)
        factor = point.factored(lam)
        columns = (
            _trtrs(factor, self._wide(block).T, lower=1, overwrite_b=self.intercept)[0]
            for _, block in part.blocks()
        )
        h = np.concatenate([(column**2).sum(axis=0) for column in columns])
        force, bend = point.slope[:count], point.curvature[:count]
        if copies is not None:
            _, member = np.unique(copies, return_inverse=True)
            force, bend = summed(force, member), summed(bend, member)
        return point.z[:count] + h * force / np.maximum(1 - h * bend, 1e-12)

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

    def _point(self, theta: np.ndarray, z: np.ndarray | None = None) -> _Point:
        """The losses at these weights, whose outputs are z; found again where the weights are those of a last fit."""
        for seen in self._remembered:
            if seen.theta is theta:
                self._remembered = [*(other for other in self._remembered if other is not seen), seen]
                return seen
        if z is None:
            z = self.outputs(theta) if theta.any() else np.zeros(len(self.labels))
        slope = self.weights * self.loss.derivative(self.labels, z)
        curvature = self.weights * self.loss.score(self.labels, z, np.full_like(z, _TINY)).g
        return _Point(theta, z, slope, curvature, *self._second_order(slope, curvature))

    def _second_order(self, slope: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ w ℓ'' φφᵀ, its lower triangle alone, and Σ w ℓ' φ; the constant feature is included."""
        backend, p = self.backend, self.features.shape[1]
        gram, gradient, edge = backend.zeros(p, p), backend.zeros(p), backend.zeros(p)
        roots = np.sqrt(curvature)
        for part, phi in self.features.blocks():
            gram = backend.add_gram(gram, phi * backend.asarray(roots[part])[:, None])
            gradient = gradient + backend.matmul(backend.asarray(slope[part]), phi)
            edge = edge + backend.matmul(backend.asarray(curvature[part]), phi)
        if not self.intercept:
            return backend.numpy(gram), backend.numpy(gradient)
        matrix = np.zeros((self.size, self.size), order="F")
        matrix[:p, :p] = backend.numpy(gram)
        matrix[p, :p] = FREE * backend.numpy(edge)
        matrix[p, p] = FREE**2 * curvature.sum()
        return matrix, np.append(backend.numpy(gradient), FREE * slope.sum())

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

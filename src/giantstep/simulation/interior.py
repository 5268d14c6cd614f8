"""Readouts of kinked losses (absolute, pinball, hinge): an interior-point method for their dual problem.

Such a loss is ℓ = max over low ≤ f ≤ high of f·s, s = y - z, or s = 1 - yz for labels ±1 (then rows and labels
are multiplied by y first, so that s = 1 - z). The dual of the readout's problem is a quadratic one in a box,

    max over low ≤ f ≤ high of  f·t - |Φᵀf|²/2lam,    a = Φᵀf/lam,    s = t - Φa,

whose central path s = mu/(high - f) - mu/(f - low) is followed to mu = 0. SampleBlocks then fall in three sets: at
either bound, and at the kink (s = 0, f in between). Once these are known the kinks are met by a linear solve,
to rounding. The duality gap Σ ℓ - f·s certifies the result; every term of it is positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..losses import Clipped
from .backend import Backend

MOST_STEPS = 100
_TO_THE_BOUNDARY = 0.99
_BY_SAMPLES = 1.75  # n/p up to which n×n steps, n³/3 operations, cost less than p×p ones, n p² + p³/3
_POLISH_BELOW = 1e-4  # relative gap from which on it is worth guessing which samples are at the kink
_PATIENCE = 4  # steps without progress there: what is left is rounding


class InteriorPoint:
    """One problem: features [n, p] (already divided by √p), labels [n], a penalty and a loss with a = 0."""

    def __init__(self, features: Any, labels: np.ndarray, lam: float, loss: Clipped, backend: Backend):
        signs = labels if loss.margin else np.ones_like(labels)
        self.goal = np.ones_like(labels) if loss.margin else labels
        self.rows = features * backend.asarray(signs)[:, None] if loss.margin else features
        self.low, self.high, self.lam, self.backend = loss.low, loss.high, lam, backend
        n, p = features.shape
        by_samples = n <= _BY_SAMPLES * p
        self.kernel = backend.add_gram(backend.zeros(n, n), self.rows.T) if by_samples else None
        self.force = np.full(n, (loss.low + loss.high) / 2)
        self.readout, self.rest = self._images(self.force)

    def solve(self, aim: float) -> tuple[Any, float]:
        """The readout, and a bound on how far its objective is above the minimum, relative to it."""
        scale = np.abs(self.rest).mean() + 1e-3 * np.abs(self.goal).mean()
        upper = (self.rest + np.hypot(self.rest, 2 * scale)) / 2  # upper - lower = rest, both positive
        lower = upper - self.rest
        best, step, failures = self._found(), 0.0, 0
        for _ in range(MOST_STEPS):
            if best[1] <= aim or failures == _PATIENCE:
                break
            try:
                step, lower, upper = self._advance(lower, upper, step)
            except np.linalg.LinAlgError:  # so close to the boundary that the system is singular in rounding
                break
            found = self._found()
            if found[1] < _POLISH_BELOW:
                found = min(found, self._polished(lower, upper), key=_gap)
                failures = failures + 1 if found[1] > best[1] / 2 else 0
            best = min(best, found, key=_gap)
        return best

    def _found(self) -> tuple[Any, float]:
        return self.readout, self.gap(self.force, self.readout, self.rest)

    def gap(self, force: np.ndarray, readout: Any, rest: np.ndarray) -> float:
        """(primal - dual)/primal objective, at a readout that belongs to the forces."""
        reached = np.where(rest > 0, self.high, self.low)
        objective = float(reached @ rest) + self.lam / 2 * float(readout @ readout)
        return float((reached - force) @ rest) / max(objective, 1e-300)  # labels may all be 0

    def _images(self, force: np.ndarray) -> tuple[Any, np.ndarray]:
        backend = self.backend
        readout = backend.matmul(self.rows.T, backend.asarray(force)) / self.lam
        return readout, self.goal - backend.numpy(backend.matmul(self.rows, readout))

    def _advance(
        self, lower: np.ndarray, upper: np.ndarray, last: float
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """A Newton step towards a point further down the central path: mu falls more after a long step."""
        below, above = self.force - self.low, self.high - self.force
        mu = float(lower @ below + upper @ above) / (2 * len(below))
        mu *= max(0.02, min(0.5, (1 - last) ** 2))
        stiffness = upper / above + lower / below
        change = self._solve(stiffness, self.rest - mu / above + mu / below)
        d_lower = mu / below - lower - lower / below * change
        d_upper = mu / above - upper + upper / above * change
        pairs = ((below, change), (above, -change), (lower, d_lower), (upper, d_upper))
        reach = min(float(np.min(-x[dx < 0] / dx[dx < 0], initial=np.inf)) for x, dx in pairs)
        step = min(1.0, _TO_THE_BOUNDARY * reach)
        margin = np.finfo(float).eps * (self.high - self.low)
        self.force = np.clip(self.force + step * change, self.low + margin, self.high - margin)
        self.readout, self.rest = self._images(self.force)
        return step, lower + step * d_lower, upper + step * d_upper

    def _solve(self, stiffness: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(ΦΦᵀ/lam + stiffness)⁻¹·right, by an n×n or a p×p matrix."""
        backend, lam = self.backend, self.lam
        root = 1 / np.sqrt(stiffness)
        scale, scaled = backend.asarray(root)[:, None], backend.asarray(root * right)
        if self.kernel is not None:
            kernel = scale * self.kernel * scale.T
            return lam * root * backend.numpy(backend.solve_shifted(kernel, scaled, [lam])[:, 0])
        rows = scale * self.rows
        gram = backend.add_gram(backend.zeros(rows.shape[1], rows.shape[1]), rows)
        inner = backend.solve_shifted(gram, backend.matmul(rows.T, scaled), [lam])[:, 0]
        return root * backend.numpy(scaled - backend.matmul(rows, inner))

    def _polished(self, lower: np.ndarray, upper: np.ndarray) -> tuple[Any, float]:
        """The solution if the samples are where they seem to be: at a bound, or at the kink."""
        backend, width = self.backend, self.high - self.low
        unit = width / (np.abs(self.goal).mean() + 1e-300)
        at_low, at_high = (
            (slack < unit * w)
            for slack, w in ((self.force - self.low, lower), (self.high - self.force, upper))
        )
        force = np.where(at_low, self.low, np.where(at_high, self.high, self.force))
        kinked = np.flatnonzero(~at_low & ~at_high)
        readout, rest = self._images(force)
        if 0 < len(kinked) <= self.rows.shape[1]:
            rows = backend.xp.take(self.rows, backend.indices(kinked), axis=0)
            kernel = backend.add_gram(backend.zeros(len(kinked), len(kinked)), rows.T)
            shift = 8 * len(kinked) * backend.eps * float(backend.xp.max(backend.diagonal(kernel)))
            for _ in range(4):  # refines what the shift and rounding spoil
                try:
                    moved = backend.solve_shifted(kernel, backend.asarray(rest[kinked]), [shift])[:, 0]
                except np.linalg.LinAlgError:  # more kinks than the features can meet: not there yet
                    break
                force[kinked] = np.clip(force[kinked] + self.lam * backend.numpy(moved), self.low, self.high)
                readout, rest = self._images(force)
        return readout, self.gap(force, readout, rest)


def _gap(found: tuple[Any, float]) -> float:
    return found[1]

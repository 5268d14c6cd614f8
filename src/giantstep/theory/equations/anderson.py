"""Fixed points of many small maps at once: Anderson's mixing, then Newton's method for those that resist.

A map takes vectors [B, n] and a mask of the points still of interest, and returns vectors; points are
independent of each other. Convergence is judged on the plain residual map(x) - x at the very point that is
returned, never on a damped or mixed step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Map = Callable[[np.ndarray, np.ndarray], np.ndarray]
Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]

_MEMORY = 6
_WORSE = 5.0  # growth of the residual that discredits the past
_EAGER, _NUDGE = 20.0, 0.05  # a mixed step may exceed the plain one by this factor, or be so small anyway
_RANK = 1e-9  # singular values of the past, relative, under which they are noise
_DIFFERENCE = 1e-6  # step of the finite differences in Newton's method
_HALVINGS = 5


@dataclass
class FixedPoint:
    """Where each point stands: x, its residual there, and how many evaluations of the map it took."""

    x: np.ndarray  # [B, n]
    residual: np.ndarray  # [B]
    evaluations: np.ndarray  # [B]

    def improve(self, where: np.ndarray, x: np.ndarray, residual: np.ndarray) -> None:
        """Take over what is better, at points `where`."""
        better = where & (residual < self.residual)
        self.x[better], self.residual[better] = x[better], residual[better]


def anderson(
    step: Map,
    distance: Distance,
    found: FixedPoint,
    limit: np.ndarray,
    tolerance: float,
    steps: int,
    damping: float = 1.0,
) -> None:
    """Improve `found` by mixing the last few steps such that their combined residual is least.

    `limit` [n] bounds how far an entry may move at once, on its own scale. Only points whose residual is
    above `tolerance` are worked on.
    """
    x = found.x.copy()
    active = found.residual > tolerance
    past_x: list[np.ndarray] = []
    past_f: list[np.ndarray] = []
    since = np.zeros(len(x), int)  # the step from which a point's past may be used
    for k in range(steps if active.any() else 0):
        f, residual = _residual(step, distance, found, x, active)
        found.improve(active, x, residual)
        active = active & (residual > tolerance)
        if not active.any():
            return
        broken = np.isinf(residual)
        since[broken | (residual > _WORSE * found.residual)] = k
        move = damping * f
        if past_f:
            known = np.arange(k - len(past_f), k) >= since[:, None]
            move -= _mixing(x, f, past_x, past_f, known, active, damping)
        move[broken] = 0.5 * (found.x - x)[broken]
        past_x, past_f = [*past_x, x][-_MEMORY:], [*past_f, f][-_MEMORY:]
        bound = np.minimum(limit * (1.0 + np.abs(x)), _EAGER * np.abs(f) + _NUDGE * (1.0 + np.abs(x)))
        x = np.where(active[:, None], x + np.clip(move, -bound, bound), x)


def newton(
    step: Map, distance: Distance, found: FixedPoint, limit: np.ndarray, tolerance: float, steps: int
) -> None:
    """Improve `found` by Newton's method with a difference Jacobian; steps are halved until they help."""
    n = found.x.shape[1]
    active = found.residual > tolerance
    for _ in range(steps):
        if not active.any():
            return
        x = found.x.copy()
        f, residual = _residual(step, distance, found, x, active)
        active &= np.isfinite(residual)
        J = np.zeros((len(x), n, n))
        for j in range(n):
            moved = x.copy()
            delta = _DIFFERENCE * (1.0 + np.abs(x[:, j]))
            moved[:, j] += delta
            J[:, :, j] = (_residual(step, distance, found, moved, active)[0] - f) / delta[:, None]
        full = np.zeros_like(x)
        full[active] = -(np.linalg.pinv(J[active], rcond=1e-13) @ f[active][..., None])[..., 0]
        bound = limit * (1.0 + np.abs(x))
        full = np.clip(full, -bound, bound)
        seeking = active.copy()
        for halving in range(_HALVINGS):
            trial = x + full * 0.5**halving
            residual = _residual(step, distance, found, trial, seeking)[1]
            helps = seeking & (residual < found.residual)
            found.improve(helps, trial, residual)
            seeking &= ~helps
            if not seeking.any():
                break
        active &= ~seeking & (found.residual > tolerance)


def _residual(
    step: Map, distance: Distance, found: FixedPoint, x: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """map(x) - x and its size; zero and infinite where the map is not finite. Counts the evaluation."""
    f = step(x, active) - x
    found.evaluations[active] += 1
    broken = ~np.isfinite(f).all(axis=-1)
    f[broken] = 0.0
    return f, np.where(broken, np.inf, distance(x + f, x))


def _mixing(
    x: np.ndarray,
    f: np.ndarray,
    past_x: list[np.ndarray],
    past_f: list[np.ndarray],
    known: np.ndarray,
    active: np.ndarray,
    damping: float,
) -> np.ndarray:
    """What to subtract from the plain step: (ΔX + damping·ΔF) γ, γ minimising |f - ΔF γ|."""
    dF = np.stack([f - g for g in past_f], axis=-1) * known[:, None]
    dX = np.stack([x - y for y in past_x], axis=-1) * known[:, None]
    correction = np.zeros_like(x)
    chosen = np.linalg.pinv(dF[active], rcond=_RANK) @ f[active][..., None]
    correction[active] = ((dX + damping * dF)[active] @ chosen)[..., 0]
    return correction

"""Fixed points of many small maps at once: Anderson's mixing, then Newton's method for those that resist.

A map takes vectors [B, n] and a mask of the points still of interest, and returns vectors; points are
independent of each other. Convergence is judged on the plain residual map(x) - x at the very point that is
returned, never on a damped or mixed step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .secants import Secants

_WORSE = 5.0  # growth of the residual that discredits the past
_EAGER, _NUDGE = 20.0, 0.05  # a mixed step may exceed the plain one by this factor, or be so small anyway
_AWAY = 10.0  # distance to a fixed point, over the residual allowed, from which on more steps are taken,
_AFTER = 3  # so many
_PATIENCE = 40  # steps in which a residual must be halved
_DIFFERENCE = 1e-6  # step of the finite differences in Newton's method
_HALVINGS = 5


@dataclass
class FixedPoint:
    """Where each point stands: x, its residual there, how many evaluations of the map it took, and what they taught."""

    x: np.ndarray  # [B, n]
    secants: Secants
    residual: np.ndarray = field(init=False)  # [B]
    evaluations: np.ndarray = field(init=False)  # [B]

    def __post_init__(self) -> None:
        self.residual, self.evaluations = np.full(len(self.x), np.inf), np.zeros(len(self.x), int)

    def improve(self, where: np.ndarray, x: np.ndarray, residual: np.ndarray) -> None:
        """Take over what is better, at points `where`."""
        better = where & (residual < self.residual)
        self.x[better], self.residual[better] = x[better], residual[better]


@dataclass(frozen=True)
class Search:
    """What is looked for: x = map(x), and how hard."""

    step: Callable[[np.ndarray, np.ndarray], np.ndarray]  # the map, of x [B, n] and a mask of active points
    sizes: Callable[[np.ndarray], np.ndarray]  # what changes of x [B, n] are small or large against
    limit: np.ndarray  # how far an entry may move at once, on its own scale, [n]
    tolerance: float  # only points whose residual is above it are worked on
    worthwhile: Callable[[], np.ndarray]  # which points may be worked on any longer, [B]

    def residual(
        self, found: FixedPoint, x: np.ndarray, active: np.ndarray, sizes: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """map(x) - x and its size; zero and infinite where the map is not finite. Counts the evaluation."""
        f = self.step(x, active) - x
        found.evaluations[active] += 1
        broken = ~np.isfinite(f).all(axis=-1)
        f[broken] = 0.0
        return f, np.where(broken, np.inf, distance(f, self.sizes(x) if sizes is None else sizes))


def distance(change: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The largest entry of a change [B, n], each over its own size."""
    return (np.abs(change) / sizes).max(axis=-1)


def anderson(search: Search, found: FixedPoint, steps: int, damping: float = 1.0) -> None:
    """Improve `found` by mixing the last few steps such that their combined residual is least.

    Those that `found` has from another map, which this one is close to, are mixed in from the first step on. Points are
    worked on a few steps longer than the tolerance asks for, if the map is so close to the identity somewhere that they
    are still far from their fixed point by the look of the next step.
    """
    tolerance = search.tolerance
    x, secants = found.x.copy(), found.secants
    active = found.residual > tolerance
    last_x = last_f = None
    after = np.zeros(len(x), int)  # steps with a residual that is small enough
    halved = np.zeros(len(x), int)  # when residuals were last halved,
    least = np.full(len(x), np.inf)  # and to what
    for k in range(steps if active.any() else 0):
        sizes = search.sizes(x)
        f, residual = search.residual(found, x, active, sizes)
        found.improve(active, x, residual)
        if last_x is not None:
            secants.add(active, x - last_x, f - last_f)
        broken = np.isinf(residual)
        secants.forget(active & (broken | (residual > _WORSE * found.residual)))
        size = 1.0 + np.abs(x)
        move = damping * f - secants.correction(f, size, damping)
        after += active & (residual <= tolerance)
        far = (after <= _AFTER) & (distance(move, sizes) > _AWAY * tolerance)
        better = residual < 0.5 * least
        halved[better], least[better] = k, residual[better]
        active = active & ((residual > tolerance) | far) & (k - halved < _PATIENCE) & search.worthwhile()
        if not active.any():
            return
        move[broken] = 0.5 * (found.x - x)[broken]
        last_x, last_f = x, f
        bound = np.minimum(search.limit * size, _EAGER * np.abs(f) + _NUDGE * size)
        x = np.where(active[:, None], x + np.clip(move, -bound, bound), x)


def newton(search: Search, found: FixedPoint, steps: int) -> None:
    """Improve `found` by Newton's method with a difference Jacobian; steps are halved until they help."""
    n = found.x.shape[1]
    active = found.residual > search.tolerance
    for _ in range(steps):
        active &= search.worthwhile()
        if not active.any():
            return
        x = found.x.copy()
        f, residual = search.residual(found, x, active)
        active &= np.isfinite(residual)
        J = np.zeros((len(x), n, n))
        for j in range(n):
            moved = x.copy()
            delta = _DIFFERENCE * (1.0 + np.abs(x[:, j]))
            moved[:, j] += delta
            J[:, :, j] = (search.residual(found, moved, active)[0] - f) / delta[:, None]
        full = np.zeros_like(x)
        full[active] = -(np.linalg.pinv(J[active], rcond=1e-13) @ f[active][..., None])[..., 0]
        bound = search.limit * (1.0 + np.abs(x))
        full = np.clip(full, -bound, bound)
        seeking = active.copy()
        for halving in range(_HALVINGS):
            trial = x + full * 0.5**halving
            residual = search.residual(found, trial, seeking)[1]
            helps = seeking & (residual < found.residual)
            found.improve(helps, trial, residual)
            seeking &= ~helps
            if not seeking.any():
                break
        active &= ~seeking & (found.residual > search.tolerance)

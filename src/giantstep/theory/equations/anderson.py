"""Fixed points of many small maps at once: Anderson's mixing, then Newton's method for those that resist.

A map takes vectors [B, n] and a mask of the points still of interest, and returns vectors; points are
independent of each other. Convergence is judged on the plain residual map(x) - x at the very point that is
returned, never on a damped or mixed step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from .averages import apply

MEMORY = 6
# a pair is left out if newer pairs explain its change but for this share, or but for so little that rounding shows
_NEW, _FAINT = 1e-7, 1e-12


ROUGH_TOLERANCE = 1e-9  # residual at which a search for what others start from ends
_WORSE = 5.0  # growth of the residual that discredits the past
_DIFFERENCE = 1e-6  # step of the finite differences in Newton's method
_HALVINGS = 5


@dataclass
class FixedPoint:
    """Where each of B points stands in the search, and what its steps have taught.

    That is pairs of a move Δx and the change Δf of the residual f = map(x) - x, newest first; a pair of zeros is none.
    """

    x: np.ndarray  # [B, n]
    moves: np.ndarray  # Δx, [B, MEMORY, n]
    changes: np.ndarray  # Δf
    residual: np.ndarray  # of x, [B]
    away: np.ndarray  # how far the fixed point is by the look of the next step
    evaluations: np.ndarray  # of this map and of those that led to where it began
    effort: np.ndarray  # array elements that were spent since it was last solved

    @staticmethod
    def cold(x: np.ndarray) -> FixedPoint:
        """Nothing is known yet."""
        moves, changes = np.zeros((2, len(x), MEMORY, x.shape[1]))
        return FixedPoint(x, moves, changes, *np.full((2, len(x)), np.inf), *np.zeros((2, len(x))))

    def again(self) -> FixedPoint:
        """Where another map begins that this one is close to, with what steps have taught if they have led here."""
        solved, start = self.residual <= ROUGH_TOLERANCE, self.part(slice(None))
        start.forget(~solved)
        start.effort[solved] = 0.0
        start.residual[:] = start.away[:] = np.inf
        return start

    def part(self, points: np.ndarray | slice) -> FixedPoint:
        """Some of the points."""
        return FixedPoint(*(getattr(self, name.name)[points].copy() for name in fields(self)))

    def take(self, where: np.ndarray, x: np.ndarray, residual: np.ndarray, away: np.ndarray) -> None:
        """Go to x at points `where`."""
        self.x[where], self.residual[where], self.away[where] = x[where], residual[where], away[where]

    def learn(self, where: np.ndarray, move: np.ndarray, change: np.ndarray) -> None:
        """The newest pair of points `where`, in place of their oldest."""
        for kept, new in ((self.moves, move), (self.changes, change)):
            kept[where, 1:] = kept[where, :-1]
            kept[where, 0] = new[where]

    def forget(self, where: np.ndarray) -> None:
        """The past of points `where` is no guide."""
        self.moves[where] = self.changes[where] = 0.0

    def correction(self, f: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """What to subtract from the plain step f: (ΔX + ΔF) γ, γ minimising |(f - ΔF γ)/scale|.

        By Gram and Schmidt, newest first: an older pair counts for what newer ones do not explain. What they all leave
        of f is the last row, with the moves that have explained the rest of it beside it.
        """
        told = next((k for k in range(MEMORY) if not self.changes[:, k].any()), MEMORY)
        if not told:
            return np.zeros_like(f)
        n, scale = f.shape[-1], scale.T
        rows = np.empty((told + 1, 2, n, len(f)))  # points last: numpy is fast along them
        changes, moves = self.changes[:, :told].transpose(1, 2, 0), self.moves[:, :told].transpose(1, 2, 0)
        np.divide(changes, scale, out=rows[:told, 0])
        np.add(moves, changes, out=rows[:told, 1])
        np.divide(f.T, scale, out=rows[told, 0])
        rows[told, 1] = 0.0
        least = np.maximum(_NEW**2 * _dots(rows[:told, 0], rows[:told, 0]), _FAINT**2)
        for newest, own in enumerate(rows[:told]):
            older = rows[newest + 1 :]
            size = _dots(own[0], own[0])
            inverse = np.where(size > least[newest], 1.0 / np.where(size > 0.0, size, 1.0), 0.0)
            older -= (_dots(older[:, 0], own[0]) * inverse)[:, None, None] * own
        return -rows[told, 1].T


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-2)


@dataclass(frozen=True)
class Search:
    """What is looked for: x = map(x), and how hard."""

    step: Callable[[np.ndarray, np.ndarray], np.ndarray]  # the map, of x [B, n] and a mask of active points
    sizes: Callable[[np.ndarray], np.ndarray]  # what changes of x [B, n] are small or large against
    limit: np.ndarray  # how far an entry may move at once, on its own scale, [n]
    tolerance: float  # only points whose residual is above it are worked on,
    worthwhile: Callable[[], np.ndarray]  # which points may be worked on any longer, [B]
    near: float = np.inf  # and with Newton's method also those that are farther from their fixed point

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


def anderson(search: Search, found: FixedPoint, steps: int) -> None:
    """Improve `found` by mixing the last few steps such that their combined residual is least.

    Those that `found` has from another map, which this one is close to, are mixed in from the first step on. A mixed
    step that leads back, against the plain one, is not taken: the mean of a hinge whose force was nearly the same over
    several steps went to -100 and stayed there.
    """
    x = found.x.copy()
    active = found.residual > search.tolerance
    last_x = last_f = None
    for _ in range(steps if active.any() else 0):
        sizes = search.sizes(x)
        f, residual = search.residual(found, x, active, sizes)
        if last_x is not None:
            found.learn(active, x - last_x, f - last_f)
        broken = np.isinf(residual)
        found.forget(active & (broken | (residual > _WORSE * np.minimum(residual, found.residual))))
        size = 1.0 + np.abs(x)
        move = f - found.correction(f, size)
        # where f hardly changes along a step, its small changes may say that it vanishes far away, on the wrong side
        back = (move * f / size**2).sum(axis=-1, keepdims=True) < 0.0
        move = np.where(back, f, move)
        away = distance(move, sizes)
        found.take(active & (residual < found.residual), x, residual, away)
        active = active & (residual > search.tolerance) & search.worthwhile()
        if not active.any():
            return
        move[broken] = 0.5 * (found.x - x)[broken]
        last_x, last_f = x, f
        bound = search.limit * size
        x = np.where(active[:, None], x + np.clip(move, -bound, bound), x)


def newton(search: Search, found: FixedPoint, steps: int) -> None:
    """Improve `found` by Newton's method with a difference Jacobian; steps are halved until they help.

    They do if the residual falls, or if the fixed point comes nearer by the same Jacobian: where a map is close to the
    identity along a curve, steps along it leave it a little, and residuals rise before they fall.
    """
    n = found.x.shape[1]
    active = _unsolved(search, found)
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
        inverse = np.zeros_like(J)
        inverse[active] = np.linalg.pinv(J[active], rcond=1e-13)
        full, sizes = -apply(inverse, f), search.sizes(x)
        away = distance(full, sizes)
        found.away[active] = away[active]
        bound = search.limit * (1.0 + np.abs(x))
        full = np.clip(full, -bound, bound)
        seeking = active.copy()
        for halving in range(_HALVINGS):
            trial = x + full * 0.5**halving
            f, residual = search.residual(found, trial, seeking)
            left = np.where(np.isinf(residual), np.inf, distance(apply(inverse, f), sizes))
            helps = seeking & ((residual < found.residual) | (left < 0.5 * away))
            found.take(helps, trial, residual, left)
            seeking &= ~helps
            if not seeking.any():
                break
        active &= ~seeking & _unsolved(search, found)


def _unsolved(search: Search, found: FixedPoint) -> np.ndarray:
    return (found.residual > search.tolerance) | (found.away > search.near)

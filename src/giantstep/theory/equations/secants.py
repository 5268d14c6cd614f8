"""What the last steps of an iteration tell about its map: how residuals have answered moves."""

from __future__ import annotations

import numpy as np

MEMORY = 6
_NEW = 1e-7  # share of a residual's change that newer ones do not explain, under which it tells nothing more,
_FAINT = 1e-12  # and a change so small that a thousandth of it is rounding errors


class Secants:
    """Pairs of a move Δx and the change Δf of the residual f = map(x) - x, of B points: [B, MEMORY, n], newest first.

    Points are independent of each other; a pair of zeros is none.
    """

    def __init__(self, points: int, size: int):
        self.moves, self.changes = np.zeros((2, points, MEMORY, size))

    @classmethod
    def unpacked(cls, packed: np.ndarray, size: int) -> Secants:
        """From rows [B, 2·MEMORY·n] as `packed` makes them."""
        secants = cls(0, size)
        secants.moves, secants.changes = np.moveaxis(
            packed.reshape(len(packed), 2, MEMORY, size), 1, 0
        ).copy()
        return secants

    def packed(self) -> np.ndarray:
        """All pairs of a point in one row, for another map of which this one is an approximation."""
        return np.stack([self.moves, self.changes], axis=1).reshape(len(self.moves), -1)

    def add(self, where: np.ndarray, move: np.ndarray, change: np.ndarray) -> None:
        """The newest pair of points `where`, in place of their oldest."""
        for kept, new in ((self.moves, move), (self.changes, change)):
            kept[where, 1:] = kept[where, :-1]
            kept[where, 0] = new[where]

    def forget(self, where: np.ndarray) -> None:
        """The past of points `where` is no guide."""
        self.moves[where] = self.changes[where] = 0.0

    def correction(self, f: np.ndarray, scale: np.ndarray, damping: float) -> np.ndarray:
        """What to subtract from the plain step damping·f: (ΔX + damping·ΔF) γ, γ minimising |(f - ΔF γ)/scale|.

        By Gram and Schmidt, newest first: an older pair counts for what newer ones do not explain.
        """
        left, found = f / scale, np.zeros_like(f)
        known: list[tuple[np.ndarray, np.ndarray]] = []  # orthonormal changes, and the moves that make them
        for move, change in zip(np.moveaxis(self.moves, 1, 0), np.moveaxis(self.changes, 1, 0), strict=True):
            if not change.any():
                break
            step, change = move + damping * change, change / scale
            size = _norm(change)
            for other, its_step in known:
                along = _dot(other, change)
                change = change - along * other
                step = step - along * its_step
            new = _norm(change)
            inverse = np.where(
                new > np.maximum(_NEW * size, _FAINT), 1.0 / np.where(new > 0.0, new, 1.0), 0.0
            )
            known.append((change * inverse, step * inverse))
            along = _dot(known[-1][0], left)
            left -= along * known[-1][0]
            found += along * known[-1][1]
        return found


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("bn,bn->b", a, b)[:, None]


def _norm(a: np.ndarray) -> np.ndarray:
    return np.sqrt(_dot(a, a))

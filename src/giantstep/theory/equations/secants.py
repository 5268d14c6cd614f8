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

    def part(self, points: np.ndarray | slice) -> Secants:
        """Those of some points."""
        part = Secants(0, self.moves.shape[-1])
        part.moves, part.changes = self.moves[points].copy(), self.changes[points].copy()
        return part

    def add(self, where: np.ndarray, move: np.ndarray, change: np.ndarray) -> None:
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

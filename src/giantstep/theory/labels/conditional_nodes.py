"""Nodes over y, the rest of a target's directions, at each κ: for averages that depend on fields along y as well.

Where labels are smooth, all nodes (κ, y) together are a lattice: the grid in y is moved on from one κ to the next. What
it misses at one κ, waves as short as its steps, then averages out over a few of them, and it may be far coarser than
averages at each κ by themselves would need. It is stretched where κ and y together are rare. Where labels kink, nodes
over y lie between their hyperplanes; along directions that are parallel to all of these they are a lattice still.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...gaussian import density
from ...gaussian.cuts import BASE, Cuts
from ..layer import Frame
from ..symmetric import TINY, indices, padded

if TYPE_CHECKING:
    from .multi_index import SeveralDirections

# pieces of the line between kinks, over its reach, for `significant` nodes
_PIECES = np.array([-7.5, -3.0, 3.0, 7.5]) / 9.0
_NEGLIGIBLE = 1e-14  # weight of a node that changes no average,
_RARE_PAIR = 1e-12  # the same for κ and y together,
_KEPT = 0.3  # and the share of the greatest weight at its κ from which on a node is kept anyway
_STEP = {2: 0.32, 3: 0.45, 4: 0.6}  # between the lattice's nodes along y, by the number of directions
_RARE, _STEEPLY = 5.5, 4  # radius around which it begins to be stretched, and how suddenly
UNSEEN = 1e-7
"""Relative error that averages on the lattice may have unseen where κ has several directions: the three rules in κ then
hardly differ by what it misses. A step of 0.25 instead of 0.32 moved answers by 1e-8."""
_PARALLEL = 1e-9  # length of a normal, along some direction, under which its hyperplane is parallel to it
_BLOCK = 1 << 18  # nodes in memory at a time


class Nodes(NamedTuple):
    """Nodes y [U or 1, k, Q], weights w [U or 1, Q], end to end, `counts` [N] of them at each κ; and labels there."""

    y: np.ndarray
    w: np.ndarray
    mean: np.ndarray  # E[Y | z], [U, Q]
    clean: np.ndarray  # that of clean labels
    counts: np.ndarray

    @property
    def width(self) -> int:
        """How many there are at a κ, on average."""
        return -(-self.mean.shape[-1] // len(self.counts))

    @property
    def which(self) -> np.ndarray:
        """The number of each node's κ, [Q]."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def at(self, rows: np.ndarray, at: slice) -> Nodes:
        """Those of points on first layers `rows` at some κ."""
        before, here = (int(self.counts[part].sum()) for part in (slice(at.start), at))
        own = slice(before, before + here)
        y, w, mean, clean = (a[..., own] if len(a) == 1 else a[rows, ..., own] for a in self[:-1])
        return Nodes(y, w, mean, clean, self.counts[at])

    def average(self, values: np.ndarray) -> np.ndarray:
        """Of values [U, Q] over the nodes at each κ, [U, N]."""
        return np.add.reduceat(self.w * values, np.cumsum(self.counts) - self.counts, axis=-1)


def conditional_nodes(
    law: SeveralDirections,
    frame: Frame,
    kappa: np.ndarray,
    points: int,
    finer: float = 1.0,
    first: int = 0,
    pieces: np.ndarray = BASE,
    rare: float = 0.0,
) -> Nodes:
    """At κ [U or 1, S, N], numbered from `first` on: `points` nodes between kinks, or steps `finer` times smaller.

    Lines are cut at `pieces` times their reach as well. Nodes whose weight times exp(-κ²/2) is less than `rare` are
    left out.
    """
    centre, normals, offsets = frame.centre(kappa), *law.planes
    step, number = _STEP[law.directions] / finer, first + indices(kappa.shape[-1])
    square = (kappa * kappa).sum(axis=1)
    layers: list[tuple[np.ndarray, ...]] = []
    for u, (turn, rho) in enumerate(zip(frame.turn, frame.rho, strict=True)):
        own = normals @ turn
        lattice = partial(_lattice, reach=law.reach, step=step, number=number, square=square[min(u, len(square) - 1)])
        y, w = _between(law, own * rho, offsets - centre[u].T @ own.T, points, lattice, pieces)
        z = turned(turn, centre[u][..., None] + rho[:, None, None] * np.moveaxis(y, 1, 0))
        mean = law.mean(*z)
        layers.append((np.moveaxis(y, 1, 0), w, mean, mean if law == law.clean else law.clean.mean(*z)))
    y, w, mean, clean = (padded(column) for column in zip(*layers, strict=True))  # [U, (k,) N, J]
    if not rare:
        flat = (a.reshape(*a.shape[:-2], -1) for a in (y, w, mean, clean))
        return Nodes(*flat, np.full(len(number), w.shape[-1]))  # type: ignore[call-arg]
    weight, there = w.max(axis=0), np.maximum(np.exp(-0.5 * square).max(axis=0), TINY)
    keep = weight >= np.minimum(rare / there, _KEPT * weight.max(axis=-1))[:, None]
    return Nodes(y[..., keep], w[..., keep], mean[..., keep], clean[..., keep], keep.sum(axis=-1))


def significant(law: SeveralDirections, frame: Frame, kappa: np.ndarray, points: int, finer: float = 1.0) -> Nodes:
    """The nodes (κ, y) that change an average over both: a ball of them, a small part of all pairs."""
    cube = (2.0 * law.reach * finer / _STEP[law.directions]) ** law.directions  # nodes at a κ, about
    size = max(1, int(_BLOCK / (cube * len(frame.rho))))
    parts = [
        conditional_nodes(law, frame, kappa[..., start : start + size], points, finer, start, _PIECES, _RARE_PAIR)
        for start in range(0, kappa.shape[-1], size)
    ]
    return Nodes(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))


def _lattice(
    k: int, reach: float, step: float, number: np.ndarray, square: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """y [N, k, J] and w [N, J]: a grid, moved by multiples of irrational parts of its step from one κ to the next.

    The parts are powers of the root of x^(k+1) = x + 1: multiples of theirs fill a cube evenly. What is a lattice is
    (κ, t), and y is t stretched by a function of κ² + t², κ² = `square` [N]: a smooth change of variables.
    """
    ends = int(np.ceil(reach / step))
    along = np.arange(2 * ends + 1) - float(ends)
    grid = np.stack(np.meshgrid(*[along] * k, indexing="ij")).reshape(k, -1)
    parts = _even_root(k) ** -np.arange(1.0, k + 1.0)
    moved = (number[:, None] * parts + 0.5) % 1.0 - 0.5
    least = step * np.maximum(np.abs(grid) - 0.5, 0.0)
    near = step**k * np.prod(density(least * _stretch((least**2).sum(axis=0))[0]), axis=0) > _NEGLIGIBLE
    t = step * (grid[:, near] + moved[..., None])
    own = (t * t).sum(axis=1)
    by, slope = _stretch(square[:, None] + own)
    y = t * by[:, None]
    return y, np.prod(step * density(y), axis=1) * by ** (k - 1) * (by + 2.0 * own * slope)


def _stretch(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much farther out nodes with r² = `square` are put, 1 + x/(1 + x), x = (r/r0)^2p, and its slope in r².

    Without it, Huber curves for targets of two directions take 1.7 times longer.
    """
    power = (square / _RARE**2) ** (_STEEPLY - 1) / _RARE**2
    x = square * power
    return 1.0 + x / (1.0 + x), _STEEPLY * power / (1.0 + x) ** 2


def _even_root(k: int) -> float:
    """The root x > 1 of x^(k+1) = x + 1, the only positive one."""
    return float(np.roots([1.0, *np.zeros(k - 1), -1.0, -1.0]).real.max())


def _between(
    law: SeveralDirections,
    normals: np.ndarray,
    offsets: np.ndarray,
    points: int,
    lattice: Callable[[int], tuple[np.ndarray, np.ndarray]],
    base: np.ndarray = BASE,
) -> tuple[np.ndarray, np.ndarray]:
    """y [N, k, J] and w [N, J] between hyperplanes normals·y = offsets [N, H]; without nodes of no weight.

    A lattice along the directions that are parallel to all of them.
    """
    k = law.directions
    axes, across = _axes(normals)
    if across == 0:
        return lattice(k)
    y, w = Cuts(normals @ axes[:, :across], base).nodes(offsets, points, law.reach)
    if across < k:
        free, shares = lattice(k - across)
        shape = (y.shape[-1], free.shape[-1])
        parts = (np.broadcast_to(a, (*a.shape[:2], *shape)) for a in (y[..., None], free[:, :, None]))
        y = np.concatenate(list(parts), axis=1).reshape(len(y), k, -1)
        w = (w[..., None] * shares[:, None]).reshape(len(y), -1)
    some = w.max(axis=0) > _NEGLIGIBLE
    y = y[..., some]
    return y if across == k else axes @ y, w[..., some]


def _axes(normals: np.ndarray) -> tuple[np.ndarray, int]:
    """Orthonormal columns [k, k], of which the first few span the normals, and how many; as they are, if all do."""
    k = normals.shape[1]
    _, sizes, rows = np.linalg.svd(np.concatenate([normals, np.zeros((k, k))]))
    across = int((sizes > _PARALLEL).sum())
    return (np.eye(k) if across == k else rows.T), across


def turned(turn: np.ndarray, z: Any) -> list[np.ndarray]:
    """z = turn·z' from projections z' on turned directions."""
    return [sum(part * one for part, one in zip(row, z, strict=True)) for row in turn]  # type: ignore[misc]

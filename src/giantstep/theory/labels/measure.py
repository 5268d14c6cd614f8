"""Nodes over y, the rest of a target's directions, at each κ: for averages that know of fields along y as well.

Where labels are smooth, all nodes (κ, y) together are a lattice: the grid in y is moved on from one κ to the next. What
it misses at one κ, waves as short as its steps, then averages out over a few of them, and it may be far coarser than
averages at each κ by themselves would need. It is stretched where κ and y together are rare. Where labels kink, nodes
over y lie between their hyperplanes; along directions that are parallel to all of these they are a lattice still.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...cuts import BASE, Cuts
from ...gaussian import density
from ..layer import Frame
from ..upto import upto
from .joint import JointLaw, turned

_PIECES = np.array([-7.5, -3.0, 3.0, 7.5]) / 9.0  # of the line between kinks over its reach, for `felt` nodes
_NOTHING = 1e-14  # weight of a node that no average feels
_FELT = 1e-12  # the same for κ and y together,
_KEPT = 0.3  # and the share of the greatest weight at its κ from which on a node is kept anyway
_STEP = {2: 0.32, 3: 0.45, 4: 0.6}  # between the lattice's nodes along y, by the number of directions
_RARE, _STEEPLY = 5.5, 4  # radius around which it begins to be stretched, and how suddenly
UNSEEN = 1e-7
"""Relative error that averages on the lattice may have unseen where κ has several directions: the three rules in κ then
hardly differ by what it misses. A step of 0.25 instead of 0.32 moved answers by 1e-8."""
_PARALLEL = 1e-9  # length of a normal, along some direction, under which its hyperplane is parallel to it
_BLOCK = 1 << 18  # nodes that are looked at together


class Measure(NamedTuple):
    """Nodes y [U, N, k, J] with weights w [U, N, J], and the law of labels there."""

    y: np.ndarray
    w: np.ndarray
    mean: np.ndarray  # E[Y | z]
    clean: np.ndarray  # that of clean labels


class Felt(NamedTuple):
    """Nodes y [U, k, Q] with weights w [U, Q], end to end, `counts` [N] at each κ; and the law of labels."""

    y: np.ndarray
    w: np.ndarray
    mean: np.ndarray  # E[Y | z]
    clean: np.ndarray  # that of clean labels
    counts: np.ndarray


def measure(
    law: JointLaw,
    frame: Frame,
    kappa: np.ndarray,
    points: int,
    finer: float = 1.0,
    first: int = 0,
    base: np.ndarray = BASE,
) -> Measure:
    """At κ [U or 1, S, N], numbered from `first` on: `points` nodes between kinks, or steps `finer` times smaller.

    Lines are cut at `base` times their reach as well.
    """
    centre, normals, offsets = frame.centre(kappa), *law.planes
    step, number = _STEP[law.directions] / finer, first + upto(kappa.shape[-1])
    square = (kappa * kappa).sum(axis=1)
    parts: list[tuple[np.ndarray, ...]] = []
    for u, (turn, rho) in enumerate(zip(frame.turn, frame.rho, strict=True)):
        own = normals @ turn
        lattice = partial(
            _lattice, reach=law.reach, step=step, number=number, square=square[min(u, len(square) - 1)]
        )
        y, w = _between(law, own * rho, offsets - centre[u].T @ own.T, points, lattice, base)
        z = turned(law, turn, centre[u][..., None] + rho[:, None, None] * np.moveaxis(y, 1, 0))
        mean = law.mean(*z)
        parts.append((y, w, mean, mean if law == law.clean else law.clean.mean(*z)))
    most = max(part[1].shape[-1] for part in parts)
    return Measure(
        *(np.stack([_padded(part, most) for part in column]) for column in zip(*parts, strict=True))
    )


def felt(law: JointLaw, frame: Frame, kappa: np.ndarray, points: int, finer: float = 1.0) -> Felt:
    """The nodes (κ, y) that an average over both feels: a ball of them, a small part of all pairs."""
    there = np.exp(-0.5 * np.sum(kappa * kappa, axis=1)).max(axis=0)  # [N]
    parts: list[tuple[np.ndarray, ...]] = []
    start, size = 0, 1
    while start < len(there):
        here = slice(start, start + size)
        y, *rest = measure(law, frame, kappa[..., here], points, finer, start, _PIECES)
        w = rest[0]
        most = w.max(axis=0)
        least = np.minimum(_FELT / np.maximum(there[here], 1e-300), _KEPT * most.max(axis=-1))
        keep = most > least[:, None]
        parts.append((np.moveaxis(y, 2, 1)[..., keep], *(one[:, keep] for one in rest), keep.sum(axis=-1)))
        start, size = start + size, max(1, _BLOCK // w[:, 0].size)
    return Felt(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))


def _lattice(
    k: int, reach: float, step: float, number: np.ndarray, square: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """y [N, k, J] and w [N, J]: a grid, moved by multiples of irrational parts of its step from one κ to the next.

    The parts are powers of the root of x^(k+1) = x + 1: multiples of theirs fill a cube evenly. What is a lattice is
    (κ, t), and y is t stretched by a function of κ² + t², κ² = `square` [N]: a smooth change of variables.
    """
    ends = int(np.ceil(reach / step))
    along = upto(2 * ends + 1) - float(ends)
    grid = np.stack(np.meshgrid(*[along] * k, indexing="ij")).reshape(k, -1)
    parts = _even_root(k) ** -np.arange(1.0, k + 1.0)
    moved = (number[:, None] * parts + 0.5) % 1.0 - 0.5
    least = step * np.maximum(np.abs(grid) - 0.5, 0.0)
    near = step**k * np.prod(density(least * _stretch((least**2).sum(axis=0))[0]), axis=0) > _NOTHING
    t = step * (grid[:, near] + moved[..., None])
    own = (t * t).sum(axis=1)
    by, slope = _stretch(square[:, None] + own)
    y = t * by[:, None]
    return y, np.prod(step * density(y), axis=1) * by ** (k - 1) * (by + 2.0 * own * slope)


def _stretch(square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much farther out nodes with r² = `square` are put, 1 + x/(1 + x), x = (r/r0)^2p, and its slope in r²."""
    power = (square / _RARE**2) ** (_STEEPLY - 1) / _RARE**2
    x = square * power
    return 1.0 + x / (1.0 + x), _STEEPLY * power / (1.0 + x) ** 2


def _even_root(k: int) -> float:
    """The root x > 1 of x^(k+1) = x + 1."""
    x = 1.5
    for _ in range(100):  # each step brings it nearer by the factor k + 1 or so
        x = (1.0 + x) ** (1.0 / (k + 1.0))
    return x


def _between(
    law: JointLaw,
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
    some = w.max(axis=0) > _NOTHING
    y = y[..., some]
    return y if across == k else axes @ y, w[..., some]


def _axes(normals: np.ndarray) -> tuple[np.ndarray, int]:
    """Orthonormal columns [k, k], of which the first few span the normals, and how many; as they are, if all do."""
    k = normals.shape[1]
    _, sizes, rows = np.linalg.svd(np.concatenate([normals, np.zeros((k, k))]))
    across = int((sizes > _PARALLEL).sum())
    return (np.eye(k) if across == k else rows.T), across


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    short = size - values.shape[-1]
    return values if not short else np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, short)])

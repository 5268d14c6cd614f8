"""Nodes in κ, the projections on the spikes: a line, its pieces, a plane or a space.

Three nested rules at once, as in `giantstep.gaussian`. The first direction is the one that the target
depends on: it may be cut where the target's jumps remain sharp. The others, if there are any, are lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ..gaussian import STRIDES, density, even_pieces, line_rule, nested, piecewise_rule, quarterable

# intervals along a direction that features hardly depend on: the Gaussian itself on a quarter of them
_FEWEST = 48
_SMOOTH = 0.35  # spike over √c up to which so few are enough
_LEAN = 2.0 / 3.0  # their number over `points` where spikes span three directions or more
FINEST = {1: 2048, 2: 128, 3: 48, 4: 24}
"""κ intervals in each half of a direction at which refinement gives up, by the number of directions."""


def refine(
    compute: Callable[[np.ndarray, int], np.ndarray], count: int, points: int, finest: int, tolerance: float
) -> np.ndarray:
    """Refine `count` integrals one by one, with twice the nodes where they are not resolved; their errors, [count].

    `compute(left, points)` computes and keeps the integrals `left` on rules of that many `points`, and returns their
    errors. It is called until errors are below `tolerance`, or infinite since a function is noise to every rule, or
    rules have `finest` points.
    """
    error, left = np.full(count, np.inf), np.arange(count)
    while len(left):
        error[left] = compute(left, points)
        points *= 2
        left = left[(tolerance < error[left]) & (error[left] < np.inf)] if points <= finest else left[:0]
    return error


class Rule:
    """`points` intervals in each half (or piece) of the first direction; `across` intervals of each of the others.

    `soft`: what is averaged may have roots where it is cut.
    """

    def __init__(
        self,
        points: int,
        reach: float,
        cuts: np.ndarray | None = None,
        across: Sequence[int] = (),
        beyond: float | None = None,
        soft: bool = False,
    ):
        self.reach, self.cut = reach, cuts is not None
        if cuts is not None and soft:
            self.first, weights = even_pieces(-reach, reach, cuts, points)
            self._weights = tuple(
                w * density(self.first[..., nested(s)]) for s, w in zip(STRIDES, weights, strict=True)
            )
        elif cuts is not None:
            self.first, self._weights = piecewise_rule(cuts, points, reach)
        else:
            line, weights = line_rule(2 * points, reach)
            self.first, self._weights = line[None, None], tuple(w[None, None] for w in weights)
        self._across = [line_rule(n, beyond or reach) for n in across]

    def line(self, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights along the first direction, [U or 1, N]."""
        first = self.first[..., nested(stride)]
        flat = (len(first), -1)
        return first.reshape(flat), self._weights[STRIDES.index(stride)].reshape(flat)

    def others(self, stride: int) -> int:
        """How many nodes there are across the first direction for each one along it."""
        return prod(len(z[nested(stride)]) for z, _ in self._across)

    def axis(self, m: int, stride: int) -> np.ndarray:
        """Nodes along one direction, [U or 1, N_m]."""
        return self.line(stride)[0] if m == 0 else self._across[m - 1][0][None, nested(stride)]

    def size(self, stride: int) -> int:
        """The number of nodes."""
        return self.line(stride)[0].shape[-1] * self.others(stride)

    def nested(self, values: np.ndarray, stride: int) -> np.ndarray:
        """Of values at the finest rule's nodes, [U, N, ...], those at every `stride`-th along each direction."""
        pieces, along = self.first.shape[1:]
        across = [len(z) for z, _ in self._across]
        shaped = values.reshape(len(values), pieces, along, *across, *values.shape[2:])
        chosen = shaped[(slice(None), slice(None), *(nested(stride),) * (1 + len(across)))]
        return chosen.reshape(len(values), -1, *values.shape[2:])

    def at(self, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """κ [U or 1, S, N] and its weights [U or 1, N]; the first direction varies slowest."""
        line, weights = self.line(stride)
        kappa = [line]
        for z, w in self._across:
            z, w = z[nested(stride)], w[STRIDES.index(stride)]
            kappa = [np.repeat(x, len(z), axis=-1) for x in kappa]
            kappa.append(np.broadcast_to(np.tile(z, weights.shape[-1]), kappa[0].shape))
            weights = (weights[..., None] * w).reshape(len(weights), -1)
        return np.concatenate([x[:, None] for x in kappa], axis=1), weights


def across_intervals(b: np.ndarray, c: np.ndarray, points: int) -> list[int]:
    """Intervals along each direction but the first for spikes b [U, K, S]: fewer where features hardly vary.

    In a space of three directions or more, where every interval costs most, they grow with the steepness along each.
    """
    steep = (np.abs(b) / np.sqrt(c)[..., None]).max(axis=(0, 1))[1:]
    if len(steep) < 2:
        return [2 * points if x > _SMOOTH else min(2 * points, _FEWEST) for x in steep]
    share = np.clip(steep, 0.0, 1.0)
    return [quarterable(points * ((1.0 - x) * _LEAN + 2.0 * x)) for x in share]

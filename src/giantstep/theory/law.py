"""The law of a batch, as a gradient step sees it: a sample's residual e together with its projections x_j.

A step weighs each sample by its residual e = -∂ℓ(y, f). All that it leaves behind depends on the batch through
averages of g(e, κ), x_j g and x_j x_l g, where x_j are the projections on the directions that were known before the
step: those of the spikes, κ, and those of the rest of the target, y. So the law is kept as nodes in (κ, e) with one
set of weights for each of 1, x_j and x_j x_l. Before the first step there is no κ, and y is z itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from ..gaussian import STRIDES, line_rule, nested
from .symmetric import triangle

if TYPE_CHECKING:
    from ..losses import Loss


@dataclass(frozen=True)
class Batch:
    """Nodes e [U, n] and weights [U, rows, n]: rows for 1, for each x_j, and for each pair x_j x_l, j ≤ l.

    Nested rules may lie end to end on the nodes, the finest first, of so many `sizes`. Averages are [..., rules].
    """

    e: np.ndarray
    weights: np.ndarray
    sizes: tuple[int, ...] = ()  # one rule, if there are none

    @cached_property
    def parts(self) -> list[slice]:
        """The nodes of each rule."""
        ends = accumulate(self.sizes or self.e.shape[-1:], initial=0)
        return [slice(low, high) for low, high in pairwise(ends)]

    @cached_property
    def directions(self) -> int:
        """How many x_j there are."""
        return (isqrt(1 + 8 * self.weights.shape[1]) - 3) // 2

    def mean(self, values: np.ndarray, row: int = 0) -> np.ndarray:
        """E[values], or that against another row of the weights: [U, ..., n] to [U, ..., rules]."""
        w = self.weights[:, row]
        weighed = values * w.reshape(len(w), *(1,) * (values.ndim - 2), -1)
        return np.add.reduceat(weighed, [part.start for part in self.parts], axis=-1)

    def along(self, values: np.ndarray) -> np.ndarray:
        """E[x_j values], [U, ..., D, rules]."""
        found = [self.mean(values, 1 + j)[..., None, :] for j in range(self.directions)]
        return np.concatenate(found, axis=-2)

    def on_nodes(self, averages: np.ndarray) -> np.ndarray:
        """Averages [..., rules] at the nodes of their rules, [..., n]."""
        return np.repeat(averages, self.sizes or self.e.shape[-1:], axis=-1)

    @property
    def pairs(self) -> np.ndarray:
        """Row of the weights that belongs to x_j x_l, [D, D]."""
        return 1 + self.directions + triangle(self.directions)


def joined(batches: Sequence[Batch]) -> Batch:
    """The rules of several batches end to end."""
    e, weights = (np.concatenate([getattr(b, name) for b in batches], axis=-1) for name in ("e", "weights"))
    return Batch(e, weights, tuple(b.e.shape[-1] for b in batches))


def residuals(labels: Batch, loss: Loss, output: np.ndarray | float) -> Batch:
    """From labels to the residuals that the step follows, e = -∂ℓ(y, f): y - f for the square loss."""
    return replace(labels, e=-np.asarray(loss.derivative(labels.e, labels.e * 0.0 + output)))


def unused_batch(points: int, directions: int) -> Batch:
    """A batch of pure noise, independent of the target: for a network that takes no step."""
    e, weights = line_rule(points)
    same = np.eye(directions)[np.triu_indices(directions)]
    rows = np.concatenate([[1.0], np.zeros(directions), same])
    return joined(
        [Batch(e[None, nested(s)], rows[None, :, None] * w) for s, w in zip(STRIDES, weights, strict=True)]
    )


def stacked(batches: list[Batch]) -> Batch:
    """Batches of several settings as one, rule by rule padded with nodes of no weight."""
    widths = ([part.stop - part.start for part in batch.parts] for batch in batches)
    sizes = tuple(map(max, zip(*widths, strict=True)))
    e = np.zeros((len(batches), sum(sizes)))
    weights = np.zeros((len(batches), batches[0].weights.shape[1], sum(sizes)))
    for row, batch in enumerate(batches):
        for part, low in zip(batch.parts, accumulate(sizes, initial=0), strict=False):
            own = slice(low, low + part.stop - part.start)
            e[row, own], weights[row, :, own] = batch.e[0, part], batch.weights[0, :, part]
    return Batch(e, weights, sizes)

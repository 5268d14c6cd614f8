"""The law of a batch, as a gradient step sees it: a sample's residual e together with its projections x_j.

A step weighs each sample by its residual e = -∂ℓ(y, f). All that it leaves behind depends on the batch through
averages of g(e, κ), x_j g and x_j x_l g, where x_j are the projections on the directions that were known before the
step: those of the spikes, κ, and those of the rest of the target, y. So the law is kept as nodes in (κ, e) with one
set of weights for each of 1, x_j and x_j x_l. Before the first step there is no κ, and y is z itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from ..gaussian import STRIDES, line_rule, nested
from .symmetric import triangle

if TYPE_CHECKING:
    from ..losses import Loss


@dataclass(frozen=True)
class Batch:
    """Nodes e [U, n] and weights [U, rows, n]: rows for 1, for each x_j, and for each pair x_j x_l, j ≤ l."""

    e: np.ndarray
    weights: np.ndarray

    @cached_property
    def directions(self) -> int:
        """How many x_j there are."""
        return (isqrt(1 + 8 * self.weights.shape[1]) - 3) // 2

    def mean(self, values: np.ndarray, row: int = 0) -> np.ndarray:
        """E[values], or that against another row of the weights: [U, ..., n] to [U, ...]."""
        w = self.weights[:, row]
        return (values * w.reshape(len(w), *(1,) * (values.ndim - 2), -1)).sum(axis=-1)

    def along(self, values: np.ndarray) -> np.ndarray:
        """E[x_j values], [U, ..., D]."""
        return np.stack([self.mean(values, 1 + j) for j in range(self.directions)], axis=-1)

    @property
    def pairs(self) -> np.ndarray:
        """Row of the weights that belongs to x_j x_l, [D, D]."""
        return 1 + self.directions + triangle(self.directions)


def residuals(labels: list[Batch], loss: Loss, output: np.ndarray | float) -> list[Batch]:
    """From labels to the residuals that the step follows, e = -∂ℓ(y, f): y - f for the square loss."""
    return [Batch(-np.asarray(loss.derivative(b.e, b.e * 0.0 + output)), b.weights) for b in labels]


def unused_batch(points: int, directions: int) -> list[Batch]:
    """A batch of pure noise, independent of the target: for a network that takes no step."""
    e, weights = line_rule(points)
    same = np.eye(directions)[np.triu_indices(directions)]
    rows = np.concatenate([[1.0], np.zeros(directions), same])
    return [Batch(e[None, nested(s)], rows[None, :, None] * w) for s, w in zip(STRIDES, weights, strict=True)]


def stacked(batches: list[Batch]) -> Batch:
    """Batches of several settings as one, padded with nodes of no weight."""
    n = max(b.e.shape[-1] for b in batches)
    e = np.zeros((len(batches), n))
    weights = np.zeros((len(batches), batches[0].weights.shape[1], n))
    for row, batch in enumerate(batches):
        e[row, : batch.e.shape[-1]] = batch.e[0]
        weights[row, :, : batch.e.shape[-1]] = batch.weights[0]
    return Batch(e, weights)

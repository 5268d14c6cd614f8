"""Real inputs made to look like those of the theory, x ~ N(0, I): mean 0 and variance 1, or white.

Inputs are dense or sparse, in memory or mapped from a file; a block of rows is dense in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_BLOCK_ELEMENTS = 1 << 22  # of a dense block: 32 MB


@dataclass(frozen=True)
class Inputs:
    """The affine map (X - mean)·axes. `axes` is a diagonal [d], or a matrix [d, k] that also removes correlations."""

    mean: np.ndarray
    axes: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        centred = dense(X) - self.mean
        return centred * self.axes if self.axes.ndim == 1 else centred @ self.axes

    @property
    def directions(self) -> int:
        """Number of inputs that the network sees: the d of the theory."""
        return self.axes.shape[-1]


def dense(rows: Any) -> np.ndarray:
    """Rows of whatever kind, as a float64 array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def row_blocks(X: Any, most_rows: int = 1024, index: np.ndarray | None = None) -> Iterator[tuple[Any, Any]]:
    """(positions, rows of X) a block at a time: all rows in order, or those of an index in its order."""
    count = X.shape[0] if index is None else len(index)
    size = max(1, min(most_rows, _BLOCK_ELEMENTS // max(X.shape[1], 1)))
    for start in range(0, count, size):
        part = slice(start, min(start + size, count))
        chosen = part if index is None else index[part]
        yield chosen, X[chosen]


def standard_inputs(X: Any, weights: np.ndarray, whiten: bool) -> Inputs:
    """The map that standardises these samples. Constant columns, and with `whiten` empty directions, count as 0."""
    total, d = float(weights.sum()), X.shape[1]
    mean, largest = np.zeros(d), np.zeros(d)
    for part, block in row_blocks(X):
        rows = dense(block)
        mean += weights[part] @ rows / total
        largest = np.maximum(largest, np.abs(rows).max(axis=0))
    spread = np.zeros(d)
    for part, block in row_blocks(X):
        spread += weights[part] @ (dense(block) - mean) ** 2 / total
    spread = np.sqrt(spread)
    varies = spread > 10 * np.finfo(float).eps * largest  # what the spread of a constant column may be
    scale = np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0)
    if not whiten:
        return Inputs(mean, scale)
    covariance = np.zeros((d, d))
    for part, block in row_blocks(X):
        rows = (dense(block) - mean) * scale
        covariance += rows.T @ (weights[part, None] / total * rows)
    powers, axes = np.linalg.eigh(covariance)
    full = powers > max(X.shape) * np.finfo(float).eps * max(powers.max(), 1e-300)
    if not full.any():
        return Inputs(mean, scale)
    return Inputs(mean, scale[:, None] * axes[:, full] / np.sqrt(powers[full]))

"""Real inputs made to look like those of the theory, x ~ N(0, I): mean 0 and variance 1, or white."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Inputs:
    """The affine map (X - mean)·axes. `axes` is a diagonal [d], or a matrix [d, k] that also removes correlations."""

    mean: np.ndarray
    axes: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        centred = X - self.mean
        return centred * self.axes if self.axes.ndim == 1 else centred @ self.axes

    @property
    def directions(self) -> int:
        """Number of inputs that the network sees: the d of the theory."""
        return self.axes.shape[-1]


def standard_inputs(X: np.ndarray, whiten: bool) -> Inputs:
    """The map that standardises these samples. Constant columns, and with `whiten` empty directions, count as 0."""
    mean = X.mean(axis=0)
    spread = X.std(axis=0)
    rounding = 10 * np.finfo(float).eps * np.abs(X).max(axis=0)  # what the spread of a constant column may be
    scale = np.where(spread > rounding, 1 / np.where(spread > rounding, spread, 1.0), 0.0)
    if not whiten:
        return Inputs(mean, scale)
    _, sizes, axes = np.linalg.svd((X - mean) * scale, full_matrices=False)
    full = sizes > max(X.shape) * np.finfo(float).eps * max(sizes.max(), 1e-300)
    if not full.any():
        return Inputs(mean, scale)
    return Inputs(mean, scale[:, None] * axes[full].T * (np.sqrt(len(X)) / sizes[full]))

"""What an error on a grid of parameters shows: its least value, its local minima, and how it bends there."""

from __future__ import annotations

from itertools import product

import numpy as np


def least(values: np.ndarray, axes: list[np.ndarray]) -> tuple[float, tuple[float, ...]]:
    """The least error of a scan, and where."""
    index = np.unravel_index(np.argmin(values), values.shape)
    return float(values[index]), tuple(float(axis[i]) for axis, i in zip(axes, index, strict=True))


def local_minima(values: np.ndarray) -> list[tuple[int, ...]]:
    """Points no higher than their neighbours along any axis or diagonal, best first."""
    padded = np.pad(values, 1, constant_values=np.inf)
    centre = tuple(slice(1, -1) for _ in values.shape)
    lowest = np.isfinite(values)
    for shift in product((-1, 0, 1), repeat=values.ndim):
        if any(shift):
            lowest &= values <= np.roll(padded, shift, axis=tuple(range(values.ndim)))[centre]
    found = np.argwhere(lowest)
    return [tuple(map(int, i)) for i in found[np.argsort(values[lowest], kind="stable")]]

"""What an error on a grid of parameters shows: its least value, its local minima, and how it bends there."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np


def curvature(values: np.ndarray, axes: list[np.ndarray], at: tuple[int, ...]) -> np.ndarray:
    """Second derivatives of a scan at one of its minima, over its value there, by the logarithms of the parameters.

    An axis that ends here, or has no number beside, counts as bent by one and by itself.
    """
    here, n = values[at], len(at)

    def beside(*steps: tuple[int, int]) -> float:
        place = np.array(at)
        for i, step in steps:
            place[i] += step
        inside = np.all((place >= 0) & (place < values.shape))
        return float(values[tuple(place)] / here - 1.0) if inside else np.nan

    gaps = [
        np.diff(np.log(axis))[[max(i - 1, 0), min(i, len(axis) - 2)]]
        for axis, i in zip(axes, at, strict=True)
    ]
    bent = np.zeros((n, n))
    for i, (left, right) in enumerate(gaps):
        own = 2.0 * (beside((i, -1)) / left + beside((i, 1)) / right) / (left + right)
        bent[i, i] = own if np.isfinite(own) and own > 0.0 else 1.0
    for i, j in combinations(range(n), 2):
        both = sum(a * b * beside((i, a), (j, b)) for a in (-1, 1) for b in (-1, 1)) / (
            gaps[i].sum() * gaps[j].sum()
        )
        most = 0.9 * np.sqrt(bent[i, i] * bent[j, j])
        bent[i, j] = bent[j, i] = np.clip(both, -most, most) if np.isfinite(both) else 0.0
    return bent


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

"""Where a function of one variable passes through given values, and the values at which it turns back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .function import Function

_GRID = 2049  # points between which a function is taken to pass through a value once
_MOST = 24  # places per value that are looked for
_HALVINGS = 60
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def crossings(f: Callable[[np.ndarray], Any], values: np.ndarray, reach: float) -> np.ndarray:
    """z in (-reach, reach) with f(z) = value, for each of `values` [...]: [..., m], padded with +inf.

    Jumps across a value count too. The m is that of the value with the most places, up to 24.
    """
    z = np.linspace(-reach, reach, _GRID)
    above = np.asarray(f(z)) > values.reshape(-1, 1)
    row, cell = np.nonzero(above[:, 1:] != above[:, :-1])
    first = np.searchsorted(row, np.arange(len(above)))
    place = np.arange(len(row)) - first[row]
    kept = place < _MOST
    row, cell, place = row[kept], cell[kept], place[kept]
    low, high, rising, level = z[cell], z[cell + 1], above[row, cell + 1], values.reshape(-1)[row]
    for _ in range(_HALVINGS if len(row) else 0):
        middle = 0.5 * (low + high)
        beyond = (np.asarray(f(middle)) > level) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    found = np.full((len(above), int(place.max(initial=-1)) + 1), np.inf)
    found[row, place] = 0.5 * (low + high)
    return found.reshape(*values.shape, found.shape[1])


def turning_values(f: Function, reach: float) -> np.ndarray:
    """The values at which f turns back, or stays for a while, between -reach and reach."""
    z = np.linspace(-reach, reach, _GRID)
    step = np.sign(np.diff(np.asarray(f(z))))
    at = 1 + np.flatnonzero(step[1:] * step[:-1] <= 0.0)
    low, high, up = z[at - 1], z[at + 1], np.where(step[at - 1] > 0.0, 1.0, -1.0)
    for _ in range(_HALVINGS):  # golden sections; on a level stretch any point will do
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        beyond = up * (np.asarray(f(right)) - np.asarray(f(left))) > 0.0
        low, high = np.where(beyond, left, low), np.where(beyond, high, right)
    return np.unique(np.asarray(f(0.5 * (low + high))))

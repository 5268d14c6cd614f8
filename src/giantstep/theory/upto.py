"""Indices along an axis, of a type that type checkers know."""

from __future__ import annotations

import numpy as np


def upto(count: int) -> np.ndarray:
    """0, 1, ..., count - 1: `np.arange`, whose stub has no answer where the count is read from a shape."""
    return np.arange(count)


def run(indices: np.ndarray) -> slice | np.ndarray:
    """Indices that follow one another as a slice, by which numpy copies nothing; others as they are."""
    if len(indices) and (np.diff(indices) == 1).all():
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices

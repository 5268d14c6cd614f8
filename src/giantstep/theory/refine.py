"""One loop for all integrals that are refined point by point: twice the nodes where they are not resolved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def refine(
    compute: Callable[[np.ndarray, int], np.ndarray], count: int, points: int, finest: int, tolerance: float
) -> np.ndarray:
    """Errors [count] that are left when `compute(left, points)` has computed and kept the points `left`, and returned
    their errors, again and again with twice the `points`, until errors are below `tolerance` or points at the `finest`.
    """
    error, left = np.full(count, np.inf), np.arange(count)
    while len(left):
        error[left] = compute(left, points)
        points *= 2
        left = left[error[left] > tolerance] if points <= finest else left[:0]
    return error

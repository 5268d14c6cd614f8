"""Indices along an axis, of a type that type checkers know."""

from __future__ import annotations

import numpy as np


def upto(count: int) -> np.ndarray:
    """0, 1, ..., count - 1: `np.arange`, whose stub has no answer where the count is read from a shape."""
    return np.arange(count)

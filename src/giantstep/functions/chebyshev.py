"""Chebyshev's polynomials T_n(t) = cos(n arccos t) between -1 and 1, for all who interpolate smooth functions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev


@lru_cache(maxsize=64)
def through(count: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` points between -1 and 1, and the matrix from values there to the coefficients of T_0, T_1, ...

    On these points, the roots of T_count, polynomials are orthogonal: the matrix is their own values, scaled.
    """
    points = chebyshev.chebpts1(count)
    to_series = chebyshev.chebvander(points, count - 1).T * (2.0 / count)
    to_series[0] /= 2.0
    return points, to_series


def polynomials(t: np.ndarray, count: int) -> np.ndarray:
    """T_0 to T_(count-1) at t [...], last axis."""
    return chebyshev.chebvander(t, count - 1)

"""Hermite moments of neurons, S_k(m, s) = E[f(m + s z) he_k(z)] with z ~ N(0, 1), for many neurons at once.

One neuron takes a quadrature, split at the function's breakpoints. Many neurons are interpolated from a table in (m, s)
that trials of one model share: trials at d = 100 take twice as long without it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from scipy.special import factorial

from .. import gaussian
from ..functions import Function
from ..functions.chebyshev import polynomials, through

_REACH = 12.0  # he_k(z) times the Gaussian density is below 1e-16 there for all k in use
_BLOCK = 1 << 19  # values of polynomials in memory at once


def hermite_moments(
    function: Function, along: np.ndarray, biases: np.ndarray, across: np.ndarray, kappa: np.ndarray, terms: int
) -> np.ndarray:
    """S_k(m, s) = E[f(m + s z) he_k(z)] at m = φ_i κ + b_i and s = s_i: [terms, rows, kappa]."""
    shifts = along[:, None] * kappa + biases[:, None]
    if len(along) == 1 or across.min() < 0.05 * across.max():
        scales = np.broadcast_to(across[:, None], shifts.shape)
        return np.moveaxis(_moments_at(function, shifts, scales, terms), -1, 0)
    return _interpolated(function, shifts, across, terms)


def _interpolated(function: Function, shifts: np.ndarray, across: np.ndarray, terms: int) -> np.ndarray:
    """The moments from a table that trials of one model share: its ranges are rounded outwards."""
    unit = 2.0 ** math.floor(math.log2(across.min()))
    m_range, s_range = _rounded(shifts, 4 * unit), _rounded(across, unit / 8)
    m_points, s_points, table = _table(function, m_range, s_range, 4 * math.ceil(terms / 4))
    answers = np.empty((terms, *shifts.shape))
    step = max(1, _BLOCK // (shifts.shape[1] * m_points.count))
    for start in range(0, len(shifts), step):
        part = slice(start, start + step)
        own = np.tensordot(s_points.basis(across[part]), table[:, :terms], (1, 0))  # [rows, terms, m]
        answers[:, part] = np.moveaxis(own @ np.moveaxis(m_points.basis(shifts[part]), -1, -2), 1, 0)
    return answers


def _rounded(values: np.ndarray, unit: float) -> tuple[float, float]:
    return unit * math.floor(values.min() / unit), unit * math.ceil(values.max() / unit + 1e-9)


@lru_cache(maxsize=32)
def _table(
    function: Function, m_range: tuple[float, float], s_range: tuple[float, float], terms: int
) -> tuple[_Chebyshev, _Chebyshev, np.ndarray]:
    """Chebyshev coefficients of S_k(m, s): [s, terms, m]."""
    # in m, moments up to he_terms are smoothed: beyond a wave number of (8 + √terms)/s they are 1e-14
    degree = 24 + math.ceil((8 + math.sqrt(terms)) / s_range[0] * (m_range[1] - m_range[0]) / 2)
    # in s they are analytic away from 0: the ratio of the interval to its distance from there decides
    half, middle = (s_range[1] - s_range[0]) / 2, (s_range[1] + s_range[0]) / 2
    ellipse = max(half / (middle + math.sqrt(middle**2 - half**2)), 1e-16)
    degree_in_s = 3 + math.ceil((25 + math.sqrt(terms)) / -math.log(ellipse))
    m_points, s_points = _Chebyshev(*m_range, degree), _Chebyshev(*s_range, degree_in_s)
    moments = _moments_at(function, *np.meshgrid(m_points.nodes, s_points.nodes, indexing="ij"), terms)  # [m, s, terms]
    moments = np.tensordot(moments, m_points.to_series, (0, 1))
    return m_points, s_points, np.tensordot(s_points.to_series, moments, (1, 0))


class _Chebyshev:
    """Interpolation from Chebyshev points of an interval."""

    def __init__(self, low: float, high: float, count: int):
        self.middle, self.count = (high + low) / 2, count
        # values that differ by rounding alone must not fall outside
        self.half = max((high - low) / 2, 1e-9 * abs(self.middle), 1e-300)
        points, self.to_series = through(count)
        self.nodes = self.middle + self.half * points

    def basis(self, values: np.ndarray) -> np.ndarray:
        """Chebyshev polynomials at the values: [..., count]."""
        return polynomials((values - self.middle) / self.half, self.count)


def _moments_at(function: Function, shifts: np.ndarray, scales: np.ndarray, terms: int) -> np.ndarray:
    """E[f(m + s z) he_k(z)] by quadrature, split at the function's breakpoints: [..., terms].

    In blocks, which bound the memory of the polynomials.
    """
    wide = float(np.abs(shifts).max())
    reach = max(_REACH, *(gaussian.tail_reach(function, float(scales.max()), m) for m in (-wide, wide)))
    least = gaussian.least_intervals(function, float(scales.max()), reach, wide, wide)
    nodes = max(256 if not function.breakpoints else 96, gaussian.quarterable(least))
    moments = np.empty((shifts.size, terms))
    step = max(1, _BLOCK // (nodes * terms * (1 + len(function.breakpoints))))
    for start in range(0, shifts.size, step):
        part = slice(start, start + step)
        samples = gaussian.sample(function, shifts.ravel()[part], scales.ravel()[part], nodes, reach)
        values, z, weights = samples.nodes()
        moments[part] = ((values * weights)[:, None] @ hermevander(z, terms - 1))[:, 0]
    return moments.reshape(*shifts.shape, terms) / np.sqrt(factorial(np.arange(terms)))

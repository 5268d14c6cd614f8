"""Averages over h ~ N(0, c) of functions of a + h, at very many shifts a and variances c: tabulated, then interpolated.

As functions of a they are smoothed on the scale √c, whatever kinks were averaged over: on a panel of width √c the
Chebyshev series through 16 points is exact to rounding, its error falls as 4⁻ⁿ/√n!. As functions of c they are analytic
but at c = 0: on an octave of c the error of 16 points falls as 5.8⁻ⁿ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..chebyshev import polynomials, through
from .layer import alike
from .symmetric import TINY
from .upto import upto

_NODES = 16
_POINTS, _TO_SERIES = through(_NODES)
_BLOCK = 1 << 20  # coefficients at a time

Averages = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From shifts [M] and variances [M] to quantities [Q, M]."""


def tabulated(averages: Averages, shift: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`averages` at shifts [U, K, N] with variances c [U, K], [Q, U, K, N]: by way of tables if that is less work."""
    U, K, N = shift.shape
    a, v = shift.reshape(-1, N), c.reshape(-1)
    with np.errstate(divide="ignore"):
        octave = np.floor(np.log2(v))
    found: np.ndarray | None = None
    for rows in alike(octave[:, None]):
        own = _octave(averages, a[rows], v[rows], float(octave[rows[0]]))
        found = np.empty((len(own), U * K, N)) if found is None else found
        found[:, rows] = own
    assert found is not None
    return found.reshape(-1, U, K, N)


def _octave(averages: Averages, a: np.ndarray, c: np.ndarray, octave: float) -> np.ndarray:
    """Those at shifts a [R, N] with variances c [R] between 2^octave and twice that: [Q, R, N]."""
    low, high = float(a.min()), float(a.max())
    least = 2.0**octave
    panels = max(1, int(np.ceil((high - low) / np.sqrt(least)))) if least > 0.0 else 1 << 30
    variances = c if len(c) <= _NODES else least * (1.5 + 0.5 * _POINTS)
    if 2 * _NODES * panels * len(variances) >= a.size:
        return averages(a.reshape(-1), np.repeat(c, a.shape[1])).reshape(-1, *a.shape)
    width = (high - low) / panels + TINY
    nodes = (low + width * (upto(panels) + 0.5))[:, None] + 0.5 * width * _POINTS
    table = averages(np.tile(nodes.reshape(-1), len(variances)), np.repeat(variances, nodes.size))
    series = np.moveaxis(table.reshape(len(table), len(variances), panels, _NODES) @ _TO_SERIES.T, 0, 2)
    between = polynomials(2.0 * c / least - 3.0, _NODES) @ _TO_SERIES  # from values at the nodes in c
    to_rows = np.eye(len(c)) if variances is c else between
    parts = np.array_split(upto(len(c)), max(1, a.size * len(table) * _NODES // _BLOCK))
    found: list[np.ndarray] = []
    for rows in parts:
        found.append(_summed(np.tensordot(to_rows[rows], series, 1), (a[rows] - low) / width))
    return np.concatenate(found, axis=1)


def _summed(series: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Series [R, panels, Q, degree] at places counted in panels [R, N]: [Q, R, N]."""
    panel = np.clip(along.astype(int), 0, series.shape[1] - 1)
    here = series[upto(len(along))[:, None], panel]  # [R, N, Q, degree]
    found = here @ polynomials(2.0 * (along - panel) - 1.0, _NODES)[..., None]
    return np.moveaxis(found[..., 0], -1, 0)

"""Averages over h ~ N(0, c) of functions of a + h, at very many shifts a: tabulated once, interpolated from there.

As functions of a they are smoothed on the scale √c, whatever kinks were averaged over. On a panel of width √c the
Chebyshev series through 16 points is exact to rounding: its error falls as 4⁻ⁿ/√n!.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..chebyshev import through
from .upto import upto

_NODES = 16
_POINTS, _TO_SERIES = through(_NODES)

Averages = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From shifts [M] and variances [M] to quantities [Q, M]."""


def tabulated(averages: Averages, shift: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`averages` at shifts [U, K, N] with variances c [U, K], [Q, U, K, N]: by way of tables if that is less work."""
    U, K, N = shift.shape
    scale = np.sqrt(c)
    low, high = shift.min(axis=-1), shift.max(axis=-1)
    panels = np.maximum(1, np.ceil((high - low) / scale)).astype(int)  # [U, K]
    if 2 * _NODES * int(panels.sum()) >= shift.size:
        wide = np.broadcast_to(c[..., None], shift.shape)
        return averages(shift.reshape(-1), wide.reshape(-1)).reshape(-1, U, K, N)
    width = (high - low) / panels + 1e-300
    counts = panels.reshape(-1)
    owner = np.repeat(upto(U * K), counts)  # which (u, s) a panel belongs to
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.arange(len(owner)) - first[owner]
    centre = low.reshape(-1)[owner] + (place + 0.5) * width.reshape(-1)[owner]
    nodes = centre[:, None] + 0.5 * width.reshape(-1)[owner][:, None] * _POINTS
    wide = np.broadcast_to(c.reshape(-1)[owner][:, None], nodes.shape)
    found = averages(nodes.reshape(-1), wide.reshape(-1))
    series = found.reshape(len(found), len(owner), _NODES) @ _TO_SERIES.T  # [Q, panels, degree]
    return _summed(series, shift, low, width, panels, first.reshape(U, K))


def _summed(
    series: np.ndarray,
    shift: np.ndarray,
    low: np.ndarray,
    width: np.ndarray,
    panels: np.ndarray,
    first: np.ndarray,
) -> np.ndarray:
    """The series at every shift, by Clenshaw's recurrence."""
    along = (shift - low[..., None]) / width[..., None]
    panel = np.clip(along.astype(int), 0, panels[..., None] - 1)
    t = 2.0 * (along - panel) - 1.0
    index = panel + first[..., None]
    ahead = behind = np.zeros((len(series), *shift.shape))
    for degree in range(_NODES - 1, 0, -1):
        ahead, behind = series[:, index, degree] + 2.0 * t * ahead - behind, ahead
    return series[:, index, 0] + t * ahead - behind

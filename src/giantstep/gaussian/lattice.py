"""Averages of a smooth function at shifts that are evenly spaced, from its values on one lattice.

f(a_i + scale·z_j) has as many arguments as there are shifts a_i times nodes z_j. But if the nodes are chosen such that
they and the shifts lie on one lattice, a few hundred different ones: each shift sees a window of the same values.
"""

from __future__ import annotations

import numpy as np

from ..functions import Function
from .rules import density
from .samples import Moments, cuts, projections

DIRECT = (0, 0)  # no lattice


def lattice(f: Function, step: np.ndarray, scale: np.ndarray, count: int, n: int, reach: float) -> np.ndarray:
    """(shifts, nodes), how many points of its lattice lie between two shifts and between two nodes z, [M, 2].

    For `count` shifts, `step` [M] apart, and a rule that resolves f(· + scale·z), scale [M], with n intervals. `DIRECT`
    where there would be hardly fewer arguments, or where the line is cut.
    """
    if cuts(f, float(scale.max())):
        return np.zeros((len(step), 2), int)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nodes_a_step = np.abs(step) * n / (2.0 * reach * scale)
        shifts, nodes = np.ceil(nodes_a_step), np.maximum(1.0, np.floor(1.0 / nodes_a_step))
        few = 2.0 * (shifts * count + 2.0 * nodes * n) <= count * n
    return np.where(few[:, None], np.stack([shifts, nodes], axis=-1), DIRECT).astype(int)


def lattice_moments(
    f: Function,
    start: np.ndarray,
    step: np.ndarray,
    scale: np.ndarray,
    count: int,
    spacing: tuple[int, int],
    reach: float,
) -> Moments:
    """Moments [M, count] of f(start + i·step + scale·z), i < count, on lattices of that `spacing`."""
    shifts, nodes = spacing
    fine = step / shifts
    dz = nodes * fine / scale
    J = int(np.ceil(reach / np.abs(dz).min()))
    places = np.arange(-nodes * J, shifts * (count - 1) + nodes * J + 1)
    # no farther than a rule over z would go: f may overflow there
    last, far = start + (count - 1) * step, reach * scale
    low, high = np.minimum(start, last) - far, np.maximum(start, last) + far
    at = start[:, None] + fine[:, None] * places
    values = np.ascontiguousarray(f(np.minimum(np.maximum(at, low[:, None]), high[:, None])))
    own, one = values.strides
    seen = np.ndarray(
        (len(values), count, 2 * J + 1), values.dtype, values, strides=(own, shifts * one, nodes * one)
    )
    z = dz[:, None] * np.arange(-J, J + 1)
    return projections(seen, z, np.abs(dz)[:, None] * density(z))

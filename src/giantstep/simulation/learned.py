"""The learned function of a trained network at finite size, averaged exactly instead of over test samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions import Function
from ..gaussian import moments

_BLOCK = 4096  # Gaussian averages done together: bounds the memory


def learned_function(
    readout: Any, rows: Any, theta: Any, x: Any, activation: Function, biases: Any | None = None
) -> np.ndarray:
    r"""E[f | θ·x/√d = x] of given weights, averaged exactly over the rest of the input.

    .. math:: f(x) = \frac1{\sqrt p}\sum_i a_i\, E_g\,\sigma\big(b_i\cdot x + \sqrt{|F_i|^2 - |b_i|^2}\,g\big),

    `readout` is a [p], or [p, columns] for several readouts of one first layer; `rows` is F [p, d]; `theta` one unit
    vector [d], or the first few of the target's orthonormal directions, and b = Fθ. `x` are numbers [points], or
    points [points, directions] in the span of those directions. Any array library; the answer is a numpy array
    [points] or [columns, points]. Given the projections on θ, every pre-activation is Gaussian: no sampling is needed.
    """
    from array_api_compat import array_namespace

    xp = array_namespace(rows)
    directions = theta if isinstance(theta, (list, tuple)) else (theta,)
    along = np.stack([_host(rows @ direction) for direction in directions], axis=1)
    across = np.sqrt(np.maximum(_host(xp.sum(rows * rows, axis=1)) - (along**2).sum(axis=1), 0.0))
    shift = np.zeros(len(along)) if biases is None else _host(biases)
    weights = _host(readout)
    x = np.asarray(x, dtype=float).reshape(-1, len(directions))
    total = np.zeros((*weights.shape[1:], len(x)))
    size = max(1, _BLOCK // len(x))
    for start in range(0, len(along), size):
        part = slice(start, start + size)
        centre = along[part] @ x.T + shift[part, None]
        found, _ = moments(activation, centre, np.broadcast_to(across[part, None], centre.shape))
        total += weights[part].T @ found.mean
    return total / np.sqrt(len(along))


def _host(values: Any) -> np.ndarray:
    """As a float64 numpy array, from whatever device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values, dtype=float)

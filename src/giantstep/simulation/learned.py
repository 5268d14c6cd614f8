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

    .. math:: f(x) = \frac1{\sqrt p}\sum_i a_i\, E_g\,\sigma\big(b_i x + \sqrt{|F_i|^2 - b_i^2}\,g\big),

    `readout` is a [p], or [p, columns] for several readouts of one first layer; `rows` is F [p, d]; `theta`
    the unit vector [d] of the target, and b = Fθ. Any array library; the answer is a numpy array
    [x] or [columns, x]. Given the projection on θ, every pre-activation is Gaussian: no sampling is needed.
    """
    from array_api_compat import array_namespace

    xp = array_namespace(rows)
    along = _host(rows @ theta)
    across = np.sqrt(np.maximum(_host(xp.sum(rows * rows, axis=1)) - along**2, 0.0))
    shift = np.zeros_like(along) if biases is None else _host(biases)
    weights = _host(readout)
    x = np.atleast_1d(np.asarray(x, dtype=float))
    total = np.zeros((*weights.shape[1:], len(x)))
    size = max(1, _BLOCK // len(x))
    for start in range(0, len(along), size):
        part = slice(start, start + size)
        centre = along[part, None] * x + shift[part, None]
        found, _ = moments(activation, centre, np.broadcast_to(across[part, None], centre.shape))
        total += weights[part].T @ found.mean
    return total / np.sqrt(len(along))


def _host(values: Any) -> np.ndarray:
    """As a float64 numpy array, from whatever device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values, dtype=float)

"""What is measured of fitted readouts: errors by sampling, the theory's summary statistics, the learned function."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions import Function
from ..gaussian import moments
from .backend import Backend
from .data import Data
from .features import FeatureMap
from .gradient_step import Weights

_BLOCK = 4096  # Gaussian averages done together: bounds the memory


def sampled_errors(
    features: FeatureMap, test: Data, samples: int, readouts: Any, backend: Backend
) -> dict[str, np.ndarray]:
    """Mean squared error against the noiseless target, and for binary labels the share of wrong signs."""
    square, wrong = np.zeros(readouts.shape[1]), np.zeros(readouts.shape[1])
    for block in test.blocks(samples):
        outputs = _outputs(features(block, test.batch), readouts, backend)
        if test.target.binary:
            wrong += _count(outputs * block.clean[:, None] <= 0, backend)
        outputs -= block.clean[:, None]
        square += backend.numpy(backend.xp.sum(outputs * outputs, axis=0))
    errors = {"test_error": square / samples}
    return errors | ({"test_error_01": wrong / samples} if test.target.binary else {})


def wrong_training_signs(
    features: FeatureMap, train: Data, sizes: np.ndarray, readouts: Any, backend: Backend
) -> np.ndarray:
    """Share of wrong signs on the training labels: a second pass over the very same samples.

    Each readout counts the first `sizes` of them, those that it was fitted on.
    """
    wrong = np.zeros(len(sizes))
    for block in train.blocks(int(sizes.max())):
        outputs = _outputs(features(block, train.batch), readouts, backend)
        used = backend.asarray(block.start + np.arange(outputs.shape[0])[:, None] < sizes)
        wrong += _count((outputs * block.labels[:, None] <= 0) & (used > 0), backend)
    return wrong / sizes


def _outputs(features: Any, readouts: Any, backend: Backend) -> Any:
    outputs = backend.matmul(features, readouts)
    outputs /= readouts.shape[0] ** 0.5
    return outputs


def _count(condition: Any, backend: Backend) -> np.ndarray:
    return backend.numpy(backend.xp.sum(backend.xp.astype(condition, backend.dtype), axis=0))


def summary_statistics(layer: Weights, readouts: Any, backend: Backend) -> dict[str, np.ndarray]:
    """m, zeta, psi, q1, q2 of readouts [p, columns]: letters first, then directions, then columns.

    With sums over the neurons i of letter s: m_s = Σ a_i/√p, zeta_sj = Σ a_i w_i·v_j/√p, psi_sm = Σ a_i w_i·e_m/√p,
    q1_st = h_s·h_t with h_s = Σ a_i Π w_i/√p and Π projecting out all v_j, q2_s = Σ a_i²/p; w_i are the bulk rows,
    v_j and e_m unit vectors along the spikes and along the rest of each direction of the target.
    """
    p = layer.rows.shape[0]
    v, rest = ([backend.numpy(unit) for unit in units] for units in (layer.v, layer.rest))
    m, zeta, psi, q2, across = [], [], [], [], []
    for group in layer.groups:
        part = readouts[group, :]
        weights = backend.numpy(part)
        image = backend.numpy(backend.matmul(layer.rows[group, :].T, part))
        for spike, unit in zip(
            layer.spike, v, strict=True
        ):  # what F maps to, less the spikes: the bulk's part
            image -= unit[:, None] * (spike[group] @ weights)
        m.append(weights.sum(axis=0) / np.sqrt(p))
        zeta.append([unit @ image / np.sqrt(p) for unit in v])
        psi.append([unit @ image / np.sqrt(p) for unit in rest])
        q2.append((weights**2).sum(axis=0) / p)
        for unit in v:
            image = image - unit[:, None] * (unit @ image)
        across.append(image / np.sqrt(p))
    q1 = [[(h * g).sum(axis=0) for g in across] for h in across]
    answers = {"m": m, "zeta": zeta, "psi": psi, "q1": q1, "q2": q2}
    return {name: np.asarray(rows) for name, rows in answers.items()}


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

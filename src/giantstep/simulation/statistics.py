"""What is measured of fitted readouts: the summary statistics of the theory, at finite size."""

from __future__ import annotations

from typing import Any

import numpy as np

from .backend import Backend
from .gradient_step import Weights


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

"""What is measured of fitted readouts: the summary statistics of the theory, at finite size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..quantities import letter_axes
from .backend import Backend
from .layer import Layer


def summary_statistics(layer: Layer, readouts: Any, backend: Backend) -> dict[str, np.ndarray]:
    """m, zeta, psi, q1, q2 of readouts [p, columns]: letters first, then columns; one letter has no axis.

    With sums over the neurons i of letter s: m_s = Σ a_i/√p, zeta_s = Σ a_i w_i·v/√p, psi_s = Σ a_i w_i·t/√p,
    q1_st = h_s·h_t with h_s = Σ a_i Π w_i/√p and Π projecting out v, q2_s = Σ a_i²/p; w_i are the bulk rows,
    v and t unit vectors.
    """
    p = layer.rows.shape[0]
    v, t = (backend.numpy(unit) for unit in (layer.v, layer.t))
    m, zeta, psi, q2, across = [], [], [], [], []
    for group in layer.groups:
        part = readouts[group, :]
        weights = backend.numpy(part)
        image = backend.numpy(backend.matmul(layer.rows[group, :].T, part))
        image -= v[:, None] * (
            layer.spike[group] @ weights
        )  # what F maps to, less the spike: the bulk's part
        m.append(weights.sum(axis=0) / np.sqrt(p))
        zeta.append(v @ image / np.sqrt(p))
        psi.append(t @ image / np.sqrt(p))
        q2.append((weights**2).sum(axis=0) / p)
        across.append((image - v[:, None] * (v @ image)) / np.sqrt(p))
    q1 = np.stack([np.stack([(h * g).sum(axis=0) for g in across]) for h in across])
    answers = {"m": m, "zeta": zeta, "psi": psi, "q1": q1, "q2": q2}
    return {name: drop_single_letter(np.stack(list(rows)), name) for name, rows in answers.items()}


def drop_single_letter(values: np.ndarray, name: str) -> np.ndarray:
    """Without its leading axes over letters, where there is only one letter."""
    axes = letter_axes(name)
    return values.reshape(values.shape[axes:]) if values.shape[:axes] == (1,) * axes else values

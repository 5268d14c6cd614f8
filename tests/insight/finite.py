"""Finite-size numerics written from the definitions alone, to test the theory against: no giantstep inside."""

from __future__ import annotations

import numpy as np


def unit_rows(rng: np.random.Generator, p: int, d: int) -> np.ndarray:
    """p independent uniform directions."""
    rows = rng.standard_normal((p, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def spiked_rows(rng: np.random.Generator, d: int, beta: float, r: float, c: float) -> np.ndarray:
    """F = W + r 1 vᵀ with v the first axis."""
    rows = np.sqrt(c) * unit_rows(rng, round(beta * d), d)
    rows[:, 0] += r
    return rows


def trained_rows(
    rng: np.random.Generator, d: int, beta: float, alpha0: float, eta: float, act, slope, label
) -> np.ndarray:
    """One descent step of size η·d on ½ mean squared error, readout 1/√p; the target is the first axis."""
    p, n0 = round(beta * d), round(alpha0 * d)
    W = unit_rows(rng, p, d)
    X = rng.standard_normal((n0, d))
    H = X @ W.T
    f = act(H).sum(axis=1) / p
    return W + eta * d / (n0 * p) * ((label(X[:, 0], rng) - f)[:, None] * slope(H)).T @ X


def feature_eigenvalues(rng: np.random.Generator, rows: np.ndarray, alpha: float, act) -> np.ndarray:
    """Eigenvalues of ΨᵀΨ/p in increasing order."""
    p, d = rows.shape
    features = act(rng.standard_normal((round(alpha * d), d)) @ rows.T)
    return np.linalg.eigvalsh(features.T @ features / p)


def moment(found, power: int) -> float:
    """That moment of the bulk in an answer."""
    return float((found["weight"] * found["density"] * found["eigenvalue"] ** power).sum())


def distance_to_law(eigenvalues: np.ndarray, found) -> float:
    """Kolmogorov distance between eigenvalues and the distribution function of bulk and zeros in an answer.

    Compared at the eigenvalues that are not zero; zeros count through the ranks of the others.
    """
    values, order = np.sort(eigenvalues), np.argsort(found["eigenvalue"].values)
    mass = (found["weight"] * found["density"]).values[order]
    below = float(found["mass_at_zero"]) + np.cumsum(mass) - 0.5 * mass
    ranks = np.arange(1, len(values) + 1) / len(values)
    positive = values > 1e-9 * values[-1]
    gap = np.interp(values, found["eigenvalue"].values[order], below)[positive] - ranks[positive]
    return float(max(np.abs(gap).max(), np.abs(gap + 1.0 / len(values)).max()))

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


def distance_to_cdf(eigenvalues: np.ndarray, x: np.ndarray, cdf: np.ndarray) -> float:
    """Kolmogorov distance between sorted eigenvalues and a distribution function known at increasing x.

    Compared at the eigenvalues that are not zero; zeros count through the ranks of the others.
    """
    count = len(eigenvalues)
    ranks = np.arange(1, count + 1) / count
    positive = eigenvalues > 1e-9 * eigenvalues[-1]
    gap = np.interp(eigenvalues, x, cdf)[positive] - ranks[positive]
    return float(max(np.abs(gap).max(), np.abs(gap + 1.0 / count).max()))

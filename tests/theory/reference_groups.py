"""Several groups of neurons, isotropic bulk, square loss, once more: plain iteration and one dense linear solve.

The equations of the non-uniform readout as they stand on paper, on the dense rules of `reference`. Nothing is
merged, packed or differentiated: (V1, V2) by damped iteration, the second order as one linear system for the
residual power on the κ nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .reference import Plain, averages, gauss


@dataclass
class Groups:
    """Spike u_s, bias b_s, squared row norm c_s and fraction n_s of each group."""

    u: np.ndarray
    n: np.ndarray
    c: np.ndarray
    b: np.ndarray


@dataclass
class Tables:
    kappa: np.ndarray
    w: np.ndarray
    mu0: np.ndarray  # [K, N]
    mu1: np.ndarray
    mu2sq: np.ndarray
    t: np.ndarray  # t0, t1, t2: [3, N]


def tabulate(groups: Groups, activation: Plain, target: Plain, gamma: float, step: float = 0.8) -> Tables:
    kappa, w = gauss(np.arange(-9.5, 9.5, step))
    rows = np.array(
        [
            [averages(activation, u * k + b, math.sqrt(c)) for k in kappa]
            for u, b, c in zip(groups.u, groups.b, groups.c, strict=True)
        ]
    )
    mu0, first, square = rows[:, :, 0], rows[:, :, 1], rows[:, :, 2]
    rho = math.sqrt(max(0.0, 1.0 - gamma**2))
    t = np.array([averages(target, gamma * k, rho)[:3] for k in kappa]).T
    mu2sq = square - mu0**2 - first**2
    return Tables(kappa, w, mu0, first / np.sqrt(groups.c)[:, None], mu2sq, t)


def solve(
    groups: Groups, t: Tables, *, beta: float, alpha: float, lam: float, noise: float = 0.0
) -> dict[str, np.ndarray]:
    """All order parameters at d = ∞, per group."""
    n, c, K = groups.n, groups.c, len(groups.n)
    mu1, mu2 = t.mu1, t.mu2sq
    t0, t1, t2 = t.t
    V1, V2 = np.diag(n * c) / (1.0 + lam), n / (1.0 + lam)
    for _ in range(3000):
        D = 1.0 + np.einsum("sn,st,tn->n", mu1, V1, mu1) + V2 @ mu2
        hat1 = alpha / beta * (mu1 * (t.w / D)) @ mu1.T
        hat2 = alpha / beta * mu2 @ (t.w / D)
        T = np.diag(beta * c * V2)
        new1 = T @ np.linalg.inv(np.eye(K) + hat1 @ T) / beta
        Q = hat1 - beta * hat1 @ new1 @ hat1
        new2 = n / (lam + hat2 + c * np.diag(Q))
        change = np.abs(new1 - V1).max() / np.abs(V1).max() + np.abs(new2 / V2 - 1.0).max()
        V1, V2 = 0.5 * (V1 + new1), 0.5 * (V2 + new2)
        if change < 1e-15:
            break
    psi_hat = alpha / math.sqrt(beta) * mu1 @ (t.w * t1 / D)
    psi = math.sqrt(beta) * V1 @ psi_hat
    g = np.concatenate([t.mu0, t.kappa * mu1])
    A = (g * (t.w / D)) @ g.T
    A[K:, K:] += np.diag(1.0 / (alpha * c * V2))
    means = np.linalg.lstsq(A, g @ (t.w * t0 / D), rcond=1e-13)[0]
    m, zeta = means[:K], means[K:]
    zeta_hat = zeta / (math.sqrt(beta) * c * V2)
    M = means @ g
    base = t2 + noise**2 - 2.0 * M * t0 + M**2 - 2.0 * (psi @ mu1) * t1
    L = np.eye(K) - beta * V1 @ hat1

    def norms(R: np.ndarray, signal: float) -> tuple[np.ndarray, np.ndarray]:
        """(Q1, Q2) that a residual power R(κ) and, if `signal` is 1, the means imply."""
        q1 = alpha / beta * (mu1 * (t.w * R / D**2)) @ mu1.T + signal * np.outer(psi_hat, psi_hat)
        q2 = alpha / beta * mu2 @ (t.w * R / D**2) + signal * c * zeta_hat**2
        factor = V2**2 / n
        left = np.eye(K) - (factor * c)[:, None] * beta * Q**2 * c
        Q2 = np.linalg.solve(left, factor * (q2 + c * np.diag(L.T @ q1 @ L)))
        return beta * V1 @ q1 @ V1 + L @ np.diag(c * Q2) @ L.T, Q2

    def power(Q1: np.ndarray, Q2: np.ndarray) -> np.ndarray:
        return np.einsum("sn,st,tn->n", mu1, Q1, mu1) + Q2 @ mu2

    # (Q1, Q2) are affine in themselves: build the matrix column by column
    size = K * K + K

    def step(x: np.ndarray, signal: float) -> np.ndarray:
        R = power(x[: K * K].reshape(K, K), x[K * K :]) + signal * base
        Q1, Q2 = norms(R, signal)
        return np.concatenate([Q1.ravel(), Q2])

    matrix = np.array([step(unit, 0.0) for unit in np.eye(size)]).T
    x = np.linalg.solve(np.eye(size) - matrix, step(np.zeros(size), 1.0))
    Q1, Q2 = x[: K * K].reshape(K, K), x[K * K :]
    R = base + power(Q1, Q2)
    return {
        "test_error": t.w @ R - noise**2,
        "train_error": t.w @ (R / D**2),
        "m": m,
        "zeta": zeta,
        "psi": psi,
        "q1": Q1,
        "q2": Q2,
        "V1": V1,
        "V2": V2,
    }


def _explained(functions: np.ndarray, f: np.ndarray, w: np.ndarray) -> float:
    """Squared Gaussian norm of the projection of f on the span of some functions."""
    root = np.sqrt(w)
    basis, values, _ = np.linalg.svd((functions * root).T, full_matrices=False)
    kept = basis[:, values > 1e-9 * values[0]]
    return float(((kept.T @ (root * f)) ** 2).sum())


def lower_bound(t: Tables) -> float:
    """E t2 - |P t0|² - |P t1|² over the spans of (μ0, κμ1) and of μ1: no ridge can do better."""
    both = np.concatenate([t.mu0, t.kappa * t.mu1])
    return float(t.w @ t.t[2]) - _explained(both, t.t[0], t.w) - _explained(t.mu1, t.t[1], t.w)

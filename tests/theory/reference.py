"""Result 3 for groups of neurons and the square loss, once more: plain code that shares nothing with the package.

Written to be obviously right rather than fast: dense composite Gauss-Legendre rules, and each equation as it stands on
paper. Nothing is merged, packed or differentiated: (V1, V2) by damped iteration and a root finder, the second order as
one linear system, built column by column. Rows of group s are on the sphere of squared radius c_s around a spike u_s v̂.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import root
from scipy.special import erf, ndtr

import giantstep as gs

from ..zoo import Case

_X, _W = np.polynomial.legendre.leggauss(20)
_END = 9.5  # the normal density is 1e-20 there


class Plain(NamedTuple):
    """A function and where it has kinks or jumps."""

    f: Callable[[np.ndarray], np.ndarray]
    kinks: tuple[float, ...] = ()


PLAIN = {
    "identity": Plain(lambda x: x),
    "tanh": Plain(np.tanh),
    "erf": Plain(erf),
    "sin": Plain(np.sin),
    "cos": Plain(np.cos),
    "softplus": Plain(lambda x: np.logaddexp(0.0, x)),
    "gelu": Plain(lambda x: x * ndtr(x)),
    "relu": Plain(lambda x: np.where(x > 0, x, 0.0), (0.0,)),
    "abs": Plain(np.abs, (0.0,)),
    "sign": Plain(np.sign, (0.0,)),
    "hard_tanh": Plain(lambda x: np.clip(x, -1.0, 1.0), (-1.0, 1.0)),
    "He2": Plain(lambda x: x**2 - 1.0),
    "He3": Plain(lambda x: x**3 - 3.0 * x),
}


def gauss(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over N(0, 1), by 20 Gauss-Legendre nodes between each two edges."""
    edges = np.unique(np.clip(np.concatenate([edges, [-_END, _END]]), -_END, _END))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    x = (middle[:, None] + half[:, None] * _X).ravel()
    return x, (half[:, None] * _W).ravel() * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def averages(function: Plain, shift: float, scale: float) -> tuple[float, float, float, float]:
    """E f, E[z f], E f², E[(z² - 1) f] for f(shift + scale·z)."""
    if scale == 0.0:
        value = float(function.f(np.array(shift)))
        return value, 0.0, value**2, 0.0
    step = min(1.0, 2.0 / scale)
    kinks = (np.array(function.kinks) - shift) / scale
    z, w = gauss(np.concatenate([np.arange(-_END, _END, step), kinks]))
    f = function.f(shift + scale * z)
    return float(w @ f), float(w @ (z * f)), float(w @ f**2), float(w @ ((z * z - 1.0) * f))


class Tables(NamedTuple):
    """Result 2 of K groups and the target's moments on a dense rule in κ."""

    kappa: np.ndarray
    w: np.ndarray
    mu0: np.ndarray  # [K, N]
    mu1: np.ndarray
    mu2sq: np.ndarray
    dmu0: np.ndarray  # ∂μ0/∂c
    t: np.ndarray  # t0, t1, t2: [3, N]


class Groups(NamedTuple):
    """Spike u, bias b, squared row norm c and fraction n of each group."""

    u: tuple[float, ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    n: tuple[float, ...]


def groups_of(model: gs.SpikedRF) -> Groups:
    letters, K = model.readout, len(model.readout.values)
    c = letters.c or (float(model.c),) * K
    return Groups(
        tuple(float(model.r) * value for value in letters.values), letters.biases or (0.0,) * K, c, letters.weights
    )


@lru_cache(maxsize=128)
def tabulate(activation: Plain, target: Plain, groups: Groups, gamma: float, coarsest: float = 0.5) -> Tables:
    rho = math.sqrt(max(0.0, 1.0 - gamma**2))
    steepest = max(abs(u) / math.sqrt(c) for u, c in zip(groups.u, groups.c, strict=True))
    edges = [np.arange(-_END, _END, min(coarsest, 1.5 / max(steepest, 1e-9)))]
    for kink in target.kinks if gamma else ():
        edges.append(kink / gamma + rho / gamma * np.array([-8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8]))
    kappa, w = gauss(np.concatenate(edges))
    rows = [
        [averages(activation, u * k + b, math.sqrt(c)) for k in kappa]
        for u, b, c in zip(groups.u, groups.b, groups.c, strict=True)
    ]
    mu0, first, square, second = np.moveaxis(np.array(rows), -1, 0)
    c = np.array(groups.c)[:, None]
    label = np.array([averages(target, gamma * k, rho)[:3] for k in kappa])
    return Tables(kappa, w, mu0, first / np.sqrt(c), square - mu0**2 - first**2, second / (2.0 * c), label.T)


def solve(
    groups: Groups, t: Tables, beta: float, alpha: float, lam: float, noise: float = 0.0, d: float = math.inf
) -> dict[str, np.ndarray]:
    """Every summary statistic, per group, and both errors."""
    n, c = np.array(groups.n), np.array(groups.c)
    K, ratio, mu1, mu2 = len(n), alpha / beta, t.mu1, t.mu2sq
    t0, t1, t2 = t.t

    def power(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        """What matrices of the μ1 and vectors of the μ2² make of the features at each κ."""
        return np.einsum("sn,st,tn->n", mu1, one, mu1) + two @ mu2

    def hats(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """α/β E[μ1 μ1ᵀ f] and α/β E[μ2² f]."""
        return ratio * (mu1 * (t.w * f)) @ mu1.T, ratio * mu2 @ (t.w * f)

    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[: K * K].reshape(K, K), x[K * K :]

    def update(x: np.ndarray) -> np.ndarray:
        hat1, hat2 = hats(1.0 / (1.0 + power(*split(x))))
        T = np.diag(beta * c * split(x)[1])
        answer = np.linalg.inv(np.eye(K) + hat1 @ T)
        return np.concatenate([(T @ answer / beta).ravel(), n / (lam + hat2 + c * np.diag(answer @ hat1))])

    x = np.concatenate([np.diag(n * c).ravel(), n]) / (1.0 + lam)
    for _ in range(500):
        x = 0.5 * (x + update(x))
    V1, V2 = split(x)
    size = np.concatenate([np.sqrt(np.outer(np.diag(V1), np.diag(V1))).ravel(), V2])
    V1, V2 = split(size * root(lambda y: update(size * y) / size - y, x / size, tol=1e-15).x)
    D = 1.0 + power(V1, V2)
    hat1, _ = hats(1.0 / D)

    psi_hat = alpha / math.sqrt(beta) * mu1 @ (t.w * t1 / D)
    psi = math.sqrt(beta) * V1 @ psi_hat
    g = np.concatenate([t.mu0, t.kappa * mu1])
    A = (g * (t.w / D)) @ g.T + np.diag(np.concatenate([1.0 / (alpha * d * V2), 1.0 / (alpha * c * V2)]))
    wobble = 2.0 / d * np.outer(c, c)  # covariance of c|x|²/d, which moves all the features' means together
    A[:K, :K] += wobble * ((t.dmu0 * (t.w / D)) @ t.dmu0.T)
    means = np.linalg.lstsq(A, g @ (t.w * t0 / D), rcond=1e-13)[0]
    m, zeta = means[:K], means[K:]
    zeta_hat, M = zeta / (math.sqrt(beta) * c * V2), means @ g
    base = t2 + noise**2 - 2.0 * M * t0 + M**2 - 2.0 * (psi @ mu1) * t1
    base += np.einsum("sn,st,tn->n", m[:, None] * t.dmu0, wobble, m[:, None] * t.dmu0)

    T = np.diag(beta * c * V2)
    L, Q = np.linalg.inv(np.eye(K) + T @ hat1), np.linalg.solve(np.eye(K) + hat1 @ T, hat1)
    factor = V2**2 / n

    def norms(x: np.ndarray, signal: float) -> np.ndarray:
        """(Q1, Q2) that these and, if `signal` is 1, the means imply: affine in themselves."""
        q1, q2 = hats((power(*split(x)) + signal * base) / D**2)
        q1 = q1 + signal * np.outer(psi_hat, psi_hat)
        q2 = q2 + signal * (c * zeta_hat**2 + m**2 / (beta * d * V2**2))
        left = np.eye(K) - (factor * c)[:, None] * beta * Q**2 * c
        Q2 = np.linalg.solve(left, factor * (q2 + c * np.diag(L.T @ q1 @ L)))
        return np.concatenate([(beta * V1 @ q1 @ V1 + L @ np.diag(c * Q2) @ L.T).ravel(), Q2])

    matrix = np.array([norms(unit, 0.0) for unit in np.eye(K * K + K)]).T
    Q1, Q2 = split(np.linalg.solve(np.eye(len(matrix)) - matrix, norms(0.0 * x, 1.0)))
    R = base + power(Q1, Q2)
    errors = {"test_error": t.w @ R - noise**2, "train_error": t.w @ (R / D**2)}
    return errors | {"m": m, "zeta": zeta, "psi": psi, "q1": Q1, "q2": Q2, "V1": V1, "V2": V2}


def table_of(case: Case, coarsest: float = 0.5) -> Tables:
    functions = (PLAIN[f.name] for f in (case.model.activation, case.label.function))
    return tabulate(*functions, groups_of(case.model), float(case.model.gamma), coarsest)


def solve_case(case: Case, lam: float | None = None) -> dict[str, np.ndarray]:
    """The reference's answers for a case, or with another penalty; numbers, where there is one group."""
    sizes = float(case.model.beta), case.alpha, case.lam if lam is None else lam
    noise, d = float(case.label.noise), case.options.get("d", math.inf)
    found = solve(groups_of(case.model), table_of(case), *sizes, noise, d)
    return {name: np.squeeze(value) for name, value in found.items()}

"""Result 3 for one group and the square loss, once more: plain code that shares nothing with the package.

Written to be obviously right rather than fast: dense composite Gauss-Legendre rules, the Marchenko-Pastur law
in closed form, Newton-free root finding, and each equation as it stands on paper. The first layer is
F = W + r 1 vᵀ/√d with rows of W on the sphere of squared radius c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import root
from scipy.special import erf, ndtr

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


class Tabulated(NamedTuple):
    """Result 2 and the target's moments on a dense rule in κ."""

    kappa: np.ndarray
    w: np.ndarray
    mu0: np.ndarray
    mu1: np.ndarray
    mu2sq: np.ndarray
    dmu0: np.ndarray  # ∂μ0/∂c
    t0: np.ndarray
    t1: np.ndarray
    t2: np.ndarray


@lru_cache(maxsize=128)
def tabulate(activation: Plain, target: Plain, c: float, r: float, gamma: float) -> Tabulated:
    rho = math.sqrt(max(0.0, 1.0 - gamma**2))
    step = min(0.5, 1.5 * math.sqrt(c) / max(abs(r), 1e-9))
    edges = [np.arange(-_END, _END, step)]
    for kink in target.kinks if gamma else ():
        edges.append(kink / gamma + rho / gamma * np.array([-8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8]))
    kappa, w = gauss(np.concatenate(edges))
    rows = np.array([averages(activation, r * k, math.sqrt(c)) for k in kappa])
    mu0, first, square, second = rows.T
    label = np.array([averages(target, gamma * k, rho) for k in kappa])
    mu2sq = square - mu0**2 - first**2
    return Tabulated(kappa, w, mu0, first / math.sqrt(c), mu2sq, second / (2.0 * c), *label.T[:3])


def marchenko_pastur(L: float, hat1: float, c: float, beta: float) -> float:
    """(1/p) tr (L + V̂1 WWᵀ)⁻¹: the positive root of c β V̂1 L V² + (L + c(1 - β)V̂1)V - 1 = 0."""
    a, b = c * beta * hat1 * L, L + c * (1.0 - beta) * hat1
    disc = math.sqrt(b * b + 4.0 * a)
    return 2.0 / (b + disc) if b > 0 else (disc - b) / (2.0 * a)


def solve(
    t: Tabulated, *, c: float, beta: float, alpha: float, lam: float, noise: float = 0.0, d: float = math.inf
) -> dict[str, float]:
    """Every summary statistic and both errors, from the table of coefficients."""
    ratio = alpha / beta

    def gain(V1: float, V2: float) -> np.ndarray:
        return 1.0 / (1.0 + t.mu1**2 * V1 + t.mu2sq * V2)

    def update(V1: float, V2: float) -> tuple[float, float]:
        D = gain(V1, V2)
        hat1, hat2 = ratio * (t.w @ (t.mu1**2 * D)), ratio * (t.w @ (t.mu2sq * D))
        V2 = marchenko_pastur(lam + hat2, hat1, c, beta)
        return c * V2 / (1.0 + beta * c * hat1 * V2), V2

    V = np.log([1.0 / (1.0 + lam)] * 2)
    for _ in range(200):
        V = 0.5 * V + 0.5 * np.log(update(*np.exp(V)))
    V = root(lambda x: np.log(update(*np.exp(x))) - x, V, tol=1e-15).x
    V1, V2 = np.exp(V)
    D = gain(V1, V2)
    hat1, hat2 = ratio * (t.w @ (t.mu1**2 * D)), ratio * (t.w @ (t.mu2sq * D))

    psi_hat = alpha / math.sqrt(beta) * (t.w @ (t.mu1 * t.t1 * D))
    psi = math.sqrt(beta) * V1 * psi_hat
    g = [t.mu0, t.kappa * t.mu1]
    A = np.array([[t.w @ (a * b * D) for b in g] for a in g])
    b = np.array([t.w @ (a * t.t0 * D) for a in g])
    wobble = 2.0 * c**2 / d  # variance of c|x|²/d, which moves all the features' means together
    A[0, 0] += wobble * (t.w @ (t.dmu0**2 * D))
    if A[0, 0] < 1e-28:  # μ0 = 0: nothing to fit along the all-ones direction
        m, zeta = 0.0, b[1] / (A[1, 1] + 1.0 / (alpha * c * V2))
    else:
        stiffness = [0.0 if math.isinf(d) else 1.0 / (alpha * d * V2), 1.0 / (alpha * c * V2)]
        m, zeta = np.linalg.solve(A + np.diag(stiffness), b)
    zeta_hat = zeta / (math.sqrt(beta) * c * V2)

    L, k = lam + hat2, 1.0 + beta * c * hat1 * V2
    slope = 2.0 * c * beta * L * hat1 * V2 + L + c * (1.0 - beta) * hat1
    J0 = (c * beta * hat1 * V2**2 + V2) / slope
    J1 = (c * beta * L * V2**2 + c * (1.0 - beta) * V2) / slope
    J2 = (c * J1 + beta * c**2 * V2**2) / k**2
    M = t.mu0 * m + t.kappa * t.mu1 * zeta
    base = t.t2 + noise**2 - 2.0 * M * t.t0 + M**2 - 2.0 * t.mu1 * psi * t.t1 + wobble * (m * t.dmu0) ** 2
    sources = [t.mu1**2, t.mu2sq]
    hats = np.array([[ratio * (t.w @ (s * x * D**2)) for x in sources] for s in sources])
    fixed = np.array([ratio * (t.w @ (s * base * D**2)) for s in sources])
    fixed[1] += c * zeta_hat**2 + (0.0 if math.isinf(d) else m**2 / (beta * d * V2**2))
    fixed[0] += psi_hat**2
    J = np.array([[J2, J1], [J1, J0]])
    q1, q2 = np.linalg.solve(np.eye(2) - J @ hats, J @ fixed)
    R = base + t.mu1**2 * q1 + t.mu2sq * q2
    return {
        "test_error": t.w @ R - noise**2,
        "train_error": t.w @ (R * D**2),
        "m": m,
        "zeta": zeta,
        "psi": psi,
        "q1": q1,
        "q2": q2,
        "V1": V1,
        "V2": V2,
    }


def table_of(case: Case) -> Tabulated:
    """Of a case with one group."""
    model, functions = case.model, (case.model.activation, case.label.function)
    return tabulate(*(PLAIN[f.name] for f in functions), float(model.c), float(model.r), float(model.gamma))


def solve_case(case: Case, lam: float | None = None) -> dict[str, float]:
    """The reference's answers for a case, or with another penalty."""
    model, lam = case.model, case.lam if lam is None else lam
    sizes = {"c": float(model.c), "beta": float(model.beta), "alpha": case.alpha, "lam": lam}
    return solve(table_of(case), **sizes, noise=float(case.label.noise), d=case.options.get("d", math.inf))

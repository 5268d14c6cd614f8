"""Eigenvalues outside the bulk: zeros of a secular equation in a few modes.

Given κ the features have the mean Σ_j f_j(κ) e_j with modes e = 1_s, W_s v (and δ_s, b_s, where row norms
or biases fluctuate) that stand out of the bulk. With A = (α/β) E[f fᵀ/D] and G the bulk resolvent's form on the modes,
x is an outlier where det(1 + GA) = 0. The all-ones modes have G = βd V2: as d → ∞ they either carry an
eigenvalue of order d, the spike, or drop out of the equation for the others.
"""

from __future__ import annotations

import numpy as np

from ...theory.modes import mean_functions
from .equations import SpectralEquations
from .halfplane import HalfPlaneSolver
from .support import locate

TRIED = 240  # points per gap on which the secular equation is evaluated
FARTHEST = 1e3  # times the upper edge
CLOSE = 1e-6  # relative distance from an edge at which outliers begin, and of eigenvalues that are the same
_ABSENT = 1e-20  # E μ0² over E σ² under which the features have no mean
_ZERO = 1e-3  # of the determinant around a change of sign: smaller values there are a zero, larger ones a pole
_ROUNDS, _SETTLED = 60, 1e-10  # of the iteration for a spike, and its relative change at the end


def outliers(
    equations: SpectralEquations, solver: HalfPlaneSolver, intervals: np.ndarray, d: float, large: np.ndarray
) -> np.ndarray:
    """Every eigenvalue of order one outside the support, also inside its gaps, in increasing order.

    The spikes, `large`, solve the equation at finite d too, and are reported apart.
    """
    if not len(intervals):
        return np.empty(0)
    ends = [[intervals[0, 0] / FARTHEST], intervals.reshape(-1), [intervals[-1, 1] * FARTHEST]]
    gaps, found = np.concatenate(ends).reshape(-1, 2), []
    inner = 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, TRIED + 2)[1:-1]))  # denser towards both ends
    for low, high in gaps:
        x = low + (high - low) * inner
        if high == gaps[-1, 1]:
            x = low * (1.0 + np.geomspace(CLOSE, FARTHEST - 1.0, TRIED))
        values = _secular(equations, solver, x, d)
        j = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
        if not len(j):
            continue
        roots = locate(lambda x: _secular(equations, solver, x, d) > 0.0, x[j], x[j + 1], values[j] > 0.0)
        size = np.maximum(np.abs(values[j]), np.abs(values[j + 1]))
        found.append(roots[np.abs(_secular(equations, solver, roots, d)) < _ZERO * size])
    roots = np.sort(np.concatenate([np.empty(0), *found]))
    return roots[~np.isclose(roots[:, None], large, rtol=CLOSE, atol=0.0).any(axis=1)]


def spikes_per_d(equations: SpectralEquations) -> np.ndarray:
    """Eigenvalues of order d, divided by it, as d → ∞: those of α √n E[μ0 μ0ᵀ] √n, largest first."""
    features = equations.features
    w, mu0 = features.weights[0], features.mu0[0]
    root = np.sqrt(equations.bulk.weights)
    mean = (mu0 * w) @ mu0.T
    size = float(np.trace(mean) + ((features.mu1[0] ** 2 + features.mu2sq[0]) @ w).sum())
    values = np.linalg.eigvalsh(root[:, None] * mean * root)[::-1]
    return equations.alpha * np.where(values > _ABSENT * size, values, 0.0)


def spikes(equations: SpectralEquations, solver: HalfPlaneSolver, intervals: np.ndarray, d: float) -> np.ndarray:
    """Eigenvalues of order d with their corrections of order one; NaN for one that the bulk has swallowed.

    At a zero of det(1 + GA) in the all-ones modes, x is an eigenvalue of βd S A_eff S, S² = -x V2 → n, where
    A_eff is what is left of A once the other modes have answered: a fixed point that hardly moves.
    """
    found = d * spikes_per_d(equations)
    for k in range(len(found)):
        for _ in range(_ROUNDS):
            x = found[k]
            if not x > intervals[-1, 1]:
                found[k] = np.nan
                break
            V, _ = solver.near_axis(np.array([x]))
            S = np.sqrt(np.maximum(-x * equations.pack.vector(equations.unpack(V)[0])[0].real, 0.0))
            matrix = equations.beta * d * S[:, None] * _effective(equations, V, x) * S
            found[k] = np.linalg.eigvalsh(matrix)[::-1][k]
            if abs(found[k] - x) <= _SETTLED * abs(found[k]):
                break
    return found


def _effective(equations: SpectralEquations, V: np.ndarray, x: float) -> np.ndarray:
    """A of the all-ones modes once the others have answered, [K, K]."""
    A, G = (np.real(forms[0]) for forms in mode_forms(equations, V, np.array([-x])))
    K = equations.pack.groups
    answer = np.linalg.solve(np.eye(len(G)) + G @ _without_own(A, K, equations, V), G)
    return A[:K, :K] - A[:K, K:] @ answer @ A[K:, :K]


def _without_own(A: np.ndarray, K: int, equations: SpectralEquations, V: np.ndarray) -> np.ndarray:
    """A of the modes other than 1_s, less the part of W_s v that the bulk's resolvent already contains."""
    rest = A[..., K:, K:].copy()
    hat1 = np.real(equations.pack.matrix(equations.conjugates(equations.unpack(V)[0]).value))
    rest[..., :K, :K] -= hat1.reshape(rest[..., :K, :K].shape)
    return rest


def _secular(equations: SpectralEquations, solver: HalfPlaneSolver, x: np.ndarray, d: float) -> np.ndarray:
    """The secular determinant at x outside the support, the all-ones modes eliminated."""
    V, _ = solver.near_axis(x)
    A, G = map(np.real, mode_forms(equations, V, -x))
    K = equations.pack.groups
    A00, A0c = A[:, :K, :K], A[:, :K, K:]
    if np.isfinite(d):
        V2 = np.real(equations.pack.vector(equations.unpack(V)[0]))
        A00 = A00 + np.eye(K) / (equations.beta * d * V2)[:, None, :]
    soft = np.linalg.pinv(A00, rcond=1e-12, hermitian=True)
    if not spikes_per_d(equations).any():
        soft = np.zeros_like(soft)
    rest = _without_own(A, K, equations, V) - np.swapaxes(A0c, -1, -2) @ soft @ A0c
    return np.linalg.det(np.eye(rest.shape[-1]) + G @ rest)


def mode_forms(equations: SpectralEquations, V: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A over all mean modes, and G over all but the all-ones ones; real outside the support, for real z."""
    features, bulk = equations.features, equations.bulk
    K = equations.pack.groups
    f = mean_functions(features, bulk.modes)[0]
    pairs = (f[:, None] * f[None] * features.weights[0]).reshape(-1, f.shape[-1])
    own, _ = equations.unpack(V)
    gain = 1.0 / equations.D(own)
    A = equations.alpha / equations.beta * (gain @ pairs.T).reshape(-1, len(f), len(f))
    response = equations.respond(V, equations.conjugates(own).value, z)
    root = response.root[0]
    forms = response.resolvent.forms()[0] * root[:, None, :, None, None] * root[:, None, None, None, :]
    mean = bulk.modes.mean
    G = forms[:, mean][:, :, :, mean].reshape(len(z), len(mean) * K, -1)
    return A, G

"""The test error without test samples: the exact average over x ~ N(0, I_d), given the trained network.

The error e(x) = Σ_i a_i σ_i(x) is a sum of ridge functions: the neurons σ(F_i·x + b_i) with weights a_i/√p, and
the target σ*(θ·x) with weight -1. Split x = κ v + x⊥ along the spike. At fixed κ, neuron i sees a Gaussian
field of mean φ_i κ + b_i (φ_i = F_i·v) and standard deviation s_i, and two neurons' fields have correlation
ρ_ij, small because the common direction v is out. Expand each in Hermite polynomials (Mehler's formula):

    E[σ_i σ_j] = Σ_k ρ_ij^k E_κ[S_k,i(κ) S_k,j(κ)],    S_k,i(κ) = E_z[σ(φ_i κ + b_i + s_i z) he_k(z)],

he_k orthonormal. The series is cut at the k where its rest, at most Σ_ij b_i b_j |ρ_ij|^k with b_i = |a_i| √E σ_i²,
falls below `TOLERANCE` times E σ*²; pairs i = i are exact. The result has no sampling noise, for the price of a
few passes over a p×p matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import gaussian
from ..functions import Function
from .backend import Backend
from .gradient_step import Weights
from .hermite import hermite_moments

Coefficients = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""From kappa [nodes] to mu0, mu1, mu2 of Result 2, each [letters, nodes]."""

TOLERANCE = 1e-9
"""Bound on what the cut series leaves out of a test error, relative to the target's mean square."""

MOST_TERMS = 80
"""Beyond this many Hermite terms (rows nearly parallel: d of a few dozen) test samples are cheaper."""

_KAPPA_REACH = 8.5  # κ² times the normal density is 6e-15 there


def network_error(layer: Weights, target: Function, readouts: Any) -> np.ndarray | None:
    """E (σ*(θ·x) - a·σ(Fx + b)/√p)² for each column a of `readouts`, for a target σ* of one direction.

    None where the series is so long that samples are cheaper.
    """
    backend, theta, v, p = layer.backend, layer.theta[0], layer.v[0], layer.rows.shape[0]
    rows = backend.xp.concat([layer.rows, theta[None, :]], axis=0)
    functions = [*((group, layer.activation) for group in layer.groups), (slice(p, None), target)]
    norms = np.append(np.sqrt(backend.numpy(backend.xp.vecdot(layer.rows, layer.rows))), 1.0)
    biases = np.append(np.zeros(p) if layer.biases is None else backend.numpy(layer.biases), 0.0)
    along = np.append(backend.numpy(backend.matmul(layer.rows, v)), float(theta @ v))
    across = np.sqrt(np.maximum(norms**2 - along**2, 0.0))
    squares = np.concatenate([gaussian.moments(f, biases[g], norms[g])[0].square for g, f in functions])
    weights = np.vstack([backend.numpy(readouts) / math.sqrt(p), -np.ones(readouts.shape[1])])
    gram = backend.add_gram(backend.zeros(p + 1, p + 1), rows.T)
    sizes = np.abs(weights).max(axis=1) * np.sqrt(squares)
    terms = _terms_needed(gram, along, across, sizes, TOLERANCE * float(squares[-1]), backend)
    if terms > MOST_TERMS:
        return None
    kappa, kappa_weights = _kappa_rule(along, across, target)
    moments = [hermite_moments(f, along[g], biases[g], across[g], kappa, terms) for g, f in functions]
    factors = backend.asarray(np.concatenate(moments, axis=1) * np.sqrt(kappa_weights))  # [terms, rows, kappa]
    return (weights**2).T @ squares + 2 * _pair_sums(gram, along, across, factors, weights, backend)


def gaussian_error(
    layer: Weights, coefficients: Coefficients, target: Function, statistics: dict[str, np.ndarray]
) -> np.ndarray:
    """E (σ*(θ·x) - a·φ/√p)² for Gaussian features: given κ all is Gaussian, and the statistics settle it.

    With M = μ0·m + κ μ1·zeta and the target's moments t0, t1, t2 at fixed κ, it is the average over κ of
    t2 - 2 M t0 + M² - 2 (μ1·psi) t1 + μ1ᵀ q1 μ1 + Σ_s μ2_s² q2_s.
    """
    gamma = float(layer.v[0] @ layer.theta[0])
    along, across = (np.array([*layer.spike[0], gamma]), np.array([*layer.radii, math.sqrt(max(1 - gamma**2, 0.0))]))
    kappa, weights = _kappa_rule(along, across, target)
    mu0, mu1, mu2 = coefficients(kappa)  # [letters, kappa]
    t, _ = gaussian.moments(target, gamma * kappa, across[-1])
    letters = len(mu0)
    m, zeta, psi, q2 = (statistics[name].reshape(letters, -1) for name in ("m", "zeta", "psi", "q2"))
    q1 = statistics["q1"].reshape(letters, letters, -1)
    mean = mu0.T @ m + kappa[:, None] * (mu1.T @ zeta)  # [kappa, columns]
    bulk = np.einsum("sk,stc,tk->kc", mu1, q1, mu1) + (mu2**2).T @ q2
    square = mean**2 - 2 * mean * t.mean[:, None] - 2 * (mu1.T @ psi) * t.first[:, None] + bulk
    return weights @ (square + t.square[:, None])


def _correlations(gram: Any, along: np.ndarray, across: np.ndarray, backend: Backend) -> Iterator[tuple[int, int, Any]]:
    """ρ_ij in panels, each for columns start to stop and rows from `start` on.

    A row that lies along v (the target at gamma = 1) correlates with nothing.
    """
    tiny, size = 1e-7 * max(float(across.max()), 1e-300), len(along)
    scales = np.where(across > tiny, 1 / np.maximum(across, tiny), 0.0)
    shift, inverse = backend.asarray(along), backend.asarray(scales)
    for start in range(0, size, backend.panel_columns):
        stop = min(start + backend.panel_columns, size)
        panel = gram[start:, start:stop] - shift[start:, None] * shift[None, start:stop]
        panel *= inverse[start:, None]
        panel *= inverse[None, start:stop]
        yield start, stop, panel


def _below_diagonal(panel: Any, backend: Backend) -> Any:
    """The panel with zeros on and above the matrix's diagonal, where each pair would be counted again."""
    columns = panel.shape[1]
    panel[:columns, :] = backend.xp.tril(panel[:columns, :], k=-1)
    return panel


def _terms_needed(
    gram: Any, along: np.ndarray, across: np.ndarray, sizes: np.ndarray, allowed: float, backend: Backend
) -> int:
    """The first k with Σ_ij b_i b_j |ρ_ij|^k ≤ allowed.

    The sums are taken at k = 4 and 8 and bounded beyond: their logarithms are convex in k up to there, and
    further on each step gains at least the largest |ρ_ij|.
    """
    b, sums, largest = backend.asarray(sizes), np.zeros(2), 0.0
    for start, stop, rho in _correlations(gram, along, across, backend):
        square = _below_diagonal(rho, backend) ** 2
        largest = max(largest, float(backend.xp.max(square)) ** 0.5)
        images = (backend.matmul(power, b[start:stop]) for power in (square**2, square**4))
        sums += [2 * float(backend.matmul(b[start:], image)) for image in images]
    fourth, eighth = sums
    if eighth <= allowed:
        return 8 if fourth > allowed else 4
    gain = -math.log(largest) if largest < 1 else 0.0
    return 8 + math.ceil(min(math.log(eighth / allowed) / max(gain, 1e-300), MOST_TERMS))


def _pair_sums(
    gram: Any, along: np.ndarray, across: np.ndarray, factors: Any, weights: np.ndarray, backend: Backend
) -> np.ndarray:
    """Σ_{i>j} a_i a_j Σ_k ρ_ij^k Σ_κ C_k,iκ C_k,jκ, for every column a of `weights`; `factors` are C."""
    a, total = backend.asarray(weights), np.zeros(weights.shape[1])
    for start, stop, rho in _correlations(gram, along, across, backend):
        kernel = backend.xp.zeros_like(rho)
        for k in reversed(range(factors.shape[0])):  # Horner's rule
            kernel *= rho
            kernel += backend.matmul(factors[k, start:, :], factors[k, start:stop, :].T)
        _below_diagonal(kernel, backend)
        image = backend.matmul(kernel, a[start:stop, :])
        total += backend.numpy(backend.xp.sum(a[start:, :] * image, axis=0))
    return total


def _kappa_rule(along: np.ndarray, across: np.ndarray, target: Function) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for E over κ ~ N(0, 1) that resolve every neuron and the target, on |κ| ≤ 8.5.

    As a function of κ a neuron is smoothed on the scale w = s_i/φ_i, so the spectrum of a product of two neurons
    and the Gaussian falls as exp(-k²w²/(2(2 + w²))): the trapezoidal rule whose step puts that at e^-30 is exact.
    The target, the last row, may vary faster: the rule is refined until it resolves the target's square, and the line
    is cut at its kinks where it lies so much along v that they stay sharp.
    """
    scale = min(1.5, float((across[:-1] / np.maximum(np.abs(along[:-1]), 1e-300)).min()))
    step = 2 * math.pi * scale / math.sqrt(60 * (2 + scale**2))
    points = gaussian.quarterable(2 * _KAPPA_REACH / step)
    cut = bool(target.breakpoints) and across[-1] < 0.3 * abs(along[-1])
    least = gaussian.along_gaussian(target, abs(float(along[-1])), float(across[-1]), cut, _KAPPA_REACH)
    points = max(points, gaussian.quarterable((1 + cut) * least))  # half of them in each piece
    cuts = np.asarray(target.breakpoints) / (along[-1] or 1.0)
    while True:
        if cut:
            nodes, weights = gaussian.piecewise_rule(cuts, max(32, gaussian.quarterable(points / 2)), _KAPPA_REACH)
        else:
            nodes, weights = gaussian.line_rule(points, _KAPPA_REACH)
        if _resolved(target, along[-1] * nodes, across[-1], weights) or points > 2000:
            return nodes.ravel(), weights[0].ravel()
        points *= 2


def _resolved(target: Function, shifts: np.ndarray, scale: float, weights: Sequence[np.ndarray]) -> bool:
    """Whether the nested rules agree on E[t0(κ)²], t0 the target averaged at fixed κ, as far as the error needs it."""
    averages = gaussian.moments(target, shifts, scale)[0]
    # t0 vanishes where an odd target does not look along v: the target's own power is the yardstick
    square = averages.mean**2
    fine, half, quarter = (
        (square[..., gaussian.nested(stride)] * w).sum() for stride, w in zip((1, 2, 4), weights, strict=True)
    )
    error = gaussian.extrapolated_error(abs(fine - half), abs(half - quarter))
    return bool(error <= 1e-3 * TOLERANCE * (averages.square * weights[0]).sum())

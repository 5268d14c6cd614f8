"""What the gradient step imprints on the rows: the exact bulk of a trained network.

The derivative is split as σ'(h) = h1 + h2 h + N(h). Of the step along a row w, h1 makes the spike, h2 a matrix
that multiplies the row (M), and N a random part with covariance gA. The same three parts decide how the
squared norm of a row fluctuates, |w|² = c + δ, and how δ is correlated with the row itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import ParameterError
from ...gaussian import expectation
from ..bulk import Exact, Spectral
from ..labels import binary_law
from .batch import Batch, label_batch, residuals, stacked, unused_batch
from .mapping import Step, activation_moments

if TYPE_CHECKING:
    from ...functions import Function

POINTS = 256  # nodes over the first batch
_ALIGNED = 1e-14  # 1 - γ² under which the target has no component across the spike


class RemainderMoments(NamedTuple):
    """Averages of N(h) = σ'(h) - h1 - h2 h over a standard normal h."""

    n2: float  # E N²
    n3: float
    n4: float
    b2: float  # E N h²
    b3: float  # E N h³
    n21: float  # E N² h
    n22: float  # E N² h²
    n31: float  # E N³ h


@lru_cache(maxsize=256)
def remainder_moments(f: Function) -> RemainderMoments:
    """Moments of what is left of σ' beyond its linear part."""
    sigma, slope = activation_moments(f), f.derivative

    def integrand(h: np.ndarray) -> np.ndarray:
        N = slope(h) - sigma.h1 - sigma.h2 * h
        return np.stack([N**2, N**3, N**4, N * h**2, N * h**3, N**2 * h, N**2 * h**2, N**3 * h])

    values = expectation(integrand, f.breakpoints)
    if f.parity == "odd":  # N is even: exact zeros instead of rounding errors
        values[[4, 5, 7]] = 0.0
    return RemainderMoments(*map(float, values))


def exact_bulk(
    step: Step,
    gamma: np.ndarray,
    *,
    eta: np.ndarray,
    alpha0: np.ndarray,
    beta: np.ndarray,
    noise: np.ndarray,
    points: int = POINTS,
) -> tuple[Exact, Exact, Exact]:
    """The exact bulks of networks with parameters [U], on three nested rules over the first batch, finest first."""
    values, weights = np.asarray(step.letters.values), np.asarray(step.letters.weights)
    stepped = (eta > 0) & (alpha0 > 0)
    per_sample = np.where(stepped, 1.0 / np.where(alpha0 > 0, alpha0, 1.0), 1.0)
    k = np.where(stepped, eta / beta, 0.0)[:, None] * values
    laws = {
        float(x): residuals(label_batch(step.target, float(x), points), step.loss, step.output)
        for x in np.unique(noise)
    }
    idle = unused_batch(points)

    def bulk(rule: int) -> Exact:
        chosen = [laws[float(level)] if on else idle for level, on in zip(noise, stepped, strict=True)]
        batch = stacked([law[rule] for law in chosen])
        return _exact(step.activation, weights, batch, per_sample, k, gamma)

    return bulk(0), bulk(1), bulk(2)


class _Rows(NamedTuple):
    """How the step moves rows of each letter: coefficients [U, K], and the norm's functions of e [U, K, n].

    C_s = M_s² + g_s A with M_s = 1 + b_s B; δ_s correlates with the row through X0ᵀf_a/n0 + M_s X0ᵀf_b/n0, and
    has the variance `direct` besides what f_b carries.
    """

    b: np.ndarray
    g: np.ndarray
    fa: np.ndarray
    fb: np.ndarray
    direct: np.ndarray


def _rows(activation: Function, batch: Batch, per_sample: np.ndarray, k: np.ndarray) -> _Rows:
    N = remainder_moments(activation)
    h2 = 0.0 if activation.parity == "odd" else activation_moments(activation).h2
    a = per_sample[:, None]  # 1/α0
    e = batch.e[:, None]  # [U, 1, n]
    E = batch.mean
    mean, square, cube, fourth = (E(batch.e**power)[:, None] for power in (1, 2, 3, 4))
    shrink = 1.0 + k * h2 * mean  # m̄
    row = shrink[..., None] + (a * k * h2)[..., None] * e  # m(e)
    excess = row**2 - shrink[..., None] ** 2
    k_, a_ = k[..., None], a[..., None]
    fb = 2.0 * k_ * N.b2 * e * row + k_**2 * a_ * N.n21 * e**2
    fa = k_ * N.b2 * e * excess + 2.0 * k_**2 * a_ * N.n21 * e**2 * row + k_**3 * a_**2 * N.n3 * e**3
    nu = k**2 * h2**2 * square * a
    fourth_trace = (k * h2) ** 4 * fourth * a**3 + 4.0 * (k * h2) ** 3 * cube * a**2 * shrink
    fourth_trace = fourth_trace + 2.0 * nu**2 + 6.0 * nu * shrink**2 + shrink**4  # (1/d) tr M⁴
    direct = (
        2.0 * (fourth_trace - (shrink**2 + nu) ** 2)
        + 4.0 * k**2 * a * (E(e**2 * row**2) * (N.n22 - N.b2**2) + square * N.n2 * nu)
        + k**4 * a**3 * fourth * (N.n4 - N.n2**2 - N.n21**2)
        + 2.0 * k**4 * a**2 * N.n2**2 * square**2
        + 4.0 * k * N.b3 * E(e * row * excess)
        + 2.0 * k**2 * a * (N.n22 - N.n2) * E(e**2 * excess)
        + 4.0 * k**3 * a**2 * E(e**3 * row) * (N.n31 - N.b2 * N.n21)
    )
    return _Rows(k * h2, k**2 * N.n2 * a, fa, fb, direct)


def _exact(
    activation: Function,
    weights: np.ndarray,
    batch: Batch,
    per_sample: np.ndarray,
    k: np.ndarray,
    gamma: np.ndarray,
) -> Exact:
    rows = _rows(activation, batch, per_sample, k)
    U, K, n = len(k), len(weights), batch.e.shape[-1]
    simple = activation.parity == "odd"
    rank = K if simple else 2 * K
    sources, along = np.zeros((U, rank + K, 3 * K, n)), np.zeros((U, rank + K, 3 * K))
    s = np.arange(K)
    length = np.sqrt(batch.mean(batch.e**2) * per_sample + batch.mean(batch.e, 1) ** 2)  # |v̌|
    length = np.where(length > 0.0, length, np.inf)  # no gradient, no spike: its mode is never driven
    across = np.maximum(0.0, 1.0 - gamma**2)
    rho = np.sqrt(np.where(across > _ALIGNED, across, np.inf))  # nor is ê's when γ = ±1
    sources[:, rank + s, s] = -(batch.e / length[:, None])[:, None]
    sources[:, rank + s, K + s] = (gamma / (rho * length))[:, None, None] * batch.e[:, None]
    along[:, rank + s, K + s] = -1.0 / rho[:, None]
    direct = rows.direct
    if simple:  # M = 1: eliminate the pencil's middle block; f_b joins f_a, and its norm joins the variance
        sources[:, s, 2 * K + s] = rows.fa + rows.fb
        direct = direct + _squared_norm(batch, per_sample, rows.fb)
    else:
        sources[:, s, 2 * K + s] = rows.fa
        sources[:, K + s, 2 * K + s] = rows.fb
    m = np.ones((U, K))
    return Exact(weights, batch, per_sample, m, rows.b, rows.g, sources, along, direct)


def _squared_norm(batch: Batch, per_sample: np.ndarray, f: np.ndarray) -> np.ndarray:
    """|X0ᵀf/n0|² for f [U, K, n]."""
    return per_sample[:, None] * batch.mean(f**2) + batch.mean(f, 1) ** 2


def sampled_bulk(
    step: Step,
    *,
    eta: np.ndarray,
    alpha0: np.ndarray,
    beta: np.ndarray,
    noise: np.ndarray,
    d: int,
    seed: int,
) -> Spectral:
    """The same networks' bulk with the first batch drawn at finite d and its covariance diagonalised."""
    if len(step.letters.values) > 1 and step.activation.parity != "odd":
        raise ParameterError(
            "bulk = 'sampled' needs row covariances with common eigenvectors: one letter, or an odd activation"
        )
    one = [_sampled(step, *setting, d=d, seed=seed) for setting in zip(eta, alpha0, beta, noise, strict=True)]
    parts = (np.stack(values) for values in zip(*one, strict=True))
    return Spectral(np.asarray(step.letters.weights), *parts)


def _sampled(
    step: Step,
    eta: float,
    alpha0: float,
    beta: float,
    noise: float,
    d: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues [K, d], mode vectors [3, K, d] in the eigenbasis, and leftover norm variance [K]."""
    stepped = eta > 0 and alpha0 > 0
    rng = np.random.default_rng([seed, d])
    n0 = max(1, round(alpha0 * d)) if stepped else d
    X = rng.standard_normal((n0, d))  # the target is along the first axis, without loss of generality
    z = X[:, 0]
    law = binary_law(step.target)
    if law is None:
        labels = step.target.function(z) + noise * rng.standard_normal(n0)
    else:
        labels = np.where(rng.random(n0) < law.chance(z, np.zeros(n0))[0], 1.0, -1.0)
    e = -np.asarray(step.loss.derivative(labels, np.full(n0, step.output)))
    k = (eta / beta if stepped else 0.0) * np.asarray(step.letters.values)
    per_sample = np.array([d / n0])
    drawn = Batch(e[None], np.stack([np.ones(n0), z, z * z])[None] / n0)
    odd = step.activation.parity == "odd"
    rows = _rows(step.activation, drawn, per_sample, k[None])
    A, B = (X.T * e**2) @ X / n0, (X.T * e) @ X / n0
    M = np.eye(d) + rows.b[0, 0] * B
    base, basis = np.linalg.eigh(A if odd else M @ M + rows.g[0, 0] * A)
    C = 1.0 + rows.g[0][:, None] * base if odd else base[None]
    v = X.T @ e
    v /= np.linalg.norm(v) or 1.0
    across = np.eye(d)[0] - v[0] * v
    across /= np.linalg.norm(across) or 1.0
    pull = X.T @ rows.fa[0].T / n0 + M @ (X.T @ rows.fb[0].T / n0)  # dE[δ w], [d, K]
    K = len(k)
    vectors = np.stack([np.repeat(v[:, None], K, 1), np.repeat(across[:, None], K, 1), pull], axis=0)
    y = np.einsum("ij,mik->mkj", basis, vectors)
    y[2] /= C
    total = rows.direct[0] + _squared_norm(drawn, per_sample, rows.fb)[0]
    return C, y, np.maximum(0.0, total - (y[2] ** 2 * C).sum(axis=-1))

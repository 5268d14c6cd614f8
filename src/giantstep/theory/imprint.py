"""What the gradient step imprints on the rows: the exact bulk of a trained network.

The derivative is split as σ'(h) = h1 + h2 h + N(h). Of the step along a row w, h1 makes the spike, h2 a matrix
that multiplies the row (M), and N a random part with covariance gA. The same three parts decide how the
squared norm of a row fluctuates, |w|² = c + δ, and how δ is correlated with the row itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..gaussian import expectation
from .batch import Batch, first_batch, stacked, unused_batch
from .bulk.exact import Exact
from .mapping import activation_moments, initial_output

if TYPE_CHECKING:
    from ..functions import Function
    from ..model import Letters, Target

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
    activation: Function,
    letters: Letters,
    target: Target,
    gamma: np.ndarray,
    *,
    eta: np.ndarray,
    alpha0: np.ndarray,
    beta: np.ndarray,
    noise: np.ndarray,
    points: int = POINTS,
) -> tuple[Exact, Exact, Exact]:
    """The exact bulks of networks with parameters [U], on three nested rules over the first batch, finest first."""
    values, weights = np.asarray(letters.values), np.asarray(letters.weights)
    f0 = initial_output(activation, letters)
    stepped = (eta > 0) & (alpha0 > 0)
    per_sample = np.where(stepped, 1.0 / np.where(alpha0 > 0, alpha0, 1.0), 1.0)
    k = np.where(stepped, eta / beta, 0.0)[:, None] * values
    laws = {
        float(level): first_batch(target.function, float(level), f0, points) for level in np.unique(noise)
    }
    idle = unused_batch(points)

    def bulk(rule: int) -> Exact:
        chosen = [laws[float(level)] if on else idle for level, on in zip(noise, stepped, strict=True)]
        batch = stacked([law[rule] for law in chosen])
        return _exact(activation, weights, batch, per_sample, k, gamma)

    return bulk(0), bulk(1), bulk(2)


def _exact(
    activation: Function,
    weights: np.ndarray,
    batch: Batch,
    per_sample: np.ndarray,
    k: np.ndarray,
    gamma: np.ndarray,
) -> Exact:
    N = remainder_moments(activation)
    h2 = 0.0 if activation.parity == "odd" else activation_moments(activation).h2
    a = per_sample[:, None]  # 1/α0
    e = batch.e[:, None]  # [U, 1, n]
    mean, square = batch.mean(batch.e)[:, None], batch.mean(batch.e**2)[:, None]
    cube, fourth = batch.mean(batch.e**3)[:, None], batch.mean(batch.e**4)[:, None]
    shrink = 1.0 + k * h2 * mean  # m̄
    row = shrink[..., None] + (a * k * h2)[..., None] * e  # m(e)
    k_, a_ = k[..., None], a[..., None]
    excess = row**2 - shrink[..., None] ** 2
    fb = 2.0 * k_ * N.b2 * e * row + k_**2 * a_ * N.n21 * e**2
    fa = k_ * N.b2 * e * excess + 2.0 * k_**2 * a_ * N.n21 * e**2 * row + k_**3 * a_**2 * N.n3 * e**3

    # variance of the row norms beyond what f_b carries
    nu = k**2 * h2**2 * square * a
    fourth_trace = (k * h2) ** 4 * fourth * a**3 + 4.0 * (k * h2) ** 3 * cube * a**2 * shrink
    fourth_trace = fourth_trace + 2.0 * nu**2 + 6.0 * nu * shrink**2 + shrink**4
    E = batch.mean
    direct = (
        2.0 * (fourth_trace - (shrink**2 + nu) ** 2)
        + 4.0 * k**2 * a * (E(e**2 * row**2) * (N.n22 - N.b2**2) + square * N.n2 * nu)
        + k**4 * a**3 * fourth * (N.n4 - N.n2**2 - N.n21**2)
        + 2.0 * k**4 * a**2 * N.n2**2 * square**2
        + 4.0 * k * N.b3 * E(e * row * excess)
        + 2.0 * k**2 * a * (N.n22 - N.n2) * E(e**2 * excess)
        + 4.0 * k**3 * a**2 * E(e**3 * row) * (N.n31 - N.b2 * N.n21)
    )
    U, K, n = len(k), len(weights), batch.e.shape[-1]
    simple = h2 == 0.0
    rank = K if simple else 2 * K
    sources, along = np.zeros((U, rank + K, 3 * K, n)), np.zeros((U, rank + K, 3 * K))
    s = np.arange(K)
    overlap = E(batch.e, 1)
    length = np.sqrt(square[:, 0] * per_sample + overlap**2)  # |v̌|
    length = np.where(length > 0.0, length, np.inf)  # no gradient, no spike: its mode is never driven either
    across = np.maximum(0.0, 1.0 - gamma**2)
    rho = np.sqrt(np.where(across > _ALIGNED, across, np.inf))  # no ê mode when γ = ±1: it is never driven
    sources[:, rank + s, s] = -(batch.e / length[:, None])[:, None]
    sources[:, rank + s, K + s] = (gamma / (rho * length))[:, None, None] * batch.e[:, None]
    along[:, rank + s, K + s] = -1.0 / rho[:, None]
    if simple:  # eliminate the pencil's middle block: f_b joins f_a, and its norm joins the variance
        sources[:, s, 2 * K + s] = fa + fb
        direct = direct + a * E(fb**2) + E(fb, 1) ** 2
    else:
        sources[:, s, 2 * K + s] = fa
        sources[:, K + s, 2 * K + s] = fb
    return Exact(
        weights,
        batch,
        per_sample,
        m=np.ones((U, K)),
        b=k * h2,
        g=k**2 * N.n2 * a,
        sources=sources,
        target=along,
        direct=direct,
    )

"""Actually trained first layers at finite d, written out: what the exact bulk is an asymptotic theory of."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.theory.bulk import Bulk
from giantstep.theory.equations.response import Response, respond

from ..zoo import Case


class Rows(NamedTuple):
    """Rows after all steps [p, d], with the spikes and without; groups, biases of order d^-½, and θ̂, v̂ and ê."""

    whole: np.ndarray
    W: np.ndarray
    group: np.ndarray
    bias: np.ndarray
    theta: np.ndarray
    v: np.ndarray
    e: np.ndarray


def train(case: Case, d: int, rng: np.random.Generator) -> Rows:
    """Draw a network and its batches, and take gradient steps neuron by neuron. A group's spike is its mean step."""
    model, letters, f = case.model, case.model.readout, case.model.activation
    values, weights = np.array(letters.values), np.array(letters.weights)
    p, n = round(model.beta * d), round(model.alpha0 * d)
    group = np.repeat(np.arange(len(values)), np.diff(np.round(p * np.cumsum([0, *weights])).astype(int)))
    member = np.eye(len(values))[group]
    W = rng.standard_normal((p, d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    bias = model.bias_scale / math.sqrt(d) * rng.standard_normal(p)
    own = np.array(letters.biases or 0.0 * values)[group] + bias
    k, spikes = model.eta / model.beta * values[group], np.zeros((len(values), d))
    for _ in range(model.most_steps):
        X = rng.standard_normal((n, d))
        y = case.label.function(X @ theta) + case.label.noise * rng.standard_normal(n)
        h = X @ W.T + own
        residual = y - f(h) @ values[group] / p
        step = k[:, None] * ((f.derivative(h) * residual[:, None]).T @ X) / n
        W, spikes = W + step, spikes + (member / member.sum(axis=0)).T @ step
    v = values @ spikes
    v /= np.linalg.norm(v)
    e = theta - (theta @ v) * v
    return Rows(W, W - spikes[group], group, bias, theta, v, e / np.linalg.norm(e))


def closed(bulk: Bulk, hat: np.ndarray, beta: np.ndarray, lam: np.ndarray) -> Response:
    """The response to V̂ [1, points, ...] with the relation closed, by plain iteration: V2 = response(V2)."""
    V = np.zeros(hat.shape)
    V[..., -len(bulk.weights) :] = bulk.weights / lam
    for _ in range(2000):
        response = respond(bulk, V, hat, beta, lam)
        if np.abs(response.V - V).max() < 1e-15:
            break
        V = response.V
    return response


def measured(rows: Rows, hat1: np.ndarray, D: np.ndarray) -> dict[str, np.ndarray]:
    """V1, V2 and the forms G on the modes (W v̂, W ê, δ and biases), from H = diag(D) + W(V̂1⊗I)Wᵀ inverted; and the
    overlap (1/d) tr C_s C_t of the rows' covariances, which is d E[(w·w')²] of two rows."""
    W, member, p = rows.W, np.eye(len(D))[rows.group], len(rows.W)
    gram = W @ W.T
    R = np.linalg.inv(np.diag(D[rows.group]) + gram * hat1[np.ix_(rows.group, rows.group)])
    norms = np.diag(gram)
    modes = [W @ rows.v, W @ rows.e, norms - member @ (norms @ member / member.sum(axis=0))]
    modes += [rows.bias] if rows.bias.any() else []
    split = np.array(modes)[:, None] * member.T  # [modes, K, p]
    apart, sizes = gram**2 - np.diag(norms**2), member.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    return {
        "overlap": W.shape[1] * (member.T @ apart @ member) / pairs,
        "V1": member.T @ (gram * R) @ member / p,
        "V2": member.T @ np.diag(R) / p,
        "G": np.einsum("asi,ij,btj->asbt", split, R, split, optimize=True),
    }


def z_scores(draws: list[np.ndarray], theory: np.ndarray, share: float = 0.0) -> np.ndarray:
    """(mean - theory) over its standard error and a `share` of the theory's size, entry by entry of forms.

    Entries that never vary are left out.
    """
    stacked, size = np.array(draws), np.sqrt(np.einsum("asas->as", theory))
    error = stacked.std(axis=0, ddof=1) / math.sqrt(len(draws))
    z = (stacked.mean(axis=0) - theory) / np.hypot(error, share * np.multiply.outer(size, size) + 1e-300)
    return z[error > 1e-12]

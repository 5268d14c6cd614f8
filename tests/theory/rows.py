"""Actually trained first layers at finite d, written out: what the exact bulk is an asymptotic theory of."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.theory.derivative_moments import at_rest

from ..zoo import Case


class Rows(NamedTuple):
    """Rows after the step with the spike taken out, [p, d]; their groups; unit directions v̂ and ê."""

    W: np.ndarray
    group: np.ndarray
    v: np.ndarray
    e: np.ndarray
    residual: np.ndarray  # of the first batch
    X: np.ndarray


def train(case: Case, d: int, rng: np.random.Generator) -> Rows:
    """Draw a network and a batch, take the gradient step neuron by neuron, subtract the mean slope's spike."""
    model, letters = case.model, case.model.readout
    values, weights = np.array(letters.values), np.array(letters.weights)
    p, n0 = round(model.beta * d), round(model.alpha0 * d)
    group = np.repeat(np.arange(len(values)), np.diff(np.round(p * np.cumsum([0, *weights])).astype(int)))
    W0 = rng.standard_normal((p, d))
    W0 /= np.linalg.norm(W0, axis=1)[:, None]
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    X = rng.standard_normal((n0, d))
    f = model.activation
    y = case.label.function(X @ theta) + case.label.noise * rng.standard_normal(n0)
    biases = np.array(letters.biases or np.zeros(len(values)))
    h = X @ W0.T + biases[group]
    residual = y - f(h) @ values[group] / p
    k = model.eta / model.beta * values[group]
    W1 = W0 + k[:, None] * ((f.derivative(h) * residual[:, None]).T @ X) / n0
    spike = X.T @ residual / n0
    h1 = at_rest(f, biases)[0].s0[0, :, 0]
    W = W1 - np.outer(k * h1[group], spike)
    v = spike / np.linalg.norm(spike)
    e = theta - (theta @ v) * v
    return Rows(W, group, v, e / np.linalg.norm(e), residual, X)


def measured(rows: Rows, hat1: np.ndarray, D: np.ndarray) -> dict[str, np.ndarray]:
    """V1, V2 and the forms G on the modes (W v̂, W ê, δ), from H = diag(D) + W(V̂1⊗I)Wᵀ inverted as a matrix."""
    W, group = rows.W, rows.group
    K, p = len(D), len(W)
    gram = W @ W.T
    R = np.linalg.inv(np.diag(D[group]) + gram * hat1[np.ix_(group, group)])
    norms = np.diag(gram)
    modes = np.zeros((3, K, p))
    for s in range(K):
        at = group == s
        modes[0, s, at], modes[1, s, at] = W[at] @ rows.v, W[at] @ rows.e
        modes[2, s, at] = norms[at] - norms[at].mean()
    member = (group == np.arange(K)[:, None]).astype(float)
    return {
        "V1": member @ (gram * R) @ member.T / p,
        "V2": member @ np.diag(R) / p,
        "G": np.einsum("asi,ij,btj->asbt", modes, R, modes, optimize=True),
    }


def z_scores(draws: list[np.ndarray], theory: np.ndarray) -> np.ndarray:
    """(mean - theory) over its standard error, entry by entry; entries that never vary are left out."""
    stacked = np.array(draws)
    error = stacked.std(axis=0, ddof=1) / math.sqrt(len(draws))
    vary = error > 1e-12
    return ((stacked.mean(axis=0) - theory)[vary] / error[vary]).ravel()

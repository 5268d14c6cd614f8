"""Answers satisfy the equations of any convex loss when all averages are sums over dense grids.

Nothing of the library is used but the answers: features, label laws, scores and losses are formulas of this file.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr

import giantstep as gs

KAPPA, FIELD = np.linspace(-8.5, 8.5, 401), np.linspace(-8.5, 8.5, 1401)
ROW = {"c": 0.9, "r": 1.1, "gamma": 0.7, "beta": 1.2}
ALPHA, LAM = 1.4, 0.2
ACTIVATIONS: dict[str, Callable] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0), "sin": np.sin}
# such sums differ from integrals by about 1e-6 where something jumps; the tolerance of answers is 1e-6
TOLERANCE = 3e-6


def gaussian(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * (z[1] - z[0])


def hinge(y, omega, V):
    return y * np.clip((1.0 - y * omega) / V, 0.0, 1.0), lambda z: np.maximum(1.0 - y * z, 0.0)


def squared_hinge(y, omega, V):
    return y * np.maximum(1.0 - y * omega, 0.0) / (1.0 + V), lambda z: 0.5 * np.maximum(1.0 - y * z, 0.0) ** 2


def logistic(y, omega, V):
    h = np.full_like(omega, 0.5)  # h = sigmoid(-(yω + Vh)), by Newton's method in h
    for _ in range(60):
        value = 1.0 / (1.0 + np.exp(y * omega + V * h))
        h -= (h - value) / (1.0 + V * value * (1.0 - value))
    return y * h, lambda z: np.logaddexp(0.0, -y * z)


LOSSES = {"hinge": hinge, "squared_hinge": squared_hinge, "logistic": logistic}


def chance_of_signs(cuts: np.ndarray, flips: float, noise: float) -> Callable:
    """P(Y = 1 | z ~ N(mean, variance)) of labels that are -1 left of all `cuts` and alternate."""

    def chance(mean, variance):
        ends = np.append(cuts, np.inf)
        deviation = np.sqrt(variance + noise**2)
        up = sum(
            ndtr((high - mean) / deviation) - ndtr((low - mean) / deviation)
            for low, high in zip(ends[::2], ends[1::2], strict=False)
        )
        return flips + (1.0 - 2.0 * flips) * up

    return chance


def waves(frequency: float) -> np.ndarray:
    """Zeros of sin(frequency·z) far out on both sides, the first one a rise."""
    count = 2 * int(12.0 * frequency / np.pi / 2.0)
    return np.arange(-count, count + 1) * np.pi / frequency


SETTINGS = {
    "sine, latent noise": (gs.Target("sin(2*x)", flips=0.1, latent_noise=0.3), waves(2.0), 0.1, 0.3),
    "sine": (gs.Target("sin(3*x)", flips=0.2), waves(3.0), 0.2, 0.0),
    "fast sine": (gs.Target("sin(6*x)", latent_noise=0.5), waves(6.0), 0.0, 0.5),
    "three signs": (gs.Target("sign(x**3 - x)", flips=0.05), np.array([-1.0, 0.0, 1.0]), 0.05, 0.0),
    "sign": (gs.Target("sign", flips=0.1), np.array([0.0]), 0.1, 0.0),
}


def features(activation: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """μ0, μ1 and μ2² at κ."""
    value = ACTIVATIONS[activation](np.sqrt(ROW["c"]) * FIELD + ROW["r"] * KAPPA[:, None])
    w = gaussian(FIELD)
    mean, slope = value @ w, (value * FIELD) @ w / np.sqrt(ROW["c"])
    rest = value**2 @ w - mean**2 - ROW["c"] * slope**2
    return mean, slope, np.maximum(rest, 1e-200)  # nothing is divided by 0 where a feature is off


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", SETTINGS)
def test_labels_of_both_signs_satisfy_the_equations(name: str, loss: str):
    """Each law with each loss, and each of both with every activation."""
    activation = list(ACTIVATIONS)[(list(SETTINGS).index(name) + list(LOSSES).index(loss)) % len(ACTIVATIONS)]
    target, *law = SETTINGS[name]
    chance = chance_of_signs(*law)
    answers = gs.predict(gs.SpikedRF(activation, **ROW), target, alpha=ALPHA, lam=LAM, loss=loss)
    at = {name: float(answers[name]) for name in ("m", "zeta", "psi", "V1", "V2", "q1", "q2")}
    mean, slope, rest = features(activation)
    V, q = (slope**2 * at[x + "1"] + rest * at[x + "2"] for x in "Vq")
    M, P = mean * at["m"] + KAPPA * slope * at["zeta"], slope * at["psi"]
    w_kappa, w, gamma = gaussian(KAPPA), gaussian(FIELD), ROW["gamma"]
    omega = M[:, None] + np.sqrt(q)[:, None] * FIELD
    rho = np.sqrt(1.0 - gamma**2)
    z_mean = gamma * KAPPA[:, None] + rho * (P / np.sqrt(q))[:, None] * FIELD
    up = chance(z_mean, (rho**2 * (1.0 - P**2 / q))[:, None])
    sums = {"F1": 0.0, "loss": 0.0, "error": 0.0}
    for y, p in ((1.0, up), (-1.0, 1.0 - up)):
        f, value = LOSSES[loss](y, omega, V[:, None])
        fitted = omega + V[:, None] * f
        parts = {"F1": f, "loss": value(fitted), "error": (y - fitted) ** 2}
        sums = {key: sums[key] + (p * part) @ w for key, part in parts.items()}
    tolerance = TOLERANCE * (1.0 + abs(at["m"]))
    # the mean of the features is not penalised: its equation is E[μ0 F1] = 0
    assert abs(w_kappa @ (mean * sums["F1"])) < tolerance
    assert w_kappa @ sums["loss"] == pytest.approx(float(answers.train_loss), abs=tolerance)
    assert w_kappa @ sums["error"] == pytest.approx(float(answers.train_error), abs=4.0 * tolerance)

"""The objective of a bias that is trained with the readout, as the tutorial on letters computes it."""

import numpy as np
import pytest
from attrs import evolve

import giantstep as gs

MODEL = gs.SpikedRF("tanh", r=1.2, gamma=0.9, beta=1.5)


def _fitted_objectives(alpha: float, lam: float, biases: np.ndarray, d: int, seed: int) -> np.ndarray:
    """min over a of ½|y - Φa|² + λ/2 |a|², which is λ/2 yᵀ(ΦΦᵀ + λ)⁻¹y, over |y|²/E y²; one draw, all biases."""
    rng = np.random.default_rng(seed)
    p, n = round(1.5 * d), round(alpha * d)
    v, t = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    W = rng.standard_normal((p, d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    X = rng.standard_normal((n, d))
    y = np.maximum(X @ (0.9 * v + np.sqrt(1.0 - 0.81) * t), 0.0)
    fields = X @ (W + 1.2 * v).T
    values = []
    for b in biases:
        phi = np.tanh(fields + b) / np.sqrt(p)
        values.append(0.5 * lam * y @ np.linalg.solve(phi @ phi.T + lam * np.eye(n), y))
    return np.array(values) / (y @ y) * 0.5  # E y² = ½; dividing by |y|² takes most of the noise away


def objective(bias: float, target: str, alpha: float, lam: float, d: float = np.inf) -> float:
    """The training objective per sample, (1/n) Σ loss + (λ/2n)|a|², with |a|² = p q2."""
    model = evolve(MODEL, readout=gs.Letters((1.0,), (1.0,), biases=(bias,)))
    found = gs.predict(model, target, alpha=alpha, lam=lam, d=d)
    return float(found.train_loss + lam * MODEL.beta / (2.0 * alpha) * found.q2)


def test_the_objective_of_a_bias_is_that_of_fitted_readouts():
    """At d = 150, 24 draws: four standard errors (of 2 % at most) and 2/d for what the correction leaves out."""
    d, alpha, lam, biases = 150, 2.0, 0.3, np.array([-1.0, 0.0, 0.5, 2.0])
    theory = np.array([objective(bias, "relu", alpha, lam, d) for bias in biases])
    draws = np.array([_fitted_objectives(alpha, lam, biases, d, i) for i in range(24)])
    mean, error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(error < 0.02 * mean)
    assert np.all(np.abs(mean - theory) < 4 * error + 2 / d * mean)


def test_odd_on_odd_has_an_even_objective():
    for bias in (0.3, 1.5, 4.0):
        assert objective(bias, "sin", 2.0, 0.1) == pytest.approx(objective(-bias, "sin", 2.0, 0.1), rel=1e-9)

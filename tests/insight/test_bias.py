"""A trained bias: its objective is that of fitted readouts, and its minima are minima."""

import numpy as np
import pytest

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


def test_the_objective_is_that_of_fitted_readouts():
    """At d = 150, 24 draws: four standard errors (of 2 % at most) and 2/d for what the correction leaves out."""
    d, alpha, lam = 150, 2.0, 0.3
    found = gs.trained_bias(MODEL, "relu", alpha=alpha, lam=lam, d=d)
    some = found.sel(scanned_bias=[-1.0, 0.0, 0.5, 2.0], method="nearest")
    draws = np.array([_fitted_objectives(alpha, lam, some.scanned_bias.values, d, i) for i in range(24)])
    mean, error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(error < 0.02 * mean)
    assert np.all(np.abs(mean - some.scanned_objective) < 4 * error + 2 / d * mean)


def test_minima_are_polished_and_ordered():
    found = gs.trained_bias(MODEL, "relu", alpha=2.0, lam=0.1)
    assert float(found.objective[0]) <= float(found.scanned_objective.min())
    assert np.all(np.diff(found.objective) >= 0.0)
    best = float(found.bias[0])
    letters = gs.Letters((1.0,), (1.0,), biases=(best,))
    alone = gs.predict(
        gs.SpikedRF("tanh", r=1.2, gamma=0.9, beta=1.5, readout=letters), "relu", alpha=2.0, lam=0.1
    )
    assert float(found.test_error[0]) == pytest.approx(float(alone.test_error), rel=1e-12)


def test_odd_on_odd_has_an_even_objective():
    found = gs.trained_bias(MODEL, "sin", alpha=2.0, lam=0.1)
    assert found.scanned_objective.values == pytest.approx(found.scanned_objective.values[::-1], rel=1e-9)


def test_a_bias_is_not_looked_for_on_a_grid_or_beyond_its_reach():
    with pytest.raises(
        gs.ParameterError, match=r"has 2 values in a list, and a bias is trained in one model"
    ):
        gs.trained_bias(gs.SpikedRF("tanh", r=[1.0, 2.0], gamma=0.9), "relu", alpha=2.0, lam=0.1)
    with pytest.raises(gs.ParameterError, match=r"within ±0\.05.*widen reach"):
        gs.trained_bias(MODEL, "relu", alpha=2.0, lam=0.1, reach=0.05)

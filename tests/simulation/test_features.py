"""Features: the conditional moments of Result 2, and their eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from giantstep import Letters, Network, SpikedRF, simulate_spectrum
from giantstep.simulation.data import Block
from giantstep.simulation.draw import Purpose
from giantstep.simulation.features import GaussianFeatures, ResultTwo

from .helpers import drawn, samples

MODEL = SpikedRF("relu", r=0.8, gamma=0.6, readout=Letters((1.0, -0.5), (0.5, 0.5), (0.1, -0.3), (1.0, 2.0)))
NET = Network("tanh", eta=1.5, alpha0=2.0)


def test_coefficients_are_the_averages_of_result_2():
    """Of relu: with s = t √c, E relu = √c (φ(t) + t Φ(t)), E relu² = c (t φ(t) + (1 + t²) Φ(t)), E[z relu] = c Φ(t)."""
    kappa = np.array([-2.1, 0.0, 0.4, 3.3])
    u, b, c = np.array([[0.8, -0.4], [0.1, -0.3], [1.0, 2.0]])[:, :, None]
    t = (u * kappa + b) / np.sqrt(c)
    density, share = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi), ndtr(t)
    mean, square = np.sqrt(c) * (density + t * share), c * (t * density + (1 + t**2) * share)
    rest = square - mean**2 - c * share**2
    np.testing.assert_allclose(ResultTwo(MODEL)(kappa), [mean, share, np.sqrt(rest)], atol=1e-11)


def test_gaussian_features_have_their_conditional_moments():
    """At fixed x: mean μ0 + μ1 w_i·x, variance μ2², from independent noise in every neuron and sample."""
    d, count = 30, 20_000
    layer, draws = drawn(MODEL, d=d)
    x = np.random.default_rng(0).standard_normal(d)
    block = Block(0, np.tile(x, (count, 1)), *np.zeros((2, count)), Purpose.TRAIN)
    phi = GaussianFeatures(layer, ResultTwo(MODEL), draws)(block)
    (v,), (spike,) = layer.v, layer.spike
    bulk = (layer.rows - np.outer(spike, v)) @ x
    mu0, mu1, mu2 = (np.repeat(mu[:, 0], 15) for mu in ResultTwo(MODEL)(np.array([v @ x])))
    assert np.abs((phi.mean(axis=0) - mu0 - mu1 * bulk) / (mu2 / np.sqrt(count))).max() < 4.5
    assert np.abs(phi.var(axis=0) / mu2**2 - 1).max() < 4.5 * np.sqrt(2 / count)
    correlation = np.corrcoef(phi.T) - np.eye(d)
    assert np.abs(correlation).max() < 5 / np.sqrt(count)


@pytest.mark.parametrize("model", [SpikedRF("relu", r=1.0, gamma=1.0, beta=1.5), NET])
def test_eigenvalues_are_those_of_the_features_that_simulate_draws(model):
    found = simulate_spectrum(model, "sin", alpha=2.0, d=30, trials=2, seed=5)
    assert found["eigenvalue"].dims == ("trial", "rank")
    layer, draws = drawn(model, d=30, trial=1)
    inputs = samples(Purpose.TRAIN, layer, draws, "sin", 60).inputs
    features = np.asarray(model.activation(inputs @ layer.rows.T))
    values = np.linalg.svd(features / np.sqrt(features.shape[1]), compute_uv=False) ** 2
    np.testing.assert_allclose(found["eigenvalue"][1], np.sort(values), rtol=1e-9, atol=1e-12)
    assert simulate_spectrum(model, "sin", alpha=1, d=20, trials=1, dtype="float32").attrs["dtype"] == "float32"

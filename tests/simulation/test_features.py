"""Features: the conditional moments of Result 2, their eigenvalues, and the function that a readout of them learns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from giantstep.answers.comparison import compare
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF
from giantstep.simulation import simulate
from giantstep.simulation.data import Block
from giantstep.simulation.draw import Purpose
from giantstep.simulation.eigenvalues import simulate_spectrum
from giantstep.simulation.features import GaussianFeatures, NetworkFeatures, ResultTwo
from giantstep.theory.predict import predict

from .helpers import BACKEND, drawn, ridge_readout, samples

MODEL = SpikedRF("relu", r=0.8, gamma=0.6, readout=Letters((1.0, -0.5), (0.5, 0.5), (0.1, -0.3), (1.0, 2.0)))
NET = Network("tanh", eta=1.5, alpha0=2.0)


def block_of(inputs: np.ndarray) -> Block:
    return Block(0, inputs, np.zeros(len(inputs)), np.zeros(len(inputs)))


def test_coefficients_are_the_averages_of_result_2():
    kappa = np.array([-2.1, 0.0, 0.4, 3.3])
    mu0, mu1, mu2 = ResultTwo(MODEL)(kappa)
    for s, (u, b, c) in enumerate([(0.8, 0.1, 1.0), (-0.4, -0.3, 2.0)]):
        for k, point in enumerate(kappa):
            shift = u * point + b

            def average(f, shift=shift, c=c):
                def integrand(z):
                    return f(z, max(z + shift, 0.0)) * np.exp(-z * z / (2 * c)) / np.sqrt(2 * np.pi * c)

                return quad(integrand, -15, 15, points=[-shift], epsabs=1e-13, epsrel=1e-12)[0]

            mean, slope = average(lambda z, f: f), average(lambda z, f: z * f) / c
            rest = average(lambda z, f: f * f) - mean**2 - c * slope**2
            assert mu0[s, k] == pytest.approx(mean, abs=1e-11)
            assert mu1[s, k] == pytest.approx(slope, abs=1e-11)
            assert mu2[s, k] ** 2 == pytest.approx(rest, abs=1e-11)


def test_gaussian_features_have_their_conditional_moments():
    """At fixed x: mean μ0 + μ1 w_i·x, variance μ2², from independent noise in every neuron and sample."""
    d, count = 30, 20_000
    layer, draws = drawn(MODEL, d=d)
    x = np.random.default_rng(0).standard_normal(d)
    phi = GaussianFeatures(layer, ResultTwo(MODEL), draws)(block_of(np.tile(x, (count, 1))), Purpose.TRAIN)
    (v,), (spike,) = layer.v, layer.spike
    bulk = (layer.rows - np.outer(spike, v)) @ x
    mu0, mu1, mu2 = (np.repeat(mu[:, 0], 15) for mu in ResultTwo(MODEL)(np.array([v @ x])))
    assert np.abs((phi.mean(axis=0) - mu0 - mu1 * bulk) / (mu2 / np.sqrt(count))).max() < 4.5
    assert np.abs(phi.var(axis=0) / mu2**2 - 1).max() < 4.5 * np.sqrt(2 / count)
    correlation = np.corrcoef(phi.T) - np.eye(d)
    assert np.abs(correlation).max() < 5 / np.sqrt(count)


def test_true_features_have_the_same_conditional_mean_and_linear_part():
    """E[σ(Fx+b) | κ] over the bulk is μ0: averaged over many neurons of one letter at a fixed x."""
    model, d = SpikedRF("tanh", r=0.8, gamma=0.6, c=1.3, beta=40.0), 100
    layer, _ = drawn(model, d=d)
    x = np.random.default_rng(1).standard_normal(d)
    x *= np.sqrt(d / (x @ x))  # so that w_i·x has variance c, up to the part along v
    phi = NetworkFeatures(layer, model.activation, BACKEND)(block_of(x[None, :]), Purpose.TRAIN)[0]
    mu0, mu1, mu2 = (mu[0, 0] for mu in ResultTwo(model)(np.array([layer.v[0] @ x])))
    error = np.sqrt((mu1**2 * 1.3 + mu2**2) / len(phi))
    assert abs(phi.mean() - mu0) < 4.5 * error


def test_orthogonal_features_learn_what_the_theory_says():
    """Mean of 30 trials against the corrected theory: |z| < 5 at all points by chance but once in 1e4 runs.

    Student's distribution with 29 degrees of freedom gives 2.5e-5 a point, and there are four points.
    """
    relu = SpikedRF("relu", r=1.0, gamma=1.0, readout="rademacher")
    ratios = {"alpha": [0.5, 2.0], "lam": [0.1, 1.0], "d": 200}
    theory = predict(relu, "relu", **ratios, bulk="orthogonal")
    for bulk, agrees in (("orthogonal", True), (None, False)):  # random rows are another model
        measured = simulate(relu, "relu", **ratios, bulk=bulk, trials=30)
        z = float(np.abs(compare(theory, measured)["test_error"].sel(part="z")).max())
        assert z < 5 if agrees else z > 10
        assert measured.attrs.get("bulk") == bulk


def test_the_learned_function_is_the_average_output_given_the_projection():
    """Against the network's own outputs on 200,000 inputs with that projection, to 5 standard errors."""
    x, d = [-1.5, 0.0, 0.7], 30
    letters = Letters((-1.0, 0.5), (0.5, 0.5), biases=(0.3, -0.1))
    model = Network("tanh", eta=2.0, alpha0=3.0, readout=letters)
    options = {"alpha": [1.0, 2.0], "lam": 0.1, "d": d, "trials": [4], "seed": 5}
    plain, found = (simulate(model, "sin", learned_at=at, **options) for at in (None, x))
    assert set(found) - set(plain) == {"learned"}
    for name in plain:  # asking for it changes nothing else
        np.testing.assert_array_equal(plain[name], found[name])
    assert found.learned.dims == ("trial", "alpha", "x")
    np.testing.assert_array_equal(found["x"], x)
    layer, draws = drawn(model, d=d, trial=4)
    block = samples(Purpose.TRAIN, layer, draws, "sin", 2 * d)
    readout = ridge_readout(np.tanh(block.inputs @ layer.rows.T + layer.biases), block.labels, 0.1)
    inputs, (theta,) = np.random.default_rng(0).standard_normal((200_000, d)), layer.theta
    for place, at in enumerate(x):
        inputs += np.outer(at - inputs @ theta, theta)
        outputs = np.tanh(inputs @ layer.rows.T + layer.biases) @ readout / np.sqrt(d)
        error = outputs.std() / np.sqrt(len(outputs))
        assert float(found.learned[0, 1, place]) == pytest.approx(outputs.mean(), abs=5 * error)


@pytest.mark.parametrize("model", [SpikedRF("relu", r=1.0, gamma=1.0, beta=1.5), NET])
def test_eigenvalues_are_those_of_the_features_that_simulate_draws(model):
    found = simulate_spectrum(model, "sin", alpha=2.0, d=30, trials=2, seed=5)
    assert found["eigenvalue"].dims == ("trial", "rank")
    layer, draws = drawn(model, d=30, trial=1)
    inputs = samples(Purpose.TRAIN, layer, draws, "sin", 60).inputs
    features = np.asarray(model.activation(inputs @ layer.rows.T))
    values = np.linalg.svd(features / np.sqrt(features.shape[1]), compute_uv=False) ** 2
    np.testing.assert_allclose(found["eigenvalue"][1], np.sort(values), rtol=1e-9, atol=1e-12)
    assert (
        simulate_spectrum(model, "sin", alpha=1, d=20, trials=1, dtype="float32").attrs["dtype"] == "float32"
    )

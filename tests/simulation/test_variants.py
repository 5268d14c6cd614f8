"""Variants of a trial: orthogonal rows, the learned function beside the errors, the features' eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.answers.comparison import compare
from giantstep.errors import ParameterError
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF
from giantstep.model.target import Target, as_target
from giantstep.simulation import simulate
from giantstep.simulation.backend import make_backend
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Draws, Purpose
from giantstep.simulation.eigenvalues import simulate_spectrum
from giantstep.simulation.first_layer import first_layer
from giantstep.theory.predict import predict

RELU = SpikedRF("relu", r=1.0, gamma=1.0, readout="rademacher")
NET = Network("tanh", eta=1.5, alpha0=2.0)


@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_orthogonal_rows_are_the_projector_across_the_spike(gamma):
    model = SpikedRF("relu", r=0.7, gamma=gamma, readout="rademacher")
    layer = first_layer(model, as_target("sin"), 50, Draws(3, 1, make_backend()), "orthogonal")
    (v,), (spike,) = layer.v, layer.spike
    rows = layer.rows - np.outer(spike, v)
    np.testing.assert_allclose(rows @ rows, rows, atol=1e-14)  # a projector
    np.testing.assert_allclose(rows @ v, 0, atol=1e-14)
    assert np.trace(rows) == pytest.approx(49, abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), layer.radii, rtol=1e-13)
    assert v @ layer.theta[0] == pytest.approx(gamma, abs=1e-14)
    assert sorted(np.unique(spike)) == [-0.7, 0.7]


def test_orthogonal_features_learn_what_the_theory_says():
    """Mean of 30 trials against the corrected theory: |z| < 5 at all points by chance but once in 1e4 runs.

    Student's distribution with 29 degrees of freedom gives 2.5e-5 a point, and there are four points.
    """
    ratios = {"alpha": [0.5, 2.0], "lam": [0.1, 1.0]}
    theory = predict(RELU, "relu", **ratios, bulk="orthogonal", d=200)
    measured = simulate(RELU, "relu", **ratios, bulk="orthogonal", d=200, trials=30)
    assert measured.attrs["bulk"] == "orthogonal"
    z = compare(theory, measured)["test_error"].sel(part="z")
    assert float(np.abs(z).max()) < 5
    random = simulate(RELU, "relu", **ratios, d=200, trials=30)
    elsewhere = compare(theory, random)["test_error"].sel(part="z")
    assert float(np.abs(elsewhere).max()) > 10  # the negative control: random rows are another model


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (NET, {"bulk": "orthogonal"}, "use a SpikedRF"),
        (SpikedRF("relu", 1.0, 1.0, beta=2.0), {"bulk": "orthogonal"}, "beta = 1"),
        (SpikedRF("relu", 1.0, 1.0, c=1.5), {"bulk": "orthogonal"}, "c = 1"),
        (RELU, {"bulk": "exact"}, "bulk = 'exact'"),
        (RELU, {"features": "gaussian", "learned_at": [0.0]}, "learned_at needs"),
        (RELU, {"learned_at": ["no"]}, "learned_at"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(model, options, words):
    with pytest.raises(ParameterError, match=words):
        simulate(model, "relu", alpha=1.0, lam=0.1, d=20, trials=1, **options)


def test_the_learned_function_is_the_average_output_given_the_projection():
    """Against the network's own outputs on 200,000 inputs with that projection, to 5 standard errors."""
    x, d = [-1.5, 0.0, 0.7], 30
    letters = Letters((-1.0, 0.5), (0.5, 0.5), biases=(0.3, -0.1))
    model = Network("tanh", eta=2.0, alpha0=3.0, readout=letters)
    options = {"alpha": [1.0, 2.0], "lam": 0.1, "d": d, "trials": [4]}
    learned = simulate(model, Target("sin"), learned_at=x, **options)["learned"]
    assert learned.dims == ("trial", "alpha", "x")
    np.testing.assert_array_equal(learned["x"], x)
    draws = Draws(0, 4, make_backend())
    layer = first_layer(model, as_target("sin"), d, draws)
    block = Data(Purpose.TRAIN, as_target("sin"), layer.theta, draws).block(0, 2 * d)
    features = np.tanh(block.inputs @ layer.rows.T + layer.biases) / np.sqrt(d)
    readout = np.linalg.solve(features.T @ features + 0.1 * np.eye(d), features.T @ block.labels)
    inputs, (theta,) = np.random.default_rng(0).standard_normal((200_000, d)), layer.theta
    for place, at in enumerate(x):
        inputs += np.outer(at - inputs @ theta, theta)
        outputs = np.tanh(inputs @ layer.rows.T + layer.biases) @ readout / np.sqrt(d)
        error = outputs.std() / np.sqrt(len(outputs))
        assert float(learned[0, 1, place]) == pytest.approx(outputs.mean(), abs=5 * error)


def test_asking_for_the_learned_function_changes_nothing_else():
    options = {"alpha": [0.5, 2.0], "lam": [0.1, 1.0], "d": 40, "trials": 2}
    plain, more = simulate(NET, "sin", **options), simulate(NET, "sin", learned_at=[0.0, 1.0], **options)
    assert set(more) - set(plain) == {"learned"}
    for name in plain:
        np.testing.assert_array_equal(plain[name], more[name])


@pytest.mark.parametrize("model", [SpikedRF("relu", r=1.0, gamma=1.0, beta=1.5), NET])
def test_eigenvalues_are_those_of_the_features_that_simulate_draws(model):
    found = simulate_spectrum(model, "sin", alpha=2.0, d=30, trials=2, seed=5)
    assert found["eigenvalue"].dims == ("trial", "rank")
    draws = Draws(5, 1, make_backend())
    layer = first_layer(model, as_target("sin"), 30, draws)
    inputs = Data(Purpose.TRAIN, as_target("sin"), layer.theta, draws).block(0, 60).inputs
    features = np.asarray(model.activation(inputs @ layer.rows.T))
    values = np.linalg.svd(features / np.sqrt(features.shape[1]), compute_uv=False) ** 2
    np.testing.assert_allclose(found["eigenvalue"][1], np.sort(values), rtol=1e-9, atol=1e-12)


def test_a_network_without_target_has_no_spectrum():
    with pytest.raises(ParameterError, match="needs the target"):
        simulate_spectrum(NET, alpha=1.0, d=20)


def test_a_simulated_spectrum_is_of_single_numbers():
    with pytest.raises(ParameterError, match="alpha has 2 values in a list"):
        simulate_spectrum(NET, "sin", alpha=[1.0, 2.0], d=20)
    assert simulate_spectrum(NET, "sin", alpha=1, d=20, trials=1, dtype="float32").attrs["dtype"] == "float32"

"""The exact average over inputs: against closed forms, and against sampling."""

from __future__ import annotations

import math
from threading import Thread

import numpy as np
import pytest

from giantstep import gaussian
from giantstep.functions import as_function
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF, TwoSpikes
from giantstep.model.target import Target, as_target
from giantstep.simulation import exact_error as population
from giantstep.simulation import hermite, simulate
from giantstep.simulation.backend import NumpyBackend, make_backend
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Draws, Purpose
from giantstep.simulation.evaluate import sampled_errors, summary_statistics
from giantstep.simulation.features import GaussianFeatures, NetworkFeatures, ResultTwo
from giantstep.simulation.first_layer import first_layer
from giantstep.simulation.trial import Task, run_trial

BACKEND = make_backend()
LETTERS = Letters((1.0, -0.5), (0.4, 0.6), biases=(0.1, -0.3), c=(1.0, 2.0))


def layer_and_readouts(model, target="sin", d=60, trial=0):
    draws = Draws(7, trial, BACKEND)
    layer = first_layer(model, as_target(target), d, draws)
    rng = np.random.default_rng(trial)
    p = layer.rows.shape[0]
    return draws, layer, np.stack([rng.standard_normal(p), rng.random(p), np.ones(p) / np.sqrt(p)], axis=1)


def cosines_of(gram):
    size = np.sqrt(np.diag(gram))
    cosine = gram / np.outer(size, size)
    np.fill_diagonal(cosine, 1.0)  # arcsin and arccos turn a rounding error there into its square root
    return np.clip(cosine, -1, 1), size


def arcsine(gram):  # E sign(u) sign(v)
    return 2 / math.pi * np.arcsin(cosines_of(gram)[0])


def erf_kernel(gram):  # E erf(u) erf(v)
    size = np.sqrt(1 + 2 * np.diag(gram))
    return 2 / math.pi * np.arcsin(2 * gram / np.outer(size, size))


def arccosine(gram):  # E relu(u) relu(v)
    cosine, size = cosines_of(gram)
    angle = np.arccos(cosine)
    return np.outer(size, size) * (np.sin(angle) + (math.pi - angle) * cosine) / (2 * math.pi)


def sine(gram):  # E sin(u) sin(v)
    size = np.diag(gram)
    return np.exp(-(size[:, None] + size) / 2) * np.sinh(gram)


@pytest.mark.parametrize(
    ("name", "kernel"), [("erf", erf_kernel), ("sign", arcsine), ("relu", arccosine), ("sin", sine)]
)
@pytest.mark.parametrize("gamma", [0.0, 0.7, 0.999, 1.0])
@pytest.mark.parametrize("r", [0.0, 0.8, 3.0])
def test_the_exact_error_is_that_of_the_closed_form_kernels(name, kernel, gamma, r):
    """Activation and target from one family whose covariance is known in closed form."""
    _, layer, readouts = layer_and_readouts(SpikedRF(name, r=r, gamma=gamma, c=1.2, beta=0.8))
    rows = np.vstack([layer.rows, *layer.theta])
    weights = np.vstack([readouts / np.sqrt(len(layer.rows)), -np.ones(readouts.shape[1])])
    expected = np.einsum("ic,ij,jc->c", weights, kernel(rows @ rows.T), weights)
    function = as_function(name)
    error = population.NetworkError(layer, function, function, BACKEND)(readouts)
    assert error is not None
    np.testing.assert_allclose(error, expected, rtol=population.TOLERANCE)


SAMPLED = [
    (SpikedRF("tanh", r=0.9, gamma=0.8, readout=LETTERS), "sign"),
    (SpikedRF("relu", r=1.5, gamma=0.99, readout=LETTERS), "tanh"),
    (Network("tanh", 3.0, 0.5), "sin"),
    (Network("relu", 1.0, 1.0, readout=Letters((1.0, -1.0), (0.5, 0.5), biases=(0.5, -0.2))), "abs"),
    (Network("softplus", 0.0, 0.0), "He2"),
    (TwoSpikes("relu", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5)), "tanh"),
]


@pytest.mark.parametrize(("model", "target"), SAMPLED)
def test_the_exact_error_is_the_mean_over_samples(model, target):
    draws, layer, readouts = layer_and_readouts(model, target)
    target = as_target(target)
    features = NetworkFeatures(layer, model.activation, BACKEND)
    exact = features.exact_error(target)(readouts, {})
    assert exact is not None
    data, runs = Data(Purpose.TEST, target, layer.theta, draws), []
    for block in data.blocks(60_000):
        errors = (
            features(block, Purpose.TEST) @ readouts / np.sqrt(len(readouts)) - block.clean[:, None]
        ) ** 2
        runs.append(errors)
    errors = np.concatenate(runs)
    z = (exact - errors.mean(axis=0)) / (errors.std(axis=0) / np.sqrt(len(errors)))
    assert np.abs(z).max() < 4.5
    some = 9_000  # not a whole number of blocks
    np.testing.assert_allclose(
        sampled_errors(features, data, some, readouts, BACKEND)["test_error"],
        errors[:some].mean(axis=0),
        rtol=1e-12,
    )


def kinked(z1, z2):
    return np.maximum(z1, 0.0) + z2


@pytest.mark.parametrize(
    ("target", "options", "method"),
    [
        (Target(kinked, directions=2), {}, "sampled"),  # which nobody can know to be kinked
        (Target(kinked, directions=2, kinks=[((1, 0), 0.0)]), {}, "sampled"),
        (Target("x1*x2"), {"n_test": 100}, "sampled"),
        (Target("x1*x2"), {"features": "gaussian"}, "sampled"),
        (Target("x1*x2", flips=0.1), {}, "sampled"),
        (Target("sign(x1*x2)", flips=0.1), {}, "sampled"),
        (Target("tanh"), {}, "exact"),
        (Target("tanh"), {"n_test": 100}, "sampled"),
    ],
    ids=str,
)
def test_the_answer_says_how_test_errors_were_averaged(target, options, method):
    found = simulate(
        SpikedRF("relu", r=1.0, gamma=0.7), target, alpha=1.0, lam=0.1, d=60, trials=2, **options
    )
    assert found.attrs["test_error_method"] == method
    samples = 0 if method == "exact" else options.get("n_test", 20_000)
    np.testing.assert_array_equal(found.test_samples, [samples, samples])


@pytest.mark.parametrize("target", ["sin", "sign"])
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_the_exact_error_of_gaussian_features_is_the_mean_over_samples(target, gamma):
    model = SpikedRF("tanh", r=0.9, gamma=gamma, readout=LETTERS)
    draws, layer, readouts = layer_and_readouts(model, target)
    target = as_target(target)
    features = GaussianFeatures(layer, ResultTwo(model), draws)
    exact = features.exact_error(target)(readouts, summary_statistics(layer, readouts, BACKEND))
    assert exact is not None
    data = Data(Purpose.TEST, target, layer.theta, draws)
    errors = np.concatenate(
        [
            (features(block, Purpose.TEST) @ readouts / np.sqrt(len(readouts)) - block.clean[:, None]) ** 2
            for block in data.blocks(60_000)
        ]
    )
    z = (exact - errors.mean(axis=0)) / (errors.std(axis=0) / np.sqrt(len(errors)))
    assert np.abs(z).max() < 4.5


def test_rows_that_are_nearly_parallel_are_left_to_sampling():
    model, target = SpikedRF("tanh", r=0.5, gamma=0.5, beta=20.0), as_target("sin")
    _, layer, readouts = layer_and_readouts(model, target, d=3)
    error = population.NetworkError(layer, model.activation, target.function, BACKEND)(readouts)
    assert error is None


def rows_of(moments):
    """S_k of every neuron, [terms, rows, kappa]."""
    if moments.phi is None:
        return moments.sites
    weights = moments.phi[:, :, None] * moments.scale[:, None, :]
    return weights.reshape(len(weights), -1) @ moments.sites


@pytest.mark.parametrize(("name", "bias"), [("tanh", 0.0), ("relu", 0.3), ("sign", -0.2)])
def test_a_grid_stands_for_many_similar_rows(name, bias):
    """The moments of 2000 rows, from a grid of (φ, s) and row by row."""
    rng, kappa = np.random.default_rng(3), np.linspace(-8.5, 8.5, 29)
    along, across = 0.9 + 0.02 * rng.standard_normal(2000), 1.1 + 0.01 * rng.random(2000)
    biases, function = np.full(2000, bias), as_function(name)
    phi, s = hermite._box(along, across, 8.5, 12)
    assert phi.count * s.count < 1000
    found = rows_of(hermite.hermite_moments(function, along, biases, across, kappa, 12))
    expected = hermite._interpolated(function, along[:, None] * kappa + bias, across, 12)
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("spread", [0.0, 1e-16, 1e-3, 0.3])
@pytest.mark.parametrize("name", ["tanh", "relu", "sign"])
def test_mean_squares_of_many_neurons_are_those_of_each(name, spread):
    function, norms = as_function(name), 1.1 + spread * np.random.default_rng(4).random(500)
    found = hermite.mean_squares(function, np.full(500, 0.2), norms)
    expected = gaussian.moments(function, np.full(500, 0.2), norms)[0].square
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_factors_of_similar_rows_have_the_products_of_the_rows_themselves():
    """Two groups and a row of its own, as a target is: E_κ[S_k,i S_k,j] across groups too, from a few columns."""
    rng, backend = np.random.default_rng(5), make_backend()
    kappa, weights = gaussian.line_rule(24, 8.5)
    spread = [(0.9 + 0.02 * rng.standard_normal(500), 1.1 + 0.01 * rng.random(500)) for _ in range(2)]
    seen = [*spread, (np.array([0.7]), np.array([0.5]))]
    moments = [
        hermite.hermite_moments(as_function(name), along, np.full(len(along), 0.1), across, kappa, 6)
        for name, (along, across) in zip(("tanh", "tanh", "sin"), seen, strict=True)
    ]
    whole = np.concatenate([rows_of(each) for each in moments], axis=1)
    factors = population._factors(moments, population._columns(moments, weights[0]), backend)
    for factor, rows in zip(factors, whole, strict=True):
        expected = (rows * weights[0]) @ rows.T
        assert factor.shape[1] < len(kappa)
        np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-12 * np.abs(expected).max())


class Waiting(NumpyBackend):
    """As a GPU does: the host's work goes on in another thread, and is asked for later."""

    def aside(self, work):
        answers = []
        thread = Thread(target=lambda: answers.append(work()))
        thread.start()
        self.begun = getattr(self, "begun", 0) + 1

        def answer():
            thread.join()
            return answers[0]

        return answer


@pytest.mark.parametrize("d", [60, 250])  # more terms than were prepared, and fewer
def test_errors_prepared_in_another_thread_are_those_of_this_one(d):
    task = Task(Network("tanh", eta=1.0, alpha0=1.0), Target("sin"), d, points=((2 * d, 0.1),))
    plain, waiting = NumpyBackend(), Waiting()
    found, expected = run_trial(task, waiting), run_trial(task, plain)
    assert waiting.begun == 1
    np.testing.assert_allclose(found["test_error"], expected["test_error"], rtol=10 * population.TOLERANCE)

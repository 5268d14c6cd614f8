"""The exact average over inputs: against closed forms, and against sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep import Letters, Network, SpikedRF, Target, simulate
from giantstep.functions import as_function
from giantstep.model.target import as_target
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Purpose
from giantstep.simulation.exact_error import TOLERANCE, network_error
from giantstep.simulation.features import GaussianFeatures, ResultTwo, exact_error
from giantstep.simulation.trial import summary_statistics

from ..zoo import BIASED, PLANE
from .helpers import drawn

LETTERS = Letters((1.0, -0.5), (0.4, 0.6), biases=(0.1, -0.3), c=(1.0, 2.0))


def layer_and_readouts(model, target="sin", d=60):
    layer, draws = drawn(model, target, d)
    rng, p = np.random.default_rng(0), layer.rows.shape[0]
    return draws, layer, np.stack([rng.standard_normal(p), rng.random(p), np.ones(p) / np.sqrt(p)], axis=1)


def closed_form(name, gram):
    """E f(u) f(v) of Gaussian u, v with these covariances, f having this name."""
    power = np.diag(gram)
    sizes = np.sqrt(np.outer(power, power))
    cosine = np.clip(gram / sizes, -1, 1)
    np.fill_diagonal(cosine, 1.0)  # arcsin and arccos turn a rounding error there into its square root
    angle = np.arccos(cosine)
    return {
        "sign": 2 / math.pi * np.arcsin(cosine),
        "erf": 2 / math.pi * np.arcsin(2 * gram / np.sqrt(np.outer(1 + 2 * power, 1 + 2 * power))),
        "relu": sizes * (np.sin(angle) + (math.pi - angle) * cosine) / (2 * math.pi),
        "sin": np.exp(-(power[:, None] + power) / 2) * np.sinh(gram),
    }[name]


@pytest.mark.parametrize("name", ["erf", "sign", "relu", "sin"])
@pytest.mark.parametrize("gamma", [0.0, 0.7, 0.999, 1.0])
@pytest.mark.parametrize("r", [0.0, 0.8, 3.0])
def test_the_exact_error_is_that_of_the_closed_form_kernels(name, gamma, r):
    """Activation and target from one family whose covariance is known in closed form; small readouts take few terms."""
    _, layer, readouts = layer_and_readouts(SpikedRF(name, r=r, gamma=gamma, c=1.2, beta=0.8))
    rows, function = np.vstack([layer.rows, *layer.theta]), as_function(name)
    for small in (1.0, 1e-5):
        weights = np.vstack([small * readouts / np.sqrt(len(layer.rows)), -np.ones(readouts.shape[1])])
        expected = np.einsum("ic,ij,jc->c", weights, closed_form(name, rows @ rows.T), weights)
        error = network_error(layer, function, small * readouts)
        np.testing.assert_allclose(error, expected, rtol=TOLERANCE)


SPIKED = [SpikedRF("tanh", r=0.9, gamma=gamma, readout=LETTERS) for gamma in (0.5, 1.0)]
SAMPLED = [
    (SpikedRF("tanh", r=0.9, gamma=0.8, readout=LETTERS), "sign", "network"),
    (SpikedRF("relu", r=1.5, gamma=0.99, readout=LETTERS), "tanh", "network"),
    (Network("tanh", 3.0, 0.5), "sin", "network"),
    (Network("relu", 1.0, 1.0, readout=BIASED), "abs", "network"),
    (Network("tanh", 1.5, 2.0, readout="gaussian"), "sin", "network"),
    (Network("softplus", 0.0, 0.0), "He2", "network"),
    (PLANE, "tanh", "network"),
    *((model, target, "gaussian") for model in SPIKED for target in ("sin", "sign")),
]


@pytest.mark.parametrize(("model", "target", "kind"), SAMPLED)
def test_the_exact_error_is_the_mean_over_samples(model, target, kind):
    draws, layer, readouts = layer_and_readouts(model, target)
    target = as_target(target)
    features = GaussianFeatures(layer, ResultTwo(model), draws) if kind == "gaussian" else layer
    exact = exact_error(features, target, readouts, summary_statistics(layer, readouts))
    data = Data(Purpose.TEST, target, layer.theta, draws)
    outputs, clean = zip(*((features(block) @ readouts, block.clean) for block in data.blocks(60_000)), strict=True)
    errors = (np.concatenate(outputs) / np.sqrt(len(readouts)) - np.concatenate(clean)[:, None]) ** 2
    z = (exact - errors.mean(axis=0)) / (errors.std(axis=0) / np.sqrt(len(errors)))
    assert np.abs(z).max() < 4.5
    sizes = [9_000, 20, 5_000]  # of which none is a whole number of blocks
    sampled, _ = data.errors(features, readouts, sizes)
    expected = [errors[:size, column].mean() for column, size in enumerate(sizes)]
    np.testing.assert_allclose(sampled, expected, rtol=1e-12)


RELU, PARALLEL = SpikedRF("relu", r=1.0, gamma=0.7), SpikedRF("tanh", r=0.5, gamma=0.5, beta=[1 / 12, 8.0])


@pytest.mark.parametrize(
    ("model", "target", "options", "method", "samples"),
    [
        (RELU, Target("x1*x2"), {"n_test": 100}, "sampled", 100),
        (RELU, Target("x1*x2"), {"features": "gaussian"}, "sampled", 20_000),
        (RELU, Target("x1*x2", flips=0.1), {}, "sampled", 20_000),
        (RELU, Target("sign(x1*x2)", flips=0.1), {}, "sampled", 20_000),
        (RELU, Target("tanh"), {}, "exact", 0),
        (RELU, Target("tanh"), {"n_test": 100}, "sampled", 100),
        (PARALLEL, Target("tanh"), {"d": 12}, "exact or sampled", [0, 20_000]),  # many rows in few dimensions
    ],
    ids=str,
)
def test_the_answer_says_how_test_errors_were_averaged(model, target, options, method, samples):
    found = simulate(model, target, **{"alpha": 1.0, "lam": 0.1, "d": 60, "trials": 2} | options)
    assert found.attrs["test_error_method"] == method
    np.testing.assert_array_equal(found.test_samples, np.broadcast_to(samples, found.test_samples.shape))

"""Random numbers depend on (seed, trial, batch, kind, row) alone; samples have the labels that were asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import giantstep as gs
from giantstep.simulation.data import Data
from giantstep.simulation.draw import CHUNK_ROWS, Draws, Kind, Purpose, step_batch

from .helpers import BACKEND

ENOUGH = 4.0  # standard errors


def inputs(start: int, stop: int, width: int = 5, seed: int = 3, trial: int = 4) -> np.ndarray:
    return Draws(seed, trial, BACKEND).normal(Purpose.TRAIN, Kind.INPUTS, start, stop, width)


def test_more_rows_only_append():
    long = inputs(0, 3 * CHUNK_ROWS + 7)
    for start, stop in [(0, 1), (0, CHUNK_ROWS), (5, CHUNK_ROWS + 1), (CHUNK_ROWS - 1, 3 * CHUNK_ROWS + 7)]:
        np.testing.assert_array_equal(inputs(start, stop), long[start:stop])


def test_every_word_of_the_key_opens_another_stream():
    draws = Draws(3, 4, BACKEND)
    batches = [Purpose.TRAIN, Purpose.TEST, *map(step_batch, range(3))]
    streams = [draws.normal(batch, Kind.INPUTS, 0, 40, 5) for batch in batches]
    streams += [
        inputs(0, 40, seed=4),
        inputs(0, 40, seed=2**64 - 1),
        inputs(0, 40, trial=3),
        inputs(CHUNK_ROWS, CHUNK_ROWS + 40),
    ]
    streams += [draws.normal(Purpose.TRAIN, Kind.NOISE, 0, 40, 5)]
    flat = np.stack([stream.ravel() for stream in streams])
    correlation = np.corrcoef(flat) - np.eye(len(flat))
    assert np.abs(correlation).max() < 5 / np.sqrt(flat.shape[1])  # five standard deviations of chance


def test_normals_and_uniforms_have_their_moments():
    z = inputs(0, 4000, width=50)
    assert abs(z.mean()) < 4 / np.sqrt(z.size)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / z.size)
    u = Draws(0, 0, BACKEND).uniform(Purpose.TRAIN, Kind.COIN, 0, 20000)
    assert u.shape == (20000,)
    assert 0 <= u.min() <= u.max() < 1
    assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * len(u))


def test_sampled_test_errors_are_of_fresh_samples():
    """All but interpolating a noiseless target: no error on the samples of the fit, a large one elsewhere."""
    net = gs.Network("tanh", eta=1.0, alpha0=1.0, beta=2.0)
    found = gs.simulate(net, "sin", alpha=1.0, lam=1e-9, d=60, trials=1, n_test=60, progress=False)
    assert float(found.train_error[0]) < 1e-6
    assert float(found.test_error[0]) > 0.01


def chance(value: np.ndarray, target: gs.Target) -> np.ndarray:
    """P(Y = 1) given the value of the function, before flips."""
    if target.scale is None:
        noisy = np.vectorize(math.erf)(value / (math.sqrt(2) * (target.latent_noise or 1e-300)))
        return (1 + noisy) / 2
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    each = 1 / (1 + np.exp(-target.scale * (value[:, None] + target.latent_noise * nodes)))
    return each @ weights / weights.sum()


@pytest.mark.parametrize(
    ("target", "function"),
    [
        (gs.Target("sign", flips=0.1), lambda z1, z2: z1),
        (gs.Target("sign", latent_noise=2.0), lambda z1, z2: z1),
        (gs.Target("logistic", scale=3.0, latent_noise=1.0), lambda z1, z2: z1),
        (gs.Target("x1*x2 + x1", flips=0.2), lambda z1, z2: z1 * z2 + z1),
        (gs.Target("x1*x2 + x1", latent_noise=0.7), lambda z1, z2: z1 * z2 + z1),
        (gs.Target("x1*x2 + x1", scale=2.0, latent_noise=1.5, flips=0.1), lambda z1, z2: z1 * z2 + z1),
    ],
)
def test_signs_are_as_likely_as_the_value_of_the_function_makes_them(target, function):
    """Labels less their expectation are uncorrelated with whatever the inputs say, to four standard errors."""
    n, theta = 20_000, tuple(np.eye(4)[: target.directions])
    block = Data(Purpose.TRAIN, target, theta, Draws(0, 0, BACKEND)).block(0, n)
    z1, z2 = block.inputs[:, 0], block.inputs[:, 1]
    value = function(z1, z2)
    np.testing.assert_array_equal(block.clean, np.sign(value))
    mean = (1 - 2 * target.flips) * (2 * chance(value, target) - 1)
    assert set(np.unique(block.labels)) == {-1.0, 1.0}
    for test in (np.ones(n), value, z2, block.clean):
        error = math.sqrt(((1 - mean**2) * test**2).sum())
        assert abs((block.labels - mean) @ test) < ENOUGH * error


def test_real_labels_are_the_function_of_the_projections_plus_noise():
    target, theta = gs.Target("x1 - 2*x2**2", noise=0.5), tuple(np.eye(3)[[2, 0]])
    block = Data(Purpose.TRAIN, target, theta, Draws(0, 0, BACKEND)).block(0, 10_000)
    expected = block.inputs[:, 2] - 2 * block.inputs[:, 0] ** 2
    np.testing.assert_allclose(block.clean, expected, rtol=1e-14, atol=1e-14)
    noise = block.labels - block.clean
    assert noise.std() == pytest.approx(0.5, abs=ENOUGH * 0.5 / math.sqrt(2 * len(noise)))
    assert abs(noise @ expected) < ENOUGH * 0.5 * np.linalg.norm(expected)

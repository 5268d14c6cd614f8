"""Random numbers depend on (seed, trial, batch, kind, row) alone; samples have the labels that were asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import giantstep as gs
from giantstep.simulation.data import Data
from giantstep.simulation.draw import CHUNK_ROWS, Draws, Kind, Purpose, step_batch

from .helpers import BACKEND, library

ENOUGH = 4.0  # standard errors


@pytest.mark.parametrize("native", [False, True], ids=["numpy", "a GPU's generator"])
def test_more_rows_only_append_and_have_the_moments_of_normals(native):
    """The native generator of torch is tried on the CPU."""
    backend = library("torch") if native else BACKEND
    if native:
        backend.draws_natively = True

    def rows(start, stop):
        return backend.numpy(Draws(3, 4, backend).normal(Purpose.TRAIN, Kind.INPUTS, start, stop, 50))

    long = rows(0, 15 * CHUNK_ROWS + 7)
    for start, stop in [(0, 1), (0, CHUNK_ROWS), (5, CHUNK_ROWS + 1), (CHUNK_ROWS - 1, 3 * CHUNK_ROWS + 7)]:
        np.testing.assert_array_equal(rows(start, stop), long[start:stop])
    assert abs(long.mean()) < ENOUGH / np.sqrt(long.size)
    assert abs(long.var() - 1) < ENOUGH * np.sqrt(2 / long.size)


def test_every_word_of_the_key_opens_another_stream():
    batches = [Purpose.TRAIN, Purpose.TEST, *map(step_batch, range(3))]
    keys = [(3, 4, batch, Kind.INPUTS, 0) for batch in batches]
    keys += [(3, 4, Purpose.TRAIN, Kind.INPUTS, CHUNK_ROWS), (3, 4, Purpose.TRAIN, Kind.NOISE, 0)]
    keys += [(*key, Purpose.TRAIN, Kind.INPUTS, 0) for key in ((4, 4), (2**64 - 1, 4), (3, 3))]
    streams = [
        Draws(seed, trial, BACKEND).normal(batch, kind, start, start + 40, 5).ravel()
        for seed, trial, batch, kind, start in keys
    ]
    correlation = np.corrcoef(streams) - np.eye(len(keys))
    assert np.abs(correlation).max() < 5 / np.sqrt(200)  # five standard deviations of chance


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
    "target",
    [
        gs.Target("sign", flips=0.1),
        gs.Target("sign", latent_noise=2.0),
        gs.Target("logistic", scale=3.0, latent_noise=1.0),
        gs.Target("x1*x2 + x1", flips=0.2),
        gs.Target("x1*x2 + x1", latent_noise=0.7),
        gs.Target("x1*x2 + x1", scale=2.0, latent_noise=1.5, flips=0.1),
    ],
)
def test_signs_are_as_likely_as_the_value_of_the_function_makes_them(target):
    """Labels less their expectation are uncorrelated with whatever the inputs say, to four standard errors."""
    n, theta = 20_000, tuple(np.eye(4)[: target.directions])
    block = Data(Purpose.TRAIN, target, theta, Draws(0, 0, BACKEND)).block(0, n)
    z1, z2 = block.inputs[:, 0], block.inputs[:, 1]
    value = z1 if target.directions == 1 else z1 * z2 + z1
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

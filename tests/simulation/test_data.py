"""Samples: what they are labelled with, and that a test sees fresh ones."""

import math

import numpy as np
import pytest

import giantstep as gs
from giantstep.simulation.backend import NumpyBackend
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Draws, Purpose


def test_sampled_test_errors_are_of_fresh_samples():
    """All but interpolating a noiseless target: no error on the samples of the fit, a large one elsewhere."""
    net = gs.Network("tanh", eta=1.0, alpha0=1.0, beta=2.0)
    found = gs.simulate(net, "sin", alpha=1.0, lam=1e-9, d=60, trials=1, n_test=60, progress=False)
    assert float(found.train_error[0]) < 1e-6
    assert float(found.test_error[0]) > 0.01


@pytest.mark.parametrize(
    ("target", "right"),
    [
        (gs.Target("logistic", scale=60.0, latent_noise=2.0), 0.5 + math.atan(0.5) / math.pi),
        (gs.Target("sign", latent_noise=2.0), 0.5 + math.atan(0.5) / math.pi),
        (gs.Target("sign", flips=0.1), 0.9),
    ],
)
def test_noise_before_a_sign_and_flips_after_it_make_as_many_labels_wrong_as_they_say(target, right):
    """sign(z + 2ε) is sign z with probability ½ + arctan(½)/π; four standard errors of 10 000 samples."""
    n, theta = 10_000, np.array([1.0, 0.0, 0.0])
    block = Data(Purpose.TRAIN, target, (theta,), Draws(0, 0, NumpyBackend())).block(0, n)
    share = np.mean(block.labels == np.sign(block.inputs[:, 0]))
    assert share == pytest.approx(right, abs=4.0 * math.sqrt(right * (1.0 - right) / n))

"""Features: the conditional moments of Result 2."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from giantstep.model.letters import Letters
from giantstep.model.spiked import SpikedRF
from giantstep.model.target import as_target
from giantstep.simulation.backend import make_backend
from giantstep.simulation.data import Block
from giantstep.simulation.draw import Draws, Purpose
from giantstep.simulation.features import GaussianFeatures, NetworkFeatures, ResultTwo
from giantstep.simulation.first_layer import first_layer

BACKEND = make_backend()
MODEL = SpikedRF("relu", r=0.8, gamma=0.6, readout=Letters((1.0, -0.5), (0.5, 0.5), (0.1, -0.3), (1.0, 2.0)))


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
    draws = Draws(0, 0, BACKEND)
    layer = first_layer(MODEL, as_target("sin"), d, draws)
    x = np.random.default_rng(0).standard_normal(d)
    block = Block(0, np.tile(x, (count, 1)), np.zeros(count), np.zeros(count))
    phi = GaussianFeatures(layer, ResultTwo(MODEL), draws)(block, Purpose.TRAIN)
    (v,), (spike,) = layer.v, layer.spike
    bulk = (layer.rows - np.outer(spike, v)) @ x
    mu0, mu1, mu2 = (np.repeat(mu[:, 0], 15) for mu in ResultTwo(MODEL)(np.array([v @ x])))
    assert np.abs((phi.mean(axis=0) - mu0 - mu1 * bulk) / (mu2 / np.sqrt(count))).max() < 4.5
    assert np.abs(phi.var(axis=0) / mu2**2 - 1).max() < 4.5 * np.sqrt(2 / count)
    correlation = np.corrcoef(phi.T) - np.eye(d)
    assert np.abs(correlation).max() < 5 / np.sqrt(count)


def test_true_features_have_the_same_conditional_mean_and_linear_part():
    """E[σ(Fx+b) | κ] over the bulk is μ0: averaged over many neurons of one letter at a fixed x."""
    model = SpikedRF("tanh", r=0.8, gamma=0.6, c=1.3, beta=40.0)
    d, draws = 100, Draws(0, 0, BACKEND)
    layer = first_layer(model, as_target("sin"), d, draws)
    x = np.random.default_rng(1).standard_normal(d)
    x *= np.sqrt(d / (x @ x))  # so that w_i·x has variance c, up to the part along v
    block = Block(0, x[None, :], np.zeros(1), np.zeros(1))
    phi = NetworkFeatures(layer, model.activation, BACKEND)(block, Purpose.TRAIN)[0]
    mu0, mu1, mu2 = (mu[0, 0] for mu in ResultTwo(model)(np.array([layer.v[0] @ x])))
    error = np.sqrt((mu1**2 * 1.3 + mu2**2) / len(phi))
    assert abs(phi.mean() - mu0) < 4.5 * error

"""Inputs with a covariance: whitened coordinates give what inputs x ~ N(0, Ω) would."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs
from giantstep.simulation.draw import Draws, Purpose
from giantstep.simulation.first_layer import coordinates, eigenvalues, first_layer, target_directions

from .helpers import BACKEND, drawn, samples

TWO = ([2.5, 0.5], [0.25, 0.75])
MATRICES = np.array([[[0.5, 0.3], [0.3, 0.4]], [[0.5, -0.3], [-0.3, 0.6]]])


def test_one_eigenvalue_is_isotropic() -> None:
    net = gs.Network("relu", eta=1, alpha0=1, steps=2, readout="rademacher")
    isotropic, one = (
        gs.simulate(net, gs.Target("tanh", inputs=inputs), alpha=[0.5, 2], lam=0.1, d=60, trials=2)
        for inputs in (None, gs.Inputs([3.0]))
    )
    for name in isotropic.data_vars:
        np.testing.assert_allclose(one[name], isotropic[name], rtol=1e-9, atol=1e-9, err_msg=str(name))


@pytest.mark.parametrize("k", [1, 2])
def test_directions_have_the_shares_that_were_asked_for(k: int) -> None:
    shares = MATRICES if k == 2 else MATRICES[:, 0, 0]
    inputs, d = gs.Inputs(*TWO, shares), 40
    *theta, free = target_directions(inputs, k, d, Draws(3, 1, BACKEND))
    ends = np.cumsum(coordinates(inputs, d))
    assert ends.tolist() == [10, 40]
    blocks = np.split(np.stack(theta), ends[:-1], axis=1)
    np.testing.assert_allclose([block @ block.T for block in blocks], inputs.tau(k), atol=1e-12)
    np.testing.assert_allclose(np.stack(theta) @ free, 0.0, atol=1e-12)


def test_two_directions_on_single_eigenvalues_are_orthonormal_with_the_right_mean_shares() -> None:
    inputs, d = gs.Inputs.power_law(0.5, d=50), 50
    total = np.zeros(d)
    for trial in range(400):
        theta = np.stack(target_directions(inputs, 2, d, Draws(0, trial, BACKEND))[:2])
        np.testing.assert_allclose(theta @ theta.T, np.eye(2), atol=1e-12)
        total += theta[0] ** 2 / 400
    # each share is τ·2 sin² of a uniform angle, of standard deviation τ/√2; orthonormality costs a few per cent
    z = (total - inputs.tau(1)[:, 0, 0]) / (inputs.tau(1)[:, 0, 0] / np.sqrt(2 * 400))
    assert np.sqrt((z**2).mean()) < 1.5


def test_a_step_is_the_plain_gradient_step_in_the_inputs() -> None:
    d, n0, eta = 30, 45, 1.3
    target = gs.Target("x1 + x1*x2", inputs=gs.Inputs([2.5, 0.5, 0.0], [0.2, 0.6, 0.2], [[0.7, 0.3, 0], [0.2, 0.8, 0]]))
    net = gs.Network("tanh", eta=eta, alpha0=n0 / d, readout="rademacher")
    (layer, draws), (start, _) = (drawn(one, target, d) for one in (net, gs.Network("tanh", eta=0, alpha0=0)))
    root = np.sqrt(eigenvalues(target.inputs, d))
    block = samples(Purpose.STEP, layer, draws, target, n0)
    x, there = block.inputs * root, root > 0
    w = start.rows[:, there] / root[there]
    theta = np.stack(layer.theta)[:, there] / root[there]
    z1, z2 = theta @ x[:, there].T
    np.testing.assert_allclose(block.labels, z1 + z1 * z2, atol=1e-12)
    letters = np.repeat([-1.0, 1.0], d // 2)
    h = x[:, there] @ w.T
    error = block.labels - np.tanh(h) @ letters / d
    gradient = -(letters[:, None] / d) * ((error[:, None] / np.cosh(h) ** 2).T @ x) / n0
    stepped = w - eta * d * gradient[:, there]
    np.testing.assert_allclose(layer.rows[:, there], stepped * root[there], rtol=1e-10, atol=1e-12)


def test_initial_rows_have_unit_norm_in_the_space_of_the_inputs() -> None:
    target = gs.Target("sin", inputs=gs.Inputs(*TWO))
    layer, _ = drawn(gs.Network("tanh", eta=0, alpha0=0), target)
    root = np.sqrt(eigenvalues(target.inputs, 40))
    np.testing.assert_allclose(((layer.rows / root) ** 2).sum(axis=1), 1.0)


def test_a_grid_of_exponents_is_its_points() -> None:
    net = gs.Network("tanh", eta=1, alpha0=1)

    def simulated(exponent: object) -> object:
        target = gs.Target("sin", noise=0.1, inputs=gs.Inputs.power_law(exponent, d=40))
        return gs.simulate(net, target, alpha=2, lam=0.1, d=40, trials=2)

    grid = simulated([0.0, 0.4])
    assert grid.test_error.dims == ("trial", "exponent")
    for exponent in (0.0, 0.4):
        alone = simulated(exponent).test_error
        np.testing.assert_array_equal(grid.test_error.sel(exponent=exponent), alone)


@pytest.mark.parametrize("masses", [[0.25, 0.75], [0.26, 0.74]])
def test_eigenvalues_have_mean_one_whatever_the_size(masses) -> None:
    """A quarter of 10 inputs is 2 or 3 of them: the eigenvalues of the 10 are rescaled."""
    for d in (2, 10, 11):
        inputs = gs.Inputs([2.5, 0.5], masses)
        omega = eigenvalues(inputs, d)
        assert omega.mean() == pytest.approx(1.0, rel=1e-14)
        assert np.unique(omega, return_counts=True)[1].tolist() == coordinates(inputs, d).tolist()[::-1]


def _sample(n: int = 1200, d: int = 20, seed: int = 0) -> np.ndarray:
    """Inputs with a covariance, a mean and heavy tails, in no special basis."""
    random = np.random.default_rng(seed)
    rotation = np.linalg.qr(random.normal(size=(d, d)))[0]
    return random.standard_t(8, size=(n, d)) * np.linspace(2, 0.2, d) @ rotation + 3.0


def test_kept_rows_are_the_users_own_and_each_is_in_one_batch() -> None:
    X = _sample()
    inputs = gs.Inputs.from_data(X, direction=np.ones(20), keep=True)
    target, net = gs.Target("x", inputs=inputs), gs.Network("tanh", eta=1, alpha0=1, steps=2)
    draws = Draws(0, 0, BACKEND)
    layer = first_layer(net, target, 20, draws)
    centred = X - X.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1) / np.sqrt((centred**2).mean())
    order, seen = np.argsort(lengths), []
    for batch in (Purpose.STEP, Purpose.TEST + 1, Purpose.TRAIN, Purpose.TEST):
        block = samples(batch, layer, draws, target, 300, net.most_steps)
        x = block.inputs * np.sqrt(eigenvalues(inputs, 20))  # the same rows, turned: lengths and labels agree
        places = order[np.searchsorted(lengths[order], np.linalg.norm(x, axis=1) - 1e-9)]
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), lengths[places], rtol=1e-9)
        z = centred @ np.ones(20)
        np.testing.assert_allclose(block.labels, (z / z.std())[places], atol=1e-9)
        seen.append(places)
    assert len(np.unique(np.concatenate(seen))) == 1200
    found = gs.simulate(net, target, alpha=4, lam=0.3, d=20, trials=1)
    assert found.attrs["test_error_method"] == "sampled"
    assert found.test_samples.item() == 300

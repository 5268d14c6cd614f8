"""Inputs with a covariance: whitened coordinates give what inputs x ~ N(0, Ω) would."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs
from giantstep.simulation.draw import Draws, Purpose
from giantstep.simulation.first_layer import coordinates, eigenvalues, first_layer, target_directions

from ..zoo import BLOCKS, TOGETHER
from .helpers import BACKEND, drawn, samples


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
    inputs, d = gs.Inputs(*BLOCKS, TOGETHER if k == 2 else [0.5, 0.5]), 40
    *theta, free = target_directions(inputs, k, d, Draws(3, 1, BACKEND))
    ends = np.cumsum(coordinates(inputs, d))
    assert ends.tolist() == [10, 40]
    blocks = np.split(np.stack(theta), ends[:-1], axis=1)
    np.testing.assert_allclose([block @ block.T for block in blocks], inputs.tau(k), atol=1e-12)
    np.testing.assert_allclose(np.stack(theta) @ free, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "inputs", [gs.Inputs.power_law(0.5, d=50), gs.Inputs([5.5, 0.5], [0.1, 0.9], [[0.02, 0.98]] * 2)]
)
def test_two_directions_on_single_coordinates_are_orthonormal_with_the_right_mean_shares(inputs) -> None:
    counts = coordinates(inputs, d := inputs.d or 10)
    assert counts[0] == 1
    total = np.zeros(len(counts))
    for trial in range(400):
        theta = np.stack(target_directions(inputs, 2, d, Draws(0, trial, BACKEND))[:2])
        np.testing.assert_allclose(theta @ theta.T, np.eye(2), atol=1e-12)
        total += np.add.reduceat(theta[0] ** 2, np.cumsum(counts) - counts) / 400
    # each share is τ·2 sin² of a uniform angle, of standard deviation τ/√2; orthonormality costs a few per cent
    tau = inputs.tau(2)[:, 0, 0]
    z = (total - tau) / (tau / np.sqrt(2 * 400))
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
    pull = root * (block.labels @ x)  # the outputs have mean 0
    np.testing.assert_allclose(layer.v[0], pull / np.linalg.norm(pull), rtol=1e-10)


def test_initial_rows_have_unit_norm_in_the_space_of_the_inputs() -> None:
    target = gs.Target("sin", inputs=gs.Inputs(*BLOCKS))
    layer, _ = drawn(gs.Network("tanh", eta=0, alpha0=0), target)
    root = np.sqrt(eigenvalues(target.inputs, 40))
    np.testing.assert_allclose(((layer.rows / root) ** 2).sum(axis=1), 1.0)


@pytest.mark.parametrize("masses", [[0.25, 0.75], [0.26, 0.74]])
def test_eigenvalues_have_mean_one_whatever_the_size(masses) -> None:
    """A quarter of 10 inputs is 2 or 3 of them: the eigenvalues of the 10 are rescaled."""
    for d in (2, 10, 11):
        inputs = gs.Inputs([2.5, 0.5], masses)
        omega = eigenvalues(inputs, d)
        assert omega.mean() == pytest.approx(1.0, rel=1e-14)
        assert np.unique(omega, return_counts=True)[1].tolist() == coordinates(inputs, d).tolist()[::-1]


def test_kept_rows_are_the_users_own_and_each_is_in_one_batch() -> None:
    random = np.random.default_rng(0)
    rotation = np.linalg.qr(random.normal(size=(20, 20)))[0]
    X = random.standard_t(8, size=(1200, 20)) * np.linspace(2, 0.2, 20) @ rotation + 3.0
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

"""First layers: drawn with their exact geometry, or moved by one true gradient step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF, TwoSpikes
from giantstep.model.target import Target, as_target
from giantstep.simulation.backend import make_backend
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Draws, Purpose, step_batch
from giantstep.simulation.first_layer import first_layer
from giantstep.simulation.gradient_step import group_slices, unit_rows

BACKEND = make_backend()
LETTERS = Letters((1.0, -0.5, 0.0), (0.3, 0.45, 0.25), biases=(0.2, 0.0, -0.4))


def layer_of(model, target="sin", d=40, trial=0):
    return first_layer(model, as_target(target), d, Draws(1, trial, BACKEND))


@given(
    weights=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6),
    p=st.integers(6, 500),
)
def test_group_sizes_sum_to_p_and_stay_within_one_of_their_share(weights, p):
    shares = np.array(weights) / sum(weights)
    letters = Letters(tuple(range(len(shares))), tuple(shares / shares.sum()))
    groups = group_slices(letters, p)
    sizes = np.array([group.stop - group.start for group in groups])
    assert sizes.sum() == p
    assert (np.abs(sizes - shares * p) < 1 + 1e-9).all()
    assert [group.start for group in groups[1:]] == [group.stop for group in groups[:-1]]


def test_largest_remainders_get_the_neurons_that_are_left():
    groups = group_slices(Letters((0, 1, 2), (0.25, 0.5, 0.25)), 6)  # exact shares 1.5, 3, 1.5
    assert [group.stop - group.start for group in groups] == [2, 3, 1]


def test_initial_rows_have_unit_norm():
    rows = unit_rows(30, 20, Draws(0, 0, BACKEND))
    np.testing.assert_allclose((rows**2).sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("gamma", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_spiked_rows_have_exact_alignment_norms_and_spikes(gamma):
    letters = Letters((1.0, -0.5), (0.4, 0.6), c=(0.7, 2.0))
    layer = layer_of(SpikedRF("tanh", r=0.9, gamma=gamma, beta=1.5, readout=letters))
    (v,), (t,), (theta,), (spike,) = layer.v, layer.rest, layer.theta, layer.spike
    assert v @ theta == pytest.approx(gamma, abs=1e-14)
    assert theta @ theta == pytest.approx(1, abs=1e-14)
    assert t @ v == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(gamma * v + np.sqrt(1 - gamma**2) * t, theta, atol=1e-14)
    bulk = layer.rows - np.outer(spike, v)
    sizes = [group.stop - group.start for group in layer.groups]
    np.testing.assert_allclose((bulk**2).sum(axis=1), np.repeat([0.7, 2.0], sizes), rtol=1e-13)
    np.testing.assert_allclose(spike, np.repeat([0.9, -0.45], sizes))


@pytest.mark.parametrize("alignments", [(0.0, 0.0), (0.6, -0.5), (0.6, 0.8)])
def test_rows_with_two_spikes_have_exact_alignments_norms_and_spikes(alignments):
    model = TwoSpikes("tanh", (0.9, 0.5), alignments, ((1.0, 2.0), (-1.0, 1.0)), (0.4, 0.6), c=1.7, beta=1.5)
    layer = layer_of(model)
    v, (t,), (theta,) = np.stack(layer.v), layer.rest, layer.theta
    np.testing.assert_allclose(np.stack([*v, t]) @ np.stack([*v, t]).T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(v @ theta, alignments, atol=1e-14)
    across = np.sqrt(max(0.0, 1.0 - np.dot(alignments, alignments)))
    np.testing.assert_allclose(np.dot(alignments, v) + across * t, theta, atol=1e-14)
    sizes = [group.stop - group.start for group in layer.groups]
    np.testing.assert_allclose(layer.spike, np.repeat([[0.9, -0.9], [1.0, 0.5]], sizes, axis=1))
    bulk = layer.rows - layer.spike.T @ v
    np.testing.assert_allclose((bulk**2).sum(axis=1), 1.7, rtol=1e-13)


@pytest.mark.parametrize("target", ["sin", Target("sign", flips=0.1), Target("tanh", noise=0.3)])
def test_the_step_descends_the_loss_of_its_samples(target):
    """Finite differences of (1/2n0) Σ (y-f)² give the step, letter by letter and with biases."""
    d, eta, alpha0 = 12, 0.7, 2.0
    model = Network("tanh", eta=eta, alpha0=alpha0, beta=1.5, readout=LETTERS)
    draws = Draws(5, 2, BACKEND)
    before = first_layer(Network("tanh", 0.0, alpha0, 1.5, LETTERS), as_target(target), d, draws)
    after = first_layer(model, as_target(target), d, draws)
    p, n0 = before.rows.shape[0], round(alpha0 * d)
    block = Data(Purpose.STEP, as_target(target), before.theta, draws).block(0, n0)
    sizes = [group.stop - group.start for group in before.groups]
    readout, biases = np.repeat(LETTERS.values, sizes) / np.sqrt(p), np.repeat(LETTERS.biases or (), sizes)

    def loss(rows):
        outputs = np.tanh(block.inputs @ rows.T + biases) @ readout / np.sqrt(p)
        return ((block.labels - outputs) ** 2).sum() / (2 * n0)

    gradient, h = np.empty((p, d)), 1e-5
    for i, j in np.ndindex(p, d):
        shift = np.zeros((p, d))
        shift[i, j] = h
        gradient[i, j] = (loss(before.rows + shift) - loss(before.rows - shift)) / (2 * h)
    # central differences: error h² f'''/6 ~ 1e-10 of the gradient's size, plus rounding 1e-16/h = 1e-11
    np.testing.assert_allclose(after.rows - before.rows, -eta * d * gradient, atol=1e-8)


@pytest.mark.parametrize("reuse", [False, True], ids=["fresh batches", "the same batch"])
@pytest.mark.parametrize("alpha0", [2.0, 0.5], ids=["more samples than neurons", "fewer"])
def test_between_steps_the_readout_is_the_ridge_estimate_on_the_last_batch(reuse, alpha0):
    """Step by step in plain numpy: the first with the letters, each other along the gradient with the fitted readout.

    Its rate is divided by the growth of the readout's length.
    """
    d, eta, lam, target = 20, 0.7, 0.3, as_target(Target("sin", noise=0.2))
    said = {"eta": eta, "alpha0": alpha0, "beta": 1.5, "readout": LETTERS}
    draws = Draws(5, 2, BACKEND)
    found = first_layer(Network("tanh", steps=3, reuse_batch=reuse, refit=lam, **said), target, d, draws)
    start = first_layer(Network("tanh", **{**said, "eta": 0.0}), target, d, draws)
    rows, (p, _), n0 = start.rows, start.rows.shape, round(alpha0 * d)
    sizes = [group.stop - group.start for group in start.groups]
    first, biases = np.repeat(LETTERS.values, sizes) / np.sqrt(p), np.repeat(LETTERS.biases or (), sizes)
    readout = first
    for t in range(3):
        block = Data(step_batch(0 if reuse else t), target, start.theta, draws).block(0, n0)
        fields = block.inputs @ rows.T + biases
        residual = block.labels - np.tanh(fields) @ readout / np.sqrt(p)
        ascent = (
            (residual[:, None] * (1 - np.tanh(fields) ** 2) * readout).T @ block.inputs / (n0 * np.sqrt(p))
        )
        rows = rows + eta * d * np.linalg.norm(first) / np.linalg.norm(readout) * ascent
        features = np.tanh(block.inputs @ rows.T + biases) / np.sqrt(p)
        readout = np.linalg.solve(features.T @ features + lam * np.eye(p), features.T @ block.labels)
    np.testing.assert_allclose(found.rows, rows, rtol=1e-9, atol=1e-10)


def test_a_readout_that_is_fitted_between_steps_leaves_one_step_as_it_is_and_moves_the_next():
    one, two = ({"eta": 2.0, "alpha0": 1.0, "steps": steps} for steps in (1, 2))
    plain, refitted = (layer_of(Network("tanh", **one, **more)) for more in ({}, {"refit": 0.1}))
    np.testing.assert_array_equal(refitted.rows, plain.rows)
    plain, refitted = (layer_of(Network("tanh", **two, **more), d=200) for more in ({}, {"refit": 1.0}))
    np.testing.assert_array_equal(
        *(layer.measured["network_error"][0] for layer in (plain, refitted))
    )  # the first step is the same
    moved, further = (np.linalg.norm(layer.rows, axis=1).mean() for layer in (plain, refitted))
    assert 0.5 < further / moved < 2.0  # of the same order, though the readout is some 14 times as long


def test_the_step_does_not_depend_on_the_size_of_its_blocks():
    model, small = Network("tanh", 2.0, 40.0), make_backend()
    small.block_rows = 256
    one = layer_of(model)
    other = first_layer(model, as_target("sin"), 40, Draws(1, 0, small))
    np.testing.assert_allclose(other.rows, one.rows, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("change", [{"eta": 0.0}, {"alpha0": 0.0}])
def test_without_a_step_the_layer_is_random_features(change):
    layer = layer_of(Network("tanh", **({"eta": 1.0, "alpha0": 1.0} | change)))
    np.testing.assert_array_equal(layer.rows, unit_rows(40, 40, Draws(1, 0, BACKEND)))
    assert layer.measured["r"] == layer.measured["gamma"] == 0
    assert layer.v[0] @ layer.theta[0] == pytest.approx(0, abs=1e-14)
    assert layer.measured["c"] == pytest.approx(1, abs=1e-14)


def test_measured_quantities_are_those_of_the_trained_rows():
    layer = layer_of(Network("tanh", 2.0, 3.0), d=60)
    (v,), (t,), (theta,) = layer.v, layer.rest, layer.theta
    (r,), (c,) = layer.measured["r"], layer.measured["c"]
    assert r == pytest.approx((layer.rows @ v).mean(), rel=1e-13)
    assert c == pytest.approx(((layer.rows - r * v) ** 2).sum(axis=1).mean(), rel=1e-13)
    assert layer.measured["gamma"] == pytest.approx(v @ theta, rel=1e-13)
    assert layer.measured["overlap"][0] == pytest.approx((layer.rows @ theta).mean(), rel=1e-13)
    (gamma,) = layer.measured["gamma"]
    np.testing.assert_allclose(gamma * v + np.sqrt(1 - gamma**2) * t, theta, atol=1e-13)


def test_with_biases_each_letter_has_a_strength_of_its_own():
    """By the mean of its own rows along the pull, over the letter; what is left of them is its own c."""
    layer = layer_of(Network("relu", 2.0, 3.0, readout=LETTERS), d=60)
    (v,), (spike,) = layer.v, layer.spike
    assert layer.measured["r"].shape == layer.measured["c"].shape == (3,)
    for group, value, r, c in zip(
        layer.groups, LETTERS.values, layer.measured["r"], layer.measured["c"], strict=True
    ):
        rows = layer.rows[group]
        assert r == pytest.approx((rows @ v).mean() / value if value else 0.0, rel=1e-13)
        assert spike[group] == pytest.approx(r * value, rel=1e-13)
        assert c == pytest.approx(((rows - r * value * v) ** 2).sum(axis=1).mean(), rel=1e-13)
    assert layer.measured["r"][0] != pytest.approx(layer.measured["r"][1], rel=0.05)


def test_odd_activations_do_not_see_the_sign_of_a_letter():
    """Turning over (letter, row) leaves the spike's strength, c and gamma unchanged in distribution."""
    signed = [layer_of(Network("tanh", 2.0, 3.0, readout="rademacher"), d=100, trial=t) for t in range(12)]
    uniform = [layer_of(Network("tanh", 2.0, 3.0), d=100, trial=t) for t in range(12)]
    for name in ("r", "gamma"):
        a, b = (np.array([layer.measured[name] for layer in layers]) for layers in (signed, uniform))
        error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 12)
        assert abs(a.mean() - b.mean()) < 4 * error


@pytest.mark.parametrize("letters", [Letters((1.0,), (1.0,)), LETTERS])
def test_the_step_pulls_along_the_residuals_of_the_mean_output(letters):
    """relu: E relu(z + b) = φ(b) + b Φ(b). The direction has no trace of what f fluctuates about its mean."""
    model, target, d = Network("relu", 2.0, 3.0, readout=letters), as_target("sin"), 40
    draws = Draws(1, 0, BACKEND)
    layer = first_layer(model, target, d, draws)
    block = Data(Purpose.STEP, target, layer.theta, draws).block(0, 120)
    b = np.asarray(letters.biases or (0.0,))
    means = np.exp(-(b**2) / 2) / np.sqrt(2 * np.pi) + b * ndtr(b)
    sizes = [group.stop - group.start for group in layer.groups]
    f = np.dot(sizes, np.asarray(letters.values) * means) / sum(sizes)
    pull = (block.labels - f) @ block.inputs
    np.testing.assert_allclose(layer.v[0], pull / np.linalg.norm(pull), atol=1e-13)

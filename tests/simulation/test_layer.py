"""First layers: drawn with their exact geometry, or moved by true gradient steps."""

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
from giantstep.simulation.draw import Draws, Purpose, step_batch
from giantstep.simulation.first_layer import first_layer
from giantstep.simulation.gradient_step import group_slices, unit_rows

from .helpers import LETTERS, drawn, ridge_readout, samples, sizes


@given(weights=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), p=st.integers(6, 500))
def test_group_sizes_sum_to_p_and_stay_within_one_of_their_share(weights, p):
    shares = np.array(weights) / sum(weights)
    letters = Letters(tuple(range(len(shares))), tuple(shares / shares.sum()))
    groups = group_slices(letters, p)
    counts = np.array([group.stop - group.start for group in groups])
    assert counts.sum() == p
    assert (np.abs(counts - shares * p) < 1 + 1e-9).all()
    assert [group.start for group in groups[1:]] == [group.stop for group in groups[:-1]]


@pytest.mark.parametrize(
    ("weights", "counts"),
    [((0.25, 0.5, 0.25), [2, 3, 1]), ((0.5, 0.3, 0.2), [3, 2, 1])],  # of exact shares 1.5, 3, 1.5 and 3, 1.8, 1.2
)
def test_largest_remainders_get_the_neurons_that_are_left(weights, counts):
    assert [group.stop - group.start for group in group_slices(Letters((0, 1, 2), weights), 6)] == counts


TWO_C = Letters((1.0, -0.5), (0.4, 0.6), c=(0.7, 2.0))
LEFT = {"left": ((1.0, 2.0), (-1.0, 1.0)), "weights": (0.4, 0.6), "c": 1.7, "beta": 1.5}
GIVEN = [
    *(SpikedRF("tanh", 0.9, gamma, beta=1.5, readout=TWO_C) for gamma in (-1.0, -0.3, 0.0, 1.0)),
    *(TwoSpikes("tanh", (0.9, 0.5), two, **LEFT) for two in ((0.0, 0.0), (0.6, -0.5), (0.6, 0.8))),
]


@pytest.mark.parametrize("model", GIVEN, ids=str)
def test_spiked_rows_have_exact_alignment_norms_and_spikes(model):
    layer, _ = drawn(model)
    two = isinstance(model, TwoSpikes)
    alignments = model.alignments if two else (model.gamma,)
    spikes, norms = ([[0.9, -0.9], [1.0, 0.5]], [1.7, 1.7]) if two else ([[0.9, -0.45]], [0.7, 2.0])
    v, (t,), (theta,) = np.stack(layer.v), layer.rest, layer.theta
    units = np.stack([*v, t])
    np.testing.assert_allclose(units @ units.T, np.eye(len(units)), atol=1e-14)
    across = np.sqrt(max(0.0, 1.0 - np.dot(alignments, alignments)))
    np.testing.assert_allclose(np.dot(alignments, v) + across * t, theta, atol=1e-14)
    np.testing.assert_allclose(layer.spike, np.repeat(spikes, sizes(layer), axis=1))
    bulk = layer.rows - layer.spike.T @ v
    np.testing.assert_allclose((bulk**2).sum(axis=1), np.repeat(norms, sizes(layer)), rtol=1e-13)
    np.testing.assert_allclose(layer.radii**2, np.repeat(norms, sizes(layer)), rtol=1e-13)


@pytest.mark.parametrize("gamma", [0.4, 1.0])
def test_orthogonal_rows_are_the_projector_across_the_spike(gamma):
    model = SpikedRF("relu", r=0.7, gamma=gamma, readout="rademacher")
    layer, _ = drawn(model, d=50, bulk="orthogonal")
    (v,), (spike,) = layer.v, layer.spike
    rows = layer.rows - np.outer(spike, v)
    np.testing.assert_allclose(rows @ rows, rows, atol=1e-14)  # a projector
    np.testing.assert_allclose(rows @ v, 0, atol=1e-14)
    assert np.trace(rows) == pytest.approx(49, abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), layer.radii, rtol=1e-13)
    assert v @ layer.theta[0] == pytest.approx(gamma, abs=1e-14)
    assert sorted(np.unique(spike)) == [-0.7, 0.7]


@pytest.mark.parametrize("reuse", [False, True], ids=["fresh batches", "the same batch"])
@pytest.mark.parametrize("refit", [None, 0.3], ids=["the same readout", "fitted"])
@pytest.mark.parametrize("alpha0", [2.0, 0.5], ids=["more samples than neurons", "fewer"])
def test_steps_follow_the_gradient_with_the_readout_of_the_moment_and_are_measured(reuse, refit, alpha0):
    """Step by step in plain numpy. A fitted readout is the ridge estimate on the last batch, and divides the rate by
    the growth of its length."""
    d, eta, target = 20, 0.7, Target("sin", noise=0.2)
    common = {"eta": eta, "alpha0": alpha0, "beta": 1.5, "readout": LETTERS}
    layer, draws = drawn(Network("tanh", steps=3, reuse_batch=reuse, refit=refit, **common), target, d)
    start, _ = drawn(Network("tanh", **{**common, "eta": 0.0}), target, d)
    rows, (p, _), n0 = start.rows, start.rows.shape, round(alpha0 * d)
    first = np.repeat(LETTERS.values, sizes(start)) / np.sqrt(p)
    readout, biases = first, np.repeat(LETTERS.biases or (), sizes(start))
    for t in range(3):
        block = samples(step_batch(0 if reuse else t), start, draws, target, n0)
        fields = block.inputs @ rows.T + biases
        residual = block.labels - np.tanh(fields) @ readout / np.sqrt(p)
        slopes = residual[:, None] * (1 - np.tanh(fields) ** 2) * readout
        rate = eta * d * np.linalg.norm(first) / np.linalg.norm(readout)
        rows = rows + rate * slopes.T @ block.inputs / (n0 * np.sqrt(p))
        spikes = [rows[group].mean(axis=0) - start.rows[group].mean(axis=0) for group in start.groups]
        bulk = [((rows[g] - spike) ** 2).sum(axis=1).mean() for g, spike in zip(start.groups, spikes, strict=True)]
        np.testing.assert_allclose(layer.measured["c"][t], bulk, rtol=1e-9)
        test = samples(Purpose.TEST, layer, draws, target, 5 * d)
        off = np.tanh(test.inputs @ rows.T + biases) @ readout / np.sqrt(p) - test.clean
        assert layer.measured["network_error"][t] == pytest.approx((off**2).mean(), rel=1e-9)
        if refit is not None:
            readout = ridge_readout(np.tanh(block.inputs @ rows.T + biases), block.labels, refit)
    np.testing.assert_allclose(layer.rows, rows, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("activation", "letters"), [("tanh", Letters((1, -1), (0.5, 0.5))), ("relu", LETTERS)])
def test_spikes_are_the_mean_displacement_of_the_rows_of_their_letters(activation, letters):
    """Letters ±1 of an odd activation share a spike, the mean of both: of 4 d samples each is off it by 1.5 %."""
    net = {"eta": 2.0, "alpha0": 4.0, "beta": 2.0, "readout": letters}
    layer, _ = drawn(Network(activation, **net, steps=2), d=100)
    start, _ = drawn(Network(activation, **net | {"eta": 0.0}), d=100)
    for group, value in zip(layer.groups, letters.values, strict=True):
        moved = (layer.rows - start.rows)[group].mean(axis=0)
        spike = layer.spike[:, group.start] @ np.stack(layer.v)
        if value != 0.0:
            assert np.linalg.norm(spike - moved) <= 0.05 * np.linalg.norm(moved)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("readout", [LETTERS, "gaussian"], ids=["letters", "a law"])
def test_overlaps_are_the_mean_components_along_the_target_after_any_number_of_steps(readout, steps):
    layer, _ = drawn(Network("relu", 2.0, 3.0, steps=steps, readout=readout), d=60)
    means = [(layer.rows[group] @ layer.theta[0]).mean() for group in layer.groups]
    np.testing.assert_allclose(layer.measured["overlap"][:, 0], means, rtol=1e-9)


def test_a_readout_that_is_fitted_between_steps_leaves_one_step_as_it_is():
    plain, fitted = (drawn(Network("tanh", 2.0, 1.0, steps=1, **more))[0] for more in ({}, {"refit": 0.1}))
    np.testing.assert_array_equal(fitted.rows, plain.rows)


def test_the_step_does_not_depend_on_the_size_of_its_blocks():
    model, small = Network("tanh", 2.0, 40.0), make_backend()
    small.block_rows = 256
    other = first_layer(model, as_target("sin"), 40, Draws(5, 0, small))
    np.testing.assert_allclose(other.rows, drawn(model)[0].rows, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("change", [{"eta": 0.0}, {"alpha0": 0.0}])
def test_without_a_step_the_layer_is_random_features(change):
    layer, draws = drawn(Network("tanh", **({"eta": 1.0, "alpha0": 1.0} | change)))
    np.testing.assert_array_equal(layer.rows, unit_rows(40, 40, draws))
    assert layer.measured["r"] == layer.measured["gamma"] == 0
    assert layer.v[0] @ layer.theta[0] == pytest.approx(0, abs=1e-14)
    assert layer.measured["c"] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("letters", [Letters((1.0,), (1.0,)), LETTERS])
def test_measured_quantities_are_those_of_the_trained_rows(letters):
    """r is the least squares fit of rows along v by the letters; with biases each letter has an r of its own."""
    layer, _ = drawn(Network("relu", 2.0, 3.0, readout=letters), d=60)
    (v,), (t,), (theta,), (spike,), measured = layer.v, layer.rest, layer.theta, layer.spike, layer.measured
    for s, (group, value) in enumerate(zip(layer.groups, letters.values, strict=True)):
        rows, r = layer.rows[group], measured["r"][s]
        assert r == pytest.approx((rows @ v).mean() / value if value else 0.0, rel=1e-13)
        assert spike[group] == pytest.approx(r * value, rel=1e-13)
        assert measured["c"][s] == pytest.approx(((rows - r * value * v) ** 2).sum(axis=1).mean(), rel=1e-13)
    (gamma,) = measured["gamma"]
    assert gamma == pytest.approx(v @ theta, rel=1e-13)
    np.testing.assert_allclose(gamma * v + np.sqrt(1 - gamma**2) * t, theta, atol=1e-13)


@pytest.mark.parametrize("letters", [Letters((1.0,), (1.0,)), LETTERS])
def test_the_step_pulls_along_the_residuals_of_the_mean_output(letters):
    """relu: E relu(z + b) = φ(b) + b Φ(b). The direction has no trace of what f fluctuates about its mean."""
    layer, draws = drawn(Network("relu", 2.0, 3.0, readout=letters))
    block = samples(Purpose.STEP, layer, draws, "sin", 120)
    b = np.asarray(letters.biases or (0.0,))
    means = np.exp(-(b**2) / 2) / np.sqrt(2 * np.pi) + b * ndtr(b)
    f = np.dot(sizes(layer), np.asarray(letters.values) * means) / sum(sizes(layer))
    pull = (block.labels - f) @ block.inputs
    np.testing.assert_allclose(layer.v[0], pull / np.linalg.norm(pull), atol=1e-13)

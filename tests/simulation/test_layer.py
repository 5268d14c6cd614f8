"""First layers: drawn with their exact geometry, or moved by true gradient steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from giantstep import Letters, Network, SpikedRF, Target, TwoSpikes
from giantstep.simulation.draw import Purpose, step_batch
from giantstep.simulation.gradient_step import group_slices, unit_rows

from .helpers import LETTERS, drawn, ridge_readout, samples, sizes


@pytest.mark.parametrize(
    ("weights", "p", "counts"),
    [
        ((1.0,), 7, [7]),
        ((0.25, 0.5, 0.25), 6, [2, 3, 1]),  # of exact shares 1.5, 3, 1.5
        ((0.5, 0.3, 0.2), 6, [3, 2, 1]),  # of 3, 1.8, 1.2
        ((0.12, 0.7, 0.18), 15, [2, 10, 3]),  # of 1.8, 10.5, 2.7
    ],
)
def test_letters_have_consecutive_neurons_and_largest_remainders_get_those_that_are_left(weights, p, counts):
    ends = np.cumsum(counts)
    groups = group_slices(Letters(tuple(range(len(weights))), weights), p)
    assert [(group.start, group.stop) for group in groups] == list(zip(ends - counts, ends, strict=True))


TWO_C = Letters((1.0, -0.5), (0.4, 0.6), c=(0.7, 2.0))
LEFT = {"left": ((1.0, 2.0), (-1.0, 1.0)), "weights": (0.4, 0.6), "c": 1.7, "beta": 1.5}
GIVEN = [
    *(SpikedRF("tanh", 0.9, gamma, beta=1.5, readout=TWO_C) for gamma in (-1.0, -0.3, 0.0, 1.0)),
    *(TwoSpikes("tanh", (0.9, 0.5), two, **LEFT) for two in ((0.0, 0.0), (0.6, -0.5), (0.6, 0.8))),
]


@pytest.mark.parametrize("model", GIVEN, ids=str)
def test_spiked_rows_have_exact_alignment_norms_and_spikes(model):
    layer, _ = drawn(model, "x1*x2 + x3 + x1")
    two = isinstance(model, TwoSpikes)
    alignments = model.alignments if two else (model.gamma,)
    spikes, norms = ([[0.9, -0.9], [1.0, 0.5]], [1.7, 1.7]) if two else ([[0.9, -0.45]], [0.7, 2.0])
    v, rest = np.stack(layer.v), np.stack(layer.rest)
    units = np.concatenate([v, rest])
    np.testing.assert_allclose(units @ units.T, np.eye(len(units)), atol=1e-14)
    across = np.sqrt(max(0.0, 1.0 - np.dot(alignments, alignments)))
    np.testing.assert_allclose(layer.theta, [np.dot(alignments, v) + across * rest[0], *rest[1:]], atol=1e-14)
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
@pytest.mark.parametrize("alpha0", [60.0, 0.5], ids=["more samples than neurons and than are in a block", "fewer"])
def test_steps_follow_the_gradient_with_the_readout_of_the_moment_and_are_measured(reuse, refit, alpha0):
    """Step by step in plain numpy. A fitted readout is the ridge estimate on the last batch, and divides the rate by
    the growth of its length."""
    d, eta, target = 20, 0.7, Target("sin", noise=0.2)
    common = {"eta": eta, "alpha0": alpha0, "beta": 1.5, "readout": LETTERS}
    layer, draws = drawn(Network("tanh", steps=3, reuse_batch=reuse, refit=refit, **common), target, d)
    start, _ = drawn(Network("tanh", **{**common, "eta": 0.0}), target, d)
    rows, (p, _), n0 = start.rows, start.rows.shape, round(alpha0 * d)
    first = np.repeat(LETTERS.values, sizes(start)) / np.sqrt(p)
    readout, biases, facing = first, np.repeat(LETTERS.biases or (), sizes(start)), np.zeros(3)
    for t in range(3):
        block = samples(step_batch(0 if reuse else t), start, draws, target, n0)
        fields = block.inputs @ rows.T + biases
        residual = block.labels - np.tanh(fields) @ readout / np.sqrt(p)
        slopes = residual[:, None] * (1 - np.tanh(fields) ** 2) * readout
        rate = eta * d * np.linalg.norm(first) / np.linalg.norm(readout)
        rows = rows + rate * slopes.T @ block.inputs / (n0 * np.sqrt(p))
        measured = {name: values[t] for name, values in layer.measured.items() if name != "overlap"}
        for s, (group, value) in enumerate(zip(start.groups, LETTERS.values, strict=True)):
            spike = rows[group].mean(axis=0) - start.rows[group].mean(axis=0)
            facing[s] = facing[s] or np.sign(spike @ (residual @ block.inputs))
            size = np.linalg.norm(spike) * facing[s]
            assert measured["r"][s] == pytest.approx(size / value if value else 0.0, rel=1e-9)
            aligned = spike @ start.theta[0] / size if value else 0.0
            assert measured["gamma"][s, 0] == pytest.approx(aligned, rel=1e-9)
            assert measured["c"][s] == pytest.approx(((rows[group] - spike) ** 2).sum(axis=1).mean(), rel=1e-9)
        test = samples(Purpose.TEST, layer, draws, target, 5 * d)
        off = np.tanh(test.inputs @ rows.T + biases) @ readout / np.sqrt(p) - test.clean
        assert measured["network_error"] == pytest.approx((off**2).mean(), rel=1e-9)
        if refit is not None:
            readout = ridge_readout(np.tanh(block.inputs @ rows.T + biases), block.labels, refit)
    np.testing.assert_allclose(layer.rows, rows, rtol=1e-9, atol=1e-10)
    overlaps = [(rows[group] @ start.theta[0]).mean() for group in start.groups]
    np.testing.assert_allclose(layer.measured["overlap"][:, 0], overlaps, rtol=1e-9)


@pytest.mark.parametrize(
    ("activation", "readout"), [("tanh", "rademacher"), ("relu", LETTERS), ("relu", "uniform-interval")]
)
def test_spikes_are_the_mean_displacement_of_the_rows_of_their_letters(activation, readout):
    """Letters ±1 of an odd activation share a spike, the mean of both: of 4 d samples each is off it by 1.5 %.

    Under a continuous law it is the displacement per unit of the letter, by least squares.
    """
    net = {"alpha0": 4.0, "beta": 2.0, "readout": readout}
    (layer, _), (start, _) = (drawn(Network(activation, eta, steps=2, **net), d=100) for eta in (2.0, 0.0))
    letters = Network(activation, 0.0, 0.0, readout=readout).readout
    scale = letters.of_neurons(200) if letters.law else np.ones(200)
    for group in layer.groups:
        part = scale[group]
        moved = part @ (layer.rows - start.rows)[group] / (part @ part)
        spike = layer.spike[:, group.start] / part[0] @ np.stack(layer.v)
        near = 0.05 if readout == "rademacher" else 1e-9
        assert np.linalg.norm(spike - moved) <= near * np.linalg.norm(moved)


@pytest.mark.parametrize("change", [{"eta": 0.0}, {"alpha0": 0.0}])
def test_without_a_step_the_layer_is_random_features(change):
    layer, draws = drawn(Network("tanh", **({"eta": 1.0, "alpha0": 1.0} | change)))
    np.testing.assert_array_equal(layer.rows, unit_rows(40, 40, draws))
    assert layer.measured["r"] == layer.measured["gamma"] == 0
    assert layer.v[0] @ layer.theta[0] == pytest.approx(0, abs=1e-14)
    assert layer.measured["c"] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("letters", [Letters((1.0,), (1.0,)), LETTERS])
def test_a_step_pulls_along_the_residuals_of_the_mean_output_and_is_measured_along_them(letters):
    """relu: E relu(z + b) = φ(b) + b Φ(b). The direction has no trace of what f fluctuates about its mean.

    r is the least squares fit of rows along v by the letters; with biases each letter has an r of its own.
    """
    layer, draws = drawn(Network("relu", 2.0, 3.0, readout=letters))
    block = samples(Purpose.STEP, layer, draws, "sin", 120)
    b = np.asarray(letters.biases or (0.0,))
    means = np.exp(-(b**2) / 2) / np.sqrt(2 * np.pi) + b * ndtr(b)
    f = np.dot(sizes(layer), np.asarray(letters.values) * means) / sum(sizes(layer))
    pull = (block.labels - f) @ block.inputs
    (v,), (t,), (theta,), (spike,), measured = layer.v, layer.rest, layer.theta, layer.spike, layer.measured
    np.testing.assert_allclose(v, pull / np.linalg.norm(pull), atol=1e-13)
    for s, (group, value) in enumerate(zip(layer.groups, letters.values, strict=True)):
        rows, r = layer.rows[group], measured["r"][s]
        assert r == pytest.approx((rows @ v).mean() / value if value else 0.0, rel=1e-13)
        assert spike[group] == pytest.approx(r * value, rel=1e-13)
        assert measured["c"][s] == pytest.approx(((rows - r * value * v) ** 2).sum(axis=1).mean(), rel=1e-13)
        assert measured["overlap"][s, 0] == pytest.approx((rows @ theta).mean(), rel=1e-12)
    (gamma,) = measured["gamma"]
    assert gamma == pytest.approx(v @ theta, rel=1e-13)
    np.testing.assert_allclose(gamma * v + np.sqrt(1 - gamma**2) * t, theta, atol=1e-13)

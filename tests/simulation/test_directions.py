"""Targets of several directions: their labels, what is measured along each direction, and the learned function."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from giantstep import Letters, Network, SpikedRF, Target, predict, simulate
from giantstep.simulation.draw import Purpose
from giantstep.simulation.trial import summary_statistics
from giantstep.theory.layer import seen_from

from ..zoo import PLANE, steps
from .helpers import LETTERS, drawn, ridge_readout, samples

STAIR = "x1 + x1*x2"
ENOUGH = 4.0  # standard errors


def test_one_direction_written_x1_is_x_bit_for_bit():
    model, options = Network("relu", 1.0, 1.0, steps=2), {"alpha": 1.0, "lam": 0.1, "d": 30, "trials": 2}
    numbered, plain = (simulate(model, Target(f"tanh({x})", noise=0.1), **options) for x in ("x1", "x"))
    assert numbered.identical(plain)


MODELS = [
    Network("relu", 1.0, 2.0),
    Network("relu", 1.0, 2.0, steps=2, readout="rademacher"),
    Network("tanh", 0.0, 0.0),
    SpikedRF("tanh", r=0.9, gamma=-0.6),
    PLANE,
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_psi_is_measured_along_the_directions_that_the_theory_reports(model):
    """Turned until spikes and target meet one to one, measured along ê_m = (θ'_m - γ_m d̂_m)/ρ_m, and turned back."""
    layer, _ = drawn(model, Target("x1*x2 + x3 + x1"))
    theta, v = np.stack(layer.theta), np.stack(layer.v)
    np.testing.assert_allclose(theta @ theta.T, np.eye(3), atol=1e-13)
    frame = seen_from(np.ones((1, 1, len(v))), (theta @ v.T)[None])
    turn, gamma, met = frame.turn[0], frame.gamma[0], min(len(v), 3)
    along = np.zeros_like(theta)
    along[:met] = gamma[:met, None] * (frame.back[0] @ v)[:met]
    units = (turn.T @ theta - along) / frame.rho[0][:, None]
    readouts = np.random.default_rng(0).normal(size=(len(layer.rows), 2))
    bulk = layer.rows - layer.spike.T @ v
    expected = [turn @ (units @ bulk[g].T @ readouts[g]) / math.sqrt(len(readouts)) for g in layer.groups]
    found = summary_statistics(layer, readouts)["psi"]
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(("activation", "letter"), [("softplus(-x)", 1.0), ("relu", -1.0)])
def test_spikes_that_point_away_are_measured_as_the_theory_reports_them(activation, letter, steps):
    """Directions face the way the first step pulls, through a falling slope or for a negative letter too: 5 standard
    errors of 6 networks, and a tenth for their size, of answers that are far from 0."""
    net = Network(activation, 1.5, 4.0, steps=steps, readout=Letters((letter,), (1.0,)))
    setting = {"alpha": 1.5, "lam": 0.1, "d": 150}
    theory = predict(net, "sin", **setting)
    found = simulate(net, "sin", **setting, trials=6, progress=False)
    for name in ("r", "gamma", "zeta"):
        trials, expected = found[name], theory[name]
        allowed = 5.0 * trials.std("trial", ddof=1) / math.sqrt(6) + 0.1 * np.abs(expected)
        assert bool((np.abs(trials.mean("trial") - expected) < allowed).all()), name
        assert bool((np.abs(expected) > allowed).all()), name


# v ∝ E[gz] + noise: γ = E[gz]/|v|, |v|² = E[(y - f0)²]/α0 + |E gz|², r = η h1 |v|/β, with E relu = 1/√(2π), E relu² =
# E[z relu] = h1 = ½
PULL = np.array([0.5, 0.25])
ERROR = (1 + 0.25) * (0.5 - 1 / (2 * math.pi)) + 0.25 / (2 * math.pi) + 0.2**2
LENGTH = math.sqrt(ERROR / 2.0 + PULL @ PULL)


@pytest.mark.parametrize(
    ("net", "target", "expected"),
    [
        (
            Network("relu", eta=1.5, alpha0=2.0),
            Target("max(x1, 0) + max(x2, 0)/2", noise=0.2),
            {"gamma": PULL / LENGTH, "r": 1.5 * 0.5 * LENGTH},
        ),
        # the theory's: relu climbs the stair at the second step, and an odd activation does not
        (steps("relu", (1.5, 1), (2, 2)), STAIR, {"gamma": [[0.69344568, 0.0], [0.77557843, 0.16854905]]}),
        # to three digits, an eighth of a standard error
        (steps("tanh", (1, 1), (2, 2)), STAIR, {"gamma": [[0.707, 0.0], [0.842, 0.0]]}),
    ],
    ids=["one step", "relu", "tanh"],
)
def test_steps_find_what_the_label_says_of_each_direction(net, target, expected):
    found = simulate(net, target, d=200, trials=20, alpha=0.2, lam=0.1, n_test=50)
    assert found.gamma.dims == ("trial", *(["step"] if net.most_steps > 1 else []), "direction")
    np.testing.assert_array_equal(found.direction, [1, 2])
    for name, value in expected.items():
        error = found[name].std("trial", ddof=1) / math.sqrt(20)
        assert np.abs((found[name].mean("trial") - value) / error).max() < ENOUGH


def test_the_learned_function_on_a_plane_is_the_average_over_the_rest_of_the_input():
    points = np.array([[0.0, 0.0], [1.0, -0.5], [-1.5, 2.0]])
    model, target = Network("relu", 1.5, 2.0, readout=LETTERS), Target("x1 + x1*x2 + x3")
    options = {"alpha": [1.0, 2.0], "lam": 0.1, "d": 30, "trials": [3], "n_test": 50, "seed": 5}
    layer, draws = drawn(model, target, 30, trial=3)
    block = samples(Purpose.TRAIN, layer, draws, target, 60)
    features = np.maximum(block.inputs @ layer.rows.T + layer.biases, 0.0)
    readout = ridge_readout(features, block.labels, 0.1)
    plain = simulate(model, target, **options)
    for at in (points, points[:, :1]):  # on a plane, and along the first direction
        found = simulate(model, target, learned_at=at, **options)
        assert plain.identical(found.drop_vars(set(found.variables) - set(plain.variables)))
        assert found.learned.dims == ("trial", "alpha", "x")
        names = ("x1", "x2") if at is points else ("x",)
        np.testing.assert_array_equal(np.stack([found[name] for name in names], axis=1), at)
        along = layer.rows @ np.stack(layer.theta[: at.shape[1]]).T
        scale = np.sqrt((layer.rows**2).sum(axis=1) - (along**2).sum(axis=1))
        z = (along @ at.T + layer.biases[:, None]) / scale[:, None]
        means = scale[:, None] * (norm.pdf(z) + z * norm.cdf(z))  # E relu of a Gaussian
        np.testing.assert_allclose(found.learned[0, 1], readout @ means / math.sqrt(30), rtol=1e-9)

"""What can be asked of targets of several directions: the staircase, bounds and their floor, the learned function."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import giantstep as gs

PAIR = gs.Letters((-1.0, 1.0), (0.5, 0.5))


@pytest.mark.parametrize(
    ("activation", "target", "found", "overlaps"),
    [
        # overlaps after three steps, as published to three digits
        ("tanh", "x1 + x1*x2", [1, 0], (0.903, 0.0)),
        ("relu", "x1 + x1*x2", [1, 2], (0.813, 0.269)),
        ("gelu", "x1 + x1*x2", [1, 2], (0.811, 0.287)),
        ("tanh(x + 0.5)", "x1 + x1*x2", [1, 2], (0.888, 0.080)),
        ("tanh", "x1 + x2*(x1**2 - 1)/2", [1, 2], (0.935, 0.082)),
        ("relu", "x1 + x2*(x1**2 - 1)/2", [1, 0], (0.883, 0.0)),
    ],
)
def test_the_staircase_is_climbed_as_the_hermite_coefficients_say(activation, target, found, overlaps):
    answer = gs.staircase(gs.Network(activation, eta=1.0, alpha0=2.0, steps=3), target)
    assert answer["found"].values.tolist() == found
    assert_allclose(answer["overlap"].values[-1], overlaps, atol=6e-4)
    reasons = answer["reason"].values
    assert reasons[0] == "found at step 1: the target has a linear part in x1"
    missing = "no Hermite coefficient of order" in reasons[1]
    assert missing == (found[1] == 0)


@pytest.mark.parametrize(
    ("activation", "alpha0", "target", "reasons"),
    [
        ("tanh(x + 0.5)", 2, "tanh(x1) + (x2**2 - 1)/2", ["found at step 1", "nothing in the target is linear in x2"]),
        ("relu", 2, "sign(x1*x2)", ["no linear part, so the first spike is noise"] * 2),
        ("tanh", 2, "He2", ["no linear part"]),
        ("tanh", 0, "x1 + x1*x2", ["the network takes no step"] * 2),
    ],
)
def test_what_is_never_found_says_why(activation, alpha0, target, reasons):
    answer = gs.staircase(gs.Network(activation, eta=1, alpha0=alpha0, steps=2), target)
    assert answer["found"].values.tolist() == [int("found at" in reason) for reason in reasons]
    assert all(words in said for words, said in zip(reasons, answer["reason"].values, strict=True))


def test_a_product_is_learned_with_letters_of_both_signs_alone():
    """The published bounds at the best of eight rates, for a large batch."""
    rates = [0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0]
    for activation, letters, lowest in (("relu", PAIR, 0.0006), ("relu", "uniform", 1.038), ("tanh", "uniform", 1.0)):
        net = gs.Network(activation, eta=rates, alpha0=1e5, readout=letters)
        found = gs.bounds(net, "x1 + x1*x2")
        assert float(found["lower"].min()) == pytest.approx(lowest, abs=6e-4 if lowest > 0.5 else 6e-5)
        assert float(found["linear"]) == pytest.approx(1.0, abs=1e-9)
        assert np.all(found["floor"] <= found["lower"] + 1e-9)


def test_the_floor_is_what_no_slope_along_the_other_direction_reaches():
    """γ → 1: E[b - a0² - a2²] of tanh z1 + He2(z2)/2 is that of He2 alone; x2 saves nothing."""
    found = gs.bounds(gs.Network("gelu", eta=1.0, alpha0=1e7), "tanh(x1) + (x2**2 - 1)/2")
    assert float(found["floor"]) == pytest.approx(0.5, abs=1e-6)
    assert_allclose(found["by_direction"], [0.0, 0.0], atol=1e-6)
    assert found["by_direction"].dims == ("direction",)


def test_the_learned_function_on_a_plane_is_that_of_trained_networks():
    net, target = gs.Network("relu", eta=3.0, alpha0=4.0, readout=PAIR), "x1 + x1*x2"
    line = np.array([-1.2, 1.5])
    theory = gs.learned_function(net, target, (line, line), alpha=4.0, lam=0.1, d=200)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    how = {"trials": 8, "seed": 3, "n_test": 100, "progress": False}
    run = gs.simulate(net, target, alpha=4.0, lam=0.1, d=200, learned_at=points, **how)
    measured = run["learned"]
    mean, error = measured.mean("trial").values, measured.std("trial", ddof=1).values / np.sqrt(8)
    z = (mean - theory["learned"].values.reshape(-1)) / error
    assert np.abs(z).max() < 6.0  # four values, t-distributed with 7 degrees of freedom: 2e-3 if all is right
    assert_allclose(theory["truth"].values, line[:, None] + np.outer(line, line), atol=1e-12)
    # averaged over the second projection it is what one projection shows
    z2, w = np.polynomial.hermite_e.hermegauss(24)
    plane = gs.learned_function(net, target, (line, z2), alpha=4.0, lam=0.1, d=200)["learned"]
    alone = gs.learned_function(net, target, line, alpha=4.0, lam=0.1, d=200)["learned"]
    assert_allclose(plane.transpose("x1", "x2").values @ (w / w.sum()), alone.values, atol=1e-9)


def test_what_a_direction_without_a_linear_part_can_save_is_nothing_at_all():
    found = gs.bounds(gs.Network("softplus", eta=1.5, alpha0=2, steps=2), "x1 + 0.5*(x2**2 - 1)")
    assert found.by_direction.values[0] > 0.1
    assert found.by_direction.values[1] == 0.0

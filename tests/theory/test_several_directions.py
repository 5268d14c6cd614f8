"""Targets of several directions: published check values, reductions to one direction, and symmetries."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

import giantstep as gs
from giantstep.theory.labels import labels_of
from giantstep.theory.labels.conditional_nodes import significant
from giantstep.theory.layer import given
from giantstep.theory.rule import Rule

from ..zoo import SIGNS, TWO


def test_kinked_targets_have_their_check_values_and_turn_back():
    """relu + relu is seen along (1, 1)/√2; the published ψ in that basis has no second component."""
    net = gs.Network("gelu", eta=3.0, alpha0=1.0, beta=0.7)
    goal = gs.Target("relu(x1) + relu(x2)", noise=0.2)
    for bulk, d, error, training, psi in (
        ("exact", None, 0.798046250, 0.232191561, 0.276573658),
        ("isotropic", None, 0.799428344, 0.215828388, 0.479641759),
    ):
        found = gs.predict(net, goal, alpha=1.5, lam=0.1, bulk=bulk, d=d)
        assert_allclose([found.test_error, found.train_error], [error, training], atol=2e-8)
        assert_allclose(found.psi.values, psi / np.sqrt(2.0), atol=2e-8)
        assert_allclose(found.gamma.values, 0.579726374 / np.sqrt(2.0), atol=2e-9)


@pytest.mark.parametrize(
    ("activation", "target", "letters", "eta", "alpha0", "error", "psi"),
    [
        ("relu", "tanh(x1) + tanh(x2) + x1*x2/2", SIGNS, 2.0, 2.0, 0.720175468, (0.156227942, 0.301411680)),
        ("tanh", "sign(x1) + sign(x1*x2)/2", TWO, 2.0, 1.5, 1.049510603, (0.296738821, 0.348668147)),
    ],
)
def test_letters_have_their_check_values(activation, target, letters, eta, alpha0, error, psi):
    net = gs.Network(activation, eta=eta, alpha0=alpha0, readout=letters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GiantstepWarning)  # real sizes may not come near this limit
        found = gs.predict(net, target, alpha=1.5, lam=0.1, bulk="isotropic")
    assert_allclose(found.test_error, error, atol=2e-8)
    along = np.linalg.norm(found.psi.values, axis=-1)
    assert_allclose(along, psi, atol=2e-8)


def test_a_product_of_signs_is_not_seen_by_one_step():
    found = gs.predict(gs.Network("relu", eta=2.0, alpha0=1.5), "sign(x1*x2)", alpha=1.5, lam=0.1)
    assert_allclose([found.test_error, found.train_error], [1.512282857, 0.459325873], atol=2e-8)
    assert_allclose(np.abs(found.gamma.values), 0.0, atol=1e-12)
    assert_allclose(found.test_error_01, 0.5, atol=1e-9)


# several steps on several directions, to the printed digits
TWO_STEPS = [
    (
        ("relu", "x1 + x1*x2", (1.5, 1.0), 2.0, 1.0, 0.0),
        ((0.69344568, 0.0), (0.77557843, 0.16854905)),
        (1.79205803, 0.85261550, 2.07805121, 0.19855928, 0.59068129, (0.72051699, 0.34328147), -0.20021414),
    ),
    (
        ("relu", "relu(x1) + relu(x2)/2", (2.0, 1.5), 1.5, 0.8, 0.2),
        ((0.62030250, 0.31015125), (0.73885923, 0.34424681)),
        (0.23477547, 0.07837823, 0.30187103, 0.83313140, -0.00698949, (0.12237167, 0.04726212), 0.01237675),
    ),
]


@pytest.mark.parametrize(("setting", "gammas", "values"), TWO_STEPS, ids=["product", "kinked"])
def test_two_steps_turn_the_spike_as_published(setting, gammas, values):
    activation, target, rates, alpha0, beta, noise = setting
    net = gs.Network(activation, steps=[gs.Step(eta, alpha0) for eta in rates], beta=beta)
    found = gs.predict(net, gs.Target(target, noise=noise), alpha=1.5, lam=0.1)
    assert_allclose(found.gamma.values, gammas, atol=2e-8)
    assert found.gamma.dims == ("step", "direction")
    names = ("test_error", "train_error", "q2", "m", "zeta", "chi")
    assert_allclose([found[n] for n in names], [*values[:5], values[6]], atol=4e-8)
    # theirs is the readout on θ itself, Ψ_j = R_1j (|γ|ζ + ρψ_1) + Σ R_ij ψ_i: ours leaves the spike out
    gamma = found.gamma.values[-1]
    size = np.linalg.norm(gamma)
    n = gamma / size
    along = n @ found.psi.values
    whole = found.psi.values + n * (size * found.zeta.item() + (np.sqrt(1.0 - size**2) - 1.0) * along)
    assert_allclose(whole, values[5], atol=4e-8)


def test_turning_the_directions_turns_the_answers_alone():
    angle = 0.7
    c, s = float(np.cos(angle)), float(np.sin(angle))
    u, v = f"({c!r}*x1 + {s!r}*x2)", f"(-{s!r}*x1 + {c!r}*x2)"
    net = gs.Network("relu", eta=1.5, alpha0=2.0)
    plain = gs.predict(net, "tanh(x1) + max(x2, 0.3)*x1", alpha=1.5, lam=0.1)
    turned = gs.predict(net, f"tanh{u} + max({v}, 0.3)*{u}", alpha=1.5, lam=0.1)
    assert_allclose(turned.test_error, plain.test_error, rtol=3e-8)
    rotation = np.array([[c, -s], [s, c]])
    for name in ("gamma", "psi"):
        assert_allclose(turned[name].values, rotation @ plain[name].values, atol=3e-8)


def test_logistic_labels_have_their_check_values():
    """Those were computed with the stiffness of the all-ones direction alone, so that they differ by O(1/d²)."""
    net = gs.Network("tanh", eta=2.0, alpha0=2.0)
    goal = gs.Target("sign(x1*(1 + x2))", flips=0.1)
    found = gs.predict(net, goal, alpha=1.5, lam=0.1, loss="logistic", d=500)
    assert_allclose(found.test_error_01, 0.38093, atol=2e-4)
    assert_allclose(found.train_loss, 0.45069, atol=1e-4)
    assert_allclose(found.psi.values, [0.54123, 0.0], atol=1e-4)


def test_undeclared_kinks_show_in_the_quadrature_error():
    net = gs.Network("tanh", eta=1.0, alpha0=1.0)
    kinked = lambda a, b: np.abs(a + 0.3) + np.maximum(b, 0.2)  # noqa: E731
    hidden = gs.Target(kinked)
    known = gs.Target("abs(x1 + 0.3) + max(x2, 0.2)")
    off, right = (gs.predict(net, t, alpha=1.0, lam=0.1, throw=False, tolerance=1e-3) for t in (hidden, known))
    gap = abs(float(off.test_error / right.test_error) - 1.0)
    assert gap > 1e-9
    assert float(off.quadrature_error) > 0.2 * gap
    declared = gs.Target(kinked, kinks=[((1, 0), -0.3), ((0, 1), 0.2)])
    assert_allclose(gs.predict(net, declared, alpha=1.0, lam=0.1).test_error, right.test_error, rtol=1e-8)


@pytest.mark.parametrize("steps", [1, 2])
def test_steep_steps_of_a_smooth_target_are_resolved(steps):
    """Expressions are cut around them; a callable is, too, where it says so. Without cuts 1e-3 was left."""
    net, at = gs.Network("relu", eta=1.5, alpha0=1.0, steps=steps), {"alpha": [0.7, 2.0], "lam": 0.1}
    found = gs.predict(net, "tanh(4*x1)*x2", **at)
    assert float(found.quadrature_error.max()) < 1e-8
    cuts = [((1.0, 0.0), offset) for offset in (-1.2, -0.5, -0.2, 0.1, 0.4, 1.0)]
    other = gs.predict(net, gs.Target(lambda z1, z2: np.tanh(4 * z1) * z2, kinks=cuts), **at)
    error = np.abs(found.test_error / other.test_error - 1.0)
    assert bool((error <= found.quadrature_error + other.quadrature_error).all())


def test_wrong_signs_of_two_directions_after_two_steps_are_numbers():
    """Trained networks at d = 300 (10 trials) have 0.1541 ± 0.0017 and 0.0425 ± 0.0037: four standard errors, and as
    much again for the size."""
    net = gs.Network("erf", eta=1.727, alpha0=1.886, steps=2)
    answer = gs.predict(net, "sign(x1+0.5*x2)", alpha=1.81, lam=0.404)
    assert abs(float(answer.test_error_01) - 0.1541) < 8 * 0.0017
    assert abs(float(answer.train_error_01) - 0.0425) < 8 * 0.0037


@pytest.mark.parametrize("k", [2, 3])
def test_nodes_that_move_on_from_one_kappa_to_the_next_are_finer_together(k):
    """A step of width σ across κ and y: at each κ alone the grid in y misses it, on average over κ it does not."""
    law = labels_of(gs.Target(" + ".join(f"sin(x{j})" for j in range(1, k + 1))))
    theta = np.zeros((1, k, 1))
    theta[:, 0] = 0.6
    frame = given(np.ones((1, 1, 1)), theta, np.ones((1, 1))).frame()
    kappa, weights = Rule(48, 9.0).at(1)
    nodes = significant(law, frame, kappa, 24)
    number = nodes.which
    a, b, offset, sigma = 0.05, np.array([1.6, -1.2, 0.9])[:k], 0.1, 0.2
    step = ndtr((a * kappa[0, 0, number] + b @ nodes.y[0] - offset) / sigma)
    found = np.bincount(number, nodes.w[0] * step)
    exact = ndtr((a * kappa[0, 0] - offset) / np.sqrt(sigma**2 + b @ b))
    seen = weights[0] > 1e-6
    alone = np.abs(found - exact)[seen].max()
    together = abs(weights[0] @ (found - exact))
    assert together < 1e-9 < 1e-7 < alone  # without moving on it is 4e-9 and more

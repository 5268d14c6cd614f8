"""Readouts of convex losses: they minimise what they should, and their certificates are true."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from giantstep import ConvergenceError, Loss, Network, SpikedRF, simulate
from giantstep.losses import Clipped, as_loss
from giantstep.simulation.convex import AIM, TOLERANCE, Newton, convex
from giantstep.simulation.schedule import TrialError

from ..zoo import FLIPS
from .helpers import BACKEND

P = 30
SMOOTH = ("logistic", "squared_hinge", "exponential", "huber:0.5")
KINKED = ("hinge", "absolute", "pinball:0.8")
SIZES = (12, 30, 45, 100)  # fewer samples than neurons, as many, and more
NET = Network("tanh", eta=1.5, alpha0=2.0)


def problem(loss: Loss):
    rng = np.random.default_rng(1)
    features = rng.standard_normal((max(SIZES), P)) + 0.5
    fields = features[:, 0] + 0.5 * rng.standard_normal(max(SIZES))
    labels = np.sign(fields) if loss.margin else fields

    def rows(count, size=17):
        for start in range(0, count, size):
            stop = min(start + size, count)
            yield features[start:stop].copy(), labels[start:stop].copy()

    return features / np.sqrt(P), labels, rows


def objective(loss: Loss, phi, labels, readout, lam: float) -> float:
    return float(loss.value(labels, phi @ readout).sum() + lam / 2 * readout @ readout)


@pytest.mark.parametrize("lam", [1.0, 1e-3])
@pytest.mark.parametrize("name", [*SMOOTH, "square"])
def test_smooth_losses_have_no_gradient_left(name, lam):
    loss = as_loss(name)
    phi, labels, rows = problem(loss)
    fits = convex(loss, rows, P, {n: [lam] for n in SIZES}, BACKEND)
    for n in SIZES:
        fit = fits[n]
        a, part, y = fit.readouts[:, 0], phi[:n], labels[:n]
        force = np.asarray(loss.derivative(y, part @ a))
        pull = part.T @ force
        # outputs are rounded by eps Σ|φ a|, which forces (of slope about 1, or their own size) pass on to the pull
        felt = (1 + np.abs(force)) * (1 + np.abs(part) @ np.abs(a))
        rounding = np.finfo(float).eps * np.abs(part).T @ felt
        # the gradient at the gap where Newton's method is content
        aimed = np.sqrt(2 * lam * AIM * objective(loss, part, y, a, lam))
        np.testing.assert_allclose(pull + lam * a, 0, atol=aimed + 4 * rounding.max())
        np.testing.assert_allclose(fit.train_loss[0], loss.value(y, part @ a).mean(), rtol=1e-12)
        np.testing.assert_allclose(fit.train_error[0], ((y - part @ a) ** 2).mean(), rtol=1e-12)


@pytest.mark.parametrize("lam", [1.0, 0.1])
@pytest.mark.parametrize("name", KINKED)
def test_kinked_losses_meet_the_dual_bound_that_scipy_finds(name, lam):
    loss = as_loss(name)
    assert isinstance(loss, Clipped)
    phi, labels, rows = problem(loss)
    fits = convex(loss, rows, P, {n: [lam] for n in SIZES}, BACKEND)
    for n in SIZES:
        fit = fits[n]
        part = phi[:n] * labels[:n, None] if loss.margin else phi[:n]
        goal = np.ones(n) if loss.margin else labels[:n]
        dual = minimize(
            lambda f, part=part, goal=goal: (part.T @ f) @ (part.T @ f) / (2 * lam) - goal @ f,
            np.full(n, (loss.low + loss.high) / 2),
            jac=lambda f, part=part, goal=goal: part @ (part.T @ f) / lam - goal,
            bounds=[(loss.low, loss.high)] * n,
            method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-9},
        )
        value = objective(loss, phi[:n], labels[:n], fit.readouts[:, 0], lam)
        assert value >= -dual.fun * (1 - 1e-12)  # weak duality: else one of the two is wrong
        # a first-order method in the box: its own stopping rule leaves about 1e-8
        np.testing.assert_allclose(value, -dual.fun, rtol=1e-6)
        assert fit.optimality[0] < 1e-13  # rounding of outputs at the kinks, divided by lam


OWN = {
    "absolute": Loss(lambda y, z: np.abs(y - z), lambda y, z: np.sign(z - y), kinks=(0.0,)),
    "huber:0.5": Loss(
        lambda y, z: np.where(np.abs(y - z) < 0.5, (y - z) ** 2 / 2, 0.5 * np.abs(y - z) - 0.125),
        lambda y, z: np.clip(z - y, -0.5, 0.5),
    ),
    "logistic": Loss(lambda y, z: np.logaddexp(0, -y * z), lambda y, z: -y * expit(-y * z)),
    "hinge": Loss(lambda y, z: np.maximum(1 - y * z, 0), lambda y, z: -y * (y * z < 1), kinks=(1.0,)),
}


@pytest.mark.parametrize("lam", [1.0, 1e-4])
@pytest.mark.parametrize(("name", "own"), [*((name, None) for name in SMOOTH + KINKED), *OWN.items()])
def test_the_certificate_bounds_the_true_suboptimality_of_unfinished_work(name, own, lam):
    """The readout for a loss of one's own is as near to that of the catalogue's as its certificate says."""
    loss = as_loss(name)
    phi, labels, _ = problem(loss)
    best, _ = Newton(phi, labels, lam, loss, BACKEND).solve(np.zeros(P))
    least = objective(loss, phi, labels, best, lam)
    seen = []
    for steps in (0, 1, 2, 4, 8, 1000):
        solver = Newton(phi, labels, lam, own or loss, BACKEND)
        readout, gap = solver.solve(np.zeros(P), most_steps=steps)
        value = objective(loss, phi, labels, readout, lam)
        assert value - least <= gap * value + 1e-13 * least
        assert lam / 2 * np.sum((readout - best) ** 2) <= gap * value + 1e-13 * least
        seen.append(gap)
    assert seen[0] > 1e-3 > TOLERANCE[8] > seen[-1]  # it was unfinished at first, and then no longer


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_single_precision_is_certified_to_single_precision(name):
    arguments = {"alpha": [0.5, 2.0], "lam": 1.0, "d": 40, "trials": 1, "n_test": 300, "loss": name}
    single = simulate(NET, FLIPS, dtype="float32", **arguments)
    double = simulate(NET, FLIPS, **arguments)
    assert float(single.optimality.max()) < TOLERANCE[4]
    height = single.train_loss * 40 * single.alpha + 0.5 * single.q2 * 40  # lam = 1, |a|² = q2 p
    allowed = np.sqrt(2 * single.optimality * height / 40) + 1e-5  # of |a - a*|/√p, and rounding
    assert (abs(np.sqrt(single.q2) - np.sqrt(double.q2)) <= allowed).all()


def test_work_that_does_not_reach_its_tolerance_is_an_error_with_a_sentence():
    """In float32, features of 1e6 leave the duality gap of a loss with kinks far above what is required."""
    steep = SpikedRF("1e6*x", r=1.0, gamma=1.0)
    words = r"trial 0 of seed 0 .*'hinge' at lam = 0.1 and 30 samples has a relative duality gap .* larger lam or dtype"
    with pytest.raises(TrialError, match=words) as error:
        simulate(steep, FLIPS, alpha=1.0, lam=0.1, d=30, trials=1, loss="hinge", dtype="float32")
    assert isinstance(error.value.__cause__, ConvergenceError)


@pytest.mark.parametrize("labels", [np.random.default_rng(1).standard_normal(10), np.zeros(10)], ids=["some", "zero"])
@pytest.mark.parametrize("name", ["huber:1", "absolute"])
def test_more_samples_at_a_kink_than_features_can_meet_do_not_break_the_fit(name, labels):
    """Samples that repeat; labels that are all zero have a readout of zero."""
    features = np.random.default_rng(0).standard_normal((10, 4)) / 2
    features, labels = (np.repeat(each, 8, axis=0) for each in (features, labels))
    readout, gap = Newton(features, labels, 0.1, as_loss(name), BACKEND).solve(np.zeros(4))
    assert gap < TOLERANCE[8] if labels.any() else gap == 0
    assert readout.any() == labels.any()

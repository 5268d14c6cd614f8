"""Further questions about several steps: what is learned, how many to take, and the best rate."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs

TWO = gs.Network("relu", eta=2, alpha0=1, steps=2, readout="rademacher")


@pytest.mark.parametrize(
    ("net", "target"),
    [
        (gs.SpikedRF("tanh", r=1.2, gamma=0.8), "sin"),
        (gs.Network("tanh", eta=2, alpha0=2), "sin"),
        (gs.Network("tanh", eta=2, alpha0=1, steps=2), "sin"),
        (TWO, "tanh"),
    ],
    ids=["given spike", "one step", "two steps", "two directions of spikes"],
)
def test_the_learned_function_is_that_of_trained_networks(net, target):
    x, at, trials = [-1.5, -0.4, 0.7], {"alpha": 1.5, "lam": 0.1, "d": 200}, 24
    theory = gs.learned_function(net, target, x, **at).learned
    assert theory.dims == ("x",)
    run = gs.simulate(net, target, **at, trials=trials, seed=31, learned_at=x, n_test=200, progress=False).learned
    error = run.std("trial", ddof=1) / trials**0.5
    z = (run.mean("trial") - theory) / error  # three correlated, t-distributed values
    assert np.abs(z).max() < 4.0, z.values


def test_the_number_of_steps_is_tuned_with_the_rest():
    """Every number is tuned by itself; the answer is the best of them, and none is worse than its own scan."""
    scan = {"eta": [0.7, 1.5, 3.0], "lam": [0.03, 0.1, 0.3], "split": [0.4, 0.6, 0.8], "steps": [1, 2]}
    found = gs.tune(
        gs.Network("tanh", eta=1, alpha0=1),
        "sin",
        budget=4.0,
        over=("eta", "lam", "split", "steps"),
        bulk="isotropic",
        scan=scan,
    )
    assert float(found.best_error) == float(found.by_steps.min())
    assert float(found.best_steps) == float(found.steps.values[np.argmin(found.by_steps.values)])
    assert (found.by_steps <= found.landscape.min(["eta", "lam", "split"]) + 1e-12).all()
    each, steps = float(found.best_alpha0), float(found.best_steps)
    assert each * steps + float(found.best_alpha) == pytest.approx(4.0)
    net = gs.Network("tanh", eta=float(found.best_eta), alpha0=each, steps=int(steps))
    again = gs.predict(net, "sin", alpha=float(found.best_alpha), lam=float(found.best_lam), bulk="isotropic")
    assert float(again.test_error) == pytest.approx(float(found.best_error), rel=1e-6)


def test_bounds_are_optimised_over_the_rate_of_all_steps():
    bounds = gs.bounds(gs.Network("tanh", eta=1, alpha0=2, steps=[1, 2]), "sin", over="eta", bulk="isotropic")
    assert bounds.lower.dims == ("steps",)
    fixed = gs.bounds(gs.Network("tanh", eta=2, alpha0=2, steps=[1, 2]), "sin", bulk="isotropic")
    assert (bounds.lower <= fixed.lower + 1e-12).all()

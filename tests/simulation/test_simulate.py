"""The verb: what comes back, and that it depends on what it should and on nothing else."""

from __future__ import annotations

import json
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
import xarray as xr
from attrs import evolve
from threadpoolctl import threadpool_limits

from giantstep import Function, GiantstepWarning, Inputs, Letters, Network, SpikedRF, Target, simulate
from giantstep.runtime.progress import Display
from giantstep.simulation.schedule import TrialError

from ..zoo import FLIPS
from .helpers import LETTERS

NET = Network("tanh", eta=1.5, alpha0=2.0)
SRF = SpikedRF("tanh", r=0.9, gamma=0.8, c=1.1, beta=1.3)
SMALL = {"alpha": [0.5, 1.0, 2.0], "lam": [0.01, 0.1], "d": 40, "trials": 3}
AGREE = 1e-10  # what is promised where the arithmetic is ordered differently


def assert_close(one: xr.Dataset, other: xr.Dataset, tolerance: float = AGREE) -> None:
    assert set(one) == set(other)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=tolerance, atol=tolerance, err_msg=str(name))


ONE_LETTER = {"test_error": "", "m": "", "zeta": "", "psi": "", "q1": "", "q2": ""}
LETTERS_AND_DIRECTIONS = {
    "m": "letter", "zeta": "letter spike", "q1": "letter letter_", "q2": "letter", "psi": "letter direction",
    "r": "step letter", "c": "step letter", "gamma": "step letter direction", "overlap": "letter direction",
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "target", "dims"),
    [
        (SRF, "sin", ONE_LETTER),
        (NET, "sin", ONE_LETTER | {"c": "", "r": "", "gamma": "", "overlap": ""}),
        (Network("relu", 1.0, 2.0, steps=2, readout="ternary"), "x1 + x1*x2", LETTERS_AND_DIRECTIONS),
    ],
    ids=["spiked", "network", "letters"],
)
def test_answers_have_the_dimensions_of_trials_the_grid_and_their_own(model, target, dims):
    result = simulate(model, target, **SMALL | {"n_test": 50})
    assert all(result[name].attrs["long_name"] and np.isfinite(result[name]).all() for name in dims)
    for name, own in dims.items():
        points = () if name in ("r", "c", "gamma", "overlap") else ("alpha", "lam")
        assert result[name].dims == ("trial", *points, *own.split())
    assert ("r" in result.data_vars) == isinstance(model, Network)
    assert list(result.trial) == [0, 1, 2]
    if dims is LETTERS_AND_DIRECTIONS:
        assert list(result.letter) == [-1, 0, 1]
        np.testing.assert_allclose(result.q1, result.q1.transpose(..., "letter_", "letter"), rtol=1e-12)
    assert json.loads(result.attrs["model"])["kind"] == type(model).__name__
    assert (result.attrs["d"], result.attrs["seed"], result.attrs["loss"]) == (40, 0, "square")
    np.testing.assert_array_equal(result.train_loss, result.train_error / 2)


@pytest.mark.parametrize("model", [NET, SRF])
def test_splitting_a_letter_in_two_equal_ones_changes_nothing(model):
    split = Letters((1.0, 1.0), (0.5, 0.5))
    one = simulate(model, "sin", **SMALL)
    two = simulate(evolve(model, readout=split), "sin", **SMALL)
    np.testing.assert_allclose(two.test_error, one.test_error, rtol=AGREE)
    for name in ("m", "zeta", "psi", "q2"):
        np.testing.assert_allclose(two[name].sum("letter"), one[name], rtol=1e-9, atol=AGREE)
    np.testing.assert_allclose(two.q1.sum(("letter", "letter_")), one.q1, rtol=1e-9)


@pytest.mark.parametrize("model", [NET, SRF])
def test_a_trial_is_the_same_alone_or_among_others_bit_for_bit(model):
    every = simulate(model, "sin", **SMALL | {"trials": 4})
    xr.testing.assert_identical(simulate(model, "sin", **SMALL | {"trials": [2]}), every.sel(trial=[2]))
    backwards = simulate(model, "sin", **SMALL | {"trials": [3, 0]})
    xr.testing.assert_identical(backwards, every.sel(trial=[3, 0]))


def test_a_setting_is_the_same_alone_or_in_a_grid_whose_dimensions_may_be_shared_bit_for_bit():
    def simulated(eta, alpha0, noise, exponent, alpha):
        target = Target("sin", noise=noise, inputs=Inputs.power_law(exponent, d=40))
        return simulate(Network("tanh", eta=eta, alpha0=alpha0), target, **SMALL | {"alpha": alpha})

    eta, alpha = (xr.DataArray(values, dims="run") for values in ([0.5, 1.5], [1.0, 2.0]))
    grid = simulated(eta, [1.0, 2.0], [0.0, 0.2], [0.0, 0.4], alpha)
    assert grid.test_error.sizes == {"trial": 3, "run": 2, "alpha0": 2, "noise": 2, "exponent": 2, "lam": 2}
    assert grid.r.sizes == {"trial": 3, "run": 2, "alpha0": 2, "noise": 2, "exponent": 2}
    alone = simulated(1.5, 2.0, 0.0, 0.4, 2.0)
    part = grid.isel(run=1).sel(alpha0=2.0, noise=0.0, exponent=0.4)
    for name in alone:
        np.testing.assert_array_equal(part[name], alone[name])


@pytest.mark.parametrize(
    ("model", "target", "losses"),
    [
        (NET, "sin", ["square"]),
        (SRF, FLIPS, ["square"]),
        (NET, FLIPS, ["logistic", "squared_hinge", "exponential", "hinge"]),
        (NET, Target("sin", noise=0.3), ["huber:0.5", "absolute", "pinball:0.8"]),
    ],
)
def test_a_point_agrees_whatever_alphas_and_lams_are_asked_for_together(model, target, losses):
    """Warm starts and nested samples must not show."""
    for loss in losses:
        convex = {"n_test": 300, "lam": [0.01, 0.1, 1.0]} if loss != "square" else {"lam": np.logspace(-2, 1, 16)}
        grid = simulate(model, target, loss=loss, **SMALL | convex)
        point = simulate(model, target, loss=loss, **SMALL | convex | {"alpha": 1.0, "lam": 0.01})
        assert_close(point, grid.isel(lam=0).sel(alpha=1.0), AGREE if loss == "square" else 1e-9)
        assert grid.attrs["loss"] == loss
        if loss != "square":
            assert grid.optimality.dims == ("trial", "alpha", "lam")
            assert grid.optimality.attrs["long_name"]
            assert float(grid.optimality.max()) < 1e-12


@pytest.mark.parametrize("readout", ["uniform", LETTERS], ids=["one letter", "letters"])
def test_a_grid_of_steps_may_begin_with_none(readout):
    grid = simulate(Network("tanh", 1.5, 2.0, steps=[0, 1, 2], readout=readout), "sin", **SMALL)
    for eta, part in ((0.0, grid.isel(steps=0)), (1.5, grid.isel(steps=1))):
        alone = simulate(Network("tanh", eta, 2.0, readout=readout), "sin", **SMALL)
        np.testing.assert_allclose(part.test_error, alone.test_error, rtol=1e-8)  # exact to 1e-9 of the target's power
    steps = grid.c.notnull().sum("step")
    assert (steps == steps.steps).all()


def test_workers_and_executors_give_the_same_bits():
    with threadpool_limits(1):
        alone = simulate(NET, "sin", **SMALL)
        with ThreadPoolExecutor(2) as executor:
            xr.testing.assert_identical(simulate(NET, "sin", executor=executor, **SMALL), alone)
    xr.testing.assert_identical(simulate(NET, "sin", workers=2, **SMALL), alone)


@pytest.mark.parametrize("target", [Target("sign", flips=0.1, latent_noise=0.2), Target("logistic", scale=2.0)])
def test_binary_targets_add_shares_of_wrong_signs(target):
    result = simulate(SRF, target, **SMALL)
    for name in ("test_error_01", "train_error_01"):
        assert (result[name] >= 0).all()
        assert (result[name] < 0.5).all()
    interpolating = simulate(SRF, target, **SMALL | {"alpha": 0.5, "lam": 0.0})
    assert (interpolating.train_error_01 == 0).all()


def test_numbers_of_samples_and_neurons_are_the_nearest_whole_ones():
    """0.14·20 = 2.8 is three samples, 0.27·20 = 5.4 five neurons: interpolated at n < p, and one direction is left."""
    model = SpikedRF("tanh", r=0.9, gamma=0.8, beta=0.27)
    near = simulate(model, "sin", alpha=[0.14, 0.15, 0.16], lam=0.1, d=20, trials=1)
    np.testing.assert_array_equal(near.test_error[0], near.test_error[0, 1].broadcast_like(near.test_error[0]))


def test_measured_statistics_make_up_the_outputs_of_linear_networks():
    """For σ(x) = x the learned function is x·(Wᵀa + u·a v)/√p: errors follow from m, zeta, psi, q1 alone."""
    model = SpikedRF("x", r=0.7, gamma=0.6)
    result = simulate(model, "x", **SMALL)
    spike = 0.7 * result.m + result.zeta
    expected = (spike - 0.6) ** 2 + result.q1 - 2 * result.psi * 0.8 + 0.64
    np.testing.assert_allclose(result.test_error, expected, rtol=1e-9)


@pytest.fixture
def press_after(monkeypatch):
    """Ctrl-C when so many tasks are done; the list has the time of each."""

    def arrange(count: int) -> list[float]:
        advance, times = Display.advance, []

        def pressing(display):
            advance(display)
            times.append(time.monotonic())
            if len(times) == count:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(Display, "advance", pressing)
        return times

    return arrange


def test_ctrl_c_returns_the_trials_that_are_complete(press_after):
    two_settings = Network("tanh", [1.0, 2.0], 1.0)
    every = simulate(two_settings, "sin", **SMALL | {"trials": 5})
    press_after(5)  # in the middle of trial 2
    with pytest.warns(GiantstepWarning, match="interrupted: the result has 2 of 5 trials"):
        found = simulate(two_settings, "sin", **SMALL | {"trials": 5})
    assert list(found.trial) == [0, 1]
    assert found.attrs["interrupted"] == 1
    xr.testing.assert_equal(found.drop_attrs(), every.sel(trial=[0, 1]).drop_attrs())
    press_after(1)
    with pytest.raises(KeyboardInterrupt):
        simulate(two_settings, "sin", **SMALL)


def test_ctrl_c_with_workers_does_not_wait_for_the_trials_that_are_left(press_after):
    times = press_after(2)
    with pytest.warns(GiantstepWarning, match="interrupted"):
        result = simulate(NET, "sin", workers=2, **SMALL | {"trials": 5000})
    assert time.monotonic() - times[1] < 15  # all 5000 would take a minute or so
    assert 2 <= result.sizes["trial"] < 5000


def test_ctrl_c_with_an_executor_keeps_what_is_done_and_cancels_the_rest(press_after):
    futures = [Future() for _ in range(4)]

    class AllButTheThird:
        def submit(self, function, task):
            if task.trial != 2:
                futures[task.trial].set_result(function(task))
            return futures[task.trial]

    press_after(2)
    with pytest.warns(GiantstepWarning, match="3 of 4 trials"):
        result = simulate(NET, "sin", executor=AllButTheThird(), **SMALL | {"trials": 4})
    assert list(result.trial) == [0, 1, 3]
    assert futures[2].cancelled()


def test_a_users_own_functions_may_return_truth_values_and_single_numbers():
    for name, own in {
        "relu": Function(lambda x: np.maximum(x, 0), derivative=lambda x: x > 0),
        "x": Function(lambda x: x, derivative=lambda x: np.broadcast_to(1, np.shape(x))),
    }.items():
        plain, found = (simulate(Network(f, 1.0, 1.0), "sin", **SMALL) for f in (name, own))
        assert_close(plain, found)
    truth = Function(lambda x: x > 0)
    assert (simulate(SpikedRF(truth, 1.0, 1.0), "sin", **SMALL).train_error < 1).all()


def test_a_failed_trial_says_how_to_run_it_again():
    model = SpikedRF(Function(lambda x: np.tanh(x) if np.ndim(x) < 2 else 1 / 0), r=0.5, gamma=0.5)
    with pytest.raises(TrialError, match=r"trial 7 of seed 3 failed at r=0.5.*division by zero.*seed=3, trials=\[7\]"):
        simulate(model, "sin", seed=3, **SMALL | {"trials": [7]})

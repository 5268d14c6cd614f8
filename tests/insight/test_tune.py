"""Tuning: exact derivatives, and optima that are stationary and not above any grid search."""

import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import giantstep as gs
from giantstep.insight.newton import _downhill, descend
from giantstep.insight.objective import Objective
from giantstep.insight.tune import _best_number, tune

LETTERS = gs.Letters((0.5, 1.5), (0.5, 0.5))
CASES = {
    "smooth": (gs.Network("tanh", eta=2.0, alpha0=1.5, beta=1.2), gs.Target("sin", noise=0.2)),
    "kinked": (gs.Network("relu", eta=1.0, alpha0=1.5, beta=0.8), gs.Target("abs", noise=0.2)),
    "jump": (gs.Network("erf", eta=2.0, alpha0=4.0), gs.Target("sign")),
    "letters": (gs.Network("tanh", eta=2.0, alpha0=1.5, readout=LETTERS), gs.Target("sin", noise=0.2)),
}


def objective(net, target, over, d=np.inf):
    landscape = gs.predict(net, target, alpha=1.3, lam=0.2, d=d, bulk="isotropic")["test_error"]
    landscape = landscape.assign_coords(budget=3.0).assign_attrs(bulk="isotropic")
    made = Objective(net, target, over, landscape, "isotropic")
    return made, {name: float(landscape[name]) for name in made.fixed}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("over", [("lam",), ("eta", "lam"), ("eta", "lam", "split")])
@pytest.mark.parametrize("d", [np.inf, 100.0])
def test_derivatives_equal_finite_differences(name, over, d):
    """Fourth-order central differences with steps of 1e-3 in ln x: errors 1e-12 from the step, 1e-12 from rounding."""
    net, target = CASES[name]
    made, at = objective(net, target, over, d)
    x = np.array([{"lam": 0.2, "eta": float(net.eta), "split": 0.4}[parameter] for parameter in over])
    error, slope = made.error_and_slope(at, x, 256)
    assert error == pytest.approx(made.error(at, x), rel=1e-7)
    for i in range(len(x)):
        values = []
        for k in (2, 1, -1, -2):
            moved = x.copy()
            moved[i] *= np.exp(k * 1e-3)
            values.append(made.error_and_slope(at, moved, 256)[0])
        difference = (8 * (values[1] - values[2]) - (values[0] - values[3])) / 12e-3
        assert slope[i] == pytest.approx(difference, abs=1e-6 * np.abs(slope).max())


@settings(max_examples=6)
@given(
    activation=st.sampled_from(["tanh", "relu", "erf"]),
    target=st.sampled_from(["sin", "tanh"]),
    alpha=st.floats(0.3, 5.0),
    beta=st.floats(0.4, 2.0),
    noise=st.floats(0.05, 1.0),
)
def test_no_penalty_on_a_grid_beats_the_optimum(activation, target, alpha, beta, noise):
    model = gs.SpikedRF(activation, r=1.0, gamma=0.7, beta=beta)
    y = gs.Target(target, noise=noise)
    best = tune(model, y, alpha=alpha)
    grid = gs.predict(model, y, alpha=alpha, lam=np.geomspace(1e-4, 1e2, 200))["test_error"]
    assert best["best_error"] <= grid.min() * (1 + 1e-9)
    assert (
        bool(best["at_end"]) or best["slope"] < 1e-6
    )  # the optimiser stops at 1e-11 of the error, or by rounding
    assert best["best_error"] <= best["landscape"].min() * (1 + 1e-5)  # the scan's own tolerance is 1e-6


def test_learning_rate_and_penalty_are_stationary_together():
    net, y = CASES["smooth"]
    best = tune(net, y, alpha=[0.8, 2.0], over=("eta", "lam"), bulk="isotropic")
    assert best["landscape"].sizes == {"alpha": 2, "eta": 18, "lam": 25}
    assert not best["at_end"].any()
    assert np.all(best["slope"] < 1e-6)
    eta, lam = best["best_eta"].values[0], best["best_lam"].values[0]
    around = gs.predict(
        gs.Network("tanh", eta=eta * np.array([0.9, 0.97, 1.0, 1.03, 1.1]), alpha0=1.5, beta=1.2),
        y,
        alpha=0.8,
        lam=lam * np.array([0.9, 0.97, 1.0, 1.03, 1.1]),
        bulk="isotropic",
    )["test_error"]
    assert best["best_error"].values[0] <= around.min() + 1e-12
    assert float(around.isel(eta=2, lam=2)) == pytest.approx(best["best_error"].values[0], rel=1e-9)


def test_a_budget_is_divided_to_the_best_effect():
    """Against a grid search over the division, at the optimal learning rate and penalty found."""
    net, y = CASES["smooth"]
    best = tune(net, y, budget=3.0, over=("eta", "lam", "split"), bulk="isotropic")
    assert float(best["best_alpha0"] + best["best_alpha"]) == pytest.approx(3.0)
    assert best["slope"] < 1e-6
    eta, lam = float(best["best_eta"]), float(best["best_lam"])
    for split in np.linspace(0.05, 0.95, 10):
        error = gs.predict(
            gs.Network("tanh", eta=eta, alpha0=3 * split, beta=1.2),
            y,
            alpha=3 * (1 - split),
            lam=lam,
            bulk="isotropic",
        )["test_error"]
        assert best["best_error"] <= error + 1e-12


def test_the_exact_bulk_is_tuned_as_sharply():
    net, y = CASES["smooth"]
    best = tune(net, y, alpha=1.3, bulk="exact")
    assert best["slope"] < 1e-8
    lam = float(best["best_lam"])
    around = gs.predict(net, y, alpha=1.3, lam=lam * np.geomspace(0.9, 1.1, 5), bulk="exact")["test_error"]
    assert best["best_error"] <= around.min() * (1 + 1e-9)


def test_labels_with_flips_are_tuned_on_their_own_error():
    """Flips call for a larger penalty than the clean labels, whose derivatives say nothing about it."""
    model, y = gs.SpikedRF("tanh", r=1.0, gamma=0.7), gs.Target("sign", flips=0.2)
    best = tune(model, y, alpha=2.0)
    assert best["slope"] < 1e-8
    around = gs.predict(model, y, alpha=2.0, lam=float(best["best_lam"]) * np.geomspace(0.9, 1.1, 21))
    assert best["best_error"] <= around["test_error"].min() * (1 + 1e-9)


def test_a_point_of_the_scan_that_fails_is_simply_not_optimal(monkeypatch):
    net, y = CASES["smooth"]
    honest = gs.predict
    scan = {"lam": np.geomspace(1e-3, 10.0, 9)}
    whole = tune(net, y, alpha=1.5, bulk="isotropic", scan=scan)

    def failing(*arguments, **options):
        found = honest(*arguments, **options)
        if "lam" in found.test_error.dims:
            found["test_error"] = found.test_error.where(found.lam > found.lam.min())
        return found

    monkeypatch.setattr("giantstep.insight.tune.predict", failing)
    found = tune(net, y, alpha=1.5, bulk="isotropic", scan=scan)
    assert float(found.best_error) == pytest.approx(float(whole.best_error), rel=1e-9)
    assert np.isinf(found.landscape.values[0])


def test_an_optimum_at_the_end_of_the_scan_says_so():
    model = gs.SpikedRF("tanh", r=1.0, gamma=0.7)
    best = tune(model, gs.Target("sin", noise=0.5), alpha=1.0, scan={"lam": np.geomspace(1e-4, 1e-2, 9)})
    assert bool(best["at_end"])
    assert float(best["best_lam"]) == pytest.approx(1e-2, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"alpha": 1.0, "over": "gamma"}, "over"),
        ({"alpha": 1.0, "over": ("eta", "lam"), "model": gs.SpikedRF("tanh", r=1.0, gamma=1.0)}, "Network"),
        ({"alpha": 1.0, "over": ("lam", "split")}, "budget"),
        ({"over": ("lam",)}, "alpha"),
        ({"alpha": 1.0, "over": ("eta",)}, "lam"),
        ({"alpha": 1.0, "scan": {"eta": [1, 2, 3]}}, "scan"),
        ({"alpha": 1.0, "scan": {"lam": [1.0]}}, "three"),
    ],
)
def test_tune_refuses_what_it_cannot_mean(arguments, word):
    model = arguments.pop("model", CASES["smooth"][0])
    with pytest.raises(gs.ParameterError, match=word):
        tune(model, "sin", **arguments)


def test_differences_say_what_implicit_differentiation_says():
    """On the isotropic bulk, where both are known."""
    net, y = CASES["smooth"]
    over, axes = ("eta", "lam"), {"eta": 1.4, "lam": 0.2}
    landscape = gs.predict(net, y, alpha=1.3, lam=0.2, bulk="isotropic")["test_error"].assign_attrs(
        bulk="isotropic"
    )
    made = Objective(net, y, over, landscape, "isotropic")
    at = {name: float(landscape[name]) for name in made.fixed}
    x = np.array([axes[name] for name in over])
    error, exact = made.error_and_slope(at, x, 256)
    made.differentiable = False
    near, differences = made.error_and_slope(at, x, 256)
    assert near == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(differences, exact, rtol=0.0, atol=1e-8 * error)


def test_the_last_number_of_steps_that_was_scanned_is_an_end():
    net, options = gs.Network("tanh", eta=1, alpha0=1), {"over": ("lam", "steps"), "bulk": "isotropic"}
    found = gs.tune(net, "sin", alpha=2.0, scan={"steps": [1, 2]}, **options)
    assert float(found.best_steps) == 2.0  # the error falls with every step here
    assert float(found.by_steps[0]) > float(found.by_steps[1])
    assert bool(found.at_end)


@pytest.mark.parametrize(
    ("scanned", "best", "end"),
    [([1, 2, 3], 1, False), ([1, 2, 3], 2, False), ([1, 2, 3], 3, True), ([2, 3], 2, True), ([4], 4, False)],
)
def test_the_fewest_steps_are_an_end_only_where_fewer_could_be_taken(scanned, best, end):
    error = np.abs(np.array(scanned) - best) + 1.0
    optima = {"best_error": error, "best_lam": 10.0 * np.array(scanned), "at_end": np.zeros(len(error), bool)}
    found = xr.Dataset({name: ("steps", values) for name, values in optima.items()}, {"steps": scanned})
    found["landscape"] = found.best_error
    chosen = _best_number(found)
    assert (chosen.best_steps, chosen.best_lam, chosen.best_error) == (best, 10.0 * best, 1.0)
    assert bool(chosen.at_end) == end


def test_optima_of_the_limit_alone_are_announced_with_both_numbers():
    net, y = gs.Network("tanh", eta=0.03, alpha0=1), "sin"
    options = {"alpha": 2.0, "bulk": "isotropic", "scan": {"lam": [0.05, 0.1, 0.2]}}
    with pytest.warns(gs.LimitWarning, match=r"1 of 1 optima are those of the limit") as said:
        best = tune(net, y, **options)
    sized = gs.predict(net, y, alpha=2.0, lam=float(best.best_lam), bulk="isotropic", d=1000).test_error
    assert f"{float(best.best_error):.4g} in the limit and {float(sized):.4g} at d = 1000" in str(
        said[0].message
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune(net, y, **options, d=1000)


@pytest.mark.parametrize("wide", [1.0, 3.0])
def test_newton_finds_the_least_of_a_bent_valley_and_of_its_edge(wide):
    """Rosenbrock's function plus 1, whose least value 1 is at (1, 1); a box that ends before has its own."""

    def bent(y):
        a, b = y
        value = 1 + (1 - a) ** 2 + 10 * (b - a**2) ** 2
        slope = np.array([-2 * (1 - a) - 40 * a * (b - a**2), 20 * (b - a**2)])
        asked.append(y)
        return value, slope, np.array([[2 - 40 * (b - 3 * a**2), -40 * a], [-40 * a, 20.0]])

    asked: list[np.ndarray] = []
    inside = descend(bent, np.array([-1.0, 0.5]), np.full(2, -wide), np.full(2, wide), 1e-9)
    np.testing.assert_allclose(inside, [1.0, 1.0], atol=1e-8)
    assert len(asked) < 40
    edge = descend(bent, np.array([-1.0, 0.2]), np.full(2, -1.0), np.array([0.5, 1.0]), 1e-9)
    np.testing.assert_allclose(edge, [0.5, 0.25], atol=1e-8)


def test_newton_takes_a_bend_downwards_for_its_size_and_counts_on_no_flat_one():
    """Along axes turned by 0.4, bent by -2 and by 4: steps of 1/2 and 1/4, downhill; flat ones count as 1e-3 of it."""
    turn = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    for bent, steps in (((-2.0, 4.0), (0.5, 0.25)), ((0.0, 4.0), (250.0, 0.25))):
        move = _downhill(turn @ np.ones(2), turn @ np.diag(bent) @ turn.T)
        np.testing.assert_allclose(turn.T @ move, -np.array(steps), rtol=1e-12)


def test_newton_goes_around_what_fails():
    def bent(y):
        if y[0] > 1.5:
            return np.inf, np.zeros(1), np.eye(1)
        return 1 + (y[0] - 1) ** 2, 2 * (y - 1), np.full((1, 1), 0.5)  # too flat, so that steps are too long

    assert descend(bent, np.zeros(1), np.full(1, -2.0), np.full(1, 4.0), 1e-9)[0] == pytest.approx(
        1.0, abs=1e-8
    )


def test_second_differences_are_those_of_exact_slopes():
    """On the isotropic bulk, where slopes are exact."""
    net, y = CASES["smooth"]
    made, at = objective(net, y, ("eta", "lam", "split"))
    x = np.array([1.4, 0.2, 0.4])
    made.differentiable = False
    error, slope, second = made._bent(at, x)
    made.differentiable = True
    near, exact = made.error_and_slope(at, x, 256)
    assert error == pytest.approx(near, rel=1e-9)
    np.testing.assert_allclose(slope, exact, atol=1e-8 * error)
    h = 1e-3
    for i in range(3):
        moved = [made.error_and_slope(at, x * np.exp(k * h * np.eye(3)[i]), 256)[1] for k in (1, -1)]
        # differences of second order in steps of 1e-3 and 2e-3: 4e-6 of a fourth derivative, and rounding over 4e-6
        np.testing.assert_allclose(
            second[i], (moved[0] - moved[1]) / (2 * h), atol=2e-4 * np.abs(second).max()
        )


def test_layers_are_made_once_for_all_penalties(monkeypatch):
    net, y = CASES["smooth"]
    made, at = objective(net, y, ("eta", "lam", "split"))
    made.differentiable = False
    asked = []
    predicted = Objective._predicted
    monkeypatch.setattr(Objective, "_predicted", lambda self, *a: asked.append(a[1]) or predicted(self, *a))
    made._bent(at, np.array([1.4, 0.2, 0.4]))
    assert asked[0]["eta"].sizes == asked[0]["split"].sizes == {"point": 11}  # 19 points of the stencil
    assert asked[0]["lam"].sizes == {"penalty": 5}
    ranges = [np.array([0.1, 1.0, 10.0])] * 3
    here, _ = made.stationarity(at, (1.4, 0.2, 0.4), ranges)
    assert len(asked) == 1  # known from there
    there, _ = made.stationarity(at, (1.5, 0.2, 0.4), ranges)
    assert len(asked) == 2  # and another point is not
    assert there != here


def test_an_interruption_keeps_the_scan_and_what_is_polished(monkeypatch):
    net, y = CASES["smooth"]
    options = {"alpha": [0.8, 1.5, 3.0], "bulk": "isotropic"}
    whole = tune(net, y, **options)
    calls = []

    def minimise(self, at, *box):
        calls.append(at)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return honest(self, at, *box)

    honest = Objective.minimise
    monkeypatch.setattr(Objective, "minimise", minimise)
    shares = []
    with pytest.warns(gs.GiantstepWarning, match=r"interrupted: 2 of 3 optima"):
        found = tune(net, y, **options, progress=shares.append)
    assert len(calls) == 2
    assert found.attrs["interrupted"] == 1
    assert found.best_error[0] == whole.best_error[0]
    np.testing.assert_array_equal(found.best_error[1:], found.landscape.min("lam")[1:])
    assert np.isnan(found.slope.values).tolist() == [False, True, True]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert "interrupted" not in whole.attrs


def test_a_scan_of_several_steps_is_rough_and_quick_and_its_optimum_is_neither():
    """Rates that explode would be followed to ever finer rules, and are no optimum."""
    net, target = gs.Network("relu", eta=1, alpha0=1), "sin"
    scan = {"eta": np.array([0.5, 1.2, 3.0, 60.0]), "lam": np.geomspace(0.1, 10, 5), "steps": [2]}
    found = gs.tune(net, target, alpha=3.0, over=("eta", "lam", "steps"), scan=scan)
    assert found.slope < 1e-8
    best = gs.Network("relu", eta=float(found.best_eta), alpha0=1, steps=2)
    exact = gs.predict(best, target, alpha=3.0, lam=float(found.best_lam)).test_error
    assert float(found.best_error) == pytest.approx(exact.item(), rel=1e-9)
    grid = gs.predict(
        gs.Network("relu", eta=scan["eta"][:3], alpha0=1, steps=2), target, alpha=3.0, lam=scan["lam"]
    ).test_error
    scanned = found.landscape.isel(steps=0, eta=slice(0, 3)).transpose(*grid.dims)
    np.testing.assert_allclose(scanned, grid, rtol=0.1)
    assert found.best_error <= grid.min() * (1 + 1e-9)

"""Tuning: optima that are stationary and not above any grid search."""

import re
import warnings

import numpy as np
import pytest
import xarray as xr

import giantstep as gs

SIN = gs.Target("sin", noise=0.2)
SMOOTH = gs.Network("tanh", eta=2.0, alpha0=1.5, beta=1.2), SIN
FLIPPED = gs.Target("sign(x + 0.3*x**3)", flips=0.1)


def test_learning_rate_and_penalty_are_stationary_together():
    net, y = SMOOTH
    best = gs.tune(net, y, alpha=[0.8, 2.0], over=("eta", "lam"), bulk="isotropic")
    assert best["landscape"].sizes == {"alpha": 2, "eta": 17, "lam": 25}
    assert not best["at_end"].any()
    assert np.all(best["slope"] < 1e-8)
    eta, lam = best["best_eta"].values[0], best["best_lam"].values[0]
    near = np.array([0.9, 0.97, 1.0, 1.03, 1.1])
    net = gs.Network("tanh", eta=eta * near, alpha0=1.5, beta=1.2)
    around = gs.predict(net, y, alpha=0.8, lam=lam * near, bulk="isotropic")["test_error"]
    assert best["best_error"].values[0] <= around.min() + 1e-12
    assert float(around.isel(eta=2, lam=2)) == pytest.approx(best["best_error"].values[0], rel=1e-9)


def test_a_budget_may_have_a_dimension_of_its_own_and_steps_a_grid():
    budget = xr.DataArray([2.0, 4.0], dims="run", coords={"run": ["few", "many"]})
    scan = {"eta": [1.0, 2.0, 4.0], "split": [0.3, 0.5, 0.7]}
    net = gs.Network("tanh", eta=1.0, alpha0=1.0, steps=[1, 2])
    best = gs.tune(net, SIN, budget=budget, lam=0.1, over=("eta", "split"), bulk="isotropic", scan=scan)
    assert best["best_error"].sizes == {"run": 2, "steps": 2}
    total = best["best_alpha0"] * best["steps"] + best["best_alpha"]
    np.testing.assert_allclose(total, [[2.0, 2.0], [4.0, 4.0]], rtol=1e-12)


def test_a_budget_is_divided_to_the_best_effect():
    """Against a grid search over the division, at the optimal learning rate and penalty found."""
    net, y = SMOOTH
    best = gs.tune(net, y, budget=3.0, over=("eta", "lam", "split"), bulk="isotropic")
    assert float(best["best_alpha0"] + best["best_alpha"]) == pytest.approx(3.0)
    assert best["slope"] < 1e-8
    share = xr.DataArray([*np.linspace(0.05, 0.95, 10), float(best["best_split"])], dims="share")
    net = gs.Network("tanh", eta=float(best["best_eta"]), alpha0=3 * share, beta=1.2)
    error = gs.predict(net, y, alpha=3 * (1 - share), lam=float(best["best_lam"]), bulk="isotropic")["test_error"]
    assert np.all(best["best_error"] <= error + 1e-12)
    assert float(error[-1]) == pytest.approx(float(best["best_error"]), rel=1e-9)


def test_points_that_fail_have_no_optimum_and_leave_the_others_theirs():
    """Clean signs of the spike itself are separable: the limit d = inf has no logistic fit."""
    model, scan = gs.SpikedRF("tanh", r=1.0, gamma=[0.9, 1.0]), {"lam": [0.03, 0.1, 0.3]}
    found = gs.tune(model, "sign", alpha=1.0, loss="logistic", scan=scan)
    np.testing.assert_array_equal(np.isinf(found.landscape), [[False] * 3, [True] * 3])
    assert np.isfinite(found.best_error).values.tolist() == [True, False]


def test_the_search_stops_where_there_is_no_answer():
    """At the lowest of these rates a few eigenvalues of the inputs hold too much of the rows."""
    target = gs.Target("tanh(2*x)", noise=0.1, inputs=gs.Inputs([20, 0.5], [0.02, 0.98], [0.5, 0.5]))
    net, options = gs.Network("tanh", eta=1, alpha0=1), {"alpha": 2, "lam": 0.1, "d": 300}
    found = gs.tune(net, target, over="eta", scan={"eta": [2.5, 4, 6]}, **options)
    assert np.isinf(found.landscape).values.tolist() == [True, False, False]
    answer = gs.predict(gs.Network("tanh", eta=float(found.best_eta), alpha0=1), target, **options)
    assert float(found.best_error) == pytest.approx(float(answer.test_error), rel=1e-9)


def test_an_optimum_at_the_end_of_the_scan_says_so():
    model = gs.SpikedRF("tanh", r=1.0, gamma=0.7)
    best = gs.tune(model, gs.Target("sin", noise=0.5), alpha=1.0, scan={"lam": np.geomspace(1e-4, 1e-2, 9)})
    assert bool(best["at_end"])
    assert float(best["best_lam"]) == pytest.approx(1e-2, rel=1e-6)
    assert float(best["slope"]) == 0.0  # that of the others


@pytest.mark.parametrize(
    ("eta", "scanned", "best", "end"), [(3, [1, 2], 1, 0), (3, [2, 3], 2, 1), (3, [2], 2, 0), (0.3, [1, 2], 2, 1)]
)
def test_the_fewest_steps_are_an_end_only_where_fewer_could_be_taken(eta, scanned, best, end):
    net, scan = gs.Network("relu", eta=eta, alpha0=0.3), {"lam": [0.01, 0.1, 1, 10], "steps": scanned}
    found = gs.tune(net, SIN, alpha=1, over=("lam", "steps"), scan=scan, d=300, bulk="isotropic")
    assert (found.best_steps, found.at_end) == (best, end)


def test_optima_of_the_limit_alone_are_announced_with_both_numbers():
    net, y = gs.Network("tanh", eta=0.03, alpha0=1), "sin"
    options = {"alpha": 2.0, "bulk": "isotropic", "scan": {"lam": [0.05, 0.1, 0.2]}}
    with pytest.warns(gs.LimitWarning, match=r"1 of 1 optima hold for the limit") as said:
        best = gs.tune(net, y, **options)
    sized = gs.predict(net, y, alpha=2.0, lam=float(best.best_lam), bulk="isotropic", d=1000).test_error
    limit, there = re.findall(r"(\d\.\d+)(?= in the limit| at d = 1000)", str(said[0].message))
    assert float(limit) == pytest.approx(float(best.best_error), rel=1e-3)
    # what the step takes from the rows in common is left out there: 1e-3
    assert float(there) == pytest.approx(float(sized), rel=5e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.tune(net, y, **options, d=1000)
    slow, wrong = gs.Network("erf", eta=0.05, alpha0=1.0), {"error": "test_error_01", "scan": {"lam": [1e5, 2e5, 4e5]}}
    with pytest.warns(gs.LimitWarning, match="optima hold for the limit"):
        gs.tune(slow, FLIPPED, alpha=0.5, **wrong)


def test_an_interruption_keeps_the_scan_and_what_is_polished():
    options, shares = {"alpha": [0.8, 1.5, 3.0], "bulk": "isotropic"}, []
    whole = gs.tune(*SMOOTH, **options)

    def impatient(share):
        shares.append(share)
        if max(shares) > 0.6 > shares[-2]:  # the scan takes one half, and each of three optima a sixth
            raise KeyboardInterrupt

    with pytest.warns(gs.GiantstepWarning, match=r"interrupted: 2 of 3 optima"):
        found = gs.tune(*SMOOTH, **options, progress=impatient)
    assert found.attrs["interrupted"] == 1
    assert found.best_error[0] == whole.best_error[0]
    np.testing.assert_array_equal(found.best_error[1:], found.landscape.min("lam")[1:])
    assert np.isnan(found.slope.values).tolist() == [False, True, True]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert "interrupted" not in whole.attrs


def test_the_number_of_steps_is_tuned_with_the_rest():
    """Every number is tuned by itself; the answer is the best of them, and none is worse than its own scan."""
    over, net = ("eta", "lam", "split", "steps"), gs.Network("tanh", eta=1, alpha0=1)
    scan = {"eta": [0.7, 1.5, 3.0], "lam": [0.03, 0.1, 0.3], "split": [0.4, 0.6, 0.8], "steps": [1, 2]}
    found = gs.tune(net, "sin", budget=4.0, over=over, bulk="isotropic", scan=scan)
    assert float(found.best_error) == float(found.by_steps.min())
    assert float(found.best_steps) == float(found.steps.values[np.argmin(found.by_steps.values)])
    assert (found.by_steps <= found.landscape.min(["eta", "lam", "split"]) + 1e-12).all()
    each, steps = float(found.best_alpha0), float(found.best_steps)
    assert each * steps + float(found.best_alpha) == pytest.approx(4.0)
    net = gs.Network("tanh", eta=float(found.best_eta), alpha0=each, steps=int(steps))
    again = gs.predict(net, "sin", alpha=float(found.best_alpha), lam=float(found.best_lam), bulk="isotropic")
    assert float(again.test_error) == pytest.approx(float(found.best_error), rel=1e-6)


def test_a_scan_of_several_steps_is_rough_and_quick_and_its_optimum_is_neither():
    """Rates that explode would be followed to ever finer rules, and are no optimum."""
    net, target = gs.Network("relu", eta=1, alpha0=1), "sin"
    scan = {"eta": np.array([0.5, 1.2, 3.0, 60.0]), "lam": np.geomspace(0.1, 10, 5), "steps": [2]}
    found = gs.tune(net, target, alpha=3.0, over=("eta", "lam", "steps"), scan=scan)
    assert found.slope < 1e-8
    best = gs.Network("relu", eta=float(found.best_eta), alpha0=1, steps=2)
    exact = gs.predict(best, target, alpha=3.0, lam=float(found.best_lam)).test_error
    assert float(found.best_error) == pytest.approx(exact.item(), rel=1e-9)
    net = gs.Network("relu", eta=scan["eta"][:3], alpha0=1, steps=2)
    grid = gs.predict(net, target, alpha=3.0, lam=scan["lam"]).test_error
    scanned = found.landscape.isel(steps=0, eta=slice(0, 3)).transpose(*grid.dims)
    np.testing.assert_allclose(scanned, grid, rtol=0.1)
    assert found.best_error <= grid.min() * (1 + 1e-9)


@pytest.mark.parametrize(("loss", "error", "apart"), [("logistic", None, 1.2), ("square", "test_error_01", 1.1)])
def test_classifiers_are_tuned_for_the_fewest_wrong_signs(loss, error, apart):
    net = gs.Network("erf", eta=2.0, alpha0=1.0)
    best = gs.tune(net, FLIPPED, alpha=2.0, loss=loss, error=error, d=500)
    lams = np.geomspace(1e-2, 10.0, 61)
    signs = gs.predict(net, FLIPPED, alpha=2.0, lam=lams, loss=loss, d=500)["test_error_01"]
    assert best.best_error <= signs.min()
    assert best.best_error == pytest.approx(float(signs.min()), rel=1e-4)
    again = gs.predict(net, FLIPPED, alpha=2.0, lam=float(best.best_lam), loss=loss, d=500)["test_error_01"]
    assert float(best.best_error) == pytest.approx(float(again), rel=1e-9)
    assert best.slope < 1e-5
    assert not best.at_end
    assert "wrong signs" in best.landscape.attrs["long_name"]
    np.testing.assert_allclose(best.ridge_error, gs.ridge(FLIPPED, alpha=3.0).test_error_01)
    squared = gs.tune(net, FLIPPED, alpha=2.0, loss=loss, error="test_error", d=500)
    assert squared.best_lam > apart * best.best_lam  # another question, another answer


VALLEYS = {
    # from the lowest point of this scan the optimum is more than one scanned rate away
    "turning": (
        gs.Network("relu", eta=1.0, alpha0=0.423, beta=0.45, readout="ternary"),
        gs.Target("sign", noise=0.1),
        {"alpha": 0.7175, "d": 300},
        {"eta": np.geomspace(0.05, 50.0, 9), "lam": np.geomspace(1e-4, 1e2, 7)},
        0.99,
    ),
    # the lowest point of this scan, at a strong step, lies in the higher one of two valleys
    "two": (
        gs.Network("relu", eta=1.0, alpha0=0.5),
        gs.Target("tanh", noise=0.2),
        {"alpha": 1.5},
        {"eta": np.geomspace(0.1, 30.0, 9), "lam": np.geomspace(1e-3, 30.0, 7)},
        0.98,
    ),
}


@pytest.mark.parametrize("name", VALLEYS)
def test_the_search_goes_on_beyond_the_lowest_point_of_the_scan(name):
    net, target, options, scan, gain = VALLEYS[name]
    best = gs.tune(net, target, **options, bulk="isotropic", over=("eta", "lam"), scan=scan)
    assert best["slope"] < 1e-6
    assert best["best_error"] < best["landscape"].min() * gain


COARSE = {"scan": {"lam": np.geomspace(0.01, 10, 5)}}
SPIKED, PRODUCT = gs.SpikedRF("tanh", r=1.0, gamma=0.7), gs.Target("x1 + x1*x2", noise=0.2)


@pytest.mark.parametrize(
    ("model", "target", "options", "more", "slope"),
    [
        (*SMOOTH, {"bulk": "exact"}, {}, 1e-8),
        (SPIKED, gs.Target("sign", flips=0.2), {}, {}, 1e-8),  # a larger penalty than clean labels call for
        (*SMOOTH, {"loss": "huber:0.5"}, COARSE, 1e-6),  # residuals of other losses: 1e-10
        (gs.Network("relu", eta=1.0, alpha0=1.5), PRODUCT, {"bulk": "isotropic"}, {}, 1e-8),
        (gs.SpikedRF("relu", r=1.0, gamma=0.7, beta=0.4), gs.Target("tanh", noise=0.8), {}, {}, 1e-8),
    ],
)
def test_no_penalty_is_better_than_the_optimum(model, target, options, more, slope):
    best = gs.tune(model, target, alpha=1.3, **options, **more)
    assert best["slope"] < slope
    lam = np.append(float(best["best_lam"]) * np.geomspace(0.9, 1.1, 5), np.geomspace(1e-2, 10, 7))
    found = gs.predict(model, target, alpha=1.3, lam=lam, **options)["test_error"]
    assert best["best_error"] <= found.min() * (1 + 1e-8)
    assert best["best_error"] <= best["landscape"].min() * (1 + 1e-5)  # the scan's own tolerance is 1e-6
    assert best.attrs["loss"] == options.get("loss", "square")

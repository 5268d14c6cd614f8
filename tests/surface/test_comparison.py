"""`compare` on data made by hand, where every answer is known."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import giantstep as gs
from giantstep.answers.comparison import PARTS

ALPHA, TRIALS = np.array([0.5, 1.0, 2.0]), 4
SCATTER = 0.1 * np.array([1.0, -1.0, 1.0, -1.0])[:, None]
STANDARD_ERROR = 0.2 / np.sqrt(3) / 2  # of four values at ±0.1: standard deviation 0.2/√3
MINE = 1.0 / ALPHA + SCATTER


def theory(alpha=ALPHA, **coords) -> xr.Dataset:
    alpha = np.asarray(alpha)
    values = {"test_error": ("alpha", 1.0 / alpha), "residual": ("alpha", 0.0 * alpha), "V2": ("alpha", alpha)}
    return xr.Dataset(values, coords={"alpha": alpha, "lam": 0.1, **coords}, attrs={"command": "predict"})


def simulation(shift=0.0, alpha=ALPHA, **coords) -> xr.Dataset:
    values = {"test_error": (("trial", "alpha"), 1.0 / np.asarray(alpha) + shift + SCATTER)}
    coords = {"trial": range(TRIALS), "alpha": alpha, "lam": 0.1, **coords}
    return xr.Dataset(values, coords, attrs={"d": 100, "seed": 1})


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_z_is_the_difference_over_the_standard_error():
    compared = gs.compare(theory(), simulation(shift=0.05)).test_error
    assert tuple(compared.part.values) == PARTS
    z = 0.05 / STANDARD_ERROR
    for part, expected in zip(PARTS, (1 / ALPHA, 1 / ALPHA + 0.05, STANDARD_ERROR, 0.05, z), strict=True):
        np.testing.assert_allclose(compared.sel(part=part), np.broadcast_to(expected, 3), rtol=1e-12)


def test_only_shared_points_and_statistics_are_compared():
    compared = gs.compare(theory(0.1 * np.arange(1, 31)), simulation(alpha=[0.3, 0.7, 5.0]))
    assert list(compared.data_vars) == ["test_error"]
    assert compared.alpha.values.tolist() == [0.3, 0.7]  # which multiples of 0.1 hit up to rounding
    np.testing.assert_allclose(compared.test_error.sel(part="difference"), 0.0, atol=1e-14)


def test_a_dimension_in_one_is_selected_by_the_number_in_the_other():
    wide = xr.concat([theory().assign_coords(lam=v) for v in (0.01, 0.1)], dim="lam")
    assert gs.compare(wide, simulation(shift=0.05)).test_error.dims == ("alpha", "part")
    many = xr.concat([simulation(v).assign_coords(lam=v) for v in (0.01, 0.1)], dim="lam")
    assert float(gs.compare(theory(), many).test_error.sel(part="difference")[0]) == pytest.approx(0.1)


def test_agreement_to_rounding_without_scatter_is_no_evidence():
    exact = theory().assign(c=1.0)
    for value, z in ((1.0 + 2e-16, np.nan), (1.1, np.inf)):
        measured = simulation().assign(c=("trial", np.full(TRIALS, value)))
        np.testing.assert_equal(gs.compare(exact, measured).c.sel(part="z").item(), z)


def test_another_activation_is_pointed_out():
    tanh, relu = ({"model": json.dumps({"activation": name})} for name in ("tanh", "relu"))
    with pytest.warns(gs.GiantstepWarning, match="activation of the theory is tanh"):
        gs.compare(theory().assign_attrs(tanh), simulation().assign_attrs(relu))


def test_the_summary_counts_what_lies_beyond_three():
    shifted = simulation()
    shifted["test_error"][:, 0] += 10 * STANDARD_ERROR
    shifted["test_error"][:, 1] -= 2 * STANDARD_ERROR
    text = gs.summary(gs.compare(theory(d=100.0), shifted))
    rms = f"{np.sqrt((100 + 4 + 0) / 3):.2f}"
    assert text.splitlines()[1].split() == ["test_error", "3", rms, "+10.00", "33", "%", "alpha", "=", "0.5"]
    assert "rms z 1.73, |z| > 3 5.8 %" in text  # Student's t with 3 degrees of freedom: variance 3


def test_a_summary_says_which_theory_it_is_and_is_a_table_in_notebooks():
    limit = gs.summary(gs.compare(theory(d=np.inf), simulation()))
    assert "the networks have d = 100; predict(..., d=100) corrects for it" in limit
    assert "theory and networks have d = 100" in gs.summary(gs.compare(theory(d=100.0), simulation()))
    assert "<td>test_error</td>" in limit._repr_html_()
    assert repr(limit) == str(limit)
    with pytest.raises(gs.ParameterError, match=r"give what compare\(\.\.\.\) returns"):
        gs.summary(simulation())


@pytest.mark.parametrize(
    ("shift", "said"),
    [(0.0, ""), (0.05, "off by up to 10.0%; effects of order 1/d, which the theory leaves out, are a few times 1.0%")],
)
def test_a_summary_says_what_differences_beyond_scatter_may_be(shift, said):
    measured = simulation()
    measured["test_error"][:] = 1.0 / ALPHA + shift + 0.01 * SCATTER
    text = gs.summary(gs.compare(theory(d=100.0), measured))
    assert text.partition("beyond scatter, test_error is ")[2] == said


def test_a_limit_that_misses_small_networks_hints_at_their_size():
    small = simulation(shift=1.0)
    with pytest.warns(gs.GiantstepWarning, match=r"predict\(\.\.\., d=100\) corrects for it"):
        gs.compare(theory(), small)
    gs.compare(theory(d=100.0), small)  # which has it already
    gs.compare(theory(), simulation())  # where there is no distance to explain
    gs.compare(theory(), small.assign_attrs(d=2000))  # where the size is not the reason


@pytest.mark.parametrize(
    ("target", "lam", "tested"),
    [
        ("sin(x)", 0.0, {"test_error": True, "train_error": False}),  # interpolated up to rounding
        ("sin(x)", 0.1, {"test_error": True, "train_error": True}),
        ("1e-13*sin(x)", 0.1, {"test_error": True}),  # errors of 1e-27
    ],
)
def test_errors_are_tested_unless_they_are_rounding(target, lam, tested):
    net, at = gs.Network("tanh", eta=1.0, alpha0=1.0, beta=2.0), {"alpha": 1.0, "lam": lam, "d": 60}
    measured = gs.simulate(net, target, **at, trials=4, progress=False, n_test=500)
    compared = gs.compare(gs.predict(net, target, **at), measured).sel(part="z")
    assert {name: bool(np.isfinite(compared[name])) for name in tested} == tested


@pytest.mark.parametrize(
    "mine",
    [
        MINE,
        MINE.tolist(),
        {"test_error": MINE},
        {"alpha": ALPHA, "test_error": MINE},
        xr.DataArray(MINE.T, dims=("alpha", "trial"), coords={"alpha": ALPHA}),
        frame(alpha=np.tile(ALPHA, TRIALS), test_error=MINE.ravel(), note="mine"),
        xr.Dataset({"test_error": (("trial", "alpha"), MINE)}, {"alpha": ALPHA}),
    ],
    ids=["array", "lists", "dictionary", "dictionary with points", "array with names", "table", "dataset"],
)
@pytest.mark.parametrize("size", [{}, {"d": 100.0}], ids=["limit", "d = 100"])
def test_numbers_of_ones_own_are_compared_like_those_of_simulate(mine, size):
    ours, compared = gs.compare(theory(**size), simulation()), gs.compare(theory(**size), mine, d=100)
    np.testing.assert_allclose(compared.test_error, ours.test_error, rtol=1e-14)
    assert compared.attrs["d"] == 100


@pytest.mark.parametrize("at", [theory().isel(alpha=0), theory([0.5])], ids=["a number", "a list of one"])
@pytest.mark.parametrize("mine", [MINE[:, 0], MINE[:, :1]], ids=["one axis", "two axes"])
def test_trials_at_one_point_are_a_list_or_a_column_of_numbers(at, mine):
    difference = gs.compare(at, mine).test_error.sel(part="difference")
    assert difference.item() == pytest.approx(0.0)


def test_numbers_of_ones_own_are_drawn_with_the_words_and_the_smooth_line_of_the_theory():
    curve = gs.predict(gs.Network("tanh", eta=1, alpha0=2), "sin", alpha=[1, 2, 4], lam=0.1, d=100)
    axes = gs.plot(gs.compare(curve, curve.test_error.values + 0.01 * np.array([[-1.0], [1.0]])))
    assert axes.get_ylabel().startswith("test error")
    assert max(len(line.get_xdata()) for line in axes.lines) > 20


def test_points_with_fewer_trials_have_the_standard_error_of_their_own_number():
    rows = frame(alpha=np.tile(ALPHA, TRIALS), test_error=MINE.ravel())
    compared = gs.compare(theory(), rows[:-1]).test_error.sel(part="standard_error")
    fewer = np.std([1, -1, 1], ddof=1) * 0.1 / np.sqrt(3)
    np.testing.assert_allclose(compared, [STANDARD_ERROR, STANDARD_ERROR, fewer], rtol=1e-12)


@pytest.mark.parametrize(
    ("of_theory", "mine", "words"),
    [
        (theory([7.0, 8.0]), simulation(), "no value of alpha: 2 values from 7 to 8"),
        (theory(d=50.0), simulation(), "no value of d"),
        (simulation(), theory(), "and then a simulation"),
        (theory(), simulation().isel(trial=[0]), "at least 2"),
        (theory().drop_vars("test_error"), simulation(), "no statistic in common"),
        (theory(), 0.3, r"shape \[\] for test_error, and the theory needs \[trials, 3\]"),
        (theory(), MINE.T, r"shape \[3, 4\] for test_error, and the theory needs \[trials, 3\]"),
        (theory(), MINE.T, r"the trials come first: give np.moveaxis\(simulation, -1, 0\)"),
        (theory(), MINE.mean(axis=0), "a row for each trial, not their mean"),
        (theory(), MINE * np.nan, "12 NaN among its values of test_error"),
        (theory(), {"loss": MINE}, "names 'loss', and the theory has no such quantity; it has test_error$"),
        (theory(), xr.Dataset({"test_error": (("seed", "alpha"), MINE)}), "rename the dimension that counts"),
        (theory(), "many", "simulation = 'many' is not a number"),
        (theory(), frame(test_error=MINE[:, 0]), "several values of alpha, and simulation has no such"),
        (theory(), frame(alpha=ALPHA), "none is a quantity of the theory"),
        (theory(), frame(alpha=[1.0, 1.0], trial=0, test_error=[0.1, 0.2]), "1 rows that repeat a trial"),
        (theory(), frame(alpha=ALPHA, test_error="none"), "is not a number or a sequence"),
        (theory([0.5]), [], "at least 2 trials, and simulation has 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(of_theory, mine, words):
    with pytest.raises(gs.ParameterError, match=words):
        gs.compare(of_theory, mine)

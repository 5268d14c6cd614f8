"""`compare` on data made by hand, where every answer is known."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import giantstep as gs
from giantstep.answers.comparison import PARTS, side_by_side
from giantstep.errors import GiantstepWarning, ParameterError

ALPHA, TRIALS = np.array([0.5, 1.0, 2.0]), 4


def theory(alpha=ALPHA, **coords) -> xr.Dataset:
    values = {
        "test_error": ("alpha", 1.0 / np.asarray(alpha)),
        "residual": ("alpha", 0.0 * np.asarray(alpha)),
    }
    return xr.Dataset(values, coords={"alpha": alpha, "lam": 0.1, **coords}, attrs={"command": "predict"})


def simulation(shift=0.0, alpha=ALPHA, **coords) -> xr.Dataset:
    """Trials at mean ± 1/10, so that the standard error of the mean is known: s = 0.2/√3/2."""
    scatter = 0.1 * np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    values = {"test_error": (("trial", "alpha"), 1.0 / np.asarray(alpha) + shift + scatter)}
    return xr.Dataset(
        values,
        coords={"trial": range(TRIALS), "alpha": alpha, "lam": 0.1, **coords},
        attrs={"d": 100, "seed": 1},
    )


STANDARD_ERROR = 0.2 / np.sqrt(3) / 2  # of four values at ±0.1: standard deviation 0.2/√3


def test_z_is_the_difference_over_the_standard_error():
    compared = gs.compare(theory(), simulation(shift=0.05)).test_error
    assert tuple(compared.part.values) == PARTS
    np.testing.assert_allclose(compared.sel(part="theory"), 1 / ALPHA, rtol=1e-15)
    np.testing.assert_allclose(compared.sel(part="simulation"), 1 / ALPHA + 0.05, rtol=1e-14)
    np.testing.assert_allclose(compared.sel(part="difference"), 0.05, rtol=1e-13)
    np.testing.assert_allclose(compared.sel(part="standard_error"), STANDARD_ERROR, rtol=1e-13)
    np.testing.assert_allclose(compared.sel(part="z"), 0.05 / STANDARD_ERROR, rtol=1e-12)


def test_only_shared_points_and_statistics_are_compared():
    compared = gs.compare(theory(np.linspace(0.1, 3.0, 30)), simulation(alpha=[0.3, 0.7, 5.0]))
    assert list(compared.data_vars) == ["test_error"]
    assert compared.alpha.values.tolist() == [0.3, 0.7]  # 30 steps of 0.1 hit them up to rounding


def test_a_dimension_in_one_is_selected_by_the_number_in_the_other():
    wide = xr.concat([theory().assign_coords(lam=v) for v in (0.01, 0.1)], dim="lam")
    compared = gs.compare(wide, simulation(shift=0.05))
    assert compared.test_error.dims == ("alpha", "part")
    many = xr.concat([simulation(v).assign_coords(lam=v) for v in (0.01, 0.1)], dim="lam")
    assert float(gs.compare(theory(), many).test_error.sel(part="difference")[0]) == pytest.approx(0.1)


def test_finite_size_theory_is_only_compared_with_its_own_size():
    assert gs.compare(theory(d=100.0), simulation()).attrs["theory_d"] == 100
    assert gs.compare(theory(d=np.inf), simulation()).attrs["theory_d"] == np.inf
    with pytest.raises(ParameterError, match="no value of d"):
        gs.compare(theory(d=50.0), simulation())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: gs.compare(theory([7.0, 8.0]), simulation()), "no value of alpha: 2 values from 7 to 8"),
        (lambda: gs.compare(theory(lam=0.2), simulation()), "no value of lam: 0.2 against 0.1"),
        (lambda: gs.compare(simulation(), theory()), "and then a simulation"),
        (lambda: gs.compare(theory(), theory()), "and then a simulation"),
        (lambda: gs.compare(theory(), simulation().isel(trial=[0])), "at least 2"),
        (lambda: gs.compare(theory().drop_vars("test_error"), simulation()), "no statistic in common"),
    ],
)
def test_what_cannot_be_compared_is_refused(make, said):
    with pytest.raises(ParameterError, match=said):
        make()


def test_agreement_to_rounding_without_scatter_is_no_evidence():
    exact = theory().assign(c=1.0)
    measured = simulation().assign(c=("trial", np.full(TRIALS, 1.0 + 2e-16)))
    assert np.isnan(gs.compare(exact, measured).c.sel(part="z"))
    off = simulation().assign(c=("trial", np.full(TRIALS, 1.1)))
    assert np.isinf(gs.compare(exact, off).c.sel(part="z"))


def test_another_activation_is_pointed_out():
    def describe(dataset, name):
        return dataset.assign_attrs(model=json.dumps({"activation": name}))

    with pytest.warns(GiantstepWarning, match="activation of the theory is tanh"):
        gs.compare(describe(theory(), "tanh"), describe(simulation(), "relu"))


def test_the_summary_counts_what_lies_beyond_three():
    shifted = simulation()
    shifted["test_error"][:, 0] += 10 * STANDARD_ERROR
    shifted["test_error"][:, 1] -= 2 * STANDARD_ERROR
    text = gs.summary(gs.compare(theory(d=100.0), shifted))
    row = text.splitlines()[1].split()
    assert row[:2] == ["test_error", "3"]
    assert row[2] == f"{np.sqrt((100 + 4 + 0) / 3):.2f}"
    assert row[3] == "+10.00"
    assert row[4:6] == ["33", "%"]
    assert "alpha = 0.5" in text
    assert "rms z 1.73, |z| > 3 5.8 %" in text  # Student's t with 3 degrees of freedom: variance 3


def test_z_of_trials_drawn_around_the_theory_is_like_student_t():
    rng = np.random.default_rng(0)
    alpha, trials = np.linspace(1, 2, 4000), 10
    draws = 1 / alpha + rng.standard_normal((trials, alpha.size))
    measured = xr.Dataset(
        {"test_error": (("trial", "alpha"), draws)}, {"alpha": alpha, "trial": range(trials), "lam": 0.1}
    )
    z = gs.compare(theory(alpha), measured).test_error.sel(part="z")
    # variance 9/7, kurtosis of t with 9 degrees of freedom 4.2: the mean square has standard error 0.036
    assert abs(float((z**2).mean()) - 9 / 7) < 4 * 9 / 7 * np.sqrt(3.2 / alpha.size)


def test_side_by_side_names_its_columns():
    columns = side_by_side(gs.compare(theory(), simulation()), "test_error")
    assert list(columns.data_vars) == ["test_error", "simulated", "±", "z"]


def test_a_summary_of_a_simulation_alone_is_refused():
    with pytest.raises(ParameterError, match=r"give what compare\(\.\.\.\) returns"):
        gs.summary(simulation())


def test_a_limit_that_misses_small_networks_hints_at_their_size():
    small = simulation(shift=1.0)
    with pytest.warns(gs.GiantstepWarning, match=r"predict\(\.\.\., d=100\) corrects for it"):
        gs.compare(theory(), small)
    gs.compare(theory(d=100.0), small)  # which has it already
    gs.compare(theory(), simulation())  # where there is no distance to explain
    gs.compare(theory(), small.assign_attrs(d=2000))  # where the size is not the reason


def test_readouts_that_interpolate_have_a_training_error_of_rounding_which_tests_nothing():
    net, at = gs.Network("tanh", eta=1.0, alpha0=1.0, beta=2.0), {"alpha": 1.0, "lam": 0.0, "d": 60}
    found = gs.compare(
        gs.predict(net, "sin", **at), gs.simulate(net, "sin", **at, trials=5, progress=False, n_test=500)
    )
    assert np.isnan(found.train_error.sel(part="z"))
    assert np.isfinite(found.test_error.sel(part="z"))


def test_small_errors_are_tested_like_large_ones():
    """A target of size 1e-13 has errors of 1e-27, and no other z."""
    net, at = gs.Network("tanh", eta=1.0, alpha0=1.0), {"alpha": 1.0, "lam": 0.1, "d": 60}
    small, usual = (
        gs.compare(gs.predict(net, target, **at), gs.simulate(net, target, **at, trials=4, progress=False))
        for target in ("1e-13*sin(x)", "sin(x)")
    )
    z = small.test_error.sel(part="z")
    assert np.isfinite(z)
    assert np.isfinite(usual.test_error.sel(part="z"))


MINE = 1.0 / ALPHA + 0.1 * np.array([1.0, -1.0, 1.0, -1.0])[:, None]


@pytest.mark.parametrize(
    "mine",
    [
        MINE,
        MINE.tolist(),
        {"test_error": MINE},
        {"alpha": ALPHA, "test_error": MINE},
        xr.DataArray(MINE.T, dims=("alpha", "trial"), coords={"alpha": ALPHA}),
        pd.DataFrame({"alpha": np.tile(ALPHA, TRIALS), "test_error": MINE.ravel(), "note": "mine"}),
        xr.Dataset({"test_error": (("trial", "alpha"), MINE)}, {"alpha": ALPHA}),
    ],
    ids=["array", "lists", "dictionary", "dictionary with points", "array with names", "table", "dataset"],
)
@pytest.mark.parametrize("size", [{}, {"d": 100.0}], ids=["limit", "d = 100"])
def test_numbers_of_ones_own_are_compared_like_those_of_simulate(mine, size):
    ours = gs.compare(theory(**size), simulation())
    compared = gs.compare(theory(**size), mine, d=100)
    np.testing.assert_allclose(compared.test_error, ours.test_error, rtol=1e-14)
    assert compared.attrs["d"] == 100


def test_trials_at_one_point_are_a_list_of_numbers():
    at = theory().isel(alpha=0)
    assert float(gs.compare(at, MINE[:, 0]).test_error.sel(part="z")) == pytest.approx(0.0)
    assert float(
        gs.compare(theory([0.5]), MINE[:, 0]).test_error.sel(part="difference").item()
    ) == pytest.approx(0.0)


def test_points_with_fewer_trials_have_the_standard_error_of_their_own_number():
    rows = pd.DataFrame({"alpha": np.tile(ALPHA, TRIALS), "test_error": MINE.ravel()})
    compared = gs.compare(theory(), rows[:-1]).test_error.sel(part="standard_error")
    np.testing.assert_allclose(compared[:-1], STANDARD_ERROR, rtol=1e-12)
    np.testing.assert_allclose(compared[-1], np.std([1, -1, 1], ddof=1) * 0.1 / np.sqrt(3), rtol=1e-12)


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (0.3, "single number 0.3 for test_error, and scatter needs at least 2 trials"),
        (MINE[:, :2], r"shape \[4, 2\] for test_error, and the theory needs \[trials, 3\]"),
        (MINE.T, "give the transposed array"),
        (MINE.mean(axis=0), "give all trials, not their mean"),
        (MINE * np.nan, "12 NaN among its values of test_error"),
        ({"loss": MINE}, "names 'loss', and the theory has no such quantity; it has test_error"),
        (xr.Dataset({"test_error": (("seed", "alpha"), MINE)}), r"simulation.rename\(seed='trial'\)"),
        ("many", "no array of numbers; give what simulate returns"),
        (None, "no array of numbers|single number"),
        (
            pd.DataFrame({"test_error": MINE[:, 0]}),
            "several values of alpha, and simulation has no such column",
        ),
        (pd.DataFrame({"alpha": ALPHA}), "none is a quantity of the theory"),
        (
            pd.DataFrame({"alpha": [1.0, 1.0], "trial": [0, 0], "test_error": [0.1, 0.2]}),
            "1 rows that repeat a trial",
        ),
        (MINE[:1], "at least 2"),
    ],
)
def test_numbers_of_ones_own_that_do_not_fit_are_refused(mine, said):
    with pytest.raises(ParameterError, match=said):
        gs.compare(theory(), mine)


def test_a_summary_says_which_theory_it_is_and_is_a_table_in_notebooks():
    limit = gs.summary(gs.compare(theory(), simulation()))
    assert "the networks have d = 100; predict(..., d=100) corrects for it" in limit
    assert "theory and networks have d = 100" in gs.summary(gs.compare(theory(d=100.0), simulation()))
    assert "<td>test_error</td>" in limit._repr_html_()
    assert repr(limit) == str(limit)

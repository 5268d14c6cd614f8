"""Tables for people: aligned, with sensible digits."""

import re

import numpy as np
import pytest
import xarray as xr
from rich.cells import cell_len

import giantstep as gs
from giantstep.answers.dims import after_last_step
from giantstep.answers.tables import aligned, columns, points
from giantstep.cli.output import table

from .command import giantstep


def test_columns_are_flat_and_broadcast_in_the_order_of_the_largest_quantity():
    dataset = xr.Dataset(
        {"a": (("y", "x"), [[1, 2], [3, 4]]), "b": ("x", [5, 6]), "c": (("x", "y"), [[1, 3], [2, 4]])},
        coords={"x": [10, 20], "y": [1, 2], "k": 7.0},
    )
    flat = columns(dataset)
    assert {name: values.tolist() for name, values in flat.items()} == {
        "y": [1, 1, 2, 2],
        "x": [10, 20, 10, 20],
        "k": [7.0] * 4,
        "a": [1.0, 2.0, 3.0, 4.0],
        "b": [5.0, 6.0, 5.0, 6.0],
        "c": [1.0, 2.0, 3.0, 4.0],
    }
    assert list(points(dataset, ["b"])) == ["x", "b"]


@pytest.mark.parametrize(
    ("flat", "lines"),
    [
        (  # decimal points line up
            {"x": np.linspace(0.1, 0.9, 3), "error": np.array([0.123456, 12.34567, -3.0])},
            ["  x     error", "0.1   0.12346", "0.5  12.34567", "0.9  -3.00000"],
        ),
        (  # short numbers stay short, and rounding is zero
            {"n": np.array([1.0, 20.0]), "z": np.array([1.0, 1e-17]), "s": np.array(["a", "bc"], object)},
            [" n  z  s", " 1  1  a", "20  0  bc"],
        ),
        (
            {"x": np.array([1.23456789e-9, 12345.678, np.inf, np.nan, -np.inf])},
            ["         x", "1.2346e-09", "     12346", "       inf", "       nan", "      -inf"],
        ),
        ({"t": np.array([0, 10]), "ok": np.array([True, False])}, [" t     ok", " 0   True", "10  False"]),
    ],
)
def test_tables_are_aligned_and_have_sensible_digits(flat, lines):
    assert aligned(flat).splitlines() == lines


def test_wide_and_combining_characters_keep_the_columns_straight():
    text = aligned({"名前": np.array(["η̃", "日本語"], object), "v": np.array([1, 2])})
    assert len({cell_len(line) for line in text.splitlines()}) == 1


STEPS = xr.Dataset(
    {
        "test_error": (("steps", "alpha"), [[1.0, 2.0], [3.0, 4.0]]),
        "r": (("steps", "step"), [[5.0, np.nan], [6.0, 7.0]]),
    },
    coords={"steps": [1.0, 2.0], "alpha": [0.5, 1.0], "step": [1, 2]},
)


def test_each_setting_has_its_own_last_step():
    assert after_last_step(STEPS.r).values.tolist() == [5.0, 7.0]
    assert after_last_step(STEPS.test_error).values.tolist() == STEPS.test_error.values.tolist()
    assert np.isnan(after_last_step(STEPS.r.where(STEPS.steps > 1)).values[0])  # one without any step


def test_rows_beyond_the_last_step_of_a_setting_are_left_out_unless_all_is_written():
    flat = points(STEPS, ["r"])
    expected = {"steps": [1.0, 2.0, 2.0], "step": [1, 1, 2], "r": [5.0, 6.0, 7.0]}
    assert {name: values.tolist() for name, values in flat.items()} == expected
    every = columns(STEPS)
    assert list(every) == ["steps", "alpha", "test_error", "r[step 1]", "r[step 2]"]
    assert every["test_error"].tolist() == [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(every["r[step 2]"], [np.nan, np.nan, 7.0, 7.0])


def test_dimensions_without_labels_are_counted():
    flat = columns(xr.Dataset({"zeta": (("x", "spike"), [[1.0, 2.0]])}, coords={"x": [0.5]}))
    assert list(flat) == ["x", "zeta[spike 1]", "zeta[spike 2]"]


def test_directions_have_the_names_of_the_targets_expression():
    """x1, x2 in tables, headers, files and sentences; the coordinate of a Dataset stays 1, 2."""
    net = gs.Network("relu", eta=1, alpha0=2, steps=2)
    found = gs.predict(net, "x1 + x1*x2", alpha=1, lam=0.1, bulk="isotropic")
    assert found.direction.values.tolist() == [1, 2]
    assert {"psi[x1]", "psi[x2]", "gamma[x1,step 1]", "gamma[x2,step 2]"} <= set(columns(found))
    heading, names, *_ = table(found, ["psi"]).splitlines()
    assert re.findall(r"([^ ]+) = ", heading.split("lam = 0.1, ")[1]) == ["r", "gamma[x1]", "gamma[x2]", "c"]
    assert names.split() == ["psi[x1]", "psi[x2]"]
    steps = giantstep("staircase --activation relu --target x1+x1*x2 --eta 1 --alpha0 2 --steps 2").stdout
    assert "overlap[x1]  overlap[x2]" in steps
    assert "\nx1: found at step 1: the target has a linear part in x1\nx2: found at step 2" in steps
    alone = giantstep("staircase --eta 1 --alpha0 2 --steps 2").stdout
    assert "overlap[x]\n" in alone
    assert "\nx: found at step 1" in alone


def test_the_worst_direction_of_a_comparison_has_its_name():
    theory = xr.Dataset({"gamma": ("direction", [0.5, 0.5])}, {"direction": [1, 2]})
    trials = xr.Dataset({"gamma": (("trial", "direction"), [[0.5, 0.6], [0.6, 0.7]])}, {"direction": [1, 2]})
    assert gs.summary(gs.compare(theory, trials)).splitlines()[1].split()[-1] == "x2"

"""Tables for people: aligned, with sensible digits."""

import numpy as np
import xarray as xr

from giantstep.tables import aligned, columns, display_width, points


def test_columns_are_flat_and_broadcast_in_the_order_of_the_largest_quantity():
    dataset = xr.Dataset(
        {"a": (("y", "x"), [[1.0, 2.0], [3.0, 4.0]]), "b": ("x", [5.0, 6.0])},
        coords={"x": [10, 20], "y": [1, 2], "k": 7.0},
    )
    flat = columns(dataset)
    assert {name: values.tolist() for name, values in flat.items()} == {
        "y": [1, 1, 2, 2],
        "x": [10, 20, 10, 20],
        "k": [7.0] * 4,
        "a": [1.0, 2.0, 3.0, 4.0],
        "b": [5.0, 6.0, 5.0, 6.0],
    }
    assert list(points(dataset, ["b"])) == ["x", "b"]


def test_numbers_line_up_on_their_decimal_point():
    text = aligned({"x": np.linspace(0.1, 0.9, 3), "error": np.array([0.123456, 12.34567, -3.0])})
    assert text.splitlines() == ["  x     error", "0.1   0.12346", "0.5  12.34567", "0.9  -3.00000"]


def test_short_numbers_stay_short_and_rounding_is_zero():
    text = aligned(
        {"n": np.array([1.0, 20.0]), "z": np.array([1.0, 1e-17]), "s": np.array(["a", "bc"], object)}
    )
    assert text.splitlines() == [" n  z  s", " 1  1  a", "20  0  bc"]


def test_many_decades_infinities_and_nan_are_shown():
    text = aligned({"x": np.array([1.23456789e-9, 12345.678, np.inf, np.nan, -np.inf])})
    assert [line.strip() for line in text.splitlines()] == ["x", "1.2346e-09", "12346", "inf", "nan", "-inf"]


def test_wide_and_combining_characters_keep_the_columns_straight():
    text = aligned({"名前": np.array(["η̃", "日本語"], object), "v": np.array([1, 2])})
    assert len({display_width(line) for line in text.splitlines()}) == 1


def test_whole_numbers_and_truth_values_are_words():
    assert aligned({"t": np.array([0, 10]), "ok": np.array([True, False])}).splitlines()[1:] == [
        " 0   True",
        "10  False",
    ]

"""Grids by named dimensions: products of arrays, zips of DataArrays, and back to labelled Datasets."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from giantstep.answers.grid import Grid, LayerGrid
from giantstep.errors import ParameterError

value = st.floats(-1e3, 1e3)
names = st.sampled_from(["eta", "alpha0", "alpha", "lam", "beta"])
parameters = st.dictionaries(names, value | st.lists(value, min_size=1, max_size=4), min_size=1, max_size=4)


@given(parameters)
def test_every_array_opens_its_own_dimension_and_the_grid_is_their_product(given_):
    grid = Grid(given_)
    assert grid.sizes == {name: len(v) for name, v in given_.items() if isinstance(v, list)}
    for index in np.ndindex(*grid.shape):
        at = dict(zip(grid.dims, index, strict=True))
        for name, v in given_.items():
            expected = v[at[name]] if isinstance(v, list) else v
            assert grid.over(name, grid.dims)[index] == expected


@given(parameters)
def test_the_dataset_has_inputs_as_coordinates_and_answers_with_their_symbols(given_):
    grid = Grid(given_)
    total = sum(grid.over(name, grid.dims) for name in given_)
    dataset = grid.dataset({"test_error": (grid.dims, np.asarray(total))}, {"seed": 1})
    assert set(dataset.coords) == set(given_)
    assert dataset.attrs == {"seed": 1}
    assert dataset["test_error"].attrs["symbol"] == r"\epsilon_g"
    again = sum(dataset[name] for name in given_)
    xr.testing.assert_allclose(
        dataset["test_error"].drop_attrs(), again + xr.zeros_like(dataset["test_error"])
    )


@given(st.lists(st.tuples(value, value), min_size=1, max_size=5))
def test_dataarrays_that_share_a_dimension_are_zipped(pairs):
    eta, lam = (xr.DataArray(list(column), dims="run") for column in zip(*pairs, strict=True))
    grid = Grid({"eta": eta, "lam": lam, "alpha": [1.0, 2.0]})
    assert grid.sizes == {"run": len(pairs), "alpha": 2}
    assert grid.over("eta", ("run",)).tolist() == [a for a, _ in pairs]
    assert grid.over("lam", ("alpha", "run"))[1].tolist() == [b for _, b in pairs]


def test_a_dataarray_keeps_its_labels():
    eta = xr.DataArray([1.0, 2.0], dims="run", coords={"run": ["small", "large"]})
    dataset = Grid({"eta": eta}).dataset({}, {})
    assert dataset["run"].values.tolist() == ["small", "large"]
    assert dataset["eta"].sel(run="large") == 2.0


def test_dims_of_names_only_what_varies_with_the_given_parameters():
    grid = Grid({"eta": [1.0, 2.0], "beta": 1.0, "alpha": [1.0, 2.0, 3.0]})
    assert grid.dims_of(["alpha", "eta", "r"]) == ("eta", "alpha")
    assert grid.dims_of(["beta"]) == ()


def test_a_grid_is_divided_into_first_layers_and_readouts():
    split = LayerGrid(Grid({"alpha": [1.0, 2.0, 3.0], "eta": [4.0, 5.0], "lam": 0.5}), ["eta"])
    assert (split.dims, split.shape, split.counts) == (("eta", "alpha"), (2, 3), (2, 3))
    assert split.layers("eta").tolist() == [4.0, 5.0]
    assert split.settings("alpha").tolist() == [[1.0, 2.0, 3.0]] * 2
    assert split.settings("d", np.inf).tolist() == [[np.inf] * 3] * 2


def test_dimensions_of_different_length_or_of_another_name_s_are_refused():
    a, b = xr.DataArray([1.0, 2.0], dims="run"), xr.DataArray([1.0, 2.0, 3.0], dims="run")
    with pytest.raises(ParameterError, match="lam has 3 values along dimension 'run'"):
        Grid({"eta": a, "lam": b})
    with pytest.raises(ParameterError, match="which answers have already"):
        Grid({"eta": a.rename(run="trial")})

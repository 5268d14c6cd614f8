"""Named arrays: what a Dataset says, and the same Dataset again."""

import io
import warnings

import numpy as np
import pytest
import xarray as xr

from giantstep import Letters, Network, TwoSpikes, load, predict
from giantstep.answers.arrays import NamedArray, NamedArrays, as_dataset
from giantstep.answers.tables import write_csv
from giantstep.errors import LimitWarning
from giantstep.files import write_json
from giantstep.theory.predict import predicted

RUN = xr.DataArray([1.0, 2.0], dims="run", coords={"run": ["small", "large"]})
LETTERS = Letters((-1, 0, 1), (0.25, 0.5, 0.25))
ZOO = {
    "one point": (Network("tanh", eta=1, alpha0=1), "sin", {}),
    "a grid": (Network("tanh", eta=[1, 2], alpha0=1), "sin", {"alpha": [0.5, 1, 2]}),
    "zipped": (Network("tanh", eta=RUN, alpha0=[0.5, 1], readout=LETTERS), "sin", {"lam": 0.1 * RUN}),
    "steps": (Network("tanh", eta=1, alpha0=1, steps=[0, 1, 2]), "sin", {}),
    "directions": (Network("relu", eta=1, alpha0=1), "x1 + x1*x2", {}),
    "spikes": (TwoSpikes("relu", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5)), "sin", {}),
}


@pytest.mark.parametrize("name", ZOO)
def test_an_answer_is_written_alike_as_arrays_and_as_a_dataset(name, tmp_path):
    model, target, more = ZOO[name]
    given = {"alpha": 1.0, "lam": 1.0} | more
    arrays, dataset = predicted(model, target, **given), predict(model, target, **given)
    assert as_dataset(arrays).identical(dataset)
    assert NamedArrays.of(dataset).dataset().identical(dataset)
    plain = xr.Dataset(
        {key: (one.dims, one.values, one.attrs) for key, one in arrays.data_vars.items()},
        {key: (one.dims, one.values, one.attrs) for key, one in arrays.coords.items()},
        arrays.attrs,
    )
    assert plain.identical(dataset)
    assert list(plain.variables) == list(dataset.variables)
    assert list(plain.indexes) == list(dataset.indexes)
    for write in (write_json, write_csv):
        texts = io.StringIO(), io.StringIO()
        write(arrays, texts[0])
        write(dataset, texts[1])
        assert texts[0].getvalue() == texts[1].getvalue()
        if write is write_json:
            (tmp_path / "a.json").write_text(texts[0].getvalue(), encoding="utf-8")
            assert load(tmp_path / "a.json").identical(dataset)


@pytest.mark.parametrize("name", ZOO)
def test_dimensions_are_in_one_order_whatever_the_quantity(name):
    """That of the grid, in which what shapes a first layer comes before the readouts; then those of its parts."""
    model, target, more = ZOO[name]
    found = predicted(model, target, **({"alpha": 1.0, "lam": 1.0} | more))
    inner = ("step", model.group, f"{model.group}_", "spike", "direction")
    grid = [dim for one in found.coords.values() for dim in one.dims if dim not in inner]
    order = list(dict.fromkeys([*grid, *inner]))
    for one in found.data_vars.values():
        assert list(one.dims) == sorted(one.dims, key=order.index)


def test_a_place_a_turn_and_a_grid_are_those_of_xarray():
    values = np.arange(6.0).reshape(2, 3)
    array, labelled = NamedArray(("x", "y"), values), xr.DataArray(values, dims=("x", "y"))
    assert array.at({"y": 1, "z": 0}).dims == ("x",)
    assert array.at({"x": 1, "y": 2}).values.shape == ()
    np.testing.assert_array_equal(array.at({"y": 1}).values, labelled.isel(y=1))
    np.testing.assert_array_equal(array.transposed(("z", "y", "x")).values, labelled.transpose("y", "x"))
    grid = labelled.expand_dims(z=4).transpose("y", "z", "x")
    np.testing.assert_array_equal(array.over({"y": 3, "z": 4, "x": 2}), grid)


def test_a_selection_has_the_coordinates_of_its_points():
    dataset = xr.Dataset(
        {"a": (("x", "y"), np.zeros((2, 3))), "b": ("x", [5.0, 6.0])},
        coords={"x": [1, 2], "y": [1, 2, 3], "k": 7.0, "t": ("x", [0, 1])},
    )
    for names in (["a"], ["b"], ["b", "t"]):
        assert NamedArrays.of(dataset).only(names).dataset().identical(dataset[names])
    assert NamedArrays.of(dataset.drop_vars("y"))["y"].values.tolist() == [0, 1, 2]  # counted


def test_a_remark_on_a_point_names_its_labels_be_they_words():
    eta = xr.DataArray([0.001, 2.0], dims="run", coords={"run": ["small", "large"]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LimitWarning)
        predict(Network("tanh", eta=eta, alpha0=1), "sin", alpha=2, lam=0.1)
    (one,) = caught
    assert "where run = small, eta = 0.001, alpha0 = 1" in str(one.message)
    assert one.filename == __file__  # it points at who asked

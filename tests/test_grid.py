"""Grids by named dimensions: products of lists, zips of DataArrays, and the same answer as arrays and as a Dataset."""

import io
import warnings

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtr

import giantstep as gs
from giantstep.answers.arrays import NamedArrays
from giantstep.answers.tables import write_csv
from giantstep.files import write_json
from giantstep.theory.predict import predicted

from .zoo import BIASED, PLANE, PRODUCT, TERNARY

RUN = xr.DataArray([1.0, 2.0], dims="run", coords={"run": ["small", "large"]})
ZOO = {
    "one point": (gs.Network("tanh", eta=1, alpha0=1), "sin", {}),
    "a grid": (gs.Network("tanh", eta=[1, 2], alpha0=1), "sin", {"alpha": [0.5, 1, 2], "lam": [0.1, 1]}),
    "zipped": (gs.Network("tanh", eta=RUN, alpha0=[0.5, 1], readout=TERNARY), "sin", {"lam": 0.1 * RUN}),
    "steps": (gs.Network("tanh", eta=1, alpha0=1, steps=[0, 1, 2]), "sin", {}),
    "biases": (gs.Network("relu", 1, [1, 2], readout=BIASED), "sin", {}),
    "directions": (gs.Network("relu", eta=1, alpha0=1), PRODUCT, {}),
    "spikes": (PLANE, "sin", {}),
}


@pytest.mark.parametrize("name", ZOO)
def test_an_answer_is_the_same_as_arrays_as_a_dataset_and_in_files(name, tmp_path):
    """Its dimensions are in one order: those of the grid, first layers before readouts; then those of a layer."""
    model, target, more = ZOO[name]
    given = {"alpha": 1.0, "lam": 1.0} | more
    arrays, dataset = predicted(model, target, **given), gs.predict(model, target, **given)
    assert NamedArrays.of(dataset).dataset().identical(dataset)
    for write in (write_json, write_csv):
        texts = io.StringIO(), io.StringIO()
        write(arrays, texts[0])
        write(dataset, texts[1])
        assert texts[0].getvalue() == texts[1].getvalue()
    gs.save(dataset, tmp_path / "a.json")
    assert gs.load(tmp_path / "a.json").identical(dataset)
    inner = ("step", model.group, f"{model.group}_", "spike", "direction")
    order = list(dict.fromkeys([*dataset.test_error.dims, *inner]))
    for one in dataset.data_vars.values():
        assert list(one.dims) == sorted(one.dims, key=order.index)


def test_dataarrays_that_share_a_dimension_are_zipped_and_keep_its_labels():
    """What shapes first layers comes before what readouts have, in the order of the arguments."""
    net = gs.Network("tanh", eta=RUN, alpha0=[0.5, 1], beta=RUN)
    zipped = gs.predict(net, "sin", alpha=[0.5, 1, 2], lam=[0.1, 0.2])
    assert zipped.test_error.dims == ("run", "alpha0", "alpha", "lam")
    at = zipped.sel(run="large", alpha0=1, alpha=1, lam=0.2)
    assert (at.eta.item(), at.beta.item()) == (2.0, 2.0)
    alone = gs.predict(gs.Network("tanh", eta=2, alpha0=1, beta=2), "sin", alpha=1, lam=0.2)
    np.testing.assert_allclose(at.test_error, alone.test_error, rtol=1e-7)


def test_spikes_of_letters_with_biases_have_a_strength_for_each_letter():
    """A letter a with the bias b has a spike of r·a, with r in proportion to E[σ'(z + b)], which is Φ(b) for ReLU."""
    for letters, dims in ((TERNARY, ()), (BIASED, ("letter",))):
        r = gs.predict(gs.Network("relu", eta=1, alpha0=np.inf, readout=letters), "sin", alpha=1, lam=0.1).r
        assert r.dims == dims
    np.testing.assert_allclose(r / r[0], ndtr(BIASED.biases) / ndtr(0.0), rtol=1e-10)


@pytest.mark.parametrize(
    ("lam", "words"),
    [
        (xr.DataArray([1.0, 2.0, 3.0], dims="run"), "lam has 3 values along dimension 'run', and eta has 2"),
        (RUN.drop_vars("run").rename(run="trial"), "lam has the dimension 'trial', which answers have already"),
        (RUN.drop_vars("run").rename(run="alpha"), "lam has the dimension 'alpha', which answers have"),
    ],
)
def test_dimensions_of_different_length_or_of_another_name_s_are_refused(lam, words):
    with pytest.raises(gs.ParameterError, match=words):
        gs.predict(gs.Network("tanh", eta=RUN, alpha0=1), "sin", alpha=1, lam=lam)


def test_a_warning_about_a_point_names_its_labels_be_they_words():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", gs.LimitWarning)
        gs.predict(gs.Network("tanh", eta=RUN - 0.999, alpha0=1), "sin", alpha=2, lam=0.1)
    (one,) = caught
    assert "where run = small, eta = 0.001, alpha0 = 1" in str(one.message)
    assert one.filename == __file__  # it points at who asked

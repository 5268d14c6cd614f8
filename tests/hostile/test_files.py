"""Files that are damaged, or made to do harm: a sentence, or the answers that were saved."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep.errors import ParameterError

from .damage import damaged

QUICK, ALL = 40, 250  # accidents of each form


@cache
def dataset() -> xr.Dataset:
    net = gs.Network("tanh", 1.0, [0.0, 0.5], readout="rademacher")
    return gs.predict(net, "sin", alpha=[0.5, 1.0, 2.0], lam=[0.1, np.inf])


def sentence(path: Path) -> str | None:
    """What `load` says of a file; None if it gives the Dataset that was saved."""
    try:
        found = gs.load(path)
    except ParameterError as error:
        return str(error)
    xr.testing.assert_identical(found, dataset())
    return None


@pytest.mark.parametrize("seeds", [range(QUICK), pytest.param(range(QUICK, ALL), marks=pytest.mark.hostile)])
@pytest.mark.parametrize("ending", ["nc", "json"])
def test_a_damaged_file_is_refused_or_gives_what_was_saved(ending, seeds, tmp_path):
    path = tmp_path / f"a.{ending}"
    gs.save(dataset(), path)
    sound = path.read_bytes()
    refused = 0
    for seed in seeds:
        hurt = damaged(sound, seed)
        path.write_bytes(hurt)
        said = sentence(path)
        assert said is None or (said.count("\n") == 0 and "cannot be read: " in said), seed
        refused += said is not None
    assert refused > 0.8 * len(seeds)  # most accidents change what is said


def test_without_a_seal_a_damaged_netcdf_file_is_still_no_traceback(tmp_path):
    """As another program wrote it: numbers may have changed, which nobody can know, but what is refused is refused."""
    path = tmp_path / "a.nc"
    dataset().to_netcdf(path, engine="h5netcdf")
    sound = path.read_bytes()
    for seed in range(QUICK):
        path.write_bytes(damaged(sound, seed))
        with suppress(ParameterError):
            gs.load(path)


def document(**changes: object) -> str:
    entry = {"dims": ["x"], "dtype": "<f8", "attrs": {}, "data": [1.0]}
    return json.dumps({"giantstep_dataset": 1, "attrs": {}, "coords": {}, "data_vars": {"a": entry | changes}})


TEXTS = {
    "eleven GiB of words": document(dtype="<U3000000000"),
    "a record of many numbers": document(dtype="(100000,100000)f8"),
    "Python objects": document(dtype="O", data=[[1, {}], 2]),
    "nonsense for a type": document(dtype="nonsense"),
    "a list for a type": document(dtype=[["a", "f8"]]),
    "an integer that is too large": document(dtype="<i4", data=[10**30]),
    "a ragged array": document(data=[[1.0], [1.0, 2.0]]),
    "more dimensions than names": document(data=[[[1.0]]]),
    "names that are not names": document(dims=[["x"]]),
    "deep nesting": document().replace("[1.0]", "[" * 5000 + "]" * 5000),
    "nesting that ends nowhere": "[" * 100_000,
    "attributes that are none": document(attrs=3),
    "nothing": "",
    "a version that is a text": '{"giantstep_dataset": "1"}',
    "a number of a million digits": '{"giantstep_dataset": ' + "1" * 1_000_000 + "}",
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_that_asks_for_too_much_is_refused_at_once(case, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(TEXTS[case])
    began = time.process_time()
    with pytest.raises(ParameterError, match="cannot be read: "):
        gs.load(path)
    assert time.process_time() - began < 2


def plant(kind: str, file: h5py.File, secret: Path) -> None:
    match kind:
        case "a link to another file":
            file["a"] = h5py.ExternalLink(secret, "a")
        case "a link to itself":
            file["a"] = h5py.SoftLink("/a")
        case "numbers in another file":
            file.create_dataset("a", (8,), "u1", external=[(str(secret), 0, 8)])
        case "numbers of another dataset":
            layout = h5py.VirtualLayout((4,), "f8")
            layout[:] = h5py.VirtualSource(secret, "a", (4,))
            file.create_virtual_dataset("a", layout)
        case "endless groups":
            file.create_group("g")["g"] = file
        case "a terabyte of nothing":
            file.create_dataset("a", (1 << 37,), "f8", chunks=(1 << 20,))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("a link to another file", "points to another file"),
        ("a link to itself", "points to another file"),
        ("numbers in another file", "keeps its numbers in another file"),
        ("numbers of another dataset", "keeps its numbers in another file"),
        ("endless groups", "not a Dataset"),
        ("a terabyte of nothing", "out of proportion"),
    ],
)
def test_no_netcdf_file_opens_another_or_takes_more_than_it_holds(kind, words, tmp_path):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["a"] = np.arange(4.0)
    with h5py.File(tmp_path / "a.nc", "w") as file:
        plant(kind, file, secret)
    with pytest.raises(ParameterError, match=f"cannot be read: .*{words}") as refusal:
        gs.load(tmp_path / "a.nc")
    assert "secret" not in str(refusal.value)

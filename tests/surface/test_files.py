"""Datasets go to files and come back; what cannot be written leaves nothing behind."""

import csv
import hashlib
import json
import os
import re
import stat
import time

import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep.files import replacing

from .command import giantstep, started

NET, FIT = gs.Network("tanh", 1.0, [0.0, 0.5]), {"alpha": [0.5, 1.0, 2.0], "lam": 0.1, "d": 30}
COMPARED = gs.compare(gs.predict(NET, "sin", **FIT), gs.simulate(NET, "sin", **FIT, trials=3))
SPIKED = gs.coefficients(gs.SpikedRF("relu", r=[0.0, 1.0], gamma=1.0), [-1.0, 0.0, 1.0])
# with letters, words, booleans, an infinite coordinate and a NaN
PREDICTED = gs.predict(NET.moved(readout="rademacher"), "sin", alpha=FIT["alpha"], lam=[0.1, np.inf])
PREDICTED["test_error"][0, 0, 0] = np.nan


@pytest.mark.parametrize("ending", ["nc", "json"])
@pytest.mark.parametrize("dataset", [PREDICTED, COMPARED, SPIKED])
def test_a_dataset_comes_back_identical(dataset, ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    gs.save(dataset, path)
    again = gs.load(path)
    xr.testing.assert_identical(again, dataset)
    for name, variable in dataset.variables.items():
        assert again[name].dtype == variable.dtype
    for name, value in dataset.attrs.items():
        assert type(again.attrs[name]) is type(value)
    if ending == "json":  # NaN and Infinity are not JSON
        json.loads(path.read_text(), parse_constant=pytest.fail)


def test_csv_has_one_row_per_point_and_one_column_per_letter(tmp_path):
    gs.save(PREDICTED, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 2 * 3 * 2
    point = PREDICTED.sel(alpha0=0.5, alpha=2.0, lam=np.inf)
    (row,) = [r for r in table if (r["alpha0"], r["alpha"], r["lam"]) == ("0.5", "2.0", "inf")]
    assert float(row["test_error"]) == float(point.test_error)
    assert float(row["m[-1]"]) == float(point.m.sel(letter=-1))
    assert float(row["q1[-1,1]"]) == float(point.q1.sel(letter=-1, letter_=1))
    assert row["status"] == point.status.item()


@pytest.mark.parametrize(
    ("dataset", "name", "words"),
    [
        (SPIKED, "missing/a.nc", "does not exist"),
        (SPIKED, "a", "unknown ending"),
        (SPIKED, "f.nc", "plain file"),
        (SPIKED.assign_attrs(odd=object()), "a.nc", "cannot be kept as .nc"),
        (SPIKED.assign_attrs(odd=object()), "a.json", "cannot be kept as .json"),
        (3, "a.json", "dataset = 3 is not an xarray.Dataset; predict and simulate make one"),
        (SPIKED.mu0, "a.json", "a DataArray has lost the one that it is from"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_leaves_nothing(dataset, name, words, tmp_path):
    (tmp_path / "f.nc").mkdir()
    with pytest.raises(gs.ParameterError, match=words):
        gs.save(dataset, tmp_path / name)
    assert list(tmp_path.iterdir()) == [tmp_path / "f.nc"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.nc", None, "does not exist"),
        ("a.nc", b"not netCDF at all", "cannot be read"),
        ("a.json", b"{}", "not a Dataset"),
        ("a.json", b'{"giantstep_dataset": 99}', "later giantstep"),
        ("a.xls", b"", "unknown ending"),
        ("a.csv", b"", r"\.nc or \.json"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name, content, said, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(gs.ParameterError, match=said):
        gs.load(tmp_path / name)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(interruption, tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(interruption), replacing(path) as temporary:
        raise interruption(temporary.write_text("half"))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.posix
def test_a_link_is_followed_and_permissions_are_ordinary(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    gs.save(SPIKED, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    (tmp_path / "plain").touch()
    real = tmp_path / "real.json"
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    for mode in (0o600, 0o640, 0o666):  # those of a file that is replaced stay
        real.chmod(mode)
        gs.save(SPIKED, real)
        assert stat.S_IMODE(real.stat().st_mode) == mode


@pytest.mark.posix
@pytest.mark.parametrize("ending", ["nc", "csv"])
def test_a_full_disk_is_a_sentence_and_the_old_file_stays(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    path.write_text("old")
    words = f"predict --eta 1 --alpha0 1 --alpha 1:2:200 --lam 0.1 --out {path}"
    # no file grows beyond this; Python is told so as it is told that a disk is full
    done = started(words.split(), largest_file=1000)
    assert done.returncode == 2
    assert re.fullmatch("error: .* cannot be written: File too large.*\n", done.stderr)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append(os.fstat(fd).st_size), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("replaced"), replace(a, b)))
    gs.save(SPIKED, tmp_path / "a.nc")
    assert order[:2] == [(tmp_path / "a.nc").stat().st_size, "replaced"]


def test_what_a_killed_process_left_goes_with_a_later_save_and_what_is_in_use_stays(tmp_path):
    path = tmp_path / "a.json"
    left, in_use = (tmp_path / f".a.giantstep-{name}.json" for name in ("left", "used"))
    for file in (left, in_use):
        file.write_text("half")
    os.utime(left, (time.time() - 3700,) * 2)
    gs.save(SPIKED, path)
    assert sorted(tmp_path.iterdir()) == sorted([path, in_use])


def test_the_command_says_that_a_file_was_replaced(tmp_path):
    for more in ("", ", which replaces the file that was there"):
        done = giantstep(f"predict --eta 1 --alpha0 1 --alpha 1 --lam 0.1 --out {tmp_path / 'a.nc'}")
        assert done.stderr == f"wrote {tmp_path / 'a.nc'}{more}\n"


def test_a_sealed_file_opens_elsewhere_and_says_what_its_last_line_is(tmp_path):
    path = tmp_path / "a.nc"
    gs.save(PREDICTED, path)
    elsewhere = xr.load_dataset(path, engine="h5netcdf")
    np.testing.assert_array_equal(elsewhere.test_error, PREDICTED.test_error)
    assert elsewhere.attrs["giantstep_seal"] == "the last line of this file is its checksum"
    content, line = path.read_bytes().rsplit(b"\n", 2)[:2]
    assert line.decode() == f"# giantstep: sha256 of all before this line {hashlib.sha256(content).hexdigest()}"


def test_files_without_a_checksum_are_read_if_they_never_had_one(tmp_path):
    SPIKED.to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    assert gs.load(tmp_path / "plain.nc").equals(SPIKED)
    gs.save(SPIKED, tmp_path / "a.nc")
    (tmp_path / "a.nc").write_bytes((tmp_path / "a.nc").read_bytes().rsplit(b"\n", 2)[0])
    gs.save(SPIKED, tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    del document["sha256"]
    (tmp_path / "a.json").write_text(json.dumps(document))
    for name in ("a.nc", "a.json"):
        with pytest.raises(gs.ParameterError, match="does not match its checksum"):
            gs.load(tmp_path / name)
    document["giantstep_dataset"] = 1  # as before there was one
    (tmp_path / "a.json").write_text(json.dumps(document))
    xr.testing.assert_identical(gs.load(tmp_path / "a.json"), SPIKED)

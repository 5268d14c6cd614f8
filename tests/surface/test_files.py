"""Datasets go to files and come back; what cannot be written leaves nothing behind."""

import csv
import stat

import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep.errors import ParameterError
from giantstep.files import replacing


def predicted() -> xr.Dataset:
    """A prediction with letters, words, booleans, an infinite coordinate and a NaN."""
    net = gs.Network("tanh", 1.0, [0.0, 0.5], readout="rademacher")
    dataset = gs.predict(net, "sin", alpha=[0.5, 1.0, 2.0], lam=[0.1, np.inf])
    dataset["test_error"][0, 0, 0] = np.nan
    return dataset


def simulated() -> xr.Dataset:
    return gs.simulate(gs.Network("tanh", 1.0, [0.0, 0.5]), "sin", alpha=[0.5, 1.0], lam=0.1, d=30, trials=3)


def compared() -> xr.Dataset:
    net = gs.Network("tanh", 1.0, [0.0, 0.5])
    return gs.compare(gs.predict(net, "sin", alpha=[0.5, 1.0], lam=0.1), simulated())


def spiked() -> xr.Dataset:
    return gs.coefficients(gs.SpikedRF("relu", r=[0.0, 1.0], gamma=1.0), [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("ending", ["nc", "json"])
@pytest.mark.parametrize("make", [predicted, simulated, compared, spiked])
def test_a_dataset_comes_back_identical(make, ending, tmp_path):
    dataset, path = make(), tmp_path / f"a.{ending}"
    gs.save(dataset, path)
    again = gs.load(path)
    xr.testing.assert_identical(again, dataset)
    assert {n: v.dtype for n, v in again.variables.items()} == {
        n: v.dtype for n, v in dataset.variables.items()
    }
    assert {n: type(v) for n, v in again.attrs.items()} == {n: type(v) for n, v in dataset.attrs.items()}


def test_json_is_standard_json(tmp_path):
    import json

    gs.save(predicted(), tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text()

    def refuse(word):
        raise AssertionError(word)

    json.loads(text, parse_constant=refuse)  # NaN and Infinity are not JSON


def test_csv_has_one_row_per_point_and_one_column_per_letter(tmp_path):
    dataset = predicted()
    gs.save(dataset, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 2 * 3 * 2
    point = dataset.sel(alpha0=0.5, alpha=2.0, lam=np.inf)
    (row,) = [r for r in table if (r["alpha0"], r["alpha"], r["lam"]) == ("0.5", "2.0", "inf")]
    assert float(row["test_error"]) == float(point.test_error)
    assert float(row["m[-1]"]) == float(point.m.sel(letter=-1))
    assert float(row["q1[-1,1]"]) == float(point.q1.sel(letter=-1, letter_=1))
    assert row["status"] == point.status.item()


def test_csv_is_one_way(tmp_path):
    gs.save(spiked(), tmp_path / "a.csv")
    with pytest.raises(ParameterError, match=r"\.nc or \.json"):
        gs.load(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing/a.nc", "does not exist"),
        ("a.txt", "unknown ending"),
        ("a", "unknown ending"),
        ("f.nc", "plain file"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(name, said, tmp_path):
    (tmp_path / "f.nc").mkdir()
    with pytest.raises(ParameterError, match=said):
        gs.save(spiked(), tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.nc", None, "does not exist"),
        ("a.nc", b"not netCDF at all", "cannot be read"),
        ("a.json", b"{}", "not a Dataset"),
        ("a.json", b"{", "not a Dataset"),
        ("a.json", b'{"giantstep_dataset": 99}', "later giantstep"),
        ("a.xls", b"", "unknown ending"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name, content, said, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ParameterError, match=said):
        gs.load(tmp_path / name)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(interruption, tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise interruption

    with pytest.raises(interruption):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_permissions_are_ordinary(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    gs.save(spiked(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    (tmp_path / "plain").touch()
    assert stat.S_IMODE((tmp_path / "real.json").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )

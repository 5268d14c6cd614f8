"""Datasets on disk: netCDF and JSON keep everything and come back identical, CSV is for other programs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .errors import ParameterError
from .tables import write_csv

if TYPE_CHECKING:
    import xarray as xr

_JSON_KEY = "giantstep_dataset"  # says what the file is; its value is the version of the layout below
_JSON_VERSION = 1


def save(dataset: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a Dataset to `path`, whole or not at all; its ending decides the form.

    ``.nc``    netCDF 4: everything, compact; opens in xarray, Julia, Matlab, ...
    ``.json``  everything, as text
    ``.csv``   one row per grid point, for spreadsheets and the like; the attributes are left out
    """
    ending = _ending(path, _WRITERS, "saved")
    with replacing(path) as temporary:
        _WRITERS[ending](dataset, temporary)


def load(path: str | os.PathLike[str]) -> xr.Dataset:
    """The Dataset that `save` wrote to a ``.nc`` or ``.json`` file."""
    if Path(path).suffix.lower() == ".csv":
        raise ParameterError(
            f"path = {str(path)!r}: a .csv file keeps the numbers but not the labels of a Dataset;"
            " load the .nc or .json form, or read the table with pandas"
        )
    ending = _ending(path, _READERS, "loaded")
    try:
        return _READERS[ending](Path(path))
    except FileNotFoundError:
        raise ParameterError(f"path = {str(path)!r} does not exist; check its spelling") from None
    except OSError as error:
        reason = error.strerror or "it is damaged, or not of the kind that its ending says"
        raise ParameterError(f"path = {str(path)!r} cannot be read: {reason}") from None


def check_dataset_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `save` would refuse, before the work whose result should go there."""
    _ending(path, _WRITERS, "saved")
    check_place(path)


def check_place(path: str | os.PathLike[str]) -> Path:
    """The real path of a file that can be written or replaced here; an error otherwise."""
    final = Path(os.path.realpath(path))
    folder = final.parent
    if not folder.is_dir():
        raise ParameterError(
            f"path = {str(path)!r}: the folder {str(folder)!r} does not exist; create it first"
        )
    if not os.access(folder, os.W_OK):
        raise ParameterError(
            f"path = {str(path)!r}: the folder {str(folder)!r} is not writable; choose another"
        )
    if final.exists() and not (final.is_file() and os.access(final, os.W_OK)):
        kind = "not writable" if final.is_file() else "not a plain file"
        raise ParameterError(f"path = {str(path)!r} exists and is {kind}; choose another name")
    return final


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to, which takes its place if all goes well and vanishes if not."""
    final = check_place(path)
    temporary = final.parent / f".{final.stem}.{os.getpid()}{final.suffix}"
    try:
        temporary.touch()  # the system's own words, should this folder not take files
        yield temporary
        os.replace(temporary, final)
    except OSError as error:
        raise ParameterError(
            f"path = {str(path)!r} cannot be written: {error.strerror or error}; choose another place"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_json(dataset: xr.Dataset, file: IO[str]) -> None:
    """The Dataset as standard JSON; numbers that are not finite become the words "nan", "inf", "-inf"."""
    document = {
        _JSON_KEY: _JSON_VERSION,
        "attrs": {name: _packed(value) for name, value in dataset.attrs.items()},
        "coords": {name: _encoded(values) for name, values in dataset.coords.items()},
        "data_vars": {name: _encoded(values) for name, values in dataset.data_vars.items()},
    }
    json.dump(document, file, indent=1, allow_nan=False, ensure_ascii=False)
    file.write("\n")


def _ending(path: str | os.PathLike[str], known: dict[str, Any], verb: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise ParameterError(
            f"path = {str(path)!r} has the unknown ending {ending!r}; a Dataset is {verb} as {' or '.join(known)}"
        )
    return ending


def _save_netcdf(dataset: xr.Dataset, path: Path) -> None:
    dataset.to_netcdf(path, engine="h5netcdf")


def _load_netcdf(path: Path) -> xr.Dataset:
    import xarray as xr

    dataset = xr.load_dataset(path, engine="h5netcdf")
    for name, variable in dataset.variables.items():
        if variable.dtype.kind in "UT":  # words are Python strings in our Datasets
            dataset[name] = variable.astype(object)
    for owner in (dataset, *dataset.variables.values()):
        owner.attrs = {name: _plain(value) for name, value in owner.attrs.items()}
    return dataset


def _save_json(dataset: xr.Dataset, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        write_json(dataset, file)


def _load_json(path: Path) -> xr.Dataset:
    import xarray as xr

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document[_JSON_KEY] > _JSON_VERSION:
            raise ParameterError(
                f"path = {str(path)!r} was written by a later giantstep; update yours to load it"
            )
        parts = {part: document[part] for part in ("coords", "data_vars")}
        return xr.Dataset(
            **{part: {k: _decoded(v) for k, v in entries.items()} for part, entries in parts.items()},
            attrs={name: _unpacked(value) for name, value in document["attrs"].items()},
        )
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"path = {str(path)!r} is not a Dataset that giantstep saved") from None


def _save_csv(dataset: xr.Dataset, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(dataset, file)


def _encoded(values: xr.DataArray) -> dict[str, Any]:
    data = values.values
    listed = data.tolist()
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        listed = np.where(np.isfinite(data), data.astype(object), data.astype(str).astype(object)).tolist()
    attrs = {name: _packed(value) for name, value in values.attrs.items()}
    return {"dims": list(values.dims), "dtype": data.dtype.str, "attrs": attrs, "data": listed}


def _decoded(entry: dict[str, Any]) -> tuple[Any, ...]:
    return (
        entry["dims"],
        np.array(entry["data"], dtype=np.dtype(entry["dtype"])),
        {name: _unpacked(value) for name, value in entry["attrs"].items()},
    )


def _packed(value: Any) -> Any:
    """An attribute for JSON, which has no words of its own for nan and inf."""
    value = _plain(value)
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _unpacked(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) and set(value) == {"float"} else value


def _plain(value: Any) -> Any:
    """numpy's numbers as Python's, so that attributes come back equal to what was saved."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


_WRITERS = {".nc": _save_netcdf, ".json": _save_json, ".csv": _save_csv}
_READERS = {".nc": _load_netcdf, ".json": _load_json}

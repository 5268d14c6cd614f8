"""Datasets as JSON: standard, complete, with a checksum of the content (not of its spacing)."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from ..answers.arrays import NamedArray, NamedArrays

_KEY = "giantstep_dataset"  # says what the file is; its value is the version of the layout below
_VERSION = 2  # 1 had no checksum
_MOST = 1 << 30  # bytes of text, which take several times as much when they are read


class Unreadable(Exception):
    """A file that is not what `save` wrote; the message completes "it cannot be read: ..."."""


NOT_OURS = "it is damaged, or not a Dataset that giantstep saved"
CHANGED = "it does not match its checksum: it is damaged, or somebody has changed it"


def check_size(asked: int, file_size: int) -> None:
    """Refuse arrays that are out of proportion to the file that holds them, before there is memory for them.

    What we write takes about as much room in memory as on disk; other programs compress, seldom more than tenfold.
    """
    if asked > 16 * file_size + (64 << 20):
        raise Unreadable(
            f"it asks for {asked / 2**30:.1f} GiB of memory, out of proportion to its own {file_size / 2**20:.1f} MiB"
        )


def save_json(dataset: xr.Dataset, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        write_json(dataset, file)


def write_json(dataset: xr.Dataset | NamedArrays, file: IO[str]) -> None:
    """The answer as standard JSON; numbers that are not finite become the words "nan", "inf", "-inf"."""
    content = {
        "attrs": {str(name): _packed(value) for name, value in dataset.attrs.items()},
        "coords": {str(name): _encoded(values) for name, values in dataset.coords.items()},
        "data_vars": {str(name): _encoded(values) for name, values in dataset.data_vars.items()},
    }
    document = {_KEY: _VERSION, "sha256": _digest(content), **content}
    json.dump(document, file, indent=1, allow_nan=False, ensure_ascii=False)
    file.write("\n")


def load_json(path: Path) -> xr.Dataset:
    import xarray as xr

    if (size := path.stat().st_size) > _MOST:
        raise Unreadable(f"it has {size / 2**30:.1f} GiB, too many for JSON; save large Datasets as .nc")
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or not isinstance(version := document.get(_KEY), int):
        raise Unreadable(NOT_OURS)
    if version > _VERSION:
        raise Unreadable("a later giantstep wrote it (or it is damaged); update yours to load it")
    content = {part: document[part] for part in ("attrs", "coords", "data_vars")}
    if version != 1 and document.get("sha256") != _digest(content):
        raise Unreadable(CHANGED)
    return xr.Dataset(
        coords={name: _decoded(entry, size) for name, entry in content["coords"].items()},
        data_vars={name: _decoded(entry, size) for name, entry in content["data_vars"].items()},
        attrs={name: _unpacked(value) for name, value in content["attrs"].items()},
    )


def _digest(content: dict[str, Any]) -> str:
    """The checksum of the content, whatever its spacing in the file."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _encoded(values: xr.DataArray | NamedArray) -> dict[str, Any]:
    data = values.values
    listed = data.tolist()
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        listed = np.where(np.isfinite(data), data.astype(object), data.astype(str).astype(object)).tolist()
    attrs = {str(name): _packed(value) for name, value in values.attrs.items()}
    return {"dims": list(values.dims), "dtype": data.dtype.str, "attrs": attrs, "data": listed}


def _decoded(entry: dict[str, Any], file_size: int) -> tuple[Any, ...]:
    dtype = np.dtype(entry["dtype"])
    if dtype.kind not in "fiubUO" or dtype.names or dtype.subdtype:
        raise Unreadable(NOT_OURS)
    values = np.array(entry["data"], dtype=object)
    check_size(values.size * dtype.itemsize, file_size)
    if dtype.kind == "O" and not all(isinstance(word, str) for word in values.flat):
        raise Unreadable(NOT_OURS)
    attrs = {name: _unpacked(value) for name, value in entry["attrs"].items()}
    return entry["dims"], values.astype(dtype), attrs


def _packed(value: Any) -> Any:
    """An attribute for JSON, which has no words of its own for nan and inf."""
    value = plain(value)
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _unpacked(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) and set(value) == {"float"} else value


def plain(value: Any) -> Any:
    """numpy's numbers as Python's, so that attributes come back equal to what was saved."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value

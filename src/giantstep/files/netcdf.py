"""netCDF 4 files, sealed: the last line of one is the checksum of all before it.

HDF5, of which netCDF is made, does not mind what comes after its own end, so that every program that reads netCDF
reads these. The seal is checked before HDF5, which trusts its bytes, sees any of them. A file without one may come
from another program: it is read if it is harmless.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from .json import CHANGED, NOT_OURS, Unreadable, check_size, plain

if TYPE_CHECKING:
    import xarray as xr

_MARK = b"\n# giantstep: sha256 of all before this line "
_SEAL = len(_MARK) + 64 + 1
_SAYS = "giantstep_seal"  # an attribute of the file, so that one that has lost its end is noticed
_WORDS = "the last line of this file is its checksum"


def save_netcdf(dataset: xr.Dataset, path: Path) -> None:
    """Write a Dataset. HDF5 makes the file in memory, since a full disk crashes it."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        dataset.assign_attrs({_SAYS: _WORDS}).dump_to_store(H5NetCDFStore(file))  # type: ignore[arg-type]
    with buffer.getbuffer() as data, path.open("wb") as out:  # given back also when the disk is full
        out.write(data)
        out.write(_seal(data))


def load_netcdf(path: Path) -> xr.Dataset:
    """The Dataset, with Python's strings and numbers."""
    import xarray as xr

    sealed = _sealed(path)
    _check_harmless(path)
    dataset = xr.load_dataset(path, engine="h5netcdf")
    if (dataset.attrs.pop(_SAYS, None) is not None) and not sealed:
        raise Unreadable(CHANGED)
    for name, variable in dataset.variables.items():
        if variable.dtype.kind in "UT":  # words are Python strings in our Datasets
            dataset[name] = variable.astype(object)
    for owner in (dataset, *dataset.variables.values()):
        owner.attrs = {name: plain(value) for name, value in owner.attrs.items()}
    return dataset


def _sealed(path: Path) -> bool:
    """Whether the file has a seal; an error if the seal is wrong."""
    data = path.read_bytes()
    if not data.startswith(_MARK, -_SEAL):
        return False
    if not data.endswith(_seal(memoryview(data)[:-_SEAL])):
        raise Unreadable(CHANGED)
    return True


def _seal(data: memoryview) -> bytes:
    """The last line of a file: the checksum of the content before it."""
    return _MARK + hashlib.sha256(data).hexdigest().encode() + b"\n"


def _check_harmless(path: Path) -> None:
    """Refuse arrays that are larger than the file can mean, and whatever would open another file."""
    import h5py

    asked = 0
    with h5py.File(path, "r", locking=False) as file:
        for name in file:
            if type(file.get(name, getlink=True)) is not h5py.HardLink:
                raise Unreadable("it points to another file or to another part of itself, which ours never do")
            if not isinstance(array := file[name], h5py.Dataset):
                raise Unreadable(NOT_OURS)
            if array.is_virtual or array.external:
                raise Unreadable("it keeps its numbers in another file, which ours never do")
            asked += (array.size or 0) * array.dtype.itemsize
    check_size(asked, path.stat().st_size)

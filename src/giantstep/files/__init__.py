"""Datasets on disk: netCDF and JSON keep everything and come back identical, CSV and Parquet are for other programs.

Files are replaced whole or not at all (`atomic`). Those that can be loaded again carry a checksum of all they say, so
that a damaged one is refused and never answers other numbers; one that somebody made up cannot ask for more memory
than its own size warrants, nor for other files (`netcdf`, `json`).
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answers.tables import columns, write_csv
from ..errors import ParameterError, refused
from ..model.arguments import checked_arguments
from .atomic import check_place, check_plain, replacing
from .json import NOT_OURS, Unreadable, load_json, save_json, write_json
from .netcdf import load_netcdf, save_netcdf

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["check_dataset_path", "check_place", "check_plain", "load", "replacing", "save", "write_json"]


@checked_arguments()
def save(dataset: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a Dataset to a file, whole or not at all. An existing file is replaced.

    ============  ===========================================================================
    ``.nc``       netCDF 4: everything, compact; opens in xarray, Julia, Matlab, ...
    ``.json``     everything, as text
    ``.csv``      one row per grid point, for spreadsheets and the like, without attributes
    ``.parquet``  the same rows, for pandas, polars and the like (needs pyarrow)
    ============  ===========================================================================

    Parameters
    ----------
    dataset : xarray.Dataset
        From any function of giantstep.
    path : str or path
        The file to write; its ending decides the format.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> curve = gs.predict(gs.SpikedRF("tanh", r=1, gamma=1), "sin", alpha=[1, 2], lam=0.1)
    >>> with TemporaryDirectory() as folder:
    ...     gs.save(curve, f"{folder}/curve.nc")
    ...     gs.load(f"{folder}/curve.nc").identical(curve)
    True
    """
    ending = _ending(path, _WRITERS, "saved")
    with replacing(path) as temporary:
        try:
            _WRITERS[ending](dataset, temporary)
        except (TypeError, ValueError) as error:  # a variable or an attribute that the form has no place for
            raise ParameterError(f"path = {str(path)!r}: this cannot be kept as {ending}: {error}") from error


@checked_arguments()
def load(path: str | os.PathLike[str]) -> xr.Dataset:
    """The Dataset that `save` wrote to a ``.nc`` or ``.json`` file.

    Parameters
    ----------
    path : str or path
        The file. A damaged file, or one that `save` did not write, is a `ParameterError`.

    Returns
    -------
    xarray.Dataset
        The Dataset as you saved it, with its attributes.

    Examples
    --------
    >>> gs.load("no such file.nc")
    Traceback (most recent call last):
        ...
    giantstep.errors.ParameterError: path = 'no such file.nc' does not exist; check its spelling
    """
    if (table := Path(path).suffix.lower()) in (".csv", ".parquet"):
        raise ParameterError(
            f"path = {str(path)!r}: a {table} file keeps the numbers but not the labels of a Dataset;"
            " load the .nc or .json form, or read the table with pandas"
        )
    ending = _ending(path, _READERS, "loaded")
    if not os.path.exists(path):
        raise ParameterError(f"path = {str(path)!r} does not exist; check its spelling")
    check_plain(path)
    try:
        return _READERS[ending](Path(path))
    except Unreadable as error:
        reason = str(error)
    except MemoryError:
        reason = "there is not enough memory for what it says it holds"
    except Exception as error:  # whatever a library says of bytes that it was not made for
        reason = getattr(error, "strerror", None) or NOT_OURS
    raise ParameterError(f"path = {str(path)!r} cannot be read: {reason}")


def check_dataset_path(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `save` would refuse, before the work whose result should go there."""
    _ending(path, _WRITERS, "saved")
    check_place(path)


def _ending(path: str | os.PathLike[str], known: dict[str, Any], verb: str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in known:
        forms = " or ".join(known)
        raise refused("path", str(path), f"has the unknown ending {ending!r}; answers are {verb} as {forms} files")
    if ending == ".parquet" and find_spec("pyarrow") is None:
        raise ParameterError(
            ".parquet needs pyarrow, which is not installed; pip install pyarrow, or write .nc or .csv", "path"
        )
    return ending


def _save_csv(dataset: xr.Dataset, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(dataset, file)


def _save_parquet(dataset: xr.Dataset, path: Path) -> None:
    import pandas as pd

    pd.DataFrame(columns(dataset)).to_parquet(path, engine="pyarrow")


_WRITERS = {".nc": save_netcdf, ".json": save_json, ".csv": _save_csv, ".parquet": _save_parquet}
_READERS = {".nc": load_netcdf, ".json": load_json}

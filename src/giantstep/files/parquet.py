"""Datasets as Parquet: one row per grid point, for pandas, polars and the like. Needs pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answers.tables import columns
from ..errors import ParameterError

if TYPE_CHECKING:
    import xarray as xr


def save_parquet(dataset: xr.Dataset, path: Path) -> None:
    arrow = pyarrow()
    table = arrow.table({name: arrow.array(values) for name, values in columns(dataset).items()})
    from pyarrow import parquet

    parquet.write_table(table, path)


def pyarrow() -> Any:
    """The library, or a refusal that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ParameterError(
            ".parquet needs pyarrow, which is not installed; pip install pyarrow, or write .nc or .csv"
        ) from None
    return pyarrow

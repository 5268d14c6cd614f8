"""An answer as a flat table: one row per grid point, one column per quantity; as text for people, or as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product
from typing import IO, TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from ..model.checks import written
from .arrays import NamedArray, NamedArrays
from .dims import place_name

if TYPE_CHECKING:
    import xarray as xr

_GROUPS = ("letter", "letter_", "direction", "part")  # neurons of one letter and the like: columns, not rows
_WORDED = ("step", "spike", "group", "group_")  # columns too where all is written, with their names
_NOTHING = 1e-15  # of a column's largest number: rounding, shown as 0
_INSPECTED = 1000  # distinct numbers that decide on a column's format


def columns(dataset: xr.Dataset | NamedArrays) -> dict[str, np.ndarray]:
    """Flat columns, one row per grid point: dimensions first, then other coordinates, then answers.

    A quantity with letters becomes a column per letter, `m[-1]`, `m[1]`, or per pair of them, `q1[-1,1]`;
    one with directions of the target a column per direction, `gamma[x1]`; one of a comparison a column per part,
    `test_error[z]`; and one after each step a column per step, `r[step 1]`.
    """
    arrays, groups = NamedArrays.of(dataset), (*_GROUPS, *_WORDED)
    largest = max((array.dims for array in arrays.data_vars.values()), key=len)  # its order counts
    dims = [dim for dim in dict.fromkeys((*largest, *arrays.sizes)) if dim not in groups]
    inputs = [name for name in arrays.coords if name not in (*dims, *groups)]
    return _flat(arrays, [*dims, *inputs, *arrays.data_vars], dims, groups)


def points(dataset: xr.Dataset | NamedArrays, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The columns of the named quantities, after those of the dimensions along which they vary: a row per step.

    Without the rows beyond a setting's last step, which only fill the grid.
    """
    arrays, names = NamedArrays.of(dataset), list(names)
    varying = sorted((arrays[name].dims for name in names), key=len, reverse=True)
    dims = [dim for dim in dict.fromkeys(chain(*varying)) if dim not in _GROUPS]
    labels = [dim for dim in dims if dim in arrays.coords and dim not in names]
    flat = _flat(arrays, [*labels, *names], dims, _GROUPS)
    if "step" in flat and "steps" in flat:
        kept = flat["step"] <= flat["steps"]
        return {name: values[kept] for name, values in flat.items()}
    return flat


def _flat(
    arrays: NamedArrays, names: Iterable[str], dims: Iterable[str], groups: Iterable[str]
) -> dict[str, np.ndarray]:
    """The columns of some quantities on the grid of `dims`."""
    sizes = {dim: arrays.sizes[dim] for dim in dims}
    named = (pair for name in names for pair in _by_group(arrays, name, groups))
    return {label: array.over(sizes).reshape(-1) for label, array in named}


def _by_group(arrays: NamedArrays, name: str, groups: Iterable[str]) -> Iterator[tuple[str, NamedArray]]:
    """The columns of a quantity and what they are called."""
    array = arrays[name]
    dims = [dim for dim in groups if dim in array.dims]
    for places in product(*(range(array.values.shape[array.dims.index(dim)]) for dim in dims)):
        at = dict(zip(dims, places, strict=True))
        texts = [_label(arrays, dim, place) for dim, place in at.items()]
        yield f"{name}[{','.join(texts)}]" if texts else name, array.at(at)


def _label(arrays: NamedArrays, dim: str, place: int) -> str:
    """The name of one place along a dimension; counted from 1 if it has none."""
    label = arrays.coords[dim].values.tolist()[place] if dim in arrays.coords else place + 1
    if dim == "direction" or dim in _WORDED:
        return place_name(dim, label, alone=arrays.sizes[dim] == 1)
    return label if isinstance(label, str) else written(label, 6)


def write_csv(dataset: xr.Dataset | NamedArrays, file: IO[str]) -> None:
    """Every input and answer, one row per grid point; numbers with all their digits."""
    flat = columns(dataset)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(flat)
    writer.writerows(zip(*(values.tolist() for values in flat.values()), strict=True))


def aligned(flat: Mapping[str, np.ndarray], digits: int = 5) -> str:
    """An aligned table with a header: numbers with `digits` significant digits, to the right; words to the left."""
    columns = []
    for name, values in flat.items():
        texts = [name, *_cells(np.asarray(values), digits)]
        width = max(map(cell_len, texts))
        spaces = [" " * (width - cell_len(text)) for text in texts]
        left = np.asarray(values).dtype.kind in "OUS"
        columns.append([text + space if left else space + text for text, space in zip(texts, spaces, strict=True)])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _cells(values: np.ndarray, digits: int) -> list[str]:
    """One format for a whole column: fixed point where the sizes allow it, so that decimals line up."""
    if values.dtype.kind not in "fc":
        return [str(value) for value in values.tolist()]
    finite = np.abs(values[np.isfinite(values)])
    values = np.where(np.abs(values) < _NOTHING * finite.max(initial=0.0), 0.0, values)
    sizes = np.unique(np.abs(values[np.isfinite(values) & (values != 0.0)]))
    if not sizes.size:
        return [f"{value:g}" for value in values]
    typed = np.array([float(f"{size:.{digits}g}") for size in sizes[:_INSPECTED]])
    if np.allclose(typed, sizes[:_INSPECTED], rtol=1e-12, atol=0.0) and sizes[-1] < 1e6:
        decimals = max(len(np.format_float_positional(number, trim="-").partition(".")[2]) for number in typed)
        if decimals <= digits:  # short numbers, such as a person types: as they are
            return [f"{value:.{decimals}f}" for value in values]
    if sizes[0] >= 1e-4 and sizes[-1] < 1e5:
        decimals = digits - 1 - math.floor(math.log10(sizes[0]))
        return [f"{value:.{max(0, min(decimals, digits + 1))}f}" for value in values]
    return [f"{value:.{digits}g}" for value in values]

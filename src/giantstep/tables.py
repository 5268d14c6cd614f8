"""A Dataset as a flat table: one row per grid point, one column per quantity; as text for people, or as CSV."""

from __future__ import annotations

import csv
import math
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import product
from typing import IO, TYPE_CHECKING

import numpy as np

from .parameters import written

if TYPE_CHECKING:
    import xarray as xr

_GROUPS = ("letter", "letter_", "part")  # neurons of one letter, parts of a comparison: columns, not rows
_WORDED = (
    "step",
    "spike",
    "direction",
    "group",
    "group_",
)  # columns too where all is written, with their names
_NOTHING = 1e-15  # of a column's largest number: rounding, shown as 0
_INSPECTED = 1000  # distinct numbers that decide on a column's format


def columns(dataset: xr.Dataset, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Flat columns, one row per grid point: dimensions first, then other coordinates, then answers.

    A quantity with letters becomes a column per letter, `m[-1]`, `m[1]`, or per pair of them, `q1[-1,1]`;
    one of a comparison a column per part, `test_error[z]`; and one after each step a column per step, `r[step 1]`.
    `names` selects and orders, and has a row per step; the default is everything.
    """
    groups = _GROUPS if names is not None else (*_GROUPS, *_WORDED)
    largest = max(
        dataset.data_vars.values(), key=lambda values: values.ndim
    )  # its order of dimensions counts
    grid = [
        dim for dim in dict.fromkeys([*map(str, largest.dims), *map(str, dataset.sizes)]) if dim not in groups
    ]
    shape = [dataset.sizes[dim] for dim in grid]
    if names is None:
        inputs = [name for name in map(str, dataset.coords) if name not in (*grid, *groups)]
        names = [*grid, *inputs, *map(str, dataset.data_vars)]
    flat: dict[str, np.ndarray] = {}
    for name in names:
        for label, values in _by_group(dataset[name], groups):
            own = [dim for dim in grid if dim in values.dims]
            sizes = [dataset.sizes[dim] if dim in own else 1 for dim in grid]
            expanded = values.transpose(*own).values.reshape(sizes)
            flat[label] = np.broadcast_to(expanded, shape).reshape(-1)
    return flat


def points(dataset: xr.Dataset, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The columns of the named quantities, after those of the dimensions along which they vary."""
    names = list(names)
    if "step" in dataset.dims and "steps" in dataset.dims:
        return _taken(dataset, names)
    return _points(dataset, names)


def _taken(dataset: xr.Dataset, names: list[str]) -> dict[str, np.ndarray]:
    """Without the rows beyond a setting's last step, which only fill the grid."""
    flat = _points(dataset, names)
    if "step" not in flat or "steps" not in flat:
        return flat
    kept = flat["step"] <= flat["steps"]
    return {name: values[kept] for name, values in flat.items()}


def _points(dataset: xr.Dataset, names: list[str]) -> dict[str, np.ndarray]:
    dims = dict.fromkeys(str(dim) for name in names for dim in dataset[name].dims)
    labels = [dim for dim in dims if dim in dataset.coords and dim not in (*_GROUPS, *names)]
    return columns(dataset[names], [*labels, *names])


def _by_group(values: xr.DataArray, groups: Iterable[str]) -> Iterable[tuple[str, xr.DataArray]]:
    dims = [dim for dim in groups if dim in values.dims]
    if not dims:
        yield str(values.name), values
    for index in product(*(range(values.sizes[dim]) for dim in dims)) if dims else ():
        part = values.isel(dict(zip(dims, index, strict=True)))
        texts = [_label(values, dim, place) for dim, place in zip(dims, index, strict=True)]
        yield f"{values.name}[{','.join(texts)}]", part


def _label(values: xr.DataArray, dim: str, place: int) -> str:
    """The name of one place along a dimension; counted from 1 if it has none."""
    label = values[dim].values.tolist()[place] if dim in values.coords else place + 1  # words may be objects
    text = label if isinstance(label, str) else written(label, 6)
    return f"{dim} {text}" if dim in _WORDED else text


def write_csv(dataset: xr.Dataset, file: IO[str]) -> None:
    """Every input and answer, one row per grid point; numbers with all their digits."""
    flat = columns(dataset)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(flat)
    writer.writerows(zip(*(values.tolist() for values in flat.values()), strict=True))


def aligned(flat: Mapping[str, np.ndarray], digits: int = 5) -> str:
    """An aligned table with a header: numbers with `digits` significant digits, to the right; words to the left."""
    cells = {name: _cells(np.asarray(values), digits) for name, values in flat.items()}
    lines = [[] for _ in range(1 + max(map(len, cells.values()), default=0))]
    for name, texts in cells.items():
        column = [name, *texts]
        width = max(map(display_width, column))
        left = np.asarray(flat[name]).dtype.kind in "OUS"
        for line, text in zip(lines, column, strict=True):
            space = " " * (width - display_width(text))
            line.append(text + space if left else space + text)
    return "\n".join("  ".join(line).rstrip() for line in lines)


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
        decimals = max(
            len(np.format_float_positional(number, trim="-").partition(".")[2]) for number in typed
        )
        if decimals <= digits:  # short numbers, such as a person types: as they are
            return [f"{value:.{decimals}f}" for value in values]
    if sizes[0] >= 1e-4 and sizes[-1] < 1e5:
        decimals = digits - 1 - math.floor(math.log10(sizes[0]))
        return [f"{value:.{max(0, min(decimals, digits + 1))}f}" for value in values]
    return [f"{value:.{digits}g}" for value in values]


def display_width(text: str) -> int:
    """Columns that a text takes in a terminal: wide characters count twice, combining ones not at all."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )

"""Numbers of a user's own simulation as a Dataset with the dimension `trial`, on the points of a theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..model.checks import floats
from .quantities import QUANTITIES

if TYPE_CHECKING:
    import xarray as xr


def as_trials(simulation: Any, theory: xr.Dataset, d: float | None) -> xr.Dataset:
    """A simulation as a Dataset with the dimension `trial` and the attribute `d`, if that is known.

    Parameters
    ----------
    simulation : Dataset, DataFrame, dictionary of arrays, or array
        An array has the shape [trials, *points], the points in the order of the theory's dimensions; without a name
        its numbers are test errors. A dictionary may also name the points, as in {"alpha": [1, 2], ...}.
    theory : Dataset
        What the numbers are compared with: its dimensions give the points.
    d : number, optional
        Input dimension of the simulated networks.
    """
    import xarray as xr

    if isinstance(simulation, xr.DataArray):
        simulation = simulation.to_dataset(name=simulation.name or "test_error")
    if isinstance(simulation, xr.Dataset):
        data = simulation if simulation.dims else simulation.expand_dims("trial")
    elif hasattr(simulation, "columns") and hasattr(simulation, "to_dict"):
        data = _from_table(simulation, theory)
    else:
        named = dict(simulation) if isinstance(simulation, dict) else {"test_error": simulation}
        points = {name: np.ravel(named.pop(name)) for name in list(named) if name in theory.dims}
        labels = {name: label for name, label in theory.coords.items() if name not in ("d", "status", *points)}
        sizes = {str(dim): len(points.get(str(dim), range(n))) for dim, n in theory.sizes.items()}
        variables = {}
        for name, value in named.items():
            if name not in theory.data_vars:
                raise ParameterError(
                    f"simulation names {name!r}, and the theory has no such quantity; it has"
                    f" {', '.join(measurable(theory))}",
                    "simulation",
                )
            dims = [str(dim) for dim in theory[name].dims]
            variables[name] = (("trial", *dims), _numbers(name, value, tuple(sizes[dim] for dim in dims)))
        data = xr.Dataset(variables, labels | points)
    size = data.attrs.get("d") if d is None else d
    if size is None and "d" in theory.coords and np.isfinite(theory["d"]).all():
        size = float(theory["d"])  # the user predicted at the size of the networks
    return data if size is None else data.assign_attrs(d=size)


def measurable(theory: xr.Dataset) -> list[str]:
    """The quantities of a theory that networks have too."""
    rows = {name: QUANTITIES.get(name) for name in map(str, theory.data_vars)}
    return [
        name
        for name, row in rows.items()
        if row is None or not (row.kind == "diagnostic" or row.only.startswith("theory"))
    ]


def _numbers(name: str, value: Any, points: tuple[int, ...]) -> np.ndarray:
    """An array [trials, *points]; dimensions that have one point may be left out or given."""
    array = floats("simulation", value)
    if np.isnan(array).any():
        raise ParameterError(
            f"simulation has {np.isnan(array).sum()} NaN among its values of {name}; leave these trials out, or give a"
            " DataFrame: its points may have different numbers of trials",
            "simulation",
        )
    several = tuple(n for n in points if n > 1)
    if tuple(n for n in array.shape[1:] if n > 1) != several:
        needed = ", ".join(["trials", *map(str, points)])
        way_out = "give a row for each trial, not their mean, or predict the points of your simulation"
        if array.ndim > 1 and array.shape[:-1] == several:
            way_out = "the trials come first: give np.moveaxis(simulation, -1, 0)"
        raise ParameterError(
            f"simulation has the shape {list(array.shape)} for {name}, and the theory needs [{needed}]; {way_out}",
            "simulation",
        )
    return array.reshape(-1, *points)


def _from_table(table: Any, theory: xr.Dataset) -> xr.Dataset:
    """A DataFrame with one row for each trial and point: rows with equal parameters are trials of one point."""
    columns = [str(column) for column in table.columns]
    names = [name for name in columns if name in theory.data_vars]
    dims = [name for name in columns if name in theory.dims]
    if not names:
        raise ParameterError(
            f"simulation has the columns {', '.join(columns)}, and none is a quantity of the theory; name one of"
            f" {', '.join(measurable(theory))}",
            "simulation",
        )
    missing = [str(dim) for name in names for dim in theory[name].dims if dim not in dims and theory.sizes[dim] > 1]
    if missing:
        raise ParameterError(
            f"the theory has several values of {missing[0]}, and simulation has no such column; add it, or predict"
            " one value",
            "simulation",
        )
    if "trial" not in columns:
        table = table.assign(trial=table.groupby(dims).cumcount() if dims else np.arange(len(table)))
    repeated = table.duplicated([*dims, "trial"])
    if repeated.any():
        raise ParameterError(
            f"simulation has {int(repeated.sum())} rows that repeat a trial at the same {dims or 'point'}; number the"
            " trials in the column 'trial', or leave it out",
            "simulation",
        )
    table = table.assign(**{name: floats("simulation", table[name]) for name in names})
    return table.set_index(["trial", *dims])[names].to_xarray()

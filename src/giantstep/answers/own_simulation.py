"""Numbers of a user's own simulation as a Dataset with the dimension `trial`, on the points of a theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError

if TYPE_CHECKING:
    import xarray as xr

_HOW = (
    "give what simulate returns, or your own numbers: an array of shape [trials] or [trials, points of the theory], a"
    " dictionary of such arrays by name ('test_error', 'train_error', ...), or a DataFrame with a column for each"
)


def as_trials(simulation: Any, theory: xr.Dataset, d: float | None) -> xr.Dataset:
    """A simulation as a Dataset with the dimension `trial` and the attribute `d`, if that is known.

    Parameters
    ----------
    simulation : Dataset, DataFrame, dictionary of arrays, or array
        An array has the shape [trials, *points], the points in the order of the theory's dimensions; without a name
        its numbers are test errors.
    theory : Dataset
        What the numbers are compared with: its dimensions give the points.
    d : number, optional
        Input dimension of the simulated networks.
    """
    import xarray as xr

    if isinstance(simulation, xr.Dataset):
        data = simulation if simulation.dims else simulation.expand_dims("trial")
    elif hasattr(simulation, "columns") and hasattr(simulation, "to_dict"):
        data = _from_table(simulation, theory)
    else:
        named = simulation if isinstance(simulation, dict) else {"test_error": simulation}
        variables = {}
        for name, value in named.items():
            dims = _dims_of(name, theory)
            variables[name] = (("trial", *dims), _numbers(name, value, theory[name].shape))
        labels = {name: label for name, label in theory.coords.items() if name not in ("d", "status")}
        data = xr.Dataset(variables, labels)
    size = data.attrs.get("d") if d is None else d
    if size is None and "d" in theory.coords and np.isfinite(theory["d"]).all():
        size = float(theory["d"])  # the user predicted at the size of the networks
    return data if size is None else data.assign_attrs(d=size)


def _dims_of(name: str, theory: xr.Dataset) -> tuple[str, ...]:
    if name not in theory.data_vars:
        listed = ", ".join(map(str, theory.data_vars))
        raise ParameterError(f"the theory has no quantity {name!r}; it has {listed}", "simulation")
    return tuple(map(str, theory[name].dims))


def _numbers(name: str, value: Any, points: tuple[int, ...]) -> np.ndarray:
    """An array [trials, *points]; dimensions of the theory that have one point may be left out."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(
            f"simulation has {type(value).__name__} for {name}, which is no array of numbers; {_HOW}",
            "simulation",
        ) from None
    if array.ndim == 0:
        raise ParameterError(
            f"simulation has the single number {array:g} for {name}, and scatter needs at least 2 trials; {_HOW}",
            "simulation",
        )
    if array.shape[1:] not in (points, tuple(n for n in points if n > 1)):
        raise ParameterError(
            f"simulation has the shape {list(array.shape)} for {name}, and the theory needs"
            f" {['trials', *points]}; give one row for each trial, or predict the points of your simulation",
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
            f"simulation has the columns {columns}, and none is a quantity of the theory:"
            f" {', '.join(map(str, theory.data_vars))}",
            "simulation",
        )
    missing = [
        str(dim) for name in names for dim in theory[name].dims if dim not in dims and theory.sizes[dim] > 1
    ]
    if missing:
        raise ParameterError(
            f"the theory has several values of {missing[0]}, and simulation has no such column; add it, or predict"
            " one value",
            "simulation",
        )
    if "trial" not in columns:
        rows = table.groupby(dims).cumcount() if dims else np.arange(len(table))
        table = table.assign(trial=rows)
    repeated = table.duplicated([*dims, "trial"])
    if repeated.any():
        raise ParameterError(
            f"simulation has {int(repeated.sum())} rows that repeat a trial at the same {dims or 'point'}; number the"
            " trials in the column 'trial', or leave it out",
            "simulation",
        )
    return table.set_index(["trial", *dims])[names].to_xarray()

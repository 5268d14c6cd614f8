"""What a sweep has found, as Datasets."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ParameterError
from .description import Sweep
from .encoding import blank
from .parts import Part, parts
from .status import Status, Tally, tally, told_of
from .store import Store

if TYPE_CHECKING:
    import xarray as xr


class Results(NamedTuple):
    """The Datasets of a sweep's parts, laid out as `predict` and `simulate` do; NaN where something is missing.

    `attrs["missing"]` says how many points that is. A part of which there is nothing is None. A run adds whether it
    was `interrupted` and how many jobs it has `done`; `status` tells how far each part is.
    """

    theory: xr.Dataset | None = None
    simulation: xr.Dataset | None = None
    interrupted: bool = False
    done: int = 0
    status: tuple[Status, ...] = ()


def results(sweep: Sweep | None, store: str | os.PathLike[str] | Store) -> Results:
    """All that the store has of a sweep (by default the last one that was run into it)."""
    with nullcontext(store) if isinstance(store, Store) else Store.reading(store) as kept:
        sweep = sweep or Sweep.from_dict(kept.last_sweep())
        found = collected(parts(sweep), kept)
    check_any(found, kept.path)
    return found


def collected(wanted: list[Part], store: Store, read: bool = True) -> Results:
    """What an open store has of a sweep's parts; without `read`, only how far they are."""
    found: dict[str, Any] = {}
    told = []
    for part in wanted:
        there = tally(part, store)
        told.append(told_of(part, store, there))
        if read:
            found[part.family.kind] = _dataset(part, store, there)
    return Results(**found, status=tuple(told))


def check_any(found: Results, path: Path) -> None:
    """Refuse to go on with nothing."""
    if found.theory is None and found.simulation is None:
        raise ParameterError(
            f"{str(path)!r} has nothing of this sweep yet; run it first, or retry what failed"
        )


def complete_trials(simulation: xr.Dataset) -> xr.Dataset:
    """Only the trials that have every point, so that means and their errors are over the same ones everywhere."""
    there = simulation["test_error"].notnull()
    whole = there.all([dim for dim in there.dims if dim != "trial"])
    if not whole.any():
        raise ParameterError("no trial is complete yet; run more of the sweep first")
    return simulation.isel(trial=np.flatnonzero(whole.values))


def compared(found: Results) -> xr.Dataset:
    """Theory beside simulation, over the trials that are complete, with z: where both are there."""
    from ..comparison import compare

    assert found.theory is not None
    assert found.simulation is not None
    missing = found.theory.attrs["missing"] + found.simulation.attrs["missing"]
    return compare(found.theory, complete_trials(found.simulation)).assign_attrs(missing=missing)


def with_size(dataset: xr.Dataset) -> xr.Dataset:
    """With its d, inf for the limit, as a coordinate, which is a column of a table, rather than an attribute."""
    if "d" in dataset.coords:
        return dataset
    return dataset.assign_coords(d=float(dataset.attrs.get("d", np.inf)))


def _dataset(part: Part, store: Store, found: Tally) -> xr.Dataset | None:
    if not found.done.any():
        return None
    answers = store.answers(part.family)
    chosen = {}
    for name, values in answers.items():
        chosen[name] = blank((len(found.place), *values.shape[1:]), values.dtype)
        chosen[name][found.done] = values[found.place[found.done]]
    missing = int(np.count_nonzero(~found.done))
    return part.dataset(chosen, {**store.attrs(part.family), "missing": missing})

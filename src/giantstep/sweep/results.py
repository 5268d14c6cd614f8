"""How far a sweep is, and the answers in its store as Datasets."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ParameterError
from ..runtime.progress import duration
from .description import Sweep
from .part import Part, positions
from .simulation import SimulationPart
from .store import Store
from .theory import TheoryPart

if TYPE_CHECKING:
    import xarray as xr


class Progress(NamedTuple):
    """How far a part is: trials at one setting for a simulation, points for theory."""

    kind: str
    unit: str
    wanted: int
    done: int
    failed: int
    seconds: float
    messages: tuple[str, ...]  # one for each failed job

    def __str__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        work = f"{duration(self.seconds)} of work so far"
        return f"{self.kind}: {self.done} of {self.wanted} {self.unit} done{failed}; {work}"


class Results(NamedTuple):
    """The Datasets of a sweep's parts, laid out as `predict` and `simulate` do; NaN where something is missing.

    `attrs["missing"]` says how many points that is. A part of which there is nothing is None. A run adds whether it
    was `interrupted` and how many jobs it has `done`; `status` tells how far each part is.
    """

    theory: xr.Dataset | None = None
    simulation: xr.Dataset | None = None
    interrupted: bool = False
    done: int = 0
    status: tuple[Progress, ...] = ()


def parts(sweep: Sweep) -> list[Part]:
    """What a sweep asks for; the theory first, since it is quick."""
    kinds = {TheoryPart: sweep.theory, SimulationPart: sweep.simulation}
    return [kind(sweep) for kind, asked in kinds.items() if asked is not None]


def results(sweep: Sweep | None, store: str | os.PathLike[str] | Store) -> Results:
    """All answers to a sweep that are in the store; by default to the last sweep that was run into it."""
    with nullcontext(store) if isinstance(store, Store) else Store.reading(store) as kept:
        collected = collect(parts(sweep or Sweep.from_dict(kept.last_sweep())), kept)
    check_any(collected, kept.path)
    return collected


def status(sweep: Sweep, store: str | os.PathLike[str]) -> tuple[Progress, ...]:
    """How far each part of a sweep is."""
    with Store.reading(store) as kept:
        return collect(parts(sweep), kept, read=False).status


def collect(wanted: list[Part], store: Store, read: bool = True) -> Results:
    """What an open store has of a sweep's parts; without `read`, only how far they are."""
    datasets: dict[str, Any] = {}
    progress = []
    for part in wanted:
        places, failed = find_done(part, store)
        messages = tuple(
            message
            for points, message in store.failures(part.family)
            if (positions(points, part.keys[failed]) >= 0).any()
        )
        counts = [
            part.units(chosen.reshape(part.shape)) for chosen in (places >= -1, places < 0, failed)
        ]  # all, not done, failed
        progress.append(
            Progress(
                part.family.kind,
                part.unit,
                wanted=counts[0],
                done=counts[0] - counts[1],
                failed=counts[2],
                seconds=store.seconds(part.family),
                messages=messages,
            )
        )
        if read and (places >= 0).any():
            attrs = {**store.attrs(part.family), "missing": int(np.count_nonzero(places < 0))}
            datasets[part.family.kind] = part.dataset(store.answers(part.family, places), attrs)
    return Results(**datasets, status=tuple(progress))


def find_done(part: Part, store: Store) -> tuple[np.ndarray, np.ndarray]:
    """The place of each wanted point among the store's, -1 where it is missing, and whether it has failed; [points]."""
    places = positions(part.keys, store.points(part.family))
    tried = np.concatenate([part.keys[:0], *(points for points, _ in store.failures(part.family))])
    return places, (positions(part.keys, tried) >= 0) & (places < 0)


def check_any(collected: Results, path: Path) -> None:
    """Refuse a store that has nothing of the sweep."""
    if collected.theory is None and collected.simulation is None:
        raise ParameterError(f"{str(path)!r} has nothing of this sweep yet; run it first, or retry what failed")


def complete_trials(simulation: xr.Dataset) -> xr.Dataset:
    """Only the trials that have every point, so that means and their errors are over the same ones everywhere."""
    there = simulation["test_error"].notnull()
    whole = there.all([dim for dim in there.dims if dim != "trial"])
    if not whole.any():
        raise ParameterError("no trial is complete yet; run more of the sweep first")
    return simulation.isel(trial=np.flatnonzero(whole.values))

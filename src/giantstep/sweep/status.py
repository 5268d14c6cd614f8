"""How much of a sweep is there."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from ..progress import duration
from .description import Sweep
from .parts import Part, parts
from .points import positions
from .store import Store


class Tally(NamedTuple):
    """Which of a part's points are there (and where in the store), and which have failed; each [points]."""

    place: np.ndarray
    failed: np.ndarray

    @property
    def done(self) -> np.ndarray:
        return self.place >= 0


class Status(NamedTuple):
    """A part in numbers: trials at one setting for a simulation, points for theory."""

    kind: str
    unit: str
    wanted: int
    done: int
    failed: int
    seconds: float
    messages: tuple[str, ...]  # one for each failed job

    def __str__(self) -> str:
        words = f"{self.kind}: {self.done} of {self.wanted} {self.unit} done"
        if self.failed:
            words += f", {self.failed} failed"
        return f"{words}; {duration(self.seconds)} of work so far"


def tally(part: Part, store: Store) -> Tally:
    """What the store has of a part."""
    place = positions(part.keys, store.points(part.family))
    failures = store.failures(part.family)
    if not failures:
        return Tally(place, np.zeros(len(place), dtype=bool))
    failed = positions(part.keys, np.concatenate([failure.keys for failure in failures])) >= 0
    return Tally(place, failed & (place < 0))


def status(sweep: Sweep, store: str | os.PathLike[str]) -> list[Status]:
    """How far each part of a sweep is."""
    with Store.reading(store) as kept:
        return [told_of(part, kept, tally(part, kept)) for part in parts(sweep)]


def told_of(part: Part, store: Store, found: Tally) -> Status:
    """The same of one part, of which the store has what was `found`."""
    wanted = part.units(np.ones(len(part.keys), dtype=bool))
    open_keys = part.keys[found.failed]
    messages = tuple(
        failure.message
        for failure in store.failures(part.family)
        if (positions(failure.keys, open_keys) >= 0).any()
    )
    return Status(
        part.family.kind,
        part.unit,
        wanted,
        wanted - part.units(~found.done),
        part.units(found.failed),
        store.seconds(part.family),
        messages,
    )

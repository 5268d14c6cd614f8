"""What theory and simulation have in common: wanted points, jobs, and a Dataset in the end.

A result belongs to a *family*, everything about a sweep that is no number of its grid (activation, target, loss, and
for a simulation d, seed and how it is done), and to a *point*, the numbers: those of the model, noise, lam, and
alpha and d for the theory, trial and n (samples) for a simulation. Both identify by content, so a point is known
again in whatever grid it is asked for: extending a grid or adding trials keeps what is there.

Numbers count as equal when they agree to 12 digits: 0.1·3 is not quite 0.3, and "0.1:1:10" has other last bits than
"0.1:2:20". Work is done in larger portions (see `Part.portions`): a point is the unit of *identity*, not of work.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import OF_THE_LAYER, Dimensions
from ..answers.grid import LayerGrid
from .description import Sweep
from .job import Answers, Job, Work

if TYPE_CHECKING:
    import xarray as xr


DIGITS = 12


@dataclass(frozen=True)
class Family:
    """What the points of one table have in common; `columns` names the numbers of a point."""

    kind: str
    columns: tuple[str, ...]
    setting: dict[str, Any]

    @cached_property
    def description(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": self.columns, **self.setting}

    @cached_property
    def id(self) -> str:
        """A short name for the content: 128 bits, so that no two will ever coincide."""
        return hashlib.sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()[:32]


def rounded(values: Any) -> np.ndarray:
    """Numbers with 12 significant digits; there is one zero."""
    unique, place = np.unique(np.asarray(values, dtype=float) + 0.0, return_inverse=True)
    return np.array([float(f"{value:.{DIGITS - 1}e}") for value in unique])[place]


def positions(wanted: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Row of `stored` that equals each row of `wanted`, -1 where there is none."""
    known = {row.tobytes(): place for place, row in enumerate(stored)}
    return np.array([known.get(row.tobytes(), -1) for row in wanted], dtype=int)


Portion = tuple[np.ndarray, np.ndarray]  # which settings, and which points of each


class Part(ABC):
    """Points in the order of the split: settings (first layers), then the points (readouts) on each."""

    unit: str  # what is counted for people
    family: Family
    split: LayerGrid
    shape: tuple[int, int]  # how many settings, and how many points each
    block: tuple[int, int]  # how many settings, and how many points of each, are computed together at most
    keys: np.ndarray  # the points that are wanted, [settings · points, columns]

    def __init__(self, sweep: Sweep):
        self.sweep = sweep
        self.own = tuple(sweep.model.numbers())
        self.axes = Dimensions(sweep.model, sweep.target.directions)

    @abstractmethod
    def work(self, settings: np.ndarray, points: np.ndarray) -> Work:
        """The work that computes a portion."""

    @abstractmethod
    def units(self, chosen: np.ndarray) -> int:
        """How many of the part's units (see `unit`) have a chosen point; `chosen` is [settings, points]."""

    @abstractmethod
    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        """Answers [settings · points, ...] as a Dataset."""

    def portions(self, missing: np.ndarray) -> list[Portion]:
        """The points where `missing` [settings, points] holds, as rectangles that are computed together.

        Equal points are computed once: several alphas may mean the same number of samples.
        """
        keys, portions = self.keys.reshape(*self.shape, -1), []
        (height, width), (most_settings, most_points) = self.block, self.shape
        for top, left in product(range(0, most_settings, height), range(0, most_points, width)):
            lacking = defaultdict(list)  # settings, by the points that they lack
            for setting, lacks in enumerate(missing[top : top + height, left : left + width], start=top):
                lacking[lacks.tobytes()].append(setting)
            for lacks, settings in lacking.items():
                if (points := left + np.flatnonzero(np.frombuffer(lacks, bool))).size:
                    first = np.unique(keys[settings[0], points], axis=0, return_index=True)[1]
                    portions.append((np.array(settings), points[np.sort(first)]))
        return portions

    def jobs(self, portions: list[Portion]) -> Iterator[Job]:
        """The work that gives these portions."""
        keys = self.keys.reshape(*self.shape, -1)
        for settings, points in portions:
            chosen = keys[np.ix_(settings, points)].reshape(-1, keys.shape[-1])
            yield Job(self.family.id, chosen, self.work(settings, points))

    def check(self, workers: int) -> None:  # noqa: B027  (theory has nothing to check)
        """Refuse what this machine cannot compute, before the first job."""

    def _words(self) -> dict[str, Any]:
        """The description of the problem without its numbers."""
        model, target = self.sweep.model.to_dict(), self.sweep.target.to_dict()
        words = {key: value for key, value in model.items() if key not in self.own}
        for step in words.get("steps") or ():  # a schedule, whose numbers are among the points'
            step.update(eta=None, alpha0=None)
        if "inputs" in target:
            target["inputs"] |= dict.fromkeys(self.sweep.target.inputs.numbers())  # type: ignore[union-attr]
        return {"model": words, "target": {**target, "noise": None}, "loss": self.sweep.loss}

    def _label(self, answers: Answers, attrs: dict[str, Any], trials: list[int] | None = None) -> xr.Dataset:
        """Answers [settings · points, ...] as a Dataset."""
        by_setting = {
            name: _first_known(values.reshape(*self.shape, *values.shape[1:])) if name in OF_THE_LAYER else values
            for name, values in answers.items()
        }
        return self.split.label(by_setting, self.axes, attrs, trials).dataset()


def _first_known(values: np.ndarray) -> np.ndarray:
    """The first value that is not missing, for values [settings, points, ...] that all points of a setting share."""
    first = (~np.isnan(values)).argmax(axis=1)
    return np.take_along_axis(values, first[:, None], axis=1)[:, 0]

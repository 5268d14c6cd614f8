"""What theory and simulation have in common: wanted points, jobs, and a Dataset in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...axes import OF_THE_LAYER, Axes
from ...split import Split
from ..description import Sweep
from ..job import Answers, Job
from ..points import Family

if TYPE_CHECKING:
    import xarray as xr


class Part(ABC):
    """Points in the order of the split: first layers, then the readouts on each."""

    family: Family
    split: Split
    unit: str  # what is counted for people

    def __init__(self, sweep: Sweep):
        self.sweep, self.own, self.axes = (
            sweep,
            tuple(sweep.model.numbers()),
            Axes(sweep.model, sweep.target.directions),
        )

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many settings, and how many points each."""

    @cached_property
    def keys(self) -> np.ndarray:
        """The points that are wanted, [settings · points, columns]."""
        return self._keys()

    @abstractmethod
    def _keys(self) -> np.ndarray: ...

    @abstractmethod
    def jobs(self, missing: np.ndarray) -> Iterator[Job]:
        """The work that gives the points where `missing` [settings · points] holds."""

    @abstractmethod
    def count(self, missing: np.ndarray) -> int:
        """How many jobs that is."""

    @abstractmethod
    def units(self, chosen: np.ndarray) -> int:
        """How many of what people count have a chosen point."""

    @abstractmethod
    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        """Answers [settings · points, ...] as a Dataset."""

    def check(self, workers: int) -> None:  # noqa: B027  (theory has nothing to check)
        """Refuse what cannot be computed here before anything is."""

    def _words(self) -> dict[str, Any]:
        """What there is to say about the problem besides numbers."""
        model, target = self.sweep.model.to_dict(), self.sweep.target.to_dict()
        for step in model.get("steps") or [] if isinstance(model.get("steps"), list) else []:
            if isinstance(step, dict):  # its numbers are among the points'
                step.update(eta=None, alpha0=None)
        words = {key: value for key, value in model.items() if key not in self.own}
        return {"model": words, "target": {**target, "noise": None}, "loss": self.sweep.loss}

    def _labelled(
        self, answers: Answers, before: dict[str, int]
    ) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """Flat answers with dimensions: those `before` the grid's, the grid's, and the quantity's own."""
        split = self.split
        dims = (*before, *split.dims)
        sizes = (*before.values(), *split.shape)
        variables = {}
        for name, values in answers.items():
            shaped = values.reshape((*sizes, *values.shape[1:]))
            kept = dims
            if name in OF_THE_LAYER:
                kept = (*before, *split.layer_dims)
                shaped = _any_along(shaped, [axis for axis, dim in enumerate(dims) if dim not in kept])
            variables[name] = (kept + self.axes.of(name), shaped)
        return variables


def _any_along(values: np.ndarray, axes: list[int]) -> np.ndarray:
    """A value that is there along some axes, all of which say the same; missing where none is."""
    moved = np.moveaxis(values, axes, range(len(axes))) if axes else values[None]
    flat = moved.reshape(-1, *moved.shape[max(1, len(axes)) :])
    there = ~np.isnan(flat)
    first = there.argmax(axis=0)
    return np.take_along_axis(flat, first[None], axis=0)[0]

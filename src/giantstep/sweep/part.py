"""What theory and simulation have in common: wanted points, jobs, and a Dataset in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import OF_THE_LAYER, Dimensions
from ..answers.layer_grid import LayerGrid
from .description import Sweep
from .job import Answers, Job
from .points import Family

if TYPE_CHECKING:
    import xarray as xr


class Part(ABC):
    """Points in the order of the split: first layers, then the readouts on each."""

    family: Family
    split: LayerGrid
    unit: str  # what is counted for people

    def __init__(self, sweep: Sweep):
        self.sweep, self.own, self.axes = (
            sweep,
            tuple(sweep.model.numbers()),
            Dimensions(sweep.model, sweep.target.directions),
        )

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many settings, and how many points each."""

    @cached_property
    @abstractmethod
    def keys(self) -> np.ndarray:
        """The points that are wanted, [settings · points, columns]."""

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
        if "inputs" in target:
            target["inputs"] |= dict.fromkeys(self.sweep.target.inputs.numbers())  # type: ignore[union-attr]
        return {"model": words, "target": {**target, "noise": None}, "loss": self.sweep.loss}

    def _label(self, answers: Answers, attrs: dict[str, Any], trials: list[int] | None = None) -> xr.Dataset:
        """Answers [settings · points, ...] as a Dataset."""
        by_setting = {
            name: _first_known(values.reshape(*self.shape, *values.shape[1:]))
            if name in OF_THE_LAYER
            else values
            for name, values in answers.items()
        }
        return self.split.label(by_setting, self.axes, attrs, trials).dataset()


def _first_known(values: np.ndarray) -> np.ndarray:
    """Of values [settings, points, ...] that all points of a setting share, the first that is not missing."""
    first = (~np.isnan(values)).argmax(axis=1)
    return np.take_along_axis(values, first[:, None], axis=1)[:, 0]

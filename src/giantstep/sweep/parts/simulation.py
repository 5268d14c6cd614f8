"""Simulation by trials: one trial at one setting of the model is a job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...grid import Grid
from ...model import Network, SpikedRF, Target
from ...simulation import check
from ...simulation.backend import make_backend
from ...simulation.schedule import attempt
from ...simulation.simulate import provenance_of
from ...simulation.trial import Task
from ..description import Sweep
from ..job import Answers, Job
from ..points import Family, distinct, rounded
from .base import OF_THE_LAYER, Part

if TYPE_CHECKING:
    import xarray as xr


class SimulationPart(Part):
    """Trials: trial and setting of the model (settings) × sample sizes and penalties (points)."""

    unit = "trials at a setting"

    def __init__(self, sweep: Sweep):
        super().__init__(sweep)
        assert sweep.simulation is not None
        told = sweep.simulation
        self.trials = check.trial_numbers(told.trials)
        library = make_backend(told.backend, told.device, told.dtype).name
        features = check.check_choices(sweep.model, told.features, sweep.loss, told.method)
        self.common = Task(
            sweep.model, sweep.target, told.d, 0, told.seed, (), told.n_test, features, sweep.loss, told.method,
            library, told.device, told.dtype,
        )  # fmt: skip
        names = ("d", "seed", "n_test", "features", "method", "backend", "device", "dtype")
        setting = {**self._words(), **{name: getattr(self.common, name) for name in names}}
        self.family = Family("simulation", (*self.own, "noise", "trial", "n", "lam"), setting)
        self.grid = Grid(sweep.numbers())
        self.layer_dims = self.grid.dims_of((*self.own, "noise"))
        inner = tuple(dim for dim in self.grid.dims if dim not in self.layer_dims)
        self.dims = ("trial", *self.layer_dims, *inner)
        self.sizes = (len(self.trials), *(self.grid.sizes[dim] for dim in self.dims[1:]))
        self._inner = tuple(self.grid.over(name, inner).ravel() for name in ("alpha", "lam"))
        self._layers = np.stack(
            [self.grid.over(name, self.layer_dims).ravel() for name in (*self.own, "noise")], axis=1
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.trials) * len(self._layers), len(self._inner[0])

    def _keys(self) -> np.ndarray:
        alpha, lam = self._inner
        readouts = np.stack([np.rint(alpha * self.common.d), rounded(lam)], axis=1)
        first = [
            np.repeat(np.asarray(part, dtype=float), repeats, axis=0)
            for part, repeats in ((rounded(self._layers), 1), (self.trials, len(self._layers)))
        ]
        lead = np.concatenate([np.tile(first[0], (len(self.trials), 1)), first[1][:, None]], axis=1)
        return np.concatenate(
            [np.repeat(lead, len(readouts), axis=0), np.tile(readouts, (len(lead), 1))], axis=1
        )

    def jobs(self, missing: np.ndarray) -> Iterator[Job]:
        keys = self.keys.reshape(*self.shape, -1)
        for row in np.flatnonzero(missing.reshape(self.shape).any(axis=1)):
            cells = np.flatnonzero(missing.reshape(self.shape)[row])
            cells = cells[distinct(keys[row, cells])]  # several alphas may mean the same number of samples
            trial, setting = divmod(int(row), len(self._layers))
            task = replace(self._task(setting, cells), trial=self.trials[trial])
            yield Job(self.family.id, keys[row, cells], SimulationWork(task))

    def count(self, missing: np.ndarray) -> int:
        return int(missing.reshape(self.shape).any(axis=1).sum())

    def units(self, chosen: np.ndarray) -> int:
        return self.count(chosen)

    def check(self, workers: int) -> None:
        """Sizes at the smallest ratios, memory at the largest."""
        column = {name: self._layers[:, place] for place, name in enumerate(self.own)}
        every = np.arange(self.shape[1])
        for name in ("beta", "alpha0"):
            if name in column:
                some = np.where(column[name] > 0, column[name], np.inf)
                task = self._task(int(np.argmin(some)), every)
                check.check_sizes(task.model, self._inner[0].tolist(), task.d)
        library = make_backend(self.common.backend, self.common.device, self.common.dtype)
        check.check_memory([self._task(int(np.argmax(column["beta"])), every)], library, workers)

    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        variables = self._labelled(answers, self.dims, self.sizes, ("trial", *self.layer_dims))
        coords = {**self._letters(), "trial": self.trials}
        return self.grid.dataset(variables, provenance_of(self.common) | attrs, coords)

    def _task(self, setting: int, cells: np.ndarray) -> Task:
        *own, noise = self._layers[setting].tolist()
        model: Network | SpikedRF = replace(self.sweep.model, **dict(zip(self.own, own, strict=True)))
        target: Target = replace(self.sweep.target, noise=noise)
        n, lam = np.rint(self._inner[0][cells] * self.common.d).astype(int), self._inner[1][cells]
        points = tuple(zip(n.tolist(), lam.tolist(), strict=True))
        return replace(self.common, model=model, target=target, points=points)


@dataclass(frozen=True)
class SimulationWork:
    """One trial at one setting."""

    task: Task

    def compute(self) -> tuple[Answers, dict[str, str]]:
        answers = {}
        for name, values in attempt(self.task).items():
            if name in OF_THE_LAYER:
                answers[name] = np.broadcast_to(values, (len(self.task.points), *np.shape(values)))
            else:
                answers[name] = np.moveaxis(values, -1, 0)
        return answers, {}

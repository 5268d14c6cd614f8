"""Simulation by trials: one trial at one setting of the model is a job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import OF_THE_LAYER
from ..simulation import check
from ..simulation.backend import make_backend
from ..simulation.run import Plan, averaging, provenance_of
from ..simulation.schedule import attempt
from ..simulation.trial import Task
from .description import Sweep
from .job import Answers, Job
from .part import Family, Part, distinct, rounded

if TYPE_CHECKING:
    import xarray as xr


_OPTIONS = ("d", "seed", "n_test", "features", "backend", "device", "dtype")  # of a task, beside its grid


class SimulationPart(Part):
    """Trials: trial and setting of the model (settings) × sample sizes and penalties (points)."""

    unit = "trials at a setting"

    def __init__(self, sweep: Sweep):
        super().__init__(sweep)
        assert sweep.simulation is not None
        told = sweep.simulation
        self.trials = check.trial_numbers(told.trials)
        options = {name: getattr(told, name) for name in _OPTIONS}
        self.plan = Plan(Task(sweep.model, sweep.target, loss=sweep.loss, **options), sweep.alpha, sweep.lam)
        self.split = self.plan.split
        setting = {**self._words(), **{name: getattr(self.plan.common, name) for name in _OPTIONS}}
        self.family = Family("simulation", (*self.own, *sweep.target.numbers(), "trial", "n", "lam"), setting)

    @property
    def shape(self) -> tuple[int, int]:
        layers, readouts = self.split.counts
        return len(self.trials) * layers, readouts

    @cached_property
    def keys(self) -> np.ndarray:
        split, (layers, readouts) = self.split, self.split.counts
        own = rounded(
            np.stack([split.layers(name) for name in (*self.own, *self.sweep.target.numbers())], axis=1)
        )
        lead = np.concatenate(
            [np.tile(own, (len(self.trials), 1)), np.repeat(self.trials, layers)[:, None].astype(float)],
            axis=1,
        )
        n, lam = np.rint(split.settings("alpha") * self.plan.common.d), rounded(split.settings("lam"))
        each = np.stack([n, lam], axis=-1).reshape(layers * readouts, 2)
        return np.concatenate(
            [np.repeat(lead, readouts, axis=0), np.tile(each, (len(self.trials), 1))], axis=1
        )

    def jobs(self, missing: np.ndarray) -> Iterator[Job]:
        keys = self.keys.reshape(*self.shape, -1)
        for row in np.flatnonzero(missing.reshape(self.shape).any(axis=1)):
            cells = np.flatnonzero(missing.reshape(self.shape)[row])
            cells = cells[distinct(keys[row, cells])]  # several alphas may mean the same number of samples
            trial, setting = divmod(int(row), self.split.counts[0])
            task = replace(self.plan.task(setting, cells), trial=self.trials[trial])
            yield Job(self.family.id, keys[row, cells], SimulationWork(task))

    def count(self, missing: np.ndarray) -> int:
        return int(missing.reshape(self.shape).any(axis=1).sum())

    def units(self, chosen: np.ndarray) -> int:
        return self.count(chosen)

    def check(self, workers: int) -> None:
        """Sizes at the smallest ratios, memory at the largest."""
        alphas = self.split.settings("alpha").reshape(-1).tolist()
        for name in self.own:
            if name == "beta" or name.startswith("alpha0"):
                values = self.split.layers(name)
                task = self.plan.task(int(np.argmin(np.where(values > 0, values, np.inf))))
                check.check_sizes(task.model, task.target, alphas, task.d)
        common = self.plan.common
        library = make_backend(common.backend, common.device, common.dtype)
        check.check_memory([self.plan.task(int(np.argmax(self.split.layers("beta"))))], library, workers)

    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        attrs = provenance_of(self.plan.common) | averaging(answers) | attrs
        return self._label(answers, attrs, self.trials)


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
                answers[name] = values
        return answers, {}

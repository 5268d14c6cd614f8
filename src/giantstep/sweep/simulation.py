"""Simulation by trials: one trial at one setting of the model is a job."""

from __future__ import annotations

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
from .job import Answers
from .part import Family, Part, Portion, distinct, rounded

if TYPE_CHECKING:
    import xarray as xr


_OPTIONS = ("d", "seed", "n_test", "features", "backend", "device", "dtype")  # of a task, beside its grid


class SimulationPart(Part):
    """Trials: trial and setting of the model (settings) × sample sizes and penalties (points)."""

    unit = "trials at a setting"

    def __init__(self, sweep: Sweep):
        super().__init__(sweep)
        assert sweep.simulation is not None
        self.trials = check.trial_numbers(sweep.simulation.trials)
        options = {name: getattr(sweep.simulation, name) for name in _OPTIONS}
        self.plan = Plan(Task(sweep.model, sweep.target, loss=sweep.loss, **options), sweep.alpha, sweep.lam)
        self.split = self.plan.split
        setting = {**self._words(), **{name: getattr(self.plan.common, name) for name in _OPTIONS}}
        self.family = Family("simulation", (*self.own, *sweep.target.numbers(), "trial", "n", "lam"), setting)
        layers, readouts = self.split.counts
        self.shape = len(self.trials) * layers, readouts

    @cached_property
    def keys(self) -> np.ndarray:
        numbers = [rounded(self.split.settings(name)) for name in (*self.own, *self.sweep.target.numbers())]
        trials = np.reshape(self.trials, (-1, 1, 1)).astype(float)
        n, lam = (
            np.rint(self.split.settings("alpha") * self.plan.common.d),
            rounded(self.split.settings("lam")),
        )
        columns = np.broadcast_arrays(*numbers, trials, n, lam)  # each [trials, layers, readouts]
        return np.stack(columns, axis=-1).reshape(-1, len(columns))

    def portions(self, missing: np.ndarray) -> list[Portion]:
        """One trial at one setting each."""
        keys = self.keys.reshape(*self.shape, -1)
        portions = []
        for row in np.flatnonzero(missing.any(axis=1)):
            points = np.flatnonzero(missing[row])
            points = points[distinct(keys[row, points])]  # several alphas may mean the same number of samples
            portions.append((np.array([row]), points))
        return portions

    def work(self, settings: np.ndarray, points: np.ndarray) -> SimulationWork:
        trial, layer = divmod(int(settings[0]), self.split.counts[0])
        return SimulationWork(replace(self.plan.task(layer, points), trial=self.trials[trial]))

    def units(self, chosen: np.ndarray) -> int:
        return int(chosen.any(axis=1).sum())

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

"""Simulation by trials: one trial at one setting of the model is a job."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import asdict

from ..answers.dims import OF_THE_LAYER
from ..simulation import check
from ..simulation.run import Plan, averaging, provenance_of
from ..simulation.schedule import attempt
from ..simulation.trial import Task
from .description import Sweep
from .job import Answers, Work
from .part import Family, Part, rounded

if TYPE_CHECKING:
    import xarray as xr


class SimulationPart(Part):
    """Trials: trial and setting of the model (settings) × sample sizes and penalties (points)."""

    unit = "trials at a setting"

    def __init__(self, sweep: Sweep):
        super().__init__(sweep)
        assert sweep.simulation is not None
        options = asdict(sweep.simulation)
        self.trials = check.trial_numbers(options.pop("trials"))
        self.plan = Plan(Task(sweep.model, sweep.target, loss=sweep.loss, **options), sweep.alpha, sweep.lam)
        self.split = self.plan.split
        setting = {**self._words(), **{name: getattr(self.plan.common, name) for name in options}}
        self.family = Family("simulation", (*self.own, *sweep.target.numbers(), "trial", "n", "lam"), setting)
        layers, readouts = self.split.counts
        self.shape = len(self.trials) * layers, readouts
        self.block = 1, readouts  # one trial at one setting
        numbers = [rounded(self.split.settings(name)) for name in (*self.own, *sweep.target.numbers())]
        trials = np.reshape(self.trials, (-1, 1, 1)).astype(float)
        n, lam = (np.rint(self.split.settings("alpha") * self.plan.common.d), rounded(self.split.settings("lam")))
        columns = np.broadcast_arrays(*numbers, trials, n, lam)  # each [trials, layers, readouts]
        self.keys = np.stack(columns, axis=-1).reshape(-1, len(columns))

    def work(self, settings: np.ndarray, points: np.ndarray) -> Work:
        trial, layer = divmod(int(settings[0]), self.split.counts[0])
        return partial(simulated, replace(self.plan.task(layer, points), trial=self.trials[trial]))

    def units(self, chosen: np.ndarray) -> int:
        return int(chosen.any(axis=1).sum())

    def check(self, workers: int) -> None:
        """As `simulate` does for all of its settings."""
        self.plan.tasks(workers)

    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        attrs = provenance_of(self.plan.common) | averaging(answers) | attrs
        return self._label(answers, attrs, self.trials)


def simulated(task: Task) -> tuple[Answers, dict[str, str]]:
    """One trial at one setting; what belongs to the first layer is the same at all points."""
    answers = attempt(task)
    for name in answers.keys() & set(OF_THE_LAYER):
        answers[name] = np.broadcast_to(answers[name], (len(task.points), *answers[name].shape))
    return answers, {}

"""The verb: a description, ratios and a size in; a labelled Dataset of every statistic, trial by trial, out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..grid import Grid
from ..model import Network, SpikedRF, Target, as_target
from . import check
from .backend import make_backend
from .schedule import run_tasks
from .statistics import letter_axes
from .trial import Task

if TYPE_CHECKING:
    import xarray as xr

_SETTING = ("eta", "alpha0", "r", "gamma", "c", "beta", "noise")


def simulate(
    model: Network | SpikedRF,
    target: Target | str | Callable[[Any], Any],
    *,
    alpha: Any,
    lam: Any,
    loss: str = "square",
    d: int,
    trials: int | Sequence[int] = 10,
    seed: int = 0,
    features: str | None = None,
    device: str = "cpu",
    dtype: str = "float64",
    backend: str | None = None,
    workers: int = 1,
    executor: Any = None,
    progress: bool | None = None,
    n_test: int | None = None,
    method: str = "auto",
) -> xr.Dataset:
    """Train the real thing."""
    target = as_target(target)
    features = check.check_choices(model, features, loss, method)
    alpha, lam = check.check_readout_parameters(alpha, lam)
    d, numbers = check.check_count("d", d, 2), check.trial_numbers(trials)
    workers, seed = check.check_count("workers", workers, 1), check.check_count("seed", seed, 0)
    n_test = n_test if n_test is None else check.check_count("n_test", n_test, 1)
    library = make_backend(backend, device, dtype)

    plan = _Plan(model, target, alpha, lam)
    common = Task(model, target, d, 0, seed, (), n_test, features, loss, method, library.name, device, dtype)
    settings = [plan.task(index, common) for index in np.ndindex(*plan.shape)]
    check.check_memory(settings, library, workers)
    tasks = [replace(setting, trial=trial) for trial in numbers for setting in settings]
    results, interrupted = run_tasks(tasks, workers, executor, progress)
    done, answers = plan.collect(numbers, len(settings), results)
    attrs = {
        "command": "simulate",
        "giantstep_version": _version(),
        "model": _json(model),
        "target": _json(target),
        "features": features,
        "loss": loss,
        "d": d,
        "seed": seed,
        "n_test": n_test or "exact",
        "device": device,
        "dtype": dtype,
        "backend": library.name,
        "interrupted": int(interrupted),  # netCDF has no booleans
    }
    return plan.grid.dataset(answers, attrs, plan.coords | {"trial": done})


class _Plan:
    """How the grid splits into settings (a first layer each) and the readouts that are fitted on each."""

    def __init__(self, model: Network | SpikedRF, target: Target, alpha: Any, lam: Any):
        own = {f.name: getattr(model, f.name) for f in fields(model) if f.name in _SETTING}
        self.model, self.target = model, target
        self.names = [*own, "noise"]
        self.grid = Grid(own | {"noise": target.noise, "alpha": alpha, "lam": lam})
        self.setting_dims = self.grid.dims_of(self.names)
        self.point_dims = tuple(dim for dim in self.grid.dims if dim not in self.setting_dims)
        self.shape = tuple(self.grid.sizes[dim] for dim in self.setting_dims)
        self.point_shape = tuple(self.grid.sizes[dim] for dim in self.point_dims)
        letters = model.readout.values
        self.coords = {"letter": list(letters), "letter_": list(letters)} if len(letters) > 1 else {}

    def task(self, index: tuple[int, ...], common: Task) -> Task:
        """The task of one setting, for any trial."""
        values = {name: float(self.grid.over(name, self.setting_dims)[index]) for name in self.names}
        noise = values.pop("noise")
        model, target = replace(self.model, **values), replace(self.target, noise=noise)
        every = self.setting_dims + self.point_dims
        alphas, lams = (self.grid.over(name, every)[index].ravel().tolist() for name in ("alpha", "lam"))
        check.check_sizes(model, alphas, common.d)
        points = tuple((round(alpha * common.d), lam) for alpha, lam in zip(alphas, lams, strict=True))
        return replace(common, model=model, target=target, points=points)

    def collect(
        self, numbers: list[int], settings: int, results: dict[int, dict[str, np.ndarray]]
    ) -> tuple[list[int], dict[str, tuple[tuple[str, ...], np.ndarray]]]:
        """Trials of which every setting is done, and their answers with dimensions."""
        done = [
            position
            for position in range(len(numbers))
            if all(position * settings + index in results for index in range(settings))
        ]
        answers = {}
        for name in results[done[0] * settings]:
            stacked = np.stack(
                [
                    [results[position * settings + index][name] for index in range(settings)]
                    for position in done
                ]
            )
            answers[name] = self._labelled(name, stacked)
        return [numbers[position] for position in done], answers

    def _labelled(self, name: str, stacked: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        """Axes (trial, setting, letters, points) -> trial, setting dims, point dims, letter dims."""
        letters = ("letter", "letter_")[: letter_axes(name)] if self.coords else ()
        per_point = stacked.ndim > 2 + len(letters)
        if per_point and letters:
            stacked = np.moveaxis(stacked, -1, 2)
        sizes = (len(stacked), *self.shape, *(self.point_shape if per_point else ()))
        dims = ("trial", *self.setting_dims, *(self.point_dims if per_point else ()), *letters)
        return dims, stacked.reshape(*sizes, *stacked.shape[stacked.ndim - len(letters) :])


def _json(description: Network | SpikedRF | Target) -> str:
    """The description as JSON; a user's own callable has no such form and leaves its repr."""
    try:
        return json.dumps(description.to_dict())
    except ParameterError:
        return repr(description)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("giantstep")
    except PackageNotFoundError:
        return "unknown"

"""Theory in blocks: one call of `predict` for up to 2048 points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from ..answers.grid import Grid, LayerGrid
from ..answers.provenance import provenance
from .description import Sweep
from .job import Answers, Job
from .part import Family, Part, rounded

if TYPE_CHECKING:
    import xarray as xr

BLOCK = 2048  # points of theory per call: about a second of work, while one call's overhead stays far below


class TheoryPart(Part):
    """Predictions in blocks: first layers (settings) × readouts (points)."""

    unit = "points"

    def __init__(self, sweep: Sweep):
        super().__init__(sweep)
        assert sweep.theory is not None
        theory, numbers = sweep.theory, sweep.numbers()
        grid = Grid(numbers if theory.d is None else {**numbers, "d": theory.d})
        self.columns = (*numbers, "d")
        setting = {**self._words(), "bulk": theory.bulk, "tolerance": theory.tolerance}
        self.family = Family("theory", self.columns, setting)
        self.split = LayerGrid(grid, sweep.model.shaping)

    @property
    def shape(self) -> tuple[int, int]:
        return self.split.counts

    @cached_property
    def _values(self) -> np.ndarray:
        """The wanted points as they were given, [settings, points, columns]."""
        return np.stack([self.split.settings(name, np.inf) for name in self.columns], axis=-1)

    @cached_property
    def keys(self) -> np.ndarray:
        return rounded(self._values).reshape(-1, len(self.columns))

    def jobs(self, missing: np.ndarray) -> Iterator[Job]:
        keys = self.keys.reshape(*self.shape, -1)
        for rows, cells in self._rectangles(missing):
            values, chosen = self._values[np.ix_(rows, cells)], keys[np.ix_(rows, cells)]
            work = TheoryWork(self._problem, values)
            yield Job(self.family.id, chosen.reshape(-1, keys.shape[-1]), work)

    def count(self, missing: np.ndarray) -> int:
        return sum(1 for _ in self._rectangles(missing))

    def units(self, chosen: np.ndarray) -> int:
        return int(np.count_nonzero(chosen))

    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        sweep, coords, grid = self.sweep, self.axes.coords, self.split.grid
        bulk = attrs.get("bulk", str(sweep.theory.bulk))  # type: ignore[union-attr]
        said = provenance("predict", sweep.model, sweep.target, loss=sweep.loss, bulk=bulk)
        dataset = self._label(answers, said | attrs)
        return dataset.transpose(*grid.dims, *coords, ..., missing_dims="ignore")

    @cached_property
    def _problem(self) -> Sweep:
        """The sweep without its grids, which may be long: each block brings its own numbers."""
        sweep, point = self.sweep, dict(zip(self.columns, self._values[0, 0].tolist(), strict=True))
        return evolve(
            sweep,
            model=sweep.model.at(**{name: point[name] for name in self.own}),
            target=sweep.target.at(**{name: point[name] for name in sweep.target.numbers()}),
            alpha=point["alpha"],
            lam=point["lam"],
            theory=evolve(sweep.theory, d=None),  # type: ignore[type-var]
            simulation=None,
        )

    def _rectangles(self, missing: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Settings × points that are missing, block by block of the wanted grid."""
        settings, points = self.shape
        missing = missing.reshape(self.shape)
        width = min(points, BLOCK)
        height = max(1, BLOCK // width)
        for top in range(0, settings, height):
            for left in range(0, points, width):
                patterns = missing[top : top + height, left : left + width]
                if patterns.all():
                    yield np.arange(top, top + len(patterns)), np.arange(left, left + patterns.shape[1])
                elif patterns.any():  # rows that lack the same points go together
                    kinds, kind = np.unique(patterns, axis=0, return_inverse=True)
                    for index, pattern in enumerate(kinds):
                        if pattern.any():
                            yield top + np.flatnonzero(kind.ravel() == index), left + np.flatnonzero(pattern)


@dataclass(frozen=True)
class TheoryWork:
    """One call of `predict` on first layers × readouts, values [settings, points, columns]."""

    problem: Sweep
    values: np.ndarray

    def compute(self) -> tuple[Answers, dict[str, str]]:
        import xarray as xr

        from ..theory.predict import predict

        sweep, numbers = self.problem, {}
        assert sweep.theory is not None
        for column, name in enumerate((*sweep.numbers(), "d")):
            along = name in sweep.model.shaping
            values = self.values[:, 0, column] if along else self.values[0, :, column]
            numbers[name] = xr.DataArray(values, dims="setting" if along else "point")
        size = numbers.pop("d")
        dataset = predict(
            sweep.model.moved(**{name: numbers[name] for name in sweep.model.numbers()}),
            sweep.target.moved(**{name: numbers[name] for name in sweep.target.numbers()}),
            alpha=numbers["alpha"],
            lam=numbers["lam"],
            loss=sweep.loss,
            bulk=sweep.theory.bulk,
            d=None if np.isinf(size).all() else size,
            tolerance=sweep.theory.tolerance,
            throw=False,
        )
        answers = {}
        for name, found in dataset.data_vars.items():
            whole = found if "point" in found.dims else found.expand_dims(point=self.values.shape[1])
            whole = whole.transpose("setting", "point", ...).values
            answers[str(name)] = whole.reshape(-1, *whole.shape[2:])
        return answers, {"bulk": dataset.attrs["bulk"]}

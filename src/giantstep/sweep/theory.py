"""Theory in blocks: one call of `predict` for up to 2048 points."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.grid import Grid, LayerGrid
from ..answers.provenance import provenance
from .description import Sweep
from .job import Answers, Work
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
        setting = {**self._words(), "bulk": theory.bulk, "tolerance": theory.tolerance}
        self.family = Family("theory", (*numbers, "d"), setting)
        self.split = LayerGrid(grid, sweep.model.shaping)
        self.shape = self.split.counts
        width = min(self.shape[1], BLOCK)
        self.block = max(1, BLOCK // width), width
        # the wanted points as they were given, [settings, points, columns]
        self._values = np.stack([self.split.settings(name, np.inf) for name in self.family.columns], axis=-1)
        self.keys = rounded(self._values).reshape(-1, len(self.family.columns))

    def work(self, settings: np.ndarray, points: np.ndarray) -> Work:
        import xarray as xr

        sweep, values = self.sweep, self._values[np.ix_(settings, points)]
        assert sweep.theory is not None
        numbers = {
            name: xr.DataArray(values[:, 0, column], dims="setting")
            if name in sweep.model.shaping
            else xr.DataArray(values[0, :, column], dims="point")
            for column, name in enumerate(self.family.columns)
        }
        return partial(
            predicted,
            sweep.model.moved(**{name: numbers[name] for name in self.own}),
            sweep.target.moved(**{name: numbers[name] for name in sweep.target.numbers()}),
            alpha=numbers["alpha"],
            lam=numbers["lam"],
            loss=sweep.loss,
            bulk=sweep.theory.bulk,
            d=None if np.isinf(numbers["d"]).all() else numbers["d"],
            tolerance=sweep.theory.tolerance,
        )

    def units(self, chosen: np.ndarray) -> int:
        return int(np.count_nonzero(chosen))

    def dataset(self, answers: Answers, attrs: dict[str, Any]) -> xr.Dataset:
        sweep = self.sweep
        bulk = attrs.get("bulk", str(sweep.theory.bulk))  # type: ignore[union-attr]
        said = provenance("predict", sweep.model, sweep.target, loss=sweep.loss, bulk=bulk)
        dims = (*self.split.grid.dims, *self.axes.coords, ...)
        return self._label(answers, said | attrs).transpose(*dims, missing_dims="ignore")


def predicted(*described: Any, **arguments: Any) -> tuple[Answers, dict[str, str]]:
    """One call of `predict`, with arguments along the dimensions setting (first layers) and point (readouts)."""
    from ..theory.predict import predict

    dataset = predict(*described, **arguments, throw=False)
    answers = {}
    for name, values in dataset.data_vars.items():
        whole = values if "point" in values.dims else values.expand_dims(point=arguments["alpha"].size)
        whole = whole.transpose("setting", "point", ...).values
        answers[str(name)] = whole.reshape(-1, *whole.shape[2:])
    return answers, {"bulk": dataset.attrs["bulk"]}

"""From a description on a grid to the engine's arrays: first layers along the dimensions that shape them,
readout settings along the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..groups import Merging, merge
from ..losses import Loss, square
from ..model import Target
from ..split import Split
from .labels import labels_of
from .origin import Origin, origin
from .problem import Problem
from .rows import Rows, rows_law

if TYPE_CHECKING:
    from ..grid import Grid
    from ..model import Model


class Posed(NamedTuple):
    """A problem, and what it takes to label its answers."""

    problem: Problem
    merging: Merging
    split: Split

    @property
    def origin(self) -> Origin:
        return self.problem.origin

    @property
    def bulk(self) -> str:
        """The name of the rows' law."""
        return self.problem.rows.name


def model_grid(model: Model, target: Target, **more: object) -> Grid:
    """The grid of a model's own parameters, the target's noise, and `more`."""
    return Split.grid_of(model, target, **more)


def pose(
    model: Model, target: Target, grid: Grid, bulk: str | Rows | None = None, loss: Loss = square
) -> Posed:
    """The problem on a grid, with the named law of rows or the best one that the model has."""
    merging = merge(model.readout, odd=model.activation.parity == "odd")
    split = Split(grid, model.shaping)
    values = {name: split.layers(name) for name in model.shaping}
    made = origin(model, target, merging, values)
    rows = rows_law(bulk, made)
    rows.check(made, model)

    def setting(name: str, default: float = 0.0) -> np.ndarray:
        return split.settings(name, default)

    problem = Problem(
        origin=made,
        rows=rows,
        labels=labels_of(target),
        alpha=setting("alpha"),
        beta=setting("beta"),
        lam=setting("lam"),
        noise=setting("noise"),
        d=setting("d", np.inf),
        loss=loss,
        directions=model.spike_directions,
    )
    return Posed(problem, merging, split)

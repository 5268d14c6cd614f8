"""The split of a grid into first layers and the readouts on each of them, for theory and simulation alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotCovered
from .arrays import NamedArrays
from .dims import OF_THE_LAYER, Dimensions
from .grid import Grid

if TYPE_CHECKING:
    from ..model.description import Model
    from ..model.target import Target


class LayerGrid:
    """First layers along the dimensions of what shapes them, readout settings along all others."""

    def __init__(self, grid: Grid, shaping: Iterable[str]):
        self.grid = grid
        self.layer_dims = grid.dims_of(shaping)
        self.readout_dims = tuple(dim for dim in grid.dims if dim not in self.layer_dims)

    @staticmethod
    def grid_of(model: Model, target: Target, **more: object) -> Grid:
        """The grid of a model's own parameters, those of the target, and `more`."""
        if target.inputs is not None and not model.takes_steps:
            raise NotCovered(
                f"a {type(model).__name__} states its spike without a place among the eigenvalues of the inputs; use a"
                " Network, or a target without inputs=",
                "inputs",
            )
        return Grid(model.numbers() | target.numbers() | more)

    @property
    def dims(self) -> tuple[str, ...]:
        """All dimensions, those of first layers first."""
        return self.layer_dims + self.readout_dims

    @property
    def layer_shape(self) -> tuple[int, ...]:
        return tuple(self.grid.sizes[dim] for dim in self.layer_dims)

    @property
    def readout_shape(self) -> tuple[int, ...]:
        return tuple(self.grid.sizes[dim] for dim in self.readout_dims)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layer_shape + self.readout_shape

    @property
    def counts(self) -> tuple[int, int]:
        """How many first layers, and how many readouts on each."""
        return prod(self.layer_shape), prod(self.readout_shape)

    def layers(self, name: str) -> np.ndarray:
        """A parameter of the first layers, [U]."""
        return self.grid.over(name, self.layer_dims).reshape(-1)

    def settings(self, name: str, default: float = 0.0) -> np.ndarray:
        """A parameter on all points, [U, A]; `default` where the grid does not have it."""
        if name not in self.grid:
            return np.full(self.counts, default)
        return self.grid.over(name, self.dims).reshape(self.counts)

    def label(
        self,
        answers: Mapping[str, np.ndarray],
        axes: Dimensions,
        attrs: Mapping[str, Any],
        trials: Sequence[int] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> NamedArrays:
        """Answers as named arrays, with the parameters of the grid as coordinates.

        An answer is [U, A, ...], one of the first layer alone [U, ...], behind the trials if there are any; these axes
        may come flat. `axes` says what dimensions follow; further `coords` are as in `Grid.answer`.
        """
        leading = {} if trials is None else {"trial": len(trials)}
        variables = {}
        for name, values in answers.items():
            dims = self.layer_dims if name in OF_THE_LAYER else self.dims
            sizes = (*leading.values(), *(self.grid.sizes[dim] for dim in dims))
            variables[name] = ((*leading, *dims, *axes.of(name)), axes.shaped(name, values, *sizes))
        numbers = {} if trials is None else {"trial": trials}
        return self.grid.answer(variables, attrs, axes.coords | numbers | dict(coords or {}))

"""Grids by named dimensions: from parameters that are numbers or arrays to labelled answers.

A number opens no dimension; a 1-D array opens the dimension of its own name; a DataArray brings its own
dimensions, so that two that share one are zipped rather than crossed. A `LayerGrid` divides a grid into first layers
and the readouts on each of them, for theory and simulation alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotCovered, ParameterError
from .arrays import NamedArray, NamedArrays
from .dims import OF_THE_LAYER, Dimensions
from .quantities import QUANTITIES, describe

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import Model
    from ..model.target import Target

_RESERVED = {name for name, row in QUANTITIES.items() if row.kind not in ("insight", "coordinate")} | {"trial", "part"}
Variables = Mapping[str, tuple[tuple[str, ...], Any]]  # by name: dimensions and values


class Grid:
    """The product of all dimensions that a set of parameters opens."""

    def __init__(self, parameters: Mapping[str, Any]):
        self.sizes: dict[str, int] = {}
        self._arrays: dict[str, NamedArray] = {}
        self._labels: dict[str, NamedArray] = {}  # that DataArrays bring for their dimensions
        for name, value in parameters.items():
            labelled = type(value).__name__ == "DataArray"
            array = np.asarray(value, dtype=float)
            dims = tuple(map(str, value.dims)) if labelled else ((name,) if array.ndim else ())
            for dim, size in zip(dims, array.shape, strict=True):
                if self.sizes.setdefault(dim, size) != size:
                    other = next(known for known, one in self._arrays.items() if dim in one.dims)
                    raise ParameterError(
                        f"{name} has {size} values along dimension {dim!r}, and {other} has {self.sizes[dim]}", name
                    )
                if dim != name and (dim in _RESERVED or not _varies_along(parameters.get(dim), dim)):
                    raise ParameterError(
                        f"{name} has the dimension {dim!r}, which answers have already; rename it", name
                    )
            if labelled:
                self._labels |= {d: _described(d, (d,), value.coords[d]) for d in dims if d in value.coords}
            self._arrays[name] = _described(name, dims, array)
        self.dims, self.shape = tuple(self.sizes), tuple(self.sizes.values())

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def check_single(self, why: str) -> None:
        """Refuse lists, in a sentence that names one and goes on with `why`."""
        if self.sizes:
            name, size = next((name, one.values.size) for name, one in self._arrays.items() if one.dims)
            raise ParameterError(
                f"{name} has {size} value{'s' if size > 1 else ''} in a list, and {why}; give a single number", name
            )

    def dims_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The dimensions along which any of these parameters varies, in the grid's order."""
        varying = {dim for name in names if name in self for dim in self._arrays[name].dims}
        return tuple(dim for dim in self.sizes if dim in varying)

    def over(self, name: str, dims: tuple[str, ...]) -> np.ndarray:
        """Values of one parameter on the sub-grid of `dims` (which must include its own dimensions)."""
        return self._arrays[name].over({dim: self.sizes[dim] for dim in dims})

    def labelled(self, values: np.ndarray) -> Any:
        """Values on the whole grid, flattened, as a DataArray; a plain number if the grid is a single point."""
        if not self.sizes:
            return float(values.reshape(()))
        import xarray as xr

        known = self._labels | self._arrays
        coords = {dim: (dim, known[dim].values) for dim in self.sizes if dim in known and known[dim].dims == (dim,)}
        return xr.DataArray(values.reshape(self.shape), dims=self.dims, coords=coords)

    def answer(
        self, variables: Variables, attrs: Mapping[str, Any], coords: Mapping[str, Any] | None = None
    ) -> NamedArrays:
        """Inputs as coordinates, answers as variables, each with its symbol and long name.

        More `coords` are values along the dimension of their own name, or (dims, values).
        """
        data_vars = {name: _described(name, *one) for name, one in variables.items()}
        more = {
            name: _described(name, *(one if isinstance(one, tuple) else ((name,), one)))
            for name, one in (coords or {}).items()
        }
        return NamedArrays(data_vars, self._labels | self._arrays | more, attrs)

    def dataset(
        self, variables: Variables, attrs: Mapping[str, Any], coords: Mapping[str, Any] | None = None
    ) -> xr.Dataset:
        """The same as a Dataset."""
        return self.answer(variables, attrs, coords).dataset()


class LayerGrid:
    """A grid of first layers, along the dimensions of what shapes them, and readouts on each, along all others."""

    def __init__(self, grid: Grid, shaping: Iterable[str]):
        self.grid = grid
        self.layer_dims = grid.dims_of(shaping)
        self.dims = self.layer_dims + tuple(dim for dim in grid.dims if dim not in self.layer_dims)
        self.shape = tuple(grid.sizes[dim] for dim in self.dims)
        self.layer_shape = self.shape[: len(self.layer_dims)]
        # how many first layers, and how many readouts on each
        self.counts = prod(self.layer_shape), prod(self.shape[len(self.layer_dims) :])

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


def _varies_along(parameter: Any, dim: str) -> bool:
    """Whether a dimension with a parameter's name is that parameter's own: of another an answer would have two."""
    return parameter is None or tuple(getattr(parameter, "dims", (dim,) * np.ndim(parameter))) == (dim,)


def _described(name: str, dims: tuple[str, ...], values: Any) -> NamedArray:
    return NamedArray(dims, np.asarray(values), describe(name))

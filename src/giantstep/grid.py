"""Grids by named dimensions: from parameters that are numbers or arrays to one labelled Dataset of answers.

A number opens no dimension; a 1-D array opens the dimension of its own name; a DataArray brings its own
dimensions, so that two that share one are zipped rather than crossed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ParameterError
from .quantities import describe

if TYPE_CHECKING:
    import xarray as xr


class Grid:
    """The product of all dimensions that a set of parameters opens."""

    def __init__(self, parameters: Mapping[str, Any]):
        self.sizes: dict[str, int] = {}
        self._dims: dict[str, tuple[str, ...]] = {}
        self._values: dict[str, np.ndarray] = {}
        self._coords: dict[str, Any] = {}
        for name, value in parameters.items():
            labelled = type(value).__name__ == "DataArray"
            array = np.asarray(value, dtype=float)
            dims = tuple(map(str, value.dims)) if labelled else ((name,) if array.ndim else ())
            for dim, size in zip(dims, array.shape, strict=True):
                if self.sizes.setdefault(dim, size) != size:
                    raise ParameterError(
                        f"{name} has {size} values along dimension {dim!r}, another parameter has {self.sizes[dim]}"
                    )
            if labelled:
                self._coords |= {str(d): value.coords[d].values for d in value.dims if d in value.coords}
            self._dims[name], self._values[name] = dims, array

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes.values())

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def dims_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The dimensions along which any of these parameters varies, in the grid's order."""
        varying = {dim for name in names if name in self._dims for dim in self._dims[name]}
        return tuple(dim for dim in self.sizes if dim in varying)

    def over(self, name: str, dims: tuple[str, ...]) -> np.ndarray:
        """Values of one parameter on the sub-grid of `dims` (which must include its own dimensions)."""
        own = self._dims[name]
        if missing := set(own) - set(dims):
            raise ValueError(f"{name} varies along {missing}, outside {dims}")
        order = [own.index(dim) for dim in dims if dim in own]
        sizes = [self.sizes[dim] if dim in own else 1 for dim in dims]
        expanded = self._values[name].transpose(order).reshape(sizes)
        return np.broadcast_to(expanded, [self.sizes[dim] for dim in dims])

    def labelled(self, values: np.ndarray) -> Any:
        """Values on the whole grid, flattened, as a DataArray; a plain number if the grid is a single point."""
        if not self.sizes:
            return float(values.reshape(()))
        import xarray as xr

        coords = {dim: (dim, self._values[dim]) for dim in self.sizes if self._dims.get(dim) == (dim,)}
        return xr.DataArray(values.reshape(self.shape), dims=self.dims, coords={**self._coords, **coords})

    def dataset(
        self,
        variables: Mapping[str, tuple[tuple[str, ...], np.ndarray]],
        attrs: Mapping[str, Any],
        coords: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Inputs as coordinates, answers as variables (dims, values), each with its symbol and long name."""
        import xarray as xr

        def variable(name: str, dims: tuple[str, ...], values: np.ndarray) -> xr.Variable:
            """Taken as it is: xarray looks for dates among sentences otherwise, for longer than all the rest takes."""
            return xr.Variable(dims, values, describe(name), fastpath=True)

        inputs = {name: variable(name, self._dims[name], values) for name, values in self._values.items()}
        others = {**self._coords, **(coords or {})}
        dataset = xr.Dataset(
            {name: variable(name, dims, values) for name, (dims, values) in variables.items()},
            coords=xr.Coordinates({**self._coords, **inputs, **(coords or {})}),  # has all indexes already
            attrs=dict(attrs),
        )
        for name in others:
            dataset.coords[name].attrs.update(describe(str(name)))
        return dataset

"""Grids by named dimensions: from parameters that are numbers or arrays to labelled answers.

A number opens no dimension; a 1-D array opens the dimension of its own name; a DataArray brings its own
dimensions, so that two that share one are zipped rather than crossed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from .arrays import NamedArray, NamedArrays
from .quantities import QUANTITIES, describe

if TYPE_CHECKING:
    import xarray as xr

_RESERVED = {name for name, row in QUANTITIES.items() if row.kind not in ("insight", "coordinate")} | {
    "trial",
    "part",
}
Variables = Mapping[str, tuple[tuple[str, ...], Any]]  # by name: dimensions and values


class Grid:
    """The product of all dimensions that a set of parameters opens."""

    def __init__(self, parameters: Mapping[str, Any]):
        self.sizes: dict[str, int] = {}
        self._dims: dict[str, tuple[str, ...]] = {}
        self._values: dict[str, np.ndarray] = {}
        self._coords: dict[str, tuple[tuple[str, ...], Any]] = {}
        for name, value in parameters.items():
            labelled = type(value).__name__ == "DataArray"
            array = np.asarray(value, dtype=float)
            dims = tuple(map(str, value.dims)) if labelled else ((name,) if array.ndim else ())
            for dim, size in zip(dims, array.shape, strict=True):
                if self.sizes.setdefault(dim, size) != size:
                    other = next(known for known, dims in self._dims.items() if dim in dims)
                    raise ParameterError(
                        f"{name} has {size} values along dimension {dim!r}, and {other} has {self.sizes[dim]}",
                        name,
                    )
                if dim != name and (dim in _RESERVED or parameters.get(dim) is not None):
                    _check_dimension(name, dim, parameters.get(dim))
            if labelled:
                self._coords |= {d: ((d,), value.coords[d].values) for d in dims if d in value.coords}
            self._dims[name], self._values[name] = dims, array

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes.values())

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def check_single(self, why: str) -> None:
        """Refuse lists, in a sentence that names one and goes on with `why`."""
        if self.sizes:
            name, size = next((name, values.size) for name, values in self._values.items() if values.ndim)
            raise ParameterError(
                f"{name} has {size} value{'s' if size > 1 else ''} in a list, and {why}; give a single number",
                name,
            )

    def dims_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The dimensions along which any of these parameters varies, in the grid's order."""
        varying = {dim for name in names if name in self._dims for dim in self._dims[name]}
        return tuple(dim for dim in self.sizes if dim in varying)

    def over(self, name: str, dims: tuple[str, ...]) -> np.ndarray:
        """Values of one parameter on the sub-grid of `dims` (which must include its own dimensions)."""
        own = self._dims[name]
        if missing := set(own) - set(dims):
            raise ValueError(f"{name} varies along {missing}, outside {dims}")
        return NamedArray(own, self._values[name]).over({dim: self.sizes[dim] for dim in dims})

    def labelled(self, values: np.ndarray) -> Any:
        """Values on the whole grid, flattened, as a DataArray; a plain number if the grid is a single point."""
        if not self.sizes:
            return float(values.reshape(()))
        import xarray as xr

        coords = {dim: (dim, self._values[dim]) for dim in self.sizes if self._dims.get(dim) == (dim,)}
        return xr.DataArray(values.reshape(self.shape), dims=self.dims, coords={**self._coords, **coords})

    def answer(
        self, variables: Variables, attrs: Mapping[str, Any], coords: Mapping[str, Any] | None = None
    ) -> NamedArrays:
        """Inputs as coordinates, answers as variables, each with its symbol and long name.

        More `coords` are values along the dimension of their own name, or (dims, values).
        """
        inputs = {name: (self._dims[name], values) for name, values in self._values.items()}
        more = {
            name: given if isinstance(given, tuple) else ((name,), given)
            for name, given in (coords or {}).items()
        }
        return NamedArrays(_described(variables), _described({**self._coords, **inputs, **more}), attrs)

    def dataset(
        self, variables: Variables, attrs: Mapping[str, Any], coords: Mapping[str, Any] | None = None
    ) -> xr.Dataset:
        """The same as a Dataset."""
        return self.answer(variables, attrs, coords).dataset()


def _check_dimension(name: str, dim: str, parameter: Any) -> None:
    """Refuse a dimension that an answer would have twice; that of another parameter which varies along it is fine."""
    if dim in _RESERVED or tuple(getattr(parameter, "dims", (dim,) * np.ndim(parameter))) != (dim,):
        raise ParameterError(f"{name} has the dimension {dim!r}, which answers have already; rename it", name)


def _described(variables: Variables) -> dict[str, NamedArray]:
    return {
        name: NamedArray(dims, np.asarray(values), describe(name))
        for name, (dims, values) in variables.items()
    }

"""The dimensions that an answer has beside the grid: groups of neurons, steps, spikes, directions of the target.

The table of quantities has them, for theory, simulation and sweeps. A dimension appears only where there are
several of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import NamedArray
from .quantities import QUANTITIES, names

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import Model

OF_THE_LAYER = names("first layer")
"""Answers that depend on the first layer alone, not on the readout's alpha and lam."""


COUNTED = ("step", "steps", "direction", "spike")
"""Dimensions of whole numbers, which name things rather than measure them."""


def place_name(dim: str, place: float, alone: bool = False) -> str:
    """A place along a counted dimension in words, as in `step 2`. Directions of a target have the names that they have
    in its expression: x1, x2, ..., or x for one that is alone."""
    if dim == "direction":
        return "x" if alone else f"x{place:g}"
    return f"{dim} {place:g}"


def after_last_step(array: NamedArray | xr.DataArray) -> NamedArray:
    """A quantity after the last step that each setting takes: NaN beyond it only fills the dimension `step`."""
    dims, values = tuple(map(str, array.dims)), array.values
    if "step" not in dims:
        return NamedArray(dims, values)
    axis = dims.index("step")
    taken = (~np.isnan(values)).cumsum(axis).argmax(axis)  # where the count reaches its largest value first
    last = np.take_along_axis(values, np.expand_dims(taken, axis), axis).squeeze(axis)
    return NamedArray(dims[:axis] + dims[axis + 1 :], last)


class Dimensions:
    """The dimensions of a model's answers beside the grid, from the table of quantities."""

    def __init__(self, model: Model, directions: int = 1):
        letters, steps = model.readout, model.most_steps
        groups = 1 if letters.single else len(letters.values)
        self.several, self._group = groups > 1, model.group
        self._sizes = {
            "step": steps,
            "letter": groups,
            "letter_": groups,
            "spike": model.spike_directions,
            "direction": directions,
            "x": -1,  # as many as there are
        }
        # after one step all letters have one alignment and, if they have no biases, r in proportion to the letter
        self._alike = () if steps > 1 else ("gamma",) if letters.biases is not None else ("r", "gamma")
        # numbers of the user's along some of them
        self.coords: dict[str, list[float]] = {
            dim: list(letters.values) for dim in ("letter", "letter_") if self.several and model.group == "letter"
        }
        for dim, size in (("step", steps), ("direction", directions)):
            if size > 1:
                self.coords[dim] = list(range(1, size + 1))

    def _of(self, name: str) -> list[str]:
        dims = QUANTITIES[name].dims if name in QUANTITIES else ()
        common = "letter" if name in self._alike else ""
        return [dim for dim in dims if self._sizes[dim] not in (0, 1) and dim != common]

    def of(self, name: str) -> tuple[str, ...]:
        """The dimensions of one answer, in order."""
        return tuple(dim.replace("letter", self._group) for dim in self._of(name))

    def shaped(self, name: str, values: np.ndarray, *sizes: int) -> np.ndarray:
        """Values of an answer with its own dimensions behind axes of these `sizes`."""
        return values.reshape((*sizes, *(self._sizes[dim] for dim in self._of(name))))

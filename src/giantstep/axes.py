"""Which dimensions an answer has beyond those of the grid: groups of neurons, steps, spikes, directions of the target.

One table for theory, simulation and sweeps. A dimension appears only where there are several of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import NamedArray

if TYPE_CHECKING:
    import xarray as xr

    from .model import Model

OF_THE_LAYER = ("c", "r", "gamma", "overlap", "network_error", "test_samples")
"""Answers that depend on the first layer alone, not on the readout's alpha and lam."""


COUNTED = ("step", "steps", "direction", "spike")
"""Dimensions of whole numbers, which name things rather than measure them."""


def spoken(dim: str, place: float, alone: bool = False) -> str:
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


class Axes:
    """Those of a model's answers on a target of so many directions."""

    def __init__(self, model: Model, directions: int = 1):
        group, letters = model.group, model.readout
        several = not letters.single
        one = (group,) if several else ()
        pair = (group, f"{group}_") if several else ()
        step = ("step",) if model.most_steps > 1 else ()
        apart = one if step or letters.biases is not None else ()
        along = ("direction",) if directions > 1 else ()
        self.several = several
        self._inner = {
            "c": step + one,
            "r": step + apart,
            "gamma": step + (one if step else ()) + along,
            "overlap": one + along,
            "network_error": step,
            "zeta": one + (("spike",) if model.spike_directions > 1 else ()),
            "psi": one + along,
            "learned": ("x",),
        }
        self._inner |= dict.fromkeys(("m", "q2", "V2", "chi", "nu"), one) | dict.fromkeys(("q1", "V1"), pair)
        # numbers of the user's along some of them
        values = list(letters.values)
        self.coords: dict[str, list] = (
            {"letter": values, "letter_": values} if pair and group == "letter" else {}
        )
        if step:
            self.coords["step"] = list(range(1, model.most_steps + 1))
        if along:
            self.coords["direction"] = list(range(1, directions + 1))

    def of(self, name: str) -> tuple[str, ...]:
        """The dimensions of one answer, in order."""
        return self._inner.get(name, ())

"""A smooth line of the theory through a few points: `plot` predicts again between them, where the line bends."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from ..answers.dims import COUNTED
from ..errors import GiantstepError, GiantstepWarning
from ..model.description import Model
from ..model.target import Target
from ..theory.predict import predict
from .style import log_spaced, spans_decades

if TYPE_CHECKING:
    import xarray as xr

FEW = 15  # points up to which straight lines between them would show corners
_FIRST, _FINEST = (
    16,
    512,
)  # intervals to begin with, and how many of the finest make the whole: about a pixel each
_VISIBLE = 0.004  # of the picture's height: half of a line's width, which it may be off between its nodes
_SAFETY = 4.0  # nodes around an interval may show a quarter of what bends within it
_SECONDS = 0.5  # that a round may take: then it is the last
_SAME = 1e-6  # relative difference from the points, above which the line would be another theory's


def smooth_theory(dataset: xr.Dataset, names: list[str], x: str) -> xr.Dataset | None:
    """Predictions on many values of x, from the description that a prediction or a comparison keeps.

    None where the points are many already, where x is counted (steps), or where the description is not enough, as for
    Python functions of the user.
    """
    known = dataset.sel(part="theory", drop=True) if "part" in dataset.dims else dataset
    known = known[names]
    if x in COUNTED or x not in known.coords or not 2 <= known.sizes.get(x, 0) <= FEW:
        return None
    if any(known[name].isnull().any() for name in names) or not np.isfinite(known[x]).all():
        return None
    try:
        return refine(_question(dataset, x), known, x)
    except (GiantstepError, KeyError, ValueError, TypeError):
        return None


def _question(dataset: xr.Dataset, x: str) -> Callable[[np.ndarray], xr.Dataset]:
    """The call of `predict` that gave this dataset, as a function of x."""
    import xarray as xr

    said = dataset.attrs
    model, target = Model.from_dict(json.loads(said["model"])), Target.from_dict(json.loads(said["target"]))
    readout = {name: dataset[name].values for name in ("alpha", "lam", "d") if name in dataset.coords}
    if "theory_d" in said:
        readout["d"] = said["theory_d"]

    def ask(values: np.ndarray, bulk: str) -> xr.Dataset:
        more = {"loss": said["loss"], "bulk": bulk, "throw": False}
        if x in readout:
            return predict(model, target, **{**readout, x: values}, **more)
        if x == "noise":
            return predict(model, evolve(target, noise=values), **readout, **more)
        return predict(evolve(model, **{x: values}), target, **readout, **more)

    if "bulk" not in dataset.dims:
        return lambda values: ask(values, said["bulk"])
    bulks = dataset["bulk"]
    return lambda values: xr.concat([ask(values, str(bulk)) for bulk in bulks.values], bulks)


def refine(ask: Callable[[np.ndarray], xr.Dataset], known: xr.Dataset, x: str) -> xr.Dataset | None:
    """The known points and more along x: intervals are halved where the chord is visibly off the curve, by h²/8 times
    its second derivative, as nodes show it. None where the theory has other values now than at the first point."""
    import xarray as xr

    line = known.reset_coords(drop=True).sortby(x)
    given = line[x].values
    decades, quick = log_spaced(given), True
    space = np.geomspace if decades else np.linspace
    new = np.setdiff1d(space(given[0], given[-1], _FIRST + 1), given)
    finest = np.ptp(_scaled(given, decades)) / _FINEST
    others = {dim: known[dim] for dim in known.dims if dim not in (x, "bulk") and dim in known.coords}
    asked = np.append(given[:1], new)
    while new.size and quick:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)  # the points have given theirs
            more = ask(asked)[list(known)].sel(others, method="nearest").reset_coords(drop=True)
        more = more.transpose(*line.dims)
        if len(asked) > len(new):
            first, more = more.isel({x: 0}), more.isel({x: slice(1, None)})
            if not all(np.allclose(first[name], line[name].isel({x: 0}), rtol=_SAME) for name in known):
                return None
        line = xr.concat([line, more], x).sortby(x)
        solved = all(values.notnull().all() for values in more.values())
        quick = solved and time.perf_counter() - started < _SECONDS
        at = _scaled(line[x].values, decades)
        curves = [values.transpose(x, ...).values.reshape(len(at), -1) for values in line.values()]
        off = np.max(
            [_off_the_chord(at, _scaled(each, decades and spans_decades(each))) for each in curves], axis=0
        )
        middle = 0.5 * (at[1:] + at[:-1])[(_SAFETY * off > _VISIBLE) & (np.diff(at) > 1.01 * finest)]
        asked = new = np.exp(middle) if decades else middle
    return line.assign_coords({name: label for name, label in known.coords.items() if x not in label.dims})


def _scaled(values: np.ndarray, decades: bool) -> np.ndarray:
    """Values as the picture's axis shows them."""
    return np.log(values) if decades else values


def _off_the_chord(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far, over the height of the picture, curves [n, curves] leave the chord of each interval; [n - 1]."""
    step = np.diff(x)
    with np.errstate(invalid="ignore"):
        slopes = np.diff(values, axis=0) / step[:, None]
        bend = np.abs(np.diff(slopes, axis=0) / (0.5 * (step[1:] + step[:-1]))[:, None])
        height = np.ptp(values[np.isfinite(values)]) if np.isfinite(values).any() else 0.0
    bend = np.nan_to_num(bend, nan=np.inf).max(axis=1)  # beside a gap, all is unknown
    larger = np.maximum(np.append(bend, 0.0), np.append(0.0, bend))
    return step**2 / 8.0 * larger / (height or 1.0)

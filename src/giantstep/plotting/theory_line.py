"""A smooth line of the theory through a few points: `plot` predicts again between them."""

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
from .style import log_spaced

if TYPE_CHECKING:
    import xarray as xr

FEW = 15  # points up to which straight lines between them would show corners
_FIRST, _MOST = 16, 512  # intervals to begin with, and at most: a pixel or two each
_VISIBLE = 0.004  # of the picture's height: half of a line's width, which chords may be off
_SECONDS = 0.5  # that a round may take
_SAME = 1e-6  # relative difference from the points, above which the line would be another theory's


def smooth_theory(dataset: xr.Dataset, names: list[str], x: str) -> xr.Dataset | None:
    """Predictions on many values of x, from the description that a prediction or a comparison keeps.

    None where the points are many already, where x is counted (steps), or where the description is not enough, as for
    Python functions of the user.
    """
    points = dataset.sel(part="theory", drop=True) if "part" in dataset.dims else dataset
    points = points[names]
    if dataset.attrs.get("command") not in ("predict", "compare") or x in COUNTED or x not in points.coords:
        return None
    unknown = any(values.isnull().any() for values in points.values()) or not np.isfinite(points[x]).all()
    if unknown or not 2 <= points.sizes.get(x, 0) <= FEW:
        return None
    try:
        return refine(_question(dataset, x), points, x)
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
    return lambda values: xr.concat(
        [ask(values, str(bulk)) for bulk in dataset["bulk"].values], dataset["bulk"]
    )


def refine(ask: Callable[[np.ndarray], xr.Dataset], points: xr.Dataset, x: str) -> xr.Dataset | None:
    """The theory at the points and at more places along x, even on the scale of the picture: twice as many intervals in
    each round, until the chords are near the curve, or a round takes long. None where the theory has other values now
    than at the points."""
    known = points.reset_coords(drop=True).sortby(x)
    at = known[x].values
    logarithmic = log_spaced(at)
    space, scale = (np.geomspace, np.log) if logarithmic else (np.linspace, np.asarray)
    intervals, seconds, off, line = _FIRST, 0.0, np.inf, known
    while intervals <= _MOST and 2.0 * seconds < _SECONDS and not off < _VISIBLE:
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)  # the points have given theirs
            line = ask(np.union1d(at, space(at[0], at[-1], intervals + 1)[1:-1]))[list(points)]
        chosen = {dim: points[dim] for dim in line.dims if dim in points.coords and dim not in (x, "bulk")}
        line = line.sel(chosen, method="nearest").reset_coords(drop=True)
        if not all(
            np.allclose(line[name].sel({x: at}).transpose(*known[name].dims), known[name], rtol=_SAME)
            for name in points
        ):
            return None
        values = line.to_array().transpose(x, ...).values.reshape(line.sizes[x], -1)
        off = _off_the_chords(scale(line[x].values), values)
        intervals, seconds = 2 * intervals, time.process_time() - started
    return line.assign_coords({name: label for name, label in points.coords.items() if x not in label.dims})


def _off_the_chords(x: np.ndarray, values: np.ndarray) -> float:
    """How far, over a curve's height, values [x, curve] are from the chords of their neighbours: at least as far as the
    chords between them are from the curve, at a kink, too."""
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    chords = values[:-2] + share[:, None] * (values[2:] - values[:-2])
    height = np.minimum(
        np.abs(values[1:-1]), np.ptp(values, axis=0)
    )  # a logarithmic axis shows small values, too
    return float(np.max(np.abs(values[1:-1] - chords) / np.maximum(height, np.finfo(float).tiny)))

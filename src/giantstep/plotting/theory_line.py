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
_INTERVALS = (64, 256)  # of a line: a few pixels each if predictions take long, else a pixel or two
_QUICK = 0.1  # seconds of the first of these, up to which the second follows
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
        return _refined(_question(dataset, x), points, x)
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


def _refined(ask: Callable[[np.ndarray], xr.Dataset], points: xr.Dataset, x: str) -> xr.Dataset | None:
    """The theory at the points and at more places along x, even on the scale of the picture. None where the theory has
    other values now than at the points."""
    known = points.reset_coords(drop=True).sortby(x)
    at = known[x].values
    space = np.geomspace if log_spaced(at) else np.linspace
    line = known
    for intervals in _INTERVALS:
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)  # the points have given theirs
            line = ask(np.union1d(at, space(at[0], at[-1], intervals + 1)[1:-1]))[list(points)]
        if time.process_time() - started > _QUICK:
            break
    chosen = {dim: points[dim] for dim in line.dims if dim in points.coords and dim not in (x, "bulk")}
    line = line.sel(chosen, method="nearest").reset_coords(drop=True)
    if not all(
        np.allclose(line[name].sel({x: at}).transpose(*known[name].dims), known[name], rtol=_SAME)
        for name in points
    ):
        return None
    return line.assign_coords({name: label for name, label in points.coords.items() if x not in label.dims})

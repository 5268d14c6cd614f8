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
from ..model.base import Model
from ..model.target import Target
from ..theory.predict import predict
from .style import log_spaced

if TYPE_CHECKING:
    import xarray as xr

FEW = 15  # points up to which straight lines between them would show corners
_ROUNDS = (17, 33, 65)  # nodes of the line, as long as that takes
_SECONDS = 0.5  # at most for a round: the next one takes twice as long
_SAME = 1e-6  # relative difference from the points, above which the line would be another theory's


def smooth_theory(dataset: xr.Dataset, names: list[str], x: str) -> xr.Dataset | None:
    """Predictions on many values of x, from the description that a prediction or a comparison keeps.

    None where the points are many already, where x is counted (steps), or where the description is not enough, as for
    Python functions of the user.
    """
    known = dataset.sel(part="theory", drop=True) if "part" in dataset.dims else dataset
    known = known[names]
    if x in COUNTED or x not in known.coords or not 2 <= known.sizes[x] <= FEW:
        return None
    if not np.isfinite(known.to_array()).all():
        return None
    try:
        ask = _question(dataset, x)
        line = _refined(ask, known, x)
    except (GiantstepError, KeyError, ValueError, TypeError):
        return None
    at_points = line.sel({x: known[x].values})
    return line if all(np.allclose(at_points[name], known[name], rtol=_SAME) for name in names) else None


def _question(dataset: xr.Dataset, x: str) -> Callable[[np.ndarray], xr.Dataset]:
    """The call of `predict` that gave this dataset, as a function of x."""
    said = dataset.attrs
    model, target = Model.from_dict(json.loads(said["model"])), Target.from_dict(json.loads(said["target"]))
    readout = {name: dataset[name].values for name in ("alpha", "lam", "d") if name in dataset.coords}
    if "theory_d" in said:
        readout["d"] = said["theory_d"]
    more = {"loss": said["loss"], "bulk": said["bulk"]}

    def ask(values: np.ndarray) -> xr.Dataset:
        if x in readout:
            return predict(model, target, **{**readout, x: values}, **more)
        if x == "noise":
            return predict(model, evolve(target, noise=values), **readout, **more)
        return predict(evolve(model, **{x: values}), target, **readout, **more)

    return ask


def _refined(ask: Callable[[np.ndarray], xr.Dataset], known: xr.Dataset, x: str) -> xr.Dataset:
    """The known points and, between them, nodes that are doubled as long as that is quick."""
    import xarray as xr

    places = np.sort(known[x].values)
    spaced = np.geomspace if log_spaced(places) else np.linspace
    others = {dim: known[dim] for dim in known.dims if dim != x and dim in known.coords}
    line = known.reset_coords(drop=True)
    for nodes in _ROUNDS:
        new = np.setdiff1d(spaced(places[0], places[-1], nodes), line[x].values)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)  # the points have given theirs
            found = ask(new)[list(known)].sel(others, method="nearest").reset_coords(drop=True)
        line = xr.concat([line, found.transpose(*line.dims)], x).sortby(x)
        if time.perf_counter() - started > _SECONDS:
            break
    return line.assign_coords({name: values for name, values in known.coords.items() if x not in values.dims})

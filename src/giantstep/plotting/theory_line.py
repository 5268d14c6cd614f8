"""A smooth line of the theory through a few points: `plot` predicts again between them."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from ..answers.dims import COUNTED
from ..errors import GiantstepError, GiantstepWarning
from ..model.description import Model
from ..model.target import Target
from ..theory.predict import predict
from .style import even_places

if TYPE_CHECKING:
    import xarray as xr

FEW = 15  # points up to which straight lines between them would show corners
_PLACES = 129  # of a line: a few pixels from one to the next
_SAME = 1e-6  # relative difference from the points, above which the line would be another theory's


def smooth_theory(dataset: xr.Dataset, names: list[str], x: str) -> xr.Dataset | None:
    """Predictions at the points and on many more values of x, even on the scale of the picture.

    They come from the description that a prediction or a comparison keeps. None where the points are many already,
    where x is counted (steps), where the description is not enough, as for Python functions of the user, or where the
    theory has other values now than at the points.
    """
    points = (dataset.sel(part="theory", drop=True) if "part" in dataset.dims else dataset)[names]
    asked = dataset.attrs.get("command") in ("predict", "compare") and x not in COUNTED and x in points.coords
    if not (asked and 2 <= points.sizes.get(x, 0) <= FEW and np.isfinite(points[x]).all()):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)  # the points have given theirs
            line = _predicted(dataset, x, np.union1d(points[x], even_places(points[x].values, _PLACES)))[names]
    except (GiantstepError, KeyError, ValueError, TypeError):
        return None
    chosen = {dim: points[dim] for dim in line.dims if dim in points.coords and dim not in (x, "bulk")}
    line = line.sel(chosen, method="nearest").reset_coords(drop=True)
    again = line.sel({x: points[x].values})
    if not all(np.allclose(again[name].transpose(*points[name].dims), points[name], rtol=_SAME) for name in names):
        return None
    return line.assign_coords({name: label for name, label in points.coords.items() if x not in label.dims})


def _predicted(dataset: xr.Dataset, x: str, values: np.ndarray) -> xr.Dataset:
    """The call of `predict` that gave this dataset, with other values of x."""
    import xarray as xr

    if "bulk" in dataset.dims:
        bulks = (dataset.sel(bulk=bulk).assign_attrs(bulk=str(bulk)) for bulk in dataset["bulk"].values)
        return xr.concat([_predicted(one, x, values) for one in bulks], dataset["bulk"])
    said = dataset.attrs
    model, target = Model.from_dict(json.loads(said["model"])), Target.from_dict(json.loads(said["target"]))
    readout: dict[str, Any] = {name: dataset[name].values for name in ("alpha", "lam", "d") if name in dataset.coords}
    readout |= {"d": said["theory_d"]} if "theory_d" in said else {}
    if x in readout:
        readout[x] = values
    elif x == "noise":
        target = evolve(target, noise=values)
    else:
        model = evolve(model, **{x: values})
    return predict(model, target, **readout, loss=said["loss"], bulk=said["bulk"], throw=False)

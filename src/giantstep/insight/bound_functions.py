"""The functions that attain the bounds: what the best readouts would compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.provenance import provenance
from ..errors import ParameterError
from ..gaussian import STRIDES
from ..model.arguments import checked_arguments
from ..model.checks import parameter
from ..model.description import Model
from ..theory.problem import model_grid, pose
from .bounds import checked_target, lowest, project
from .learned import mean_given, places_of, target_curve

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike, Parameter
    from ..model.target import Target

_POINTS = 512  # κ intervals from which the coefficients of the best functions are computed


@checked_arguments(x=parameter)
def bound_functions(
    model: Model, target: Target | FunctionLike, x: Parameter, *, bulk: str | None = None
) -> xr.Dataset:
    """The functions that attain the bounds, as functions of the target's projection x (the paper's figure).

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer.
    target : Target, str or callable
        The function to learn.
    x : number or 1-D array
        Where to evaluate them.
    bulk : {"exact", "isotropic", "orthogonal"}, optional
        Distribution of the rows, as in `predict`.

    Returns
    -------
    xarray.Dataset
        `upper` is the best multiple of μ0, the function learned with an infinite penalty. `lower` is the best
        function that the first layer allows. For γ = 1 they are functions of κ = x; for γ < 1 they are averages at
        fixed x, as in `learned_function`. `m_upper`, and `m`, `zeta`, `psi` (and `chi`), are the coefficients of the
        ideal readout. With several letters there is one coefficient for each group: equal letters, and for odd
        activations opposite ones, form one group.

    Examples
    --------
    >>> gs.bound_functions(gs.Network("tanh", eta=1, alpha0=2), "sin", x=[1, 2]).lower.values.round(3)
    array([0.684, 1.147])
    """
    import xarray as xr

    target = checked_target(target)
    if target.directions > 1:
        raise ParameterError(
            "the functions that attain the bounds are drawn for one direction, and this target has several; bounds()"
            " has their errors, learned_function() what networks learn"
        )
    grid = model_grid(model, target)
    problem = pose(model, target, grid, bulk)
    split = problem.split
    if problem.spikes > 1:
        raise ParameterError(
            "the functions that attain the bounds are drawn for one spike, and these spikes span several directions;"
            " bounds() has their errors"
        )
    modes, K = problem.modes(np.arange(1)), len(problem.weights)
    frame = problem.frame(np.arange(len(problem.c)))
    upper, along, across = [], [], []
    for u in range(len(problem.c)):  # one at a time: rules differ, and a figure has few curves
        features, label = problem.table(np.array([u]), _POINTS).at(STRIDES[0])
        _, best, side = lowest(features, label, modes)
        upper.append(project(features, features.mu0, label.t0).coefficients[0])
        along.append(best.coefficients[0])
        across.append(side[0].coefficients[0])
    sizes = split.layer_shape
    groups = () if K == 1 else ("group",)

    def labelled(values: Any) -> xr.DataArray:
        values = np.asarray(values)
        shape = (*sizes, *values.shape[1:])
        if K == 1 and values.ndim > 1:
            shape = shape[:-1]
        return xr.DataArray(values.reshape(shape), dims=(*split.layer_dims, *groups[: values.ndim - 1]))

    means = np.asarray(along)
    names = ("m", "zeta", *["chi"] * modes.norms, *["nu"] * modes.biases)
    best = {name: labelled(means[:, i * K : (i + 1) * K]) for i, name in enumerate(names)}
    best["psi"] = labelled(across)
    spike = {"b": frame.b[..., 0], "c": problem.c, "theta": frame.gamma[:, 0], "rest": frame.rho[:, 0]}
    layer = {name: labelled(values) for name, values in spike.items()}
    biases = xr.DataArray(problem.biases, dims="group") if groups else float(problem.biases[0])
    (at,) = places_of(x, 1)
    dataset = grid.dataset({}, provenance("bound_functions", model, target, bulk=problem.law.name))
    return (
        dataset.assign_coords(x=at)
        .assign(
            upper=mean_given(
                [at], model.activation, {"m": labelled(upper)}, **layer, biases=biases, dim="group"
            ),
            lower=mean_given([at], model.activation, best, **layer, biases=biases, dim="group"),
            truth=target_curve(target, [at]),
            m_upper=labelled(upper),
        )
        .assign(best)
    )

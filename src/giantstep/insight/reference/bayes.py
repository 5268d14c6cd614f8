"""The verb `bayes`: the best error that any method can reach, and what message passing reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...answers.grid import Grid
from ...answers.provenance import provenance
from ...errors import ParameterError
from ...model.inputs import refuse_inputs
from ...model.parameters import check_report, parameter
from ...model.target import Target, as_target
from ...runtime.progress import with_bar
from ...theory.status import CONVERGED, IMPRECISE, SENTENCES
from .state_evolution import state_evolution

if TYPE_CHECKING:
    import xarray as xr

    from ...model.description import FunctionLike, Parameter

_TOLERANCE = 1e-6  # relative error of the test error from which on a point is marked
_AT_ONCE = 1000


@with_bar("solving")
def bayes(
    target: Target | FunctionLike,
    *,
    alpha: Parameter,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    r"""The smallest test error that any method can reach with n = αd samples, and what message passing reaches.

    The method knows the target's function and the law of its labels, but not its direction. Its overlap q with that
    direction is a fixed point of state evolution, :math:`q/(1 - q) = \alpha\,\mathcal I(q)`. Several fixed points at
    one alpha mean a hard phase: the best method needs fewer samples than any fast one that is known.

    Parameters
    ----------
    target : Target, str or callable
        What is to be learned, of one direction.
    alpha : number or grid
        All samples that the method sees, divided by d: those of the steps and of the readout of a network together.
    progress : callable, optional
        Called with the share of the work done, from 0 to 1. A target takes up to seconds; further alphas take none.

    Returns
    -------
    xarray.Dataset
        On the grid of `alpha` and the target's noise: `test_error` and `overlap`, which message passing reaches;
        `optimal_error` and `optimal_overlap`; `informed_overlap`, the largest fixed point; `test_error_01` for labels
        ±1; `quadrature_error`, `code` and `status`. For each noise: `alpha_weak`, from which on the overlap is not 0;
        `alpha_amp`, from which on message passing reaches the optimum after a jump (NaN without a jump);
        `alpha_optimal`, at which the optimum jumps (NaN if it does not); `alpha_exact`, from which on the direction
        is found exactly.

    Examples
    --------
    >>> best = gs.bayes(gs.Target("sin", noise=0.1), alpha=[1, 2])
    >>> best.test_error.values.round(4), best.overlap.values.round(4)
    (array([0.1232, 0.0129]), array([0.7639, 0.9771]))

    Phase retrieval without noise: half a sample per dimension shows the direction, one would be enough for all of it,
    and message passing needs 1.13.

    >>> squares = gs.bayes("x**2", alpha=1.1)
    >>> [round(float(squares[name]), 3) for name in ("alpha_weak", "alpha_optimal", "alpha_amp")]
    [0.5, 1.0, 1.128]
    """
    target = as_target(target)
    refuse_inputs(target, "the Bayes-optimal error")
    check_report(progress)
    if target.directions > 1:
        raise ParameterError(
            f"target = {target.function.name!r} has {target.directions} directions, and the Bayes-optimal error is"
            " known for one; give a target of one direction"
        )
    grid = Grid({"alpha": parameter("alpha", alpha, low=0.0, strict=True), "noise": target.noise})
    samples, noises = (grid.over(name, grid.dims).reshape(-1) for name in ("alpha", "noise"))
    levels, place = np.unique(noises, return_inverse=True)
    names = [
        "test_error",
        "overlap",
        "optimal_error",
        "optimal_overlap",
        "informed_overlap",
        "quadrature_error",
    ]
    columns = {name: np.empty(len(samples)) for name in [*names, *["test_error_01"] * target.binary]}
    tables = []
    for i, noise in enumerate(levels):
        table = state_evolution(target.at(float(noise)))
        tables.append(table)
        own = np.flatnonzero(place == i)
        for some in np.array_split(own, -(-len(own) // _AT_ONCE)):
            points = table.fixed_points(samples[some])
            for name, s in zip(("overlap", "optimal_overlap", "informed_overlap"), points, strict=True):
                columns[name][some] = (1.0 - s) * (1.0 + s)
            columns["test_error"][some] = table.error(points.passing)
            columns["optimal_error"][some] = table.error(points.optimal)
            columns["quadrature_error"][some] = table.error_estimate(points.passing)
            if table.wrong_signs is not None:
                columns["test_error_01"][some] = table.wrong_signs(points.passing)
        if progress is not None:
            progress((i + 1) / len(levels))
    code = np.where(columns["quadrature_error"] > _TOLERANCE, IMPRECISE, CONVERGED).reshape(grid.shape)
    variables = {name: (grid.dims, values.reshape(grid.shape)) for name, values in columns.items()}
    variables["code"] = (grid.dims, code)
    variables["status"] = (grid.dims, np.array(SENTENCES, dtype=object)[code])
    dims = grid.dims_of(["noise"])
    which = np.searchsorted(levels, grid.over("noise", dims))
    for name in ("alpha_weak", "alpha_amp", "alpha_optimal", "alpha_exact"):
        variables[name] = (dims, np.array([getattr(table, name) for table in tables])[which])
    answer = grid.dataset(variables, provenance("bayes", None, target))
    answer["alpha"].attrs["long_name"] = "all samples, divided by d"
    answer["overlap"].attrs = {
        "symbol": "q",
        "long_name": "overlap of the estimate with the direction, by message passing",
    }
    return answer

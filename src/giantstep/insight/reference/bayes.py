"""The verb `bayes`: the best error that any method can reach, and what message passing reaches."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...answers.grid import Grid
from ...answers.provenance import provenance
from ...errors import ParameterError
from ...model.arguments import checked_arguments
from ...model.inputs import refuse_inputs
from ...model.target import Target, as_target
from ...runtime.progress import with_bar
from ...theory.status import CONVERGED, IMPRECISE, SENTENCES
from .several_directions import MOST_DIRECTIONS, SeveralOverlaps
from .state_evolution import StateEvolution

if TYPE_CHECKING:
    import xarray as xr

    from ...model.description import FunctionLike, Parameter

_TOLERANCE = 1e-3  # relative error of the test error from which on a point is marked


@checked_arguments()
@with_bar("solving")
def bayes(
    target: Target | FunctionLike, *, alpha: Parameter, progress: Callable[[float], None] | None = None
) -> xr.Dataset:
    r"""The smallest test error that any method can reach with n = αd samples, and what message passing reaches.

    The method knows the target's function and the law of its labels, but not its direction. Its overlap q with that
    direction is a fixed point of state evolution, :math:`q/(1 - q) = \alpha\,\mathcal I(q)`. Several fixed points at
    one alpha mean a hard phase: the best method needs fewer samples than any fast one that is known.

    Parameters
    ----------
    target : Target, str or callable
        The function to learn. With two or three directions its labels must be real and noisy, and the answer has
        only what message passing reaches.
    alpha : number or grid
        All samples that the method sees, divided by d: those of the steps and of the readout of a network together.
    progress : callable, optional
        Called with the share of the work done, from 0 to 1. A target takes up to seconds, however many alphas.

    Returns
    -------
    xarray.Dataset
        On the grid of `alpha` and the target's noise: `test_error` and `overlap`, which message passing reaches;
        `optimal_error` and `optimal_overlap`; `informed_overlap`, the largest fixed point; `test_error_01` for labels
        ±1; `quadrature_error`, `code` and `status`. For each noise: `alpha_weak`, from which on the overlap is not 0;
        `alpha_amp`, from which on message passing reaches the optimum after a jump (NaN without a jump);
        `alpha_optimal`, at which the optimum jumps (NaN if it does not); `alpha_exact`, from which on the direction
        is found exactly. Of several directions, `overlap` is a matrix, over `direction` and `direction_`, and there
        are `test_error`, `alpha_weak` and `quadrature_error` beside it.

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
    if (
        target.directions == 1
        and target.function.has_spec
        and not np.ptp(np.asarray(target.function(np.linspace(-9.0, 9.0, 100))))
    ):
        raise ParameterError(f"target = {target.function.name!r} is constant: there is nothing to learn", "target")
    grid = Grid({"alpha": alpha, "noise": target.noise})
    samples, noises = (grid.over(name, grid.dims).reshape(-1) for name in ("alpha", "noise"))
    levels, which = np.unique(noises, return_inverse=True)
    if target.directions > 1 and (target.directions > MOST_DIRECTIONS or target.binary or levels[0] == 0.0):
        raise ParameterError(
            f"target = {target.function.name!r} has {target.directions} directions, for which message passing is known"
            f" with noise on real labels, of up to {MOST_DIRECTIONS} directions; give Target(..., noise=0.5), or a"
            " target of one direction"
        )
    report = progress or (lambda share: None)
    tables, curves = [], []
    for done, noise in enumerate(levels):
        tables.append(evolution_of(target.at(float(noise))))
        mine = samples[which == done]
        curves.append(tables[-1].curve(mine, lambda share, done=done: report((done + share) / len(levels))))
    place = np.argsort(np.argsort(which, kind="stable"))
    columns = {name: np.concatenate([curve[name] for curve in curves])[place] for name in curves[0]}
    code = np.where(columns["quadrature_error"] > _TOLERANCE, IMPRECISE, CONVERGED)
    columns |= {"code": code, "status": np.array(SENTENCES, dtype=object)[code]}
    pair = ("direction", "direction_")
    variables = {
        name: ((*grid.dims, *pair[: values.ndim - 1]), values.reshape((*grid.shape, *values.shape[1:])))
        for name, values in columns.items()
    }
    dims = grid.dims_of(["noise"])
    level = np.searchsorted(levels, grid.over("noise", dims))
    for name in tables[0].thresholds:
        variables[name] = (dims, np.array([table.thresholds[name] for table in tables])[level])
    coords = {dim: np.arange(1, target.directions + 1) for dim in pair[: columns["overlap"].ndim - 1]}
    answer = grid.dataset(variables, provenance("bayes", None, target), coords)
    answer["alpha"].attrs["long_name"] = "all samples, divided by d"
    answer["overlap"].attrs = {
        "symbol": "q",
        "long_name": "overlap of the estimate with the direction, by message passing",
    }
    return answer


@lru_cache(maxsize=64)
def evolution_of(target: Target) -> StateEvolution | SeveralOverlaps:
    """The state evolution of a target, made once."""
    return StateEvolution(target) if target.directions == 1 else SeveralOverlaps(target)

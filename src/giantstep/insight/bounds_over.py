"""Bounds optimised over the learning rate: the best that one step can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve
from numpy.polynomial import chebyshev

from ..answers.grid import Grid
from ..answers.provenance import provenance
from ..errors import ParameterError
from ..functions.chebyshev import through
from ..losses import Loss, square
from ..model.description import Model
from ..model.network import Network
from ..model.target import Target
from ..theory.equivalent import by_letter
from ..theory.labels import linear_error
from ..theory.problem import Problem, pose

if TYPE_CHECKING:
    import xarray as xr

_OPTIMISED = ("upper", "lower", "lower_beta")
_SCAN = np.geomspace(1e-2, 30.0, 71)  # spikes r that are tried; a bound has few minima in log r
_ROUGH = 1e-7  # quadrature error, over E σ*², that the scan may have
_POINTS, _TO_SERIES = through(15)  # Chebyshev points, and the series T_0, T_1, ... through values there
_NO_SPIKE = 1e-12  # length of a spike that is rounding
_AT_END = 1e-6  # distance from an end of the scan, in ln η, that is none


def bounds_over(model: Model, target: Target, over: str, bulk: str | None) -> xr.Dataset:
    """Each bound minimised over η, and where; on the grid of the other parameters."""
    from .bounds import TOLERANCE, evaluate

    if over != "eta":
        raise ParameterError(f"over = {over!r} is unknown; bounds can be optimised over 'eta'")
    if not isinstance(model, Network):
        raise ParameterError("over = 'eta' needs a Network: a SpikedRF has no learning rate; scan its r instead")
    if model.schedule is not None:
        raise ParameterError("over = 'eta' needs one eta for all steps: give Network(f, eta, alpha0, steps=...)")
    others = {name: value for name, value in model.numbers().items() if name != "eta"}
    others |= target.numbers()
    grid = Grid(others)
    flat = {name: grid.over(name, grid.dims).reshape(-1) for name in others}

    def all_bounds(eta: np.ndarray, tolerance: float) -> dict[str, np.ndarray]:
        """Every bound at learning rates [settings, n]."""
        repeated = {name: np.repeat(values, eta.shape[1]) for name, values in flat.items()}
        found = evaluate(posed_at(model, target, repeated | {"eta": eta.reshape(-1)}, bulk), tolerance)
        return {name: found[name].reshape(eta.shape) for name in _OPTIMISED if name in found}

    unit = rate_of_unit_spike(model, target, flat)[:, None]
    scanned = all_bounds(unit * _SCAN, _ROUGH)
    names = list(scanned)

    def each(log_eta: np.ndarray) -> np.ndarray:
        """Bound number i at its own learning rates, row i of [bounds, settings, n]."""
        eta = np.moveaxis(np.exp(log_eta), 0, 1)  # [settings, bounds, n]
        found = all_bounds(eta.reshape(len(eta), -1), TOLERANCE)
        return np.stack([found[bound].reshape(eta.shape)[:, i] for i, bound in enumerate(names)])

    log_eta = np.broadcast_to(np.log(unit * _SCAN), (len(names), *scanned[names[0]].shape))
    best, where = _minima(log_eta, np.stack(list(scanned.values())), each)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for i, bound in enumerate(names):
        variables[bound] = (grid.dims, best[i].reshape(grid.shape))
        variables[f"eta_{bound}"] = (grid.dims, np.exp(where[i]).reshape(grid.shape))
    ends = np.abs(where[..., None] - log_eta[..., [0, -1]]).min(axis=(0, -1)) < _AT_END
    variables["at_end"] = (grid.dims, np.reshape(ends, grid.shape))
    variables["linear"] = ((), np.asarray(linear_error(target)))
    law = posed_at(model, target, flat | {"eta": 0.0}, bulk).law.name
    return grid.dataset(variables, provenance("bounds", model, target, bulk=law) | {"over": over})


def _minima(
    x: np.ndarray, values: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Minima over the last axis, and where, for functions known at x [..., n] that are smooth around the least value.

    A polynomial through fifteen Chebyshev points between the neighbours of the best scanned point has its minimum where
    the function has it. All functions at once: `scipy.optimize.minimize_scalar` takes them one by one.
    """
    best = values.argmin(axis=-1)[..., None]
    low, start, high = (np.take_along_axis(x, np.clip(best + step, 0, x.shape[-1] - 1), axis=-1) for step in (-1, 0, 1))
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    series = function(middle + half * _POINTS) @ _TO_SERIES.T
    place = middle + half * np.apply_along_axis(_lowest, -1, series)[..., None]
    at = np.concatenate([start, place], axis=-1)
    found = function(at)
    winner = found.argmin(axis=-1)[..., None]
    least, place = (np.take_along_axis(a, winner, axis=-1)[..., 0] for a in (found, at))
    return least, place


def _lowest(series: np.ndarray) -> float:
    """Where between -1 and 1 a Chebyshev series is least."""
    flat = np.clip(chebyshev.chebroots(chebyshev.chebder(series)).real, -1.0, 1.0)
    candidates = np.append(flat, [-1.0, 1.0])
    return candidates[chebyshev.chebval(candidates, series).argmin()]


def rate_of_unit_spike(net: Network, target: Target, flat: dict[str, np.ndarray]) -> np.ndarray:
    """The η of r = 1 at α0, β and the target's numbers [U]; without a spike β, so that c at least is of order one."""
    first_step = evolve(net, steps=None)
    problem = posed_at(first_step, target, flat | {"eta": flat["beta"]})
    values = np.asarray(problem.merging.letters.values)
    found = by_letter(problem.first_layers.layer, values).r[:, np.abs(values).argmax()]
    per_rate = np.broadcast_to(np.abs(found), flat["beta"].shape)
    return flat["beta"] / np.where(per_rate > _NO_SPIKE, per_rate, 1.0)


def posed_at(
    model: Model, target: Target, values: Mapping[str, Any], bulk: str | None = None, loss: Loss = square
) -> Problem:
    """The problem at points [P] of a model's numbers, the target's and the readout's, each a number or [P]."""
    import xarray as xr

    along = {name: xr.DataArray(value, dims="point") if np.ndim(value) else value for name, value in values.items()}
    model = model.moved(**{name: along[name] for name in model.numbers()})
    target = target.moved(**{name: along[name] for name in target.numbers()})
    return pose(model, target, Grid(along), bulk, loss)

"""Bounds optimised over the learning rate: what one step can make learnable at best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev

from ..chebyshev import through
from ..errors import ParameterError
from ..grid import Grid
from ..model import Model, Network, Target
from ..provenance import provenance
from ..theory.equivalent import by_letter
from ..theory.hermite import linear_error
from ..theory.problem import pose

if TYPE_CHECKING:
    import xarray as xr

_SCAN = np.geomspace(1e-2, 30.0, 71)  # spikes r that are tried; a bound has few minima in log r
_ROUGH = 1e-7  # quadrature error, over E σ*², that the scan may have
_POINTS, _TO_SERIES = through(11)  # of polynomials
_FINE, _NEWTON = 65, 4  # where such a polynomial is looked at, and steps from there to its minimum
_FORETOLD = 1e-9  # relative difference from what a polynomial foretells that is none
_NOTHING = (
    1e-14  # share of the largest scanned value that is none: what is learned perfectly has no relative error
)
_AT_END = 1e-6  # distance from an end of the scan, in ln η, that is none
_GAIN = 1e-8  # relative, of a round that has brought something
_CLOSER, _ROUNDS = 4.0, 16  # each nearer around the best point by this, so many at most


def bounds_over(model: Model, target: Target, over: str, bulk: str | None) -> xr.Dataset:
    """Each bound minimised over η, and where; on the grid of the other parameters."""
    from .bounds import TOLERANCE, evaluate

    if over != "eta":
        raise ParameterError(f"over = {over!r} is unknown; bounds can be optimised over 'eta'")
    if not isinstance(model, Network):
        raise ParameterError(
            "over = 'eta' needs a Network: a SpikedRF has no learning rate; scan its r instead"
        )
    if model.schedule is not None:
        raise ParameterError(
            "over = 'eta' needs one eta for all steps: give Network(f, eta, alpha0, steps=...)"
        )
    others = {name: value for name, value in model.numbers().items() if name != "eta"} | {
        "noise": target.noise
    }
    grid = Grid(others)
    flat = {name: grid.over(name, grid.dims).reshape(-1) for name in others}
    name = pose(_with(model, 0.0 * flat["beta"], flat), _noisy(target, flat), _flat_grid(flat), bulk).law.name

    def all_bounds(eta: np.ndarray, tolerance: float) -> dict[str, np.ndarray]:
        """Every bound at learning rates [settings, n]."""
        repeated = {key: np.repeat(values, eta.shape[1]) for key, values in flat.items()}
        point = _with(model, eta.reshape(-1), repeated)
        problem = pose(point, _noisy(target, repeated), _flat_grid(repeated | {"eta": eta.reshape(-1)}), name)
        return {key: values.reshape(eta.shape) for key, values in evaluate(problem, tolerance).items()}

    unit = rate_of_unit_spike(model, target, flat)[:, None]
    scanned = all_bounds(unit * _SCAN, _ROUGH)
    names = list(scanned)

    def each(log_eta: np.ndarray) -> np.ndarray:
        """Bound number i at its own learning rates, row i of [bounds, settings, n]."""
        eta = np.moveaxis(np.exp(log_eta), 0, 1)  # [settings, bounds, n]
        found = all_bounds(eta.reshape(len(eta), -1), TOLERANCE)
        return np.stack([found[bound].reshape(eta.shape)[:, i] for i, bound in enumerate(names)])

    log_eta = np.broadcast_to(np.log(unit * _SCAN), (len(names), *scanned[names[0]].shape))
    best, where = _polished(log_eta, np.stack(list(scanned.values())), each)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for i, bound in enumerate(names):
        variables[bound] = (grid.dims, best[i].reshape(grid.shape))
        variables[f"eta_{bound}"] = (grid.dims, np.exp(where[i]).reshape(grid.shape))
    ends = np.abs(where[..., None] - log_eta[..., [0, -1]]).min(axis=(0, -1)) < _AT_END
    variables["at_end"] = (grid.dims, np.reshape(ends, grid.shape))
    variables["linear"] = ((), np.asarray(linear_error(target)))
    return grid.dataset(variables, provenance("bounds", model, target, bulk=name) | {"over": over})


def _polished(
    x: np.ndarray, values: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Minima over the last axis and where, around the best scanned points: those of polynomials through a few more.

    Where a polynomial does not foretell the value at its minimum, another follows nearer to the best point so far.
    """
    best = values.argmin(axis=-1)[..., None]

    def scanned(index: np.ndarray) -> np.ndarray:
        return np.take_along_axis(x, np.clip(index, 0, x.shape[-1] - 1), axis=-1)

    low, high, place = (scanned(best + step) for step in (-1, 1, 0))  # [..., 1]
    least = function(place)
    half, nothing = 0.5 * (high - low), _NOTHING * values.max(axis=-1, keepdims=True)
    stale = np.zeros(least.shape, int)  # rounds that have brought nothing: what is left is noise
    for _ in range(_ROUNDS):
        middle = np.clip(place, low + half, high - half)
        at = middle + half * _POINTS
        found = function(at)
        lowest, foretold = _lowest(found)
        at = np.concatenate([place, at, middle + half * lowest], axis=-1)
        found = np.concatenate([least, found, function(at[..., -1:])], axis=-1)
        winner, before = found.argmin(axis=-1)[..., None], least
        place, least = (np.take_along_axis(a, winner, axis=-1) for a in (at, found))
        stale = np.where(before - least > _GAIN * np.abs(least) + nothing, 0, stale + 1)
        solved = np.abs(found[..., -1:] - foretold) <= _FORETOLD * np.abs(foretold) + nothing
        if (solved | (stale > 1)).all():
            break
        half = half / _CLOSER
    return least[..., 0], place[..., 0]


def _lowest(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where between -1 and 1 the polynomial through values [..., n] at `_POINTS` is least, and its value, [..., 1]."""
    series = np.moveaxis(values @ _TO_SERIES.T, -1, 0)
    fine = np.linspace(-1.0, 1.0, _FINE)
    place = fine[chebyshev.chebval(fine, series).argmin(axis=-1)]
    slope = chebyshev.chebder(series)
    bend = chebyshev.chebder(slope)
    for _ in range(_NEWTON):
        curved = chebyshev.chebval(place, bend, tensor=False)
        step = chebyshev.chebval(place, slope, tensor=False) / np.where(curved > 0.0, curved, np.inf)
        place = np.clip(place - np.clip(step, -2.0 / _FINE, 2.0 / _FINE), -1.0, 1.0)
    return place[..., None], chebyshev.chebval(place, series, tensor=False)[..., None]


def rate_of_unit_spike(net: Network, target: Target, flat: dict[str, np.ndarray]) -> np.ndarray:
    """The η of r = 1 at α0, β and noise [U]; where the step makes no spike, β, so that c at least is of order one."""
    net = replace(net, steps=None)  # the first of several steps
    flat = {name: flat[name] for name in ("alpha0", "beta", "noise")}
    problem = pose(
        _with(net, flat["beta"], flat), _noisy(target, flat), _flat_grid(flat | {"eta": flat["beta"]})
    )
    values = np.asarray(problem.merging.letters.values)
    found = by_letter(problem.first_layers.layer, values).r[:, np.abs(values).argmax()]
    per_rate = np.broadcast_to(np.abs(found), flat["beta"].shape)
    spiked = per_rate > 1e-12
    return flat["beta"] / np.where(spiked, per_rate, 1.0)


def _with(net: Network, eta: np.ndarray, flat: dict[str, np.ndarray]) -> Network:
    names = [name for name in net.numbers() if name != "eta"]
    return replace(net, eta=_zipped(eta), **{name: _zipped(flat[name]) for name in names})


def _noisy(target: Target, flat: dict[str, np.ndarray]) -> Target:
    return replace(target, noise=_zipped(flat["noise"]))


def _flat_grid(flat: dict[str, np.ndarray]) -> Grid:
    return Grid(
        {"eta": _zipped(0.0 * flat["beta"])} | {name: _zipped(values) for name, values in flat.items()}
    )


def _zipped(values: np.ndarray):
    import xarray as xr

    return xr.DataArray(values, dims="setting")

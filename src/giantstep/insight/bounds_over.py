"""Bounds optimised over the learning rate: what one step can make learnable at best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from ..grid import Grid
from ..model import Model, Network, Target
from ..provenance import provenance
from ..theory.equivalent import by_letter
from ..theory.hermite import linear_error
from ..theory.pose import pose

if TYPE_CHECKING:
    import xarray as xr

_SCAN = np.geomspace(1e-2, 30.0, 141)  # spikes r that are tried; a bound has few minima in log r
_ROUGH = 1e-7  # quadrature error, over E σ*², that the scan may have
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_POLISH = 42  # golden sections: 0.618^42 = 2e-9 of the bracket, about where rounding hides a minimum


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
    name = pose(_with(model, 0.0 * flat["beta"], flat), _noisy(target, flat), _flat_grid(flat), bulk).bulk

    def all_bounds(eta: np.ndarray, tolerance: float) -> dict[str, np.ndarray]:
        """Every bound at learning rates [settings, n]."""
        repeated = {key: np.repeat(values, eta.shape[1]) for key, values in flat.items()}
        point = _with(model, eta.reshape(-1), repeated)
        posed = pose(point, _noisy(target, repeated), _flat_grid(repeated | {"eta": eta.reshape(-1)}), name)
        return {key: values.reshape(eta.shape) for key, values in evaluate(posed, tolerance).items()}

    unit = rate_of_unit_spike(model, target, flat)[:, None]
    scanned = all_bounds(unit * _SCAN, _ROUGH)
    names = list(scanned)

    def each(log_eta: np.ndarray) -> np.ndarray:
        """Bound number i at its own learning rates, row i of [bounds, settings]."""
        found = all_bounds(np.exp(log_eta.T), TOLERANCE)
        return np.stack([found[bound][:, i] for i, bound in enumerate(names)])

    log_eta = np.broadcast_to(np.log(unit * _SCAN), (len(names), *scanned[names[0]].shape))
    best, where = _polished(log_eta, np.stack(list(scanned.values())), each)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for i, bound in enumerate(names):
        variables[bound] = (grid.dims, best[i].reshape(grid.shape))
        variables[f"eta_{bound}"] = (grid.dims, np.exp(where[i]).reshape(grid.shape))
    variables["linear"] = ((), np.asarray(linear_error(target)))
    return grid.dataset(variables, provenance("bounds", model, target, bulk=name) | {"over": over})


def _polished(
    x: np.ndarray, values: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Minima over the last axis and where, by golden sections around the best scanned point."""
    best = values.argmin(axis=-1)[..., None]

    def scanned(index: np.ndarray) -> np.ndarray:
        return np.take_along_axis(x, index, axis=-1)[..., 0]

    low, high = scanned(np.maximum(best - 1, 0)), scanned(np.minimum(best + 1, x.shape[-1] - 1))
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    fa, fb = function(a), function(b)
    for _ in range(_POLISH):
        left = fa < fb
        low, high = np.where(left, low, a), np.where(left, b, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        value = function(new)
        a, b = np.where(left, new, b), np.where(left, a, new)
        fa, fb = np.where(left, value, fb), np.where(left, fa, value)
    at_scan = function(scanned(best))  # a minimum at the end of the scan stays there
    candidates, places = np.stack([at_scan, fa, fb]), np.stack([scanned(best), a, b])
    winner = candidates.argmin(axis=0)[None]
    return np.take_along_axis(candidates, winner, 0)[0], np.take_along_axis(places, winner, 0)[0]


def rate_of_unit_spike(net: Network, target: Target, flat: dict[str, np.ndarray]) -> np.ndarray:
    """The η of r = 1 at α0, β and noise [U]; where the step makes no spike, β, so that c at least is of order one."""
    net = replace(net, steps=None)  # the first of several steps
    flat = {name: flat[name] for name in ("alpha0", "beta", "noise")}
    posed = pose(
        _with(net, flat["beta"], flat), _noisy(target, flat), _flat_grid(flat | {"eta": flat["beta"]})
    )
    values = np.asarray(posed.merging.letters.values)
    found = by_letter(posed.origin.layer, values).r[:, np.abs(values).argmax()]
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

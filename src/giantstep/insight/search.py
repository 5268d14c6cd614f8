"""Where `tune` searches: the values that it scans, and the least error near the best of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import GiantstepWarning, ParameterError
from ..losses import Loss
from ..model.checks import parameter
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..theory.engine import solve
from ..theory.predict import usual_tolerance
from ..theory.status import FAILED
from .bounds_over import posed_at, rate_of_unit_spike

_SCAN = {
    "lam": np.geomspace(1e-5, 1e3, 25),
    "eta": np.geomspace(0.1, 20.0, 17),  # over the rate of a spike r = 1
    "split": np.linspace(0.04, 0.96, 13),
    "steps": np.arange(1.0, 5.0),
}
_STARTS = 3  # local minima of the scan that are polished
_STEP = 4e-3  # of differences, in the logarithm of a parameter
_DIFFERENCE = {1: 2.0 / 3.0, -1: -2.0 / 3.0, 2: -1.0 / 12.0, -2: 1.0 / 12.0}
"""Shares of values at so many steps in a derivative, times the step: of fourth order, good to 1e-9 of the error."""
_FAILED = 10.0  # over the error at the start, what a search takes for the error of a point that fails
_STANDS_STILL = 1e-8  # relative slope at which an optimum is one


def ranges(
    model: Any, target: Target, over: tuple[str, ...], budget: Any, loss: Loss, scan: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Values to scan along each parameter, increasing."""
    if stray := set(scan) - set(over):
        raise ParameterError(f"scan = {sorted(stray)} are not optimised over; over = {over!r}")
    axes, coarse = {}, set()  # parameters of which every second value is scanned, because points are dear
    if not loss.linear or model.most_steps > 1 or "steps" in over or {"eta", "split"} <= set(over):
        coarse = {"eta", "split"} if loss.linear else {"eta", "split", "lam"}
    for name in over:
        given = scan.get(name)
        if given is None:
            unit = _typical_rate(model, target, budget) if name == "eta" else 1.0
            given = unit * _SCAN[name][:: 2 if name in coarse else 1]
        values = parameter(name, given, low=0.0, strict=True)
        axes[name] = np.unique(np.atleast_1d(np.asarray(values, dtype=float)))
        if len(axes[name]) < 3 and name != "steps":
            raise ParameterError(f"scan of {name} has {len(axes[name])} values; give three or more")
        if name == "split" and axes[name][-1] >= 1.0:
            raise ParameterError("scan of split must lie strictly between 0 and 1")
    return axes


def _typical_rate(net: Network, target: Target, budget: Any) -> float:
    """The learning rate of a spike of one, in the middle of the grid."""
    alpha0 = np.asarray(net.alpha0 if budget is None else 0.3 * np.asarray(budget), dtype=float)
    middle = {
        name: np.atleast_1d(np.median(np.asarray(values, dtype=float)))
        for name, values in ({"alpha0": alpha0, "beta": net.beta} | target.numbers()).items()
    }
    return float(rate_of_unit_spike(net, target, middle)[0])


class Optimum(NamedTuple):
    """The least error that was found, and where."""

    x: np.ndarray
    error: float
    slope: np.ndarray  # d error/d ln x; NaN where it was not asked for

    def stationarity(self, axes: list[np.ndarray]) -> tuple[float, bool]:
        """Largest |d ln error/d ln x| of the parameters inside their ranges, and whether one is at an end."""
        ends = np.array([[axis[0], axis[-1]] for axis in axes])
        at_end = np.isclose(self.x[:, None], ends, rtol=1e-6).any(axis=1)
        return float((np.abs(self.slope) * ~at_end).max() / self.error), bool(at_end.any())


@dataclass(frozen=True)
class Objective:
    """The error of a model, to be minimised over some of its parameters and the readout's."""

    model: Network | SpikedRF
    target: Target
    over: tuple[str, ...]
    bulk: str
    loss: Loss
    error: str

    def errors(self, at: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
        """The error at points x [n, P] of the parameters in `over`, [P]; infinite where it fails. `at` has all others,
        each a number or [P]."""
        values = {**at, **dict(zip(self.over, x, strict=True))}
        if "split" in values:
            values["alpha0"] = values["split"] * values["budget"] / np.maximum(1.0, values.get("steps", 1.0))
            values["alpha"] = (1.0 - values["split"]) * values["budget"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)
            problem = posed_at(self.model, self.target, values, self.bulk, self.loss)
            answers = solve(problem, usual_tolerance(problem))
        failed = FAILED[answers["code"]] | np.isnan(answers[self.error])
        return np.where(failed, np.inf, answers[self.error]).reshape(-1)

    def minimise(self, at: Mapping[str, float], start: Optimum, axes: list[np.ndarray]) -> Optimum:
        """The least error within the scanned ranges, searched from a start in ln x."""
        from scipy.optimize import minimize

        n = len(start.x)
        moves = np.concatenate([np.zeros((n, 1)), _STEP * np.kron(np.eye(n), list(_DIFFERENCE))], axis=1)

        def relative(y: np.ndarray) -> tuple[float, np.ndarray]:
            found = self.errors(at, np.exp(y[:, None] + moves)) / start.error
            if not np.all(np.isfinite(found)):
                return _FAILED, np.zeros(n)
            return min(found[0], _FAILED), found[1:].reshape(n, -1) @ list(_DIFFERENCE.values()) / _STEP

        low, high = np.array([[axis[0], axis[-1]] for axis in axes]).T
        result = minimize(
            relative,
            np.log(start.x),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(np.log(low), np.log(high), strict=True)),
            options={"ftol": 0.0, "gtol": _STANDS_STILL},
        )
        # a search that ends next to points that fail has the last one that it tried in `fun` and `jac`, and not x
        least, slope = (float(result.fun), result.jac) if result.success else relative(result.x)
        error = start.error * least if least < _FAILED else np.inf  # even at the start
        return Optimum(np.clip(np.exp(result.x), low, high), error, start.error * slope)


def local_minima(values: np.ndarray, axes: list[np.ndarray]) -> list[Optimum]:
    """The best points of a scan that are no higher than their neighbours along any axis or diagonal, best first."""
    from scipy.ndimage import minimum_filter

    lowest = np.argwhere(values <= minimum_filter(values, size=3, mode="nearest"))
    best = lowest[np.argsort(values[tuple(lowest.T)], kind="stable")][:_STARTS]
    places = [np.array([axis[i] for axis, i in zip(axes, at, strict=True)]) for at in best]
    return [Optimum(x, float(values[tuple(at)]), np.full(len(x), np.nan)) for x, at in zip(places, best, strict=True)]

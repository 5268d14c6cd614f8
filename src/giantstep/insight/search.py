"""Where `tune` searches: the values that it scans, and the least error near the best of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GiantstepWarning, ParameterError
from ..losses import Loss, square
from ..model.checks import parameter
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..theory.predict import predicted
from ..theory.status import REAL_SIZE
from .bounds_over import rate_of_unit_spike

if TYPE_CHECKING:
    import xarray as xr

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
    sized: float  # the error at a usual size, where it is that of the limit
    slope: np.ndarray  # d error/d ln x; NaN where it was not asked for

    def stationarity(self, axes: list[np.ndarray]) -> tuple[float, bool]:
        """Largest |d ln error/d ln x| of the parameters inside their ranges, and whether one is at an end."""
        ends = np.array([[axis[0], axis[-1]] for axis in axes])
        at_end = np.isclose(self.x[:, None], ends, rtol=1e-6).any(axis=1)
        return float((np.abs(self.slope) * ~at_end).max() / self.error), bool(at_end.any())


class Objective:
    """error(at, x): `at` are the values of a grid point, x those of the parameters named in `over`."""

    def __init__(
        self,
        model: Network | SpikedRF,
        target: Target,
        over: tuple[str, ...],
        landscape: xr.DataArray,
        bulk: str | None,
        loss: Loss = square,
        error: str = "test_error",
    ):
        self._model, self._target, self._over, self._loss, self._name = model, target, over, loss, error
        derived = {"alpha0", "alpha"} if "split" in over else set()
        names = {*model.numbers(), *target.numbers(), "steps", "alpha", "lam", "d", "budget"} - derived
        self.fixed = [name for name in map(str, landscape.coords) if name in names.difference(over)]
        self.bulk = str(landscape.attrs.get("bulk", bulk or "isotropic"))

    def minimise(
        self, at: dict[str, float], start: np.ndarray, low: np.ndarray, high: np.ndarray, scale: float
    ) -> Optimum:
        """The least error in a box around `start`, searched in ln x; `scale` is about the error there."""
        from scipy.optimize import minimize

        def relative(y: np.ndarray) -> tuple[float, np.ndarray]:
            error, slope = self.error_and_slope(at, np.exp(y))
            return min(error / scale, _FAILED), slope / scale

        options = {"ftol": 0.0, "gtol": _STANDS_STILL}
        bounds = list(zip(np.log(low), np.log(high), strict=True))
        result = minimize(
            relative, np.log(start), jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        if result.fun == _FAILED:  # the start itself fails
            return Optimum(start, np.inf, np.inf, np.zeros(len(start)))
        x, error = np.clip(np.exp(result.x), low, high), scale * float(result.fun)
        return Optimum(x, error, self._at_usual_size(at, x, error), scale * result.jac)

    def error(self, at: dict[str, float], x: np.ndarray) -> float:
        """The error as `predict` has it; infinite where it fails."""
        return float(self._errors(at, np.asarray(x, float)[None])[0])

    def error_and_slope(self, at: dict[str, float], x: np.ndarray) -> tuple[float, np.ndarray]:
        """The error and its derivatives with respect to ln x; infinite where it fails."""
        moves = [np.zeros(len(x)), *(steps * axis for axis in np.eye(len(x)) for steps in _DIFFERENCE)]
        found = self._errors(at, x * np.exp(_STEP * np.array(moves)))
        if not np.all(np.isfinite(found)):
            return np.inf, np.zeros(len(x))
        return float(found[0]), found[1:].reshape(len(x), -1) @ np.array(list(_DIFFERENCE.values())) / _STEP

    def _at_usual_size(self, at: dict[str, float], x: np.ndarray, error: float) -> float:
        """The error at a usual size; the same, where a size is given."""
        return error if np.isfinite(at.get("d", np.inf)) else self.error(at | {"d": REAL_SIZE}, x)

    def _errors(self, at: dict[str, float], points: np.ndarray) -> np.ndarray:
        """Those of several points [P, n]; infinite where they fail."""
        import xarray as xr

        values: dict[str, Any] = at | {
            name: xr.DataArray(points[:, i], dims="point") for i, name in enumerate(self._over)
        }
        if "split" in values:
            values["alpha0"] = values["split"] * values["budget"] / max(1.0, values.get("steps", 1.0))
            values["alpha"] = (1.0 - values["split"]) * values["budget"]
        numbers = {name: values[name] for name in (*self._model.numbers(), "steps") if name in values}
        fixed = {name: at[name] for name in numbers if name in at}
        model = self._model.at(**fixed).moved(**{k: v for k, v in numbers.items() if k not in at})
        target = self._target.at(**{name: values[name] for name in self._target.numbers()})
        readout = {name: values[name] for name in ("alpha", "lam", "d") if name in values}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)
            found = predicted(model, target, bulk=self.bulk, loss=self._loss, throw=False, **readout)
        return np.nan_to_num(found[self._name].values, nan=np.inf)


def polished(
    values: np.ndarray,
    axes: list[np.ndarray],
    at: dict[str, float],
    objective: Objective,
    report: Callable[[float], None],
) -> Optimum:
    """The least error within the scanned ranges, from the best local minima of a scan."""
    low, high = np.array([[axis[0], axis[-1]] for axis in axes]).T
    found: list[Optimum] = []
    starts = _local_minima(values)[:_STARTS]
    for start in starts:
        first = np.array([axis[i] for axis, i in zip(axes, start, strict=True)])
        found.append(objective.minimise(at, first, low, high, float(values[tuple(start)])))
        report(len(found) / len(starts))
    return min(found, key=lambda optimum: optimum.error)


def _local_minima(values: np.ndarray) -> np.ndarray:
    """Indices [n, axes] of points no higher than their neighbours along any axis or diagonal, best first."""
    from scipy.ndimage import minimum_filter

    lowest = np.isfinite(values) & (values <= minimum_filter(values, size=3, mode="nearest"))
    return np.argwhere(lowest)[np.argsort(values[lowest], kind="stable")]

"""An error as a function of hyperparameters, and its least value in a box."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GiantstepWarning
from ..losses import Loss, square
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..theory.predict import predict
from ..theory.status import REAL_SIZE

if TYPE_CHECKING:
    import xarray as xr

_STEP = 4e-3  # of differences, in the logarithm of a parameter
_DIFFERENCE = {1: 2.0 / 3.0, -1: -2.0 / 3.0, 2: -1.0 / 12.0, -2: 1.0 / 12.0}
"""Shares of values at so many steps in a derivative, times the step: of fourth order, good to 1e-9 of the error."""
_FAILED = 10.0  # over the error at the start, what a search takes for the error of a point that fails
_STANDS_STILL = 1e-8  # relative slope at which an optimum is one


def at_ends(x: tuple[float, ...], axes: list[np.ndarray]) -> np.ndarray:
    """Which parameters are at an end of their range."""
    ends = np.array([[axis[0], axis[-1]] for axis in axes])
    return np.array(np.isclose(np.array(x)[:, None], ends, rtol=1e-6).any(axis=1), ndmin=1)


class Optimum(NamedTuple):
    """The least error that was found, and where."""

    x: np.ndarray
    error: float
    sized: float  # the error at a usual size, where it is that of the limit
    slope: np.ndarray  # d error/d ln x

    def stationarity(self, axes: list[np.ndarray]) -> tuple[float, bool]:
        """Largest |d ln error/d ln x| of the parameters inside their ranges, and whether one is at an end."""
        at_end = at_ends(tuple(self.x), axes)
        return float(np.abs(self.slope[~at_end]).max(initial=0.0) / self.error), bool(at_end.any())


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
        names = [
            *dict.fromkeys([*model.numbers(), "steps"]),
            *target.numbers(),
            "alpha",
            "lam",
            "d",
            "budget",
        ]
        derived = ("alpha0", "alpha") if "split" in over else ()
        self.fixed = [
            name for name in names if name in landscape.coords and name not in over and name not in derived
        ]
        self.bulk = str(landscape.attrs.get("bulk", bulk or "isotropic"))

    def minimise(self, at: dict[str, float], start: np.ndarray, low: np.ndarray, high: np.ndarray) -> Optimum:
        """The least error in a box around `start`, in logarithms of the parameters; never above that at the start."""
        from scipy.optimize import minimize

        first = self.error(at, start)
        if not np.isfinite(first):
            return Optimum(start, first, first, np.zeros(len(start)))

        def sloped(y: np.ndarray) -> tuple[float, np.ndarray]:
            error, slope = self.error_and_slope(at, np.exp(y))
            return min(error / first, _FAILED), slope / first

        options = {"ftol": 0.0, "gtol": _STANDS_STILL}
        bounds = list(zip(np.log(low), np.log(high), strict=True))
        found = minimize(sloped, np.log(start), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        if found.fun > 1.0:
            return Optimum(
                start, first, self._at_usual_size(at, start, first), self.error_and_slope(at, start)[1]
            )
        x, error = np.clip(np.exp(found.x), low, high), first * float(found.fun)
        return Optimum(x, error, self._at_usual_size(at, x, error), first * found.jac)

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

        values = {name: xr.DataArray(points[:, i], dims="point") for i, name in enumerate(self._over)}
        model, target, readout = self._described(at, values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)
            found = predict(model, target, bulk=self.bulk, loss=self._loss, throw=False, **readout)
        return np.nan_to_num(found[self._name].values, nan=np.inf)

    def _described(
        self, at: dict[str, float], values: dict[str, Any]
    ) -> tuple[Network | SpikedRF, Target, dict[str, Any]]:
        """The model, the target and the readout's parameters at a point of the grid and `values` of the others."""
        chosen = at | values
        if "split" in chosen:
            chosen["alpha0"] = chosen["split"] * chosen["budget"] / max(1.0, chosen.get("steps", 1.0))
            chosen["alpha"] = (1.0 - chosen["split"]) * chosen["budget"]
        names = [name for name in (*self._model.numbers(), "steps") if name in chosen]
        plain = {name: chosen[name] for name in names if np.ndim(chosen[name]) == 0}
        several = {name: chosen[name] for name in names if name not in plain}
        model = self._model.at(**plain)
        target = self._target.at(**{name: chosen[name] for name in self._target.numbers()})
        readout = {name: chosen[name] for name in ("alpha", "lam", "d") if name in chosen}
        return model.moved(**several) if several else model, target, readout

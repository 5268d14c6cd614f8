"""The test error as a function of hyperparameters, with exact derivatives where they exist."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ..errors import GiantstepWarning
from ..model import Network, SpikedRF, Target
from ..prediction import predict
from ..theory.equations.means import Setting
from ..theory.labels import OneDirection
from ..theory.origin import Origin, origin
from ..theory.pose import Posed, model_grid, pose
from .derivative import TINY, Moved, error_and_gradient

if TYPE_CHECKING:
    import xarray as xr

_POINTS = 64  # κ intervals per piece to begin with
_FINEST = 1024
_SAME = 1e-9  # relative change of the error at which the rule in κ is fine enough


class Objective:
    """error(at, x): `at` are the values of a grid point, x those of the parameters named in `over`."""

    def __init__(
        self,
        model: Network | SpikedRF,
        target: Target,
        over: tuple[str, ...],
        landscape: xr.DataArray,
        bulk: str | None,
    ):
        self._model, self._target, self._over = model, target, over
        names = [*dict.fromkeys([*model.numbers(), "steps"]), "noise", "alpha", "lam", "d", "budget"]
        derived = ("alpha0", "alpha") if "split" in over else ()
        self.fixed = [
            name for name in names if name in landscape.coords and name not in over and name not in derived
        ]
        self.bulk = str(landscape.attrs.get("bulk", bulk or "isotropic"))
        # derivatives are those of the isotropic bulk, and of labels that a function of the input gives
        # of one direction, and first layers with one spike, made by one step at most
        simple = model.most_steps < 2 and model.spike_directions == 1 and target.directions == 1
        self.differentiable = self.bulk == "isotropic" and not target.random_signs and simple

    def minimise(
        self, at: dict[str, float], start: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[float, tuple[float, ...]]:
        """The least error in a box around `start`, in logarithms of the parameters, and where."""
        from scipy.optimize import minimize

        box = list(zip(np.log(low), np.log(high), strict=True))
        if not self.differentiable:
            found = minimize(
                lambda y: self.error(at, np.exp(y)),
                np.log(start),
                method="Nelder-Mead",
                bounds=box,
                options={
                    "xatol": 1e-5,
                    "fatol": 1e-12,
                    "maxiter": 200,
                    "initial_simplex": _simplex(start, low, high),
                },
            )
            return float(found.fun), tuple(map(float, np.exp(found.x)))
        points = self._points(at, start)
        scale, _ = self.error_and_slope(at, start, points)

        def relative(y: np.ndarray) -> tuple[float, np.ndarray]:
            error, slope = self.error_and_slope(at, np.exp(y), points)
            return error / scale, slope / scale

        found = minimize(
            relative,
            np.log(start),
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            options={"ftol": 1e-15, "gtol": 1e-11, "maxiter": 200},
        )
        x = np.exp(found.x)
        return self.error(at, x), tuple(map(float, x))

    def stationarity(
        self, at: dict[str, float], x: tuple[float, ...], axes: list[np.ndarray]
    ) -> tuple[float, bool]:
        """Largest |d ln error/d ln x| of the parameters inside their ranges, and whether one is at an end."""
        values = np.array(x)
        ends = np.array([[axis[0], axis[-1]] for axis in axes])
        at_end = np.isclose(values[:, None], ends, rtol=1e-6).any(axis=1)
        if not self.differentiable or at_end.all():
            return (np.nan if not self.differentiable else 0.0), bool(at_end.any())
        error, slope = self.error_and_slope(at, values, self._points(at, values))
        return float(np.abs(slope[~at_end]).max() / error), bool(at_end.any())

    def error(self, at: dict[str, float], x: np.ndarray) -> float:
        """The error as `predict` has it; infinite where it fails."""
        model, target, readout = self._described(at, x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)
            found = float(
                predict(
                    model,
                    target,
                    bulk=self.bulk,
                    throw=False,
                    **readout,  # type: ignore[arg-type]
                )["test_error"]
            )
        return found if np.isfinite(found) else np.inf

    def error_and_slope(self, at: dict[str, float], x: np.ndarray, points: int) -> tuple[float, np.ndarray]:
        """The error and its derivatives with respect to ln x, on a rule with that many κ intervals."""
        posed = self._posed(at, x)
        problem = posed.problem
        steps = np.diag(np.asarray(x) * TINY) * 1j + np.asarray(x)[None]  # one direction per row
        moved = {name: steps[:, i] for i, name in enumerate(self._over)}
        count = len(x)

        def value(name: str, array: np.ndarray) -> np.ndarray:
            return np.full((count, 1), array[0, 0], dtype=complex if name in ("alpha", "lam") else float)

        made = self._origin(posed, at, moved, count)
        common = None if np.all(np.isinf(problem.d)) else made.common(np.arange(count))
        setting = Setting(
            *(value(name, getattr(problem, name)) for name in ("alpha", "beta", "lam", "noise", "d")),
            unit=np.ones((count, 1)),
            common=common,
        )
        if "lam" in moved:
            setting.lam = moved["lam"][:, None]
        if "split" in moved:
            setting.alpha = ((1.0 - moved["split"]) * at["budget"])[:, None]
        frame = made.layer.frame()
        layer = Moved(*(part.astype(complex) for part in (frame.b[..., 0], made.layer.c, frame.gamma[:, 0])))
        features, label = problem.table(np.array([0]), points).at(1)
        rules = (features, label, problem.bulks(np.array([0]))[0])
        assert isinstance(problem.labels, OneDirection)  # others are not differentiable
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return error_and_gradient(
                problem.activation, problem.labels.function, problem.biases, layer, rules, setting
            )

    def _origin(self, posed: Posed, at: dict[str, float], moved: dict[str, np.ndarray], count: int) -> Origin:
        """The first layer, once for each direction, with the derivatives of what moves it as imaginary parts."""
        if not {"eta", "split"} & set(moved):
            return posed.origin.at(np.zeros(count, int))
        values = {name: np.full(count, at.get(name, np.nan)) for name in self._model.shaping}
        if "split" in moved:
            values["alpha0"] = moved["split"] * at["budget"]
        values["eta"] = moved.get("eta", values["eta"])
        return origin(self._model, self._target, posed.merging, values)

    def _points(self, at: dict[str, float], x: np.ndarray) -> int:
        """A rule in κ that is fine enough around x."""
        points = _POINTS
        last, _ = self.error_and_slope(at, x, points)
        while points < _FINEST:
            points *= 2
            error, _ = self.error_and_slope(at, x, points)
            if abs(error - last) <= _SAME * abs(error):
                break
            last = error
        return points

    def _posed(self, at: dict[str, float], x: np.ndarray) -> Posed:
        model, target, readout = self._described(at, x)
        return pose(model, target, model_grid(model, target, **readout), self.bulk)

    def _described(
        self, at: dict[str, float], x: np.ndarray
    ) -> tuple[Network | SpikedRF, Target, dict[str, float]]:
        """The model, the target and the readout's parameters at a point, all plain numbers."""
        chosen = at | dict(zip(self._over, map(float, x), strict=True))
        if "split" in chosen:
            chosen["alpha0"] = chosen["split"] * chosen["budget"] / max(1.0, chosen.get("steps", 1.0))
            chosen["alpha"] = (1.0 - chosen["split"]) * chosen["budget"]
        names = [name for name in (*self._model.numbers(), "steps") if name in chosen]
        model = self._model.at(**{name: chosen[name] for name in names})
        target = self._target.at(chosen["noise"])
        readout = {name: chosen[name] for name in ("alpha", "lam", "d") if name in chosen}
        return model, target, readout


def _simplex(start: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A first simplex that fits into the box: a third of the way to its farther side along each axis."""
    start, low, high = np.log(start), np.log(low), np.log(high)
    step = np.where(high - start >= start - low, high - start, low - start) / 3.0
    return np.concatenate([start[None], start + np.diag(step)])

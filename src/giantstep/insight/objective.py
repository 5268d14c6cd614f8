"""The test error as a function of hyperparameters, with derivatives: exact ones where they exist."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GiantstepWarning
from ..model import Network, SpikedRF, Target
from ..prediction import predict
from ..theory.equations.means import Setting
from ..theory.labels import OneDirection
from ..theory.origin import Origin, origin
from ..theory.pose import Posed, model_grid, pose
from .derivative import TINY, Moved, error_and_gradient
from .newton import Bent, descend

if TYPE_CHECKING:
    import xarray as xr

_POINTS = 64  # κ intervals per piece to begin with
_FINEST = 1024
_STEP = 2e-3  # of the differences, in the logarithm of a parameter,
_STANDS_STILL = 1e-9  # and a relative slope that is theirs and not the error's
_SAME = 1e-9  # relative change of the error at which the rule in κ is fine enough


def at_ends(x: tuple[float, ...], axes: list[np.ndarray]) -> np.ndarray:
    """Which parameters are at an end of their range."""
    ends = np.array([[axis[0], axis[-1]] for axis in axes])
    return np.array(np.isclose(np.array(x)[:, None], ends, rtol=1e-6).any(axis=1), ndmin=1)


def _key(at: dict[str, float], x: np.ndarray) -> tuple[Any, ...]:
    return (tuple(at.items()), tuple(np.asarray(x).tolist()))


def _along(n: int) -> list[np.ndarray]:
    """No step, then one there, one back, two there and two back along each of n axes."""
    return [np.zeros(n), *(k * axis for k in (1.0, -1.0, 2.0, -2.0) for axis in np.eye(n))]


def _slopes(found: np.ndarray) -> np.ndarray:
    """Derivatives from values `_along` axes, of fourth order."""
    there, back, farther, before = found[1:].reshape(4, -1)
    return (8.0 * (there - back) - (farther - before)) / (12.0 * _STEP)


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
        self._last: tuple[Any, tuple[float, np.ndarray]] | None = None  # where differences were taken last

    def minimise(
        self, at: dict[str, float], start: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[float, tuple[float, ...]]:
        """The least error in a box around `start`, in logarithms of the parameters, and where."""
        if not self.differentiable:
            y = descend(
                lambda y: self._bent(at, np.exp(y)), np.log(start), np.log(low), np.log(high), _STANDS_STILL
            )
            return self.error(at, np.exp(y)), tuple(map(float, np.exp(y)))
        from scipy.optimize import minimize

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
            bounds=list(zip(np.log(low), np.log(high), strict=True)),
            options={"ftol": 1e-15, "gtol": 1e-11, "maxiter": 200},
        )
        x = np.exp(found.x)
        return self.error(at, x), tuple(map(float, x))

    def stationarity(
        self, at: dict[str, float], x: tuple[float, ...], axes: list[np.ndarray]
    ) -> tuple[float, bool]:
        """Largest |d ln error/d ln x| of the parameters inside their ranges, and whether one is at an end."""
        values, at_end = np.array(x), at_ends(x, axes)
        if at_end.all():
            return 0.0, True
        error, slope = self.error_and_slope(at, values, self._points(at, values))
        return float(np.abs(slope[~at_end]).max() / error), bool(at_end.any())

    def error(self, at: dict[str, float], x: np.ndarray) -> float:
        """The error as `predict` has it; infinite where it fails."""
        found = float(self._predicted(at, dict(zip(self._over, map(float, x), strict=True))))
        return found if np.isfinite(found) else np.inf

    def _predicted(self, at: dict[str, float], values: dict[str, Any]) -> xr.DataArray:
        """The test error at numbers or, along dimensions of their own, at several of them; NaN where it fails."""
        model, target, readout = self._described(at, values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)
            found = predict(model, target, bulk=self.bulk, throw=False, **readout)
        return found["test_error"]

    def error_and_slope(self, at: dict[str, float], x: np.ndarray, points: int) -> tuple[float, np.ndarray]:
        """The error and its derivatives with respect to ln x; exact ones are on a rule with that many κ intervals."""
        return self._exactly(at, x, points) if self.differentiable else self._by_differences(at, x)

    def _by_differences(self, at: dict[str, float], x: np.ndarray) -> tuple[float, np.ndarray]:
        """Differences of fourth order, all their points in one call: good to 1e-9 of the error or so."""
        if self._last is not None and self._last[0] == _key(at, x):
            return self._last[1]
        found = self._around(at, x, _along(len(x)))
        if not np.all(np.isfinite(found)):
            return np.inf, np.zeros(len(x))
        return float(found[0]), _slopes(found)

    def _bent(self, at: dict[str, float], x: np.ndarray) -> Bent:
        """Error, slopes and second derivatives with respect to ln x, all their points in one call.

        Those along two axes are half of what a move along both at once, there and back, has in excess of the moves one
        by one.
        """
        n = len(x)
        pairs = list(combinations(range(n), 2))
        both = [np.eye(n)[i] + np.eye(n)[j] for i, j in pairs]
        found = self._around(at, x, [*_along(n), *both, *(-move for move in both)])
        if not np.all(np.isfinite(found)):
            return np.inf, np.zeros(n), np.eye(n)
        there, back, farther, before = found[1 : 4 * n + 1].reshape(4, n)
        alone = there + back - 2.0 * found[0]
        twice = farther + before - 2.0 * found[0]
        second = np.diag((16.0 * alone - twice) / (12.0 * _STEP**2))
        joint = found[4 * n + 1 :].reshape(2, -1).sum(axis=0) - 2.0 * found[0]
        for (i, j), excess in zip(pairs, joint, strict=True):
            second[i, j] = second[j, i] = (excess - alone[i] - alone[j]) / (2.0 * _STEP**2)
        error, slopes = float(found[0]), _slopes(found[: 4 * n + 1])
        self._last = _key(at, x), (error, slopes)
        return error, slopes, second

    def _around(self, at: dict[str, float], x: np.ndarray, moves: list[np.ndarray]) -> np.ndarray:
        """The error at x, times e to so many steps along each parameter.

        First layers are dear and penalties on them are not: each layer is made once, and has all penalties.
        """
        import xarray as xr

        on = [i for i, name in enumerate(self._over) if name != "lam"]
        layers, penalties = (
            list(dict.fromkeys(tuple(move[i] for i in chosen) for move in moves))
            for chosen in (on, [i for i in range(len(x)) if i not in on])
        )

        def moved(i: int, steps: list[float], dim: str) -> xr.DataArray:
            return xr.DataArray(x[i] * np.exp(_STEP * np.array(steps)), dims=dim)

        values = {self._over[i]: moved(i, [one[k] for one in layers], "point") for k, i in enumerate(on)}
        if "lam" in self._over:
            values["lam"] = moved(self._over.index("lam"), [one[0] for one in penalties], "penalty")
        found = self._predicted(at, values).transpose("point", "penalty", missing_dims="ignore")
        table = found.values.reshape(len(layers), len(penalties))
        return np.array(
            [
                table[layers.index(tuple(move[i] for i in on)), penalties.index(tuple(np.delete(move, on)))]
                for move in moves
            ]
        )

    def _exactly(self, at: dict[str, float], x: np.ndarray, points: int) -> tuple[float, np.ndarray]:
        """By implicit differentiation of the fixed point."""
        posed = self._posed(at, x)
        problem = posed.problem
        assert isinstance(problem.labels, OneDirection)  # others are not `differentiable`
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
        """A rule in κ that is fine enough around x for exact derivatives."""
        points = _POINTS
        if not self.differentiable:
            return points
        last, _ = self.error_and_slope(at, x, points)
        while points < _FINEST:
            points *= 2
            error, _ = self.error_and_slope(at, x, points)
            if abs(error - last) <= _SAME * abs(error):
                break
            last = error
        return points

    def _posed(self, at: dict[str, float], x: np.ndarray) -> Posed:
        model, target, readout = self._described(at, dict(zip(self._over, map(float, x), strict=True)))
        return pose(model, target, model_grid(model, target, **readout), self.bulk)

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
        target = self._target.at(chosen["noise"])
        readout = {name: chosen[name] for name in ("alpha", "lam", "d") if name in chosen}
        return model.moved(**several) if several else model, target, readout

"""An error as a function of hyperparameters, with its derivatives."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import GiantstepWarning
from ..losses import Loss, square
from ..model import Network, SpikedRF, Target
from ..prediction import predict, usual_tolerance
from ..theory import engine
from ..theory.around import FOURTH_ORDER, TINY, Around
from ..theory.engine import Rectangle
from ..theory.equations.means import TOLD, Setting
from ..theory.equations.solution import Solution
from ..theory.pose import Posed, model_grid, pose
from ..theory.problem import Problem
from ..theory.status import FAILED, REAL_SIZE
from .newton import descend

if TYPE_CHECKING:
    import xarray as xr


_STEP = 4e-3  # of differences, in the logarithm of a parameter
_STANDS_STILL = 1e-9  # relative slope at which an optimum is one,
_HARDLY_MOVES = 1e-7  # for losses whose solutions have fewer digits
_AGAIN = 3  # how often an optimum may call for finer rules than those that led there


def at_ends(x: tuple[float, ...], axes: list[np.ndarray]) -> np.ndarray:
    """Which parameters are at an end of their range."""
    ends = np.array([[axis[0], axis[-1]] for axis in axes])
    return np.array(np.isclose(np.array(x)[:, None], ends, rtol=1e-6).any(axis=1), ndmin=1)


def _key(at: dict[str, float], x: np.ndarray) -> tuple[Any, ...]:
    return (tuple(at.items()), tuple(np.asarray(x).tolist()))


def _one_kind(problem: Problem, chunk: np.ndarray) -> bool:
    """Whether first layers were made in the same way and see the target turned alike, so that they share rules."""
    kinds = problem.origin.kinds
    if (kinds != kinds[0]).any():
        return False
    turned = problem.labels.alike(problem.frame(chunk))
    return bool((turned == turned[0]).all())


class Optimum(NamedTuple):
    """The least error that was found, and where."""

    x: np.ndarray
    error: float
    sized: float  # the error at a usual size, where it is that of the limit
    slope: np.ndarray  # d error/d ln x
    rules: Rectangle  # on which it is known

    def stationarity(self, axes: list[np.ndarray]) -> tuple[float, bool]:
        """Largest |d ln error/d ln x| of the parameters inside their ranges, and whether one is at an end."""
        at_end = at_ends(tuple(self.x), axes)
        return float(np.abs(self.slope[~at_end]).max(initial=0.0) / self.error), bool(at_end.any())


class Objective:
    """error(at, x): `at` are the values of a grid point, x those of the parameters named in `over`.

    Derivatives are with respect to ln x.
    """

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
        names = [*dict.fromkeys([*model.numbers(), "steps"]), "noise", "alpha", "lam", "d", "budget"]
        derived = ("alpha0", "alpha") if "split" in over else ()
        self.fixed = [
            name for name in names if name in landscape.coords and name not in over and name not in derived
        ]
        self.bulk = str(landscape.attrs.get("bulk", bulk or "isotropic"))
        self._squared = error == "test_error"  # which alone has derivatives and a value at a usual size
        self.still = _STANDS_STILL if loss.linear and self._squared else _HARDLY_MOVES
        self._shaping = [name for name in over if name != "lam"]  # the first layer, and with it all else
        self._rules: Rectangle | None = None  # that derivatives are taken on
        self._start: Solution | None = None  # on them
        self._last: tuple[Any, tuple[float, np.ndarray]] | None = None  # what was asked for last

    def minimise(
        self,
        at: dict[str, float],
        start: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        curvature: np.ndarray | None = None,
    ) -> Optimum:
        """The least error in a box around `start`, in logarithms of the parameters; never above that at the start.

        `curvature` are the second derivatives there, over the error, as far as they are known.
        """
        bounds = np.log(low), np.log(high)

        def sloped(y: np.ndarray) -> tuple[float, np.ndarray]:
            return self.error_and_slope(at, np.exp(y))

        best = self._settled(at, start)
        for _ in range(_AGAIN):
            self._follow(best.rules)
            guess = best.error * (np.eye(len(start)) if curvature is None else curvature)
            y = descend(sloped, np.log(best.x), *bounds, guess, self.still)
            found = self._settled(at, np.clip(np.exp(y), low, high))
            if not found.error <= best.error:
                break
            best, used = found, best.rules
            if found.rules.points <= used.points and found.rules.refinement <= used.refinement:
                break  # else finer rules are called for here than where it was looked for
        sized = best.sized if self._squared else self._at_usual_size(at, best)
        return best._replace(slope=self.error_and_slope(at, best.x)[1], sized=sized)

    def error(self, at: dict[str, float], x: np.ndarray) -> float:
        """The error as `predict` has it; infinite where it fails."""
        return self._settled(at, np.asarray(x)).error

    def _settled(self, at: dict[str, float], x: np.ndarray) -> Optimum:
        """A point as `predict` has it, with the rules on which that is known."""
        posed = self._posed(at, dict(zip(self._over, map(float, x), strict=True)))
        rules, answers = engine.settled(posed.problem, usual_tolerance(posed))
        failed = bool(FAILED[answers["code"][0, 0]])
        error, sized = (
            np.inf if failed else float(answers[name][0, 0]) for name in (self._name, "sized_error")
        )
        return Optimum(x, error, sized, np.full(len(x), np.nan), rules)

    def _at_usual_size(self, at: dict[str, float], best: Optimum) -> float:
        """The error at a usual size; the same, where a size is given."""
        if np.isfinite(at.get("d", np.inf)):
            return best.error
        return self.error(at | {"d": REAL_SIZE}, best.x)

    def _follow(self, rules: Rectangle) -> None:
        """Take derivatives on these rules."""
        self._rules, self._start, self._last = rules, None, None

    def error_and_slope(self, at: dict[str, float], x: np.ndarray) -> tuple[float, np.ndarray]:
        """The error and its derivatives with respect to ln x; infinite where it fails."""
        if self._last is None or self._last[0] != _key(at, x):
            self._last = _key(at, x), self._sloped(at, x)
        return self._last[1]

    def _sloped(self, at: dict[str, float], x: np.ndarray) -> tuple[float, np.ndarray]:
        if self._rules is None:
            self._follow(self._settled(at, x).rules)
        assert self._rules is not None
        solver, around = self._rules.solver, self._around(at, x, self._rules)
        point = None if around is None else around.point
        if around is None or point is None:
            return self._by_differences(at, x)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            start = None if self._start is None else solver.restart(self._start)
            (here,) = solver.solve([point], start, thorough=not solver.linear)
            error, slope = float(here.test_error[0, 0]), solver.slopes(around, here)
        if not (np.isfinite(error) and np.all(np.isfinite(slope))):
            return np.inf, np.zeros(len(x))
        self._start = here
        return error, slope

    def _around(self, at: dict[str, float], x: np.ndarray, rules: Rectangle) -> Around | None:
        """The point, and others around it along what shapes the first layer; None if they are not of one kind, or the
        error has no derivatives."""
        import xarray as xr

        if not self._squared:
            return None
        chosen = dict(zip(self._over, map(float, x), strict=True))
        moves = [(name, steps) for name in self._shaping for steps in FOURTH_ORDER]
        values: dict[str, Any] = dict(chosen)
        for name in self._shaping:
            steps = [0, *(steps if name == own else 0 for own, steps in moves)]
            values[name] = xr.DataArray(chosen[name] * np.exp(_STEP * np.array(steps)), dims="point")
        problem = self._posed(at, values).problem
        chunk = np.arange(1 + len(moves))
        if not _one_kind(problem, chunk):
            return None
        layers = None if rules.layers is None else rules.layers.repeat(len(chunk), axis=0)
        rule = engine.on_finest(
            replace(rules, problem=problem, chunk=chunk, block=np.zeros(1, int), layers=layers)
        )
        same = {name: getattr(rule.setting, name)[:1].repeat(len(chunk), axis=0) for name in TOLD}
        rule = replace(rule, setting=Setting(**same, common=rule.setting.common))
        weights = np.zeros((len(x), len(chunk)))
        for place, (name, steps) in enumerate(moves, start=1):
            weights[self._over.index(name), place] = FOURTH_ORDER[steps] / _STEP
        return Around(rule, weights, self._departing(rule.setting, at, chosen))

    def _departing(self, setting: Setting, at: dict[str, float], chosen: dict[str, float]) -> Setting:
        """The readout's parameters with their derivatives along each direction as imaginary parts, [D, 1]."""
        told = {name: getattr(setting, name)[:1].repeat(len(self._over), axis=0) for name in TOLD}
        along = {
            name: 1j * TINY * unit[:, None]
            for name, unit in zip(self._over, np.eye(len(self._over)), strict=True)
        }
        if "lam" in chosen:
            told["lam"] = told["lam"] + chosen["lam"] * along["lam"]
        if "split" in chosen:
            told["alpha"] = told["alpha"] - chosen["split"] * at["budget"] * along["split"]
        return Setting(**told)

    def _by_differences(self, at: dict[str, float], x: np.ndarray) -> tuple[float, np.ndarray]:
        """Of fourth order, where points around x have not enough in common; good to 1e-9 of the error or so."""
        moves = [np.zeros(len(x)), *(steps * axis for axis in np.eye(len(x)) for steps in FOURTH_ORDER)]
        found = self._errors(at, x * np.exp(_STEP * np.array(moves)))
        if not np.all(np.isfinite(found)):
            return np.inf, np.zeros(len(x))
        return float(found[0]), found[1:].reshape(len(x), -1) @ np.array(list(FOURTH_ORDER.values())) / _STEP

    def _errors(self, at: dict[str, float], points: np.ndarray) -> np.ndarray:
        """Those of several points [P, n]; infinite where they fail."""
        import xarray as xr

        values = {name: xr.DataArray(points[:, i], dims="point") for i, name in enumerate(self._over)}
        model, target, readout = self._described(at, values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GiantstepWarning)
            found = predict(model, target, bulk=self.bulk, loss=self._loss, throw=False, **readout)
        return np.nan_to_num(found[self._name].values, nan=np.inf)

    def _posed(self, at: dict[str, float], values: dict[str, Any]) -> Posed:
        model, target, readout = self._described(at, values)
        return pose(model, target, model_grid(model, target, **readout), self.bulk, self._loss)

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

"""What the page asks: each view turns settings into one call of a verb and its answer into plain lists.

A view names the settings that it `uses`: its answer depends on nothing else, so the page asks again only when one
of them changes, and equal questions are answered from memory. Its lane is the queue that it waits in: "quick" (some
tenths of a second), "late" (up to seconds), "heavy" (more) or "simulation", so that none waits for a slower one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GiantstepWarning, ParameterError
from .call import Call, Spaced

if TYPE_CHECKING:
    import xarray as xr

    from .settings import Settings

Answer = dict[str, Any]

_LABELS = ("target", "noise", "flips", "latent_noise")
_FIRST_LAYER = ("activation", "readout", "eta", "alpha0", "beta", *_LABELS)
_RANGE = ("alpha_min", "alpha_max")
_THEORY = ("loss", "bulk", "finite", "d")
ERRORS = ("test_error", "train_error", "test_error_01", "train_error_01")

_LOG_RATIO = 30.0  # ranges that span more than this are spaced, and drawn, logarithmically
_CURVE = {True: 80, False: 16}  # points of a learning curve: square loss, any other
_SIMULATED = 8  # of which this many are simulated
_MAP = {True: (17, 13), False: (7, 6)}  # values of eta and lam on the map
_PROFILE = Spaced(-4.0, 4.0, 121)  # inputs of the learned function and of the coefficients
_SPECTRUM_POINTS = 80


@dataclass(frozen=True)
class View:
    """One question: what computes it, the settings that it uses, and the queue that it waits in for given ones."""

    lines: Callable[[Settings], Iterator[Answer]]
    uses: tuple[str, ...]
    lane: Callable[[Settings], str]


VIEWS: dict[str, View] = {}


def _by_loss(settings: Settings) -> str:
    return "quick" if settings.loss == "square" else "late"


def _heavy(settings: Settings) -> str:
    return "heavy"


def _view(uses: tuple[str, ...], lane: Callable[[Settings], str] = _by_loss) -> Any:
    """Register a function from settings to an answer as a view of one line."""

    def register(function: Callable[[Settings], Answer]) -> Callable[[Settings], Answer]:
        VIEWS[function.__name__] = View(lambda settings: iter((function(settings),)), uses, lane)
        return function

    return register


@_view((*_FIRST_LAYER, *_RANGE, "lam", *_THEORY))
def curve(settings: Settings) -> Answer:
    """The learning curve, and the spiked features that the trained layer resembles."""
    return _curve(settings, {})


@_view(("activation", "beta", *_LABELS, *_RANGE, "lam", "loss", "finite", "d"))
def random_features(settings: Settings) -> Answer:
    """The same without the gradient step."""
    return _curve(settings, {"eta": 0.0, "alpha0": 0.0})


@_view((*_FIRST_LAYER, "bulk"))
def bounds(settings: Settings) -> Answer:
    """What no number of samples can beat."""
    call = Call("bounds", settings, {"bulk": settings.bulk}, shows=("lower", "upper", "linear"))
    found, notes = _noted(call)
    return _answer(call, notes) | {name: float(found[name]) for name in ("lower", "upper", "linear")}


@_view((*_FIRST_LAYER, "alpha", "lam", *_THEORY))
def learned(settings: Settings) -> Answer:
    """The average output of the network against its target, at the working point."""
    arguments = {"x": _PROFILE, "alpha": settings.alpha, **_readout(settings)}
    call = Call("learned_function", settings, arguments, shows=("learned", "truth"))
    found, notes = _noted(call)
    values = {"x": _PROFILE.value, "learned": found["learned"], "truth": found["truth"]}
    point = {name: float(found[name]) for name in ERRORS if name in found}
    return _answer(call, notes, **values) | {"point": point, "layer": _layer(found)}


@_view(_FIRST_LAYER)
def coefficients(settings: Settings) -> Answer:
    """Result 2's functions μ0, μ1, μ2 of the projection on the spike, for each letter."""
    call = Call("coefficients", settings, {"kappa": _PROFILE}, shows=("mu0", "mu1", "mu2"), equivalent=True)
    found, notes = _noted(call)
    letters = [float(letter) for letter in found["letter"].values] if "letter" in found.dims else [None]
    curves = [
        {"letter": letter}
        | {
            name: _plain(found[name].isel(letter=i) if letter is not None else found[name])
            for name in call.shows
        }
        for i, letter in enumerate(letters)
    ]
    return _answer(call, notes, kappa=_PROFILE.value) | {"curves": curves}


@_view((*_FIRST_LAYER, "alpha", "bulk", "finite", "d"), lane=_heavy)
def spectrum(settings: Settings) -> Answer:
    """Eigenvalues of the features' covariance at the working point: bulk, outliers, spikes."""
    arguments = {"alpha": settings.alpha, **_size(settings), "points": _SPECTRUM_POINTS}
    if settings.bulk == "isotropic":
        arguments["bulk"] = settings.bulk
    call = Call("spectrum", settings, arguments, shows=("edge", "outlier", "mass_at_zero"))
    found, notes = _noted(call)
    names = ("eigenvalue", "density", "edge", "outlier", "spike", "spike_per_d")
    lists = {name: found[name] for name in names if name in found}
    numbers = {"mass_at_zero": float(found["mass_at_zero"]), "bulk": found.attrs["bulk"]}
    return _answer(call, notes, **lists) | numbers


@_view(
    (*(name for name in _FIRST_LAYER if name != "eta"), "alpha", *_THEORY),
    lane=lambda settings: "late" if settings.bulk == "exact" else _by_loss(settings),
)
def landscape(settings: Settings) -> Answer:
    """The test error over learning rates and penalties, at the working point."""
    eta, lam = _map_axes(settings)
    arguments = {"alpha": settings.alpha, **_readout(settings, lam)}
    call = Call("predict", settings, arguments, {"eta": eta}, shows=("test_error",))
    found, notes = _noted(call, throw=False)
    values = {"eta": eta.value, "lam": lam.value, "test_error": found["test_error"].transpose("eta", "lam")}
    return _answer(call, notes, **values) | {"best": _lowest(found["test_error"])}


@_view(
    (*(name for name in _FIRST_LAYER if name != "eta"), "alpha", "bulk", "finite", "d"),
    lane=_heavy,
)
def optimum(settings: Settings) -> Answer:
    """The best learning rate and penalty on that map, polished."""
    eta, lam = _map_axes(settings)
    arguments = {"alpha": settings.alpha, "over": ("eta", "lam"), "bulk": settings.bulk, **_size(settings)}
    call = Call(
        "tune",
        settings,
        arguments | {"scan": {"eta": eta, "lam": lam}},
        {"eta": 1.0},  # replaced by the search
        shows=("best_error", "best_eta", "best_lam", "at_end"),
    )
    found, notes = _noted(call)
    best = {name: float(found[f"best_{name}"]) for name in ("eta", "lam", "error")}
    return _answer(call, notes) | {"best": best, "at_end": bool(found["at_end"])}


def simulate(settings: Settings) -> Iterator[Answer]:
    """Trained networks: after every trial the means so far, and from the second on their standard errors."""
    alphas = _alphas(settings, _SIMULATED)
    arguments = {"alpha": alphas, "lam": settings.lam, "loss": settings.loss, "d": settings.d}
    shown = Call("simulate", settings, arguments | {"trials": settings.trials, "seed": settings.seed})
    runs: list[xr.Dataset] = []
    notes: list[str] = []
    yield {"trial": 0, "trials": settings.trials, "code": shown.python()}
    for trial in range(settings.trials):
        found, said = _noted(
            Call("simulate", settings, arguments | {"trials": [trial], "seed": settings.seed})
        )
        runs.append(found.isel(trial=0))
        notes = sorted({*notes, *said})
        line: Answer = {"trial": trial + 1, "trials": settings.trials, "alpha": _plain(alphas.value)}
        for name in ERRORS:
            if name in found:
                values = np.array([run[name].values for run in runs])
                errors = (
                    values.std(axis=0, ddof=1) / math.sqrt(trial + 1)
                    if trial
                    else np.full(_SIMULATED, np.nan)
                )
                line[name] = {"mean": _plain(values.mean(axis=0)), "error": _plain(errors)}
        yield line | {"notes": notes, "code": shown.python()}


VIEWS["simulate"] = View(
    simulate,
    (*_FIRST_LAYER, *_RANGE, "lam", "loss", "d", "trials", "seed"),
    lambda settings: "simulation",
)


def _curve(settings: Settings, model: dict[str, Any]) -> Answer:
    alphas = _alphas(settings, _CURVE[settings.loss == "square"])
    arguments = {"alpha": alphas, **_readout(settings)}
    if model:
        del arguments["bulk"]  # a layer without a step has one bulk
    call = Call("predict", settings, arguments, model, shows=("test_error", "train_error"))
    found, notes = _noted(call, throw=False)
    values = {name: found[name] for name in ERRORS if name in found}
    if not np.isfinite(found["test_error"].values).any():
        raise ParameterError(f"no point of the curve could be computed: {notes[0] if notes else 'unknown'}")
    return _answer(call, notes, alpha=alphas.value, **values) | {"log": alphas.log, "layer": _layer(found)}


def _alphas(settings: Settings, count: int) -> Spaced:
    low, high = settings.alpha_min, settings.alpha_max
    return Spaced(low, high, count, log=high / low > _LOG_RATIO)


def _map_axes(settings: Settings) -> tuple[Spaced, Spaced]:
    """Learning rates and penalties of the map: fixed, so that their sliders move a mark and not the map."""
    rates, penalties = _MAP[settings.loss == "square"]
    return Spaced(0.05, 50.0, rates, log=True), Spaced(1e-4, 1e2, penalties, log=True)


def _readout(settings: Settings, lam: Any = None) -> Answer:
    given: Answer = {"lam": settings.lam if lam is None else lam}
    if settings.loss != "square":
        given["loss"] = settings.loss
    return given | {"bulk": settings.bulk} | _size(settings)


def _size(settings: Settings) -> Answer:
    return {"d": settings.d} if settings.finite else {}


def _layer(found: xr.Dataset) -> Answer:
    """r, γ and c; lists where letters differ."""
    return {name: _plain(found[name]) for name in ("r", "gamma", "c") if name in found}


def _lowest(errors: xr.DataArray) -> Answer | None:
    if not np.isfinite(errors.values).any():
        return None
    at = errors.isel(errors.argmin(..., skipna=True))  # type: ignore[arg-type]
    return {"eta": float(at["eta"]), "lam": float(at["lam"]), "error": float(at)}


def _noted(call: Call, **more: Any) -> tuple[Any, list[str]]:
    """The call's answer, and what the library had to say about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", GiantstepWarning)
        found = call.run(**more)
    return found, sorted({" ".join(str(warning.message).split()) for warning in caught})


def _answer(call: Call, notes: list[str], **arrays: Any) -> Answer:
    lists = {name: _plain(values) for name, values in arrays.items()}
    return {"code": call.python(), "notes": notes} | lists


def _plain(values: Any) -> Any:
    """Nested lists of numbers, None where there is none: JSON has neither NaN nor infinity."""
    array = np.asarray(values, dtype=float)
    plain = array.astype(object)
    plain[~np.isfinite(array)] = None
    return plain.tolist()

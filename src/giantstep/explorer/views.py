"""What the page asks: each view turns settings into one call of a verb and its answer into plain lists."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import after_last_step
from ..answers.quantities import names
from ..errors import GiantstepWarning, ParameterError
from ..losses import as_loss
from ..model.target import Target
from .call import Call, Spaced
from .refusals import page_words
from .view import VIEWS, Answer, Effort, View, always, by_effort, quick, view

if TYPE_CHECKING:
    import xarray as xr

    from .settings import Settings

_LABELS = ("target", "noise", "flips", "latent_noise", "inputs", "share", "exponent")
_MAPPED = (  # the first layer, without what the map runs over
    "activation", "readout", "layer", "alpha0", "steps", "rows", "bias_scale", "gamma", "c", "beta", *_LABELS
)  # fmt: skip
_LAYER = (*_MAPPED, "eta", "r")
_CURVE = ("along", "low", "high", "alpha", "lam")
_THEORY = ("loss", "bulk", "finite", "d")
_ERRORS = names("error")
_TESTED = ("test_error", "test_error_01")
_PARTS = ("expressivity", "readout", "batch_noise")

_LOG_RATIO = 30.0  # ranges that span more than this are spaced, and drawn, logarithmically
_POINTS = {True: (80, 24), False: (16, 6)}  # of a curve and of its draft: those that are quick, any other
_SIMULATED = 8  # points of a simulated curve
_MAP = {True: ((17, 13), (9, 7)), False: ((7, 6), (4, 3))}  # values on the map, and on its draft
_DRAFT = 1e-4  # relative error of integrals in a draft
_SHADES = 1e-3  # the same on a map that is slow or a draft: its shades tell no more
_PROFILE = Spaced(-4.0, 4.0, 121)  # inputs of the learned function and of the coefficients
_PLANE = Spaced(-2.5, 2.5, 33)  # those along each of the first two directions of several
_SPECTRUM_POINTS = 80
_ENDLESS = 1e6  # samples ÷ d that stand for infinitely many: references differ by less than is drawn
_NO_PROFILE = "The learned function is not known here for letters whose spikes point in different directions."
_NO_ORTHOGONAL = "The spectrum of orthogonal rows is not known here: this is that of isotropic rows."


@view((*_LAYER, *_CURVE, *_THEORY), drafts=True)
def curve(settings: Settings, effort: Effort) -> Answer:
    """The error along one parameter, and the spiked features that the trained layer resembles."""
    return _curve(settings, effort, settings.along)


_FLAT = ("eta", "alpha0", "r", "gamma")  # random features know nothing of these


@view(
    ("activation", "layer", "rows", "bias_scale", "c", "beta", *_LABELS, *_CURVE, "loss", "finite", "d"),
    drafts=True,
)
def random_features(settings: Settings, effort: Effort) -> Answer:
    """The same without the spike; one value where the curve runs along a parameter of the spike."""
    plain = replace(settings, eta=0.0, alpha0=0.0, r=0.0, bulk="exact")
    return _curve(plain, effort, None if settings.along in _FLAT else settings.along)


_SAMPLES = ("layer", "alpha0", "steps", "along", "low", "high", "alpha", *_LABELS)


@view(_SAMPLES, lane=always("quick"))
def best_linear(settings: Settings, effort: Effort) -> Answer:
    """Ridge regression on isotropic inputs with the best penalty, on as many samples as the network sees."""
    return {} if settings.structured else _reference("ridge", settings)


@view(_SAMPLES, lane=always("reference"))
def best_possible(settings: Settings, effort: Effort) -> Answer:
    """The best error that a fast method can reach on as many samples of isotropic inputs.

    For several directions that takes too long.
    """
    if settings.structured or Target(settings.target).directions > 1:
        return {}
    return _reference("bayes", settings, progress=effort.report)


@view((*_LAYER, "bulk", "d"))
def bounds(settings: Settings, effort: Effort) -> Answer:
    """What no number of samples can beat."""
    call = Call("bounds", settings, _bulk(settings), shows=("lower", "upper", "linear"))
    found, notes = _noted(call)
    values = {name: float(after_last_step(found[name]).values) for name in ("lower", "upper", "linear")}
    if values["lower"] > values["linear"] * (1 + 1e-9):
        notes.append(
            "The lower bound is on readouts of this first layer. It may lie above the best linear method, which"
            " works on the inputs themselves: a spike that is not aligned with the target is in the way."
        )
    return _answer(call, notes) | values


@view((*_LAYER, "alpha", "lam", *_THEORY))
def learned(settings: Settings, effort: Effort) -> Answer:
    """The average output of the network against its target, at the working point: on a line, or on a plane."""
    plane = Target(settings.target).directions > 1
    x = {"x1": _PLANE, "x2": _PLANE} if plane else {"x": _PROFILE}
    arguments = {"x": tuple(x.values()) if plane else _PROFILE, "alpha": settings.alpha, **_readout(settings)}
    call = Call("learned_function", settings, arguments, shows=("learned", "truth"))
    found, notes = _noted(call)
    learned, truth = after_last_step(found["learned"]), found["truth"]
    if learned.ndim > truth.ndim:  # one for each letter's spike, none of which is the network's
        learned = np.full(truth.shape, np.nan)
        notes.append(_NO_PROFILE)
    else:
        learned = learned.transposed(truth.dims).values
    values = {name: at.value for name, at in x.items()} | {"learned": learned, "truth": truth}
    point = {name: float(found[name]) for name in _ERRORS if name in found}
    return _answer(call, notes, **values) | {"point": point, "layer": _layer(settings, found)}


@view((*_LAYER, "alpha", "lam", "loss", "bulk", "d"), lane=always("reference"))
def parts(settings: Settings, effort: Effort) -> Answer:
    """The network's test error as a sum of three, and what other methods reach on as many samples."""
    several = Target(settings.target).directions > 1  # whose best possible error takes too long for a page
    if settings.layer == "spiked" or several or not as_loss(settings.loss).residual:
        return {"parts": None}
    arguments = {"alpha": settings.alpha, "lam": settings.lam} | _loss(settings) | _bulk(settings)
    call = Call("explain", settings, arguments, shows=(*_PARTS, "test_error"))
    found, notes = _noted(call)
    found = {
        name: after_last_step(found[name]).values
        for name in (*_PARTS, "test_error", "ridge_error", "bayes_error")
    }
    return _answer(call, notes, **found) | {"parts": _PARTS}


@view((*_LAYER, "d"))  # a power law of the inputs depends on d
def coefficients(settings: Settings, effort: Effort) -> Answer:
    """Result 2's functions μ0, μ1, μ2 of the projection on the spike, for each letter."""
    call = Call("coefficients", settings, {"kappa": _PROFILE}, shows=("mu0", "mu1", "mu2"), of="net")
    found, notes = _noted(call)
    found = found.isel(step=-1) if "step" in found.dims else found
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


@view((*_LAYER, "alpha", "bulk", "finite", "d"), lane=always("heavy"))
def spectrum(settings: Settings, effort: Effort) -> Answer:
    """Eigenvalues of the features' covariance at the working point: bulk, outliers, spikes."""
    arguments = {"alpha": settings.alpha, **_size(settings), "points": _SPECTRUM_POINTS}
    exact = settings.bulk == "exact" and settings.steps == 1 and Target(settings.target).directions == 1
    if not exact:  # after several steps it takes too long for a page, of several directions it is not known
        arguments["bulk"] = "isotropic"
    call = Call("spectrum", settings, arguments, shows=("edge", "outlier", "mass_at_zero"))
    found, notes = _noted(call, progress=effort.report)
    found = found.isel(step=-1) if "step" in found.dims else found  # the layer as it is in the end
    bulk = found.attrs["bulk"]
    if settings.bulk == "orthogonal":
        notes.append(_NO_ORTHOGONAL)
    shown = ("eigenvalue", "density", "edge", "outlier", "spike", "spike_per_d")
    lists = {name: found[name] for name in shown if name in found}
    return _answer(call, notes, **lists) | {"mass_at_zero": float(found["mass_at_zero"]), "bulk": bulk}


@view(
    (*_MAPPED, "alpha", *_THEORY),
    lane=lambda settings: "late" if settings.bulk == "exact" else by_effort(settings),
    drafts=True,
)
def landscape(settings: Settings, effort: Effort) -> Answer:
    """Test errors over learning rates (or spikes) and penalties, at the working point; wrong signs too of labels ±1."""
    name, strengths, lam = _map_axes(settings, effort.coarse)
    arguments = {"alpha": settings.alpha, **_readout(settings, lam)}
    if effort.coarse or not quick(settings) or settings.layer == "spiked":  # enough for shades
        arguments["tolerance"] = _SHADES
    call = Call("predict", settings, arguments, {name: strengths}, shows=("test_error",))
    found, notes = _noted(call, throw=False, progress=effort.report)
    errors = {one: found[one].transpose(name, "lam") for one in _TESTED if one in found}
    best = {one: _lowest(values, name) for one, values in errors.items()}
    values = {"strength": strengths.value, "lam": lam.value, **errors}
    return _answer(call, notes, **values) | {"name": name, "best": best}


@view((*_MAPPED, "alpha", "bulk", "finite", "d"), lane=always("heavy"))
def optimum(settings: Settings, effort: Effort) -> Answer:
    """The best learning rate and penalty on that map, polished."""
    name, strengths, lam = _map_axes(settings, False)
    arguments = {"alpha": settings.alpha, "over": (name, "lam"), **_bulk(settings), **_size(settings)}
    call = Call(
        "tune",
        settings,
        arguments | {"scan": {name: strengths, "lam": lam}},
        {name: 1.0},  # replaced by the search
        shows=("best_error", f"best_{name}", "best_lam", "at_end"),
    )
    found, notes = _noted(call, progress=effort.report)
    best = {"strength": f"best_{name}", "lam": "best_lam", "error": "best_error"}
    values = {key: float(found[variable]) for key, variable in best.items()}
    return _answer(call, notes) | {"best": values, "at_end": bool(found["at_end"])}


def simulate(settings: Settings, effort: Effort) -> Iterator[Answer]:
    """Trained networks: after every trial the means so far, and from the second on their standard errors."""
    values = _range(settings, _SIMULATED)
    model, arguments = _placed(settings.along, values)
    arguments = {"alpha": settings.alpha, "lam": settings.lam} | arguments
    arguments |= {"loss": settings.loss, "d": settings.d}
    if settings.bulk == "orthogonal":
        arguments["bulk"] = settings.bulk
    shown = Call(
        "simulate", settings, arguments | {"trials": settings.trials, "seed": settings.seed}, model
    ).python()
    runs: list[xr.Dataset] = []
    notes: list[str] = []
    yield {"trial": 0, "trials": settings.trials, "code": shown}
    for trial in range(settings.trials):
        one = Call("simulate", settings, arguments | {"trials": [trial], "seed": settings.seed}, model)
        found, said = _noted(one)
        runs.append(found.isel(trial=0))
        notes = sorted({*notes, *said})
        means = {name: np.array([run[name].values for run in runs]) for name in _ERRORS if name in found}
        scatter = {
            name: values.std(axis=0, ddof=1) if trial else np.nan * values[0]
            for name, values in means.items()
        }
        yield {
            "trial": trial + 1,
            "trials": settings.trials,
            "d": settings.d,
            "x": _plain(values.value),
            "notes": notes,
            "code": shown,
        } | {
            name: {
                "mean": _plain(means[name].mean(axis=0)),
                "error": _plain(scatter[name] / math.sqrt(trial + 1)),
            }
            for name in means
        }


VIEWS["simulate"] = View(
    simulate,
    (*_LAYER, *_CURVE, "loss", "d", "trials", "seed", "bulk"),
    always("simulation"),
)


def _curve(settings: Settings, effort: Effort, along: str | None) -> Answer:
    shared = settings.along in ("alpha", "lam")  # all points have the first layer in common
    many = quick(settings) or (shared and settings.loss == "square")
    values = _range(settings, _POINTS[many][effort.coarse])
    model, arguments = _placed(along, values)
    arguments = {"alpha": settings.alpha, **_readout(settings)} | arguments
    call = Call("predict", settings, arguments, model, shows=("test_error", "train_error"))
    found, notes = _noted(
        call, throw=False, progress=effort.report, **({"tolerance": _DRAFT} if effort.coarse else {})
    )
    errors = {name: found[name] for name in _ERRORS if name in found}
    if not np.isfinite(found["test_error"].values).any():
        raise ParameterError(f"no point of the curve could be computed: {notes[0] if notes else 'unknown'}")
    return _answer(call, notes, x=values.value, **errors) | {
        "along": settings.along,
        "log": values.log,
        "size": settings.d if settings.finite else None,
        "layer": _layer(settings, found),
    }


def _reference(verb: str, settings: Settings, **more: Any) -> Answer:
    """What a method reaches on all samples that the network sees: those of the steps, and those of the readout."""
    steps = 0.0 if settings.layer == "spiked" else min(settings.alpha0, _ENDLESS) * settings.steps
    values = _range(settings, _POINTS[True][False])
    if settings.along == "alpha":
        samples = replace(values, plus=steps)
    elif settings.along == "alpha0":
        samples = replace(values, plus=settings.alpha, times=float(settings.steps))
    else:
        samples = settings.alpha + steps
    call = Call(verb, settings, {"alpha": samples}, shows=("test_error",), of="y")
    found, notes = _noted(call, **more)
    return _answer(call, notes, x=values.value, **{name: found[name] for name in _TESTED if name in found})


def _range(settings: Settings, count: int) -> Spaced:
    low, high = settings.low, settings.high
    return Spaced(low, high, count, log=low > 0 and high / low > _LOG_RATIO)


def _placed(along: str | None, values: Spaced) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where a range goes: to the parameters of the layer, or to the arguments of the verb."""
    if along is None:
        return {}, {}
    return ({}, {along: values}) if along in ("alpha", "lam") else ({along: values}, {})


def _map_axes(settings: Settings, coarse: bool) -> tuple[str, Spaced, Spaced]:
    """Learning rates or spikes, and penalties of the map: fixed, so that their sliders move a mark and not the map."""
    strengths, penalties = _MAP[quick(settings)][coarse]
    name, ends = ("eta", (0.05, 50.0)) if settings.layer == "step" else ("r", (0.05, 5.0))
    least = 1e-4 if quick(settings) else 1e-2  # others are slow where they hardly have a penalty
    return name, Spaced(*ends, strengths, log=True), Spaced(least, 1e2, penalties, log=True)


def _readout(settings: Settings, lam: Any = None) -> Answer:
    penalty: Answer = {"lam": settings.lam if lam is None else lam}
    return penalty | _loss(settings) | _bulk(settings) | _size(settings)


def _loss(settings: Settings) -> Answer:
    return {} if settings.loss == "square" else {"loss": settings.loss}


def _bulk(settings: Settings) -> Answer:
    """The rows' model, as the verbs want it: rows that were not trained have one of their own."""
    untrained = settings.layer == "spiked" or 0.0 in (settings.eta, settings.alpha0)
    return {} if untrained and settings.bulk == "exact" else {"bulk": settings.bulk}


def _size(settings: Settings) -> Answer:
    return {"d": settings.d} if settings.finite else {}


def _layer(settings: Settings, found: xr.Dataset) -> Answer:
    """r, γ and c after the last step, lists where letters differ; with several steps also the `path` there."""
    if settings.layer == "spiked":
        return {name: getattr(settings, name) for name in ("r", "gamma", "c")}
    if (
        "gamma" in found and "direction" in found["gamma"].dims
    ):  # the page has one: that with the target's whole span
        found = found.assign(gamma=(found["gamma"] ** 2).sum("direction", min_count=1) ** 0.5)
    answer: Answer = {
        name: _plain(after_last_step(found[name]).values) for name in ("r", "gamma", "c") if name in found
    }
    if settings.steps > 1:
        shown = ("r", "gamma", "c", "network_error")
        answer["path"] = {name: _plain(found[name].transpose("step", ...)) for name in shown if name in found}
    return answer


def _lowest(errors: xr.DataArray, name: str) -> Answer | None:
    if not np.isfinite(errors.values).any():
        return None
    at = errors.isel(errors.argmin(..., skipna=True))  # type: ignore[arg-type]
    return {"strength": float(at[name]), "lam": float(at["lam"]), "error": float(at)}


def _noted(call: Call, **more: Any) -> tuple[Any, list[str]]:
    """The call's answer, and what the library had to say about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", GiantstepWarning)
        found = call.run(**more)
    return found, sorted({page_words(str(warning.message)) for warning in caught})


def _answer(call: Call, notes: list[str], **arrays: Any) -> Answer:
    lists = {name: _plain(values) for name, values in arrays.items()}
    return {"code": call.python(), "notes": notes} | lists


def _plain(values: Any) -> Any:
    """Nested lists of numbers, None where there is none: JSON has neither NaN nor infinity."""
    array = np.asarray(values, dtype=float)
    plain = array.astype(object)
    plain[~np.isfinite(array)] = None
    return plain.tolist()

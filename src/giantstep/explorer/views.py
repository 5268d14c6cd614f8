"""What the page asks: each view turns settings into one call of a verb, and its answer into plain lists.

A view names the settings that it `uses`: its answer depends on nothing else, so the page asks again only when one of
them changes, and equal questions are answered from memory. Its lane is the queue that it waits in, so that none waits
for a slower one: "quick" (some tens of milliseconds), "slow" (seconds), "reference" (one process alone, which remembers
what it has tabulated for a target) or "simulation".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..answers.quantities import names
from ..errors import ParameterError
from ..losses import as_loss
from ..model.target import Target
from .call import Call, Spaced

if TYPE_CHECKING:
    from .settings import Settings

_SPIKE = ("eta", "alpha0", "r", "gamma")  # on which random features do not depend
_ERRORS = names("error")
_TEST_ERRORS = ("test_error", "test_error_01")
_POINT = ("alpha", "lam", "loss", "bulk", "d")  # arguments of a prediction
_PARTS = ("expressivity", "readout", "batch_noise")

_PARTS_OF_THE_LIMIT = (
    "These are the parts for very large networks. At the sizes of real networks the error is noticeably different"
    " here."
)

_LOG_RATIO = 30.0  # ranges that span more than this are spaced, and drawn, logarithmically
_POINTS = {True: (80, 24), False: (16, 6)}  # of a curve and of its draft: those that are quick, any other
_SIMULATED = 8  # points of a simulated curve
_MAP = {True: ((17, 13), (9, 7)), False: ((7, 6), (4, 3))}  # values on the map, and on its draft
_STRENGTHS = {"step": ("eta", (0.05, 50.0)), "spiked": ("r", (0.05, 5.0))}  # along the map
_PENALTIES = {
    True: (1e-4, 1e2),
    False: (1e-2, 1e2),
}  # up the map: slow points are slowest with hardly a penalty
_DRAFT = 1e-4  # relative error of integrals in a draft
_SHADES = 1e-3  # the same on a map that is slow or a draft: its shades tell no more
_PROFILE = Spaced(-4.0, 4.0, 121)  # inputs of the learned function and of the coefficients
_PLANE = Spaced(-2.5, 2.5, 33)  # those along each of the first two directions of several
_ENDLESS = 1e6  # samples ÷ d that stand for infinitely many: references differ by less than is drawn

Answer = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How an answer is computed: coarsely, as a draft while a hand moves, and who hears of the share that is done."""

    coarse: bool = False
    report: Callable[[float], None] = lambda share: None


def _quick(settings: Settings) -> bool:
    """Whether a point takes milliseconds: the square loss after one step."""
    return settings.loss == "square" and settings.steps == 1


def curve(settings: Settings, effort: Effort) -> Answer:
    """The error along one parameter, and the spiked features that the trained layer resembles."""
    return _curve(settings, effort, settings.along)


def random_features(settings: Settings, effort: Effort) -> Answer:
    """The same without the spike; one value where the curve runs along a parameter of the spike."""
    plain = replace(settings, eta=0.0, alpha0=0.0, r=0.0, bulk="exact")
    return _curve(plain, effort, None if settings.along in _SPIKE else settings.along)


def best_linear(settings: Settings, effort: Effort) -> Answer:
    """Ridge regression on isotropic inputs with the best penalty, on as many samples as the network sees."""
    return {} if settings.structured else _reference("ridge", settings)


def best_possible(settings: Settings, effort: Effort) -> Answer:
    """The best error that a fast method can reach on as many samples of isotropic inputs.

    For several directions that takes too long.
    """
    if settings.structured or Target(settings.target).directions > 1:
        return {}
    return _reference("bayes", settings, progress=effort.report)


def bounds(settings: Settings, effort: Effort) -> Answer:
    """What no number of samples can beat."""
    call = Call("bounds", settings, _arguments(settings, "bulk"), shows=("lower", "upper", "linear"))
    answer, notes = call.run()
    values = {name: float(_last(answer)[name]) for name in call.shows}
    if values["lower"] > values["linear"] * (1 + 1e-9):
        notes.append(
            "The lower bound is on readouts of this first layer. It may lie above the best linear method, which"
            " works on the inputs themselves: a spike that is not aligned with the target is in the way."
        )
    return _answer(call, notes) | values


def learned(settings: Settings, effort: Effort) -> Answer:
    """The average output of the network against its target, at the working point: on a line, or on a plane."""
    plane = Target(settings.target).directions > 1
    x = {"x1": _PLANE, "x2": _PLANE} if plane else {"x": _PROFILE}
    arguments = {"x": tuple(x.values()) if plane else _PROFILE} | _arguments(settings, *_POINT)
    call = Call("learned_function", settings, arguments, shows=("learned", "truth"))
    answer, notes = call.run()
    values = {name: at.value for name, at in x.items()} | {name: answer[name] for name in call.shows}
    point = {name: float(answer[name]) for name in _ERRORS if name in answer}
    return _answer(call, notes, **values) | {"point": point, "layer": _layer(settings, answer)}


def parts(settings: Settings, effort: Effort) -> Answer:
    """The network's test error as a sum of three, and what other methods reach on as many samples."""
    target = Target(settings.target, flips=settings.flips, latent_noise=settings.latent_noise)
    slow = target.directions > 1  # whose best possible error takes too long for a page
    if settings.layer == "spiked" or slow or target.random_signs or not as_loss(settings.loss).residual:
        return {"parts": None}
    arguments = _arguments(settings, "alpha", "lam", "loss", "bulk")
    call = Call("explain", settings, arguments, shows=(*_PARTS, "test_error"))
    answer, notes = call.run()
    notes = [_PARTS_OF_THE_LIMIT if note.startswith("the limit d = inf") else note for note in notes]
    values = {name: _last(answer)[name] for name in (*call.shows, "ridge_error", "bayes_error")}
    return _answer(call, notes, **values) | {"parts": _PARTS}


def coefficients(settings: Settings, effort: Effort) -> Answer:
    """Result 2's functions μ0, μ1, μ2 of the projection on the spike, for each letter."""
    named = (
        {"target": "y"} if settings.layer == "step" else {}
    )  # which a spike that is given does not depend on
    shows = ("mu0", "mu1", "mu2")
    call = Call("coefficients", settings, {"kappa": _PROFILE}, shows=shows, of=("net",), named=named)
    answer, notes = call.run()
    last = _last(answer)
    one = last if "letter" in last.dims else last.expand_dims(letter=[np.nan])
    curves = [
        {"letter": _plain(letter)} | {name: _plain(one[name].isel(letter=i)) for name in shows}
        for i, letter in enumerate(one["letter"].values)
    ]
    return _answer(call, notes, kappa=_PROFILE.value) | {"curves": curves}


def spectrum(settings: Settings, effort: Effort) -> Answer:
    """Eigenvalues of the features' covariance at the working point: bulk, outliers, spikes."""
    arguments = _arguments(settings, "alpha", "d") | {"points": _POINTS[True][0]}
    exact = settings.bulk == "exact" and settings.steps == 1 and Target(settings.target).directions == 1
    if not exact:  # after several steps it takes too long for a page, of several directions it is not known
        arguments["bulk"] = "isotropic"
    call = Call("spectrum", settings, arguments, shows=("edge", "outlier", "mass_at_zero"))
    answer, notes = call.run(progress=effort.report)
    last = _last(answer)
    if settings.bulk == "orthogonal":
        notes.append("The spectrum of orthogonal rows is not known here: this is that of isotropic rows.")
    drawn = ("eigenvalue", "density", "edge", "outlier", "spike", "spike_per_d", "mass_at_zero")
    lists = {name: last[name] for name in drawn if name in last}
    return _answer(call, notes, **lists) | {"bulk": answer.attrs["bulk"]}


def landscape(settings: Settings, effort: Effort) -> Answer:
    """Test errors over learning rates (or spikes) and penalties, at the working point; wrong signs too of labels ±1."""
    name, strengths, lam = _map_axes(settings, effort.coarse)
    arguments = _arguments(settings, *_POINT) | {"lam": lam}
    if effort.coarse or not _quick(settings) or settings.layer == "spiked":
        arguments["tolerance"] = _SHADES
    call = Call("predict", settings, arguments, {name: strengths}, shows=("test_error",))
    answer, notes = call.run(throw=False, progress=effort.report)
    errors = {one: answer[one].transpose(name, "lam") for one in _TEST_ERRORS if one in answer}
    best = {one: _lowest(values, name) for one, values in errors.items()}
    values = {"strength": strengths.value, "lam": lam.value, **errors}
    return _answer(call, notes, **values) | {"name": name, "best": best}


def optimum(settings: Settings, effort: Effort) -> Answer:
    """The best learning rate and penalty on that map, polished."""
    name, strengths, lam = _map_axes(settings, False)
    arguments = _arguments(settings, "alpha", "bulk", "d")
    best = {"strength": f"best_{name}", "lam": "best_lam", "error": "best_error"}
    call = Call(
        "tune",
        settings,
        arguments | {"over": (name, "lam"), "scan": {name: strengths, "lam": lam}},
        {name: 1.0},  # replaced by the search
        shows=(*best.values(), "at_end"),
    )
    answer, notes = call.run(progress=effort.report)
    values = {key: float(answer[variable]) for key, variable in best.items()}
    return _answer(call, notes) | {"best": values, "at_end": bool(answer["at_end"])}


def simulate(settings: Settings, effort: Effort) -> Iterator[Answer]:
    """Trained networks: after every trial the means so far, and from the second on their standard errors."""
    values = _range(settings, _SIMULATED)
    model, placed = _placed(settings.along, values)
    arguments = {"alpha": settings.alpha, "lam": settings.lam} | placed
    arguments |= {"loss": settings.loss, "d": settings.d, "trials": settings.trials, "seed": settings.seed}
    if settings.bulk == "orthogonal":
        arguments["bulk"] = settings.bulk
    whole = Call("simulate", settings, arguments, model)
    answer = {"trials": settings.trials, "d": settings.d, "code": whole.python()}
    yield answer | {"trial": 0}
    runs: list[xr.Dataset] = []
    notes: set[str] = set()
    for trial in range(settings.trials):
        run, remarks = replace(whole, arguments=arguments | {"trials": [trial]}).run()
        runs.append(run)
        notes.update(remarks)
        errors = xr.concat(runs, "trial")[[name for name in _ERRORS if name in run]]
        means = errors.mean("trial")
        scatter = errors.std("trial", ddof=1) if trial else np.nan * means
        answer |= {"trial": trial + 1, "x": _plain(values.value), "notes": sorted(notes)}
        yield answer | {
            name: {"mean": _plain(means[name]), "error": _plain(scatter[name] / math.sqrt(trial + 1))}
            for name in map(str, errors)
        }


def _curve(settings: Settings, effort: Effort, along: str | None) -> Answer:
    shared = settings.along in ("alpha", "lam")  # all points have the first layer in common
    many = _quick(settings) or (shared and settings.loss == "square")
    values = _range(settings, _POINTS[many][effort.coarse])
    model, placed = _placed(along, values)
    arguments = _arguments(settings, *_POINT) | placed
    call = Call("predict", settings, arguments, model, shows=("test_error", "train_error"))
    draft = {"tolerance": _DRAFT} if effort.coarse else {}
    answer, notes = call.run(throw=False, progress=effort.report, **draft)
    if not np.isfinite(answer["test_error"].values).any():
        raise ParameterError(f"no point of the curve could be computed: {notes[0] if notes else 'unknown'}")
    errors = {name: answer[name] for name in _ERRORS if name in answer}
    return _answer(call, notes, x=values.value, **errors) | {
        "along": settings.along,
        "log": values.log,
        "size": settings.d if settings.finite else None,
        "layer": _layer(settings, answer),
    }


def _reference(verb: str, settings: Settings, **more: Any) -> Answer:
    """What a method reaches on all samples that the network sees: those of the steps, and those of the readout."""
    count = 0 if settings.layer == "spiked" else settings.steps
    steps = min(settings.alpha0, _ENDLESS) * count
    values = _range(settings, _POINTS[True][0])
    if settings.along == "alpha":
        samples = replace(values, plus=steps)
    elif settings.along == "alpha0":
        samples = replace(values, low=count * values.low, high=count * values.high, plus=settings.alpha)
    else:
        samples = settings.alpha + steps
    call = Call(verb, settings, {"alpha": samples}, shows=("test_error",), of=("y",))
    answer, notes = call.run(**more)
    errors = {name: answer[name] for name in _TEST_ERRORS if name in answer}
    return _answer(call, notes, x=values.value, **errors)


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
    quick = _quick(settings)
    across, up = _MAP[quick][coarse]
    name, ends = _STRENGTHS[settings.layer]
    return name, Spaced(*ends, across, log=True), Spaced(*_PENALTIES[quick], up, log=True)


def _arguments(settings: Settings, *names: str) -> Answer:
    """Arguments of a verb by these names, where they are not what it takes by itself."""
    untrained = settings.layer == "spiked" or 0.0 in (
        settings.eta,
        settings.alpha0,
    )  # rows have a model of their own
    usual = {
        "loss": settings.loss == "square",
        "bulk": untrained and settings.bulk == "exact",
        "d": not settings.finite,
    }
    return {name: getattr(settings, name) for name in names if not usual.get(name)}


def _last(answer: xr.Dataset) -> xr.Dataset:
    """The layer as it is after its last step."""
    return answer.isel(step=-1) if "step" in answer.dims else answer


def _layer(settings: Settings, answer: xr.Dataset) -> Answer:
    """r, γ and c after the last step, lists where letters differ; with several steps also the `path` there."""
    if settings.layer == "spiked":
        return {name: getattr(settings, name) for name in ("r", "gamma", "c")}
    if (
        "gamma" in answer and "direction" in answer["gamma"].dims
    ):  # the page has that with the target's whole span
        answer = answer.assign(gamma=(answer["gamma"] ** 2).sum("direction", min_count=1) ** 0.5)
    drawn = [name for name in ("r", "gamma", "c", "network_error") if name in answer]
    values: Answer = {name: _plain(_last(answer)[name]) for name in drawn if name != "network_error"}
    if settings.steps > 1:
        values["path"] = {name: _plain(answer[name].transpose("step", ...)) for name in drawn}
    return values


def _lowest(errors: xr.DataArray, name: str) -> Answer | None:
    if not np.isfinite(errors.values).any():
        return None
    at = errors.isel(errors.argmin(..., skipna=True))  # type: ignore[arg-type]
    return {"strength": float(at[name]), "lam": float(at["lam"]), "error": float(at)}


def _answer(call: Call, notes: list[str], **arrays: Any) -> Answer:
    lists = {name: _plain(values) for name, values in arrays.items()}
    return {"code": call.python(), "notes": notes} | lists


def _plain(values: Any) -> Any:
    """Nested lists of numbers, None where there is none: JSON has neither NaN nor infinity."""
    array = np.asarray(values, dtype=float)
    plain = array.astype(object)
    plain[~np.isfinite(array)] = None
    return plain.tolist()


@dataclass(frozen=True)
class View:
    """One question: what computes it, the settings that it uses, its lane if that is fixed, and whether it drafts."""

    compute: Callable[[Settings, Effort], Any]
    uses: tuple[str, ...]
    fixed_lane: str | None = None
    drafts: bool = False

    def lane(self, settings: Settings) -> str:
        return self.fixed_lane or ("quick" if _quick(settings) else "slow")

    def lines(self, settings: Settings, effort: Effort) -> Iterator[Answer]:
        """The answer; a slow one comes after its draft, if there is one."""
        if effort.coarse or (self.drafts and not _quick(settings)):
            yield self.compute(settings, Effort(coarse=True)) | {"draft": True}
        if not effort.coarse:
            yield self.compute(settings, effort)


class Stream(View):
    """A question whose answer grows line by line."""

    def lines(self, settings: Settings, effort: Effort) -> Iterator[Answer]:
        return self.compute(settings, effort)


_LABELS = ("target", "noise", "flips", "latent_noise", "inputs", "share", "exponent")
_RANDOM = ("activation", "layer", "rows", "bias_scale", "c", "beta", *_LABELS)  # a layer that takes no step
_MAPPED = (*_RANDOM, "readout", "alpha0", "steps", "gamma")  # a layer, without what the map runs over
_LAYER = (*_MAPPED, "eta", "r")
_CURVE = ("along", "low", "high", "alpha", "lam")
_THEORY = ("loss", "bulk", "finite", "d")
_SAMPLES = ("layer", "alpha0", "steps", "along", "low", "high", "alpha", *_LABELS)

VIEWS = {
    "curve": View(curve, (*_LAYER, *_CURVE, *_THEORY), drafts=True),
    "random_features": View(random_features, (*_RANDOM, *_CURVE, "loss", "finite", "d"), drafts=True),
    "best_linear": View(best_linear, _SAMPLES, "quick"),
    "best_possible": View(best_possible, _SAMPLES, "reference"),
    "bounds": View(bounds, (*_LAYER, "bulk", "d")),
    "learned": View(learned, (*_LAYER, "alpha", "lam", *_THEORY)),
    "parts": View(parts, (*_LAYER, "alpha", "lam", "loss", "bulk", "d"), "reference"),
    "coefficients": View(coefficients, (*_LAYER, "d")),  # a power law of the inputs depends on d
    "spectrum": View(spectrum, (*_LAYER, "alpha", "bulk", "finite", "d"), "slow"),
    "landscape": View(landscape, (*_MAPPED, "alpha", *_THEORY), "slow", drafts=True),
    "optimum": View(optimum, (*_MAPPED, "alpha", "bulk", "finite", "d"), "slow"),
    "simulate": Stream(simulate, (*_LAYER, *_CURVE, "loss", "bulk", "d", "trials", "seed"), "simulation"),
}

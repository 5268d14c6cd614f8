"""What the page asks: each view turns settings into one call of a verb, and its answer into plain lists.

A view names the settings that it `uses`: its answer depends on nothing else, so the page asks again only when one of
them changes, and equal questions are answered from memory. Its lane is the queue that it waits in, so that none waits
for a slower one: "quick" (some tens of milliseconds), "slow" (seconds), "reference" (one process alone, which remembers
what it has tabulated for a target) or "simulation".
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from ..answers import quantities
from ..errors import ParameterError
from ..losses import as_loss
from ..model.target import Target
from .call import Call, Object, spaced, target
from .settings import LAYER, PROBLEM, Settings, settings_of

_SPIKE = ("eta", "alpha0", "r", "gamma")  # on which random features do not depend
_ERRORS = quantities.names("error")
_TEST_ERRORS = ("test_error", "test_error_01")
_POINT = ("alpha", "lam", "loss", "bulk", "d")  # arguments of a prediction
_PARTS = ("expressivity", "readout", "batch_noise")

_PARTS_OF_THE_LIMIT = (
    "These are the parts for very large networks. At the sizes of real networks the error is noticeably different here."
)
_LOG_RATIO = 30.0  # ranges that span more than this are spaced, and drawn, logarithmically
_POINTS = {True: (80, 24), False: (16, 6)}  # of a curve and of its draft: those that are quick, any other
_SIMULATED = 8  # points of a simulated curve
_MAP = {True: ((17, 13), (9, 7)), False: ((7, 6), (4, 3))}  # values on the map, and on its draft
_STRENGTHS = {"step": ("eta", (0.05, 50.0)), "spiked": ("r", (0.05, 5.0))}  # along the map
_PENALTIES = {True: (1e-4, 1e2), False: (1e-2, 1e2)}  # up the map: a low penalty makes slow points slowest
_DRAFT = 1e-4  # relative error of integrals in a draft: with the hinge loss it takes half the time
_SHADES = 1e-3  # the same on a map that is slow: its shades tell no more, and points that fail otherwise do not
_PROFILE = spaced(-4.0, 4.0, 121)  # inputs of the learned function and of the coefficients
_PLANE = spaced(-2.5, 2.5, 33)  # those along each of the first two directions of several
_SILENCE = 0.3  # seconds before the first word on progress, and between two
_ENDLESS = 1e6  # samples ÷ d that stand for infinitely many: references differ by less than is drawn

Answer = dict[str, Any]


@dataclass
class Effort:
    """How an answer is computed: coarsely, as a draft while a hand moves, and who gets what comes before its end."""

    coarse: bool = False
    tell: Callable[[Answer], None] = lambda answer: None
    silent_until: float = field(default_factory=lambda: time.monotonic() + _SILENCE)

    def report(self, share: float) -> None:
        """Tell the share that is done, now and then."""
        if share < 1.0 and time.monotonic() >= self.silent_until:
            self.silent_until = time.monotonic() + _SILENCE
            self.tell({"progress": round(float(share), 3)})


def _quick(settings: Settings) -> bool:
    """Whether a point takes milliseconds: the square loss after one step."""
    return settings.loss == "square" and settings.steps == 1


def curve(settings: Settings, effort: Effort) -> Answer:
    """The error along one parameter."""
    return _curve(settings, effort, {settings.along})


def random_features(settings: Settings, effort: Effort) -> Answer:
    """The same without the spike; one value where the curve runs along a parameter of the spike."""
    plain = replace(settings, eta=0.0, alpha0=0.0, r=0.0, bulk="exact")
    return _curve(plain, effort, {settings.along}.difference(_SPIKE))


def best_linear(settings: Settings, effort: Effort) -> Answer:
    """Ridge regression on isotropic inputs with the best penalty, on as many samples as the network sees."""
    return {} if settings.structured else _reference("ridge", settings)


def best_possible(settings: Settings, effort: Effort) -> Answer:
    """The best error of a fast method on as many samples of isotropic inputs. For several directions it is too slow."""
    if settings.structured or Target(settings.target).directions > 1:
        return {}
    return _reference("bayes", settings, progress=effort.report)


def bounds(settings: Settings, effort: Effort) -> Answer:
    """What no number of samples can beat."""
    names = ("lower", "upper", "linear")
    answer, found = Call("bounds", settings, _arguments(settings, "bulk"), shows=names).run()
    lower, upper, linear = (_last(answer)[name] for name in names)
    if lower > linear * (1 + 1e-9):
        found["notes"].append(
            "The lower bound is on readouts of this first layer. It may lie above the best linear method, which"
            " works on the inputs themselves: a spike that is not aligned with the target is in the way."
        )
    return found | {"lower": lower, "upper": upper, "linear": linear}


def learned(settings: Settings, effort: Effort) -> Answer:
    """The average output of the network against its target, at the working point: on a line, or on a plane."""
    plane = Target(settings.target).directions > 1
    x = {"x1": _PLANE, "x2": _PLANE} if plane else {"x": _PROFILE}
    arguments = {"x": tuple(x.values()) if plane else _PROFILE} | _arguments(settings, *_POINT)
    names = ("learned", "truth")
    answer, found = Call("learned_function", settings, arguments, shows=names).run()
    found |= {name: values.value for name, values in x.items()} | _named(answer, names)
    return found | {"point": _named(answer, _ERRORS), "layer": _layer(settings, answer)}


def parts(settings: Settings, effort: Effort) -> Answer:
    """The network's test error as a sum of three, and what other methods reach on as many samples."""
    labels = Target(settings.target, flips=settings.flips, latent_noise=settings.latent_noise)
    known = settings.layer == "step" and as_loss(settings.loss).residual and not labels.random_signs
    if not known or labels.directions > 1:  # whose best possible error takes too long for a page
        return {"parts": None}
    arguments = _arguments(settings, "alpha", "lam", "loss", "bulk")
    names = (*_PARTS, "test_error")
    answer, found = Call("explain", settings, arguments, shows=names).run()
    notes = [_PARTS_OF_THE_LIMIT if "d = ∞" in note else note for note in found["notes"]]
    values = _named(_last(answer), (*names, "ridge_error", "bayes_error"))
    return found | values | {"parts": _PARTS, "notes": notes}


def coefficients(settings: Settings, effort: Effort) -> Answer:
    """Result 2's functions μ0, μ1, μ2 of the projection on the spike, for each letter."""
    taught = {"target": target(settings)} if settings.layer == "step" else {}  # a given spike needs no target
    names = ("mu0", "mu1", "mu2")
    answer, found = Call("coefficients", settings, {"kappa": _PROFILE} | taught, shows=names, of=("net",)).run()
    last = _last(answer)
    letters = last if "letter" in last.dims else last.expand_dims(letter=[np.nan])
    curves = [_named(letters.isel(letter=i), ("letter", *names)) for i in range(letters.sizes["letter"])]
    return found | {"kappa": _PROFILE.value, "curves": curves}


def spectrum(settings: Settings, effort: Effort) -> Answer:
    """Eigenvalues of the features' covariance at the working point: bulk, outliers, spikes."""
    arguments = _arguments(settings, "alpha", "d") | {"points": _POINTS[True][0]}
    exact = settings.bulk == "exact" and settings.steps == 1 and Target(settings.target).directions == 1
    if not exact:  # after several steps it takes too long for a page, of several directions it is not known
        arguments["bulk"] = "isotropic"
    shows = ("edge", "outlier", "mass_at_zero")
    answer, found = Call("spectrum", settings, arguments, shows).run(progress=effort.report)
    if settings.bulk == "orthogonal":
        found["notes"].append("The spectrum of orthogonal rows is not known here: this is that of isotropic rows.")
    drawn = _named(_last(answer), ("eigenvalue", "density", "spike", "spike_per_d", *shows))
    return found | drawn | {"bulk": answer.attrs["bulk"]}


def landscape(settings: Settings, effort: Effort) -> Answer:
    """Test errors over learning rates (or spikes) and penalties, at the working point; wrong signs too of labels ±1."""
    axes = _map_axes(settings, effort.coarse)
    arguments = _arguments(settings, *_POINT) | axes
    if not _quick(settings):
        arguments["tolerance"] = _SHADES
    call = Call("predict", settings, arguments, shows=("test_error",))
    answer, found = call.run(throw=False, progress=effort.report)
    errors = _named(answer.transpose(*axes, ...), _TEST_ERRORS)
    strength, lam = axes.values()
    found |= {"name": next(iter(axes)), "strength": strength.value, "lam": lam.value}
    return found | errors | {"best": {name: _lowest(values) for name, values in errors.items()}}


def optimum(settings: Settings, effort: Effort) -> Answer:
    """The best learning rate and penalty on that map, polished."""
    axes = _map_axes(settings)
    name, _ = axes
    arguments = _arguments(settings, "alpha", "bulk", "d") | {name: 1.0}  # which the search replaces
    arguments |= {"over": tuple(axes), "scan": axes}
    best = {"strength": f"best_{name}", "lam": "best_lam", "error": "best_error"}
    answer, found = Call("tune", settings, arguments, shows=(*best.values(), "at_end")).run(progress=effort.report)
    values = {key: answer[variable] for key, variable in best.items()}
    return found | {"best": values, "at_end": bool(answer["at_end"])}


def simulate(settings: Settings, effort: Effort) -> Answer:
    """Trained networks: after every trial the means so far, and from the second on their standard errors."""
    values = _range(settings, _SIMULATED)
    arguments = {name: getattr(settings, name) for name in ("alpha", "lam", "loss", "d", "trials", "seed")}
    arguments |= {settings.along: values} | ({"bulk": settings.bulk} if settings.bulk == "orthogonal" else {})
    whole = Call("simulate", settings, arguments)
    answer = {"trials": settings.trials, "d": settings.d, "code": whole.python(), "x": values.value, "trial": 0}
    runs: list[xr.Dataset] = []
    notes: set[str] = set()
    for trial in range(settings.trials):
        effort.tell(answer)
        run, found = replace(whole, arguments=arguments | {"trials": [trial]}).run()
        runs.append(run)
        notes.update(found["notes"])
        errors = xr.concat(runs, "trial")[[name for name in _ERRORS if name in run]]
        means = errors.mean("trial")
        scatter = errors.std("trial", ddof=1) if trial else np.nan * means
        measured = {
            name: {"mean": means[name], "error": scatter[name] / math.sqrt(trial + 1)} for name in map(str, errors)
        }
        answer |= {"trial": trial + 1, "notes": sorted(notes)} | measured
    return answer


def _named(answer: xr.Dataset, names: tuple[str, ...]) -> Answer:
    """Those of these quantities that the answer has."""
    return {name: answer[name] for name in names if name in answer}


def _curve(settings: Settings, effort: Effort, along: set[str]) -> Answer:
    shared = settings.along in ("alpha", "lam")  # all points have the first layer in common
    many = _quick(settings) or (shared and settings.loss == "square")
    values = _range(settings, _POINTS[many][effort.coarse])
    arguments = _arguments(settings, *_POINT) | dict.fromkeys(along, values)
    call = Call("predict", settings, arguments, shows=("test_error", "train_error"))
    answer, found = call.run(throw=False, progress=effort.report, **({"tolerance": _DRAFT} if effort.coarse else {}))
    if not np.isfinite(answer["test_error"].values).any():
        raise ParameterError(f"no point of the curve could be computed: {(found['notes'] or ['unknown'])[0]}")
    drawn = {"x": values.value, "along": settings.along, "log": values.maker == "np.geomspace"}
    return found | _named(answer, _ERRORS) | drawn | {"size": settings.d if settings.finite else None}


def _reference(verb: str, settings: Settings, **more: Any) -> Answer:
    """What a method reaches on all samples that the network sees: those of the steps, and those of the readout."""
    steps = settings.steps if settings.layer == "step" else 0
    before = steps * min(settings.alpha0, _ENDLESS)
    values = _range(settings, _POINTS[True][0])
    low, high, count = values.arguments
    samples = {
        "alpha": replace(values, plus=before),
        "alpha0": replace(values, arguments=(steps * low, steps * high, count), plus=settings.alpha),
    }.get(settings.along, settings.alpha + before)
    answer, found = Call(verb, settings, {"alpha": samples}, shows=("test_error",), of=("y",)).run(**more)
    return found | _named(answer, _TEST_ERRORS) | {"x": values.value}


def _range(settings: Settings, count: int) -> Object:
    low, high = settings.low, settings.high
    return spaced(low, high, count, log=low > 0 and high / low > _LOG_RATIO)


def _map_axes(settings: Settings, coarse: bool = False) -> dict[str, Object]:
    """Learning rates or spikes, and penalties of the map: fixed, so that their sliders move a mark and not the map."""
    quick = _quick(settings)
    across, up = _MAP[quick][coarse]
    name, ends = _STRENGTHS[settings.layer]
    return {name: spaced(*ends, across, log=True), "lam": spaced(*_PENALTIES[quick], up, log=True)}


def _arguments(settings: Settings, *names: str) -> Answer:
    """Arguments of a verb by these names, where they are not what it takes by itself."""
    trained = settings.layer == "step" and settings.eta > 0.0 and settings.alpha0 > 0.0
    exact = settings.bulk == "exact" and not trained  # the only model of rows that are not trained
    usual = {"loss": settings.loss == "square", "bulk": exact, "d": not settings.finite}
    return {name: getattr(settings, name) for name in names if not usual.get(name)}


def _last(answer: xr.Dataset) -> xr.Dataset:
    """The layer as it is after its last step."""
    return answer.isel(step=-1) if "step" in answer.dims else answer


def _layer(settings: Settings, answer: xr.Dataset) -> Answer:
    """r, γ, c and the error without a fit after each step (a given spike has one value); lists where letters differ."""
    if settings.layer == "spiked":
        return {name: [getattr(settings, name)] for name in ("r", "gamma", "c")}
    if "direction" in answer.get("gamma", answer).dims:  # the page has that with the target's whole span
        answer = answer.assign(gamma=(answer["gamma"] ** 2).sum("direction", min_count=1) ** 0.5)
    steps = answer if "step" in answer.dims else answer.expand_dims("step")
    values = _named(steps, ("r", "gamma", "c", "network_error"))
    return {name: value.transpose("step", ...) for name, value in values.items()}


def _lowest(errors: xr.DataArray) -> Answer | None:
    """Where on the map an error is least."""
    if not errors.notnull().any():
        return None
    at = errors.isel(errors.argmin(...))  # type: ignore[arg-type]
    strength, lam = (at[name] for name in errors.dims)
    return {"strength": strength, "lam": lam, "error": at}


def as_json(answer: Answer) -> str:
    """One line of JSON."""
    return json.dumps(answer, default=_plain, allow_nan=False)


def _plain(values: Any) -> Any:
    """Arrays as nested lists of numbers, with None where there is none: JSON has neither NaN nor infinity."""
    array = np.asarray(values, dtype=float)
    return np.where(np.isfinite(array), array, np.array(None)).tolist()


@dataclass(frozen=True)
class View:
    """One question: what computes it, the settings that it uses, its lane if that is fixed, and whether it drafts."""

    compute: Callable[[Settings, Effort], Answer]
    uses: tuple[str, ...]
    fixed_lane: str | None = None
    drafts: bool = False

    def lane(self, settings: Settings) -> str:
        return self.fixed_lane or ("quick" if _quick(settings) else "slow")

    def answer(
        self, settings: Settings, coarse: bool = False, tell: Callable[[Answer], None] = lambda answer: None
    ) -> Answer:
        """The answer, or its draft; `tell` gets what comes before: progress, trials, the draft of a slow one."""
        if coarse or (self.drafts and not _quick(settings)):
            draft = self.compute(settings, Effort(coarse=True)) | {"draft": True}
            if coarse:
                return draft
            tell(draft)
        return self.compute(settings, Effort(tell=tell))


_LABELS = [name for name in settings_of(PROBLEM) if name != "activation"]
_LAYER = [name for name in settings_of(PROBLEM, LAYER) if name != "bulk"]
_MAPPED = [name for name in _LAYER if name not in ("eta", "r")]  # a layer, without what the map runs over
_RANDOM = [name for name in _MAPPED if name not in ("gamma", "alpha0", "steps", "readout")]  # one that takes no step
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
    "simulate": View(simulate, (*_LAYER, *_CURVE, "loss", "bulk", "d", "trials", "seed"), "simulation"),
}

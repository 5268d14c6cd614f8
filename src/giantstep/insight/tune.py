"""The verb `tune`: the best penalty, learning rate, and division of a sample budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from ..answers.provenance import provenance
from ..answers.quantities import describe
from ..errors import GiantstepWarning, LimitWarning, ParameterError, refused, shown, warn
from ..losses import Loss, as_loss
from ..model.arguments import checked_arguments
from ..model.checks import one_of, texts
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target, as_target
from ..runtime.progress import with_bar
from ..theory.predict import predict
from ..theory.status import NOTABLE, REAL_SIZE
from .reference.explain import beside
from .search import Objective, Optimum, polished, ranges

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike, Parameter

_SOUGHT = ("lam", "eta", "split", "steps")
_SCANNED = 1e-6  # tolerance of the scan,
# and what coarsest rules may be off after several steps, where rates that are too large explode
_ROUGHLY = 0.1


def _ranges(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise refused(name, value, "is not allowed: it must be a dictionary, such as {'lam': [0.01, 0.1, 1]}")
    return value


@checked_arguments(over=texts, scan=_ranges, error=one_of("test_error", "test_error_01"))
@with_bar("tuning")
def tune(
    model: Network | SpikedRF,
    target: Target | FunctionLike,
    *,
    alpha: Parameter | None = None,
    over: tuple[str, ...] | str = ("lam",),
    budget: Parameter | None = None,
    lam: Parameter | None = None,
    loss: str | Loss = "square",
    error: str | None = None,
    bulk: str | None = None,
    d: Parameter | None = None,
    scan: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Hyperparameters that minimise the test error of a fitted readout, for every point of a grid.

    ==============================================================  ==========================================
    ``tune(net, y, alpha=2)``                                       the best ridge penalty
    ``tune(net, y, alpha=2, over=("eta", "lam"))``                  learning rate and penalty together
    ``tune(net, y, budget=3, over=("eta", "lam", "split"))``        how to divide 3d samples between step and
                                                                    readout: alpha0 = split·budget,
                                                                    alpha = (1 - split)·budget
    ``tune(..., budget=6, over=("eta", "lam", "split", "steps"))``  and between how many steps: alpha0 =
                                                                    split·budget/steps for each
    ==============================================================  ==========================================

    A scan over a grid of the chosen parameters finds the valleys. A quasi-Newton method then improves the best local
    minima, within the scanned ranges. Ctrl-C after the scan returns the optima improved so far, and the best points of
    the scan for the others, with `attrs["interrupted"]` = 1 and a warning.

    Parameters
    ----------
    model : Network or SpikedRF
        The first layer.
    target : Target, str or callable
        The function to learn.
    alpha : number or grid, optional
        Samples for the readout, divided by d.
    budget : number or grid, optional
        In place of `alpha`, if `over` has "split": samples for both stages together, divided by d.
    lam : number or grid, optional
        Ridge penalty, if it is not optimised.
    loss : str or Loss
        Loss of the readout, as in `predict`.
    error : {"test_error", "test_error_01"}, optional
        The error to minimise: the squared error, or for labels ±1 the share of wrong signs. The latter is the default
        with losses of the margin, such as "logistic": their outputs have no scale, so the squared error means little.
    bulk : str, optional
        Distribution of the rows, as in `predict`.
    d : number or grid, optional
        Input dimension, for the finite-size correction.
    over : str or sequence of str
        What to optimise: any of "lam", "eta", "split", "steps". The model's own value is then ignored.
    scan : dict, optional
        Values to scan instead of the default ones, such as ``{"lam": np.geomspace(1e-3, 10, 30)}``. The first
        and last are the ends of the search.
    progress : callable, optional
        Called with the share of the work done, from 0 to 1.

    Returns
    -------
    xarray.Dataset
        `best_error` and `best_lam`, `best_eta`, `best_split` (with `best_alpha0`, of each step, and `best_alpha`),
        `best_steps` (with `by_steps`, the best error for every number of steps) on the grid
        of all other parameters (a split of 0 is no step at all); `bayes_error` and `ridge_error`, what message passing
        and ridge regression reach with as many samples, and `advice`, a sentence on how good the optimum is; `slope`,
        the largest derivative of ln error with respect to the logarithm of a parameter that is not at an end of its
        range; `at_end`, whether a parameter stopped at the end of its range: look further there; and `landscape`, the
        scanned error, with the scanned values as coordinates. It is accurate to 1e-6; after several steps and with
        other losses it is rougher, and infinite where it may be off by a tenth.

    Examples
    --------
    >>> best = gs.tune(gs.Network("tanh", eta=1, alpha0=2), "sin", alpha=2)
    >>> float(best.best_lam.round(2)), float(best.best_error.round(4))
    (0.18, 0.1309)
    """
    target, loss, over = as_target(target), as_loss(loss), tuple(over)
    _check(model, over, alpha, budget, lam)
    error = _minimised(error, target, loss)
    axes = ranges(model, target, over, budget, loss, dict(scan or {}))
    every, over = over, tuple(name for name in over if name != "steps")  # each number of steps by itself
    half = None if progress is None else lambda share: progress(0.5 * share)  # the rest is polishing
    landscape = _landscape(model, target, axes, alpha, budget, lam, loss, error, bulk, d, half)
    if "steps" in every:
        model = evolve(model, steps=axes["steps"])
    objective = Objective(model, target, over, landscape, bulk, loss, error)
    others = [dim for dim in landscape.dims if dim not in over]
    scanned = landscape.transpose(*others, *over)
    sizes = [scanned.sizes[dim] for dim in others]
    names = ["best_error", *(f"best_{name}" for name in over), "slope", "at_end"]
    columns = {name: np.empty(sizes) for name in names}
    sized = np.full(sizes, np.nan)  # the best error at a usual size, where it is that of the limit
    grids, interrupted = [axes[name] for name in over], False

    def report(done: int) -> Callable[[float], None]:
        """What is to hear which share of the next optimum is polished, where so many are there."""
        total = columns["slope"].size
        return lambda share: None if progress is None else progress(0.5 + 0.5 * (done + share) / total)

    for done, index in enumerate(np.ndindex(*sizes)):
        point = scanned.isel(dict(zip(others, index, strict=True)))
        at = {name: float(point[name]) for name in objective.fixed}
        lowest = np.unravel_index(np.argmin(point.values), point.shape)
        where = np.array([grid[i] for grid, i in zip(grids, lowest, strict=True)])
        best = Optimum(where, float(point.values[lowest]), np.nan, np.full(len(over), np.nan))
        try:
            if not interrupted and np.isfinite(best.error):
                best = polished(point.values, grids, at, objective, report(done))
        except KeyboardInterrupt:  # what was scanned is there, and so is what was polished so far
            interrupted = True
        sized[index] = best.sized
        for name, value in zip(names, [best.error, *best.x, *best.stationarity(grids)], strict=True):
            columns[name][index] = value
        report(done)(1.0)
    if interrupted:
        unpolished = int(np.isnan(columns["slope"]).sum())
        warn(
            f"interrupted: {unpolished} of {columns['slope'].size} optima are the best of the scan, not polished (their"
            " slope is nan)",
        )
    _remark(columns["best_error"], sized)
    scanned.attrs = describe("landscape" if error == "test_error" else error)
    found = scanned.to_dataset(name="landscape").assign(
        {
            name: (others, values if name != "at_end" else values.astype(bool))
            for name, values in columns.items()
        }
    )
    if "split" in over:
        samples, share = found["budget"], found["best_split"]
        batches = found["steps"] if "steps" in found.coords else 1.0
        found = found.assign(best_alpha0=share * samples / batches, best_alpha=(1 - share) * samples)
        found = found.drop_vars(["alpha0", "alpha"], errors="ignore")
    if "steps" in every:
        found = best_number(found)
    if "split" in over and isinstance(model, Network):
        without = evolve(model, eta=0.0, alpha0=0.0, steps=None)
        scan = {name: values for name, values in axes.items() if name == "lam"}
        settings = {"loss": loss, "error": error, "bulk": bulk, "d": d, "scan": scan}
        found = _or_no_step(found, without, target, lam, settings)
    if model.takes_steps:
        found = found.assign(beside(found, target, error))
    attrs = provenance("tune", model, target, loss=loss.name, error=error, bulk=objective.bulk)
    attrs |= {"interrupted": 1} if interrupted else {}
    return found.assign_attrs(attrs, over=" ".join(every))


def _or_no_step(
    found: xr.Dataset, without: Network, target: Target, lam: Any, settings: dict[str, Any]
) -> xr.Dataset:
    """The optima, or those of all samples in the readout where that is better."""
    samples, error = found["budget"].reset_coords(drop=True), settings["error"]
    if "best_lam" in found:
        bare = tune(without, target, alpha=samples, **settings).drop_dims("lam")
    else:
        options = {name: settings[name] for name in ("loss", "bulk", "d")}
        bare = predict(without, target, alpha=samples, lam=lam, throw=False, **options)
        bare = bare[[error]].rename({error: "best_error"})
    bare = bare.drop_vars([name for name in bare.coords if name not in bare.dims])
    zeros = dict.fromkeys(("best_split", "best_alpha0", "best_eta", "best_steps"), 0.0)
    other = {"best_alpha": samples} | zeros | {str(name): bare[name] for name in bare.data_vars}
    better = bare["best_error"] < found["best_error"]
    shared = [name for name in map(str, found.data_vars) if name in other]
    chosen = {name: found[name].where(~better, other[name]).astype(found[name].dtype) for name in shared}
    return found.assign({name: part.assign_attrs(describe(name)) for name, part in chosen.items()})


def _remark(best: np.ndarray, sized: np.ndarray) -> None:
    """Warn of optima that real networks do not have: once, with the numbers of the worst."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.nan_to_num(np.abs(best / sized - 1.0))
    if (far := gap > NOTABLE).any():
        at = np.unravel_index(gap.argmax(), gap.shape)
        warn(
            f"{far.sum()} of {far.size} optima hold for the limit d = inf alone, out of reach of real sizes: the test"
            f" error there is {best[at]:.4g} in the limit and {sized[at]:.4g} at d = {REAL_SIZE:g}; give d to"
            " tune for a size",
            LimitWarning,
        )


def best_number(found: xr.Dataset) -> xr.Dataset:
    """The best of the optima along `steps`; the landscape and `by_steps` keep all of them."""
    error = found["best_error"]
    place = error.argmin("steps")
    kept = {name: found[name].isel(steps=place) for name in found.data_vars if name != "landscape"}
    steps = found["steps"].isel(steps=place)
    chosen = found[["landscape"]].assign({name: part.drop_vars("steps") for name, part in kept.items()})
    steps, scanned = steps.drop_vars("steps"), found["steps"].values
    end = (steps == scanned.max()) | (
        (steps == scanned.min()) & (scanned.min() > 1)
    )  # one step is the fewest
    at_end = chosen["at_end"] | (end & (len(scanned) > 1))
    return chosen.assign(best_steps=steps, by_steps=error, at_end=at_end)


def _minimised(error: str | None, target: Target, loss: Loss) -> str:
    """The error to minimise: the one asked for, or that which says most with this loss."""
    if error is None:
        return "test_error_01" if loss.margin else "test_error"
    if error == "test_error_01" and not target.binary:
        raise ParameterError(
            "error = 'test_error_01' is for labels ±1, and this target has real labels; leave it out, or use a target"
            " such as 'sign'"
        )
    return error


def _check(model: Any, over: tuple[str, ...], alpha: Any, budget: Any, lam: Any) -> None:
    unknown = [name for name in over if name not in _SOUGHT]
    if unknown or not set(over) - {"steps"} or len(set(over)) != len(over):
        close = get_close_matches(unknown[0], _SOUGHT, n=1) if unknown else []
        raise ParameterError(
            f"over = {', '.join(over)!r} must name some of 'lam', 'eta', 'split' (and 'steps'), each once"
            + (f"; did you mean {close[0]!r}?" if close else "")
        )
    scheduled = model.takes_steps and model.schedule is not None
    refusals = [
        (
            scheduled and set(over) != {"lam"},
            "a schedule has its own eta and alpha0: tune eta, split and steps of Network(f, eta, alpha0)",
        ),
        (
            not model.takes_steps and over != ("lam",),
            f"over = {over!r} needs a Network: a SpikedRF has a penalty 'lam' alone",
        ),
        (
            "split" in over and (budget is None or alpha is not None),
            "over = 'split' divides a budget: give a budget and leave alpha out",
        ),
        (
            "split" not in over and budget is not None,
            f"a budget = {shown(budget)} goes with over = 'split', which divides it between the steps and the readout:"
            f" add 'split' to over, {'or leave the budget out' if alpha is not None else 'or give alpha instead'}",
        ),
        (
            "split" not in over and alpha is None,
            "give alpha, the samples of the readout, or a budget to divide with over = 'split'",
        ),
        ("lam" in over and lam is not None, "lam is optimised: leave it out, or leave 'lam' out of over"),
        (
            "lam" not in over and lam is None,
            "lam is not optimised: give the penalty lam, or add 'lam' to over",
        ),
    ]
    for applies, sentence in refusals:
        if applies:
            raise ParameterError(sentence)


def _landscape(
    model: Network | SpikedRF,
    target: Target,
    axes: dict[str, np.ndarray],
    alpha: Any,
    budget: Any,
    lam: Any,
    loss: Loss,
    error: str,
    bulk: str | None,
    d: Any,
    progress: Callable[[float], None] | None,
) -> xr.DataArray:
    """The scanned error over the axes and every other dimension; infinite where it could not be computed."""
    import xarray as xr

    if "eta" in axes:
        model = evolve(model, eta=axes["eta"])
    batches: Any = 1.0 if model.numbers().get("steps") is None else model.numbers()["steps"]
    if "steps" in axes:
        batches = xr.DataArray(axes["steps"], dims="steps", coords={"steps": axes["steps"]})
        model = evolve(model, steps=axes["steps"])
    total = None
    if "split" in axes:
        total = budget
        if type(total).__name__ != "DataArray":
            total = xr.DataArray(total, dims=("budget",)[: np.ndim(total)], coords={"budget": total})
        share = xr.DataArray(axes["split"], dims="split", coords={"split": axes["split"]})
        model, alpha = evolve(model, alpha0=total * share / np.maximum(batches, 1.0)), total * (1.0 - share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GiantstepWarning)  # failed points are simply not optimal
        found = predict(
            model,
            target,
            alpha=alpha,
            lam=axes.get("lam", lam),  # type: ignore[arg-type]
            loss=loss,
            bulk=bulk,
            d=d,
            throw=False,
            tolerance=_SCANNED if model.most_steps < 2 and loss.linear else np.finfo(float).max,
            progress=progress,
        )
    scanned = found[error].where(found["quadrature_error"] <= _ROUGHLY, np.inf).fillna(np.inf)
    if total is not None:
        whole = total if total.ndim == 0 else total.values
        scanned = scanned.assign_coords(split=axes["split"], budget=whole)
    return scanned.assign_attrs(found.attrs)

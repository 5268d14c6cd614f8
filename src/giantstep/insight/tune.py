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
from ..errors import GiantstepWarning, LimitWarning, ParameterError, shown, warn
from ..losses import Loss, as_loss
from ..model.arguments import checked_arguments
from ..model.checks import allow, one_of, texts
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target, as_target
from ..runtime.progress import with_bar
from ..theory.predict import predict
from ..theory.status import NOTABLE, REAL_SIZE
from .learned import labelled
from .reference.explain import beside
from .search import Objective, Optimum, local_minima, ranges

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import FunctionLike, Parameter

_SOUGHT = ("lam", "eta", "split", "steps")
_SCANNED = 1e-6  # tolerance of the scan,
# and what coarsest rules may be off after several steps, where rates that are too large explode
_ROUGHLY = 0.1


_ranges = allow(
    lambda value: isinstance(value, Mapping), "is not allowed: it must be a dictionary, such as {'lam': [0.01, 0.1, 1]}"
)


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
    options = {"lam": lam, "loss": loss, "bulk": bulk, "d": d}
    found = _optima(model, target, axes, alpha, budget, error, options, progress or (lambda share: None))
    if "steps" in over:
        found = best_number(found)
    if "split" in over:
        found = _or_no_step(found, model, target, axes, error, options)
    if model.takes_steps:
        found = found.assign(beside(found, target, error))
    attrs = provenance("tune", model, target, loss=loss.name, error=error, bulk=found.attrs["bulk"])
    return found.assign_attrs(attrs, over=" ".join(over))


def _optima(
    model: Network | SpikedRF,
    target: Target,
    axes: dict[str, np.ndarray],
    alpha: Any,
    budget: Any,
    error: str,
    options: dict[str, Any],
    progress: Callable[[float], None],
) -> xr.Dataset:
    """The landscape, and the optimum at every point of the grid of the others; each number of steps by itself."""
    over = tuple(name for name in axes if name != "steps")
    grids = [axes[name] for name in over]
    scanned = _landscape(model, target, axes, alpha, budget, error, options, lambda share: progress(0.5 * share))
    others = [dim for dim in scanned.dims if dim not in over]
    scanned = scanned.transpose(*others, *over)
    sizes = [scanned.sizes[dim] for dim in others]
    model = evolve(model, steps=axes["steps"]) if "steps" in axes else model
    objective = Objective(model, target, over, scanned.attrs["bulk"], options["loss"], error)
    at: dict[tuple[int, ...], dict[str, float]] = {}  # what is fixed at each point,
    starts: dict[tuple[int, ...], list[Optimum]] = {}  # and where to begin there
    for index in np.ndindex(*sizes):
        numbers = [one for one in scanned[index].coords.values() if one.ndim == 0 and one.dtype.kind in "fi"]
        at[index] = {str(one.name): float(one) for one in numbers}
        starts[index] = local_minima(scanned.values[index], grids)
    tasks = [(index, start) for index in starts for start in starts[index] if np.isfinite(start.error)]
    best: dict[tuple[int, ...], Optimum] = {}
    interrupted: dict[str, int] = {}
    try:
        for done, (index, start) in enumerate(tasks, start=1):
            optimum = objective.minimise(at[index], start, grids)
            best[index] = min(best.get(index, optimum), optimum, key=lambda one: one.error)
            progress(0.5 + 0.5 * done / len(tasks))
    except KeyboardInterrupt:  # what was scanned is there, and so is what was polished so far
        interrupted = {"interrupted": 1}
        warn(
            f"interrupted: {len(starts) - len(best)} of {len(starts)} optima are the best of the scan, not polished"
            " (their slope is nan)"
        )
    optima = [best.get(index, starts[index][0]) for index in starts]
    every = {name: np.array([one[name] for one in at.values()]) for name in next(iter(at.values()))}
    d = every.get("d", np.inf)
    sized = objective.errors(every | {"d": np.where(np.isinf(d), REAL_SIZE, d)}, np.array([one.x for one in optima]).T)
    columns = np.array([[one.error, *one.x, *one.stationarity(grids)] for one in optima]).T
    names = ["best_error", *map("best_{}".format, over), "slope", "at_end"]
    found = scanned.assign_attrs(describe("landscape" if error == "test_error" else error)).to_dataset(name="landscape")
    found = found.assign({name: (others, values.reshape(sizes)) for name, values in zip(names, columns, strict=True)})
    found["at_end"] = found["at_end"].astype(bool)
    found.attrs = {"bulk": objective.bulk} | interrupted
    _remark(columns[0], sized)
    progress(1.0)
    if "split" not in over:
        return found
    samples, share = found["budget"], found["best_split"]
    batches = found["steps"] if "steps" in found.coords else 1.0
    found = found.assign(best_alpha0=share * samples / batches, best_alpha=(1 - share) * samples)
    return found.drop_vars(["alpha0", "alpha"], errors="ignore")


def _or_no_step(
    found: xr.Dataset,
    model: Network | SpikedRF,
    target: Target,
    axes: dict[str, np.ndarray],
    error: str,
    options: dict[str, Any],
) -> xr.Dataset:
    """The optima, or those of all samples in the readout where that is better."""
    samples = found["budget"].reset_coords(drop=True)
    without = evolve(model, eta=0.0, alpha0=0.0, steps=None)
    if "lam" in axes:
        only = {"lam": axes["lam"]}
        bare = _optima(without, target, only, samples, None, error, options, lambda share: None).drop_dims("lam")
    else:
        bare = predict(without, target, alpha=samples, throw=False, **options)
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
    known = np.isfinite(best)
    gap = np.where(known, np.abs(np.where(known, best, 1.0) / sized - 1.0), 0.0)
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
    end = (steps == scanned.max()) | ((steps == scanned.min()) & (scanned.min() > 1))  # one step is the fewest
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
        ("lam" not in over and lam is None, "lam is not optimised: give the penalty lam, or add 'lam' to over"),
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
    error: str,
    options: dict[str, Any],
    progress: Callable[[float], None],
) -> xr.DataArray:
    """The scanned error over the axes and every other dimension; infinite where it could not be computed."""
    scan = {name: labelled(name, values) for name, values in axes.items()}
    if "split" in scan:
        share, budget = scan.pop("split"), labelled("budget", budget)
        batches = np.maximum(scan.get("steps", labelled("steps", model.numbers().get("steps", 1.0))), 1.0)
        model, alpha = evolve(model, alpha0=budget * share / batches), budget * (1.0 - share)
    settings: dict[str, Any] = options | ({"lam": scan.pop("lam")} if "lam" in scan else {})
    model = evolve(model, **scan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GiantstepWarning)  # failed points are simply not optimal
        found = predict(
            model,
            target,
            alpha=alpha,
            throw=False,
            tolerance=_SCANNED if model.most_steps < 2 and options["loss"].linear else np.finfo(float).max,
            progress=progress,
            **settings,
        )
    scanned = found[error].where(found["quadrature_error"] <= _ROUGHLY, np.inf).fillna(np.inf)
    if "split" in axes:
        scanned = scanned.assign_coords(split=axes["split"], budget=budget)
    return scanned.assign_attrs(found.attrs)

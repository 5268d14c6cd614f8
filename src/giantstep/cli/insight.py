"""Commands that answer why, what is best and how good an error is: bounds, learned, tune, explain, bayes and others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ..answers.dims import place_name
from ..model.typed import numbers
from . import output as out
from .options import (
    NO_GOAL,
    NO_LAYER,
    NO_PICTURE,
    QUESTION,
    Alpha,
    Bulk,
    Dimension,
    Goal,
    Lam,
    Layer,
    Loss,
    Picture,
    option,
    ranges,
)

_All = Annotated[Any, ranges("all samples, of steps and readout together, divided by d")]
_BOUNDS = ("upper", "lower", "lower_beta", "floor", "linear")
_THRESHOLDS = ("alpha_weak", "alpha_amp", "alpha_optimal", "alpha_exact")
_EVERY = 10  # places of a curve that nobody chose, of which a table shows one


def bounds(
    *,
    over: Annotated[Literal["eta"] | None, Parameter(help="optimise over the learning rate", group=QUESTION)] = None,
    bulk: Bulk = None,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Bounds on the test error: what can be learned from infinitely many samples.

    upper: the best ridge penalty does at least this well, for any number of
    samples. lower: no readout does better, whatever samples and width.
    lower_beta: the same at this width. floor: the same whatever the activation.
    linear: the best linear predictor. On a target of several directions,
    by_direction: the most by which the linear part of each can lower the error.
    With --over, at_end: one of the best rates is at an end of the range that is
    searched.

      giantstep bounds --activation tanh --target sin --r 0:3:31 --gamma 1 \\
        --plot bounds.png
      giantstep bounds --activation erf --target erf --eta 1 --alpha0 inf --over eta
    """
    from ..insight.bounds import bounds as verb

    free = {} if over is None else {over: 1.0}
    with out.working("bounding"):
        dataset = verb(layer.model(**free), layer.goal(), over=over, bulk=bulk)
    names = out.shown(dataset, output, [str(name) for name in dataset.data_vars])
    curves = [name for name in names if name in _BOUNDS]
    picture = dataset[curves].broadcast_like(dataset[curves[0]]) if curves else None
    return out.deliver(dataset, output, out.table(dataset, names), curves or names, picture=picture)


def learned(
    *,
    alpha: Alpha,
    lam: Lam,
    at: Annotated[Any, ranges("where, along the target's direction (default -3:3:121; -3:3:41 on a plane)")] = None,
    plane: Annotated[bool, Parameter(help="over the target's first two directions", group=QUESTION)] = False,
    loss: Loss = "square",
    bulk: Bulk = None,
    d: Dimension = None,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """The function that was learned, beside the target.

    The network's average output given the input's projection on the target's
    direction. Random features (alpha0 = 0) stay linear; a trained network bends.

      giantstep learned --activation tanh --target tanh --eta 2.5 \\
        --alpha0 0,0.5,2.5 --alpha 2 --lam 0.01 --at -4:4:81 --plot learned.png
      giantstep learned --activation relu --target "x1 + x1*x2" --eta 3 \\
        --alpha0 8 --readout rademacher --alpha 8 --lam 0.1 --plane --plot plane.png
    """
    from ..insight.learned import learned_function as verb

    line = numbers("at", "-3:3:41" if plane else "-3:3:121") if at is None else at
    where = (line, line) if plane else line
    with out.working("predicting"):
        dataset = verb(layer.model(), layer.goal(d), where, alpha=alpha, lam=lam, loss=loss, bulk=bulk, d=d)
    names = out.shown(dataset, output, ["truth", "learned"])
    if plane and output.show is None:
        points = f"{dataset.sizes['x1']} × {dataset.sizes['x2']} points"  # for pictures and files
        how = f"truth and learned are on {points}: --plot FILE draws them, --format csv or --out FILE gives all"
        rows = out.table(dataset.drop_dims(["x1", "x2"]), ["test_error"])
        return out.deliver(dataset, output, f"{rows}\n{how}")
    return out.deliver(dataset, output, _some_rows(dataset, names, "x" if at is None and not plane else None, "--at"))


def coefficients(
    *,
    kappa: Annotated[Any, ranges("projections of the input on the spike (default -4:4:81)")] = None,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Spiked features as conditional Gaussians: mu0, mu1, mu2 (Result 2).

    Given the projection kappa of the input on the spike, features behave as
    mu0 + mu1 w·x + mu2 ξ. A network is first mapped to its spiked features,
    which takes its target into account.

      giantstep coefficients --activation relu --r 0.5,2 --kappa -3:3:61 \\
        --plot mu.png
      giantstep coefficients --activation tanh --target sin --eta 3 --alpha0 20
    """
    from ..insight.coefficients import coefficients as verb

    model = layer.model(gamma=1.0)  # nothing depends on it
    places = numbers("kappa", "-4:4:81") if kappa is None else kappa
    with out.working("computing"):
        dataset = verb(model, places, layer.goal() if model.takes_steps else None)  # type: ignore[arg-type]
    names = out.shown(dataset, output, ["mu0", "mu1", "mu2"])
    return out.deliver(
        dataset, output, _some_rows(dataset, names, "kappa" if kappa is None else None, "--kappa"), names
    )


def staircase(*, layer: Layer = NO_LAYER, output: Picture = NO_PICTURE) -> int:
    """Which step finds which direction of a target, and why some are never found.

    overlap: size of the cosine between spike and direction, after each step.

      giantstep staircase --activation relu --target "x1 + x1*x2 + x1*x2*x3" \\
        --eta 1 --alpha0 2 --steps 3 --plot staircase.png
    """
    from ..insight.staircase import staircase as verb

    with out.working("climbing"):
        dataset = verb(layer.model(), layer.goal())  # type: ignore[arg-type]
    places = dataset["direction"].values.tolist()
    reasons = [
        f"{place_name('direction', place, alone=len(places) == 1)}: {why}"
        for place, why in zip(places, dataset["reason"].values, strict=True)
    ]
    return out.answer(dataset, output, ["overlap"], reasons)


def tune(
    *,
    over: Annotated[str, option("what to optimise: lam, eta, split, steps, as in eta,lam", "NAMES")] = "lam",
    alpha: Alpha = None,
    budget: Annotated[Any, ranges("samples for step and readout together, to be split")] = None,
    lam: Annotated[Any, ranges("ridge penalty, where it is not optimised")] = None,
    loss: Loss = "square",
    error: Annotated[
        str | None,
        option(
            "what to minimise: test_error, or test_error_01, the share of wrong signs of labels ±1 (default with"
            " losses that are for these alone)",
            "NAME",
        ),
    ] = None,
    bulk: Bulk = None,
    d: Dimension = None,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """The best ridge penalty, learning rate, and split of a sample budget.

    at_end says that an optimum lies at an end of the scanned range.

      giantstep tune --eta 1 --alpha0 1 --alpha 0.5,1,2 --over lam
      giantstep tune --alpha0 1 --alpha 2 --over eta,lam --plot map.png
      giantstep tune --budget 3 --over eta,lam,split --bulk isotropic
    """
    from ..insight.tune import tune as verb

    wanted = tuple(over.split(","))
    free = {name: 1.0 for name, by in {"eta": "eta", "alpha0": "split"}.items() if by in wanted}
    question: dict[str, Any] = {"alpha": alpha, "budget": budget, "lam": lam, "loss": loss, "bulk": bulk, "d": d}
    with out.working("tuning") as progress:
        dataset = verb(layer.model(**free), layer.goal(d), over=wanted, error=error, progress=progress, **question)
    best = [name for name in map(str, dataset.data_vars) if name.startswith("best_")]
    advice = dataset["advice"].values.flat if "advice" in dataset else ()
    return out.answer(dataset, output, [*best, "at_end"], advice, curve=False)


def bayes(*, alpha: _All, goal: Goal = NO_GOAL, output: Picture = NO_PICTURE) -> int:
    """The best error that any method can reach, and what message passing reaches.

    test_error and overlap are those of message passing, the best fast method
    that is known; optimal_error is that of the best method of all. Below the
    table: from how many samples on the direction is seen (alpha_weak), where
    message passing and the optimum jump (alpha_amp, alpha_optimal; nan: they
    do not), and from where on the direction is known exactly (alpha_exact).
    Inputs are isotropic.

      giantstep bayes --target sin --noise 0.1 --alpha 0.2:4:20 --plot best.png
      giantstep bayes --target "x**2" --alpha 0.9,1.1,1.2
    """
    from ..insight.reference.bayes import bayes as verb

    with out.working("computing") as progress:
        dataset = verb(goal.goal(), alpha=alpha, progress=progress)
    errors = ("test_error_01", "test_error", "overlap", "optimal_error")
    thresholds = out.table(dataset, [name for name in _THRESHOLDS if name in dataset], headed=False)
    return out.answer(dataset, output, errors, [thresholds])


def ridge(
    *,
    alpha: _All,
    lam: Annotated[Any, ranges("ridge penalty (default: the best)")] = None,
    kernel: Annotated[str | None, option("of x = x·x'/d, as in 'exp(x)' (default: the inputs themselves)", "F")] = None,
    goal: Goal = NO_GOAL,
    output: Picture = NO_PICTURE,
) -> int:
    """The error of ridge regression on isotropic inputs, or with a dot-product kernel.

    giantstep ridge --target sin --noise 0.1 --alpha 0.2:4:20
    giantstep ridge --target sin --noise 0.1 --alpha 1,2 --lam 0.1 --kernel "exp(x)"
    """
    from ..insight.reference.ridge import ridge as verb

    dataset = verb(goal.goal(), alpha=alpha, lam=lam, kernel=kernel)
    return out.answer(dataset, output, ["test_error_01", "test_error", "best_lam"])


def explain(
    *,
    alpha: Alpha,
    lam: Lam,
    loss: Loss = "square",
    bulk: Bulk = None,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Where the test error of a network comes from, and what would help.

    expressivity: what the layer cannot learn, whatever the samples. readout:
    what the readout's finite samples add. batch_noise: what the finite batches
    of the steps add. They sum to the test error; bayes_error and ridge_error
    are what other methods reach with as many samples, where that is known.
    Labels ±1 with --flips, --latent-noise or --scale have no such parts.

      giantstep explain --eta 2 --alpha0 2 --noise 0.1 --alpha 0.5:8:20 \\
        --lam 0.1 --plot parts.png
    """
    from ..insight.reference.explain import PARTS
    from ..insight.reference.explain import explain as verb

    with out.working("predicting"):
        dataset = verb(layer.model(), layer.goal(), alpha=alpha, lam=lam, loss=loss, bulk=bulk)  # type: ignore[arg-type]
    others = [name for name in ("bayes_error", "ridge_error") if dataset[name].notnull().any()]
    return out.answer(dataset, output, ["test_error", *PARTS, *others], dataset["advice"].values.flat, curve=False)


def _some_rows(dataset: Any, names: list[str], along: str | None, flag: str) -> str:
    """The table; with a row for some of the places only along a dimension whose places nobody chose."""
    if along is None or not any(along in dataset[name].dims for name in names):
        return out.table(dataset, names)
    some = out.table(dataset.isel({along: slice(None, None, _EVERY)}), names)
    return f"{some}\nevery {_EVERY}th place: --format csv or --out FILE gives all, {flag} chooses"

"""Commands that answer why and what is best: bounds, learned, spectrum, tune."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from ..axes import spoken
from ..errors import NotCovered, ParameterError
from ..typed import numbers
from . import output as out
from .options import LOSSES, Layer, Picture, option, whole

_QUESTION = Group("The question", sort_key=4)
_Bulk = Annotated[
    str | None,
    option("theory of the first layer's rows: exact (default for a network) or isotropic", _QUESTION, "NAME"),
]
_D = Annotated[str | None, option("input dimension, for finite-size effects", _QUESTION)]
_OF_SPECTRA = ("edge", "mass_at_zero", "moment1", "moment2", "spike_per_d", "spike", "outlier")
_LISTED = 40  # values that a line of a summary may hold
_EVERY = 10  # places of a learned function, of which a table shows one
_SOME_ROWS = f"every {_EVERY}th place: --format csv or --out FILE gives all, --at chooses"
_NO_LAYER, _NO_PICTURE = Layer(), Picture()


def bounds(
    *,
    over: Annotated[
        Literal["eta"] | None, Parameter(help="optimise over the learning rate", group=_QUESTION)
    ] = None,
    bulk: _Bulk = None,
    layer: Layer = _NO_LAYER,
    output: Picture = _NO_PICTURE,
) -> int:
    """What can be learned at all: bounds on the test error.

    upper: the best ridge penalty does at least this well, for any number of
    samples. lower: no readout does better, whatever samples and width.
    lower_beta: the same at this width. floor: the same whatever the activation.
    linear: the best linear predictor. On a target of several directions,
    by_direction: what the linear part of each can save at most.

      giantstep bounds --activation tanh --target sin --r 0:3:31 --gamma 1 \\
        --plot bounds.png
      giantstep bounds --activation erf --target erf --eta 1 --alpha0 inf --over eta
    """
    from ..insight.bounds import bounds as verb

    out.check(output)
    values = {name: value for name, value in layer.values.items() if name != over}
    out.check_curve(output, values)
    model = layer.model(**layer.undecided(*filter(None, [over])))
    with out.working("bounding"):
        dataset = verb(model, layer.goal(), over=over, bulk=bulk)
    names = out.shown(dataset, output, [str(name) for name in dataset.data_vars])
    out.deliver(dataset, output, out.table(dataset, names))
    curves = [name for name in names if not name.startswith("eta_") and name != "by_direction"]
    if curves:
        dataset = dataset[curves].broadcast_like(dataset[curves[0]])
    out.draw(dataset, output, curves or names)
    return 0


def learned(
    *,
    alpha: Annotated[str, option("samples for the readout, divided by d", _QUESTION)],
    lam: Annotated[str, option("ridge penalty", _QUESTION)],
    at: Annotated[
        str | None,
        option("where, along the target's direction (default -3:3:121; -3:3:41 on a plane)", _QUESTION),
    ] = None,
    plane: Annotated[
        bool, Parameter(help="over the target's first two directions", group=_QUESTION, negative="")
    ] = False,
    loss: Annotated[str, option(LOSSES, _QUESTION, "NAME")] = "square",
    bulk: _Bulk = None,
    d: _D = None,
    layer: Layer = _NO_LAYER,
    output: Picture = _NO_PICTURE,
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

    out.check(output)
    given = {"alpha": numbers("alpha", alpha), "lam": numbers("lam", lam)}
    size = None if d is None else numbers("d", d)
    line = numbers("at", at or ("-3:3:41" if plane else "-3:3:121"))
    where = (line, line) if plane else line
    with out.working("predicting"):
        dataset = verb(layer.model(), layer.goal(), where, **given, loss=loss, bulk=bulk, d=size)
    names = out.shown(dataset, output, ["truth", "learned"])
    if plane and output.show is None:
        table = _plane_summary(dataset)
    elif at is None and not plane and any("x" in dataset[name].dims for name in names):
        table = "\n".join([out.table(dataset.isel(x=slice(None, None, _EVERY)), names), _SOME_ROWS])
    else:
        table = out.table(dataset, names)
    out.deliver(dataset, output, table)
    out.draw(dataset, output, None)
    return 0


def staircase(*, layer: Layer = _NO_LAYER, output: Picture = _NO_PICTURE) -> int:
    """Which directions of a target are found at which step, and why not others.

    overlap: size of the cosine between spike and direction, after each step.

      giantstep staircase --activation relu --target "x1 + x1*x2 + x1*x2*x3" \\
        --eta 1 --alpha0 2 --steps 3 --plot staircase.png
    """
    from ..insight.staircase import staircase as verb
    from ..model import Network

    out.check(output)
    model = layer.model()
    if not isinstance(model, Network):
        raise ParameterError("a staircase is climbed by the steps of a network: give --eta and --alpha0")
    with out.working("climbing"):
        dataset = verb(model, layer.goal())
    places, whys = dataset["direction"].values.tolist(), dataset["reason"].values
    reasons = [
        f"{spoken('direction', place, alone=len(places) == 1)}: {why}"
        for place, why in zip(places, whys, strict=True)
    ]
    names = out.shown(dataset, output, ["overlap"])
    out.deliver(dataset, output, "\n".join([out.table(dataset, names), "", *reasons]))
    out.draw(dataset, output, ["overlap"])
    return 0


def spectrum(
    *,
    alpha: Annotated[str, option("samples, divided by d", _QUESTION)] = "1",
    weights: Annotated[
        bool,
        Parameter(help="squared singular values of the first layer instead", group=_QUESTION, negative=""),
    ] = False,
    kernel: Annotated[
        bool,
        Parameter(
            help="of the conjugate kernel (n × n) instead of the covariance", group=_QUESTION, negative=""
        ),
    ] = False,
    normalise: Annotated[
        Literal["p", "n"], Parameter(help="divide by width or by samples", group=_QUESTION)
    ] = "p",
    bulk: _Bulk = None,
    d: _D = None,
    trials: Annotated[int, whole("with --d: so many simulated spectra beside it", group=_QUESTION)] = 0,
    seed: Annotated[int, whole("of the simulated spectra", group=_QUESTION)] = 0,
    layer: Layer = _NO_LAYER,
    output: Picture = _NO_PICTURE,
) -> int:
    """Eigenvalues of the feature covariance: bulk, edges, spikes, outliers.

    The table has the summary; csv, json and files also have the density.
    --trials puts simulated eigenvalues beside it, as a histogram in the plot.

      giantstep spectrum --activation sign --r 1 --gamma 1 --alpha 1 --d 400 \\
        --trials 10 --plot s.png
      giantstep spectrum --weights --eta 3 --alpha0 0.5 --target tanh --d 1000
    """
    out.check(output)
    size = None if d is None else numbers("d", d)
    if trials and (weights or kernel or normalise != "p" or not isinstance(size, float)):
        raise ParameterError(
            "--trials simulates the feature covariance, divided by p, at one --d; it does not go with --weights,"
            " --kernel or --normalise n"
        )
    if weights:
        from ..insight.weight_spectrum import weight_spectrum

        with out.working("solving"):
            dataset = weight_spectrum(layer.model(), layer.goal(), d=size, bulk=bulk)
    else:
        from ..insight.spectrum import spectrum as verb

        options: dict[str, Any] = {"normalise": normalise, "kernel": kernel, "bulk": bulk, "d": size}
        options["alpha"] = numbers("alpha", alpha)
        try:
            with out.working("solving") as progress:
                dataset = verb(layer.model(), layer.goal(), **options, progress=progress)
        except NotCovered as error:
            if not trials:
                raise
            out.note(f"no theory: {error}")
            dataset = None
    drawn, words = None, ""
    if trials:
        from ..simulation.eigenvalues import simulate_spectrum

        model, target = layer.model(), layer.goal()
        ratio = numbers("alpha", alpha)
        if not isinstance(ratio, float) or not isinstance(size, float):
            raise ParameterError("--trials simulates one spectrum: give single numbers instead of ranges")
        with out.working("simulating"):
            drawn = simulate_spectrum(model, target, alpha=ratio, d=round(size), trials=trials, seed=seed)
        words = _simulated_summary(drawn["eigenvalue"])
    if dataset is not None:
        names = out.shown(dataset, output, _OF_SPECTRA)
        words = "\n".join(filter(None, [_summary(dataset, names), words]))
    answer: Any = drawn if dataset is None else dataset
    out.deliver(answer, output, words)
    out.draw(answer if drawn is None else drawn, output, None, theory=None if drawn is None else dataset)
    return 0


def tune(
    *,
    over: Annotated[
        str, option("what to optimise: lam, eta, split, steps, as in eta,lam", _QUESTION, "NAMES")
    ] = "lam",
    alpha: Annotated[str | None, option("samples for the readout, divided by d", _QUESTION)] = None,
    budget: Annotated[
        str | None, option("samples for step and readout together, to be split", _QUESTION)
    ] = None,
    lam: Annotated[str | None, option("ridge penalty, where it is not optimised", _QUESTION)] = None,
    loss: Annotated[str, option(LOSSES, _QUESTION, "NAME")] = "square",
    bulk: _Bulk = None,
    d: _D = None,
    layer: Layer = _NO_LAYER,
    output: Picture = _NO_PICTURE,
) -> int:
    """The best ridge penalty, learning rate, and split of a sample budget.

    at_end says that an optimum lies at an end of the scanned range.

      giantstep tune --eta 1 --alpha0 1 --alpha 0.5,1,2 --over lam
      giantstep tune --alpha0 1 --alpha 2 --over eta,lam --plot map.png
      giantstep tune --budget 3 --over eta,lam,split --bulk isotropic
    """
    from ..insight.tune import tune as verb

    out.check(output)
    given = {"alpha": alpha, "budget": budget, "lam": lam, "d": d}
    values: dict[str, Any] = {
        name: None if text is None else numbers(name, text) for name, text in given.items()
    }
    wanted = tuple(over.split(","))
    if output.plot:
        from ..plotting.insight import check_landscape

        ranges = [name for name, value in (layer.values | values).items() if getattr(value, "ndim", 0)]
        check_landscape(wanted, [*wanted, *(name for name in ranges if name not in wanted)])
    chosen = [name for name, by in (("eta", "eta"), ("alpha0", "split")) if by in wanted]
    with out.working("tuning") as progress:
        dataset = verb(
            layer.model(**layer.undecided(*chosen)),
            layer.goal(),
            over=wanted,
            loss=loss,
            bulk=bulk,
            progress=progress,
            **values,
        )
    names = out.shown(
        dataset, output, [n for n in map(str, dataset.data_vars) if n.startswith("best_")] + ["at_end"]
    )
    out.deliver(dataset, output, out.table(dataset[names], names))
    out.draw(dataset, output, None)
    return out.status(dataset)


def _plane_summary(dataset: Any) -> str:
    """A row for each setting, with the range of both functions on the plane: its points are for pictures and files."""
    plane = [dim for dim in ("x1", "x2") if dim in dataset.dims]
    ranges = {
        f"{name} {side}": getattr(dataset[name], side)(plane)
        for name in ("truth", "learned")
        for side in ("min", "max")
    }
    points = " × ".join(str(dataset.sizes[dim]) for dim in plane)
    where = f"truth and learned are on {points} points: --plot FILE draws them, --format csv or --out FILE gives all"
    summary = dataset.drop_dims(plane).assign(ranges)
    return "\n".join([out.table(summary, ["test_error", *ranges]), where])


def _simulated_summary(eigenvalues: Any) -> str:
    """Means over trials, with standard errors, of the extremes and of the first two moments."""
    trials = eigenvalues.sizes["trial"]
    rows = {
        "smallest": eigenvalues.isel(rank=0),
        "second largest": eigenvalues.isel(rank=-2),
        "largest": eigenvalues.isel(rank=-1),
        "moment1": eigenvalues.isel(rank=slice(None, -1)).mean("rank"),
        "moment2": (eigenvalues.isel(rank=slice(None, -1)) ** 2).mean("rank"),
    }
    lines = [f"simulated, {trials} trials (moments without the largest eigenvalue):"]
    for name, values in rows.items():
        error = f" ± {float(values.std('trial', ddof=1)) / trials**0.5:.2g}" if trials > 1 else ""
        lines.append(f"  {name:14s} {float(values.mean()):.6g}{error}")
    return "\n".join(lines)


def _summary(dataset: Any, names: list[str]) -> str:
    """Named quantities one below the other: they have different shapes."""
    lines = []
    for name in names:
        if name not in dataset:
            raise ParameterError(f"there is no {name!r} here")
        values = dataset[name]
        shape = " × ".join(f"{dim} {size}" for dim, size in values.sizes.items())
        listed = ", ".join(f"{v:.6g}" for v in values.values.ravel().tolist()) or "none"
        lines.append(f"{name:14s} " + (listed if values.size <= _LISTED else f"({shape}: see --format csv)"))
    return "\n".join(lines)

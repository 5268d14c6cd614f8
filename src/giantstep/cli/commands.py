"""The commands: thin layers over the library's verbs. What they say in --help is in their docstrings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import ParameterError
from . import output as out
from .options import (
    NO_LAYER,
    NO_OUTPUT,
    NO_PICTURE,
    QUESTION,
    RUN,
    Alpha,
    Bulk,
    Dimension,
    Lam,
    Layer,
    Loss,
    Output,
    Picture,
    Size,
    option,
    parameter,
    whole,
)

if TYPE_CHECKING:
    import xarray as xr

_ON_NEW_INPUTS = ("test_error_01", "test_error")  # of labels ±1 the share of wrong signs comes first
_ERRORS = (*_ON_NEW_INPUTS, "train_error")  # of which an answer may have some


@Parameter(name="*", group=RUN)
@dataclass(frozen=True)
class Run:
    """How to simulate."""

    trials: Annotated[int, parameter("trials", RUN)] = 10
    seed: Annotated[int, parameter("seed", RUN)] = 0
    workers: Annotated[int, whole("processes side by side")] = 1
    device: Annotated[str, Parameter(help="cpu or cuda")] = "cpu"
    dtype: Annotated[str, Parameter(help="float64 or float32")] = "float64"


_DEFAULT_RUN = Run()


def predict(
    *,
    alpha: Alpha,
    lam: Lam,
    loss: Loss = "square",
    bulk: Bulk = None,
    d: Dimension = None,
    tolerance: Annotated[
        float | None, Parameter(help="of numerical integration; a larger one may help", group=QUESTION)
    ] = None,
    reference: Annotated[
        str | None, option("with --plot: lines with as many samples: bayes, ridge, or bayes,ridge", "NAMES")
    ] = None,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Exact test and training error, in the limit of many inputs or corrected for d.

    Every RANGE is a number, start:stop:count, start:stop:count:log, a comma
    list of these, or inf. Several ranges make a grid.

    A learning curve of a network after one step:
      giantstep predict --activation tanh --target sin --eta 3 --alpha0 20 \\
        --alpha 0.2:3:5 --lam 0.1

    Random features (alpha0 = 0) beside steps on more samples, as a picture:
      giantstep predict --eta 1 --alpha0 0,0.5,2 --alpha 0.1:5:60 --lam 0.1 \\
        --plot curves.png --reference bayes,ridge

    One to four steps, each on a fresh batch:
      giantstep predict --eta 2 --alpha0 1 --steps 1,2,3,4 --alpha 1.5 --lam 0.1

    Spiked random features with a ReLU, on a grid that goes to a file:
      giantstep predict --activation relu --r 1 --gamma 0:1:11 --alpha 2 \\
        --lam 0.001:10:30:log --out grid.nc
    """
    from ..theory.predict import predicted
    from ..theory.status import DIVERGES

    output.refuse_without_plot("reference", reference)
    question: dict[str, Any] = {"alpha": alpha, "lam": lam, "loss": loss, "bulk": bulk, "d": d, "tolerance": tolerance}
    with out.working("predicting") as progress:
        found = predicted(layer.model(), layer.goal(d), **question, throw=False, progress=progress)
    converged = bool(found["converged"].values.all())
    plain = converged and not (found["code"].values == DIVERGES).any()
    names = _ERRORS if plain else (*_ERRORS, "status")
    out.answer(found, output, names, reference=reference.split(",") if reference else ())
    return 0 if converged else 2


def simulate(
    *,
    alpha: Alpha,
    lam: Lam,
    d: Size,
    loss: Loss = "square",
    features: Annotated[str | None, option("network, or gaussian: Result 2's equivalent features", "KIND", RUN)] = None,
    run: Run = _DEFAULT_RUN,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Train real networks of finite size, several times, and measure.

    The table has means over the trials and their standard errors (±); csv,
    json and files have every trial. Ctrl-C keeps the trials that are finished.

      giantstep simulate --eta 1 --alpha0 0.5 --alpha 0.5:3:6 --lam 0.1 \\
        --d 400 --trials 20 --workers 2
    """
    ratios = {"alpha": alpha, "lam": lam}
    dataset = _simulated(layer, ratios, d, loss, run, features=features)
    names = out.shown(dataset, output, _ERRORS)
    trials = dataset.sizes["trial"]
    table, columns = dataset.mean("trial", keep_attrs=True), names
    if trials > 1:  # a single trial has no standard error
        errors = dataset[names].std("trial", ddof=1) / trials**0.5
        table = table.assign({f"± {name}": errors[name] for name in names})
        columns = [column for name in names for column in (name, f"± {name}")]
    return out.deliver(dataset, output, out.table(table, columns), names[:1])


def compare(
    *,
    alpha: Alpha,
    lam: Lam,
    d: Size,
    loss: Loss = "square",
    bulk: Bulk = None,
    limit: Annotated[bool, Parameter(help="compare with d = inf", group=QUESTION)] = False,
    run: Run = _DEFAULT_RUN,
    layer: Layer = NO_LAYER,
    output: Picture = NO_PICTURE,
) -> int:
    """Theory against simulation, in standard errors.

    Predicts (with the finite-size correction for d, unless --limit),
    simulates, and shows how far apart the two are: z is the difference over
    the standard error of the simulated mean.

      giantstep compare --eta 1 --alpha0 0.5 --alpha 0.5:3:6 --lam 0.1 \\
        --d 400 --trials 20 --plot compare.png

    The paper's model of a network beside the network's own theory:
      giantstep compare --eta 3 --alpha0 0.5 --target tanh --alpha 0.5:3:6 \\
        --lam 0.1 --d 400 --bulk isotropic,exact --plot bulks.png
    """
    import xarray as xr

    from ..answers.comparison import compare as verb
    from ..answers.comparison import side_by_side, summary
    from ..theory.predict import predict as theory_of

    if run.trials == 1:
        raise ParameterError("--trials 1: standard errors need at least 2 trials")
    ratios = {"alpha": alpha, "lam": lam}
    bulks = [None] if bulk is None else bulk.split(",")
    with out.working("predicting") as progress:  # before what is refused is simulated
        options: dict[str, Any] = {"loss": loss, "d": None if limit else d, "throw": False, "progress": progress}
        theories = [theory_of(layer.model(), layer.goal(d), **ratios, **options, bulk=kind) for kind in bulks]
    dataset = _simulated(layer, ratios, d, loss, run)
    several = [verb(theory, dataset) for theory in theories]
    compared = several[0]
    picture: dict[str, Any] = {}
    if len(bulks) > 1:
        dim = xr.DataArray(bulks, dims="bulk")
        compared, lines = (xr.concat(each, dim, combine_attrs="override") for each in (several, theories))
        compared = compared.assign_attrs(bulk=" and ".join(map(str, bulks)))
        picture = {"picture": dataset, "theory": lines}
    names = out.shown(compared, output, _ON_NEW_INPUTS)
    tables = [side_by_side(compared, name) for name in names]  # next to each other they are wider than a terminal
    texts = [out.table(one, list(map(str, one)), headed=one is tables[0]) for one in tables]
    heads = [f"{kind} bulk:\n" for kind in bulks] if len(bulks) > 1 else [""]
    texts += [f"{head}{summary(one)}" for head, one in zip(heads, several, strict=True)]
    status = out.deliver(compared, output, "\n\n".join(texts), names[:1], **picture)
    return status or (0 if all(theory["converged"].all() for theory in theories) else 2)


_COLUMNS = (
    "# breaks: number of kinks and jumps. For z standard normal: h0 = E f, h1 = E[z f], h2 = E[(z² - 1) f],",
    "# square = E f², spread = E f'² - h1² (nan: no step can use f', as f jumps or f' has no bound)",
)


def functions(
    *names: Annotated[str, Parameter(help="names or expressions; default: the whole catalogue", metavar="F")],
    output: Output = NO_OUTPUT,
) -> int:
    """Activations and targets by name, with their Hermite coefficients.

    Targets of several directions have the names committee, parity and
    staircase, or are expressions in x1, x2, ...; they are not listed here.

    The lines above the table say what its columns are. A large spread means
    that a step inflates the rows of a network. The best linear fit of a target
    leaves the error square - h0² - h1².

      giantstep functions
      giantstep functions relu "tanh(2*x) + 0.3*x**3" leaky_relu:0.1
    """
    from ..answers.tables import aligned, points
    from ..functions import as_function, catalogue
    from ..insight.coefficients import hermite_table

    chosen = {name: as_function(name) for name in names} if names else catalogue()
    dataset = hermite_table(chosen)
    shown = out.shown(dataset, output, list(map(str, dataset.data_vars)))
    return out.deliver(dataset, output, "\n".join([*_COLUMNS, aligned(points(dataset, shown))]))


def demo(
    *,
    d: Annotated[int, whole("input dimension of the simulations")] = 400,
    trials: Annotated[int, whole("independent repetitions")] = 10,
    out: Annotated[str, Parameter(help="folder for the picture; it is created", metavar="FOLDER")] = "demo",
) -> int:
    """Learning curves, theory against simulation, in about a minute."""
    from ..figures.demo import main

    main(d=d, trials=trials, folder=out)
    return 0


def explore(
    *,
    host: Annotated[str, Parameter(help="address to listen on; 0.0.0.0 lets other machines in")] = "127.0.0.1",
    port: Annotated[int | None, whole("port, 0 for a free one (default 8642)")] = None,
    browser: Annotated[
        bool, Parameter(help="open it in a browser", show_default=False, negative="--no-browser")
    ] = True,
) -> int:
    """An interactive page: learning curves, what is learned, spectra.

    Everything on it is computed on this machine. The link that it prints ends
    in a token: anyone with the link can use the server. The charts are drawn
    by Plotly (pip install 'giantstep[explore]'). Ctrl-C ends it.

      giantstep explore --no-browser --port 8700
    """
    from ..explorer import explore as verb

    verb(host, port, browser)
    return 0


def _simulated(layer: Layer, ratios: Mapping[str, Any], d: int, loss: str, run: Run, **more: Any) -> xr.Dataset:
    from ..simulation import simulate as verb

    return verb(layer.model(), layer.goal(d), **ratios, loss=loss, d=d, **asdict(run), **more)

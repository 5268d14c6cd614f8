"""Commands that say how good an error is: bayes, ridge, explain."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group

from ..model.typed import numbers
from . import output as out
from .options import BULKS, LOSSES, Goal, Layer, Picture, option

_QUESTION = Group("The question", sort_key=4)
_All = Annotated[str, option("all samples, of steps and readout together, divided by d", _QUESTION)]
_THRESHOLDS = ("alpha_weak", "alpha_amp", "alpha_optimal", "alpha_exact")
_NO_GOAL, _NO_LAYER, _NO_PICTURE = Goal(), Layer(), Picture()


def bayes(*, alpha: _All, goal: Goal = _NO_GOAL, output: Picture = _NO_PICTURE) -> int:
    """The best error that any method can reach, and what message passing reaches.

    test_error and overlap are those of message passing, the best fast method
    that is known; optimal_error is that of the best method of all. Below the
    table: from how many samples on the direction is seen (alpha_weak), where
    message passing and the optimum jump (alpha_amp, alpha_optimal), and from
    where on the direction is known exactly (alpha_exact).

      giantstep bayes --target sin --noise 0.1 --alpha 0.2:4:20 --plot best.png
      giantstep bayes --target "x**2" --alpha 0.9,1.1,1.2
    """
    from ..insight.reference.bayes import bayes as verb

    out.check(output)
    given = {"alpha": numbers("alpha", alpha)}
    out.check_curve(output, goal.values | given)
    with out.working("computing") as progress:
        dataset = verb(goal.goal(), **given, progress=progress)
    names = out.shown(dataset, output, ["test_error_01", "test_error", "overlap", "optimal_error"])
    words = [out.table(dataset, names)]
    words += ["", out.table(dataset, [n for n in _THRESHOLDS if n in dataset], headed=False)] * (
        not output.show
    )
    out.deliver(dataset, output, "\n".join(words))
    out.draw(dataset, output, names[:1])
    return 0


def ridge(
    *,
    alpha: _All,
    lam: Annotated[str | None, option("ridge penalty (default: the best)", _QUESTION)] = None,
    kernel: Annotated[
        str | None, option("of x = x·x'/d, as in 'exp(x)' (default: the inputs themselves)", _QUESTION, "F")
    ] = None,
    goal: Goal = _NO_GOAL,
    output: Picture = _NO_PICTURE,
) -> int:
    """The error of ridge regression on the inputs, or with a dot-product kernel.

    giantstep ridge --target sin --noise 0.1 --alpha 0.2:4:20
    giantstep ridge --target sin --noise 0.1 --alpha 1,2 --lam 0.1 --kernel "exp(x)"
    """
    from ..insight.reference.ridge import ridge as verb

    out.check(output)
    given = {"alpha": numbers("alpha", alpha)} | ({} if lam is None else {"lam": numbers("lam", lam)})
    out.check_curve(output, goal.values | given)
    dataset = verb(goal.goal(), **given, kernel=kernel)
    names = out.shown(dataset, output, ["test_error_01", "test_error", "best_lam"])
    out.deliver(dataset, output, out.table(dataset, names))
    out.draw(dataset, output, names[:1])
    return 0


def explain(
    *,
    alpha: Annotated[str, option("samples for the readout, divided by d", _QUESTION)],
    lam: Annotated[str, option("ridge penalty", _QUESTION)],
    loss: Annotated[str, option(LOSSES, _QUESTION, "NAME")] = "square",
    bulk: Annotated[str | None, option(BULKS, _QUESTION, "NAME")] = None,
    layer: Layer = _NO_LAYER,
    output: Picture = _NO_PICTURE,
) -> int:
    """Where the test error of a network comes from, and what would help.

    expressivity: what the layer cannot learn, whatever the samples. readout:
    what the readout's finite samples add. batch_noise: what the finite batches
    of the steps add. They sum to the test error; bayes_error and ridge_error
    are what other methods reach with as many samples.

      giantstep explain --eta 2 --alpha0 2 --noise 0.1 --alpha 0.5:8:20 \\
        --lam 0.1 --plot parts.png
    """
    from ..insight.reference.explain import PARTS
    from ..insight.reference.explain import explain as verb

    out.check(output)
    given = {"alpha": numbers("alpha", alpha), "lam": numbers("lam", lam)}
    with out.working("predicting"):
        dataset = verb(layer.model(), layer.goal(), **given, loss=loss, bulk=bulk)  # type: ignore[arg-type]
    names = out.shown(dataset, output, ["test_error", *PARTS, "bayes_error", "ridge_error"])
    words = [out.table(dataset, names)]
    if not output.show:
        words += ["", *dict.fromkeys(dataset["advice"].values.flat)]
    out.deliver(dataset, output, "\n".join(words))
    out.draw(dataset, output, None)
    return 0

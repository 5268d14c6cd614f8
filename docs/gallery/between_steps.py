"""Networks that use a batch again, or fit their readout between the steps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import stored_results
from ticks import log_ticks

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.model.network import Network

if TYPE_CHECKING:
    from typing import Any

    import xarray as xr
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "between-steps"
SEED = 16
TITLE = "The same batch again, or a readout that is fitted between the steps"
STORED = ("test_error", "gamma")
SIZES = {"tiny": Size(60, 4, n_test=2000), "quick": Size(200, 10, n_test=2000), "full": Size(2000, 5, n_test=20_000)}
_STEPS = 4
_READOUT = {"alpha": 1.5, "lam": 0.1}
_REFIT = 1.0
_NETWORKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "tanh": (r"tanh on sin, $\tilde\eta = 2$", {"activation": "tanh", "eta": 2.0}, "sin"),
    "relu": (r"ReLU on tanh, $\tilde\eta = 1$", {"activation": "relu", "eta": 1.0}, "tanh"),
}
_BETWEEN: dict[str, tuple[str, dict[str, Any]]] = {
    "fresh": ("fresh batches, readout as drawn", {}),
    "reused": ("the same batch in every step", {"reuse_batch": True}),
    "refitted": ("fresh batches, readout fitted", {"refit": _REFIT}),
}


def parts(size: Size) -> dict[str, CachedCall]:
    """Each network three times, and the theory of the one for which there is a theory."""
    run = {"d": size.d, "trials": size.trials, "seed": SEED, "n_test": size.n_test}
    found: dict[str, CachedCall] = {}
    for name, (_, said, target) in _NETWORKS.items():
        steps = {"alpha0": 1.0, "steps": list(range(_STEPS + 1))}
        plain = Network(**said, **steps)
        exact = {**_READOUT, "d": size.d, "tolerance": 1e-6}
        found[f"{name}-theory"] = CachedCall("predict", plain, (target,), exact)
        for between, (_, changed) in _BETWEEN.items():
            net = Network(**said, **steps, **changed)
            found[f"{name}-{between}"] = CachedCall("simulate", net, (target,), {**_READOUT, **run})
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Test errors on fresh batches with the readout as drawn."""
    words = {"tanh": "tanh on sin", "relu": "ReLU on tanh"}
    return {
        f"{said}, fresh batches": compare(data[f"{name}-theory"], data[f"{name}-fresh"])[["test_error"]]
        for name, said in words.items()
    }


def draw(data: Data) -> Figure:
    """A column for each network: test errors above, alignments below."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.4, 5.6), layout="constrained")
    grid = figure.subplots(2, len(_NETWORKS), sharex=True, sharey="row")
    shades = look.shades(len(_BETWEEN))
    for column, (name, (words, _, _)) in zip(grid.T, _NETWORKS.items(), strict=True):
        error, alignment = column
        look.line(error, data[f"{name}-theory"]["test_error"], "steps", shades[0])
        look.line(alignment, data[f"{name}-theory"]["gamma"].isel(steps=-1), "step", shades[0])
        for between, shade in zip(_BETWEEN, shades, strict=True):
            run = data[f"{name}-{between}"]
            look.points(error, run["test_error"], "steps", shade)
            look.points(alignment, run["gamma"].isel(steps=-1), "step", shade)
        error.set_title(words, loc="left")
        error.set_yscale("log")
        log_ticks(error.yaxis, (0.05, 0.1, 0.2, 0.3))
        error.set_xlabel(r"number of steps, $T$")
        error.tick_params(labelbottom=True)
        alignment.set_xlabel("steps taken, $t$")
        alignment.set_xticks(range(_STEPS + 1))
    grid[0, 0].set_ylabel(r"test error, $\epsilon_g$")
    grid[1, 0].set_ylabel(r"alignment, $\gamma$")
    look.series_legend(figure, shades, [said for said, _ in _BETWEEN.values()], "")
    kinds = {"theory": "exact theory"}
    look.kinds_legend(figure, kinds, look.trials_words(data["tanh-fresh"], "networks"))
    return figure


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

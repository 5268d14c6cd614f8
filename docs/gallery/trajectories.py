"""Spike, alignment, row norms and the network's own error, step by step."""

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
    import xarray as xr
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "trajectories"
SEED = 13
TITLE = "The way of a first layer, step by step"
STORED = ("r", "gamma", "c", "network_error")
SIZES = {
    "tiny": Size(60, 4, n_test=100),
    "quick": Size(200, 10, n_test=100),
    "full": Size(2000, 5, n_test=100),
}  # the readout does not matter here
_STEPS = 8
_NETWORKS = {
    "strong": (r"ReLU, $\tilde\eta = 2$", "relu", 2.0, "uniform"),
    "weak": (r"ReLU, $\tilde\eta = 1$", "relu", 1.0, "uniform"),
    "letters": (r"ReLU, letters $\pm1$, $\tilde\eta = 1.5$", "relu", 1.5, "rademacher"),
    "tanh": (r"tanh, $\tilde\eta = 2$", "tanh", 2.0, "uniform"),
}
_SHOWN = {
    "r": "strength of the spike, $r$",
    "gamma": r"alignment, $\gamma$",
    "c": "squared row norm, $c$",
    "network_error": r"the network's own error, $\epsilon_f$",
}


def parts(size: Size) -> dict[str, CachedCall]:
    """Each network's scalars. They do not depend on the law of the rows, so this takes the quickest law."""
    found: dict[str, CachedCall] = {}
    readout = {"alpha": 1.0, "lam": 1.0}
    run = {"d": size.d, "trials": size.trials, "seed": SEED, "n_test": size.n_test}
    for name, (_, activation, eta, letters) in _NETWORKS.items():
        net = Network(activation, eta=eta, alpha0=1.0, steps=_STEPS, readout=letters)
        found[f"{name}-theory"] = CachedCall("predict", net, ("tanh",), {**readout, "bulk": "isotropic", "d": size.d})
        found[f"{name}-simulation"] = CachedCall("simulate", net, ("tanh",), {**readout, **run})
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """All four scalars after every step."""
    return {
        said[0].replace("$", "").replace(r"\pm", "±").replace(r"\tilde\eta", "η̃"): compare(
            data[f"{name}-theory"], data[f"{name}-simulation"]
        )[list(_SHOWN)]
        for name, said in _NETWORKS.items()
    }


def draw(data: Data) -> Figure:
    """A panel for each scalar."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(7.4, 5.8), layout="constrained")
    four = figure.subplots(2, 2).flat
    shades = look.shades(len(_NETWORKS))
    for axes, (scalar, words) in zip(four, _SHOWN.items(), strict=True):
        for name, shade in zip(_NETWORKS, shades, strict=True):
            theory, trained = (data[f"{name}-{kind}"][scalar] for kind in ("theory", "simulation"))
            if "letter" in theory.dims:  # ±1 are mirror images of each other
                theory, trained = theory.isel(letter=-1), trained.isel(letter=-1)
            look.line(axes, theory, "step", shade)
            look.points(axes, trained, "step", shade)
        if scalar in ("r", "network_error"):
            axes.set_yscale("log")
            log_ticks(axes.yaxis, (0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0))
        axes.set_title(words, loc="left")
        axes.set_xlabel("steps taken, $t$")
        axes.set_xticks(range(1, _STEPS + 1))
    look.series_legend(figure, shades, [said[0] for said in _NETWORKS.values()], "")
    look.kinds_legend(
        figure, {"theory": r"theory, $d = \infty$"}, look.trials_words(data["tanh-simulation"], "networks")
    )
    return figure


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

"""The staircase, overlaps with each direction step by step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import stored_results

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.model.network import Network

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "staircase"
SEED = 15
TITLE = "Which directions are found, and when"
STORED = ("gamma",)
SIZES = {
    "tiny": Size(60, 4, n_test=100),
    "quick": Size(300, 12, n_test=100),
    "full": Size(2000, 10, n_test=100),
}  # the readout does not matter here
_TARGET, _STEPS = "x1 + x1*x2 + x1*x2*x3", 4
_NETWORKS = {
    "tanh": (r"tanh, $\tilde\eta = 2$", "tanh", 2.0),
    "relu": (r"ReLU, $\tilde\eta = 1$", "relu", 1.0),
    "gelu": (r"GELU, $\tilde\eta = 1$", "gelu", 1.0),
    "shifted": (r"$\tanh(x + \frac{1}{2})$, $\tilde\eta = 2$", "tanh(x + 0.5)", 2.0),
}
_CLOSE = 0.14  # overlaps that the enlarged panels show
_PLAIN = 0.05  # overlap from which on theory and simulation are compared: others are 0, or noise of order d^-1/2


def parts(size: Size) -> dict[str, CachedCall]:
    """Each network's spikes. They do not depend on the law of the rows, so this takes the quickest law."""
    found: dict[str, CachedCall] = {}
    readout = {"alpha": 1.0, "lam": 1.0}
    run = {"d": size.d, "trials": size.trials, "seed": SEED, "n_test": size.n_test}
    for name, (_, activation, eta) in _NETWORKS.items():
        net = Network(activation, eta=eta, alpha0=8.0, steps=_STEPS)
        theory = {**readout, "bulk": "isotropic", "d": size.d, "tolerance": 1e-6}
        found[f"{name}-theory"] = CachedCall("predict", net, (_TARGET,), theory)
        found[f"{name}-simulation"] = CachedCall("simulate", net, (_TARGET,), {**readout, **run})
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Overlaps that are not small."""
    found = {}
    for name, (_, activation, _) in _NETWORKS.items():
        compared = compare(data[f"{name}-theory"], data[f"{name}-simulation"])[["gamma"]]
        found[activation] = compared.where(np.abs(compared["gamma"].sel(part="theory", drop=True)) > _PLAIN)
    return found


def draw(data: Data) -> Figure:
    """A column for each activation; below, small overlaps enlarged."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(8.4, 5.0), layout="constrained")
    grid = figure.subplots(2, len(_NETWORKS), sharex=True, sharey="row")
    shades = look.shades(3)
    for column, (name, (words, _, _)) in zip(grid.T, _NETWORKS.items(), strict=True):
        for axes in column:
            axes.axhline(0.0, color="black", linewidth=0.5)
            for j, shade in enumerate(shades):
                theory, trained = (
                    data[f"{name}-{kind}"]["gamma"].isel(direction=j) for kind in ("theory", "simulation")
                )
                look.line(axes, theory, "step", shade)
                look.points(axes, trained, "step", shade)
        column[0].set_title(words, loc="left")
        column[1].set_ylim(-_CLOSE, _CLOSE)
        column[1].set_xlabel("steps taken, $t$")
        column[1].set_xticks(range(1, _STEPS + 1))
    grid[0, 0].set_ylabel(r"overlap, $\gamma_j$")
    grid[1, 0].set_ylabel(r"$\gamma_j$, enlarged")
    look.series_legend(figure, shades, [f"$x_{j}$" for j in (1, 2, 3)], "direction")
    kinds = {"theory": r"theory, $d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["relu-simulation"], "networks"))
    return figure


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

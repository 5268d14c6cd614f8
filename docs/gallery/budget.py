"""How to divide samples between step and readout, and where in (η̃, λ) a network is good."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import stored_results
from ticks import log_ticks

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.model.network import Network
from giantstep.theory.labels import linear_error

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "budget"
SEED = 10
TITLE = "The best use of a sample budget"
STORED = ("test_error", "best_error", "best_split", "best_eta", "best_lam", "best_alpha0", "best_alpha", "at_end")
SIZES = {"tiny": Size(60, 4, 5, n_test=2000), "quick": Size(300, 20, 24), "full": Size(2000, 10, 48)}
_NET, _NO_STEP = Network("tanh", eta=1.0, alpha0=6.0), Network("tanh", eta=0.0, alpha0=0.0)
_TARGET = "sin"


def parts(size: Size) -> dict[str, CachedCall]:
    """Optima and the phase diagram."""
    coarse = size.curve < 10
    budgets = np.geomspace(3.0, 30.0, 2 if coarse else 9)
    ends = {"eta": (0.3, 15.0), "lam": (3e-3, 30.0), "split": (0.1, 0.98)}
    scans = {name: np.geomspace(*range_, 5 if coarse else 9) for name, range_ in ends.items()}
    fine = np.geomspace(budgets[0], budgets[-1], size.curve)
    diagram = {"alpha": 3.0, "lam": np.geomspace(1e-3, 30.0, size.curve), "bulk": "exact"}
    rates = Network("tanh", eta=np.geomspace(0.2, 20.0, size.curve), alpha0=6.0)
    best = {"over": ("eta", "lam"), "bulk": "exact", "scan": {name: scans[name] for name in ("eta", "lam")}}
    return {
        "optimum": CachedCall(
            "tune", _NET, (_TARGET,), {"budget": budgets, "over": tuple(scans), "bulk": "exact", "scan": scans}
        ),
        "random": CachedCall("tune", _NO_STEP, (_TARGET,), {"alpha": fine, "over": ("lam",), "bulk": "isotropic"}),
        "diagram": CachedCall("predict", rates, (_TARGET,), diagram),
        "best": CachedCall("tune", _NET, (_TARGET,), {"alpha": 3.0, **best}),
    }


def then(size: Size, data: Data) -> dict[str, CachedCall]:
    """Theory and networks at the optima, once these are known."""
    run = {"d": size.d, "trials": size.trials, "seed": SEED, "n_test": size.n_test}
    return {
        "theory": _at_optima(data["optimum"], "predict", {"d": size.d, "bulk": "exact"}),
        "simulation": _at_optima(data["optimum"], "simulate", run),
    }


def _at_optima(optimum: xr.Dataset, verb: str, options: dict[str, Any]) -> CachedCall:
    """A call at the best parameters of every other budget, in three digits and whole numbers of samples."""
    import xarray as xr

    chosen, d = optimum.isel(budget=slice(None, None, 2)), options["d"]

    def along(values: Any) -> xr.DataArray:
        return xr.DataArray([float(f"{float(v):.3g}") for v in values], dims="budget")

    def whole(values: xr.DataArray) -> xr.DataArray:
        return xr.DataArray(np.round(values.values * d) / d, dims="budget")

    net = Network("tanh", eta=along(chosen["best_eta"]), alpha0=whole(chosen["best_alpha0"]))
    ratios = {"alpha": whole(chosen["best_alpha"]), "lam": along(chosen["best_lam"])}
    return CachedCall(verb, net, (_TARGET,), {**ratios, **options})


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Networks at the optima."""
    return {"at the optima, exact": compare(data["theory"], data["simulation"])[["test_error"]]}


def draw(data: Data) -> Figure:
    """Errors, shares, phase diagram."""
    figure, (left, middle, right) = look.panels(3, 9.2, 3.5, width_ratios=(1, 0.8, 1.2))
    optimum, shade, other = data["optimum"], *look.shades(2)
    look.line(left, optimum["best_error"], "budget", shade)
    look.line(left, data["random"]["best_error"], "alpha", other)
    measured = data["simulation"]["test_error"]
    budgets = (data["simulation"]["alpha0"] + data["simulation"]["alpha"]).values
    look.points(left, measured.assign_coords(budget=("budget", budgets)), "budget", shade)
    look.baseline(left, linear_error(_TARGET), "best linear predictor")
    left.set_yscale("log")
    log_ticks(left.yaxis, (0.02, 0.05, 0.1, 0.2, 0.4))
    left.set_ylabel(r"least test error, $\epsilon_g$")
    left.set_ylim(top=0.55)
    words = ("step and readout", "random features")
    look.series_legend(left, (shade, other._replace(marker="")), words, "", loc="upper right")
    look.line(middle, optimum["best_split"], "budget", shade)
    middle.set_ylabel(r"best share of the step, $\alpha_0/(\alpha_0+\alpha)$")
    middle.set_ylim(0.0, 1.0)
    for axes in (left, middle):
        axes.set_xscale("log")
        log_ticks(axes.xaxis, (3, 5, 10, 20, 30))
        axes.set_xlabel(r"budget, $\alpha_0 + \alpha$")
    _diagram(figure, right, data)
    look.kinds_legend(figure, {"theory": "exact theory"}, look.trials_words(data["simulation"], "networks"))
    return figure


def _diagram(figure: Figure, axes: Axes, data: Data) -> None:
    relative = data["diagram"]["test_error"].transpose("lam", "eta") / linear_error(_TARGET)
    levels = np.round(np.geomspace(0.7, 2.8, 13), 2)
    shown = axes.contourf(relative["eta"], relative["lam"], relative, levels, cmap="cividis", extend="both", norm="log")
    axes.contour(relative["eta"], relative["lam"], relative, [1.0], colors="white", linewidths=1.8)
    best = data["best"]
    axes.plot(float(best["best_eta"]), float(best["best_lam"]), "*", color="white", markersize=11, mec="black")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(r"learning rate, $\tilde\eta$")
    axes.set_ylabel(r"ridge penalty, $\lambda$")
    axes.grid(visible=False)
    bar = figure.colorbar(shown, ax=axes, label="test error / best linear error")
    log_ticks(bar.ax.yaxis, (0.7, 1.0, 1.4, 2.0, 2.8))


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

"""The isotropic model of a network and the network itself, at strong steps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import stored_results
from ticks import log_ticks

from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.learning_curves import curve_comparisons, curve_parts
from giantstep.figures.registry import Size
from giantstep.model.network import Network

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "strong-steps"
SEED = 9
TITLE = "Where the isotropic model fails, and the exact theory does not"
STORED = ("test_error",)
SIZES = {"tiny": Size(60, 4, 5, n_test=2000), "quick": Size(300, 20, 30), "full": Size(2000, 10, 60)}
BULKS = ("exact", "isotropic")
_RATIOS = {"alpha": 2.0, "lam": 0.1}
_ALPHA0, _ETA = (0.5, 1.0, 2.0, 5.0), (2.0, 4.0, 8.0)
_RATES, _SAMPLES = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0), (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """Against the learning rate, and against the samples of the step."""

    def by_rate(eta: np.ndarray) -> tuple[Network, dict[str, float]]:
        return Network("tanh", eta=eta, alpha0=list(_ALPHA0)), _RATIOS

    def by_samples(alpha0: np.ndarray) -> tuple[Network, dict[str, float]]:
        return Network("tanh", eta=list(_ETA), alpha0=alpha0), _RATIOS

    rates, samples = np.geomspace(0.3, 10.0, size.curve), np.geomspace(0.3, 30.0, size.curve)
    return {
        **curve_parts("rate", by_rate, "sin", _RATES, rates, size, SEED, BULKS),
        **curve_parts("samples", by_samples, "sin", _SAMPLES, samples, size, SEED, BULKS),
    }


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Networks against both theories."""
    words = {"rate": "against the learning rate", "samples": "against the step's samples"}
    return curve_comparisons(data, words, BULKS)


def draw(data: Data) -> Figure:
    """Errors on the left, the gap on the right."""
    figure, (left, right) = look.panels(2, 7.4, 3.9)
    shades = look.shades(len(_ALPHA0))
    for index, shade in enumerate(shades):
        chosen = {"alpha0": index}
        for kind, bulk in (("theory", "exact"), ("isotropic", "isotropic")):
            look.line(left, data[f"rate-{bulk}"]["test_error"].isel(chosen), "eta", shade, kind)
        look.points(left, data["rate-simulation"]["test_error"].isel(chosen), "eta", shade)
    left.set_xscale("log")
    left.set_yscale("log")
    log_ticks(left.xaxis, (0.3, 1.0, 3.0, 10.0))
    log_ticks(left.yaxis, (0.05, 0.1, 0.2, 0.4))
    left.set_xlabel(r"learning rate of the step, $\tilde\eta$")
    left.set_ylabel(r"test error, $\epsilon_g$")
    labels = [f"$\\alpha_0 = {value:g}$" for value in _ALPHA0]
    look.series_legend(left, shades, labels, "samples in the step", ncols=2)
    _gaps(right, data)
    kinds = {"theory": "exact theory (right: gap)", "isotropic": "isotropic model"}
    look.kinds_legend(figure, kinds, look.trials_words(data["rate-simulation"], "networks"))
    return figure


def _gaps(axes: Axes, data: Data) -> None:
    exact, model = (data[f"samples-{bulk}"]["test_error"] for bulk in BULKS)
    measured = data["samples-simulation"]["test_error"]
    at = model.sel(alpha0=measured["alpha0"], method="nearest").assign_coords(alpha0=measured["alpha0"])
    shades = look.shades(len(_ETA))
    for index, shade in enumerate(shades):
        chosen = {"eta": index}
        look.line(axes, 100 * (model / exact - 1).isel(chosen), "alpha0", shade)
        look.points(axes, 100 * (at / measured - 1).isel(chosen), "alpha0", shade)
    axes.axhline(0.0, color="0.5", linewidth=0.8)
    axes.set_xscale("log")
    log_ticks(axes.xaxis, (0.3, 1.0, 3.0, 10.0, 30.0))
    axes.set_xlabel(r"samples in the step, $\alpha_0 = n_0/d$")
    axes.set_ylabel("error of the isotropic model, %")
    labels = [f"$\\tilde\\eta = {value:g}$" for value in _ETA]
    look.series_legend(axes, shades, labels, "learning rate")


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

"""Figure 1: what the network computes along the target's direction, before and after the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.comparison import compare
from ..model.network import Network
from . import look
from .cached_call import CachedCall
from .registry import Size, number, sizes

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "learned-function"
TITLE = "The learned function bends"
CAPTION = (
    "Average output of a tanh network given the target's own input x, for a tanh target (dashed). The"
    " readout is fitted on n = 2d samples with λ = 0.01; p = d. Without a step (α₀ = 0) random features"
    " learn a straight line, whatever their activation; after one step with η̃ = 2.5 the function bends, the"
    " more so the more samples α₀ d the step has seen. Lines: exact theory at this d (dotted: d = ∞)."
    " Points: trained networks, averaged over everything but x in closed form; bars are standard errors."
)
SIZES = sizes(tiny_curve=13, quick=Size(400, 10, 61), full=Size(2000, 10, 121))
_NET = Network("tanh", eta=2.5, alpha0=[0.0, 0.5, 1.0, 1.5, 2.5])
_RATIOS: dict[str, Any] = {"alpha": 2.0, "lam": 0.01}
_AT = np.linspace(-3.0, 3.0, 12)  # even: at 0 the function of an odd network is 0, and tests nothing


def parts(size: Size) -> dict[str, CachedCall]:
    """Learned functions by theory at this d and at d = ∞, and those of trained networks."""
    x = np.union1d(_AT, np.linspace(-3.0, 3.0, size.curve))
    theory = {**_RATIOS, "bulk": "exact"}
    run = {"d": size.d, "trials": size.trials, "seed": number(NAME), "learned_at": _AT, "n_test": size.n_test}
    return {
        "theory": CachedCall("learned_function", _NET, ("tanh", x), {**theory, "d": size.d}),
        "limit": CachedCall("learned_function", _NET, ("tanh", x), theory),
        "simulation": CachedCall("simulate", _NET, ("tanh",), {**_RATIOS, **run}),
    }


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The functions at every point, and the test errors."""
    found = compare(data["theory"], data["simulation"])
    return {"tanh on tanh, exact": found[["test_error", "learned"]]}


def draw(data: Data) -> Figure:
    """The functions on top of each other, the target dashed."""
    theory, limit, simulation = data["theory"], data["limit"], data["simulation"]
    figure, (axes,) = look.panels(1)
    axes.plot(theory["x"], theory["truth"], color="black", linestyle=(0, (4, 2)), linewidth=1.2)
    axes.text(0.85, 0.8, r"target, $\tanh x_\theta$", fontsize=8, ha="right")
    shades = look.shades(theory.sizes["alpha0"])
    for index, shade in enumerate(shades):
        chosen = {"alpha0": index}
        look.line(axes, theory["learned"].isel(chosen), "x", shade)
        look.line(axes, limit["learned"].isel(chosen), "x", shade, "limit")
        look.points(axes, simulation["learned"].isel(chosen), "x", shade)
    axes.set_xlabel(r"target's input, $x_\theta = \theta\cdot x/\sqrt{d}$")
    axes.set_ylabel(r"average output, $E[\hat f\,|\,x_\theta]$")
    labels = look.values_of(r"\alpha_0", theory["alpha0"].values)
    look.series_legend(axes, shades, labels, "samples in the step", loc="upper left")
    words = look.trials_words(simulation, "networks")
    look.kinds_legend(figure, {"theory": "exact theory", "limit": r"$d = \infty$"}, words)
    return figure

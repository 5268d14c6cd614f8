"""Figure 2: test error of a trained network against the samples of its readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.network import Network
from ..theory.labels import linear_error
from . import look
from .cached_call import CachedCall
from .curves import curve_comparisons, curve_parts
from .registry import Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "trained-network"
TITLE = "One step beats every linear method"
CAPTION = (
    "Test error of a tanh network (η̃ = 1, p = d) against the samples of its readout, for a tanh target"
    " with λ = 0.01 (left) and a sin target with λ = 0.1 (right), after a step on α₀ d samples. Without a"
    " step (α₀ = 0: random features) no number of samples gets below the best linear predictor; after a step"
    " on many it does. Solid: exact theory of the trained network at this d; dashed: the paper's isotropic"
    " model of it; dotted: d = ∞. Points: trained networks with standard errors. The theory is corrected for"
    " d to leading order, which at d of a few hundred leaves a few per cent."
)
SIZES = {"tiny": Size(60, 4, 5, n_test=2000), "quick": Size(300, 20, 40), "full": Size(2000, 5, 80)}
BULKS = ("exact", "isotropic")
PANELS = {"tanh": 0.01, "sin": 0.1}
_ALPHA0 = (0.0, 1.0, 3.0, 10.0, 100.0)
_AT = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """Both targets: two theories, the limit, and trained networks."""
    net, fine = Network("tanh", eta=1.0, alpha0=list(_ALPHA0)), np.geomspace(0.2, 9.0, size.curve)
    found: dict[str, CachedCall] = {}
    for target, lam in PANELS.items():
        problem = lambda alpha, lam=lam: (net, {"alpha": alpha, "lam": lam})  # noqa: E731
        found |= curve_parts(target, problem, target, _AT, fine, size, number(NAME), BULKS)
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Networks against both theories."""
    return curve_comparisons(data, {name: f"{name} target" for name in PANELS}, BULKS)


def draw(data: Data) -> Figure:
    """A panel for each target."""
    figure, both = look.panels(2, 7.4, 4.2)
    shades = look.shades(len(_ALPHA0))
    for axes, (target, lam) in zip(both, PANELS.items(), strict=True):
        for index, shade in enumerate(shades):
            chosen = {"alpha0": index}
            for kind, bulk in (("theory", "exact"), ("isotropic", "isotropic"), ("limit", "limit")):
                values = data[f"{target}-{bulk}"]["test_error"].isel(chosen)
                look.line(axes, values, "alpha", shade, kind)
            look.points(axes, data[f"{target}-simulation"]["test_error"].isel(chosen), "alpha", shade)
        look.baseline(axes, linear_error(target), "best linear predictor", x=0.01, above=False)
        axes.set_yscale("log")
        axes.set_xscale("log")
        look.log_ticks(axes.xaxis, (0.2, 0.5, 1, 2, 5))
        axes.set_xlabel(r"samples for the readout, $\alpha = n/d$")
        axes.set_title(f"{target} target, $\\lambda = {lam:g}$", loc="left")
        look.log_ticks(axes.yaxis, (0.01, 0.02, 0.05, 0.1, 0.2, 0.4))
    both[0].set_ylabel(r"test error, $\epsilon_g$")
    labels = [f"$\\alpha_0 = {value:g}$" for value in _ALPHA0]
    look.series_legend(figure, shades, labels, r"samples in the step, $\alpha_0 = n_0/d$")
    kinds = {"theory": "exact theory", "isotropic": "isotropic model", "limit": r"exact, $d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["tanh-simulation"], "networks"))
    return figure

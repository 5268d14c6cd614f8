"""Figure 5: test error against the width of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.network import Network
from . import look
from .cached_call import CachedCall
from .curves import curve_comparisons, curve_parts
from .registry import Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "width"
TITLE = "Wider networks"
CAPTION = (
    "Test error of a tanh network on a sin target against its width β = p/d, with α₀ = 1.5, α = 1.2, λ ="
    " 0.1 and η̃ = 1. A wider network has a weaker spike (r ∝ 1/β) and more parameters. Solid: exact theory"
    " of the trained network at this d; dashed: the paper's isotropic model of it, which is off for narrow"
    " networks, whose step is strong; dotted: d = ∞. Points: trained networks with standard errors."
)
SIZES = {"tiny": Size(60, 4, 5, n_test=2000), "quick": Size(300, 20, 40), "full": Size(5000, 20, 80)}
BULKS = ("exact", "isotropic")
_AT = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """Two theories, the limit, and trained networks."""

    def problem(beta: np.ndarray) -> tuple[Network, dict[str, float]]:
        return Network("tanh", eta=1.0, alpha0=1.5, beta=beta), {"alpha": 1.2, "lam": 0.1}

    fine = np.geomspace(0.15, 3.3, size.curve)
    return curve_parts("width", problem, "sin", _AT, fine, size, number(NAME), BULKS)


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Networks against both theories."""
    return curve_comparisons(data, {"width": "tanh on sin"}, BULKS)


def draw(data: Data) -> Figure:
    """Errors against the width."""
    figure, (axes,) = look.panels(1, 5.0, 3.6)
    (shade,) = look.shades(1)
    for kind, part in (("theory", "exact"), ("isotropic", "isotropic"), ("limit", "limit")):
        look.line(axes, data[f"width-{part}"]["test_error"], "beta", shade, kind)
    look.points(axes, data["width-simulation"]["test_error"], "beta", shade)
    axes.set_xscale("log")
    look.log_ticks(axes.xaxis, (0.2, 0.5, 1.0, 2.0, 3.0))
    axes.set_xlabel(r"width, $\beta = p/d$")
    axes.set_ylabel(r"test error, $\epsilon_g$")
    kinds = {"theory": "exact theory", "isotropic": "isotropic model", "limit": r"exact, $d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["width-simulation"], "networks"))
    return figure

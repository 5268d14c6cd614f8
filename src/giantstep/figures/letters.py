"""Figure 6: letters of both signs in the initial readout, with orthogonal rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.spiked import SpikedRF
from . import look
from .cached_call import CachedCall
from .curves import curve_comparisons, curve_parts
from .registry import Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "letters"
TITLE = "Letters of both signs"
CAPTION = (
    "Test error of spiked relu features with W = Π⊥ on a relu target (c = r = γ = 1, λ = 0.1) against the"
    " samples of the readout: spikes of both signs (Rademacher letters) beside the same sign for all neurons"
    " (uniform). Two letters give the readout two bent functions of the input along the spike instead of"
    " one, and a smaller error. Solid: theory at this d; dotted: d = ∞; points: simulations with standard"
    " errors."
)
SIZES = {"tiny": Size(60, 4, 5, n_test=2000), "quick": Size(300, 20, 40), "full": Size(2000, 10, 80)}
BULKS = ("orthogonal",)
LETTERS = ("uniform", "rademacher")
_AT = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """Both initial readouts."""
    fine = np.linspace(0.2, 3.2, size.curve)
    found: dict[str, CachedCall] = {}
    for readout in LETTERS:
        model = SpikedRF("relu", r=1.0, gamma=1.0, readout=readout)
        problem = lambda alpha, model=model: (model, {"alpha": alpha, "lam": 0.1})  # noqa: E731
        found |= curve_parts(
            readout, problem, "relu", _AT, fine, size, number(NAME), BULKS, bulk="orthogonal"
        )
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Both."""
    return curve_comparisons(data, {name: f"{name} letters" for name in LETTERS}, BULKS)


def draw(data: Data) -> Figure:
    """Both learning curves."""
    figure, (axes,) = look.panels(1, 5.0, 3.6)
    shades = look.shades(2)[::-1]
    for readout, shade in zip(LETTERS, shades, strict=True):
        look.line(axes, data[f"{readout}-orthogonal"]["test_error"], "alpha", shade)
        look.line(axes, data[f"{readout}-limit"]["test_error"], "alpha", shade, "limit")
        look.points(axes, data[f"{readout}-simulation"]["test_error"], "alpha", shade)
    axes.set_yscale("log")
    look.log_ticks(axes.yaxis, (0.02, 0.03, 0.04, 0.05, 0.06))
    axes.set_xlabel(r"samples for the readout, $\alpha = n/d$")
    axes.set_ylabel(r"test error, $\epsilon_g$")
    labels = ["uniform, $u_i = 1$", r"Rademacher, $u_i = \pm 1$"]
    look.series_legend(axes, shades, labels, "initial readout", loc="lower right")
    kinds = {"theory": r"theory, $W = \Pi^\perp$", "limit": r"$d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["rademacher-simulation"], "trials"))
    return figure

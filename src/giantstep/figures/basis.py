"""Figure 7: the functions of the input that a spiked layer offers its readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.spiked import SpikedRF
from ..plotting.style import new_figure, styled
from . import look
from .cached_call import CachedCall
from .registry import Size

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "basis"
TITLE = "The basis functions"
CAPTION = (
    "The functions μ₀(κ) and κμ₁(κ) of the input along the spike, of which a fitted readout is a"
    " combination, for spikes of several strengths r (c = 1): tanh (above) and sin (below). Without a spike"
    " they are 0 and a straight line."
)
SIZES = {"tiny": Size(0, 0, 20), "quick": Size(0, 0, 300), "full": Size(0, 0, 300)}
ACTIVATIONS = ("tanh", "sin")
_R = (0.0, 0.5, 1.0, 2.0, 4.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """The coefficients of Result 2."""
    kappa = np.linspace(-4.0, 4.0, 2 * (size.curve // 2) + 1)
    return {
        name: CachedCall("coefficients", SpikedRF(name, r=list(_R), gamma=1.0), (kappa,))
        for name in ACTIVATIONS
    }


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Nothing is simulated."""
    return {}


def draw(data: Data) -> Figure:
    """A row for each activation."""
    figure = new_figure(7.4, 5.4)
    with styled():
        grid = figure.subplots(2, 2, sharex=True)
    dashes = ("-", (0, (6, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.4, 1.2, 1.4)), "-")
    for row, name in zip(grid, ACTIVATIONS, strict=True):
        found = data[name]
        functions = {
            r"$\mu_0(\kappa)$": found["mu0"],
            r"$\kappa\,\mu_1(\kappa)$": found["kappa"] * found["mu1"],
        }
        for axes, (words, values) in zip(row, functions.items(), strict=True):
            for index, shade in enumerate(look.shades(len(_R))):
                curve = values.isel(r=index).transpose("kappa")
                style = {"color": shade.color, "linestyle": dashes[index], "label": f"$r = {_R[index]:g}$"}
                with styled():
                    axes.plot(found["kappa"], curve, **style)
            axes.set_title(f"{words} of {name}", loc="left")
        row[0].set_ylabel("value")
    for axes in grid[1]:
        axes.set_xlabel(r"input along the spike, $\kappa$")
    grid[0][0].legend(title="spike strength", loc="upper left")
    return figure

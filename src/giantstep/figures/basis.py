"""Figure 7: the functions of the input that a spiked layer offers its readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.spiked import SpikedRF
from ..plotting import style
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
    figure, axes_of = look.panels(2, height=5.4, rows=2, sharex=True)
    for row, name in zip((axes_of[:2], axes_of[2:]), ACTIVATIONS, strict=True):
        found = data[name]
        functions = {
            r"$\mu_0(\kappa)$": found["mu0"],
            r"$\kappa\,\mu_1(\kappa)$": found["kappa"] * found["mu1"],
        }
        for axes, (words, values) in zip(row, functions.items(), strict=True):
            for index, (shade, label) in enumerate(
                zip(look.shades(len(_R)), look.values_of("r", _R), strict=True)
            ):
                curve, dashes = values.isel(r=index).transpose("kappa"), style.look(index, len(_R)).linestyle
                with style.styled():
                    axes.plot(found["kappa"], curve, color=shade.color, linestyle=dashes, label=label)
            axes.set_title(f"{words} of {name}", loc="left")
        row[0].set_ylabel("value")
    for axes in axes_of[2:]:
        axes.set_xlabel(r"input along the spike, $\kappa$")
    axes_of[0].legend(title="spike strength", loc="upper left")
    return figure

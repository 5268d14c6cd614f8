"""Figure 8: eigenvalues of the features' covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.spiked import SpikedRF
from . import look
from .cached_call import CachedCall
from .eigenvalues import distance, draw_bulk, single, spectrum_parts
from .registry import Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "spectrum"
TITLE = "Spectrum of the features"
CAPTION = (
    "Eigenvalues of the covariance ΨᵀΨ/p of spiked sign features with α = β = 1 (we choose c = r = 1):"
    " histogram over all trials, and the density in theory at d = ∞, which diverges as x^(-1/2) at 0. One"
    " eigenvalue of order d, far to the right, carries the features' mean; its position is compared with the"
    " theory in the table."
)
SIZES = {"tiny": Size(60, 4, 40), "quick": Size(400, 20, 120), "full": Size(2000, 10, 200)}
MODEL = SpikedRF("sign", r=1.0, gamma=1.0, c=1.0, beta=1.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """Theory and eigenvalues."""
    return spectrum_parts(MODEL, 1.0, size, number(NAME))


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The spike; the bulk's eigenvalues are too rigid for a z-score and are drawn."""
    return {"sign features": single(data["theory"], data["simulation"], spike=-1)}


def draw(data: Data) -> Figure:
    """The bulk, and the spike in words."""
    theory, simulation = data["theory"], data["simulation"]
    bulk = simulation["eigenvalue"].isel(rank=slice(None, -1)).values.ravel()
    spike = simulation["eigenvalue"].isel(rank=-1)
    figure, (axes,) = look.panels(1, 5.0, 3.6)
    edges = np.linspace(0.0, 1.04 * float(theory["edge"].max()), 60)
    draw_bulk(axes, theory, bulk, edges, 1.0)
    axes.set_yscale("log")
    axes.set_ylim(0.02, 6.0)
    axes.set_xlabel(r"eigenvalue of $\Psi^\top\Psi/p$")
    axes.set_ylabel("density")
    error = float(spike.std("trial", ddof=1)) / np.sqrt(spike.sizes["trial"])
    words = (
        f"largest eigenvalue\ntheory {float(theory['spike'].max()):.1f}\n"
        f"simulated {float(spike.mean()):.1f} ± {error:.1f}\n"
        f"largest difference of shares\nin the bulk: {100 * distance(theory, bulk):.1f} %"
    )
    axes.text(0.97, 0.62, words, transform=axes.transAxes, ha="right", va="top", fontsize=8)
    axes.legend(loc="upper right")
    axes.set_title(f"$\\alpha = \\beta = 1$, $r = 1$, $d = {simulation.attrs['d']}$", loc="left")
    return figure

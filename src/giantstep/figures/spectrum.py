"""Figure 8: eigenvalues of the features' covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.comparison import compare
from ..model.spiked import SpikedRF
from ..plotting import plot
from ..plotting.style import set_log
from .cached_call import CachedCall
from .registry import Figure, Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Drawn

    from .registry import Data

_MODEL = SpikedRF("sign", r=1.0, gamma=1.0, c=1.0, beta=1.0)


def _comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The spike; the bulk's eigenvalues are too rigid for a z-score and are drawn."""
    import xarray as xr

    theory, simulation = data["theory"], data["simulation"]
    expected = xr.Dataset({"spike": theory["spike"].isel({theory["spike"].dims[-1]: 0})}, attrs=theory.attrs)
    largest = xr.Dataset({"spike": simulation["eigenvalue"].isel(rank=-1)}, attrs=simulation.attrs)
    return {"sign features": compare(expected.drop_vars("d"), largest)}


def _draw(data: Data) -> Drawn:
    """The bulk, and the spike in words."""
    theory, simulation = data["theory"], data["simulation"]
    spike = simulation["eigenvalue"].isel(rank=-1)
    error = float(spike.std("trial", ddof=1)) / np.sqrt(spike.sizes["trial"])
    axes = plot(simulation, theory=theory.drop_vars(["spike", "spike_per_d"]))
    set_log(axes, "y")
    axes.set(ylim=(0.02, 6.0), xlabel=r"eigenvalue of $\Psi^\top\Psi/p$")
    words = (
        f"largest eigenvalue\ntheory {float(theory['spike'].max()):.1f}\n"
        f"simulated {float(spike.mean()):.1f} ± {error:.1f}\n"
        f"largest difference of shares\nin the bulk: {100 * _distance(theory, simulation):.1f} %"
    )
    axes.text(0.97, 0.62, words, transform=axes.transAxes, ha="right", va="top", fontsize=8)
    return axes.figure  # type: ignore[return-value]


def spectrum_parts(model: Any, alpha: float, size: Size, seed: int) -> dict[str, CachedCall]:
    """The theory (bulk, spike and outliers at this d), and eigenvalues of simulated features."""
    return {
        "theory": CachedCall("spectrum", model, (), {"alpha": alpha, "d": size.d, "points": size.curve}),
        "simulation": CachedCall(
            "simulate_spectrum", model, (), {"alpha": alpha, "d": size.d, "trials": size.trials, "seed": seed}
        ),
    }


def _distance(theory: xr.Dataset, simulation: xr.Dataset) -> float:
    """Largest difference between the shares of bulk eigenvalues below x, in theory and simulated, over all x."""
    eigenvalues = np.sort(simulation["eigenvalue"].isel(rank=slice(None, -1)).values.ravel())
    nodes = theory.sortby("eigenvalue")
    masses = (nodes["weight"] * nodes["density"]).values
    below = (np.cumsum(masses) - 0.5 * masses) / masses.sum()  # a node's mass lies on both of its sides
    expected = np.interp(eigenvalues, nodes["eigenvalue"], below)
    ranks = (np.arange(len(eigenvalues)) + 0.5) / len(eigenvalues)
    return float(np.abs(expected - ranks).max())


FIGURE = Figure(
    "spectrum",
    "Spectrum of the features",
    "Eigenvalues of the covariance ΨᵀΨ/p of spiked sign features with α = β = 1 (we choose c = r = 1):"
    " histogram over all trials, and the density of the theory at d = ∞, which diverges as x^(-1/2) at 0. One"
    " eigenvalue of order d, far to the right, comes from the mean of the features; the table compares its"
    " position with the theory.",
    {"tiny": Size(60, 4, 40), "quick": Size(400, 20, 120), "full": Size(2000, 10, 200)},
    lambda size: spectrum_parts(_MODEL, 1.0, size, number("spectrum")),
    _draw,
    _comparisons,
)

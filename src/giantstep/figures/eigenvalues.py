"""What the two figures of eigenvalues share: histograms against densities, single eigenvalues against theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.comparison import compare
from ..plotting.style import styled
from .cached_call import CachedCall
from .registry import Size

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def spectrum_parts(model: Any, alpha: float, size: Size, seed: int) -> dict[str, CachedCall]:
    """The theory (bulk, spike and outliers at this d), and eigenvalues of simulated features."""
    return {
        "theory": CachedCall("spectrum", model, (), {"alpha": alpha, "d": size.d, "points": size.curve}),
        "simulation": CachedCall(
            "simulate_spectrum", model, (), {"alpha": alpha, "d": size.d, "trials": size.trials, "seed": seed}
        ),
    }


def single(theory: xr.Dataset, simulation: xr.Dataset, **ranks: int) -> xr.Dataset:
    """Single eigenvalues (`spike=-1`: the largest one) against their theory, which has one of each."""
    import xarray as xr

    expected = {name: theory[name].isel({theory[name].dims[-1]: 0}) for name in ranks}
    measured = {name: simulation["eigenvalue"].isel(rank=rank) for name, rank in ranks.items()}
    return compare(
        xr.Dataset(expected, attrs=theory.attrs).drop_vars("d"), xr.Dataset(measured, attrs=simulation.attrs)
    )


def distance(theory: xr.Dataset, eigenvalues: np.ndarray) -> float:
    """Largest difference between the shares of bulk eigenvalues below x, in theory and in these, over all x."""
    order = np.argsort(theory["eigenvalue"].values)
    x = theory["eigenvalue"].values[order]
    below = np.cumsum((theory["weight"] * theory["density"]).values[order])
    middle = below - 0.5 * np.diff(below, prepend=0.0)  # a node's mass lies on both of its sides
    found = np.sort(eigenvalues)
    expected = np.interp(found, x, middle / below[-1])
    ranks = (np.arange(len(found)) + 0.5) / len(found)
    return float(np.abs(expected - ranks).max())


def draw_bulk(
    axes: Axes, theory: xr.Dataset, eigenvalues: np.ndarray, edges: np.ndarray, share: float
) -> None:
    """A histogram of eigenvalues, `share` of all there are, and the density on top of it."""
    counts, _ = np.histogram(eigenvalues, edges)
    heights = share * counts / (len(eigenvalues) * np.diff(edges))
    axes.stairs(heights, edges, fill=True, color="0.80", label="simulated features")
    axes.stairs(heights, edges, color="0.55", linewidth=0.6)
    intervals = theory["edge"].values
    with styled():
        for place, (low, high) in enumerate(intervals):
            inside = (theory["eigenvalue"] >= low) & (theory["eigenvalue"] <= high)
            x, density = theory["eigenvalue"].values[inside], theory["density"].values[inside]
            order = np.argsort(x)
            axes.plot(x[order], density[order], color="#0072B2", label=None if place else "theory")

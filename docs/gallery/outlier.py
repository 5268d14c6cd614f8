"""An eigenvalue of order one in the gap of the bulk, beside the spike of order d."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import stored_results
import xarray as xr
from ticks import log_ticks

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.figures.spectrum import spectrum_parts
from giantstep.model.spiked import SpikedRF

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "outlier"
SEED = 11
TITLE = "An outlier where a single spike is expected"
STORED = ("eigenvalue", "density", "weight", "edge", "outlier", "spike", "bulk")
SIZES = {"tiny": Size(60, 4, 30), "quick": Size(200, 20, 100), "full": Size(1000, 10, 200)}
ALPHA, BETA = 20.0, 3.0
MODEL = SpikedRF("relu", r=1.0, gamma=1.0, c=1.0, beta=BETA)


def parts(size: Size) -> dict[str, CachedCall]:
    """Theory and eigenvalues."""
    return spectrum_parts(MODEL, ALPHA, size, SEED)


def reduced(data: Data) -> dict[str, xr.Dataset]:
    """What is stored of the eigenvalues: outlier and spike of each trial, and every tenth of the sorted bulk."""
    simulation = data["simulation"]
    rank, eigenvalues = outlier_rank(simulation), simulation["eigenvalue"]
    bulk = np.sort(np.delete(eigenvalues.values, [rank, eigenvalues.sizes["rank"] - 1], axis=1).ravel())
    small = xr.Dataset(
        {
            "outlier": ("trial", eigenvalues.isel(rank=rank).values),
            "spike": ("trial", eigenvalues.isel(rank=-1).values),
            "bulk": ("place", bulk[4::10]),
        },
        attrs=simulation.attrs,
    )
    return {"theory": data["theory"], "simulation": small}


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The outlier and the spike."""
    theory = data["theory"]
    expected = {name: theory[name].isel({theory[name].dims[-1]: 0}) for name in ("outlier", "spike")}
    exact = xr.Dataset(expected, attrs=theory.attrs).drop_vars("d", errors="ignore")
    return {"relu features": compare(exact, data["simulation"][["outlier", "spike"]])}


def outlier_rank(simulation: xr.Dataset) -> int:
    """Position of the outlier among the increasing eigenvalues: below it are the bulk's first p - d - 1.

    Of p directions one is the spike's, and the linear part of the features has d, of which one is the outlier's.
    """
    return simulation.sizes["rank"] - simulation.attrs["d"] - 1


def draw(data: Data) -> Figure:
    """The bulk, and its gap."""
    theory, simulation = data["theory"], data["simulation"]
    outlier, bulk = simulation["outlier"].values, simulation["bulk"].values
    figure, (left, right) = look.panels(2, 7.4, 3.5)
    edges = np.geomspace(0.9 * bulk.min(), 1.05 * float(theory["edge"].max()), 70)
    _draw_bulk(left, theory, bulk, edges)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_ylim(3e-3, 4.0)
    log_ticks(left.xaxis, (0.2, 0.5, 1, 2, 5, 10, 20))
    left.set_ylabel("density")
    left.set_title(rf"relu, $\alpha = {ALPHA:g}$, $\beta = {BETA:g}$, $d = {simulation.attrs['d']}$", loc="left")
    gap = theory["edge"].values[0, 1], theory["edge"].values[1, 0]
    margin = 0.35 * (gap[1] - gap[0])
    _draw_bulk(right, theory, bulk, np.linspace(gap[0] - margin, gap[1] + margin, 60))
    top = 0.75
    right.set_ylim(0.0, top)
    right.plot(outlier, np.full(len(outlier), 0.06 * top), "|", color="#D55E00", markersize=9)
    error = outlier.std(ddof=1) / np.sqrt(len(outlier))
    mark = {"marker": "o", "markerfacecolor": "white", "linestyle": "none", "color": "#D55E00", "markersize": 4.5}
    right.errorbar(outlier.mean(), 0.16 * top, xerr=error, label="outlier, simulated", capsize=2.0, **mark)
    exact = float(theory["outlier"].values[0])
    right.annotate("theory", (exact, 0.2 * top), (exact, 0.42 * top), ha="center", arrowprops={"arrowstyle": "->"})
    right.set_xlim(gap[0] - margin, gap[1] + margin)
    right.set_title("the gap", loc="left")
    right.legend(loc="upper right")
    for axes in (left, right):
        axes.set_xlabel(r"eigenvalue of $\Psi^\top\Psi/p$")
    return figure


def _draw_bulk(axes: Axes, theory: xr.Dataset, eigenvalues: np.ndarray, edges: np.ndarray) -> None:
    """A histogram of the eigenvalues, and the density of each interval on top of it."""
    counts, _ = np.histogram(eigenvalues, edges)
    heights = counts / (len(eigenvalues) * np.diff(edges))
    axes.stairs(heights, edges, fill=True, color="0.80", label="simulated features")
    axes.stairs(heights, edges, color="0.55", linewidth=0.6)
    for place, (low, high) in enumerate(theory["edge"].values):
        inside = (theory["eigenvalue"] >= low) & (theory["eigenvalue"] <= high)
        x, density = theory["eigenvalue"].values[inside], theory["density"].values[inside]
        order = np.argsort(x)
        axes.plot(x[order], density[order], color="#0072B2", label=None if place else "theory")


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

"""Figure 4: spiked random features with spikes of several strengths and alignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.spiked import SpikedRF
from ..plotting.style import new_figure, styled
from . import look
from .cached_call import CachedCall
from .curves import curve_comparisons, curve_parts
from .registry import Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "spikes"
TITLE = "Spiked random features against random features"
CAPTION = (
    "Test error of spiked random features (c = 1, p = d, λ = 0.1) against the samples of the readout: sin"
    " features on a sign target (left), tanh features on a tanh target (right). Above: spikes of several"
    " strengths r that are aligned with the target, r = 0 being plain random features. Below: a spike of"
    " strength 1 with several alignments γ. Solid: theory at this d; dotted: d = ∞; points: simulations with"
    " standard errors."
)
SIZES = {"tiny": Size(60, 4, 4, n_test=2000), "quick": Size(300, 10, 40), "full": Size(2000, 10, 80)}
BULKS = ("isotropic",)
PAIRS = {"sin": "sign", "tanh": "tanh"}
_R, _GAMMA = (0.0, 0.2, 0.5, 1.0), (0.0, 0.5, 0.8, 1.0)
_AT = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
_VARIED = {"r": ("spike strength", "r", _R), "gamma": ("alignment", r"\gamma", _GAMMA)}


def parts(size: Size) -> dict[str, CachedCall]:
    """Strengths and alignments, for both pairs of student and target."""
    fine = np.linspace(0.2, 3.2, size.curve)
    found: dict[str, CachedCall] = {}
    for student, target in PAIRS.items():
        by_r = SpikedRF(student, r=list(_R), gamma=1.0)
        by_gamma = SpikedRF(student, r=1.0, gamma=list(_GAMMA))
        for name, model in (("r", by_r), ("gamma", by_gamma)):
            problem = lambda alpha, model=model: (model, {"alpha": alpha, "lam": 0.1})  # noqa: E731
            found |= curve_parts(f"{student}-{name}", problem, target, _AT, fine, size, number(NAME), BULKS)
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Every panel."""
    words = {f"{s}-{name}": f"{s} on {t}, several {name}" for name in _VARIED for s, t in PAIRS.items()}
    return curve_comparisons(data, words, BULKS)


def draw(data: Data) -> Figure:
    """Strengths above, alignments below."""
    figure = new_figure(8.2, 5.6)
    with styled():
        grid = figure.subplots(2, 2, sharex=True)
    for row, (name, (words, symbol, values)) in zip(grid, _VARIED.items(), strict=True):
        shades = look.shades(len(values))
        for axes, (student, target) in zip(row, PAIRS.items(), strict=True):
            for index, shade in enumerate(shades):
                for kind, part in (("theory", "isotropic"), ("limit", "limit")):
                    curve = data[f"{student}-{name}-{part}"]["test_error"].isel({name: index})
                    look.line(axes, curve, "alpha", shade, kind)
                measured = data[f"{student}-{name}-simulation"]["test_error"].isel({name: index})
                look.points(axes, measured, "alpha", shade)
            if name == "r":
                axes.set_title(f"{student} features, {target} target, $\\gamma = 1$", loc="left")
            else:
                axes.set_title("$r = 1$", loc="left")
                axes.set_xlabel(r"samples for the readout, $\alpha = n/d$")
            axes.set_yscale("log")
            look.log_ticks(axes.yaxis, (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0))
        row[0].set_ylabel(r"test error, $\epsilon_g$")
        labels = [f"${symbol} = {value:g}$" for value in values]
        look.series_legend(row[1], shades, labels, words, loc="center left", bbox_to_anchor=(1.02, 0.5))
    kinds = {"theory": "theory", "limit": r"$d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["sin-r-simulation"], "trials"))
    return figure

"""What one giant step learns of six targets of two directions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import stored_results

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.model.network import Network

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "two-directions"
SEED = 14
TITLE = "What one giant step learns of two directions"
CAPTION = (
    "ReLU networks with letters ±1 (β = 2) take one giant step (η̃ = 4 on 8d samples) on six targets of two projections"
    " x1, x2; their readout is fitted on αd more (λ = 0.1). Top: the targets. Middle: what the networks have learned as"
    " a function of (x1, x2) with α = 16, averaged over the rest of the input. One direction is learned whatever its"
    " shape, each other one linearly, with a slope that may depend on the first: so a product x1 x2 is learned once"
    " x1 shows in the step, and curvature across it never is. Bottom: test errors against α, with the floor that no"
    " readout of a first layer with such a spike gets under (dotted), and the best affine predictor (dashed). The sign"
    " of a product shows nothing to one step. Lines: exact theory at this d; points: trained networks."
)
STORED = ("test_error", "truth", "learned", "linear", "floor")
SIZES = {
    "tiny": Size(60, 4, 5, n_test=2000),
    "quick": Size(200, 8, 33),
    "full": Size(1500, 5, 65),
}
_NET = Network("relu", eta=4.0, alpha0=8.0, beta=2.0, readout="rademacher")
_TARGETS = {
    "product": ("x1 + x1*x2", r"$x_1 + x_1 x_2$"),
    "units": ("relu(x1) + relu(x2)", r"relu $x_1$ + relu $x_2$"),
    "smooth": ("tanh(x1) + tanh(x2) + x1*x2/2", r"$\tanh x_1 + \tanh x_2 + x_1x_2/2$"),
    "steps": ("sign(x1) + sign(x1*x2)/2", r"sgn $x_1$ + sgn$(x_1x_2)/2$"),
    "cone": ("sqrt(x1**2 + x2**2) + x1", r"$|x| + x_1$"),
    "parity": ("sign(x1*x2)", r"sgn$(x_1 x_2)$"),
}
_ALPHA, _SHOWN = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0), 16.0
_LAM = 0.1


def parts(size: Size) -> dict[str, CachedCall]:
    """For each target the learned function on a plane, errors by theory and simulation, and bounds."""
    found: dict[str, CachedCall] = {}
    run = {"d": size.d, "trials": size.trials, "seed": SEED, "n_test": size.n_test}
    line = np.linspace(-2.5, 2.5, size.curve)
    ratios: dict[str, Any] = {"lam": _LAM, "d": size.d}
    for name, (target, _) in _TARGETS.items():
        found[f"{name}-learned"] = CachedCall(
            "learned_function", _NET, (target, (line, line)), {"alpha": _SHOWN, **ratios}
        )
        found[f"{name}-theory"] = CachedCall("predict", _NET, (target,), {"alpha": list(_ALPHA), **ratios})
        found[f"{name}-bounds"] = CachedCall("bounds", _NET, (target,))
        found[f"{name}-simulation"] = CachedCall(
            "simulate", _NET, (target,), {"alpha": list(_ALPHA), "lam": _LAM, **run}
        )
    return found


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Test errors of all six."""
    return {
        target: compare(data[f"{name}-theory"], data[f"{name}-simulation"])[["test_error"]]
        for name, (target, _) in _TARGETS.items()
    }


def draw(data: Data) -> Figure:
    """A column for each target: itself, what is learned of it, and the error."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(11.4, 6.0), layout="constrained")
    figure.get_layout_engine().set(rect=(0.015, 0.0, 0.97, 1.0))  # type: ignore[union-attr]
    grid = figure.subplots(3, len(_TARGETS), height_ratios=(1.0, 1.0, 1.15))
    (shade,) = look.shades(1)
    for column, (name, (_, words)) in zip(grid.T, _TARGETS.items(), strict=True):
        learned = data[f"{name}-learned"]
        top = float(np.abs(learned["truth"]).max())
        image = None
        for axes, values in zip(column, ("truth", "learned"), strict=False):
            shown = learned[values].transpose("x2", "x1")
            image = axes.imshow(
                shown,
                origin="lower",
                extent=(-2.5, 2.5, -2.5, 2.5),
                cmap="RdBu_r",
                vmin=-top,
                vmax=top,
                aspect="equal",
            )
            axes.contour(
                shown["x1"],
                shown["x2"],
                shown,
                levels=np.linspace(-top, top, 15),
                colors="black",
                linewidths=0.35,
                alpha=0.6,
            )
            axes.set_xticks([-2, 0, 2])
            axes.set_yticks([-2, 0, 2] if name == "product" else [])
        assert image is not None
        bar = figure.colorbar(image, ax=list(column[:2]), shrink=0.5, aspect=30, pad=0.02)
        bar.set_label("value", fontsize=7, labelpad=1)
        column[0].set_title(words, loc="left", fontsize=9)
        column[1].set_xlabel("$x_1$")
        errors, bounds = column[2], data[f"{name}-bounds"]
        look.line(errors, data[f"{name}-theory"]["test_error"], "alpha", shade)
        look.points(errors, data[f"{name}-simulation"]["test_error"], "alpha", shade)
        errors.axhline(float(bounds["linear"]), color="black", linestyle=(0, (4, 2)), linewidth=0.9)
        errors.axhline(float(bounds["floor"]), color="black", linestyle=":", linewidth=1.1)
        errors.set_xscale("log")
        look.log_ticks(errors.xaxis, (0.5, 2.0, 8.0))
        errors.set_ylim(bottom=0.0)
        errors.set_xlabel(r"$\alpha$")
    for axes, words in zip(
        grid[:, 0], ("target, $x_2$", "learned, $x_2$", r"test error, $\epsilon_g$"), strict=True
    ):
        axes.set_ylabel(words)
    kinds = {"theory": "exact theory (dashed: best affine predictor, dotted: floor)"}
    look.kinds_legend(figure, kinds, look.trials_words(data["product-simulation"], "networks"))
    return figure


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

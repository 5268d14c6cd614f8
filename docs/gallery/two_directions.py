"""What one giant step learns of six targets of two directions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import stored_results
from ticks import log_ticks

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.model.network import Network

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "two-directions"
SEED = 14
TITLE = "What one giant step learns of two directions"
STORED = ("test_error", "truth", "learned", "linear", "floor")
SIZES = {"tiny": Size(60, 4, 5, n_test=2000), "quick": Size(200, 8, 33), "full": Size(1500, 5, 65)}
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
_JUMP = 0.3  # of the largest value: from one pixel to the next a jump, over the whole plane hardly anything


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
    """A block for each target: the target, the learned function, and below both the test error."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(9.6, 8.4), layout="constrained")
    blocks = figure.subfigures(2, 3, wspace=0.02, hspace=0.03)
    (shade,) = look.shades(1)
    for block, (name, (_, words)) in zip(blocks.flat, _TARGETS.items(), strict=True):
        axes = block.subplot_mosaic([["truth", "learned"], ["errors", "errors"]], height_ratios=(1.0, 1.05))
        block.suptitle(words, fontsize=10)
        learned = data[f"{name}-learned"]
        top = float(np.abs(learned["truth"]).max())
        for kind, said in (("truth", "target"), ("learned", "learned")):
            _plane(axes[kind], learned[kind].transpose("x2", "x1"), top)
            axes[kind].set_title(said, fontsize=9)
        axes["truth"].set_ylabel("$x_2$", labelpad=0)
        axes["learned"].set_yticks([])
        _errors(axes["errors"], data, name, shade)
    for block in blocks[:, 0]:
        block.axes[-1].set_ylabel(r"test error, $\epsilon_g$")
    kinds = {"theory": "exact theory (dashed: best affine predictor, dotted: floor)"}
    look.kinds_legend(figure, kinds, look.trials_words(data["product-simulation"], "networks"))
    return figure


def _plane(axes: Axes, values: xr.DataArray, top: float) -> None:
    """A function of (x1, x2) in shades from -top (blue) to top (red), with level lines where it is not flat."""
    axes.imshow(
        values, origin="lower", extent=(-2.5, 2.5, -2.5, 2.5), cmap="RdBu_r", vmin=-top, vmax=top, aspect="equal"
    )
    smooth = float(np.abs(np.diff(values.values, axis=1)).max()) < _JUMP * top
    if smooth and float(np.ptp(values.values)) > _JUMP * top:
        look_of = {"colors": "black", "linewidths": 0.4, "alpha": 0.6}
        axes.contour(values["x1"], values["x2"], values, levels=np.linspace(-top, top, 15), **look_of)
    axes.grid(visible=False)
    axes.set(xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    axes.set_xlabel("$x_1$", labelpad=0)


def _errors(axes: Axes, data: Data, name: str, shade: look.Look) -> None:
    """The test error against α, between the best affine predictor and the floor."""
    bounds = data[f"{name}-bounds"]
    look.line(axes, data[f"{name}-theory"]["test_error"], "alpha", shade)
    look.points(axes, data[f"{name}-simulation"]["test_error"], "alpha", shade)
    axes.axhline(float(bounds["linear"]), color="black", linestyle=(0, (4, 2)), linewidth=0.9)
    axes.axhline(float(bounds["floor"]), color="black", linestyle=":", linewidth=1.1)
    axes.set_xscale("log")
    log_ticks(axes.xaxis, _ALPHA)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(r"samples for the readout, $\alpha$")


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])

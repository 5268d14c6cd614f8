"""Figure 3: the functions that realise the bounds, and test errors between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..answers.comparison import compare
from ..model.spiked import SpikedRF
from . import look
from .cached_call import CachedCall
from .registry import Size, number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .registry import Data

NAME = "bounds"
TITLE = "What one step can learn at all"
CAPTION = (
    "Left: a sin target (dashed), and the functions that realise the upper and the lower bound on the test"
    " error of spiked tanh features with c = 1, r = 0.9, γ = 1: the best multiple of μ₀ and the best"
    " combination of μ₀ and κμ₁. Right: test error at β = 1 against the ridge penalty λ, for α = 1, 4 and 16"
    " samples per dimension. Its minimum over λ lies between the upper bound (λ → ∞, taken after d → ∞) and"
    " what infinitely many samples reach at this width, which is above the lower bound. Solid: theory at"
    " this d; dotted: d = ∞; points: simulations with standard errors."
)
SIZES = {"tiny": Size(60, 4, 9, n_test=2000), "quick": Size(200, 20, 40), "full": Size(2000, 10, 80)}
MODEL = SpikedRF("tanh", r=0.9, gamma=1.0, c=1.0)
_ALPHA = np.array([1.0, 4.0, 16.0])
_LAM = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])


def parts(size: Size) -> dict[str, CachedCall]:
    """Bounds, their functions, and errors against the penalty."""
    x = np.linspace(-4.0, 4.0, 2 * size.curve + 1)
    fine = np.geomspace(0.005, 100.0, size.curve)
    theory = {"alpha": _ALPHA, "bulk": "isotropic"}
    run = {"d": size.d, "trials": size.trials, "seed": number(NAME), "n_test": size.n_test}
    return {
        "bounds": CachedCall("bounds", MODEL, ("sin",)),
        "functions": CachedCall("bound_functions", MODEL, ("sin", x)),
        "theory": CachedCall(
            "predict", MODEL, ("sin",), {**theory, "lam": np.union1d(fine, _LAM), "d": size.d}
        ),
        "limit": CachedCall("predict", MODEL, ("sin",), {**theory, "lam": fine}),
        "simulation": CachedCall("simulate", MODEL, ("sin",), {"alpha": _ALPHA, "lam": _LAM, **run}),
    }


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The errors between the bounds."""
    return {"tanh on sin": compare(data["theory"], data["simulation"])[["test_error"]]}


def draw(data: Data) -> Figure:
    """Functions on the left, errors on the right."""
    figure, (left, right) = look.panels(2, 7.4, 3.7)
    _functions(left, data["functions"])
    shades = look.shades(len(_ALPHA))
    for index, shade in enumerate(shades):
        chosen = {"alpha": index}
        look.line(right, data["theory"]["test_error"].isel(chosen), "lam", shade)
        look.line(right, data["limit"]["test_error"].isel(chosen), "lam", shade, "limit")
        look.points(right, data["simulation"]["test_error"].isel(chosen), "lam", shade)
    names = {"upper": "", "lower_beta": r"upper bound and, below it, $\alpha=\infty$", "lower": "lower bound"}
    for name, words in names.items():
        look.baseline(right, float(data["bounds"][name]), words, x=0.01, above=name == "lower")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel(r"ridge penalty, $\lambda$")
    right.set_ylabel(r"test error, $\epsilon_g$")
    look.log_ticks(right.xaxis, (0.01, 0.1, 1, 10, 100))
    look.log_ticks(right.yaxis, (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
    labels = [f"$\\alpha = {value:g}$" for value in _ALPHA]
    look.series_legend(right, shades, labels, "", loc="upper center")
    kinds = {"theory": "theory", "limit": r"$d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["simulation"], "trials"))
    return figure


def _functions(axes: Axes, functions: xr.Dataset) -> None:
    upper, lower = look.shades(2)
    axes.plot(
        functions["x"],
        functions["truth"],
        color="black",
        linestyle=(0, (4, 2)),
        label=r"target, $\sin\kappa$",
    )
    axes.plot(
        functions["x"], functions["lower"], color=upper.color, label=r"lower bound: $\mu_0$ and $\kappa\mu_1$"
    )
    axes.plot(functions["x"], functions["upper"], color=lower.color, label=r"upper bound: $\mu_0$ alone")
    axes.set_xlabel(r"input along the spike, $\kappa$")
    axes.set_ylabel("best function")
    axes.set_ylim(-1.75, 2.1)
    axes.legend(loc="upper left")

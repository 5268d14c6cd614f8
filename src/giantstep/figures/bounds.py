"""Figure 3: the functions that realise the bounds, and test errors between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..answers.comparison import compare
from ..model.spiked import SpikedRF
from . import look
from .cached_call import CachedCall
from .learning_curves import curve_parts
from .registry import Size, number, sizes

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
SIZES = sizes(tiny_curve=9, quick=Size(200, 20, 40))
MODEL = SpikedRF("tanh", r=0.9, gamma=1.0, c=1.0)
_ALPHA = np.array([1.0, 4.0, 16.0])
_LAM = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])


def parts(size: Size) -> dict[str, CachedCall]:
    """Bounds, their functions, and errors against the penalty."""
    x = np.linspace(-4.0, 4.0, 2 * size.curve + 1)
    fine = np.geomspace(0.005, 100.0, size.curve)
    problem = lambda lam: (MODEL, {"alpha": _ALPHA, "lam": lam})  # noqa: E731
    return {
        "bounds": CachedCall("bounds", MODEL, ("sin",)),
        "functions": CachedCall("bound_functions", MODEL, ("sin", x)),
        **curve_parts("penalty", problem, "sin", _LAM, fine, size, number(NAME), ("isotropic",)),
    }


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The errors between the bounds."""
    return {"tanh on sin": compare(data["penalty-isotropic"], data["penalty-simulation"])[["test_error"]]}


def draw(data: Data) -> Figure:
    """Functions on the left, errors on the right."""
    figure, (left, right) = look.panels(2)
    _functions(left, data["functions"])
    shades = look.shades(len(_ALPHA))
    look.curves(right, data, "penalty", "lam", shades, {"theory": "isotropic", "limit": "limit"}, "alpha")
    names = {"upper": "", "lower_beta": r"upper bound and, below it, $\alpha=\infty$", "lower": "lower bound"}
    for name, words in names.items():
        look.baseline(right, float(data["bounds"][name]), words, x=0.01, above=name == "lower")
    look.label_axes(right, data["penalty-limit"], "lam", log="xy")
    look.series_legend(right, shades, look.values_of(r"\alpha", _ALPHA), "", loc="upper center")
    kinds = {"theory": "theory", "limit": r"$d = \infty$"}
    look.kinds_legend(figure, kinds, look.trials_words(data["penalty-simulation"], "trials"))
    return figure


def _functions(axes: Axes, functions: xr.Dataset) -> None:
    upper, lower = look.shades(2)
    lines = {
        "truth": ("black", (0, (4, 2)), r"target, $\sin\kappa$"),
        "lower": (upper.color, "-", r"lower bound: $\mu_0$ and $\kappa\mu_1$"),
        "upper": (lower.color, "-", r"upper bound: $\mu_0$ alone"),
    }
    for name, (color, dashes, words) in lines.items():
        axes.plot(functions["x"], functions[name], color=color, linestyle=dashes, label=words)
    axes.set_xlabel(r"input along the spike, $\kappa$")
    axes.set_ylabel("best function")
    axes.set_ylim(-1.75, 2.1)
    axes.legend(loc="upper left")

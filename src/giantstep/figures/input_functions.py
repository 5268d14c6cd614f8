"""Figures 1, 3 and 7: the functions that a layer combines, what it learns, and the functions that attain its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.comparison import compare
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..plotting import style
from . import look
from .cached_call import CachedCall
from .learning_curves import THEORIES, against, curve_parts
from .registry import Figure, Size, number, sizes

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Drawn

    from .registry import Data

_NET = Network("tanh", eta=2.5, alpha0=[0.0, 0.5, 1.0, 1.5, 2.5])
_RATIOS: dict[str, Any] = {"alpha": 2.0, "lam": 0.01}
_AT = np.linspace(-3.0, 3.0, 12)  # even: at 0 the function of an odd network is 0, and tests nothing


def _learned_parts(size: Size) -> dict[str, CachedCall]:
    """Learned functions by theory at this d and at d = ∞, and those of trained networks."""
    x = np.union1d(_AT, np.linspace(-3.0, 3.0, size.curve))
    theory, seed = {**_RATIOS, "bulk": "exact"}, number("learned-function")
    run = {"d": size.d, "trials": size.trials, "seed": seed, "learned_at": _AT, "n_test": size.n_test}
    return {
        "tanh-theory": CachedCall("learned_function", _NET, ("tanh", x), {**theory, "d": size.d}),
        "tanh-limit": CachedCall("learned_function", _NET, ("tanh", x), theory),
        "tanh-simulation": CachedCall("simulate", _NET, ("tanh",), {**_RATIOS, **run}),
    }


def _learned_comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The functions at every point, and the test errors."""
    return {"tanh on tanh, exact": compare(data["tanh-theory"], data["tanh-simulation"])[["test_error", "learned"]]}


def _draw_learned(data: Data) -> Drawn:
    """The functions on top of each other, the target dashed."""
    theory = data["tanh-theory"]
    figure, (axes,) = look.panels(1)
    axes.plot(theory["x"], theory["truth"], color="black", linestyle=(0, (4, 2)), linewidth=1.2)
    axes.text(0.85, 0.8, r"target, $\tanh x_\theta$", fontsize=8, ha="right")
    shades = look.shades(theory.sizes["alpha0"])
    look.curves(axes, data, "tanh", "x", shades, {"theory": "theory", "limit": "limit"}, "alpha0", y="learned")
    axes.set(
        xlabel=r"target's input, $x_\theta = \theta\cdot x/\sqrt{d}$",
        ylabel=r"average output, $E[\hat f\,|\,x_\theta]$",
    )
    labels = look.values_of(r"\alpha_0", theory["alpha0"].values)
    look.series_legend(axes, shades, labels, "samples in the step", loc="upper left")
    look.kinds_legend(
        figure,
        {"theory": "exact theory", "limit": r"$d = \infty$"},
        look.trials_words(data["tanh-simulation"], "networks"),
    )
    return figure


_MODEL = SpikedRF("tanh", r=0.9, gamma=1.0, c=1.0)
_ALPHA = np.array([1.0, 4.0, 16.0])
_LAM = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])


def _bounds_parts(size: Size) -> dict[str, CachedCall]:
    """Bounds, their functions, and errors against the penalty."""
    fine = np.geomspace(0.005, 100.0, size.curve)
    return {
        "bounds": CachedCall("bounds", _MODEL, ("sin",)),
        "functions": CachedCall("bound_functions", _MODEL, ("sin", np.linspace(-4.0, 4.0, 2 * size.curve + 1))),
        **curve_parts(
            "penalty", against("lam", _MODEL, alpha=_ALPHA), "sin", _LAM, fine, size, number("bounds"), ("isotropic",)
        ),
    }


def _bounds_comparisons(data: Data) -> dict[str, xr.Dataset]:
    """The errors between the bounds."""
    return {"tanh on sin": compare(data["penalty-isotropic"], data["penalty-simulation"])[["test_error"]]}


def _draw_bounds(data: Data) -> Drawn:
    """Functions on the left, errors on the right."""
    figure, (left, right) = look.panels(2)
    lines = {
        "truth": ("black", (0, (4, 2)), r"target, $\sin\kappa$"),
        "lower": (look.shades(2)[0].color, "-", r"lower bound: $\mu_0$ and $\kappa\mu_1$"),
        "upper": (look.shades(2)[1].color, "-", r"upper bound: $\mu_0$ alone"),
    }
    for name, (color, dashes, words) in lines.items():
        left.plot(data["functions"]["x"], data["functions"][name], color=color, linestyle=dashes, label=words)
    left.set(xlabel=r"input along the spike, $\kappa$", ylabel="best function", ylim=(-1.75, 2.1))
    left.legend(loc="upper left")
    shades = look.shades(len(_ALPHA))
    look.curves(right, data, "penalty", "lam", shades, {"theory": "isotropic", "limit": "limit"}, "alpha", "xy")
    names = {"upper": "", "lower_beta": r"upper bound and, below it, $\alpha=\infty$", "lower": "lower bound"}
    for name, words in names.items():
        look.baseline(right, float(data["bounds"][name]), words, x=0.01, above=name == "lower")
    look.series_legend(right, shades, look.values_of(r"\alpha", _ALPHA), "", loc="upper center")
    look.kinds_legend(figure, THEORIES, look.trials_words(data["penalty-simulation"], "trials"))
    return figure


_ACTIVATIONS = ("tanh", "sin")
_R = (0.0, 0.5, 1.0, 2.0, 4.0)


def _basis_parts(size: Size) -> dict[str, CachedCall]:
    """The coefficients of Result 2."""
    kappa = np.linspace(-4.0, 4.0, 2 * (size.curve // 2) + 1)
    return {name: CachedCall("coefficients", SpikedRF(name, r=list(_R), gamma=1.0), (kappa,)) for name in _ACTIVATIONS}


def _draw_basis(data: Data) -> Drawn:
    """A row for each activation."""
    figure, axes_of = look.panels(2, height=5.4, rows=2, sharex=True)
    for row, name in zip((axes_of[:2], axes_of[2:]), _ACTIVATIONS, strict=True):
        coefficients = data[name]
        functions = {
            r"$\mu_0(\kappa)$": coefficients["mu0"],
            r"$\kappa\,\mu_1(\kappa)$": coefficients["kappa"] * coefficients["mu1"],
        }
        for axes, (words, values) in zip(row, functions.items(), strict=True):
            for index, shade in enumerate(look.shades(len(_R))):
                dashes = style.look(index, len(_R)).linestyle
                axes.plot(values["kappa"], values.isel(r=index), color=shade.color, linestyle=dashes)
            axes.set_title(f"{words} of {name}", loc="left")
        row[0].set_ylabel("value")
    for axes in axes_of[2:]:
        axes.set_xlabel(r"input along the spike, $\kappa$")
    axes_of[0].legend(look.values_of("r", _R), title="spike strength", loc="upper left")
    return figure


FIGURES = (
    Figure(
        "learned-function",
        "The learned function bends",
        "Average output of a tanh network given the target's own input x, for a tanh target (dashed). The readout"
        " is fitted on n = 2d samples with λ = 0.01; p = d. Without a step (α₀ = 0) random features learn a"
        " straight line, whatever their activation. After one step with η̃ = 2.5 the function bends, and bends"
        " more if the step has more samples α₀ d. Lines: exact theory at this d (dotted: d = ∞). Points: trained"
        " networks, averaged over everything but x in closed form; bars are standard errors.",
        sizes(tiny_curve=13, quick=Size(400, 10, 61), full=Size(2000, 10, 121)),
        _learned_parts,
        _draw_learned,
        _learned_comparisons,
    ),
    Figure(
        "bounds",
        "What one step can learn at all",
        "Left: a sin target (dashed), and the functions that attain the upper and the lower bound on the test"
        " error of spiked tanh features with c = 1, r = 0.9, γ = 1: the best multiple of μ₀ and the best"
        " combination of μ₀ and κμ₁. Right: test error at β = 1 against the ridge penalty λ, for α = 1, 4 and 16"
        " samples per dimension. Its minimum over λ lies between the upper bound (λ → ∞ after d → ∞) and the error"
        " with infinitely many samples at this width. That error is above the lower bound. Solid: theory at this"
        " d; dotted: d = ∞; points: simulations with standard errors.",
        sizes(tiny_curve=9, quick=Size(200, 20, 40)),
        _bounds_parts,
        _draw_bounds,
        _bounds_comparisons,
    ),
    Figure(
        "basis",
        "The basis functions",
        "A fitted readout combines the functions μ₀(κ) and κμ₁(κ) of the input along the spike. Here they are for"
        " several strengths r (c = 1): tanh (above) and sin (below). Without a spike they are 0 and a straight"
        " line.",
        {"tiny": Size(0, 0, 20), "quick": Size(0, 0, 300), "full": Size(0, 0, 300)},
        _basis_parts,
        _draw_basis,
    ),
)

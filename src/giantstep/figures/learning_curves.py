"""Figures 2, 4, 5 and 6: test errors by theory, the same at d = ∞, and simulations at a few points of the curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.comparison import compare
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..theory.labels import linear_error
from . import look
from .cached_call import CachedCall
from .registry import Figure, Size, number, sizes

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Drawn

    from .registry import Data

Problem = Callable[[Any], tuple[Any, Mapping[str, Any]]]
"""From values along the horizontal axis to a model and the rest of the call (alpha, lam)."""

_POINTS = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0])
_NETWORKS = {"theory": "exact", "isotropic": "isotropic", "limit": "limit"}
THEORIES = {"theory": "theory", "limit": r"$d = \infty$"}
_OF_NETWORKS = {"theory": "exact theory", "isotropic": "isotropic model", "limit": r"exact, $d = \infty$"}


def _curve_figure(
    name: str,
    title: str,
    caption: str,
    sizes: Mapping[str, Size],
    panels: Mapping[str, tuple[str, str, Problem]],
    bulks: tuple[str, ...],
    at: np.ndarray,
    ends: tuple[float, float],
    draw: Callable[[Data], Drawn],
    space: Callable[..., np.ndarray] = np.linspace,
    **simulation: Any,
) -> Figure:
    """A figure made of curves: simulated `at` some points, by theory on as many as its size has, from end to end.

    Each of the `panels` has its name in words, its target and its problem.
    """

    def parts(size: Size) -> dict[str, CachedCall]:
        calls: dict[str, CachedCall] = {}
        fine, seed = space(*ends, size.curve), number(name)
        for panel, (_, target, problem) in panels.items():
            calls |= curve_parts(panel, problem, target, at, fine, size, seed, bulks, **simulation)
        return calls

    words = {panel: said for panel, (said, _, _) in panels.items()}
    return Figure(name, title, caption, sizes, parts, draw, lambda data: curve_comparisons(data, words, bulks))


def curve_parts(
    panel: str,
    problem: Problem,
    target: str,
    at: Sequence[float] | np.ndarray,
    fine: np.ndarray,
    size: Size,
    seed: int,
    bulks: Sequence[str],
    **simulation: Any,
) -> dict[str, CachedCall]:
    """Theory of each bulk with the finite-size correction, the limit of the first, and simulations `at` points."""

    def call(verb: str, values: Any, **more: Any) -> CachedCall:
        model, ratios = problem(values)
        return CachedCall(verb, model, (target,), {**ratios, **more})

    points = np.asarray(at, dtype=float)
    every = np.union1d(fine, points)
    run = {"d": size.d, "trials": size.trials, "seed": seed, "n_test": size.n_test}
    return {
        **{f"{panel}-{bulk}": call("predict", every, bulk=bulk, d=size.d) for bulk in bulks},
        f"{panel}-limit": call("predict", fine, bulk=bulks[0]),
        f"{panel}-simulation": call("simulate", points, **run, **simulation),
    }


def curve_comparisons(data: Data, panels: Mapping[str, str], bulks: Sequence[str]) -> dict[str, xr.Dataset]:
    """The test errors of each panel against each bulk's theory; `panels` gives their names in words."""
    return {
        f"{words}, {bulk}": compare(data[f"{panel}-{bulk}"], data[f"{panel}-simulation"])[["test_error"]]
        for panel, words in panels.items()
        for bulk in bulks
    }


def against(x: str, model: Any, **ratios: Any) -> Problem:
    """The problem of one model along alpha or lam."""
    return lambda values: (model, {x: values, **ratios})


_PENALTIES = {"tanh": 0.01, "sin": 0.1}
_ALPHA0 = [0.0, 1.0, 3.0, 10.0, 100.0]
_NET = Network("tanh", eta=1.0, alpha0=_ALPHA0)


def draw_targets(
    data: Data,
    penalties: Mapping[str, float],
    alpha0: Sequence[float],
    kinds: Mapping[str, str],
    log: str,
    **place: Any,
) -> Drawn:
    """A panel for each target, with its penalty: networks after steps on more and more samples, and what no linear
    method can beat, in words at some `place`."""
    figure, both = look.panels(2, height=4.2, sharey="x" not in log)
    shades = look.shades(len(alpha0))
    for axes, (target, lam) in zip(both, penalties.items(), strict=True):
        look.curves(axes, data, target, "alpha", shades, kinds, "alpha0", log)
        look.baseline(axes, linear_error(target), "best linear predictor", **place)
        axes.set_title(f"{target} target, $\\lambda = {lam:g}$", loc="left")
    both[1].set_ylabel("")
    labels = look.values_of(r"\alpha_0", alpha0)
    labels[0] += " (random features)"
    look.series_legend(figure, shades, labels, r"samples in the step, $\alpha_0 = n_0/d$")
    look.kinds_legend(
        figure, {kind: _OF_NETWORKS[kind] for kind in kinds}, look.trials_words(data["tanh-simulation"], "networks")
    )
    return figure


_PAIRS = {"sin": "sign", "tanh": "tanh"}
_VARIED = {"r": ("spike strength", "r", [0.0, 0.2, 0.5, 1.0]), "gamma": ("alignment", r"\gamma", [0.0, 0.5, 0.8, 1.0])}


def _spiked(student: str, varied: str) -> Problem:
    return against("alpha", SpikedRF(student, **{"r": 1.0, "gamma": 1.0, varied: _VARIED[varied][2]}), lam=0.1)


def _draw_spikes(data: Data) -> Drawn:
    figure, axes_of = look.panels(2, width=8.2, height=5.6, rows=2, sharex=True)
    for row, (name, (words, symbol, values)) in enumerate(_VARIED.items()):
        shades, pair = look.shades(len(values)), axes_of[2 * row : 2 * row + 2]
        for axes, (student, target) in zip(pair, _PAIRS.items(), strict=True):
            look.curves(
                axes, data, f"{student}-{name}", "alpha", shades, {"theory": "isotropic", "limit": "limit"}, name, "y"
            )
            axes.set_title(
                f"{student} features, {target} target, $\\gamma = 1$" if name == "r" else "$r = 1$", loc="left"
            )
        pair[1].set_ylabel("")
        look.series_legend(
            pair[1], shades, look.values_of(symbol, values), words, loc="center left", bbox_to_anchor=(1.02, 0.5)
        )
    for axes in axes_of[:2]:
        axes.set_xlabel("")
    look.kinds_legend(figure, THEORIES, look.trials_words(data["sin-r-simulation"], "trials"))
    return figure


def _draw_width(data: Data) -> Drawn:
    figure, (axes,) = look.panels(1)
    look.curves(axes, data, "width", "beta", look.shades(1), _NETWORKS, log="x")
    look.kinds_legend(figure, _OF_NETWORKS, look.trials_words(data["width-simulation"], "networks"))
    return figure


_LETTERS = {"uniform": "uniform, $u_i = 1$", "rademacher": r"Rademacher, $u_i = \pm 1$"}


def _draw_letters(data: Data) -> Drawn:
    figure, (axes,) = look.panels(1)
    shades = look.shades(len(_LETTERS))[::-1]
    for readout, shade in zip(_LETTERS, shades, strict=True):
        look.curves(axes, data, readout, "alpha", [shade], {"theory": "orthogonal", "limit": "limit"}, log="y")
    look.series_legend(axes, shades, list(_LETTERS.values()), "initial readout", loc="lower right")
    look.kinds_legend(
        figure,
        THEORIES | {"theory": r"theory, $W = \Pi^\perp$"},
        look.trials_words(data["rademacher-simulation"], "trials"),
    )
    return figure


FIGURES = (
    _curve_figure(
        "trained-network",
        "One step beats every linear method",
        "Test error of a tanh network (η̃ = 1, p = d) against the samples of its readout, for a tanh target with"
        " λ = 0.01 (left) and a sin target with λ = 0.1 (right), after a step on α₀ d samples. Without a step (α₀"
        " = 0: random features) the network never beats the best linear predictor, however many samples its"
        " readout has; after a step on many samples it does. Solid: exact theory of the trained network at this d;"
        " dashed: the paper's isotropic model of it; dotted: d = ∞. Points: trained networks with standard errors."
        " The theory is corrected for d to leading order, which at d of a few hundred leaves a few per cent.",
        sizes(full=Size(2000, 5)),
        {name: (f"{name} target", name, against("alpha", _NET, lam=lam)) for name, lam in _PENALTIES.items()},
        ("exact", "isotropic"),
        np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0]),
        (0.2, 9.0),
        lambda data: draw_targets(data, _PENALTIES, _ALPHA0, _NETWORKS, "xy", x=0.01, above=False),
        np.geomspace,
    ),
    _curve_figure(
        "spikes",
        "Spiked random features against random features",
        "Test error of spiked random features (c = 1, p = d, λ = 0.1) against the samples of the readout: sin"
        " features on a sign target (left), tanh features on a tanh target (right). Above: spikes of several"
        " strengths r that are aligned with the target (r = 0: plain random features). Below: a spike of strength"
        " 1 with several alignments γ. Solid: theory at this d; dotted: d = ∞; points: simulations with standard"
        " errors.",
        sizes(tiny_curve=4, quick=Size(300, 10, 40)),
        {
            f"{student}-{varied}": (f"{student} on {target}, several {varied}", target, _spiked(student, varied))
            for student, target in _PAIRS.items()
            for varied in _VARIED
        },
        ("isotropic",),
        _POINTS,
        (0.2, 3.2),
        _draw_spikes,
    ),
    _curve_figure(
        "width",
        "Wider networks",
        "Test error of a tanh network on a sin target against its width β = p/d, with α₀ = 1.5, α = 1.2, λ = 0.1"
        " and η̃ = 1. A wider network has a weaker spike (r ∝ 1/β) and more parameters. Solid: exact theory of the"
        " trained network at this d; dashed: the paper's isotropic model of it, which is off for narrow networks,"
        " because there the step is strong; dotted: d = ∞. Points: trained networks with standard errors.",
        sizes(full=Size(5000, 20)),
        {
            "width": (
                "tanh on sin",
                "sin",
                lambda beta: (Network("tanh", eta=1.0, alpha0=1.5, beta=beta), {"alpha": 1.2, "lam": 0.1}),
            )
        },
        ("exact", "isotropic"),
        np.array([0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]),
        (0.15, 3.3),
        _draw_width,
        np.geomspace,
    ),
    _curve_figure(
        "letters",
        "Letters of both signs",
        "Test error of spiked relu features with W = Π⊥ on a relu target (c = r = γ = 1, λ = 0.1) against the"
        " samples of the readout: spikes of both signs (Rademacher letters) beside the same sign for all neurons"
        " (uniform). Two letters give the readout two bent functions of the input along the spike instead of"
        " one, and a smaller error. Solid: theory at this d; dotted: d = ∞; points: simulations with standard"
        " errors.",
        sizes(),
        {
            readout: (
                f"{readout} letters",
                "relu",
                against("alpha", SpikedRF("relu", r=1.0, gamma=1.0, readout=readout), lam=0.1),
            )
            for readout in _LETTERS
        },
        ("orthogonal",),
        _POINTS,
        (0.2, 3.2),
        _draw_letters,
        bulk="orthogonal",
    ),
)

"""Pictures that are not curves along a parameter: spectra, landscapes and parts of an error, functions on a plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps

from ..errors import ParameterError
from ..insight.reference.explain import PARTS
from ..insight.spectrum import end_of_most
from . import style
from .drawing import abscissa
from .reference import MESSAGE_PASSING, REFERENCES

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_FAR = 3.0  # times the bulk's upper edge, beyond which an outlier is named rather than shown
_SHOULDER, _CUT = 0.03, 3.0  # the picture ends at so many times the density at that share of the upper edge
_TAIL = 1.1  # times where most of the bulk ends, up to which a tail is drawn
_WORSE = 3.0  # times the least error, beyond which all shades are one: a map is looked at for its valley
_BINS = 60
_MOST = 0.95  # share of simulated eigenvalues that are surely of the bulk
_PANELS = {"truth": "target", "learned": "learned function"}
_MAP: Any = {"shading": "nearest", "rasterized": True}
_OPTIMUM: Any = {"marker": "*", "markersize": 12, "linestyle": "none"}
_ABOVE: Any = {"xytext": (0, 8), "textcoords": "offset points", "horizontalalignment": "center"}
_SHADES = colormaps["cividis"]
_MARK: Any = {"clip_on": False, "linestyle": "none"}


def _spectrum(axes: Axes, dataset: xr.Dataset, theory: xr.Dataset | None = None) -> None:
    """The bulk's density, and markers at outliers (the spike of order d is beyond any axis); simulated eigenvalues as a
    histogram, with the density of `theory` beside it where that is given."""
    simulated = dataset["eigenvalue"].values if "rank" in dataset.dims else None
    bulk = dataset if theory is None and simulated is None else theory
    if bulk is not None and bulk["density"].ndim != 1:
        raise ParameterError("a picture of a spectrum shows one of them: give single numbers instead of ranges")
    if simulated is not None:
        _histogram(axes, simulated, None if bulk is None else end_of_most(bulk))
    if bulk is not None:
        _density(axes, bulk)
    axes.set(xlabel="eigenvalue", ylabel="density")


def _histogram(axes: Axes, eigenvalues: np.ndarray, end: float | None) -> None:
    """Simulated eigenvalues [trial, rank] up to the `end` of the bulk; where that is not known, until few are left."""
    last = _FAR * float(np.quantile(eigenvalues, _MOST)) if end is None else _TAIL * end
    inside, trials = eigenvalues[eigenvalues < last], len(eigenvalues)
    counts, edges = np.histogram(inside, bins=_BINS)
    axes.stairs(
        counts / (eigenvalues.size * np.diff(edges)),
        edges,
        color=style.look(0, 2).color,
        linewidth=1.0,
        label=f"simulated, {trials} trial{'s' if trials > 1 else ''}",
    )
    if end is None and inside.size < eigenvalues.size:
        words = f"{(eigenvalues.size - inside.size) / trials:.3g} beyond, up to {eigenvalues.max():.4g}"
        axes.plot([edges[-1]], [0.0], marker=">", color="C3", label=words, **_MARK)


def _density(axes: Axes, bulk: xr.Dataset) -> None:
    order = np.argsort(bulk["eigenvalue"].values)
    x, y = bulk["eigenvalue"].values[order], bulk["density"].values[order]
    end, edge = end_of_most(bulk), x.max()
    x, y = x[x <= _TAIL * end], y[x <= _TAIL * end]  # of a thin tail the beginning
    axes.fill_between(x, y, color="0.85", linewidth=0, zorder=0)
    axes.plot(
        x,
        y,
        color="black",
        linewidth=1.2,
        label="bulk" if end >= edge else f"bulk; a thin tail ends at {edge:.4g}",
    )
    outliers = np.ravel(bulk["outlier"].values) if "outlier" in bulk else np.empty(0)
    near, far = outliers[outliers <= _FAR * x.max()], outliers[outliers > _FAR * x.max()]
    if near.size:
        axes.plot(near, 0.0 * near, marker="v", color="C3", label="outlier", **_MARK)
    for words in [f"outlier at {outlier:.4g}" for outlier in far] + _spikes(bulk):
        axes.plot([max([x.max(), *near])], [0.0], marker=">", color="C3", label=words, **_MARK)
    if (zero := float(bulk["mass_at_zero"])) > 0:
        axes.plot([0.0], [0.0], marker="^", color="C0", label=f"{zero:.3g} of all at 0", **_MARK)
    shoulder = float(np.interp(_SHOULDER * x.max(), x, y))
    axes.set_ylim(0.0, min(1.05 * float(y.max()), _CUT * shoulder))  # a density may diverge at a hard edge


def _spikes(bulk: xr.Dataset) -> list[str]:
    """Where the eigenvalues of order d are, in words: no axis that shows the bulk has room for them."""
    if "threshold" in bulk:  # of weights at a size: their one spike is the outlier, or has not left the bulk
        return []
    known = "spike" in bulk and np.isfinite(bulk["spike"].values).any()
    places = np.ravel(bulk["spike" if known else "spike_per_d"].values) if "spike_per_d" in bulk else []
    return [f"spike at {place:.4g}{'' if known else ' d'}" for place in places if place > 0.0]


def _landscape(axes: Axes, dataset: xr.Dataset) -> None:
    """The scanned error with its optimum: a curve along one parameter, a map over two."""
    over = dataset.attrs["over"].split()
    error = dataset["landscape"]
    others = [str(dim) for dim in error.dims if dim not in over]
    if others or len(over) > 2:
        fewer = f"give one value of {', '.join(others)}" if others else f"optimise over two of {', '.join(over)}"
        raise ParameterError(f"a picture of a landscape shows one or two optimised parameters: {fewer}")
    best = [float(dataset[f"best_{name}"]) for name in over]
    if len(over) == 1:
        axes.plot(error[over[0]], error, color="black")
        axes.plot(best, [float(dataset["best_error"])], color="C3", label="optimum", **_OPTIMUM)
        axes.set_ylabel(style.axis_label(error))
        if style.spans_decades(error.values):
            style.set_log(axes, "y")
    else:
        shades = error.transpose(*reversed(over)).values
        worst, least = float(np.nanmax(shades)), float(np.nanmin(shades))
        most = min(worst, _WORSE * least)
        places = (error[name].values for name in over)
        colours = _SHADES.with_extremes(bad=_SHADES(1.0))  # no answer, where rates explode
        drawn = axes.pcolormesh(*places, shades, cmap=colours, vmin=least, vmax=most, **_MAP)
        extend = "max" if most < worst else "neither"
        axes.figure.colorbar(drawn, ax=axes, extend=extend, label=style.axis_label(error))
        axes.plot(*([value] for value in best), color="white", markeredgecolor="black", **_OPTIMUM)
        axes.annotate("optimum", (best[0], best[1]), color="white", **_ABOVE)  # in the valley, which is dark
    for which, name in zip("xy", over, strict=False):
        axes.set(**{f"{which}label": style.axis_label(error[name])})
        if name != "split":
            style.set_log(axes, which)


def _parts(axes: Axes, dataset: xr.Dataset) -> None:
    """The parts of a test error as stacked areas, as bars where one is negative; beside them the references."""
    error, single = dataset["test_error"], dataset["test_error"].size == 1
    x = "" if single else abscissa(dataset, ["test_error"], None)
    if error.ndim > 1 and not single:
        others = ", ".join(str(dim) for dim in error.dims if dim != x)
        raise ParameterError(f"a picture of the parts of an error has one axis, {x}; select one value of {others}")
    places = np.array([0.0, 1.0]) if single else dataset[x].values  # a single point is as wide as the picture
    parts = np.array([np.broadcast_to(dataset[name].values.ravel(), places.shape) for name in PARTS])
    bars = not single and parts.min() < 0.0  # areas of both signs would cross between two points
    for index, (name, part) in enumerate(zip(PARTS, parts, strict=True)):
        before = parts[:index]
        start = np.where((before < 0.0) == (part < 0.0), before, 0.0).sum(0)  # of what has the same sign
        look: Any = {"color": style.look(index, len(PARTS)).color, "alpha": 0.75, "linewidth": 0.0}
        if bars:
            axes.bar(places, part, 0.8 * np.gradient(places), start, label=name.replace("_", " "), **look)
        else:
            axes.fill_between(places, start, start + part, label=name.replace("_", " "), **look)
    for name, (_, words, dashes) in REFERENCES.items():
        line = dataset[f"{name}_error"].broadcast_like(error).values.ravel()  # the same for every eta or lam
        if np.isfinite(line).any():
            called = MESSAGE_PASSING if name == "bayes" else words
            axes.plot(places, np.broadcast_to(line, places.shape), dashes, color="0.1", label=called)
    axes.axhline(0.0, **style.LEVEL)
    axes.set_ylabel(style.axis_label(error))
    if single:
        axes.set_xticks([])
        return
    if style.log_spaced(places):
        style.set_log(axes, "x")
    axes.set_xlabel(style.axis_label(dataset[x]))


def _plane(dataset: xr.Dataset, ax: Axes | None) -> Axes:
    """Target and learned function side by side on the plane of two directions, in the same shades."""
    if set(dataset["learned"].dims) != {"x1", "x2"}:
        raise ParameterError(
            "a picture of a plane shows one setting: give numbers instead of ranges, or select one with"
            " dataset.isel(...)"
        )
    if ax is not None:
        raise ParameterError("ax is for one panel of curves, and a plane is drawn on two; leave it out")
    reach = max(float(np.abs(dataset[name]).max()) for name in _PANELS)
    figure, both = style.panels(2, 6.4, sharex=True, sharey=True)
    with style.styled():
        for axes, (name, words) in zip(both, _PANELS.items(), strict=True):
            values = dataset[name].transpose("x2", "x1")
            axes.pcolormesh(values["x1"], values["x2"], values, cmap="RdBu_r", vmin=-reach, vmax=reach, **_MAP)
            axes.set(title=f"{words}, {style.symbol(values)}", xlabel="$x_1$", aspect="equal")
            axes.grid(visible=False)
        both[0].set_ylabel("$x_2$")
        figure.colorbar(both[0].collections[0], ax=both, label="value, in both panels", shrink=0.85)
        figure.suptitle(style.title(dataset), fontsize="medium", x=0.02, horizontalalignment="left")
    return both[0]


_ONE_PANEL: dict[str, Callable[..., None]] = {
    "density": _spectrum,
    "rank": _spectrum,
    "landscape": _landscape,
    "batch_noise": _parts,
}
"""How answers are drawn that have such a variable or dimension."""


def draw_picture(dataset: xr.Dataset, x: str | None, theory: xr.Dataset | None, ax: Axes | None) -> Axes | None:
    """The picture of a dataset that does not make curves; None for one that does.

    With `x`, answers are drawn as curves along it, except for the parts of an error that has no other dimension.
    """
    if x is not None and ("batch_noise" not in dataset or dataset["test_error"].dims != (x,)):
        return None
    on_plane = "truth" in dataset and {"x1", "x2"} <= set(dataset["truth"].dims)
    kinds = [draw for name, draw in _ONE_PANEL.items() if name in dataset.variables or name in dataset.dims]
    if not kinds and not on_plane:
        return None
    if theory is not None and _spectrum not in kinds:
        raise ParameterError("theory is for curves and spectra, and this picture has neither; leave it out")
    if on_plane:
        return _plane(dataset, ax)
    with style.styled():
        axes = style.panels()[1][0] if ax is None else ax
        kinds[0](axes, dataset, **({} if theory is None else {"theory": theory}))
        axes.set_title(style.title(dataset), loc="left")
        style.legend(axes, ours=ax is None)
    return axes

"""Pictures of spectra, of error landscapes and of functions on a plane, which are not curves along a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..insight.spectra.tail import end_of_most
from . import style
from .legend import legend
from .reference import draw_parts
from .shown import ShownAxes

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    Picture = Callable[[xr.Dataset, xr.Dataset | None, Axes | None], Any]

_FAR = 3.0  # times the bulk's upper edge, beyond which an outlier is named rather than shown
_SHOULDER, _CUT = 0.03, 3.0  # the picture ends at so many times the density at that share of the upper edge
_TAIL = 1.1  # times where most of the bulk ends, up to which a tail is drawn
_WORSE = 3.0  # times the least error, beyond which all shades are one: a map is looked at for its valley
_BINS = 60
_MOST = 0.95  # share of simulated eigenvalues that are surely of the bulk
_PANELS = (("truth", "target"), ("learned", "learned function"))


def picture_of(dataset: xr.Dataset) -> Picture | None:
    """How a dataset is drawn that does not make curves; None for one that does."""
    if "density" in dataset or "rank" in dataset.dims:
        return _spectrum
    if "landscape" in dataset:
        return _landscape
    if "truth" in dataset and {"x1", "x2"} <= set(dataset["truth"].dims):
        return _plane
    if "batch_noise" in dataset:
        return draw_parts
    return None


def _spectrum(dataset: xr.Dataset, theory: xr.Dataset | None, ax: Axes | None) -> Axes:
    """The bulk's density, and markers at outliers (the spike of order d is beyond any axis); simulated eigenvalues as a
    histogram, with the density of `theory` beside it where that is given."""
    simulated = dataset["eigenvalue"].values if "rank" in dataset.dims else None
    bulk = theory if theory is not None else dataset if simulated is None else None
    if bulk is not None and bulk["density"].ndim != 1:
        raise ParameterError(
            "a picture of a spectrum shows one of them: give single numbers instead of ranges"
        )
    with style.styled():
        axes = _axes(ax)
        top = end_of_most(bulk) if bulk is not None else np.inf
        if simulated is not None:
            _histogram(axes, simulated, top)
        if bulk is not None:
            _density(axes, bulk)
        axes.set_xlabel("eigenvalue")
        axes.set_ylabel("density")
        axes.set_title(style.title(dataset), loc="left")
        legend(axes, ours=ax is None)
    return axes


def _histogram(axes: Axes, eigenvalues: np.ndarray, top: float) -> None:
    """Simulated eigenvalues [trial, rank] up to the bulk's upper edge; without a bulk, up to where few are left."""
    known = np.isfinite(top)
    last = _TAIL * top if known else _FAR * float(np.quantile(eigenvalues, _MOST))
    inside = eigenvalues[eigenvalues < last]
    counts, edges = np.histogram(inside, bins=_BINS)
    trials = len(eigenvalues)
    words = f"simulated, {trials} trial{'s' if trials > 1 else ''}"
    axes.stairs(
        counts / (eigenvalues.size * np.diff(edges)), edges, color=style.look(0, 2).color, lw=1.0, label=words
    )
    if not known and inside.size < eigenvalues.size:
        words = f"{(eigenvalues.size - inside.size) / trials:.3g} beyond, up to {eigenvalues.max():.4g}"
        axes.plot([edges[-1]], [0.0], marker=">", color="C3", label=words, clip_on=False, ls="none")


def _density(axes: Axes, bulk: xr.Dataset) -> None:
    order = np.argsort(bulk["eigenvalue"].values)
    x, y = bulk["eigenvalue"].values[order], bulk["density"].values[order]
    end, edge = end_of_most(bulk), x.max()
    x, y = x[x <= _TAIL * end], y[x <= _TAIL * end]  # of a thin tail the beginning
    axes.fill_between(x, y, color="0.85", lw=0, zorder=0)
    axes.plot(x, y, "k-", lw=1.2, label="bulk" if end >= edge else f"bulk; a thin tail ends at {edge:.4g}")
    marker = {"clip_on": False, "ls": "none"}
    found = np.ravel(bulk["outlier"].values) if "outlier" in bulk else np.empty(0)
    near, far = found[found <= _FAR * x.max()], found[found > _FAR * x.max()]
    for outlier in near:
        axes.plot([outlier], [0.0], marker="v", color="C3", label="outlier", **marker)
    beyond = [f"outlier at {outlier:.4g}" for outlier in far] + _spikes(bulk)
    for words in beyond:
        axes.plot([max([x.max(), *near])], [0.0], marker=">", color="C3", label=words, **marker)
    if (zero := float(bulk["mass_at_zero"])) > 0:
        axes.plot([0.0], [0.0], marker="^", color="C0", label=f"{zero:.3g} of all at 0", **marker)
    shoulder = float(np.interp(_SHOULDER * x.max(), x, y))
    axes.set_ylim(0.0, min(1.05 * float(y.max()), _CUT * shoulder))  # a density may diverge at a hard edge


def _spikes(bulk: xr.Dataset) -> list[str]:
    """Where the eigenvalues of order d are, in words: no axis that shows the bulk has room for them."""
    if "threshold" in bulk:  # of weights at a size: their one spike is the outlier, or has not left the bulk
        return []
    known = "spike" in bulk and np.isfinite(bulk["spike"].values).any()
    places = np.ravel(bulk["spike" if known else "spike_per_d"].values) if "spike_per_d" in bulk else []
    return [f"spike at {place:.4g}{'' if known else ' d'}" for place in places if place > 0.0]


def _plane(dataset: xr.Dataset, theory: xr.Dataset | None, ax: Axes | None) -> Any:
    """Target and learned function side by side on the plane of two directions, in the same shades."""
    if set(dataset["learned"].dims) != {"x1", "x2"}:
        raise ParameterError(
            "a picture of a plane shows one setting: give numbers instead of ranges, or select one with"
            " dataset.isel(...)"
        )
    if ax is not None or theory is not None:
        raise ParameterError(
            f"{'ax' if ax is not None else 'theory'} is for one panel of curves, and a plane is drawn on two;"
            " leave it out"
        )
    reach = max(float(np.abs(dataset[name]).max()) for name, _ in _PANELS)
    with style.styled():
        figure = style.new_figure(6.4, 3.6)
        both = figure.subplots(1, 2, sharex=True, sharey=True, subplot_kw={"axes_class": ShownAxes})
        drawn: Any = None
        for axes, (name, words) in zip(both, _PANELS, strict=True):
            values = dataset[name].transpose("x2", "x1")
            drawn = axes.pcolormesh(
                values["x1"],
                values["x2"],
                values,
                cmap="RdBu_r",
                vmin=-reach,
                vmax=reach,
                shading="nearest",
                rasterized=True,
            )
            axes.set(title=f"{words}, {style.symbol(dataset[name])}", xlabel="$x_1$", aspect="equal")
            axes.grid(visible=False)
        both[0].set_ylabel("$x_2$")
        figure.colorbar(drawn, ax=list(both), label="value, in both panels", shrink=0.85)
        figure.suptitle(style.title(dataset), fontsize="medium", x=0.02, ha="left")
    return both[0]


def check_landscape(over: Sequence[str], dims: Iterable[str]) -> None:
    """Refuse a picture of more than two dimensions."""
    dims = list(dims)
    if set(dims) != set(over) or len(over) > 2:
        others = ", ".join(dim for dim in dims if dim not in over)
        fewer = f"give one value of {others}" if others else f"optimise over two of {', '.join(over)}"
        raise ParameterError(f"a picture of a landscape shows one or two optimised parameters: {fewer}")


def _landscape(dataset: xr.Dataset, theory: xr.Dataset | None, ax: Axes | None) -> Axes:
    """The scanned error with its optimum: a curve along one parameter, a map over two."""
    over = dataset.attrs["over"].split()
    error = dataset["landscape"]
    check_landscape(over, map(str, error.dims))
    with style.styled():
        axes = _axes(ax)
        x = error[over[0]].values
        if len(over) == 1:
            axes.plot(x, error.values, "k-")
            axes.plot(
                [float(dataset[f"best_{over[0]}"])],
                [float(dataset["best_error"])],
                "C3*",
                ms=12,
                label="optimum",
            )
            axes.set_ylabel(style.axis_label(error))
        else:
            y = error[over[1]].values
            shades = error.transpose(*over).values.T
            least, worst = float(shades.min()), float(shades.max(where=np.isfinite(shades), initial=0.0))
            most = min(worst, _WORSE * least)
            seen = np.where(np.isfinite(shades), shades, 2.0 * worst)  # no answer, where rates explode
            drawn = axes.pcolormesh(
                x, y, seen, cmap="cividis", shading="nearest", vmin=least, vmax=most, rasterized=True
            )
            bar = axes.figure.colorbar(drawn, ax=axes, extend="max" if most < shades.max() else "neither")
            bar.set_label(style.axis_label(error))
            best = [float(dataset[f"best_{name}"]) for name in over]
            axes.plot(*([value] for value in best), "w*", mec="k", ms=12, ls="none", label="optimum")
            axes.set_ylabel(style.axis_label(error[over[1]]))
            if over[1] != "split":
                style.set_log(axes, "y")
        axes.set_xlabel(style.axis_label(error[over[0]]))
        if over[0] != "split":
            style.set_log(axes, "x")
        axes.set_title(style.title(dataset), loc="left")
        legend(axes, ours=ax is None)
    return axes


def _axes(ax: Axes | None) -> Axes:
    return style.new_figure().add_subplot(axes_class=ShownAxes) if ax is None else ax

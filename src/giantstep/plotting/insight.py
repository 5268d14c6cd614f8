"""Pictures of spectra and of error landscapes, which are not curves along a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ParameterError
from . import style
from .legend import legend

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


_FAR = 3.0  # times the bulk's upper edge, beyond which an outlier is named rather than shown


_SHOULDER, _CUT = 0.03, 3.0  # the picture ends at so many times the density at that share of the upper edge


def draw_spectrum(dataset: xr.Dataset, eigenvalues: np.ndarray | None = None) -> Figure:
    """The bulk's density, and markers at outliers (the spike of order d is beyond any axis).

    `eigenvalues` [trial, rank] adds the histogram of simulated ones.
    """
    if dataset["density"].ndim != 1:
        raise ParameterError(
            "a picture of a spectrum shows one of them: give single numbers instead of ranges"
        )
    with style.styled():
        figure = style.new_figure()
        axes = figure.add_subplot()
        x, y = dataset["eigenvalue"].values, dataset["density"].values
        order = np.argsort(x)
        x, y = x[order], y[order]
        axes.fill_between(x, y, color="0.85", lw=0)
        axes.plot(x, y, "k-", lw=1.2, label="bulk")
        if eigenvalues is not None:
            inside = eigenvalues[eigenvalues < 1.1 * x.max()]
            counts, edges = np.histogram(inside, bins=60)
            density = counts / (eigenvalues.size * np.diff(edges))
            axes.stairs(density, edges, color="C0", lw=1.0, label="simulated")
        found = np.ravel(dataset["outlier"].values) if "outlier" in dataset else np.empty(0)
        for outlier in found[np.isfinite(found)]:
            far = outlier > _FAR * x.max()
            place, words = (x.max(), f"outlier at {outlier:.4g}") if far else (outlier, "outlier")
            axes.plot(
                [place], [0.0], marker=">" if far else "v", color="C3", clip_on=False, ls="none", label=words
            )
        zero = float(dataset["mass_at_zero"])
        if zero > 0:
            axes.plot(
                [0.0],
                [0.0],
                marker="^",
                color="C0",
                clip_on=False,
                ls="none",
                label=f"{zero:.3g} of all at 0",
            )
        shoulder = float(np.interp(_SHOULDER * x.max(), x, y))
        axes.set_ylim(
            0.0, min(1.05 * float(y.max()), _CUT * shoulder)
        )  # a density may diverge at a hard edge
        axes.set_xlabel("eigenvalue")
        axes.set_ylabel("density")
        legend(axes)
    return figure


def draw_learned(dataset: xr.Dataset, x: str | None) -> Figure:
    """Learned functions, one curve for each setting, over the target."""
    from .plot import drawing_of, drawn

    axes = drawn(drawing_of(dataset, x or "x", "learned", None))
    with style.styled():
        truth = dataset["truth"].sortby("x")
        axes.plot(
            truth["x"].values, truth.values, color="0.6", lw=3.0, zorder=0, label=r"target $\sigma_\star$"
        )
        legend(axes)
    return axes.figure  # type: ignore[return-value]


def draw_plane(dataset: xr.Dataset) -> Figure:
    """Target and learned function side by side on the plane of two directions."""
    if set(dataset["learned"].dims) != {"x1", "x2"}:
        raise ParameterError("a picture of a plane shows one setting: give numbers, not ranges, but for --at")
    with style.styled():
        figure = style.new_figure()
        both = figure.subplots(1, 2, sharex=True, sharey=True)
        top = float(np.abs(dataset["truth"]).max())
        drawn = None
        for axes, name, words in zip(both, ("truth", "learned"), ("target", "learned function"), strict=True):
            values = dataset[name].transpose("x2", "x1")
            drawn = axes.pcolormesh(
                values["x1"], values["x2"], values, cmap="RdBu_r", vmin=-top, vmax=top, shading="nearest"
            )
            axes.set(title=words, xlabel="$z_1$", aspect="equal")
        both[0].set_ylabel("$z_2$")
        assert drawn is not None
        figure.colorbar(drawn, ax=list(both), shrink=0.7)
    return figure


def check_landscape(over: Sequence[str], dims: Iterable[str]) -> None:
    """Refuse a picture of more than two dimensions."""
    if set(dims) != set(over) or len(over) > 2:
        raise ParameterError(
            "a picture of a landscape shows one or two optimised parameters and no other range"
        )


def draw_landscape(dataset: xr.Dataset) -> Figure:
    """The scanned error with its optimum: a curve along one parameter, a map over two."""
    over = dataset.attrs["over"].split()
    error = dataset["landscape"]
    check_landscape(over, map(str, error.dims))
    with style.styled():
        figure = style.new_figure()
        axes = figure.add_subplot()
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
            drawn = axes.pcolormesh(
                x, y, np.log10(error.transpose(*over).values.T), cmap="cividis", shading="nearest"
            )
            figure.colorbar(drawn, ax=axes, label="log10 of the test error")
            best = [float(dataset[f"best_{name}"]) for name in over]
            axes.plot(*([value] for value in best), "w*", mec="k", ms=12, label="optimum")
            axes.set_ylabel(style.axis_label(error[over[1]]))
            if over[1] != "split":
                axes.set_yscale("log")
        axes.set_xlabel(style.axis_label(error[over[0]]))
        if over[0] != "split":
            axes.set_xscale("log")
        legend(axes)
    return figure

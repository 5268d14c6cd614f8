"""How the figures look: ordered shades and different markers, solid theory, points with bars for simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting.style import BASELINE, Look, axis_label, new_figure, set_log, styled

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKED: Any = {"markersize": 4.2, "markerfacecolor": "white", "markeredgewidth": 1.1}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
KINDS: dict[str, dict[str, Any]] = {
    "theory": {"linestyle": "-", "linewidth": 1.6},
    "isotropic": {"linestyle": (0, (5, 2)), "linewidth": 1.3},
    "limit": {"linestyle": (0, (1, 1.6)), "linewidth": 1.0},
}
"""Solid: the theory at the simulations' size; dashed: the paper's isotropic model of it; dotted: d = ∞."""


def panels(
    count: int, width: float | None = None, height: float = 3.6, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels side by side, in one row or more."""
    figure = new_figure(width or (5.0 if count == 1 else 7.4), height)
    with styled():
        return figure, list(np.ravel(figure.subplots(rows, count, squeeze=False, **options)))


def curves(
    axes: Axes,
    data: Mapping[str, xr.Dataset],
    name: str,
    x: str,
    looks: Sequence[Look],
    kinds: Mapping[str, str],
    dim: str | None = None,
) -> None:
    """Test errors: lines of each kind, from the part `name`-`kind` of the data, and simulated points; a look for each
    place along `dim`."""
    for index, each in enumerate(looks):
        chosen = {} if dim is None else {dim: index}
        for kind, part in kinds.items():
            line(axes, data[f"{name}-{part}"]["test_error"].isel(chosen), x, each, kind)
        points(axes, data[f"{name}-simulation"]["test_error"].isel(chosen), x, each)


def label_axes(axes: Axes, dataset: xr.Dataset, x: str, y: str = "test_error", log: str = "") -> None:
    """What is along the axes, and which of them, x, y or both, are logarithmic."""
    axes.set_xlabel(axis_label(dataset[x]))
    axes.set_ylabel(axis_label(dataset[y]))
    for which in log:
        set_log(axes, which)


def values_of(symbol: str, values: Sequence[float] | np.ndarray) -> list[str]:
    """Labels for the values of a parameter."""
    return [f"${symbol} = {value:g}$" for value in values]


def shades(count: int) -> list[Look]:
    """Looks for the values of an ordered parameter: from dark to light, so that grey prints keep the order."""
    from matplotlib import colormaps

    places = np.linspace(0.0, 0.82, count) if count > 1 else [0.35]
    return [
        Look(colormaps["viridis"](place), "-", _MARKERS[i % len(_MARKERS)]) for i, place in enumerate(places)
    ]


def line(axes: Axes, values: xr.DataArray, x: str, look: Look, kind: str = "theory") -> None:
    """A curve along x."""
    drawn = values.transpose(x)
    axes.plot(drawn[x].values, drawn.values, color=look.color, **KINDS[kind])


def points(axes: Axes, trials: xr.DataArray, x: str, look: Look) -> None:
    """Means over trials with bars of one standard error."""
    count = trials.sizes["trial"]
    mean, bar = (trials.mean("trial").transpose(x), trials.std("trial", ddof=1).transpose(x) / np.sqrt(count))
    with styled():
        axes.errorbar(
            mean[x].values,
            mean.values,
            yerr=bar.values,
            color=look.color,
            linestyle="none",
            marker=look.marker,
            zorder=3,
            **_MARKED,
        )


def baseline(axes: Axes, value: float, words: str, *, x: float = 0.99, above: bool = True) -> None:
    """A horizontal line to compare with, and what it is."""
    axes.axhline(value, **BASELINE)
    axes.annotate(
        words,
        (x, value),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 2 if above else -2),
        textcoords="offset points",
        ha="right" if x > 0.5 else "left",
        va="bottom" if above else "top",
        color="0.35",
        fontsize=7.5,
    )


def series_legend(
    place: Axes | Figure, looks: Sequence[Look], labels: Sequence[str], title: str, **options: Any
) -> None:
    """Which value each curve and its points belong to: inside a panel, or above all of them."""
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.color, marker=look.marker, label=label, linewidth=1.6, **_MARKED)
        for look, label in zip(looks, labels, strict=True)
    ]
    if not isinstance(place, Axes):
        options = {"loc": "outside upper center", "ncols": len(labels)} | options
    with styled():
        place.legend(handles=handles, title=title, **options)


def kinds_legend(figure: Figure, words: dict[str, str], measured: str) -> None:
    """Below the panels: what the kinds of lines are, and what was measured."""
    from matplotlib.lines import Line2D

    handles: list[Any] = [
        Line2D([], [], color="0.25", label=said, **KINDS[kind]) for kind, said in words.items()
    ]
    if measured:
        handles.append(Line2D([], [], color="0.25", label=measured, marker="o", linestyle="none", **_MARKED))
    with styled():
        figure.legend(
            handles=handles, loc="outside lower center", ncols=2 if figure.get_figwidth() < 6 else 4
        )


def trials_words(simulation: xr.Dataset, things: str) -> str:
    """As in `mean of 10 networks at d = 300`."""
    return f"mean of {simulation.sizes['trial']} {things} at $d = {simulation.attrs['d']}$"

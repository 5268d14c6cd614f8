"""How the figures look: ordered shades and different markers, solid theory, points with bars for simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting.drawing import Curve
from ..plotting.style import BASELINE, POINTS, Look, axis_label, marker, set_log
from ..plotting.style import panels as panels
from ..plotting.style import points as draw_points

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS: dict[str, dict[str, Any]] = {
    "theory": {"linestyle": "-", "linewidth": 1.6},
    "isotropic": {"linestyle": (0, (5, 2)), "linewidth": 1.3},
    "limit": {"linestyle": (0, (1, 1.6)), "linewidth": 1.0},
}
"""Solid: the theory at the simulations' size; dashed: the paper's isotropic model of it; dotted: d = ∞."""


def curves(
    axes: Axes,
    data: Mapping[str, xr.Dataset],
    name: str,
    x: str,
    looks: Sequence[Look],
    kinds: Mapping[str, str],
    dim: str | None = None,
    log: str = "",
    y: str = "test_error",
) -> None:
    """Lines of each kind, from the part `name`-`kind` of the data, and simulated points; a look for each place along
    `dim`. Axes have their words; those named in `log`, x, y or both, are logarithmic."""
    simulated = data[f"{name}-simulation"]
    for index, each in enumerate(looks):
        chosen = {} if dim is None else {dim: index}
        for kind, part in kinds.items():
            line(axes, data[f"{name}-{part}"][y].isel(chosen), x, each, kind)
        points(axes, simulated[y].isel(chosen), x, each)
    axes.set(xlabel=axis_label(simulated[x]), ylabel=axis_label(simulated[y]))
    for which in log:
        set_log(axes, which)


def values_of(symbol: str, values: Sequence[float] | np.ndarray) -> list[str]:
    """Labels for the values of a parameter."""
    return [f"${symbol} = {value:g}$" for value in values]


def shades(count: int) -> list[Look]:
    """Looks for the values of an ordered parameter: from dark to light, so that grey prints keep the order."""
    from matplotlib import colormaps

    places = np.linspace(0.0, 0.82, count) if count > 1 else [0.35]
    return [Look(colormaps["viridis"](place), "-", marker(index)) for index, place in enumerate(places)]


def line(axes: Axes, values: xr.DataArray, x: str, look: Look, kind: str = "theory") -> None:
    """A curve along x."""
    drawn = values.transpose(x)
    axes.plot(drawn[x].values, drawn.values, color=look.color, **KINDS[kind])


def points(axes: Axes, trials: xr.DataArray, x: str, look: Look) -> None:
    """Means over trials with bars of one standard error."""
    draw_points(axes, *Curve("", trials).points(x), look)  # type: ignore[misc]


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
        Line2D([], [], color=look.color, marker=look.marker, label=label, **{**POINTS, "linestyle": "-"})
        for look, label in zip(looks, labels, strict=True)
    ]
    if not isinstance(place, Axes):
        options = {"loc": "outside upper center", "ncols": len(labels)} | options
    place.legend(handles=handles, title=title, **options)


def kinds_legend(figure: Figure, words: dict[str, str], measured: str) -> None:
    """Below the panels: what the kinds of lines are, and what was measured."""
    from matplotlib.lines import Line2D

    lines = {said: KINDS[kind] for kind, said in words.items()}
    marks = {measured: {"marker": marker(0), **POINTS}} if measured else {}
    handles = [Line2D([], [], color="0.25", label=said, **how) for said, how in (lines | marks).items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if figure.get_figwidth() < 6 else 4)


def trials_words(simulation: xr.Dataset, things: str) -> str:
    """As in `mean of 10 networks at d = 300`."""
    return f"mean of {simulation.sizes['trial']} {things} at $d = {simulation.attrs['d']}$"

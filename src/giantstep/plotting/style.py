"""One look for every picture: colours, lines, axes, legends, words; readable in greyscale and without a display."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter
from matplotlib.transforms import BboxBase

from ..answers.dims import COUNTED, place_name
from ..answers.provenance import constants, subject
from ..errors import refused
from ..files import check_place, replacing

if TYPE_CHECKING:
    import xarray as xr

_RC: Any = {  # keyed by matplotlib's own names
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2.0,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "mathtext.fontset": "dejavusans",
    "figure.dpi": 150.0,
    "savefig.dpi": 200.0,
    "svg.fonttype": "none",
}
# Okabe and Ito's colours, which the colour-blind tell apart, ordered so that neighbours differ in lightness too.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#000000", "#CC79A7")
_DASHES = ("-", (0, (6, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.4, 1.2, 1.4)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_ENDINGS = ("png", "pdf", "svg")
_LONGEST_LABEL = 45
_LONGEST_TITLE = 60  # letters that fit over a picture
_TALLEST = 20  # entries of a column of a legend
_LOG_RATIO = 30.0  # quantities that span more than this are drawn on a logarithmic axis
POINTS: Mapping[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markeredgewidth": 1.1}
LEVEL: Mapping[str, Any] = {"color": "0.5", "linewidth": 0.8}
TRUTH: Mapping[str, Any] = {"color": "0.6", "linestyle": "-", "linewidth": 3.0, "zorder": 1.5}  # over the grid
BASELINE: Mapping[str, Any] = {"color": "0.45", "linestyle": (0, (3, 3)), "linewidth": 1.0, "zorder": 1.5}


class Look(NamedTuple):
    """How one curve, and the points that belong to it, are drawn."""

    color: Any
    linestyle: Any
    marker: str


class ShownFigure(Figure):
    """A figure without pyplot, which would keep it open and need a backend. Notebooks show it, sharp at every size."""

    def _repr_svg_(self) -> str:
        buffer = StringIO()
        self.savefig(buffer, format="svg")
        return buffer.getvalue()


class ShownAxes(Axes):
    """Axes that a notebook shows, as their whole figure, when they are the value of a cell."""

    def _repr_svg_(self) -> str | None:
        return self.figure._repr_svg_() if isinstance(self.figure, ShownFigure) else None


def look(index: int, count: int) -> Look:
    """The look of curve `index` of `count`: distinct colours for a few, shades in order for many."""
    color = _COLOURS[index] if count <= len(_COLOURS) else colormaps["viridis"](0.92 * index / (count - 1))
    return Look(color, _DASHES[index % len(_DASHES)], marker(index))


def marker(index: int) -> str:
    """The marker of curve `index`."""
    return _MARKERS[index % len(_MARKERS)]


def styled() -> Any:
    """A context in which new figures and axes take the look."""
    return rc_context(_RC)


def panels(
    columns: int = 1, width: float | None = None, height: float = 3.6, rows: int = 1, **options: Any
) -> tuple[ShownFigure, list[ShownAxes]]:
    """A figure that no window and no global state knows of, and its axes, row by row; notebooks show it, and each of
    the axes as the whole figure."""
    with styled():
        figure = ShownFigure(figsize=(width or (5.0 if columns == 1 else 7.4), height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, subplot_kw={"axes_class": ShownAxes}, **options)
        return figure, list(np.ravel(axes))


def points(axes: Axes, x: np.ndarray, means: np.ndarray, errors: np.ndarray, look: Look, label: str = "") -> None:
    """What was measured, with bars of one standard error."""
    marks: Any = {"marker": look.marker, "color": look.color, "markeredgecolor": look.color, **POINTS}
    axes.errorbar(x, means, yerr=errors, label=label, zorder=3, **marks)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png, .pdf or .svg file, whole or not at all."""
    ending = check_picture_path(path)
    with replacing(path) as temporary, styled():
        figure.savefig(temporary, format=ending)


def check_picture_path(path: str | os.PathLike[str]) -> str:
    """The ending of a path that `save_figure` can write to; an error otherwise."""
    ending = Path(path).suffix.lower().lstrip(".")
    if ending not in _ENDINGS:
        endings = " or ".join(f".{known}" for known in _ENDINGS)
        raise refused("path", str(path), f"has the unknown ending '.{ending}'; pictures are saved as {endings} files")
    check_place(path)
    return ending


def symbol(values: xr.DataArray) -> str:
    """The quantity's symbol, ready for matplotlib; its name where it has none."""
    tex = values.attrs.get("symbol")
    return f"${tex}$" if tex else str(values.name)


def axis_label(values: xr.DataArray) -> str:
    """Words first, then the symbol: the long name, or the short one where that would not fit."""
    words = values.attrs.get("long_name", "")
    if len(words) > _LONGEST_LABEL:
        words = str(values.name).replace("_", " ")
    return ", ".join(filter(None, [words, symbol(values)]))


def setting(values: xr.DataArray, number: float) -> str:
    """One parameter's value, as in `α = 0.5`, in symbols."""
    shown = r"\infty" if np.isposinf(number) else f"{number:g}"
    tex, name = values.attrs.get("symbol"), str(values.name)
    if tex:
        return f"${tex} = {shown}$"
    return place_name(name, number, values.shape == (1,)) if name in COUNTED else f"{name} = {number:g}"


def title(dataset: xr.Dataset) -> str:
    """What is common to all curves: model, target, and the parameters that do not vary.

    Theory and networks that are compared may have different d: the legend says which.
    """
    compared, single = "part" in dataset.dims, constants(dataset.coords)
    fixed = [setting(dataset[name], value) for name, value in single.items() if name != "d" or not compared]
    if "d" in dataset.attrs and "d" not in dataset.coords and not compared:
        fixed.append(f"$d = {dataset.attrs['d']}$")
    return "\n".join(_lines([*subject(dataset.attrs), *fixed]))


def _lines(parts: list[str]) -> list[str]:
    """Parts of a title, as many to a line as fit over a picture: what is cut off would be a wrong number."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}, {part}" if lines else part
        fits = len(re.sub(r"[${}]", "", re.sub(r"\\[a-zA-Z]+", "x", longer))) <= _LONGEST_TITLE
        lines = [*lines[:-1], longer] if fits else [*lines, part]
    return lines


def legend(axes: Axes, ours: bool = True) -> None:
    """Explain everything that has a label, each label once: inside the axes where it covers nothing, else beside them.

    A figure of `ours` grows for a legend beside the axes; the size of a user's own stays.
    """
    handles, labels = axes.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    if not entries:
        return
    figure, columns = cast("Figure", axes.figure), 1 + (len(entries) - 1) // _TALLEST
    words: Any = {"handles": list(entries.values()), "labels": list(entries), "ncols": columns}
    inside = axes.legend(**words, loc="best")
    inside.set_in_layout(False)
    figure.draw_without_rendering()  # which decides where the legend lies
    box = inside.get_window_extent()
    if _covers(axes, box):
        axes.legend(**words, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if ours:
            width, height = figure.get_size_inches()
            figure.set_size_inches(width + box.width / figure.dpi, height)


def _covers(axes: Axes, box: BboxBase) -> bool:
    """Whether a box lies on a line, a point, an area or a bar of the axes."""
    box = box.padded(2.0)
    shapes: list[Any] = [*axes.lines, *axes.patches]
    drawn = [(shape.get_path(), shape.get_transform()) for shape in shapes]
    areas = (area for area in axes.collections if area.get_zorder() > 0)
    drawn += [(path, area.get_transform()) for area in areas for path in area.get_paths()]
    return any(path.transformed(place).intersects_bbox(box, filled=False) for path, place in drawn)


class _Plain(LogFormatter):
    """Plain numbers at the ticks of a logarithmic axis: 0.6, not 6 × 10⁻¹."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def set_log(axes: Axes, which: str) -> None:
    """A logarithmic axis, "x" or "y", with plain numbers at its ticks."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(_Plain())
    axis.set_minor_formatter(_Plain(minor_thresholds=(1.5, 0.8)))


def log_spaced(values: np.ndarray) -> bool:
    """Whether values span decades in steps that are more even in their logarithm."""
    places = np.unique(values[np.isfinite(values)])
    if places.size < 3 or not spans_decades(places):
        return False
    steps, ratios = np.diff(places), np.diff(np.log(places))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(steps) / np.mean(steps))


def spans_decades(values: np.ndarray) -> bool:
    """Whether values are positive and differ so much that a logarithmic axis suits them."""
    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() / finite.min() > _LOG_RATIO)


def even_places(values: np.ndarray, count: int) -> np.ndarray:
    """From the least to the largest value, even on the scale that an axis of the values has."""
    space = np.geomspace if log_spaced(values) else np.linspace
    return space(values.min(), values.max(), count)

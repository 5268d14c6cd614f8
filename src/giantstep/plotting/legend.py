"""The legend: inside the axes where it covers nothing, beside them where it would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WITHIN, _TALLEST = 8, 20  # entries up to which the legend may be inside, and entries in a column beside
_COLUMN = 0.55, 0.075  # inches that a column of the legend takes, and more for each character


def legend(axes: Axes, ours: bool = True) -> None:
    """Explain everything drawn that has a label, each label once. A figure of ours grows where it needs the room."""
    handles, labels = axes.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    if len(entries) <= _WITHIN:
        inside = axes.legend(entries.values(), entries.keys())
        if not _covers(axes, inside):
            return
        inside.remove()
    columns = 1 + (len(entries) - 1) // _TALLEST
    if not ours:  # whose size is not ours to change
        axes.legend(
            entries.values(), entries.keys(), loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=columns
        )
        return
    figure: Any = axes.figure
    width, height = figure.get_size_inches()
    letters = max(len(style.bare(label)) for label in entries)
    figure.set_size_inches(width + columns * (_COLUMN[0] + _COLUMN[1] * letters), height)
    figure.legend(entries.values(), entries.keys(), loc="outside right upper", ncols=columns)


def _covers(axes: Axes, inside: Any) -> bool:
    """Whether the legend lies on a line, a point or a bar of the axes."""
    figure: Any = axes.figure
    figure.draw_without_rendering()  # which decides where it lies
    box = inside.get_window_extent().padded(2.0)
    drawn: list[Any] = [*axes.lines, *axes.patches]
    if any(
        artist.get_path().transformed(artist.get_transform()).intersects_bbox(box, filled=False)
        for artist in drawn
    ):
        return True
    return any(
        path.transformed(bars.get_transform()).intersects_bbox(box, filled=False)
        for bars in axes.collections
        for path in bars.get_paths()
        if bars.get_zorder() > 0
    )

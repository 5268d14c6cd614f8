"""Figures that notebooks show without pyplot, which would keep them open and ask for a backend."""

from __future__ import annotations

from io import StringIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook displays when it is the value of a cell, sharp at every size."""

    def _repr_svg_(self) -> str:
        buffer = StringIO()
        self.savefig(buffer, format="svg")
        return buffer.getvalue()


class ShownAxes(Axes):
    """Axes that a notebook displays, as their whole figure, when they are the value of a cell."""

    def _repr_svg_(self) -> str | None:
        return self.figure._repr_svg_() if isinstance(self.figure, ShownFigure) else None

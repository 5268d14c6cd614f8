"""Figures that notebooks show without pyplot, which would keep them open and ask for a backend."""

from __future__ import annotations

from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook displays when it is the value of a cell."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi="figure")
        return buffer.getvalue()


class ShownAxes(Axes):
    """Axes whose figure a notebook displays when they are the value of a cell."""

    def _repr_png_(self) -> bytes | None:
        return self.figure._repr_png_() if isinstance(self.figure, ShownFigure) else None

"""The pictures of `plot` as Plotly figures: zoom, values under the pointer, curves that come and go with a click."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from . import style
from .drawing import FEW, along, marks, parts, values_along

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

    from .drawing import Curve, Drawing

_TICKS = 12  # steps up to which each has its tick
_DASHES = ("solid", "dash", "dot", "dashdot")  # in the order of `style.look`
_MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")
_LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "kappa": "κ", "lambda": "λ",
    "mu": "μ", "psi": "ψ", "chi": "χ", "rho": "ρ", "Delta": "Δ", "ell": "ℓ", "infty": "∞", "partial": "∂",
    "tilde": "\u0303", "bar": "\u0304", "hat": "\u0302", "overline": "", "theta": "θ", "cdot": "·",
    "sigma": "σ", "max": "max ",
}  # fmt: skip
_ACCENTS = ("tilde", "bar", "hat")


def figure(drawing: Drawing) -> go.Figure:
    """The figure: lines for what is exact, points with bars for what was measured."""
    below = drawing.compared
    rows = (
        {"rows": 2, "row_heights": [0.75, 0.25], "shared_xaxes": True, "vertical_spacing": 0.05}
        if below
        else {}
    )
    found = _empty(**rows)
    if drawing.truth is not None:
        found.add_trace(_truth(drawing.truth, drawing.x))
    for index, (curve, line) in enumerate(zip(drawing.curves, drawing.lines, strict=True)):
        for trace in _traces(curve, line.values if drawing.theory else None, drawing.x, index, drawing):
            found.add_trace(trace, row=1, col=1)
        if below:
            found.add_trace(_residuals(curve, drawing.x, index, len(drawing.curves)), row=2, col=1)
    for trace in _marks(drawing):
        found.add_trace(trace, row=1, col=1)
    _decorate(found, drawing)
    return found


def plane(dataset: xr.Dataset, panels: Sequence[tuple[str, str]], reach: float) -> go.Figure:
    """Quantities on the plane of x1 and x2, side by side, in shades that stand for -reach to reach in all of them."""
    import plotly.graph_objects as go

    titles = [f"{words}, {html(style.symbol(dataset[name]))}" for name, words in panels]
    found = _empty(cols=len(panels), shared_yaxes=True, subplot_titles=titles)
    shades = {"colorscale": "RdBu_r", "cmin": -reach, "cmax": reach}
    for column, (name, words) in enumerate(panels, start=1):
        values = dataset[name].transpose("x2", "x1")
        map_ = go.Heatmap(
            x=values["x1"].values, y=values["x2"].values, z=values.values, coloraxis="coloraxis", name=words,
            hovertemplate="%{z:.4g} at %{x:.3g}, %{y:.3g}",
        )  # fmt: skip
        found.add_trace(map_, row=1, col=column)
    found.update_layout(
        template="simple_white",
        title={"text": html(style.title(dataset)), "font": {"size": 13}},
        coloraxis=shades,
    )
    found.update_xaxes(title_text="x<sub>1</sub>")
    found.update_yaxes(title_text="x<sub>2</sub>", col=1)
    return found


def _empty(**layout: Any) -> go.Figure:
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        raise ParameterError(
            "interactive = True needs plotly, which is not installed; pip install 'giantstep[explore]', or leave it out"
        ) from None
    return make_subplots(**layout)


def html(text: str) -> str:
    """A text with symbols, as $\\alpha_0 = 1$, in letters and HTML: notebooks may have no MathJax."""
    return re.sub(r"\$([^$]*)\$", lambda match: _letters(match.group(1)), text)


def _letters(tex: str) -> str:
    for accent in _ACCENTS:  # an accent comes after its letter
        tex = re.sub(rf"\\{accent}\s*(\\[A-Za-z]+|\w)", lambda m, a=accent: m.group(1) + f"\\{a} ", tex)
    tex = re.sub(r"\\([A-Za-z]+) ?", lambda m: _LETTERS.get(m.group(1), m.group(1)), tex)
    tex = re.sub(r"_\{?([\w*]+)\}?", r"<sub>\1</sub>", tex)
    return re.sub(r"[{}\\]", "", tex)


def _traces(curve: Curve, theory: xr.DataArray | None, x: str, index: int, drawing: Drawing) -> list[Any]:
    import plotly.graph_objects as go

    line, points, bars = parts(curve.values)
    line = theory if theory is not None else line
    colour = _colour(index, len(drawing.curves))
    name = html(curve.label) or html(style.symbol(curve.values))
    shared = {"name": name, "legendgroup": str(index), "hovertemplate": "%{y:.4g}"}
    traces: list[Any] = []
    if line is not None:
        look = {"color": colour, "dash": _DASHES[index % len(_DASHES)], "width": 2}
        mode = "lines+markers" if points is None and line.size <= FEW else "lines"
        traces.append(go.Scatter(x=along(line, x), y=values_along(line, x), mode=mode, line=look, **shared))
    if points is not None and bars is not None:
        marker = {"color": colour, "symbol": _MARKERS[index % len(_MARKERS)], "size": 7}
        traces.append(
            go.Scatter(
                x=along(points, x),
                y=values_along(points, x),
                mode="markers",
                marker=marker,
                error_y={"type": "data", "array": values_along(bars, x)},
                showlegend=not traces,
                **shared,
            )
        )
    return traces


def _marks(drawing: Drawing) -> list[Any]:
    """Entries of the legend for lines and points, in no curve's colour."""
    import plotly.graph_objects as go

    return [
        go.Scatter(
            x=[None], y=[None], mode=mode, name=words, marker={"color": "grey"}, line={"color": "grey"}
        )
        for mode, words in zip(("lines", "markers"), marks(drawing) or (), strict=False)
        if words
    ]


def _truth(values: xr.DataArray, x: str) -> Any:
    import plotly.graph_objects as go

    look = {"color": "rgb(153,153,153)", "width": 5}
    places = {"x": along(values, x), "y": values_along(values, x)}
    name = f"target {html(style.symbol(values))}"
    return go.Scatter(**places, mode="lines", line=look, name=name, hovertemplate="%{y:.4g}")


def _residuals(curve: Curve, x: str, index: int, count: int) -> Any:
    import plotly.graph_objects as go

    z = curve.values.sel(part="z")
    marker = {"color": _colour(index, count), "symbol": _MARKERS[index % len(_MARKERS)]}
    return go.Scatter(
        x=along(z, x), y=values_along(z, x), mode="markers", marker=marker, showlegend=False,
        legendgroup=str(index), name="z", hovertemplate="z = %{y:.2f}",
    )  # fmt: skip


def _colour(index: int, count: int) -> str:
    from matplotlib.colors import to_hex

    return to_hex(style.look(index, count).color)


def _decorate(found: go.Figure, drawing: Drawing) -> None:
    dataset, x, names = drawing.dataset, drawing.x, drawing.names
    found.update_layout(
        template="simple_white",
        title={"text": html(style.title(dataset)), "font": {"size": 13}},
        hovermode="x unified",
        showlegend=len(drawing.curves) > 1 or drawing.truth is not None or marks(drawing) is not None,
        margin={"t": 50, "r": 20},
    )
    words = html(style.axis_label(dataset[x])) if x in dataset.coords else x
    found.update_xaxes(title_text=words, row=2 if drawing.compared else 1, col=1)
    found.update_yaxes(
        title_text=html(style.axis_label(dataset[names[0]])) if len(names) == 1 else "", row=1, col=1
    )
    if style.spans_decades(drawing.abscissae):
        found.update_xaxes(type="log")
    elif x in style.COUNTED:
        found.update_xaxes(tickformat="d", dtick=1 if np.ptp(drawing.abscissae) < _TICKS else None)
    if style.spans_decades(drawing.ordinates):
        found.update_yaxes(type="log", row=1, col=1)
    if drawing.compared:
        found.update_yaxes(title_text="z, in standard errors; grey: ±2", row=2, col=1)
        found.add_hrect(y0=-2, y1=2, fillcolor="grey", opacity=0.12, line_width=0, row=2, col=1)  # type: ignore[arg-type]

"""The verb `plot`: curves of a Dataset along one of its dimensions, one for each combination of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from ..errors import ParameterError
from . import style
from .legend import legend

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr
    from matplotlib.axes import Axes

_DEFAULTS = (  # what is drawn of a dataset unless named: the first of these that it has
    ("learned", "truth"),
    ("mu0", "mu1", "mu2"),
    ("test_error",),
    ("upper", "lower"),
    ("overlap",),
)
_PREFERRED = ("alpha", "lam", "alpha0", "eta", "beta", "kappa")  # for x, among dimensions of equal length
_NOT_CURVES = ("trial", "part")
_BOUNDS = {"upper", "lower", "lower_beta", "floor", "linear"}
_MOST_CURVES = 40
FEW = 15  # values of a line up to which each is marked: between them the line is straight because nothing is known


class Curve(NamedTuple):
    """Values along x of one quantity at one combination of the other dimensions."""

    label: str
    values: xr.DataArray


class Drawing(NamedTuple):
    """What a picture shows, whoever draws it."""

    dataset: xr.Dataset
    names: list[str]
    x: str
    curves: list[Curve]
    lines: list[Curve]  # those of `theory`, or the curves themselves
    theory: bool
    truth: xr.DataArray | None = None  # the target along x, which learned functions are drawn over

    @property
    def compared(self) -> bool:
        return "part" in self.dataset.dims

    @property
    def abscissae(self) -> np.ndarray:
        return along(self.curves[0].values, self.x)

    @property
    def ordinates(self) -> np.ndarray:
        """Every value that is drawn as a line or a point."""
        shown = [part for curve in self.curves for part in parts(curve.values)[:2] if part is not None]
        shown += [line.values for line in self.lines] if self.theory else []
        return np.concatenate([values_along(values, self.x) for values in shown])


@overload
def plot(
    dataset: xr.Dataset,
    x: str | None = ...,
    y: str | Sequence[str] | None = ...,
    *,
    theory: xr.Dataset | None = ...,
    ax: Axes | None = ...,
    interactive: Literal[False] = ...,
) -> Axes: ...


@overload
def plot(
    dataset: xr.Dataset,
    x: str | None = ...,
    y: str | Sequence[str] | None = ...,
    *,
    theory: xr.Dataset | None = ...,
    interactive: Literal[True],
) -> go.Figure: ...


def plot(
    dataset: xr.Dataset,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    theory: xr.Dataset | None = None,
    ax: Axes | None = None,
    interactive: bool = False,
) -> Any:
    """Draw `y` against the dimension `x`, one curve for each combination of the other dimensions.

    ===================  ==================================================================================
    from `predict`       lines
    from `simulate`      points, the mean over trials, with bars of one standard error
    from `compare`       both, and below them the differences in standard errors
    from `coefficients`  μ0, μ1 and μ2 against κ
    `learned_function`   learned functions over their target; on a plane, both side by side in the same shades
    `staircase`          the overlap with each direction, step by step
    `bounds`             the upper and the lower one
    `spectrum`           the density; from `simulate_spectrum` a histogram, with `theory=` both
    `tune`               the scanned error and its optimum, along one or two parameters
    ===================  ==================================================================================

    Parameters
    ----------
    dataset : xarray.Dataset
        From any function of giantstep.
    x : str, optional
        The dimension along the horizontal axis; the longest unless named.
    y : str or sequence of str, optional
        What to draw: "test_error", or all `coefficients`. Several names share one picture.
    theory : xarray.Dataset, optional
        Lines from another Dataset, so that points lie on smooth curves.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    interactive : bool
        Draw with Plotly (which the extra `explore` installs) instead of matplotlib.

    Returns
    -------
    matplotlib.axes.Axes or plotly.graph_objects.Figure
        A notebook shows it. `axes.figure.savefig(...)` writes the first (its figure belongs to no window), and
        `figure.write_html(...)` the second.

    Examples
    --------
    >>> curve = gs.predict(gs.Network("tanh", eta=1, alpha0=2), "sin", alpha=np.linspace(0.5, 3, 20), lam=0.1)
    >>> axes = gs.plot(curve)
    >>> len(axes.lines)
    1
    """
    _check_dataset(dataset)
    if interactive and ax is not None:
        raise ParameterError(
            "ax is matplotlib's, and an interactive picture is Plotly's; give one of the two"
        )
    if x is None and y is None:
        from .insight import picture_of

        if (picture := picture_of(dataset)) is not None:
            return picture(dataset, theory, ax, interactive)
    drawing = _drawing(dataset, x, y, theory)
    if interactive:
        from .interactive import figure

        return figure(drawing)
    with style.styled():
        axes, below = _axes(ax, drawing.compared)
        count = len(drawing.curves)
        for index, (curve, line) in enumerate(zip(drawing.curves, drawing.lines, strict=True)):
            _draw(axes, curve, line.values if drawing.theory else None, drawing.x, style.look(index, count))
            if below is not None:
                _draw_residuals(below, curve, drawing.x, style.look(index, count))
        if drawing.truth is not None:
            places, values = along(drawing.truth, drawing.x), values_along(drawing.truth, drawing.x)
            axes.plot(places, values, label=f"target {style.symbol(drawing.truth)}", **style.TRUTH)
        _decorate(axes, below, drawing)
        _name_marks(axes, drawing)
        if axes.get_legend_handles_labels()[1]:
            legend(axes, ours=ax is None)
    return axes


def _drawing(
    dataset: xr.Dataset, x: str | None, y: str | Sequence[str] | None, theory: xr.Dataset | None
) -> Drawing:
    names = _quantities(dataset, y)
    x = abscissa(dataset, names, x)
    over = "truth" in dataset and "truth" not in names and dataset["truth"].dims == (x,)
    truth = dataset["truth"].sortby(x) if over else None
    curves = list(_curves(dataset, names, x))
    if over and len(curves) == 1:  # beside the target's, a line needs its name
        curves = [Curve(f"learned {style.symbol(dataset[names[0]])}", curves[0].values)]
    if len(curves) > _MOST_CURVES:
        raise ParameterError(
            f"{len(curves)} curves are too many for one picture (at most {_MOST_CURVES}); select some first,"
            " with dataset.isel(...) or dataset.sel(...)"
        )
    lines = curves if theory is None else list(_curves(theory, names, x))
    if len(lines) != len(curves):
        raise ParameterError(
            f"theory has {len(lines)} curves and the dataset {len(curves)}; give both the same"
        )
    return Drawing(dataset, names, x, curves, lines, theory is not None, truth)


def _check_dataset(dataset: Any) -> None:
    if not hasattr(dataset, "data_vars"):
        way = (
            "give the Dataset and y=, the name"
            if hasattr(dataset, "dims")
            else "predict and simulate make one"
        )
        raise ParameterError(
            f"dataset is a {type(dataset).__name__}, and plot draws an xarray.Dataset; {way}"
        )


def _quantities(dataset: xr.Dataset, y: str | Sequence[str] | None) -> list[str]:
    if y is None:
        known = (names for names in _DEFAULTS if set(names) <= set(map(str, dataset.data_vars)))
        y = [name for name in next(known, ("test_error",)) if name != "truth"]
    names = [y] if isinstance(y, str) else list(y)
    drawable = [str(name) for name, values in dataset.data_vars.items() if values.dtype.kind == "f"]
    if unknown := [name for name in names if name not in drawable]:
        raise ParameterError(f"y = {unknown[0]!r} is not in this dataset; it has {', '.join(drawable)}")
    return names


def abscissa(dataset: xr.Dataset, names: list[str], x: str | None) -> str:
    """The dimension along the horizontal axis: the one asked for, a function's argument, or the longest."""
    sizes = {str(dim): n for name in names for dim, n in dataset[name].sizes.items()}
    sizes = {dim: n for dim, n in sizes.items() if dim not in _NOT_CURVES}
    if x is not None and x not in sizes:
        raise ParameterError(
            f"x = {x!r} is not a dimension of {names[0]}; it has {', '.join(sizes) or 'none'}"
        )
    if not sizes:
        raise ParameterError(
            f"{names[0]} is a single number here; give some parameter a range to draw a curve"
        )
    rank = {name: place for place, name in enumerate(_PREFERRED)}
    return x or min(sizes, key=lambda dim: (dim != "x", -sizes[dim], rank.get(dim, len(rank))))


def _curves(dataset: xr.Dataset, names: list[str], x: str) -> Iterator[Curve]:
    for name in names:
        values = dataset[name]
        if x not in values.dims and x in dataset.coords:  # the same everywhere: a level line
            values = values.expand_dims({x: dataset[x].values})
        others = [str(dim) for dim in values.dims if dim not in (x, *_NOT_CURVES)]
        for index in product(*(range(values.sizes[dim]) for dim in others)):
            chosen = values.isel(dict(zip(others, index, strict=True)))
            words = [style.symbol(values)] if len(names) > 1 else []
            for dim, place in zip(others, index, strict=True):
                known = dim in values.coords
                words.append(style.setting(values[dim], float(chosen[dim])) if known else f"{dim} {place}")
            yield Curve(", ".join(words), chosen)


def _axes(ax: Axes | None, compared: bool) -> tuple[Axes, Axes | None]:
    if ax is not None:
        return ax, None
    from .shown import ShownAxes

    if not compared:
        return style.new_figure().add_subplot(axes_class=ShownAxes), None
    above, below = style.new_figure(5.0, 4.6).subplots(
        2, 1, sharex=True, height_ratios=(3, 1), subplot_kw={"axes_class": ShownAxes}
    )
    return above, below


def along(values: xr.DataArray, x: str) -> np.ndarray:
    """The places of values on the dimension x."""
    return values[x].values if x in values.coords else np.arange(values.sizes[x])


def _draw(axes: Axes, curve: Curve, theory: xr.DataArray | None, x: str, look: style.Look) -> None:
    """A line for what is exact, points with bars for what was measured; one entry in the legend for both."""
    line, points, bars = parts(curve.values)
    line = theory if theory is not None else line
    label: str | None = curve.label
    if line is not None:
        style_ = {"color": look.color, "linestyle": look.linestyle}
        marked = look.marker if points is None and line.size <= FEW else None
        axes.plot(along(line, x), values_along(line, x), label=label, marker=marked, **style_)
        label = None
    if points is not None and bars is not None:
        face = {"markerfacecolor": "white", "markeredgecolor": look.color, "markeredgewidth": 1.1}
        axes.errorbar(
            along(points, x),
            values_along(points, x),
            yerr=values_along(bars, x),
            label=label,
            color=look.color,
            linestyle="none",
            marker=look.marker,
            zorder=3,
            **face,
        )


def marks(drawing: Drawing) -> tuple[str, str] | None:
    """What lines and points stand for, in words, where a picture has both."""
    values = drawing.curves[0].values
    if not (drawing.compared or (drawing.theory and "trial" in values.dims)):
        return None
    trials = values.sizes.get("trial", drawing.dataset.attrs.get("trials"))
    return "theory", f"simulated: mean ± s.e., {trials} trials"


def _name_marks(axes: Axes, drawing: Drawing) -> None:
    """Entries of the legend for lines and points, in no curve's colour."""
    if (words := marks(drawing)) is not None:
        color = style.look(0, 1).color if len(drawing.curves) == 1 else "0.4"
        face = {"markerfacecolor": "white", "markeredgewidth": 1.1, "ls": "none"}
        axes.plot([], [], color=color, label=words[0])
        axes.plot([], [], color=color, marker=style.look(0, 1).marker, label=words[1], **face)


def parts(values: xr.DataArray) -> tuple[xr.DataArray | None, xr.DataArray | None, xr.DataArray | None]:
    """What is exact, what was measured, and its standard errors; None for what there is not."""
    if "part" in values.dims:
        theory, points, bars = (values.sel(part=p) for p in ("theory", "simulation", "standard_error"))
        return theory, points, bars
    if "trial" not in values.dims:
        return values, None, None
    trials = values.sizes["trial"]
    return None, values.mean("trial"), values.std("trial", ddof=min(1, trials - 1)) / np.sqrt(trials)


def values_along(values: xr.DataArray, x: str) -> np.ndarray:
    """Values along x; infinite ones (the interpolation peak) leave a gap."""
    flat = values.transpose(x).values.astype(float)
    return np.where(np.isfinite(flat), flat, np.nan)


def _draw_residuals(axes: Axes, curve: Curve, x: str, look: style.Look) -> None:
    z = curve.values.sel(part="z")
    options: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.1}
    axes.plot(along(z, x), values_along(z, x), look.marker, color=look.color, **options)


def _decorate(axes: Axes, below: Axes | None, drawing: Drawing) -> None:
    dataset, names, x = drawing.dataset, drawing.names, drawing.x
    label = dataset[x] if x in dataset.coords else None
    drawn = [np.concatenate([np.ravel(line.get_ydata()) for line in axes.get_lines()])]  # type: ignore[arg-type]
    style.choose_scales(axes, drawing.abscissae, drawn)
    lowest = below or axes
    if x in style.COUNTED and lowest.get_xscale() == "linear":
        lowest.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[attr-defined]
    lowest.set_xlabel(x if label is None else style.axis_label(label))
    several = "test error" if _BOUNDS.issuperset(names) else ""
    axes.set_ylabel(style.axis_label(dataset[names[0]]) if len(names) == 1 else several)
    axes.set_title(style.title(dataset), loc="left")
    if below is not None:
        below.axhspan(-1, 1, color="0.93", zorder=0)
        below.axhline(0.0, color="0.5", linewidth=0.8)
        below.set_ylabel("z, in standard\nerrors")
        reach = max(3.3, 1.1 * max(abs(edge) for edge in below.get_ylim()))
        below.set_ylim(-reach, reach)
        below.grid(visible=False)

"""The verb `plot`: curves of a Dataset along one of its dimensions, one for each combination of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import COUNTED
from ..errors import ParameterError, refused
from ..model.arguments import checked_arguments
from ..model.checks import a_text, flag, texts
from . import style
from .drawing import Curve, Drawing, along, drawing_of, marks, parts, values_along
from .legend import legend
from .reference import against_samples, check_references, draw_references
from .theory_line import FEW

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_BOUNDS = {"upper", "lower", "lower_beta", "floor", "linear"}


def _axes_of_matplotlib(name: str, value: Any) -> Any:
    if not hasattr(value, "get_figure"):
        raise refused(
            name, value, "is not allowed: it must be axes of matplotlib, such as plt.subplots() makes"
        )
    return value


@checked_arguments(
    x=a_text,
    y=texts,
    reference=lambda name, value: check_references(value),
    ax=_axes_of_matplotlib,
    interactive=flag,
)
def plot(
    dataset: xr.Dataset,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    theory: xr.Dataset | None = None,
    reference: str | Sequence[str] = (),
    ax: Axes | None = None,
    interactive: bool = False,
) -> Axes:
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
    `bayes`, `ridge`     lines
    `explain`            the parts of the test error as stacked areas; as bars where one is negative
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
        Lines from another Dataset, one for each `bulk` where it has several. Lines through few points are smooth:
        `plot` predicts between them.
    reference : str or sequence of str
        "bayes", "ridge" or both: lines of the best possible error and of ridge regression with as many samples. Curves
        are then drawn over the total number of samples, of all steps and of the readout.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own by default.
    interactive : bool
        Refused: `giantstep explore` has interactive pictures.

    Returns
    -------
    matplotlib.axes.Axes
        A notebook shows it. `axes.figure.savefig(...)` writes it; its figure belongs to no window.

    Examples
    --------
    >>> curve = gs.predict(gs.Network("tanh", eta=1, alpha0=2), "sin", alpha=np.linspace(0.5, 3, 20), lam=0.1)
    >>> axes = gs.plot(curve)
    >>> len(axes.lines)
    1
    """
    if interactive:
        raise ParameterError(
            "interactive = True is not available: `giantstep explore` has interactive pictures; leave interactive out"
        )
    if x is None and y is None:
        from .insight import picture_of

        if (picture := picture_of(dataset)) is not None:
            return picture(dataset, theory, ax)
    drawing = drawing_of(dataset, x, y, theory)
    if reference:
        drawing = against_samples(drawing)
    with style.styled():
        axes, below = _axes(ax, drawing.compared)
        count = len(drawing.curves)
        many = len(drawing.theories)
        for index, curve in enumerate(drawing.curves):
            lines = [line.values for line in drawing.lines[index * many : (index + 1) * many]]
            _draw(axes, curve, lines, drawing.x, style.look(index, count))
            if below is not None:
                _draw_residuals(below, curve, drawing.x, style.look(index, count))
        if drawing.truth is not None:
            places, values = along(drawing.truth, drawing.x), values_along(drawing.truth, drawing.x)
            axes.plot(places, values, label=f"target {style.symbol(drawing.truth)}", **style.TRUTH)
        if reference:
            draw_references(axes, drawing, check_references(reference))
        _decorate(axes, below, drawing)
        if ax is None:  # of a user's own axes there may be several, with one legend
            _name_marks(axes, drawing)
        alone = len(drawing.curves) == 1 and drawing.truth is None and not reference
        if not alone or (ax is None and marks(drawing) is not None):
            legend(axes, ours=ax is None)
    return axes


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


def _draw(axes: Axes, curve: Curve, lines: list[xr.DataArray], x: str, look: style.Look) -> None:
    """A line for what is exact, points with bars for what was measured; one entry in the legend for both.

    Several theories of one curve have different dashes.
    """
    _, points, bars = parts(curve.values)
    label: str | None = curve.label
    for place, line in enumerate(lines):
        dashes = look.linestyle if len(lines) == 1 else style.look(place, len(lines)).linestyle
        style_ = {"color": look.color, "linestyle": dashes}
        marked = "." if points is None and line.size <= FEW else None
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


def _name_marks(axes: Axes, drawing: Drawing) -> None:
    """Entries of the legend for lines and points, in no curve's colour."""
    if (words := marks(drawing)) is not None:
        color = style.look(0, 1).color if len(drawing.curves) == 1 else "0.4"
        face = {"markerfacecolor": "white", "markeredgewidth": 1.1, "ls": "none"}
        for place, line in enumerate(words.lines):
            axes.plot(
                [], [], color=color, linestyle=style.look(place, len(words.lines)).linestyle, label=line
            )
        axes.plot([], [], color=color, marker=style.look(0, 1).marker, label=words.points, **face)


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
    if x in COUNTED and lowest.get_xscale() == "linear":
        lowest.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[attr-defined]
    lowest.set_xlabel(x if label is None else style.axis_label(label))
    several = "test error" if _BOUNDS.issuperset(names) else ""
    axes.set_ylabel(style.axis_label(dataset[names[0]]) if len(names) == 1 else several)
    axes.set_title(style.title(dataset), loc="left")
    if below is not None:
        below.axhspan(-2, 2, color="0.93", zorder=0)
        below.axhline(0.0, color="0.5", linewidth=0.8)
        below.set_ylabel("z, in standard\nerrors; grey: ±2")
        reach = max(3.3, 1.1 * max(abs(edge) for edge in below.get_ylim()))
        below.set_ylim(-reach, reach)
        below.grid(visible=False)

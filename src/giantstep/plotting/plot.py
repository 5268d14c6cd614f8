"""The verb `plot`: curves of a Dataset along one of its dimensions, one for each combination of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..answers.dims import COUNTED
from ..model.arguments import checked_arguments
from ..model.checks import a_text, allow, texts
from . import style
from .drawing import Curve, Drawing, drawing_of
from .pictures import draw_picture
from .reference import against_samples, check_references, draw_references
from .theory_line import FEW

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_BOUNDS = {"upper", "lower", "lower_beta", "floor", "linear"}


_axes_of_matplotlib = allow(
    lambda value: hasattr(value, "get_figure"),
    "is not allowed: it must be axes of matplotlib, such as plt.subplots() makes",
)


@checked_arguments(x=a_text, y=texts, reference=check_references, ax=_axes_of_matplotlib)
def plot(
    dataset: xr.Dataset,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    *,
    theory: xr.Dataset | None = None,
    reference: str | Sequence[str] = (),
    ax: Axes | None = None,
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
    `explain`            the parts of the test error as stacked areas, negative ones below zero
    ===================  ==================================================================================

    Parameters
    ----------
    dataset : xarray.Dataset
        From any function of giantstep.
    x : str, optional
        The dimension along the horizontal axis; by default the longest.
    y : str or sequence of str, optional
        What to draw: "test_error", or all `coefficients`. Several names share one picture.
    theory : xarray.Dataset, optional
        Lines from another Dataset, one for each `bulk` where it has several. Lines through few points are smooth:
        `plot` predicts between them.
    reference : str or sequence of str
        "bayes", "ridge" or both: lines of the best possible error and of ridge regression with as many samples. Curves
        are then drawn over the total number of samples, of all steps and of the readout.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        A notebook shows the picture, and `axes.figure.savefig(...)` writes it to a file. No window opens.

    Examples
    --------
    >>> curve = gs.predict(gs.Network("tanh", eta=1, alpha0=2), "sin", alpha=np.linspace(0.5, 3, 20), lam=0.1)
    >>> axes = gs.plot(curve)
    >>> len(axes.lines)
    1
    """
    if y is None and (picture := draw_picture(dataset, x, theory, ax)) is not None:
        return picture
    drawing = drawing_of(dataset, x, y, theory)
    if reference:
        drawing = against_samples(drawing)
    count, many = len(drawing.curves), len(drawing.theories)
    with style.styled():
        axes, below = _axes(ax, "part" in dataset.dims)
        for index, curve in enumerate(drawing.curves):
            look = style.look(index, count)
            _draw(axes, curve, drawing.lines[index * many : (index + 1) * many], drawing.x, look)
            if below is not None:
                z = curve._replace(values=curve.values.sel(part="z"))
                below.plot(*z.along(drawing.x), marker=look.marker, color=look.color, **style.POINTS)
        if drawing.truth is not None:
            axes.plot(*drawing.truth.along(drawing.x), label=drawing.truth.label, **style.TRUTH)
        if reference:
            draw_references(axes, drawing, reference)
        _decorate(axes, below or axes, drawing)
        # of a user's own axes there may be several, with one legend
        named = ax is None and drawing.curves[0].points(drawing.x) is not None
        if named:
            _name_marks(axes, drawing)
        if named or drawing.curves[0].label:
            style.legend(axes, ours=ax is None)
    return axes


def _axes(ax: Axes | None, compared: bool) -> tuple[Axes, Axes | None]:
    """The axes of the curves, and those of the differences below them in a comparison of ours."""
    if ax is not None:
        return ax, None
    if not compared:
        return style.panels()[1][0], None
    _, (above, below) = style.panels(1, height=4.6, rows=2, sharex=True, height_ratios=(3, 1))
    below.axhspan(-2, 2, color="0.93", zorder=0)
    below.axhline(0.0, **style.LEVEL)
    below.grid(visible=False)
    below.set_ylabel("z, in standard\nerrors; grey: ±2")
    return above, below


def _draw(axes: Axes, curve: Curve, lines: list[Curve], x: str, look: style.Look) -> None:
    """A line for what is exact, points with bars for what was measured; one entry in the legend for both.

    Several theories of one curve have different dashes.
    """
    measured, label = curve.points(x), curve.label
    for place, line in enumerate(lines):
        dashes = look.linestyle if len(lines) == 1 else style.look(place, len(lines)).linestyle
        marker = "." if measured is None and line.values.size <= FEW else None
        axes.plot(*line.along(x), label=label, marker=marker, color=look.color, linestyle=dashes)
        label = ""
    if measured is not None:
        style.points(axes, *measured, look, label)


def _name_marks(axes: Axes, drawing: Drawing) -> None:
    """Entries of the legend for lines and points, in no curve's colour where there are several."""
    trials = drawing.curves[0].values.sizes.get("trial", drawing.dataset.attrs.get("trials"))
    color = style.look(0, 1).color if len(drawing.curves) == 1 else "0.4"
    size = "limit $d = \\infty$" if np.isinf(drawing.theory_d) else f"$d = {drawing.theory_d:g}$"
    for place, theory in enumerate(drawing.theories):
        dashes = style.look(place, len(drawing.theories)).linestyle
        axes.plot([], [], color=color, linestyle=dashes, label=f"{theory}, {size}")
    d = drawing.dataset.attrs.get("d")
    words = f"simulated, $d = {d:g}$" if d is not None and drawing.theories else "simulated"
    words += ", 1 trial" if trials == 1 else ": mean ± s.e." + f", {trials} trials" * (trials is not None)
    axes.plot([], [], color=color, marker=style.marker(0), label=words, **style.POINTS)


def _decorate(axes: Axes, lowest: Axes, drawing: Drawing) -> None:
    """Scales and words; `lowest` are the axes that have x below them."""
    dataset, names, x = drawing.dataset, drawing.names, drawing.x
    if style.log_spaced(drawing.curves[0].places(x)):
        style.set_log(axes, "x")
        if style.spans_decades(np.concatenate([np.ravel(line.get_ydata()) for line in axes.get_lines()])):  # type: ignore[arg-type]
            style.set_log(axes, "y")
    elif x in COUNTED:
        lowest.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[attr-defined]
    lowest.set_xlabel(style.axis_label(dataset[x]) if x in dataset.coords else x)
    if len(names) == 1 or _BOUNDS.issuperset(names):
        axes.set_ylabel(style.axis_label(dataset[names[0]]) if len(names) == 1 else "test error")
    axes.set_title(style.title(dataset), loc="left")
    if lowest is not axes:
        reach = max(abs(edge) for edge in lowest.get_ylim())
        lowest.set_ylim(-reach, reach)

"""Pictures that say how good an error is: reference lines beside curves, and the parts of a test error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError, refused
from ..insight.reference.bayes import bayes
from ..insight.reference.explain import PARTS
from ..insight.reference.lines import total_samples
from ..insight.reference.ridge import ridge
from ..model.checks import texts
from ..model.target import Target
from . import style
from .drawing import Curve, Drawing, abscissa, along
from .legend import legend
from .shown import ShownAxes

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

REFERENCES = {"bayes": bayes, "ridge": ridge}
_WORDS = {"bayes": "best possible", "ridge": "ridge regression"}
_SAMPLES = {"symbol": r"\Sigma\alpha_0 + \alpha", "long_name": "samples of steps and readout, divided by d"}
_POINTS = 100  # of a reference line
_FAST = "message passing"
_DASHES = {"bayes": "-", "ridge": "--"}
_BAR = 0.8  # width of a bar, over the distance of its neighbours
_DIFFERENT = 1e-6  # by which message passing is worse than the best method where it is drawn beside it


def check_references(reference: str | Sequence[str]) -> list[str]:
    """The names of reference lines, which must be known."""
    names = texts("reference", reference)
    if unknown := [name for name in names if name not in REFERENCES]:
        raise refused("reference", unknown[0], "is unknown; use 'bayes', 'ridge' or both")
    return names


def against_samples(drawing: Drawing) -> Drawing:
    """The same curves over the total number of samples, of steps and readout, which reference lines share."""

    def moved(curve: Curve) -> Curve:
        total = total_samples(curve.values).broadcast_like(curve.values[drawing.x])
        label = curve.label or "network"  # beside the references, a line needs its name
        return Curve(label, curve.values.assign_coords({drawing.x: total.values}))

    curves, lines = ([moved(curve) for curve in group] for group in (drawing.curves, drawing.lines))
    if np.ptp(along(curves[0].values, drawing.x)) == 0.0:
        raise ParameterError(
            f"reference lines are drawn over the total number of samples, which does not vary along {drawing.x}; give"
            " x='alpha' or x='alpha0'"
        )
    label = drawing.dataset[drawing.x].copy()
    label.attrs = _SAMPLES
    dataset = drawing.dataset.assign_coords({drawing.x: label})
    return drawing._replace(dataset=dataset, curves=curves, lines=lines)


def draw_references(axes: Axes, drawing: Drawing, names: Sequence[str]) -> None:
    """A grey line for each reference (and noise) that has the quantity of the curves."""
    target, (quantity,) = _target(drawing.dataset), drawing.names
    places = np.concatenate([along(curve.values, drawing.x) for curve in drawing.curves])
    places = places[np.isfinite(places)]
    low, high = float(places.min()), float(places.max())
    samples = (np.geomspace if style.log_spaced(places) else np.linspace)(low, high, _POINTS)
    for name in names:
        answer = REFERENCES[name](target, alpha=samples)
        if quantity not in answer:
            raise ParameterError(
                f"reference = {name!r} has no {quantity}; draw y='test_error', or 'test_error_01' of labels ±1"
            )
        lines = {_WORDS[name]: answer[quantity]}
        if name == "bayes" and quantity == "test_error":
            best = answer["optimal_error"]
            hard = bool((best < (1.0 - _DIFFERENT) * answer[quantity]).any())
            lines = {_WORDS[name]: best} | ({_FAST: answer[quantity]} if hard else {})
        for (words, line), width in zip(lines.items(), (1.2, 0.7), strict=False):
            for one in line.transpose("alpha", ...).values.reshape(_POINTS, -1).T:
                look: Any = {"color": "0.45", "linestyle": _DASHES[name], "linewidth": width, "zorder": 1.5}
                axes.plot(samples, one, label=words, **look)


def _target(dataset: xr.Dataset) -> Target:
    """The target of an answer, from its attributes."""
    said = json.loads(dataset.attrs["target"])
    if said["function"].startswith("<"):
        raise ParameterError(
            "the target is your own Python function, which answers do not keep, so plot cannot compute reference lines;"
            " draw gs.plot(gs.bayes(target, alpha=...), ax=axes) on the same axes"
        )
    return Target.from_dict(said)


def draw_parts(dataset: xr.Dataset, theory: xr.Dataset | None, ax: Axes | None) -> Axes:
    """The parts of a test error as stacked areas, as bars where one is negative; beside them the references."""
    if theory is not None:
        raise ParameterError("theory is for curves, and the parts of an error are areas; leave it out")
    single = not dataset["test_error"].dims
    x = "" if single else abscissa(dataset, ["test_error"], None)
    if not single and dataset["test_error"].ndim > 1:
        others = ", ".join(str(dim) for dim in dataset["test_error"].dims if dim != x)
        raise ParameterError(
            f"a picture of the parts of an error has one axis, {x}; select one value of {others}"
        )
    places = np.zeros(1) if single else along(dataset["test_error"], x)
    width = np.ones(1) if single else np.gradient(places)
    parts = [np.atleast_1d(dataset[name].values) for name in PARTS]
    areas = not single and min(part.min() for part in parts) >= 0.0
    with style.styled():
        axes = style.new_figure().add_subplot(axes_class=ShownAxes) if ax is None else ax
        ends = np.zeros((2, len(places)))  # of what is stacked above 0, and below
        for index, (name, part) in enumerate(zip(PARTS, parts, strict=True)):
            look: Any = {"color": style.look(index, len(PARTS)).color, "alpha": 0.75, "linewidth": 0.0}
            look["label"] = name.replace("_", " ")
            start = np.where(part < 0.0, ends[1], ends[0])
            if areas:
                axes.fill_between(places, start, start + part, **look)
            else:
                axes.bar(places, part, _BAR * width, start, **look)
            ends += np.where(part < 0.0, [np.zeros_like(part), part], [part, np.zeros_like(part)])
        for name, words in (("bayes", _FAST), ("ridge", _WORDS["ridge"])):
            line = np.atleast_1d(dataset[f"{name}_error"].values)
            if np.isfinite(line).any():
                axes.plot(
                    places, line, _DASHES[name], color="0.1", label=words, marker="o" if single else None
                )
        axes.axhline(0.0, color="0.5", linewidth=0.8)
        if single:
            axes.set(xticks=[], xlim=(-1.5, 1.5))
        else:
            if style.log_spaced(places):
                style.set_log(axes, "x")
            axes.set_xlabel(style.axis_label(dataset[x]))
        axes.set_ylabel(style.axis_label(dataset["test_error"]))
        axes.set_title(style.title(dataset), loc="left")
        legend(axes, ours=ax is None)
    return axes

"""Reference lines beside curves: the best possible error and ridge regression, with as many samples."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..insight.reference.bayes import bayes
from ..insight.reference.explain import total_samples
from ..insight.reference.ridge import ridge
from ..model.checks import one_of, texts
from ..model.target import Target
from . import style
from .drawing import Curve, Drawing

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
REFERENCES: dict[str, tuple[Callable[..., xr.Dataset], str, str]] = {  # verb, what it is called, how it is drawn
    "bayes": (bayes, "best possible", "-"),
    "ridge": (ridge, "ridge regression", "--"),
}
MESSAGE_PASSING = "message passing"
_SAMPLES = {"symbol": r"\Sigma\alpha_0 + \alpha", "long_name": "samples of steps and readout, divided by d"}
_POINTS = 100  # of a reference line
_GREY: Any = {"color": "0.45", "linewidth": 1.2, "zorder": 1.5}


def check_references(name: str, value: object) -> list[str]:
    """The names of reference lines, which must be known."""
    return [one_of(*REFERENCES)(name, one) for one in texts(name, value)]


def against_samples(drawing: Drawing) -> Drawing:
    """The same curves over the total number of samples, of steps and readout, which reference lines share."""

    def moved(curve: Curve) -> Curve:
        total = total_samples(curve.values).broadcast_like(curve.values[drawing.x])
        label = curve.label or "network"  # beside the references, a line needs its name
        return Curve(label, curve.values.assign_coords({drawing.x: total.values}))

    curves, lines = ([moved(curve) for curve in group] for group in (drawing.curves, drawing.lines))
    if np.ptp(curves[0].places(drawing.x)) == 0.0:
        raise ParameterError(
            f"reference lines are drawn over the total number of samples, which does not vary along {drawing.x}; give"
            " x='alpha' or x='alpha0'"
        )
    dataset = drawing.dataset.assign_coords({drawing.x: drawing.dataset[drawing.x].assign_attrs(_SAMPLES)})
    return drawing._replace(dataset=dataset, curves=curves, lines=lines)


def draw_references(axes: Axes, drawing: Drawing, names: Sequence[str]) -> None:
    """A grey line for each reference (and noise) that has the quantity of the curves."""
    target, (quantity,) = _target(drawing.dataset), drawing.names
    places = np.concatenate([curve.places(drawing.x) for curve in drawing.curves])
    samples = style.even_places(places[np.isfinite(places)], _POINTS)
    for name in names:
        verb, called, dashes = REFERENCES[name]
        answer = verb(target, alpha=samples)
        if quantity not in answer:
            raise ParameterError(
                f"reference = {name!r} has no {quantity}; draw y='test_error', or 'test_error_01' of labels ±1"
            )
        best = answer.get("optimal_error" if quantity == "test_error" else quantity, answer[quantity])
        lines = {called: (best, dashes), MESSAGE_PASSING: (answer[quantity], ":")}
        if np.allclose(best, answer[quantity]):
            del lines[MESSAGE_PASSING]
        for words, (line, dashed) in lines.items():
            values = line.transpose("alpha", ...).values.reshape(_POINTS, -1)
            axes.plot(samples, values, linestyle=dashed, label=words, **_GREY)


def _target(dataset: xr.Dataset) -> Target:
    """The target of an answer, from its attributes."""
    description = json.loads(dataset.attrs["target"])
    if description["function"].startswith("<"):
        raise ParameterError(
            "the target is your own Python function, which answers do not keep, so plot cannot compute reference lines;"
            " draw gs.plot(gs.bayes(target, alpha=...), ax=axes) on the same axes"
        )
    return Target.from_dict(description)

"""Where a Dataset comes from: the attributes that every answer carries, as plain text and numbers, and a few words made
of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..model.parameters import PARAMETERS

if TYPE_CHECKING:
    import xarray as xr

    from ..model.description import Model
    from ..model.target import Target
    from .arrays import NamedArray

_FEW = 4  # letters that are named
_KINDS = {"Network": "network", "SpikedRF": "spiked features", "TwoSpikes": "features with two spikes"}
# numbers of a target that open no dimension, so that no coordinate says them
_OF_LABELS = [name for name, row in PARAMETERS.items() if "Target" in row.of and row.kind == "number"]


def provenance(command: str, model: Model | None, target: Target | None = None, **more: Any) -> dict[str, Any]:
    """The verb, the version, the model and the target it was given, and `more` that is particular to the verb."""
    described = {"model": model, "target": target}
    texts = {name: json.dumps(one.to_read()) for name, one in described.items() if one is not None}
    return {"command": command, "giantstep_version": __version__} | texts | more


def subject(attrs: Mapping[str, Any]) -> list[str]:
    """Model and target of an answer in a few words each, from what its attributes say of them."""
    words: list[str] = []
    for key, noun in (("model", "activation"), ("target", "function")):
        try:
            data: dict[str, Any] = json.loads(attrs[key])
        except (KeyError, ValueError):
            continue  # coefficients have no target
        name = data[noun].removeprefix("<").removesuffix(">")  # of a user's own function
        words.append(f"{name} {_KINDS.get(data['kind'], 'target')}")
        words += _of_neurons(data)
        if data["kind"] == "Network" and attrs.get("bulk") == "isotropic":
            words.append("isotropic bulk")  # which is not what a network's rows are
        words += [f"{name} = {data[name]:g}" for name in _OF_LABELS if data.get(name)]
        words += ["inputs with a covariance"] * bool(data.get("inputs"))
    if attrs.get("loss", "square") != "square":
        words.append(f"{attrs['loss']} loss")
    if attrs.get("error") == "test_error_01":
        words.append("fewest wrong signs")  # what was tuned for
    return words


def constants(coords: Mapping[Any, NamedArray | xr.DataArray]) -> dict[str, float]:
    """The inputs that are one number, without a noise of 0."""
    single = {str(name): one.values for name, one in coords.items() if not one.dims and one.values.dtype.kind in "fi"}
    return {name: float(value) for name, value in single.items() if name != "noise" or value != 0.0}


def _of_neurons(model: Mapping[str, Any]) -> list[str]:
    """Words for a readout, and for losses of the steps, that are not the usual ones."""
    letters = model.get("readout") or {"values": [1.0]}
    values, words = letters["values"], []
    if set(values) != {1.0}:
        few = len(values) <= _FEW
        words.append(f"letters {', '.join(f'{v:g}' for v in values)}" if few else f"{len(values)} letters")
    if letters.get("biases"):
        words.append("biases")
    steps = model.get("steps")
    scheduled = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    losses = [step["loss"] for step in scheduled] or [model.get("step_loss")]
    unusual = dict.fromkeys(loss for loss in losses if loss not in (None, "square"))
    return words + [f"steps by {' and '.join(unusual)} loss"] * bool(unusual)

"""Descriptions as the Python text that makes them, or as a table: for `repr`, for captions, for notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from inspect import signature
from typing import Any

import numpy as np

from ..functions import Function
from .checks import written
from .letters import Letters
from .parameters import PARAMETERS

_FEW = 4  # letters that are named
_LONG = 12  # numbers of a list that are written out
_KINDS = {"Network": "network", "SpikedRF": "spiked features", "TwoSpikes": "features with two spikes"}
_OF_LABELS = ("flips", "latent_noise", "scale")  # of a target, which no coordinate says


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


def _of_neurons(model: Mapping[str, Any]) -> list[str]:
    """What is unusual about a model's readout and about the loss of its steps."""
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


def as_call(description: Any) -> str:
    """The call that makes a model or a target, without what is at its default."""
    words: list[str] = []
    for name, said in _given(description):
        words.append(f"{name}={said}" if words else said)
    return f"{type(description).__name__}({', '.join(words)})"


def table(description: Any) -> str:
    """The same as an HTML table with the meaning of each number, for notebooks."""
    rows = [
        f"<tr><th><code>{name}</code></th><td><code>{escape(said)}</code></td>"
        f"<td>{escape(PARAMETERS[name].words if name in PARAMETERS else '')}</td></tr>"
        for name, said in _given(description)
    ]
    style = ' style="text-align: left"'
    return f"<table{style}><caption>{type(description).__name__}</caption>{''.join(rows)}</table>"


def _given(description: Any) -> Iterator[tuple[str, str]]:
    """Name and Python text of everything that is not at its default."""
    for entry in signature(type(description)).parameters.values():
        said = _said(getattr(description, entry.name))
        if entry.default is entry.empty or said != _said(entry.default):
            yield entry.name, said


def _said(value: Any) -> str:
    """A value as Python text; long lists by their ends."""
    if isinstance(value, Function):
        return repr(value.spec) if value.has_spec else repr(value)
    if isinstance(value, Letters):
        return repr("uniform") if value.uniform else repr(value)
    if isinstance(value, float):
        return written(value)
    if type(value).__name__ == "DataArray":
        return f"<DataArray {dict(value.sizes)}>"
    if isinstance(value, tuple) and value and hasattr(value[0], "to_dict"):
        return f"[{', '.join(map(repr, value))}]"
    if isinstance(value, np.ndarray | tuple):
        shown = [_said(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]
        return f"[{', '.join(shown if len(shown) <= _LONG else [*shown[:2], '...', shown[-1]])}]"
    return repr(value)

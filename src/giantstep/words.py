"""Descriptions as the Python text that makes them: for `repr`, for captions, for people."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from .functions import Function
from .letters import Letters
from .parameters import written

_LONG = 12  # numbers of a list that are written out


def spoken(description: Any) -> str:
    """The call that makes a model or a target, without what is at its default."""
    words: list[str] = []
    for entry in fields(description):
        said = _said(getattr(description, entry.name))
        if entry.default is MISSING or said != _said(entry.default):
            words.append(f"{entry.name}={said}" if words else said)
    return f"{type(description).__name__}({', '.join(words)})"


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
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        return f"[{', '.join(map(repr, value))}]"
    if isinstance(value, np.ndarray | tuple):
        shown = [_said(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]
        return f"[{', '.join(shown if len(shown) <= _LONG else [*shown[:2], '...', shown[-1]])}]"
    return repr(value)

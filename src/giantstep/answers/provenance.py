"""Where a Dataset comes from: the attributes that every answer carries, as plain text and numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .. import __version__

if TYPE_CHECKING:
    from ..model.base import Model
    from ..model.target import Target


def provenance(
    command: str, model: Model | None, target: Target | None = None, **more: Any
) -> dict[str, Any]:
    """The verb, the version, the model and the target it was given, and `more` that is particular to the verb."""
    about = {"command": command, "giantstep_version": __version__}
    about |= {} if model is None else {"model": description(model)}
    return about | ({} if target is None else {"target": description(target)}) | more


def description(thing: Model | Target) -> str:
    """A model or target as JSON text; a user's own callable is named, since it cannot be kept."""
    return json.dumps(thing.to_read())

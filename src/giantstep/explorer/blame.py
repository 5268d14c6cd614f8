"""Which setting a refusal is about, so that its sentence can stand beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

import giantstep as gs

from ..errors import GiantstepError
from ..losses import as_loss
from ..model.typed import letters
from .settings import Settings


def blamed(settings: Settings) -> str | None:
    """The first setting that is refused even without the others; None if only the whole makes no sense."""
    for name, attempt in _ATTEMPTS.items():
        try:
            attempt(settings)
        except GiantstepError:
            return name
    return None


def _labels(settings: Settings, function: str) -> gs.Target:
    return gs.Target(function, flips=settings.flips, latent_noise=settings.latent_noise)


def _loss(settings: Settings) -> Any:
    loss, target = as_loss(settings.loss), _labels(settings, settings.target)
    if not (target.binary or loss.residual):
        raise gs.ParameterError("this loss is for labels ±1")
    return loss


_ATTEMPTS: dict[str, Callable[[Settings], Any]] = {
    "activation": lambda s: gs.Network(s.activation, eta=1.0, alpha0=1.0).equivalent("sin"),
    "target": lambda s: gs.bounds(gs.Network("tanh", eta=1.0, alpha0=1.0), gs.Target(s.target)),
    "noise": lambda s: evolve(_labels(s, "sign"), noise=s.noise),
    "readout": lambda s: letters(s.readout),
    "loss": _loss,
}

"""Channels: the part of the theory that knows the loss and the labels, never the bulk or the groups."""

from __future__ import annotations

import numpy as np

from ...functions import Function
from ...losses import Loss
from ..labels import BinaryLaw
from .base import Channel, Scores, Training
from .binary import BinaryChannel
from .real import RealChannel

__all__ = ["BinaryChannel", "Channel", "RealChannel", "Scores", "Training", "make_channel"]

_FEWEST = 4  # nodes between two cuts of an inner rule


def make_channel(
    loss: Loss, law: BinaryLaw | None, target: Function, centre: np.ndarray, rho: np.ndarray, points: int
) -> Channel:
    """The channel of a loss and its labels where z = centre + ρy; `points` measures the fineness of all rules."""
    nodes = max(_FEWEST, points // 2)
    if law is not None:
        return BinaryChannel(loss, law, centre, rho, nodes)
    return RealChannel(loss, target, centre, rho, nodes)

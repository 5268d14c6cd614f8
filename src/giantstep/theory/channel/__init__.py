"""Channels: the part of the theory that depends on the loss and the labels, not on the bulk or the groups."""

from __future__ import annotations

import numpy as np

from ...losses import Loss
from ..labels import Labels, SeveralDirections
from ..layer import Frame
from .base import Channel, Scores, Training
from .binary import BinaryChannel, SignChannel
from .joint import JointBinaryChannel
from .real import JointRealChannel, RealChannel

__all__ = ["BinaryChannel", "Channel", "RealChannel", "Scores", "SignChannel", "Training", "make_channel"]

_FEWEST = 4  # nodes between two cuts of an inner rule


def make_channel(loss: Loss, labels: Labels, frame: Frame, kappa: np.ndarray, points: int) -> Channel:
    """The channel of a loss and its labels at κ [U or 1, S, N]; `points` measures the fineness of all rules."""
    nodes, rarity = max(_FEWEST, points // 2), 0.5 * (kappa * kappa).sum(axis=1)
    if isinstance(labels, SeveralDirections):
        if labels.binary:
            return JointBinaryChannel(loss, labels, frame, kappa, nodes, rarity)
        return JointRealChannel(loss, labels, frame, kappa, nodes)
    if labels.law is not None:
        return BinaryChannel(loss, labels.law, frame.centre(kappa), frame.rho, nodes, rarity)
    return RealChannel(loss, labels.function, frame.centre(kappa), frame.rho, nodes, rarity)

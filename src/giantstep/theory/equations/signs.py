"""Shares of wrong signs, on a rule in κ of their own.

Outputs change sign in layers that may be thin. The averages that the equations need hardly notice them; a count
of signs sees nothing else. So the rule in κ is cut around them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...gaussian import extrapolated_error
from ...losses import Loss
from ..channel import BinaryChannel, Channel, SignChannel
from ..channel.base import panels
from ..labels import BinaryLaw, label_layers
from .crossings import Profile

_ALWAYS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # cuts that keep panels narrow where most samples are
_NODES = (16, 11, 7)  # per panel, of the rule and of two coarser ones that it is compared with


class WrongSigns(NamedTuple):
    """Shares [B] of wrong signs on clean test labels and on training labels, and their quadrature error."""

    test: np.ndarray
    train: np.ndarray
    error: np.ndarray


def count_wrong_signs(profile: Profile, law: BinaryLaw, loss: Loss) -> WrongSigns:
    """Wrong signs at solved points."""

    def marks(V: np.ndarray) -> list[np.ndarray]:
        """Fields at which an output vanishes: a test output, and fitted ones with either label."""
        zero = np.zeros_like(V)
        return [zero, *(V * loss.derivative(zero + y, zero) for y in (-1.0, 1.0))]

    always = np.broadcast_to(_ALWAYS, (len(profile.nodes), len(_ALWAYS)))
    cuts = [always, profile.layers(marks), label_layers(law.cuts, profile.gamma)]
    cuts = np.concatenate(cuts, axis=-1)

    def shares(points: int) -> np.ndarray:
        kappa, weights = panels(cuts, points)
        centre = (profile.gamma[:, None] * kappa)[:, None]
        channel = BinaryChannel(loss, law, centre, profile.rho, points)
        train, test = channel.wrong(np.arange(len(kappa)), *profile.at(kappa))
        return np.stack([(weights * test).sum(axis=-1), (weights * train).sum(axis=-1)])

    return _judged([shares(points) for points in _NODES])


def wrong_signs_on_rules(
    points: list[tuple[np.ndarray, Channel, tuple[np.ndarray, ...]]], rows: np.ndarray
) -> WrongSigns:
    """The same on the nodes of given rules, finest first: (weights [B, N], channel, fields) of each."""
    found: list[np.ndarray] = []
    for weights, channel, fields in points:
        assert isinstance(channel, SignChannel)
        train, test = channel.wrong(rows, *fields)
        found.append(np.stack([(weights * test).sum(axis=-1), (weights * train).sum(axis=-1)]))
    return _judged(found)


def _judged(found: list[np.ndarray]) -> WrongSigns:
    fine, middle, coarse = found
    error = extrapolated_error(np.abs(fine - middle), np.abs(middle - coarse))
    return WrongSigns(fine[0], fine[1], error.max(axis=0))

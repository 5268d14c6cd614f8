"""Shares of wrong signs, on a rule in κ of their own.

Outputs change sign in layers that may be thin. The averages that the equations need hardly notice them; a count
of signs sees nothing else. So the rule in κ is cut around them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...gaussian import STRIDES, extrapolated_error, nested, piecewise_rule
from ...losses import Loss
from ..channel import BinaryChannel, Channel, SignChannel
from ..labels import BinaryLaw, label_layers
from .crossings import Profile

_ALWAYS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # cuts that keep panels narrow where most samples are
_INTERVALS = 32  # of the rule on each panel, which contains the two coarser ones that it is compared with


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

    nodes, weights = piecewise_rule(cuts, _INTERVALS)
    kappa = nodes.reshape(len(nodes), -1)
    centre = (profile.gamma[:, None] * kappa)[:, None]
    channel = BinaryChannel(loss, law, centre, profile.rho, _INTERVALS)
    train, test = channel.wrong(np.arange(len(kappa)), *profile.at(kappa))
    wrong = np.stack([test, train]).reshape(2, *nodes.shape)
    return _judged(
        [(w * wrong[..., nested(s)]).sum(axis=(-1, -2)) for s, w in zip(STRIDES, weights, strict=True)]
    )


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

"""The learning rate, by leave-one-out errors of ridge regression on what each rate makes of the features."""

from __future__ import annotations

from typing import NamedTuple

from ..losses import square
from .features import Features
from .readout import PER_NEURON, Readouts, Ridge
from .ridge import Linear
from .step import FirstLayer, Rate

_UP, _DOWN = (2.0, 4.0, 8.0), (0.5,)
"""Multiples of the rate that moves rows by their own length, tried after 0 and 1: up while they help, or down."""


class Fitted(NamedTuple):
    """The features of all samples of the readout (and with them the first layer), and the readout."""

    features: Features
    linear: Linear
    lam: float
    known: Ridge | None  # a decomposition of these features, where there was a reason to make one


def train(readouts: Readouts, layer: FirstLayer, rate: Rate | None, lam: float | None) -> Fitted:
    """Steps, then the readout; where `rate` or `lam` is None, the best by leave-one-out."""
    known = None
    if rate is None:
        features, known = choose_rate(readouts, layer, lam if readouts.loss == square else None)
        if len(features.index) < readouts.count:
            features, known = readouts.features(features.trained), None
    else:
        features = readouts.features(layer.after(rate))
    if known is None and lam is None:
        known = readouts.ridge(features)
    linear, chosen = readouts.fit(features, lam, known)
    return Fitted(features, linear, chosen, known)


def choose_rate(readouts: Readouts, layer: FirstLayer, lam: float | None) -> tuple[Features, Ridge]:
    """Features and readout at the best rate, over penalties too unless lam is given, on samples enough to tell."""

    def look(multiple: float) -> tuple[Features, Ridge]:
        features = readouts.features(layer.after(Rate(multiple, True)), PER_NEURON * layer.width)
        return features, readouts.ridge(features, lam)

    still, best = look(0.0), look(1.0)
    further = _UP
    if best[1].error >= still[1].error:
        best, further = still, _DOWN
    for multiple in further:
        found = look(multiple)
        if found[1].error >= best[1].error:
            break
        best = found
    return best

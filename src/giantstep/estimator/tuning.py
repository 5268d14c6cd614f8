"""The learning rate, by what samples lose that were left out of a readout on what each rate makes of the features."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import ConvergenceError
from .features import Features
from .readout import COMPARED, Judged, Readouts
from .ridge import Linear
from .step import FirstLayer, Rate

_RATES = (2.0, 4.0)
"""Multiples of the rate that moves rows by their own length, tried one after the other while they help."""


class Fitted(NamedTuple):
    """The features of all samples of the readout (and with them the first layer), and the readout."""

    features: Features
    linear: Linear
    lam: float
    known: Judged | None  # a judgement of these features, where there was a reason to make one


def train(readouts: Readouts, layer: FirstLayer, rate: Rate | None, lam: float | None) -> Fitted:
    """Steps, then the readout; where `rate` or `lam` is None, the best by leave-one-out."""
    known = None
    if rate is None:
        features, known = choose_rate(readouts, layer, lam)
        if len(features.index) < readouts.count:
            features, known = readouts.features(features.trained), None
            readouts.losses.pop(features.trained.eta, None)  # those of a part
    else:
        features = readouts.features(layer.after(rate))
    if lam is None and known is None:
        known = readouts.judge(features, None)
    linear, chosen = readouts.fit(features, lam, known)
    return Fitted(features, linear, chosen, known)


def choose_rate(readouts: Readouts, layer: FirstLayer, lam: float | None) -> tuple[Features, Judged]:
    """Features at the best rate, over penalties too unless lam is given, judged on samples enough to tell.

    No step is the answer unless the best one is better by more than the noise of the comparison.
    """

    def look(multiple: float) -> tuple[Features, Judged]:
        features = readouts.features(layer.after(Rate(multiple, True)), COMPARED * layer.width)
        return features, readouts.judge(features, lam)

    still = best = look(0.0)
    for multiple in _RATES:
        try:
            found = look(multiple)
        except ConvergenceError:  # features on which rounding spoils the readout at this lam
            break
        if found[1].mean >= best[1].mean:
            break
        best = found
    return best if best[1].clearly_below(still[1]) else still

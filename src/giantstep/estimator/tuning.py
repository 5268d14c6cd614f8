"""The whole training, and the choice of its learning rate and penalty.

**How a rate is chosen.** No step, then `_RATES` while they help, are judged by what left out samples lose (`readout`),
on samples enough to tell. Judging all penalties at once takes a decomposition, which costs more than a fit; of fewer
neurons it costs next to nothing. So no step is judged on every third neuron, and a step on every sixth. It is taken
only if it is better all the same, by more than the noise of the comparison: a network with a step needs fewer
neurons to be good, and to compare equal numbers of them, fewer than there are, would favour steps.

**How a penalty is chosen.** Where the thinned network has its best one a walk begins, over penalties of all neurons
and samples, to where left out samples lose least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ConvergenceError
from .features import Features
from .readout import Judged, Readouts
from .ridge import Linear
from .step import FirstLayer, Rate, Trained

_RATES = (2.0, 4.0)
"""Multiples of the rate that moves rows by their own length, tried one after the other while they help."""

_EVERY, _ENOUGH, _EACH = 6, 40, 4
"""A step is judged on every sixth neuron, but on 40, and on 4 for each output, at least; no step on twice as many."""

_COMPARED = 4
"""Samples per neuron beyond which rates are compared on so many of them."""


_HARMLESS = 1.01
"""A penalty at which left out samples lose so many times the least is as good a place as the best one to begin at."""


class Fitted(NamedTuple):
    """The features of all samples of the readout (and with them the first layer), and the readout."""

    features: Features
    linear: Linear
    lam: float
    known: Judged | None  # a judgement of these features, where there was a reason to make one
    rates: dict[float, float]  # what left out samples lose at each rate that was compared


def train(readouts: Readouts, layer: FirstLayer, rate: Rate | None, lam: float | None) -> Fitted:
    """Steps, then the readout; where `rate` or `lam` is None, the best by leave-one-out."""
    if rate is None:
        (trained, judged), rates = choose_rate(readouts, layer, lam)
    else:
        trained, judged, rates = layer.after(rate), None, {}
    features = readouts.features(trained)
    known = choose_penalty(readouts, features, judged) if lam is None else None
    linear, chosen = readouts.fit(features, lam, known)
    return Fitted(features, linear, chosen, known, rates)


class Look(NamedTuple):
    """A first layer, and the judgement of some of its neurons on some of the samples."""

    trained: Trained
    judged: Judged


def choose_rate(readouts: Readouts, layer: FirstLayer, lam: float | None) -> tuple[Look, dict[float, float]]:
    """The best rate, over penalties too unless lam is given; and what left out samples lose at each rate tried."""

    def look(multiple: float, near: float | None) -> Look:
        trained = layer.after(Rate(multiple, True))
        features = _thinned(readouts, trained, twice=multiple == 0)
        return Look(trained, readouts.judge(features, lam, near))

    still = best = look(0.0, None)
    rates = {0.0: still.judged.mean}
    for multiple in _RATES:
        try:
            found = look(multiple, best.judged.lam)
        except (ConvergenceError, np.linalg.LinAlgError):  # rounding spoils the readout at this lam
            break
        rates[found.trained.eta] = found.judged.mean
        if found.judged.mean >= best.judged.mean:
            break
        best = found
    return best if best.judged.clearly_below(still.judged) else still, rates


def choose_penalty(readouts: Readouts, features: Features, thinned: Judged | None) -> Judged:
    """These features at their best penalty, searched from where it is for fewer neurons."""
    if thinned is None:
        thinned = readouts.judge(_thinned(readouts, features.trained), None)
    if thinned.shape == features.shape:  # so few that none were left out
        return thinned
    # where few neurons hardly need a penalty, more of them need at least the largest that does no harm
    harmless = max(lam for lam, error in thinned.curve.items() if error <= _HARMLESS * thinned.mean)
    start = harmless if harmless > thinned.lam else thinned.best
    return readouts.walk(features, start, start < thinned.lam)


def _thinned(readouts: Readouts, trained: Trained, twice: bool = False) -> Features:
    """Of every so many-th neuron, or of twice as many, on samples enough to compare."""
    width, outputs = len(trained.rows), readouts.labels.shape[1]
    every = min(_EVERY, width // max(_ENOUGH, _EACH * outputs)) // (2 if twice else 1)
    return readouts.features(trained.thinned(max(every, 1)), _COMPARED * width)

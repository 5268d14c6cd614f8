"""The readout on given features, its penalty given or chosen by what samples say that were left out.

Leave-one-out errors are averaged over the samples that no step has seen. The others have shaped the features, whose
fit to them flatters large steps; they train the readout all the same. Errors are those of the readout alone: features,
and the units of inputs and targets, stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..functions import Function
from ..losses import Loss, square
from ..simulation.backend import Backend
from ..simulation.convex import known_smooth
from . import convex, kinked
from .features import Features
from .inputs import Inputs
from .ridge import Linear, Spectrum, moments
from .step import Trained

PER_NEURON = 8
"""Samples per neuron beyond which learning rates are compared, and errors averaged, on so many of them."""

_FIRST_GUESS = 0.1  # of a loss's penalty, in units of the best one for the square loss: it bends less


class Ridge(NamedTuple):
    """A decomposition, with the mean squared leave-one-out error [lams] where penalties were compared."""

    spectrum: Spectrum
    lam: float
    error: float


@dataclass
class Readouts:
    """The samples of a readout, fresh ones first, in the order of their places; and what was found about it."""

    X: Any
    inputs: Inputs
    labels: np.ndarray  # [n, outputs]
    weights: np.ndarray  # [n]
    copies: np.ndarray | None  # [n], see `shares.copies`
    fresh: np.ndarray  # indices of samples that no step has seen
    seen: np.ndarray  # indices of those that one has seen and that the readout is fitted on too
    activation: Function
    loss: Loss
    intercept: bool
    backend: Backend
    errors: dict[float, np.ndarray] = field(default_factory=dict)  # eta -> mean squares [lams]
    losses: dict[float, float] = field(default_factory=dict)  # lam -> mean loss

    @property
    def count(self) -> int:
        return len(self.fresh) + len(self.seen)

    @property
    def lams(self) -> np.ndarray:
        """Penalties that are compared: half decades, against the sum over all samples."""
        lowest = -9.0 if self.backend.itemsize == 8 else -6.0
        total = self.weights[self.fresh].sum() + self.weights[self.seen].sum()
        return float(total) * 10 ** np.arange(lowest, 1.01, 0.5)

    def features(self, trained: Trained, most: int | None = None) -> Features:
        """Of all samples of the readout, or of at most so many, fresh and seen ones in proportion."""
        fresh, seen = self.fresh, self.seen
        if most is not None and self.count > most:
            fresh, seen = (part[: round(most / self.count * len(part))] for part in (fresh, seen))
        index = np.concatenate([fresh, seen])
        return Features(trained, self.activation, self.X, self.inputs, index, len(fresh), self.backend)

    def fit(self, features: Features, lam: float | None, known: Ridge | None = None) -> tuple[Linear, float]:
        """The readout and its penalty, chosen where `lam` is None; `known` is a decomposition of these features."""
        if self.loss == square:
            if known is not None:
                chosen = known.lam if lam is None else lam
                return known.spectrum.fit(chosen), chosen
            if lam is not None:
                return self._moments(features).fit(lam), lam
            chosen = self.ridge(features)
            return chosen.spectrum.fit(chosen.lam), chosen.lam
        if lam is not None:
            return self._convex(features, lam), lam
        return self._by_walk(features, (known or self.ridge(features)).lam * _FIRST_GUESS)

    def ridge(self, features: Features, lam: float | None = None) -> Ridge:
        """Ridge regression with the penalty of least leave-one-out error, or with that of a given one."""
        size = len(features.index) / self.count  # penalties weigh against a sum over samples
        lams = (self.lams if lam is None else np.array([lam])) * size
        spectrum = self._moments(features).spectrum()
        part, labels, weights, copies = self._judges(features)
        without = spectrum.left_out(part, labels, weights, copies, lams)
        errors = ((without - labels) ** 2).sum(axis=2) @ weights / weights.sum()
        self.errors[features.trained.eta] = errors
        best = int(np.argmin(errors))
        return Ridge(spectrum, float(lams[best]) / size, float(errors[best]))

    def _moments(self, features: Features) -> Any:
        index = features.index
        return moments(features, self.labels[index], self.weights[index], self.intercept)

    def _judges(self, features: Features) -> tuple[Features, np.ndarray, np.ndarray, np.ndarray | None]:
        """Fresh samples, or the first of them, with labels, weights and copies."""
        count = max(1, min(features.fresh, PER_NEURON * features.shape[1]))
        index = features.index[:count]
        copies = None if self.copies is None else self.copies[index]
        return features.first(count), self.labels[index], self.weights[index], copies

    def _problems(self, features: Features) -> list[Any]:
        solver = convex.Smooth if known_smooth(self.loss) else kinked.Kinked
        index = features.index
        return [
            solver(features, y, self.weights[index], self.loss, self.intercept) for y in self.labels[index].T
        ]

    def _convex(self, features: Features, lam: float) -> Linear:
        return self._linear(features, [problem.fit(lam) for problem in self._problems(features)])

    def _linear(self, features: Features, found: list[tuple[np.ndarray, float]]) -> Linear:
        p, free = features.shape[1], convex.FREE if known_smooth(self.loss) else kinked.FREE
        readouts = np.stack([theta for theta, _ in found])
        return Linear(
            readouts[:, :p], free * readouts[:, p:].sum(axis=1), np.array([gap for _, gap in found])
        )

    def _by_walk(self, features: Features, start: float) -> tuple[Linear, float]:
        """From a first guess over half decades towards smaller approximate leave-one-out losses, until they rise."""
        problems, grid = self._problems(features), self.lams
        _, labels, weights, copies = self._judges(features)
        fits: dict[int, list[tuple[np.ndarray, float]]] = {}
        losses: dict[int, float] = {}

        def look(at: int, near: int | None) -> float:
            begin = [None] * len(problems) if near is None else [theta for theta, _ in fits[near]]
            fits[at] = [problem.fit(grid[at], theta) for problem, theta in zip(problems, begin, strict=True)]
            total = 0.0
            for problem, y, (theta, _) in zip(problems, labels.T, fits[at], strict=True):
                without = problem.left_out(theta, grid[at], len(labels), copies)
                total += float(weights @ self.loss.value(y, without))
            losses[at] = self.losses[float(grid[at])] = total / float(weights.sum())
            return losses[at]

        first = here = int(np.abs(np.log(grid / start)).argmin())
        look(first, None)
        for direction in (1, -1):
            while 0 <= here + direction < len(grid) and look(here + direction, here) < losses[here]:
                here += direction
            if here != first:  # one side falls: the other need not be tried
                break
        return self._linear(features, fits[here]), float(grid[here])

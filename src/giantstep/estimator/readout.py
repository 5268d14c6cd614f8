"""The readout on given features, its penalty given or chosen by what samples say that were left out.

Leave-one-out errors are averaged over the samples that no step has seen. The others have shaped the features, whose
fit to them flatters large steps; they train the readout all the same. Errors are those of the readout alone: features,
and the units of inputs and targets, stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConvergenceError
from ..functions import Function
from ..losses import Loss, square
from ..simulation.backend import Backend
from ..simulation.convex import known_smooth
from . import convex, kinked
from .features import Features
from .inputs import Inputs
from .ridge import Linear, Moments, moments
from .step import Trained

_FIRST_GUESS = 0.03
"""Where the search for a loss's penalty begins, in units of the square loss's best one: other losses bend less."""

_ROUGHLY = 1e-2  # relative suboptimality of readouts that are compared; the chosen one is fitted to the end


class Judged(NamedTuple):
    """Features with a penalty, and what left out samples lose there."""

    shape: tuple[int, int]  # of the features: samples, neurons
    lam: float
    losses: np.ndarray  # of each sample that judges, summed over outputs
    weights: np.ndarray  # of these samples
    copies: np.ndarray | None  # of these samples, see `shares.copies`
    curve: dict[float, float]  # mean losses at the penalties that were compared; empty if one was given
    posed: Any  # what fits follow from: `Moments` for the square loss, for others a problem per output
    starts: Sequence[np.ndarray] | None = None  # other losses: the weights found, one array per output

    @property
    def mean(self) -> float:
        return float(self.weights @ self.losses / self.weights.sum())

    @property
    def best(self) -> float:
        """The best penalty: where a parabola in log lam, through the least of the curve and its neighbours, is least.

        For losses other than square the one at which the weights are known.
        """
        lams = sorted(self.curve)
        at = lams.index(self.lam)
        if self.starts is not None or not 0 < at < len(lams) - 1:
            return self.lam
        below, least, above = (self.curve[lam] for lam in lams[at - 1 : at + 2])
        bend = below - 2 * least + above
        return self.lam * (lams[at + 1] / self.lam) ** ((below - above) / (2 * bend) if bend > 0 else 0.0)

    def clearly_below(self, other: Judged) -> bool:
        """Whether its losses are smaller by more than the standard error of the difference, input by input.

        Copies of an input are left out together and lose together.
        """
        gain, share = other.losses - self.losses, self.weights / self.weights.sum()
        mean = float(share @ gain)
        parts = share * (gain - mean)
        if self.copies is not None:
            parts = np.bincount(self.copies, parts)
        return mean > float(np.sqrt(parts @ parts))


@dataclass
class Readouts:
    """The samples of a readout, fresh ones first, in the order of their places."""

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
    judges: int  # fresh samples over which errors are averaged, at most
    backend: Backend

    @property
    def count(self) -> int:
        return len(self.fresh) + len(self.seen)

    @property
    def total(self) -> float:
        """Weight of all samples of the readout."""
        return float(self.weights[self.fresh].sum() + self.weights[self.seen].sum())

    @property
    def lams(self) -> np.ndarray:
        """Penalties that are compared: half decades, against the sum over all samples."""
        exact = self.loss == square or known_smooth(self.loss)
        lowest = (
            (-9.0 if self.backend.itemsize == 8 else -6.0) if exact else -4.0
        )  # what rounding leaves of a fit
        return self.total * 10 ** np.arange(lowest, 1.01, 0.5)

    def features(self, trained: Trained, most: int | None = None) -> Features:
        """Of all samples of the readout, or of at most so many, fresh and seen ones in proportion."""
        fresh, seen = self.fresh, self.seen
        if most is not None and self.count > most:
            fresh, seen = (part[: round(most / self.count * len(part))] for part in (fresh, seen))
        index = np.concatenate([fresh, seen])
        return Features(trained, self.activation, self.X, self.inputs, index, len(fresh), self.backend)

    def judge(self, features: Features, lam: float | None, near: float | None = None) -> Judged:
        """What left out samples lose at lam; where it is None, at the best one.

        The square loss compares all penalties by one decomposition; others walk, and begin `near` one if they are
        told so, else at what the square loss says.
        """
        if lam:
            return self._judging(features)(lam, None)
        if self.loss != square and near is not None:
            return self.walk(features, near)
        part, labels, weights, copies = self._judges(features)
        lams = self.lams if lam is None else np.array([lam])
        found = self._moments(features)
        left_out = found.spectrum().left_out(part, labels, weights, copies, lams * self._size(features))
        squares = ((left_out - labels) ** 2).sum(axis=2)
        errors = squares @ weights / weights.sum()
        best = int(np.argmin(errors))
        if self.loss == square:
            curve = dict(zip(lams.tolist(), errors.tolist(), strict=True)) if lam is None else {}
            return Judged(features.shape, float(lams[best]), squares[best], weights, copies, curve, found)
        return self.walk(features, float(lams[max(best + round(2 * np.log10(_FIRST_GUESS)), 0)]))

    def walk(self, features: Features, start: float, down: bool = False) -> Judged:
        """By decades of lam towards smaller losses, until they rise.

        Up is tried before down, or down before up; the second only where the first rises.
        """
        judging, step = self._judging(features), 10.0

        def look(lam: float, before: Judged | None) -> Judged | None:
            try:
                return judging(lam, before)
            except (
                ConvergenceError,
                np.linalg.LinAlgError,
            ):  # so small a penalty that rounding is in the way
                return None

        while (here := look(start, None)) is None and start < self.lams[-1]:
            start *= step
        if here is None:
            here = judging(start, None)
        first, curve = here, {start: here.mean}
        for direction in (1 / step, step) if down else (step, 1 / step):
            lam = start * direction
            while self.lams[0] <= lam <= self.lams[-1]:
                found = look(lam, here)
                if found is None:
                    break
                curve[lam] = found.mean
                if found.mean >= here.mean:
                    break
                here, lam = found, lam * direction
            if here is not first:  # one side falls: the other need not be tried
                break
        return here._replace(curve=curve)

    def fit(
        self, features: Features, lam: float | None, known: Judged | None, before: Linear | None = None
    ) -> tuple[Linear, float]:
        """The readout and its penalty, the one of `known`, a judgement of these features, where lam is None.

        `before` is a readout at another penalty, to start from.
        """
        known = known or (self.judge(features, None) if lam is None else None)
        chosen = known.best if known and lam is None else lam
        assert chosen is not None
        if self.loss == square:
            return (known.posed if known else self._moments(features)).fit(chosen), chosen
        problems = known.posed if known else self._problems(features)
        p, free = features.shape[1], convex.FREE if known_smooth(self.loss) else kinked.FREE
        starts: Sequence[np.ndarray | None] = (known and known.starts) or [None] * len(problems)
        if before is not None:
            constant = before.intercept[:, None] / free if self.intercept else np.empty((len(problems), 0))
            starts = list(np.hstack([before.weights, constant]))
        found = [problem.fit(chosen, start) for problem, start in zip(problems, starts, strict=True)]
        readouts = np.stack([theta for theta, _ in found])
        gaps = np.array([gap for _, gap in found])
        return Linear(readouts[:, :p], free * readouts[:, p:].sum(axis=1), gaps), chosen

    def _moments(self, features: Features) -> Moments:
        index = features.index
        return moments(features, self.labels[index], self.weights[index], self.intercept)

    def _judges(self, features: Features) -> tuple[Features, np.ndarray, np.ndarray, np.ndarray | None]:
        """Fresh samples, or the first of them, with labels, weights and copies."""
        count = max(1, min(features.fresh, self.judges))
        index = features.index[:count]
        copies = None if self.copies is None else self.copies[index]
        return features.first(count), self.labels[index], self.weights[index], copies

    def _problems(self, features: Features) -> list[Any]:
        solver = convex.Smooth if known_smooth(self.loss) else kinked.Kinked
        index = features.index
        return [
            solver(features, y, self.weights[index], self.loss, self.intercept) for y in self.labels[index].T
        ]

    def _judging(self, features: Features) -> Callable[[float, Judged | None], Judged]:
        """What left out samples lose, as a function of lam; where there was another one before, it helps.

        Readouts of losses other than square are fitted roughly, and their leave-one-out losses are approximate.
        """
        part, labels, weights, copies = self._judges(features)
        size = self._size(features)
        if self.loss == square:
            found = self._moments(features)

            def closed(lam: float, before: Judged | None) -> Judged:
                left_out = found.at(lam * size).left_out(part, labels, weights, copies)
                return Judged(
                    features.shape, lam, ((left_out - labels) ** 2).sum(axis=1), weights, copies, {}, found
                )

            return closed
        problems = self._problems(features)

        def searched(lam: float, before: Judged | None) -> Judged:
            losses, starts = np.zeros(len(labels)), []
            for k, (problem, y) in enumerate(zip(problems, labels.T, strict=True)):
                start = before.starts[k] if before and before.starts else None
                starts.append(problem.fit(lam * size, start, _ROUGHLY)[0])
                losses += self.loss.value(y, problem.left_out(starts[-1], lam * size, part, copies))
            return Judged(features.shape, lam, losses, weights, copies, {}, problems, starts)

        return searched

    def _size(self, features: Features) -> float:
        """The share of all weight that these samples have: penalties weigh against a sum over them."""
        return float(self.weights[features.index].sum()) / self.total

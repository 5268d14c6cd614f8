"""The readout on given features, its penalty given or chosen by what samples say that were left out.

Leave-one-out errors are averaged over the samples that no step has seen. The others have shaped the features, whose
fit to them flatters large steps; they train the readout all the same. Errors are those of the readout alone: features,
and the units of inputs and targets, stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ConvergenceError
from ..functions import Function
from ..losses import Loss, square
from ..simulation.backend import Backend
from ..simulation.convex import known_smooth
from . import convex, kinked
from .features import Features
from .inputs import Inputs
from .ridge import Linear, Moments, Spectrum, moments
from .step import Trained

if TYPE_CHECKING:
    import xarray as xr

COMPARED, JUDGING = 4, 8
"""Samples per neuron beyond which learning rates are compared, and errors averaged, on so many of them."""

_FIRST_GUESS = 0.03
"""Where the search for a loss's penalty begins, in units of the square loss's best one: other losses bend less."""

_ROUGHLY = 1e-3  # relative suboptimality of readouts that are compared; the chosen one is fitted to the end


class Judged(NamedTuple):
    """Features with a penalty, and what left out samples lose there."""

    lam: float
    losses: np.ndarray  # of each sample that judges, summed over outputs
    weights: np.ndarray  # of these samples
    spectrum: Spectrum | None  # square loss: the decomposition
    starts: list[np.ndarray]  # other losses: the weights found, one array per output

    @property
    def mean(self) -> float:
        return float(self.weights @ self.losses / self.weights.sum())

    def clearly_below(self, other: Judged) -> bool:
        """Whether its losses are smaller by more than the standard error of the difference, sample by sample."""
        gain, share = other.losses - self.losses, self.weights / self.weights.sum()
        mean = float(share @ gain)
        return mean > float(np.sqrt(share**2 @ (gain - mean) ** 2))


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
    errors: dict[float, np.ndarray] = field(default_factory=dict)  # square loss: eta -> mean squares [lams]
    losses: dict[float, dict[float, float]] = field(
        default_factory=dict
    )  # other losses: eta -> lam -> mean loss

    @property
    def count(self) -> int:
        return len(self.fresh) + len(self.seen)

    @property
    def lams(self) -> np.ndarray:
        """Penalties that are compared: half decades, against the sum over all samples."""
        exact = self.loss == square or known_smooth(self.loss)
        lowest = (
            (-9.0 if self.backend.itemsize == 8 else -6.0) if exact else -4.0
        )  # what rounding leaves of a fit
        total = self.weights[self.fresh].sum() + self.weights[self.seen].sum()
        return float(total) * 10 ** np.arange(lowest, 1.01, 0.5)

    def features(self, trained: Trained, most: int | None = None) -> Features:
        """Of all samples of the readout, or of at most so many, fresh and seen ones in proportion."""
        fresh, seen = self.fresh, self.seen
        if most is not None and self.count > most:
            fresh, seen = (part[: round(most / self.count * len(part))] for part in (fresh, seen))
        index = np.concatenate([fresh, seen])
        return Features(trained, self.activation, self.X, self.inputs, index, len(fresh), self.backend)

    def judge(self, features: Features, lam: float | None) -> Judged:
        """What left out samples lose at lam; where it is None, at the best one."""
        size = len(features.index) / self.count  # penalties weigh against a sum over samples
        part, labels, weights, copies = self._judges(features)
        if self.loss == square or lam is None:
            lams = self.lams if lam is None else np.array([lam])
            spectrum = self._moments(features).spectrum()
            squares = ((spectrum.left_out(part, labels, weights, copies, lams * size) - labels) ** 2).sum(
                axis=2
            )
            errors = squares @ weights / weights.sum()
            best = int(np.argmin(errors))
            if self.loss == square:
                self.errors[features.trained.eta] = errors
                return Judged(float(lams[best]), squares[best], weights, spectrum, [])
            guess = float(self.lams[max(best + round(2 * np.log10(_FIRST_GUESS)), 0)])
            return self._walk(features, guess, size)
        problems = self._problems(features)
        return self._left_out(problems, lam, size, features, [None] * len(problems))

    def fit(
        self, features: Features, lam: float | None, known: Judged | None, before: Linear | None = None
    ) -> tuple[Linear, float]:
        """The readout and its penalty, the one of `known`, a judgement of these features, where lam is None.

        `before` is a readout at another penalty, to start from.
        """
        known = known or (self.judge(features, None) if lam is None else None)
        chosen = known.lam if known and lam is None else lam
        assert chosen is not None
        if self.loss == square:
            of = known.spectrum if known else None
            return (self._moments(features) if of is None else of).fit(chosen), chosen
        problems = self._problems(features)
        p, free = features.shape[1], convex.FREE if known_smooth(self.loss) else kinked.FREE
        starts: Sequence[np.ndarray | None] = known.starts if known else [None] * len(problems)
        if before is not None:
            constant = before.intercept[:, None] / free if self.intercept else np.empty((len(problems), 0))
            starts = list(np.hstack([before.weights, constant]))
        found = [problem.fit(chosen, start) for problem, start in zip(problems, starts, strict=True)]
        readouts = np.stack([theta for theta, _ in found])
        gaps = np.array([gap for _, gap in found])
        return Linear(readouts[:, :p], free * readouts[:, p:].sum(axis=1), gaps), chosen

    def report(self, eta: float, lam: float) -> xr.Dataset:
        """What rate and penalty, which these are, were chosen by; empty where both were given."""
        import xarray as xr

        found = xr.Dataset()
        if self.errors:
            etas = sorted(self.errors)
            rows = np.stack([self.errors[eta] for eta in etas])
            lams = self.lams if rows.shape[1] > 1 else [lam]
            found["error"] = xr.DataArray(rows, {"eta": etas, "lam": lams}, ("eta", "lam"))
        best = {rate: min(losses.values()) for rate, losses in self.losses.items()}
        for name, axis, values in (("rate_loss", "eta", best), ("loss", "lam", self.losses.get(eta, {}))):
            if values:
                at = sorted(values)
                found[name] = xr.DataArray([values[each] for each in at], {axis: at}, (axis,))
        return found

    def _moments(self, features: Features) -> Moments:
        index = features.index
        return moments(features, self.labels[index], self.weights[index], self.intercept)

    def _judges(self, features: Features) -> tuple[Features, np.ndarray, np.ndarray, np.ndarray | None]:
        """Fresh samples, or the first of them, with labels, weights and copies."""
        count = max(1, min(features.fresh, JUDGING * features.shape[1]))
        index = features.index[:count]
        copies = None if self.copies is None else self.copies[index]
        return features.first(count), self.labels[index], self.weights[index], copies

    def _problems(self, features: Features) -> list[Any]:
        solver = convex.Smooth if known_smooth(self.loss) else kinked.Kinked
        index = features.index
        return [
            solver(features, y, self.weights[index], self.loss, self.intercept) for y in self.labels[index].T
        ]

    def _left_out(
        self,
        problems: list[Any],
        lam: float,
        size: float,
        features: Features,
        starts: Sequence[np.ndarray | None],
    ) -> Judged:
        """Readouts at a penalty, fitted roughly, and their approximate leave-one-out losses."""
        part, labels, weights, copies = self._judges(features)
        losses, found = np.zeros(len(labels)), []
        for problem, y, start in zip(problems, labels.T, starts, strict=True):
            found.append(problem.fit(lam * size, start, _ROUGHLY)[0])
            losses += self.loss.value(y, problem.left_out(found[-1], lam * size, part, copies))
        judged = Judged(lam, losses, weights, None, found)
        self.losses.setdefault(features.trained.eta, {})[lam] = judged.mean
        return judged

    def _walk(self, features: Features, start: float, size: float) -> Judged:
        """Over decades of lam towards smaller losses, until they rise."""
        problems = self._problems(features)
        first = here = self._left_out(problems, start, size, features, [None] * len(problems))
        for direction in (10.0, 0.1):
            lam = start * direction
            while self.lams[0] <= lam <= self.lams[-1]:
                try:
                    found = self._left_out(problems, lam, size, features, here.starts)
                except ConvergenceError:  # so small a penalty that rounding is in the way
                    break
                if found.mean >= here.mean:
                    break
                here, lam = found, lam * direction
            if here is not first:  # one side falls: the other need not be tried
                break
        return here

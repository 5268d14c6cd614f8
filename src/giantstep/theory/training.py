"""First layers that steps have made, and the way there.

`Trained` keeps spikes and row norms after every step. The row covariances of the exact bulk are made of it on demand
(`imprint`), on rules as fine as asked for: each step that was taken is one level of the pencil.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NotCovered
from .bulk.pencil import Exact
from .imprint import Imprint, columns_of
from .labels import kurtosis, labels_of
from .law import unused_batch
from .layer import FirstLayer, alike
from .slopes import Slopes, at_rest
from .step import Neurons, Sight, Step, sights, stepped

if TYPE_CHECKING:
    from ..model import Target

MOST_DIRECTIONS = 4  # of spikes
MOST_STEPS = 40  # the exact bulk of so many takes a gigabyte, of 60 three and a half
POINTS = 256  # nodes over a batch before the first step,
_SPIKED_POINTS = 96, 64  # and intervals along each variable after it, for one spike and for several
_ROUNDING = 1e-13  # length of a spike, over that of rows, that is none
_SMALLEST_SHARE = 1e-18  # 1/α0 of a batch that is as good as all inputs


@dataclass(frozen=True)
class Trained:
    """U networks: `path[t]` is their first layer after t steps, `error` [U] that of the integrals on the way."""

    neurons: Neurons
    target: Target
    steps: tuple[Step, ...]
    path: tuple[FirstLayer, ...]
    error: np.ndarray

    @property
    def layer(self) -> FirstLayer:
        """The first layer in the end."""
        return self.path[-1]

    def at(self, chunk: np.ndarray) -> Trained:
        """Some of the networks."""
        steps, path = (
            tuple(step.at(chunk) for step in self.steps),
            tuple(layer.at(chunk) for layer in self.path),
        )
        return Trained(self.neurons, self.target, steps, path, self.error[chunk])

    @cached_property
    def taken(self) -> np.ndarray:
        """Which steps changed anything, [U, T]."""
        return np.stack([np.real(step.rate) > 0.0 for step in self.steps], axis=1)

    @cached_property
    def kinds(self) -> np.ndarray:
        """First layers with equal rows have been made in the same way, and can be worked on together: [U, ...]."""
        seen = [_alike(layer, self.target) for layer in self.path]
        return np.concatenate([self.taken, *seen], axis=1)

    @cached_property
    def scatter(self) -> np.ndarray:
        """d times the squared relative scatter of E y² between batches, that of the step with the most, [U].

        The mean square of n0 = αd labels y has the relative variance (kurtosis - 1)/n0. Steps on other losses than the
        square loss follow scores that do not grow with the label, and are left out.
        """
        labels = labels_of(self.target)
        found = np.zeros(len(self.error))
        for step, taken in zip(self.steps, self.taken.T, strict=True):
            counts = taken & step.loss.linear  # chosen, not multiplied: a kurtosis may be infinite
            excess = kurtosis(*labels.powers, step.noise[counts]) - 1.0
            found[counts] = np.maximum(found[counts], step.share[counts] * excess)
        return found

    @property
    def coarsest(self) -> int:
        """The refinement to begin with: -1, half the nodes, for a single step on a target that varies slowly."""
        return -1 if len(self.steps) == 1 and labels_of(self.target).slow else 0

    @cached_property
    def row_error(self) -> np.ndarray:
        """Error of the further integrals that rows need, not only spikes and norms, [U]."""
        errors = at_rest(self.neurons.activation, self.neurons.biases)[1]
        return np.where(self.taken.any(axis=1), errors.all, 0.0)

    def exact(self, chunk: np.ndarray, refinement: int) -> tuple[Exact, Exact, Exact]:
        """The exact bulks of some networks of one kind, on three nested rules over each batch, finest first."""
        chosen = np.flatnonzero(self.taken[chunk[0]])
        imprints = [
            Imprint(
                self.neurons,
                self.path[t].at(chunk),
                self.steps[t].at(chunk),
                self.seen(int(t), chunk, refinement),
                first=place == 0,
            )
            for place, t in enumerate(chosen if len(chosen) else [0])
        ]
        last = self.layer.at(chunk)
        columns = columns_of(self.neurons, last.frame(), imprints)
        levels = zip(*(one.levels for one in imprints), strict=True)
        found: list[Exact] = []
        for own, modes in reversed(list(zip(levels, columns, strict=True))):
            found.insert(0, Exact(self.neurons.weights, last.c, own, modes, found[0] if found else None))
        return tuple(found)  # type: ignore[return-value]

    def seen(self, t: int, chunk: np.ndarray, refinement: int) -> Sight:
        """The batch of step t of some networks of one kind, on three nested rules, finest first."""
        step, layer = self.steps[t].at(chunk), self.path[t].at(chunk)
        spikes = int(layer.spikes.max()) if np.any(layer.gram) else 0
        points = round((POINTS, *_SPIKED_POINTS)[min(spikes, 2)] * 2.0**refinement)
        if not np.any(step.rate):  # no step at all: any batch will do
            slopes, _ = at_rest(self.neurons.activation, self.neurons.biases)
            idle = Slopes(*(np.where(np.isfinite(part), part, 0.0)[None] for part in slopes))  # times no step
            return Sight(unused_batch(points, self.target.directions), idle, np.ones(1))
        return sights(self.neurons, self.target, layer, step.noise, step.loss, points)[0]


def trained(neurons: Neurons, target: Target, steps: tuple[Step, ...]) -> Trained:
    """All steps, one after the other, for U networks at once."""
    if len(steps) > MOST_STEPS:
        raise NotCovered(
            f"steps = {len(steps)}: the theory covers up to {MOST_STEPS}, which take a gigabyte; simulate more of them"
        )
    layer = neurons.drawn(len(steps[0].rate), target.directions)
    path, error = [layer], np.zeros(len(layer.c))
    taken: list[Step] = []
    for step in steps:
        found, off = _moved(neurons, target, layer, step)
        if (lost := _pulled_nowhere(found, step)).any():
            step = step._replace(share=np.where(lost, _SMALLEST_SHARE, step.share))
            found, off = _moved(neurons, target, layer, step)
        layer, error = found, np.maximum(error, off)
        path.append(layer)
        taken.append(step)
        _check_directions(layer)
    return Trained(neurons, target, tuple(taken), tuple(path), error)


def _moved(neurons: Neurons, target: Target, layer: FirstLayer, step: Step) -> tuple[FirstLayer, np.ndarray]:
    """First layers after a step, those that take it, and the error of its integrals, [U]."""
    found, error = layer, np.zeros(len(layer.c))
    moves = np.flatnonzero(np.real(step.rate) > 0.0)
    for members in alike(_alike(layer, target)[moves]):
        chunk = moves[members]
        whole = len(chunk) == len(error)
        new, error[chunk] = stepped(
            neurons, target, layer if whole else layer.at(chunk), step if whole else step.at(chunk)
        )
        found = new if whole else found.replaced(chunk, new)
    return found, error


def _pulled_nowhere(layer: FirstLayer, step: Step) -> np.ndarray:
    """Where a step on a population has left spikes that are rounding, [U]: the target shows it no direction.

    The target as seen from there would be noise. A step on an enormous batch instead leaves a spike as random as any,
    if the activation has a slope at all, and errors stay the same to rounding.
    """
    on_population = (np.real(step.rate) > 0.0) & (np.real(step.share) < _SMALLEST_SHARE)
    if not on_population.any():
        return on_population
    length = np.diagonal(np.real(layer.gram), axis1=-2, axis2=-1).max(axis=-1)
    return on_population & (length < _ROUNDING**2 * np.real(layer.c).max(axis=-1))


def _alike(layer: FirstLayer, target: Target) -> np.ndarray:
    """Equal rows [U, ...] mark first layers with as many spikes, which see the target turned alike."""
    spiked = np.any(np.real(layer.gram) != 0.0, axis=(-1, -2))
    kinds = np.where(spiked, layer.spikes, 0)[:, None]
    if target.directions == 1:
        return kinds
    turned = np.zeros((len(kinds), target.directions**2))
    for members in alike(kinds):
        turned[members] = labels_of(target).alike(layer.at(members).frame())
    return np.concatenate([kinds, turned], axis=1)


def _check_directions(layer: FirstLayer) -> None:
    """Averages over κ go over as many dimensions as the spikes span."""
    spikes = int(layer.spikes.max())
    if spikes > MOST_DIRECTIONS:
        raise NotCovered(
            f"from the second step on each letter has a spike of its own, and here they span {spikes} directions: the"
            f" theory covers up to {MOST_DIRECTIONS}; give fewer different letters (and biases), or simulate"
        )

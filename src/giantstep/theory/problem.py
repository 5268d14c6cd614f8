"""What is to be solved, as arrays: U first layers of K groups along the dimensions of a grid that shape them, and A
settings of the readout on each, along the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..answers.grid import LayerGrid
from ..functions import Function
from ..gaussian import STRIDES, extrapolated_error
from ..losses import Loss, square
from ..model.letters import Merging, merge
from .bulk import WORTHWHILE, InterpolatedBulk
from .bulks import EXACT, ISOTROPIC, BulkLaw, Bulks, choose_bulk
from .features import STEEPEST, Features, Table, doublings, evaluations_per_model, steepness
from .first_layers import POINTS, FirstLayers, first_layers
from .labels import Label, Labels, is_sharp, labels_of
from .layer import Frame, alike
from .modes import Modes
from .rule import FINEST, across_intervals, refine
from .symmetric import BLOCK, TINY, indices

if TYPE_CHECKING:
    from ..answers.grid import Grid
    from ..model.description import Model
    from ..model.target import Target

COARSEST = 48  # κ intervals per piece to begin with
_ON_A_PLANE = {2: 32, 3: 24, 4: 16}  # the same in each half of a direction, where spikes span several

Compute = Callable[[Features, Label, np.ndarray], np.ndarray]


class Block(NamedTuple):
    """First layers that can be worked on together, κ intervals per piece to begin with, and array elements a point."""

    chunk: np.ndarray
    points: int
    width: int


@dataclass
class Problem:
    """What a verb asks of the theory: first layers, the law of their rows, labels, and readout settings [U, A]."""

    first_layers: FirstLayers
    labels: Labels
    alpha: np.ndarray  # [U, A]
    beta: np.ndarray
    lam: np.ndarray
    noise: np.ndarray
    d: np.ndarray
    loss: Loss
    directions: int  # of spikes that answers have room for
    merging: Merging  # how the user's letters sit in the groups,
    split: LayerGrid  # and what the points are called
    law: BulkLaw = ISOTROPIC

    @property
    def activation(self) -> Function:
        return self.first_layers.neurons.activation

    @property
    def weights(self) -> np.ndarray:
        """Fraction of neurons in each group, [K]."""
        return self.first_layers.neurons.weights

    @property
    def biases(self) -> np.ndarray:
        return self.first_layers.neurons.biases

    @cached_property
    def odd(self) -> bool:
        """Whether turning all inputs round turns features and labels round, which the loss does not mind."""
        functions = self.activation.parity == "odd" and self.labels.odd
        biased = self.biases.any() or self.first_layers.neurons.bias_spread
        return functions and not biased and self.loss.even

    @property
    def c(self) -> np.ndarray:
        return self.first_layers.layer.c

    @cached_property
    def width(self) -> int:
        """Array elements in flight per grid point."""
        K, layers = len(self.weights), self.first_layers
        rows = K * (1 + 2 * len(layers.steps))
        inverses = (layers.layer.spectrum.count - 1) * rows**2  # one for each further eigenvalue of the inputs
        if not self.law.trained or self._interpolates(self.alpha.shape[1]):
            return POINTS + inverses  # a rule in κ has about as many nodes
        return POINTS * (K * (1 if self.activation.parity == "odd" else 2)) ** 2 + inverses

    def part(self, chunk: np.ndarray, settings: np.ndarray) -> Problem:
        """Some first layers with settings that follow one another, which are solved as among all of them."""
        names, place = ("alpha", "beta", "lam", "noise", "d"), np.ix_(chunk, settings)
        values: dict[str, Any] = {name: getattr(self, name)[place] for name in names}
        values["split"] = None  # to send the names of all points to a worker takes longer than its work
        part = replace(self, first_layers=self.first_layers.at(chunk), **values)
        part.width, part.spikes = self.width, self.spikes
        return part

    def frame(self, chunk: np.ndarray) -> Frame:
        """Directions of some first layers of one kind."""
        return self.first_layers.layer.at(chunk).frame()

    def modes(self, chunk: np.ndarray) -> Modes:
        """What carries signal in some first layers of one kind: in trained rows each norm and bias does, too, and norms
        fluctuate wherever the inputs' eigenvalues differ."""
        frame = self.frame(chunk)
        if self.law.trained:
            return self.first_layers.neurons.modes(frame)
        norms = int(self.first_layers.layer.spectrum.count > 1)
        return Modes(frame.spikes, frame.gamma.shape[1], norms=norms)

    @cached_property
    def spikes(self) -> int:
        """The most directions that any first layer's spikes span."""
        return int(self.first_layers.layer.spikes.max())

    def bulks(self, chunk: np.ndarray, refinement: int = 0, readouts: int = 1) -> Bulks:
        """Bulks of some first layers of one kind, with so many readouts each."""
        if self._interpolates(readouts):
            return InterpolatedBulk.both(self.first_layers.trained_bulk(chunk, refinement))
        return self.law.make(self, chunk, refinement)

    def _interpolates(self, readouts: int) -> bool:
        """Whether the bulk is solved along a line, for all readouts together, rather than at each of them."""
        return self.law is EXACT and len(self.weights) == 1 and readouts >= WORTHWHILE

    def blocks(self, points: int) -> Iterator[Block]:
        """Few enough first layers at a time that share a rule in κ, of `points` intervals or more."""
        if len(self.c) == 1:
            yield from self._blocks(indices(1), points)
            return
        for kind in alike(self.first_layers.kinds):
            for members in alike(self.labels.alike(self.frame(kind))):
                yield from self._blocks(kind[members], points)

    def _blocks(self, chunk: np.ndarray, points: int) -> Iterator[Block]:
        """Those of first layers of one kind that share tables."""
        frame = self.frame(chunk)
        breaks, begin = self.labels.breakpoints(frame), _ON_A_PLANE.get(frame.spikes, points)
        steepest = steepness(frame.b, self.c[chunk])
        steep = steepest > STEEPEST
        sharp = is_sharp(breaks, frame.gamma[:, 0])
        doubled = doublings(steepest) * (frame.spikes == 1)
        least = self.labels.least_intervals(frame) / np.where(sharp, 1.0, 2.0)  # a line has two halves
        doubled = np.maximum(doubled, np.ceil(np.log2(np.maximum(least / begin, 1.0))).astype(int))
        sharp = sharp + 2 * steep
        for members in alike(np.stack([doubled, sharp], axis=1)):
            first = begin << int(doubled[members[0]])
            if steep[members[0]]:  # there are many pieces then
                first //= 2
            cost = evaluations_per_model(self.activation, len(breaks), first) * len(self.weights)
            across = across_intervals(frame.b[members], self.c[chunk[members]], begin)
            nodes = 2 * begin * prod(across)
            width = max(self.width, nodes * (frame.spikes > 1))
            size = max(1, BLOCK // max(cost * max(1, nodes // (2 * begin)), width))
            for i in range(0, len(members), size):
                yield Block(chunk[members[i : i + size]], first, width)

    def table(self, chunk: np.ndarray, points: int, farther: float = 1.0, layers: np.ndarray | None = None) -> Table:
        """Features and label of some first layers, on rules of that many κ intervals."""
        own = (self.frame(chunk), self.c[chunk], self.biases)
        return Table(self.activation, self.labels, *own, points, farther, layers)


def averaged(problem: Problem, compute: Compute, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """`compute(features, label, chunk)`, an array [U, ...] of averages, and its error [U] over E σ*².

    `chunk` says which of the problem's first layers are meant. The error is what was reached, from three
    nested rules: it may stay above `tolerance` where an activation or a target is wild.
    """
    values: dict[int, np.ndarray] = {}  # those of each first layer on its finest rule so far
    error = np.empty(len(problem.c))
    for chunk, points, _ in problem.blocks(COARSEST):

        def compute_some(left: np.ndarray, points: int, chunk: np.ndarray = chunk) -> np.ndarray:
            some, off = _on_three_rules(problem, compute, chunk[left], points)
            values.update(zip(chunk[left].tolist(), some, strict=True))
            return off

        finest = min(FINEST[problem.frame(chunk).spikes], problem.labels.finest)
        error[chunk] = refine(compute_some, len(chunk), points, finest, tolerance)
    return np.stack([values[u] for u in range(len(error))]), error


def _on_three_rules(
    problem: Problem, compute: Compute, chunk: np.ndarray, points: int
) -> tuple[np.ndarray, np.ndarray]:
    table = problem.table(chunk, points)
    rules = [table.at(stride) for stride in STRIDES]
    fine, middle, coarse = (compute(*rule, chunk) for rule in rules)
    features, label = rules[0]
    size = (features.weights * label.t2).sum(axis=-1) + TINY
    last, previous = (
        np.abs(a - b).reshape(len(chunk), -1) / size[:, None] for a, b in ((fine, middle), (middle, coarse))
    )
    off = extrapolated_error(last, previous)
    return fine, np.maximum(np.nan_to_num(off, nan=np.inf).max(axis=1), table.error)


def model_grid(model: Model, target: Target, **more: object) -> Grid:
    """The grid of a model's own parameters, the target's noise, and `more`."""
    return LayerGrid.grid_of(model, target, **more)


def pose(model: Model, target: Target, grid: Grid, bulk: str | BulkLaw | None = None, loss: Loss = square) -> Problem:
    """The problem on a grid, with the named law of rows or the best one that the model has."""
    merging = merge(model.readout, odd=model.activation.parity == "odd")
    split = LayerGrid(grid, model.shaping)
    values = {name: split.layers(name) for name in model.shaping if name in grid}
    problem = Problem(
        first_layers=first_layers(model, target, merging, values),
        labels=labels_of(target),
        alpha=split.settings("alpha", 0.0),
        beta=split.settings("beta", 0.0),
        lam=split.settings("lam", 0.0),
        noise=split.settings("noise", 0.0),
        d=split.settings("d", np.inf),
        loss=loss,
        directions=model.spike_directions,
        merging=merging,
        split=split,
    )
    return replace(problem, law=choose_bulk(bulk, model, problem))

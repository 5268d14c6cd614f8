"""What is to be solved, as arrays: U first layers of K groups, and A settings of the readout on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from ..functions import Function
from ..losses import Loss, square
from .bulk import WORTHWHILE, Along, Bulk
from .features import STEEPEST, Table, doublings, evaluations_per_model, steepness
from .labels import Labels, is_sharp
from .layer import Frame, alike
from .modes import Modes
from .origin import Origin
from .rows import PLAIN_WIDTH, Rows
from .rule import across_intervals
from .upto import run, upto

BLOCK = 1 << 20  # array elements in flight: a few megabytes, so that passes stay in cache
_ON_A_PLANE = {
    2: 32,
    3: 24,
    4: 16,
}  # κ intervals in each half of a direction to begin with, where there are several


class Block(NamedTuple):
    """First layers that can be worked on together, κ intervals per piece to begin with, and array elements a point."""

    chunk: np.ndarray
    points: int
    width: int


@dataclass
class Problem:
    """What `predict` asks: first layers, the law of their rows, the labels, and readout settings [U, A]."""

    origin: Origin
    rows: Rows
    labels: Labels
    alpha: np.ndarray  # [U, A]
    beta: np.ndarray
    lam: np.ndarray
    noise: np.ndarray
    d: np.ndarray
    loss: Loss = square
    directions: int = 1  # of spikes that answers have room for

    @property
    def activation(self) -> Function:
        return self.origin.neurons.activation

    @property
    def weights(self) -> np.ndarray:
        """Fraction of neurons in each group, [K]."""
        return self.origin.neurons.weights

    @property
    def biases(self) -> np.ndarray:
        return self.origin.neurons.biases

    @cached_property
    def odd(self) -> bool:
        """Whether turning all inputs round turns features and labels round, which the loss does not mind."""
        functions = self.activation.parity == "odd" and self.labels.odd
        biased = self.biases.any() or self.origin.neurons.bias_spread
        return functions and not biased and self.loss.even

    @property
    def c(self) -> np.ndarray:
        return self.origin.layer.c

    @cached_property
    def width(self) -> int:
        """Array elements in flight per grid point."""
        return PLAIN_WIDTH if self._along(self.alpha.shape[1]) else self.rows.width(self.origin)

    def part(self, chunk: np.ndarray, settings: np.ndarray) -> Problem:
        """Some first layers with settings that follow one another, which are solved as among all of them."""
        names, place = ("alpha", "beta", "lam", "noise", "d"), (run(chunk), run(settings))
        own = {name: getattr(self, name)[place] for name in names}
        part = replace(self, origin=self.origin.at(chunk), **own)
        part.width, part.spikes = self.width, self.spikes
        return part

    def _along(self, readouts: int) -> bool:
        """Whether the bulk is solved along a line, for all readouts together, rather than at each of them."""
        return self.rows.on_a_line(self.origin) and readouts >= WORTHWHILE

    def frame(self, chunk: np.ndarray) -> Frame:
        """Directions of some first layers of one kind."""
        return self.origin.layer.at(chunk).frame()

    def modes(self, chunk: np.ndarray) -> Modes:
        """What carries signal in some first layers of one kind."""
        return self.rows.modes(self.origin, self.frame(chunk))

    @cached_property
    def spikes(self) -> int:
        """The most directions that any first layer's spikes span."""
        return int(self.origin.layer.spikes.max())

    def bulks(self, chunk: np.ndarray, refinement: int = 0, readouts: int = 1) -> tuple[Bulk, Bulk, Bulk]:
        """Bulks of some first layers of one kind, with so many readouts each, on three nested rules, finest first."""
        bulks = self.rows.bulks(self.origin, chunk, refinement)
        return tuple(Along.nested(*bulks)) if self._along(readouts) else bulks  # type: ignore[arg-type]

    def blocks(self, points: int) -> Iterator[Block]:
        """Few enough first layers at a time that share a rule in κ, of `points` intervals or more."""
        if len(self.c) == 1:
            yield from self._blocks(upto(1), points)
            return
        for kind in alike(self.origin.kinds):
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

    def table(
        self, chunk: np.ndarray, points: int, farther: float = 1.0, layers: np.ndarray | None = None
    ) -> Table:
        """Features and label of some first layers, on rules of that many κ intervals."""
        own = (self.frame(chunk), self.c[chunk], self.biases)
        return Table(self.activation, self.labels, *own, points, farther, layers)

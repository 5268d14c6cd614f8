"""What every channel computes: averages of the proximal score given κ, and loss and errors on training samples.

Given κ, a sample's field without it in the training set is ω = M + P·y + √(q - |P|²) ξ, its label depends on y
(the projections on the rest of the target), and training moves the output to the proximal point of the loss
at ω with stiffness V. Everything the readout's statistics need is in four averages over y, ξ and the label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...gaussian import REACH
from ...gaussian.cuts import THIRDS, panels
from ...losses import Loss

_USUAL = 6  # points of the coarsest usual rule,
_DIGITS, _MORE_DIGITS = 8.0, 2.5  # digits of trapezoidal rules on it, and more for each doubling,
_MOST_DIGITS = 15.0  # at most,
_FEWEST_DIGITS = 4.0  # and where κ is rare
_FINE = 24  # points of the finest usual rule,
_SLOWLY = 0.2  # power of them as which nodes over y between kinks grow: for labels alone, all rules might have the same
_ALONE = 0.15  # power by which a lattice over y is finer on coarse rules in κ
_BLOCK = 1 << 15  # array elements in flight: they stay in cache, and calls cost little beside them
_LARGE = 1 << 15  # those of one point, beyond which κ nodes are worked on one part after the other


class Where(NamedTuple):
    """Points on first layers `rows` [B], at some of the nodes in κ."""

    rows: np.ndarray
    nodes: slice


class Scores(NamedTuple):
    """Averages given κ: F1 = E f, F2 = E f², G = E g [B, N]; Dy = E[y f] + P G [B, k, N] (only the label moves)."""

    F1: np.ndarray
    F2: np.ndarray
    G: np.ndarray
    Dy: np.ndarray


class Training(NamedTuple):
    """Averages given κ, each [B, N]: the loss and the squared error of the fitted outputs."""

    loss: np.ndarray
    error: np.ndarray


class Channel(ABC):
    """B grid points, each of a first layer `rows` [B]; fields M, V, q [B, N] and P [B, k, N] on κ nodes."""

    loss: Loss
    nodes: int  # N
    width: int  # array elements per point and κ node, at most

    def scores(self, rows: np.ndarray, *fields: np.ndarray, work: np.ndarray | None = None) -> Scores:
        """The four averages, which take so much `work`, if that is known; fields are M, P, V, q and noise [B]."""
        work = self.work(rows, *fields) if work is None else work
        return Scores(*self._in_blocks(self._scores, work, rows, *fields))

    def training(self, rows: np.ndarray, *fields: np.ndarray) -> Training:
        """What the fitted outputs are like."""
        return Training(*self._in_blocks(self._training, self.work(rows, *fields), rows, *fields))

    @abstractmethod
    def _scores(self, where: Where, *fields: np.ndarray) -> Scores:
        """At some κ, as are the fields but the noise."""

    @abstractmethod
    def _training(self, where: Where, *fields: np.ndarray) -> Training: ...

    def work(self, rows: np.ndarray, *fields: np.ndarray) -> np.ndarray:
        """Array elements that the averages of each point take, [B]."""
        return self._widths(rows, *fields) * self.nodes

    def _widths(self, rows: np.ndarray, *fields: np.ndarray) -> np.ndarray:
        """Array elements per κ node that each point needs, [B]."""
        return np.full(len(rows), self.width)

    def _in_blocks(
        self, compute: Callable[..., tuple[Any, ...]], work: np.ndarray, rows: np.ndarray, *fields: np.ndarray
    ) -> tuple[Any, ...]:
        """What to compute for all points, `work` [B] array elements each, for as many at a time as stay in cache."""
        parts: list[list[tuple[Any, ...]]] = []
        for start, end, width in _blocks(work):
            nodes = max(1, _LARGE * self.nodes // width)
            some = [field[start:end] for field in fields]  # the noise [B] is the same at all κ
            parts.append(
                [
                    compute(
                        Where(rows[start:end], at), *(field[..., at] if field.ndim > 1 else field for field in some)
                    )
                    for at in (slice(n, min(n + nodes, self.nodes)) for n in range(0, self.nodes, nodes))
                ]
            )
        return tuple(
            np.concatenate([np.concatenate(own, axis=-1) for own in answer])
            for answer in zip(*(list(zip(*part, strict=True)) for part in parts), strict=True)
        )


def _blocks(widths: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Points from `start` to `end` that are worked on together, and the array elements of the widest of them."""
    start = widest = 0
    for end, width in enumerate(widths.tolist()):
        if end > start and (end + 1 - start) * max(widest, width) > _BLOCK:
            yield start, end, widest
            start, widest = end, 0
        widest = max(widest, width)
    yield start, len(widths), widest


def precision(points: int, rarity: np.ndarray | float) -> np.ndarray:
    """By how many powers of e trapezoidal rules reduce their errors, [U or 1, N]; fewer at rare κ.

    With steps h the error is exp(-2πa/h + a²(1 + s²)/2), for any a up to the distance of the nearest singularity from
    the real line: the second term is by how much the Gaussian grows that far off, and what is averaged, which changes s
    times as fast as Φ. At best, a = 2π/h(1 + s²), it is exp(-2π²/h²(1 + s²)).
    """
    digits = min(_MOST_DIGITS, _DIGITS + _MORE_DIGITS * np.log2(points / _USUAL))
    return np.maximum(np.log(10.0) * digits - np.atleast_2d(rarity), np.log(10.0) * _FEWEST_DIGITS)


def some(values: np.ndarray, where: Where) -> np.ndarray:
    """Values [U or 1, N or 1] there."""
    own = values[where.rows] if len(values) > 1 else values
    return own[:, where.nodes] if own.shape[-1] > 1 else own


def cut_rule(cuts: np.ndarray, n: int, reach: float = REACH) -> tuple[np.ndarray, np.ndarray]:
    """Rule for E over N(0, 1), cut at ±reach/3 and at those of `cuts` [..., k] within reach: nodes and weights.

    Both are [..., (most + 3)·n], where no row has more than `most` cuts within reach.
    """
    cuts = np.sort(np.where(np.abs(cuts) < reach, cuts, reach), axis=-1)
    most = int((cuts < reach).sum(axis=-1).max(initial=0))
    return panels(cuts[..., :most], n, reach * THIRDS)


def fineness(usual: int, points: int, growth: float = 0.5) -> tuple[int, float]:
    """Nodes over y in a piece between kinks, and how much finer than usual they are without.

    They are so on refined rules, by a power `growth` of points; and a little on coarse ones, on which neighbouring κ
    mend less of what they miss.
    """
    share = points / _FINE
    return round(usual * share**_SLOWLY), max(share**-_ALONE, share**growth)

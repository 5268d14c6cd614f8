"""Real labels of several directions: averages over nodes y given κ, and near fields seen before by a short series.

Fields of neighbouring readouts, and those of one readout from one step to the next, are alike. What nodes y know of
labels is carried over to a line once for all fields around one of them (`NearLaw`), which takes about three times as
long as averages over all the nodes; averages are then sums over a small part of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...losses import Loss
from ..labels.joint import JointLaw
from ..labels.measure import felt
from ..labels.near_law import NearLaw
from ..layer import Frame
from ..upto import upto
from .base import Scores, Training, fineness, part_of
from .on_laws import BentOnLaws, ClippedOnLaws, edges_of
from .real import Nodes, ResidualChannel, spread

_REAL = 12  # nodes over y between kinks of labels on a usual rule,
_FINER = {2: 2.0, 3: 1.0, 4: 1.0}  # and how much finer they are without than a lattice that κ averages too
_GROWTH = 0.25  # power of points by which they are so on refined rules
_USUAL = 24  # points of a usual rule
_DEGREE = {2: 8, 3: 7, 4: 5}  # of polynomials in tables for so many directions,
_DIGITS, _FEWEST_DIGITS = 6.0, 3.0  # to which their series are summed, at most and where κ is rare,
_NARROWER = 0.8  # and by how much fields may be narrower than those that tables were made for
_WIDER = 0.1  # power by which the pieces of laws are wider on coarser rules
_OFTEN = 6  # evaluations of neighbouring fields for which a table is made: fewer do not pay
_REMEMBERED = 64  # fields that are looked at again when the next ones come
_KEPT = 1 << 27  # bytes of tables that are kept
_ELEMENTS = 1 << 14  # nodes (κ, b) in flight
_SHARP = 1e-5  # width of a window, over that of fields, under which the series' differences would cancel


@dataclass(frozen=True)
class _Place:
    """A field that was met once: of which first layer, P [k, N] and its scale [N]."""

    row: int
    P: np.ndarray
    scale: np.ndarray


class JointRealChannel(ResidualChannel):
    """A loss of the residual."""

    def __init__(
        self, loss: Loss, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int, rarity: np.ndarray
    ):
        count, finer = fineness(_REAL, points, _GROWTH)
        y, w, mean, _, counts = felt(law, frame, kappa, count, _FINER[law.directions] * finer)
        super().__init__(loss, len(counts), points)
        self._felt, self._rarity = Nodes(y, w, mean, counts), rarity
        self.width = self._felt.width * self._inner
        self._degree = _DEGREE[law.directions]
        self._on_laws = ClippedOnLaws if loss.line else BentOnLaws
        self._around: list[tuple[int, NearLaw]] = []
        self._met: list[_Place] = []

    def scores(self, rows: np.ndarray, *fields: np.ndarray, work: np.ndarray | None = None) -> Scores:
        return Scores(*self._answers(super().scores, self._scores, self._near_scores, rows, *fields))

    def training(self, rows: np.ndarray, *fields: np.ndarray) -> Training:
        return Training(*self._answers(super().training, self._training, self._near_training, rows, *fields))

    def _nodes(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Nodes:
        return self._felt

    def work(self, rows: np.ndarray, *fields: np.ndarray) -> np.ndarray:
        found, which, _ = super().work(rows, *fields), *self._covered(rows, *fields)
        for number, (_, around) in enumerate(self._around):
            found[which == number] = around.nodes * self._inner
        return found

    def _answers(
        self,
        everywhere: Callable[..., tuple[Any, ...]],
        direct: Callable[..., tuple[Any, ...]],
        near: Callable[..., tuple[Any, ...]],
        rows: np.ndarray,
        *fields: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Averages over all nodes where no field is near, by its series elsewhere."""
        found: list[np.ndarray] = []
        for around, degrees, members in self._groups(rows, *fields):
            own = [field[members] for field in fields]
            if around is None:
                answer = everywhere(rows[members], *own)
            else:
                answer = self._assembled(around, degrees, direct, near, rows[members], *own)
            found = found or [np.empty((len(rows), *one.shape[1:])) for one in answer]
            for kept, one in zip(found, answer, strict=True):
                kept[members] = one
        return tuple(found)

    def _assembled(
        self,
        around: NearLaw,
        degrees: np.ndarray,
        direct: Callable[..., tuple[Any, ...]],
        near: Callable[..., tuple[Any, ...]],
        rows: np.ndarray,
        *fields: np.ndarray,
    ) -> list[np.ndarray]:
        """At all κ, of which some have a law of few nodes and others not."""
        parts: list[tuple[np.ndarray, tuple[Any, ...]]] = []
        for at in self._parts(around, degrees, *fields):
            here = (part_of(field, at) for field in fields)
            parts.append((at, near(around, at, int(degrees[:, at].max()), *here)))
        most = max(1, 2 * _ELEMENTS // (len(rows) * self.width))
        for at in _runs(~around.known, most):
            values = direct(rows, at, *(part_of(field, at) for field in fields))
            parts.append((upto(self.nodes)[at], values))
        found = [np.empty((*one.shape[:-1], self.nodes)) for one in parts[0][1]]
        for at, values in parts:
            for whole, one in zip(found, values, strict=True):
                whole[..., at] = one
        return found

    def _parts(self, around: NearLaw, degrees: np.ndarray, *fields: np.ndarray) -> Iterator[np.ndarray]:
        """κ that are worked on together: of like degrees and numbers of nodes."""
        at = np.flatnonzero(around.known)
        counts = around.sizes[at]
        if self.loss.line:
            M, V = (part_of(fields[i], at).T[..., None] for i in (0, 2))
            scale = np.sqrt(spread(*(part_of(field, at) for field in fields))).T[..., None]
            places = around.between(at, edges_of(self.loss.line, M, scale, V))
            counts = (places[:, 1] - places[:, 0]) + (places[:, 3] - places[:, 2])
        work = np.maximum(counts, 1) * len(degrees) * self._inner
        order = np.argsort(work * degrees[:, at].max(axis=0), kind="stable")
        start = 0
        while start < len(order):
            most = np.maximum.accumulate(work[order[start:]]) * (1.0 + upto(len(order) - start))
            end = start + max(1, int(np.searchsorted(most, _ELEMENTS)))
            yield at[order[start:end]]
            start = end

    def _groups(
        self, rows: np.ndarray, *fields: np.ndarray
    ) -> Iterator[tuple[NearLaw | None, np.ndarray, np.ndarray]]:
        """Points near each table, with the degrees [members, N] that they take there; and those that are near none."""
        self._prepare(rows, *fields)
        which, degrees = self._covered(rows, *fields)
        for number in np.unique(which):
            members = np.flatnonzero(which == number)
            near = self._around[int(number)][1] if number >= 0 else None
            yield near, degrees[members], members

    def _covered(self, rows: np.ndarray, *fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The table that takes the lowest degree at each point, or -1, [B], and degrees there [B, N]."""
        which, best = np.full(len(rows), -1), np.full(len(rows), self._degree + 1)
        taken = np.full((len(rows), self.nodes), self._degree + 1)
        for number, (row, around) in enumerate(self._around):
            own = np.flatnonzero(rows == row)
            degrees = self._degrees(own, row, around.P0, around.scale, around.known, *fields)
            highest = degrees.max(axis=-1, initial=1)
            better = highest < best[own]
            members = own[better]
            which[members], best[members], taken[members] = number, highest[better], degrees[better]
        return which, taken

    def _degrees(
        self,
        members: np.ndarray,
        row: int,
        P0: np.ndarray,
        scale: np.ndarray,
        known: np.ndarray,
        *fields: np.ndarray,
    ) -> np.ndarray:
        """At which degree series around P0 may end, [members, N]; beyond the highest where they do not serve."""
        M, P, V, q, noise = (field[members] for field in fields)
        square, rest = ((P - P0) ** 2).sum(axis=1), spread(M, P, V, q, noise)
        size = np.sqrt(rest + square)
        rarity = self._rarity[row if len(self._rarity) > 1 else 0]
        nats = np.log(10.0) * np.maximum(_DIGITS - rarity / np.log(10.0), _FEWEST_DIGITS)
        share = np.clip(np.sqrt(square) / size, 1e-12, 1.0 - 1e-12)
        found = np.maximum(np.ceil(nats / -np.log(share)), 1.0)
        fine = (size >= scale) & (found <= self._degree)
        if self.loss.line:
            fine &= (self.loss.line.high - self.loss.line.low) * (self.loss.line.a + V) > _SHARP * size
        return np.where(known, np.where(fine, found, self._degree + 1), 1).astype(int)

    def _prepare(self, rows: np.ndarray, *fields: np.ndarray) -> None:
        """Make tables where fields are met often that are near none."""
        left = np.flatnonzero(self._covered(rows, *fields)[0] < 0)
        everywhere = np.ones(self.nodes, bool)
        P, size = fields[1], np.sqrt(spread(*fields))

        def near(members: np.ndarray, centre: _Place) -> np.ndarray:
            own = rows[members] == centre.row
            degrees = self._degrees(members, centre.row, centre.P, centre.scale, everywhere, *fields)
            return own & (degrees.max(axis=-1) <= self._degree)

        while len(left):
            first = left[:1]
            others = [_Place(int(rows[i]), P[i], _NARROWER * size[i]) for i in left]
            reached = [bool(near(first, other)[0]) for other in others]
            centre = others[
                int(np.flatnonzero([True, *reached[1:]]).max())
            ]  # the farthest that reaches the first
            members = left[near(left, centre)]
            left = np.setdiff1d(left, np.append(members, first))
            if not len(members):  # fields that no table would serve
                continue
            before = [place for place in self._met if near(members[:1], place)[0]]
            if len(members) + len(before) >= _OFTEN:
                self._make(centre)
            else:
                self._met = [*self._met, centre][-_REMEMBERED:]

    def _make(self, centre: _Place) -> None:
        """A table around that field."""
        y, w, T, counts = self._felt
        row, rarity = centre.row, self._rarity
        nodes = y[row if len(y) > 1 else 0], w[row if len(w) > 1 else 0], T[row], counts
        there = np.exp(-rarity[row if len(rarity) > 1 else 0])
        wider = (_USUAL / self._points) ** _WIDER
        made = NearLaw(centre.P, centre.scale, self._degree, nodes, there, wider)
        self._around.append((row, made))
        while len(self._around) > 1 and sum(around.nbytes for _, around in self._around) > _KEPT:
            self._around.pop(0)

    def _near_scores(self, around: NearLaw, at: np.ndarray, degree: int, *fields: np.ndarray) -> Scores:
        return self._on_laws(self, around, at, degree, *fields).scores()

    def _near_training(self, around: NearLaw, at: np.ndarray, degree: int, *fields: np.ndarray) -> Training:
        return self._on_laws(self, around, at, degree, *fields).training()


def _runs(where: np.ndarray, most: int) -> Iterator[slice]:
    """Neighbours among the places `where` it holds, at most so many at a time."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        cuts = [*range(int(start), int(end), most), int(end)]
        yield from (slice(*both) for both in pairwise(cuts))

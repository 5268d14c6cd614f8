"""Real labels Y = T + noise·ε with a loss of the residual Y - z: average over y, the rest is one Gaussian.

Given κ and y the residual of the field, s = Y - ω, is normal with mean T - M - P y and variance q - P² + noise².
Where the score is a clipped straight line (square, Huber, absolute, pinball) its averages over s are closed
forms, smooth however kinked the loss; other losses are integrated between their bends.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from ...functions import Function
from ...gaussian import least_intervals, line_rule, resolution, round_up, tail_reach
from ...losses import Loss
from ..labels.conditional_nodes import Nodes, significant
from ..labels.joint import JointLaw
from ..layer import Frame
from ..symmetric import TINY
from .base import Channel, Scores, Training, cut_rule, fineness, precision
from .clipped import Window, score_pieces, training_pieces

_NEGLIGIBLE = 1e-12  # weight of a node (κ, y), times a label's square, that changes no average
_ALIKE = 6  # digits of a weight that count here, so that nodes and their mirror images are treated alike
_USUAL, _LINE = 6, 24  # points of the coarsest usual rule, and intervals along y on it
_SLOWLY = 0.7  # finer rules have more of these by this power, unless a target needs more,
_RESOLVED, _FINE = 1e-9, 4.0  # which it is on a rule with this many times the points,
_SHARPEST = 208  # and this many at most where labels are sharp
_PIECES = 0  # stands for a rule that is cut
# of several directions
_REAL = 12  # nodes over y between kinks of labels on a usual rule,
_FINER = {2: 2.0, 3: 1.0, 4: 1.0}  # and how much finer they are without than a lattice that κ averages too
_GROWTH = 0.25  # power of points by which they are so on refined rules


class _Local(NamedTuple):
    """Averages over s: E f, E f², E g; or loss and squared error of the fitted output."""

    first: np.ndarray
    second: np.ndarray
    slope: np.ndarray | None = None


class ResidualChannel(Channel):
    """A loss of y - z on a target's values at `Nodes`, which may depend on the fields."""

    def __init__(self, loss: Loss, nodes: int, points: int):
        self.loss, self.nodes, self._points = loss, nodes, points
        self._inner = 1 if loss.line else (loss.breaks(0.0, np.ones(1)).shape[-1] + 3) * points

    @abstractmethod
    def _nodes(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Nodes:
        """What resolves some points at some κ."""

    def _scores(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Scores:
        nodes, *normal = self._fields(rows, at, *fields)
        local, P = self._local_scores(*normal), fields[1]
        F1, F2, G = (nodes.average(a) for a in local if a is not None)
        along = [nodes.average(local.first * nodes.y[:, j]) for j in range(nodes.y.shape[1])]
        return Scores(F1, F2, G, np.stack(along, axis=1) + P * G[:, None])

    def _training(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Training:
        nodes, *normal = self._fields(rows, at, *fields)
        local = self._local_training(*normal)
        return Training(nodes.average(local.first), nodes.average(local.second))

    def _fields(
        self, rows: np.ndarray, at: slice, *fields: np.ndarray
    ) -> tuple[Nodes, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, mean and standard deviation of s there, and V, all [B, Q] at some κ."""
        M, P, V, _, _ = fields
        nodes = self._nodes(rows, at, *fields).at(rows, at)
        scale = np.sqrt(spread(*fields))
        M, scale, V = (np.repeat(a, nodes.counts, axis=-1) for a in (M, scale, V))
        shift = nodes.mean - M
        for j in range(P.shape[1]):
            shift -= np.repeat(P[:, j], nodes.counts, axis=-1) * nodes.y[:, j]
        return nodes, shift, scale, V

    def _local_scores(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> _Local:
        if self.loss.line:
            moment = Window(self.loss.line, b, scale, V).moment
            return _Local(*(np.asarray(one.mean(moment)) for one in score_pieces(self.loss.line, V)))
        s, w, V = self.bent(b, scale, V)
        f, g = self.loss.score(s, np.zeros_like(s), V)
        return _Local((w * f).sum(axis=-1), (w * f * f).sum(axis=-1), (w * g).sum(axis=-1))

    def _local_training(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> _Local:
        if self.loss.line:
            moment = Window(self.loss.line, b, scale, V).moment
            value, error = (np.asarray(one.mean(moment)) for one in training_pieces(self.loss.line, V))
            return _Local(value, np.maximum(error, 0.0))
        s, w, V = self.bent(b, scale, V)
        left = s - V * self.loss.score(s, np.zeros_like(s), V).f
        return _Local(
            (w * self.loss.value(left, np.zeros_like(left))).sum(axis=-1), (w * left**2).sum(axis=-1)
        )

    def bent(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, ...]:
        """s, weights and V on a rule cut where the score bends, [B, N, J, nodes]."""
        bends = -self.loss.breaks(0.0, np.broadcast_to(V, b.shape))  # at y = 0: s = -ω
        z, w = cut_rule((bends - b[..., None]) / scale[..., None], self._points)
        s = b[..., None] + scale[..., None] * z
        return s, w, np.broadcast_to(V[..., None], s.shape)


class JointRealChannel(ResidualChannel):
    """Labels of several directions: all nodes (κ, y) that an average over both feels."""

    def __init__(self, loss: Loss, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int):
        count, finer = fineness(_REAL, points, _GROWTH)
        super().__init__(loss, kappa.shape[-1], points)
        self._pairs = significant(law, frame, kappa, count, _FINER[law.directions] * finer)
        self.width = self._pairs.width * self._inner

    def _nodes(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Nodes:
        return self._pairs


def spread(M: np.ndarray, P: np.ndarray, V: np.ndarray, q: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Variance of s given κ and y, [B, N]."""
    return np.maximum(q - (P * P).sum(axis=1), 0.0) + noise[:, None] ** 2 + 1e-24


class RealChannel(ResidualChannel):
    """Labels of one direction: `points` nodes between two kinks of the target, or a line as fine as labels are sharp.

    Nodes (κ, y) that no average feels are left out: with `rarity` [U or 1, N], by how many powers of e each κ is rarer
    than usual, about a third of all pairs.
    """

    def __init__(
        self,
        loss: Loss,
        target: Function,
        centre: np.ndarray,
        rho: np.ndarray,
        points: int,
        rarity: np.ndarray | None = None,
    ):
        super().__init__(loss, centre.shape[-1], points)
        self._target, self._centre, self._rho = target, centre[:, 0], rho[:, :1]  # [U, N] and [U, 1]
        self._there = np.ones((1, self.nodes)) if rarity is None else np.exp(-rarity)
        self._reach = tail_reach(target, 1.0)
        self._rules: dict[int, Nodes] = {}
        usual, slowly = points / _USUAL, (points / _USUAL) ** _SLOWLY
        needed, _ = resolution(target, np.zeros(1), np.ones(1), self._reach, _RESOLVED)
        span = float(np.abs(self._centre).max())
        self._least = least_intervals(target, round_up(float(rho.max())), self._reach, round_up(span))
        self._fewest = max(self._least, min(_LINE * usual, max(_LINE, needed / _FINE**_SLOWLY) * slowly))
        self._most = max(self._fewest, _SHARPEST * slowly if loss.line else _LINE * usual)
        self._precision = precision(points, rarity)
        if target.breakpoints:
            self.width = self._rule(_PIECES).width * self._inner
        else:
            self._steepness, self.width = self._rise(), int(self._most) * self._inner

    def _rise(self) -> np.ndarray:
        """How fast the target rises along y, times the root of the powers of e that count there, at most, [U, N]."""
        y, _ = line_rule(_multiple(self._fewest), self._reach)
        slope = np.gradient(self._target(self._centre[..., None] + self._rho[..., None] * y), y, axis=-1)
        counts = np.maximum(self._precision[..., None] - 0.5 * y * y, 0.0)
        return (np.sqrt(counts) * np.abs(slope)).max(axis=-1)

    def _intervals(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> np.ndarray:
        """Of the trapezoidal rule in y, [B]: see `precision`. Averages over s change within its standard deviation."""
        wanted = self._precision[rows if len(self._precision) > 1 else slice(None)]
        wanted = wanted[:, at if wanted.shape[-1] > 1 else slice(None)]
        along = np.sqrt(wanted) * np.abs(fields[1][:, 0])
        steep = (self._steepness[rows, at] + along) ** 2 / spread(*fields)
        found = 2.0 * self._reach * np.sqrt((wanted + steep) / (2.0 * np.pi**2)).max(axis=-1)
        return np.clip(found, self._fewest, self._most)

    def _widths(self, rows: np.ndarray, *fields: np.ndarray) -> np.ndarray:
        if self._target.breakpoints:
            return np.full(len(rows), self.width)
        return (self._inner * self._intervals(rows, slice(None), *fields)).astype(int)

    def _nodes(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Nodes:
        if self._target.breakpoints:
            return self._rule(_PIECES)
        return self._rule(_multiple(self._intervals(rows, at, *fields).max()))

    def _rule(self, intervals: int) -> Nodes:
        """That of so many intervals along y, or between the target's kinks."""
        if intervals not in self._rules:
            centre, rho = self._centre, self._rho
            if self._target.breakpoints:
                steep = np.where(rho < TINY**0.5, TINY**0.5, rho)
                cuts = np.stack([(b - centre) / steep for b in self._target.breakpoints], axis=-1)
                y, w = cut_rule(cuts, max(self._points, round(0.5 * self._least)), self._reach)
            else:
                line, weights = line_rule(intervals, self._reach)
                y, w = line[None, None], weights[0][None, None]
            T = np.asarray(self._target(centre[..., None] + rho[..., None] * y))  # [U, N, J]
            y, w = (np.broadcast_to(a, (len(a), *T.shape[1:])) for a in (y, w))
            with np.errstate(divide="ignore"):
                weight = np.log((self._there[..., None] * w * (1.0 + T * T)).max(axis=0))
            kept = np.asarray(weight.round(_ALIKE) > np.log(_NEGLIGIBLE))
            kept[:, T.shape[-1] // 2] |= ~kept.any(axis=-1)
            T = T[:, kept]
            self._rules[intervals] = Nodes(y[:, None, kept], w[:, kept], T, T, kept.sum(axis=-1))
        return self._rules[intervals]


def _multiple(intervals: float) -> int:
    """So many or a few more, such that there are not too many rules."""
    return 4 * int(np.ceil(2.0 ** (np.ceil(4.0 * np.log2(intervals)) / 4.0) / 4.0))

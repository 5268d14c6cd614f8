"""Real labels Y = T + noise·ε with a loss of the residual Y - z: average over y, the rest is one Gaussian.

Given κ and y the residual of the field, s = Y - ω, is normal with mean b = T - M - P·y and variance q - |P|² + noise².
Where the score is a clipped straight line (square, Huber, absolute, pinball) its averages over s are closed forms
(`Window`), smooth however kinked the loss; other losses are integrated between their bends.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...functions import Function
from ...gaussian import (
    density,
    least_intervals,
    legendre,
    line_rule,
    ndtr,
    quarterable,
    resolution,
    round_up,
    tail_reach,
)
from ...losses import Clipped, Loss
from ..labels.conditional_nodes import Nodes, significant
from ..labels.multi_index import SeveralDirections
from ..layer import Frame
from ..symmetric import TINY
from .base import Channel, Scores, Training, Where, cut_rule, fineness, precision, some

_UNBOUNDED = 1e100  # stands for an infinite bound: its tail has no mass, and no product with it overflows
# width of a window in standard deviations under which so many nodes resolve it
_NARROW, _NARROW_NODES = 0.5, 8
_BEYOND = 40.0  # standard deviations at which a density is no more
_NEGLIGIBLE = 1e-12  # weight of a node (κ, y), times a label's square, that changes no average
_ALIKE = 6  # digits of a weight that count here, so that nodes and their mirror images are treated alike
_USUAL, _LINE = 6, 24  # points of the coarsest usual rule, and intervals along y on it,
_SHARPEST = 128  # at most so many where labels are sharp; both grow with the points
_RESOLVED = 1e-11  # relative error of a target's own averages beyond which more intervals are of no use
# of several directions
_REAL = 12  # nodes over y between kinks of labels on a usual rule,
_FINER = {2: 2.0, 3: 1.0, 4: 1.0}  # and how much finer they are without than a lattice that κ averages too
_GROWTH = 0.25  # power of points by which they are so on refined rules


class Window:
    """Averages over s ~ N(b, scale²) of a clipped straight score f = clip(s/(a + V), low, high), in closed form.

    The score is straight for L < s < H; there and on both sides of this window, what is averaged are polynomials in s.
    """

    def __init__(self, line: Clipped, b: np.ndarray, scale: np.ndarray, V: np.ndarray):
        self._a, self._b, self._scale, self._V = line.a, b, scale, V
        self._low, self._high = max(line.low, -_UNBOUNDED), min(line.high, _UNBOUNDED)
        L, H = self._edges = self._low * (line.a + V), self._high * (line.a + V)
        zl, zh = (L - b) / scale, (H - b) / scale
        dl, dh = self._densities = density(zl), density(zh)
        # Φ of what lies on the far side of each edge from the middle, negative below it: no difference of two cancels
        tl, th = (np.copysign(ndtr(-np.abs(z)), z) for z in (zl, zh))
        self.below, self.above = (zl >= 0.0) - tl, (zh < 0.0) + th
        mass = tl - th + ((zl < 0.0) & (zh >= 0.0))
        first = b * mass - scale * (dh - dl)
        second = b * first + scale * (scale * mass - (H * dh - L * dl))
        narrow = zh - zl < _NARROW
        if narrow.any():  # differences of Φ would cancel; far out, all of them are 0
            narrow &= np.maximum(zl, -zh) < _BEYOND
            inside = (a[narrow] for a in (zl, zh, b, np.broadcast_to(scale, b.shape)))
            mass[narrow], first[narrow], second[narrow] = _narrow_moments(*inside)
        self.inside = mass, first, second  # E[1], E[s] and E[s²] over the window

    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E f, E f² and E g."""
        low, high, slope = self._low, self._high, 1.0 / (self._a + self._V)
        mass, first, second = self.inside
        f = low * self.below + slope * first + high * self.above
        f2 = low**2 * self.below + slope**2 * second + high**2 * self.above
        return f, f2, slope * mass

    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """Loss and squared error of fitted outputs, off their labels by s·a/(a + V) inside and s - V·bound outside."""
        a, b, scale, V = self._a, self._b, self._scale, self._V
        (L, H), (dl, dh) = self._edges, self._densities
        inside = self.inside[2] / (a + V) ** 2
        loss, error = 0.5 * a * inside, a**2 * inside
        for p, edge, mass, slope in ((self._low, L, self.below, -dl), (self._high, H, self.above, dh)):
            if abs(p) < _UNBOUNDED:
                first = b * mass + scale * slope
                second = (b * b + scale**2) * mass + scale * (b + edge) * slope
                loss = loss + p * first - (V + 0.5 * a) * p**2 * mass
                error = error + second - 2.0 * V * p * first + (V * p) ** 2 * mass
        return loss, np.maximum(error, 0.0)


def _narrow_moments(zl: np.ndarray, zh: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E[1], E[s] and E[s²] over zl < (s - b)/scale < zh, each [M], by a rule of a few nodes."""
    x, w = (a[:, None] for a in legendre(_NARROW_NODES))
    half = 0.5 * (zh - zl)
    z = 0.5 * (zh + zl) + half * x
    weight, s = half * w * density(z), b + scale * z
    return np.stack([weight.sum(axis=0), (weight * s).sum(axis=0), (weight * s * s).sum(axis=0)])


class ResidualChannel(Channel):
    """A loss of y - z on a target's values at `Nodes`, which may depend on the fields."""

    def __init__(self, loss: Loss, nodes: int, points: int):
        self.loss, self.nodes, self._points = loss, nodes, points
        self._inner = 1 if loss.line else (loss.breaks(0.0, np.ones(1)).shape[-1] + 3) * points

    @abstractmethod
    def _nodes(self, where: Where, *fields: np.ndarray) -> Nodes:
        """What resolves some points at some κ."""

    def _scores(self, where: Where, *fields: np.ndarray) -> Scores:
        nodes, b, scale, V = self._residuals(where, *fields)
        if self.loss.line:
            f, f2, g = Window(self.loss.line, b, scale, V).scores()
        else:
            s, w, V = self._between_bends(b, scale, V)
            score, slope = self.loss.score(s, np.zeros_like(s), V)
            f, f2, g = ((w * values).sum(axis=-1) for values in (score, score * score, slope))
        F1, F2, G = (nodes.average(values) for values in (f, f2, g))
        along = np.stack([nodes.average(f * y) for y in np.moveaxis(nodes.y, 1, 0)], axis=1)
        return Scores(F1, F2, G, along + fields[1] * G[:, None])

    def _training(self, where: Where, *fields: np.ndarray) -> Training:
        nodes, b, scale, V = self._residuals(where, *fields)
        if self.loss.line:
            loss, error = Window(self.loss.line, b, scale, V).training()
        else:
            s, w, V = self._between_bends(b, scale, V)
            left = s - V * self.loss.score(s, np.zeros_like(s), V).f
            loss, error = ((w * part).sum(axis=-1) for part in (self.loss.value(left, np.zeros_like(left)), left**2))
        return Training(nodes.average(loss), nodes.average(error))

    def _residuals(self, where: Where, *fields: np.ndarray) -> tuple[Nodes, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes, mean and standard deviation of s there, and V, all [B, Q] at some κ."""
        M, P, V, _, _ = fields
        nodes = self._nodes(where, *fields).at(*where)
        scale = np.sqrt(residual_variance(*fields))
        M, scale, V = (np.repeat(a, nodes.counts, axis=-1) for a in (M, scale, V))
        b = nodes.mean - M
        for j in range(P.shape[1]):
            b -= np.repeat(P[:, j], nodes.counts, axis=-1) * nodes.y[:, j]
        return nodes, b, scale, V

    def _between_bends(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, ...]:
        """s, weights and V on a rule cut where the score bends, [B, Q, nodes]."""
        bends = -self.loss.breaks(0.0, np.broadcast_to(V, b.shape))  # at y = 0: s = -ω
        z, w = cut_rule((bends - b[..., None]) / scale[..., None], self._points)
        s = b[..., None] + scale[..., None] * z
        return s, w, np.broadcast_to(V[..., None], s.shape)


class JointRealChannel(ResidualChannel):
    """Labels of several directions: all nodes (κ, y) that an average over both depends on."""

    def __init__(self, loss: Loss, law: SeveralDirections, frame: Frame, kappa: np.ndarray, points: int):
        count, finer = fineness(_REAL, points, _GROWTH)
        super().__init__(loss, kappa.shape[-1], points)
        self._pairs = significant(law, frame, kappa, count, _FINER[law.directions] * finer)
        self.width = self._pairs.width * self._inner

    def _nodes(self, where: Where, *fields: np.ndarray) -> Nodes:
        return self._pairs


def residual_variance(M: np.ndarray, P: np.ndarray, V: np.ndarray, q: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Variance of s given κ and y, [B, N]."""
    return np.maximum(q - (P * P).sum(axis=1), 0.0) + noise[:, None] ** 2 + 1e-24


class RealChannel(ResidualChannel):
    """Labels of one direction: `points` nodes between two kinks of the target, or a line as fine as labels are sharp.

    Nodes (κ, y) that no average depends on are left out: with `rarity` [U or 1, N], by how many powers of e each κ is
    rarer than usual, about a third of all pairs. Huber curves take 2.5 times longer with a fixed line, and 1.7 times
    with all nodes.
    """

    def __init__(
        self,
        loss: Loss,
        target: Function,
        centre: np.ndarray,
        rho: np.ndarray,
        points: int,
        rarity: np.ndarray | float = 0.0,
    ):
        super().__init__(loss, centre.shape[-1], points)
        self._target, self._centre, self._rho = target, centre[:, 0], rho[:, :1]  # [U, N] and [U, 1]
        self._density, self._precision = np.exp(-np.atleast_2d(rarity)), precision(points, rarity)
        self._reach = tail_reach(target, 1.0)
        self._rules: dict[int, Nodes] = {}
        needed, _ = resolution(target, np.zeros(1), np.ones(1), self._reach, _RESOLVED)
        span, finer = float(np.abs(self._centre).max()), points / _USUAL
        self._least = least_intervals(target, round_up(float(rho.max())), self._reach, round_up(span))
        self._fewest = max(self._least, min(needed, _LINE * finer))
        self._most = max(self._fewest, (_SHARPEST if loss.line else _LINE) * finer)
        if target.breakpoints:
            self.width = self._rule(0).width * self._inner
        else:
            self._steepness, self.width = self._rise(), int(self._most) * self._inner

    def _rise(self) -> np.ndarray:
        """How fast the target rises along y, times the root of the powers of e that count there, at most, [U, N]."""
        y, _ = line_rule(quarterable(round_up(self._fewest)), self._reach)
        slope = np.gradient(self._target(self._centre[..., None] + self._rho[..., None] * y), y, axis=-1)
        counts = np.maximum(self._precision[..., None] - 0.5 * y * y, 0.0)
        return (np.sqrt(counts) * np.abs(slope)).max(axis=-1)

    def _intervals(self, where: Where, *fields: np.ndarray) -> np.ndarray:
        """Of the trapezoidal rule in y, [B]: see `precision`. Averages over s change within its standard deviation."""
        nats = some(self._precision, where)
        along = np.sqrt(nats) * np.abs(fields[1][:, 0])
        steep = (self._steepness[where] + along) ** 2 / residual_variance(*fields)
        intervals = 2.0 * self._reach * np.sqrt((nats + steep) / (2.0 * np.pi**2)).max(axis=-1)
        return np.clip(intervals, self._fewest, self._most)

    def _widths(self, rows: np.ndarray, *fields: np.ndarray) -> np.ndarray:
        if self._target.breakpoints:
            return super()._widths(rows, *fields)
        return (self._inner * self._intervals(Where(rows, slice(None)), *fields)).astype(int)

    def _nodes(self, where: Where, *fields: np.ndarray) -> Nodes:
        if self._target.breakpoints:
            return self._rule(0)
        return self._rule(quarterable(round_up(self._intervals(where, *fields).max())))

    def _rule(self, intervals: int) -> Nodes:
        """That of so many intervals along y (rounded up, so that there are not too many rules), or between the target's
        kinks, whatever the number."""
        if intervals not in self._rules:
            centre, rho = self._centre[..., None], self._rho[..., None]
            if breakpoints := self._target.breakpoints:
                cuts = (np.array(breakpoints) - centre) / np.maximum(rho, TINY**0.5)
                y, w = cut_rule(cuts, max(self._points, round(0.5 * self._least)), self._reach)
            else:
                line, weights = line_rule(intervals, self._reach)
                y, w = line[None, None], weights[0][None, None]
            T = np.asarray(self._target(centre + rho * y))  # [U, N, J]
            y, w = (np.broadcast_to(a, (len(a), *T.shape[1:])) for a in (y, w))
            with np.errstate(divide="ignore"):  # weights that underflow
                weight = np.log((self._density[..., None] * w * (1.0 + T * T)).max(axis=0))
            kept = np.asarray(weight.round(_ALIKE) > np.log(_NEGLIGIBLE))
            kept[:, T.shape[-1] // 2] |= ~kept.any(axis=-1)  # every κ has a node
            T = T[:, kept]
            self._rules[intervals] = Nodes(y[:, None, kept], w[:, kept], T, T, kept.sum(axis=-1))
        return self._rules[intervals]

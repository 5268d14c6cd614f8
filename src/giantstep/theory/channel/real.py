"""Real labels Y = T + noise·ε with a loss of the residual Y - z: average over y, the rest is one Gaussian.

Given κ and y the residual of the field, s = Y - ω, is normal with mean T - M - P y and variance q - P² + noise².
Where the score is a clipped straight line (square, Huber, absolute, pinball) its averages over s are closed
forms, smooth however kinked the loss; other losses are integrated between their bends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...functions import Function
from ...gaussian import line_rule, ndtr, tail_reach
from ...losses import Clipped, Loss
from .base import Channel, Scores, Training, legendre, panels

_UNBOUNDED = 1e100  # stands for an infinite bound: its tail has no mass, and no product with it overflows
_NARROW = 0.5  # width in standard deviations under which differences of Φ are replaced by a direct rule
_NARROW_NODES, _AT_ONCE = 8, 1 << 11
_ASIDE = 4.0  # how far a window must lie on one side for differences of Φ there to be more exact than 1 less the rest


class _Local(NamedTuple):
    """Averages over s: E f, E f², E g; or loss and squared error of the fitted output."""

    first: np.ndarray
    second: np.ndarray
    slope: np.ndarray | None = None


class ResidualChannel(Channel):
    """A loss of y - z on a target's values T [U, Q] at nodes y [U or 1, k, Q] with weights w [U or 1, Q].

    They lie end to end, `counts` [N] of them at each κ.
    """

    def __init__(
        self, loss: Loss, y: np.ndarray, w: np.ndarray, T: np.ndarray, counts: np.ndarray, points: int
    ):
        self.loss, self._y, self._w, self._T, self._points = loss, y, w, T, points
        self.nodes = len(counts)
        bends = loss.breaks(0.0, np.ones(1)).shape[-1]
        inner = 1 if loss.line else (bends + 3) * points
        self.width = -(-T.shape[-1] // self.nodes) * inner
        self._counts, self._ends = counts, np.concatenate([[0], np.cumsum(counts)])

    def _scores(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Scores:
        y, w, shift, scale, V = self._fields(rows, at, *fields)
        local, P = self._local_scores(shift, scale, V), fields[1]
        weighted = w * local.first
        F1, F2, G = (self._sum(at, a) for a in (weighted, w * local.second, w * local.slope))
        along = [self._sum(at, weighted * y[:, j]) for j in range(y.shape[1])]
        return Scores(F1, F2, G, np.stack(along, axis=1) + P * G[:, None])

    def _training(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Training:
        _, w, *normal = self._fields(rows, at, *fields)
        local = self._local_training(*normal)
        return Training(self._sum(at, w * local.first), self._sum(at, w * local.second))

    def _sum(self, at: slice, values: np.ndarray) -> np.ndarray:
        """Over the nodes at each κ: [B, N]."""
        return np.add.reduceat(values, self._ends[at] - self._ends[at.start], axis=-1)

    def _fields(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> tuple[np.ndarray, ...]:
        """y, weights, mean and standard deviation of s, and V, all [B, ..., Q] at some κ."""
        M, P, V, q, noise = fields
        here, counts = slice(self._ends[at.start], self._ends[at.stop]), self._counts[at]
        y, w, T = (a[..., here] if len(a) == 1 else a[rows, ..., here] for a in (self._y, self._w, self._T))
        rest = np.maximum(q - (P * P).sum(axis=1), 0.0)
        scale = np.sqrt(rest + noise[:, None] ** 2 + 1e-24)
        M, scale, V = (np.repeat(a, counts, axis=-1) for a in (M, scale, V))
        shift = T - M
        for j in range(P.shape[1]):
            shift -= np.repeat(P[:, j], counts, axis=-1) * y[:, j]
        return y, w, shift, scale, V

    def _local_scores(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> _Local:
        if self.loss.line:
            return _clipped_scores(self.loss.line, b, scale, V)
        s, w, V = self._bent(b, scale, V)
        f, g = self.loss.score(s, np.zeros_like(s), V)
        return _Local((w * f).sum(axis=-1), (w * f * f).sum(axis=-1), (w * g).sum(axis=-1))

    def _local_training(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> _Local:
        if self.loss.line:
            return _clipped_training(self.loss.line, b, scale, V)
        s, w, V = self._bent(b, scale, V)
        left = s - V * self.loss.score(s, np.zeros_like(s), V).f
        return _Local(
            (w * self.loss.value(left, np.zeros_like(left))).sum(axis=-1), (w * left**2).sum(axis=-1)
        )

    def _bent(self, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, ...]:
        """s, weights and V on a rule cut where the score bends, [B, N, J, nodes]."""
        bends = -self.loss.breaks(0.0, np.broadcast_to(V, b.shape))  # at y = 0: s = -ω
        z, w = panels((bends - b[..., None]) / scale[..., None], self._points)
        s = b[..., None] + scale[..., None] * z
        return s, w, np.broadcast_to(V[..., None], s.shape)


class RealChannel(ResidualChannel):
    """Labels of one direction; `points` nodes between two cuts, or along y if it has no kinks."""

    def __init__(self, loss: Loss, target: Function, centre: np.ndarray, rho: np.ndarray, points: int):
        centre, rho = centre[:, 0], rho[:, :1]  # [U, N] and [U, 1]
        reach = tail_reach(target, 1.0)
        if target.breakpoints:
            steep = np.where(rho < 1e-150, 1e-150, rho)
            cuts = np.stack([(b - centre) / steep for b in target.breakpoints], axis=-1)
            y, w = panels(cuts, points, reach)
        else:
            line, weights = line_rule(4 * points, reach)
            y, w = line[None, None], weights[0][None, None]
        T = np.asarray(target(centre[..., None] + rho[..., None] * y))  # [U, N, J]
        U, N, J = T.shape
        y, w = (np.broadcast_to(a, (len(a), N, J)).reshape(len(a), -1) for a in (y, w))
        super().__init__(loss, y[:, None], w, T.reshape(U, -1), np.full(int(N), int(J)), points)


class _Window:
    """The interval of s ~ N(b, scale²) inside which the score is straight, and moments in and around it."""

    def __init__(self, loss: Clipped, b: np.ndarray, scale: np.ndarray, V: np.ndarray):
        self.low, self.high = max(loss.low, -_UNBOUNDED), min(loss.high, _UNBOUNDED)
        self.rise = loss.a + V  # f = s/rise inside
        self.b, self.scale = b, scale
        self.L, self.H = self.low * self.rise, self.high * self.rise
        self.zl, self.zh = (self.L - b) / scale, (self.H - b) / scale
        self.dl, self.dh = (np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) for z in (self.zl, self.zh))
        self.below, self.above = ndtr(self.zl), ndtr(-self.zh)

    def inside(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[1], E[s] and E[s²] over the window; by a direct rule where differences of Φ would cancel."""
        b, scale = self.b, self.scale
        mass = 1.0 - self.below - self.above
        for aside, near, far in (
            (self.zl > _ASIDE, -self.zl, -self.zh),
            (self.zh < -_ASIDE, self.zh, self.zl),
        ):
            if aside.any():
                pick = np.nonzero(aside)
                mass[pick] = ndtr(near[pick]) - ndtr(far[pick])
        first = b * mass - scale * (self.dh - self.dl)
        second = b * first + scale * (scale * mass - (self.H * self.dh - self.L * self.dl))
        narrow = self.zh - self.zl < _NARROW
        if narrow.any():
            picked = (a[narrow] for a in (self.zl, self.zh, b, np.broadcast_to(scale, b.shape)))
            mass[narrow], first[narrow], second[narrow] = _directly(*picked)
        return mass, first, second

    def outside(self) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """(E[1], E[s], E[s²]) below the window, and above it."""
        b, scale = self.b, self.scale
        power = b * b + scale**2
        below = (
            self.below,
            b * self.below - scale * self.dl,
            power * self.below - scale * (b + self.L) * self.dl,
        )
        above = (
            self.above,
            b * self.above + scale * self.dh,
            power * self.above + scale * (b + self.H) * self.dh,
        )
        return below, above


def _directly(zl: np.ndarray, zh: np.ndarray, b: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E[1], E[s] and E[s²] over zl < (s - b)/scale < zh, each [M], by a rule of a few nodes; so many at a time."""
    x, w = (a[:, None] for a in legendre(_NARROW_NODES))
    found = np.empty((3, len(b)))
    for i in range(0, len(b), _AT_ONCE):
        part = slice(i, i + _AT_ONCE)
        half = 0.5 * (zh[part] - zl[part])
        z = 0.5 * (zh[part] + zl[part]) + half * x
        weight = half * w * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
        s = b[part] + scale[part] * z
        for power in range(3):
            weight.sum(axis=0, out=found[power, part])
            weight *= s
    return found


def _clipped_scores(loss: Clipped, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> _Local:
    window = _Window(loss, b, scale, V)
    mass, first, second = window.inside()
    low, high, rise = window.low, window.high, window.rise
    return _Local(
        low * window.below + high * window.above + first / rise,
        low**2 * window.below + high**2 * window.above + second / rise**2,
        mass / rise,
    )


def _clipped_training(loss: Clipped, b: np.ndarray, scale: np.ndarray, V: np.ndarray) -> _Local:
    """Fitted outputs miss the label by s·a/(a + V) inside the window and by s - V·bound outside."""
    window = _Window(loss, b, scale, V)
    inside = window.inside()[2] / window.rise**2
    value, error = 0.5 * loss.a * inside, loss.a**2 * inside
    for bound, (mass, first, second) in zip((window.low, window.high), window.outside(), strict=True):
        if abs(bound) < _UNBOUNDED:
            value = value + bound * (first - V * bound * mass) - 0.5 * loss.a * bound**2 * mass
            error = error + second - 2.0 * V * bound * first + (V * bound) ** 2 * mass
    return _Local(value, np.maximum(error, 0.0))

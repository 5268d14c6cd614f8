"""Averages of a loss of the residual on laws around a field: Σ_i Σ_j terms_j(b_i) scale^j ū^(j)(b_i - M).

Given κ and the law's node b_i, what is left of the residual is normal around b_i - M, with standard deviation `scale`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...losses import Clipped
from ..labels.near_law import NearLaw
from .base import Scores, Training
from .clipped import Piecewise, Window, bounds, score_pieces, training_pieces
from .real import spread

if TYPE_CHECKING:
    from .real import ResidualChannel

_FAR = 6.0  # standard deviations from an edge of the window beyond which nothing is felt of it


class _OnLaws:
    """Fields on laws at some κ: arrays [n, B, ...]."""

    def __init__(
        self, channel: ResidualChannel, around: NearLaw, at: np.ndarray, degree: int, *fields: np.ndarray
    ):
        M, P, V, q, noise = fields
        self.channel, self.around, self.at, self.degree = channel, around, at, degree
        self.P0 = around.P0[:, at]
        moved = self.P0 - P  # [B, k, n]
        scale = np.sqrt(spread(M, P, V, q, noise) + (moved * moved).sum(axis=1))
        self.v = np.transpose(moved / scale[:, None], (2, 0, 1))
        self.M, self.scale, self.V = (field.T[..., None] for field in (M, scale, V))

    def _scores(self, F1: np.ndarray, F2: np.ndarray, G: np.ndarray, along: list[np.ndarray]) -> Scores:
        """Those of all, [n, B] each: what label and field along P0·y owe to y less the latter, for the label alone."""
        Dy = np.stack(along) + self.P0[..., None] * G
        return Scores(F1.T, F2.T, G.T, np.transpose(Dy, (2, 0, 1)))


def edges_of(line: Clipped, M: np.ndarray, scale: np.ndarray, V: np.ndarray) -> np.ndarray:
    """From where to where nodes b feel the edges of the windows of any of some fields [n, B, 1]: [n, 4]."""
    low, high = (bound * (line.a + V) + M for bound in bounds(line))
    away = _FAR * scale
    ends = [(low - away).min(1), (low + away).max(1), (high - away).min(1), (high + away).max(1)]
    return np.concatenate(ends, axis=1)


class ClippedOnLaws(_OnLaws):
    """A clipped straight score: closed forms on each node, and on nodes far from the window's edges all at once."""

    def scores(self) -> Scores:
        plain, *along = self._series(training=False)
        f, square, g = score_pieces(self._line, self.V[..., 0])
        return self._scores(plain.of(f), plain.of(square), plain.of(g), [one.of(f) for one in along])

    def training(self) -> Training:
        plain = self._series(training=True)[0]
        value, error = (plain.of(u) for u in training_pieces(self._line, self.V[..., 0]))
        return Training(value.T, np.maximum(error, 0.0).T)

    @property
    def _line(self) -> Clipped:
        assert self.channel.loss.line is not None
        return self.channel.loss.line

    def _series(self, training: bool) -> list[_Series]:
        """That of all labels, and of how they follow each y_m."""
        line, around, few = self._line, self.around, min(self.degree, 2)
        places = around.between(self.at, edges_of(line, self.M, self.scale, self.V))
        b, c = around.picked(places, self.degree)
        far = around.terms(around.beyond(self.at, places, few), self.v, few)
        far = far.reshape(*far.shape[:-1], 3, 3)  # [J, n, B, 1 + k, powers, pieces]
        terms = around.terms(c, self.v, self.degree)  # [J, n, B, 1 + k, I]
        window = Window(line, b[:, None] - self.M, self.scale, self.V)
        densities = window.edges(self.degree)
        rows = range(1 if training else terms.shape[3])
        parts = ((terms[min(row, 1) :, :, :, row], far[min(row, 1) :, :, :, row]) for row in rows)
        return [_Series(*part, window, densities, self.M) for part in parts]


class _Series:
    """Sums for terms [J, n, B, I], and for those [J, n, B, powers of b, pieces] far from the edges of a window."""

    def __init__(
        self,
        terms: np.ndarray,
        far: np.ndarray,
        window: Window,
        densities: tuple[np.ndarray, np.ndarray],
        M: np.ndarray,
    ):
        self._terms, self._far, self._window, self._densities = terms, far, window, densities
        self._M, self._scale = M[..., 0], window.scale[..., 0]
        self._moments: dict[tuple[int, int, int], np.ndarray] = {}
        self._sums: dict[tuple[int, int], np.ndarray] = {}

    def of(self, u: Piecewise) -> np.ndarray:
        """That of a function u, [n, B]."""
        found = np.zeros(self._scale.shape)
        for j in range(min(3, len(self._terms))):
            found += self._scale**j * u.mean(partial(self._moment, j), j)
        for i, steps in enumerate(u.steps((self._window.L[..., 0], self._window.H[..., 0]))):
            for edge, step in enumerate(steps):
                if len(self._terms) > 1 + i and not isinstance(step, float):
                    found += self._scale**i * step * self._at(i, edge)
        return found

    def _moment(self, j: int, piece: int, power: int) -> np.ndarray:
        """Sums of terms_j E[s^power] on a piece: over nodes near an edge, and those whose s are all on this piece."""
        key = (j, piece, power)
        if key not in self._moments:
            m0, m1, m2 = (self._far[j, :, :, i, piece] for i in range(3))
            M, square = self._M, self._M**2 + self._scale**2
            far = (m0, m1 - M * m0, m2 - 2.0 * M * m1 + square * m0)[power]
            self._moments[key] = far + _sum(self._terms[j], self._window.moment(piece, power))
        return self._moments[key]

    def _at(self, i: int, edge: int) -> np.ndarray:
        """The part of jumps of u^(i) at an edge: the j-th derivative has that of order j - 1 - i of the density."""
        if (i, edge) not in self._sums:
            terms = self._terms[1 + i :]
            densities = self._densities[edge][: len(terms)]
            self._sums[i, edge] = np.einsum("jnbi,jnbi->nb", terms, densities)
        return self._sums[i, edge]


class BentOnLaws(_OnLaws):
    """Any other score: integrated between its bends, with Hermite polynomials for the derivatives."""

    def scores(self) -> Scores:
        s, w, V, terms = self._rule()
        f, g = self.channel.loss.score(s, np.zeros_like(s), V)
        weight = w * _polynomial(terms[:, :, :, 0], self._z)
        F1, F2, G = (_sum(weight, one) for one in (f, f * f, g))
        along = [_sum(w * _polynomial(terms[1:, :, :, 1 + m], self._z), f) for m in range(len(self.P0))]
        return self._scores(F1, F2, G, along)

    def training(self) -> Training:
        s, w, V, terms = self._rule()
        left = s - V * self.channel.loss.score(s, np.zeros_like(s), V).f
        weight = w * _polynomial(terms[:, :, :, 0], self._z)
        value = self.channel.loss.value(left, np.zeros_like(left))
        return Training(_sum(weight, value).T, _sum(weight, left**2).T)

    def _rule(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """s, weights and V [n, B, I, nodes] on a rule cut where the score bends, and the terms."""
        b, c = self.around.picked(self.around.everywhere(self.at), self.degree)
        b = b[:, None] - self.M
        scale, V = (np.broadcast_to(a, b.shape) for a in (self.scale, self.V))
        s, w, V = self.channel.bent(b, scale, V)
        self._z = (s - b[..., None]) / scale[..., None]
        return s, w, V, self.around.terms(c, self.v, self.degree)


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Over all but the first two axes."""
    shape = (*a.shape[:2], -1)
    return np.einsum("nbi,nbi->nb", a.reshape(shape), b.reshape(shape))


def _polynomial(terms: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Σ_j terms_j He_j(z), for terms [J, n, B, I] and z [n, B, I, nodes]."""
    last, now = np.zeros_like(z), np.ones_like(z)
    found = terms[0][..., None] * now
    for j in range(1, len(terms)):
        last, now = now, z * now - (j - 1) * last
        found += terms[j][..., None] * now
    return found

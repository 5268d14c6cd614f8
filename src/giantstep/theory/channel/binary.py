"""Labels ±1, any loss: integrate over the field and sum over labels with their probabilities.

Given the field, the label's own randomness and the part of the target that the field does not see are averaged
over, so nothing jumps. Where a score bends, the field is cut. A score that is analytic in a strip around the real line
needs no cuts: the trapezoidal rule, whose error is known in advance, takes fewer nodes unless fields are wide.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from ...gaussian import REACH, line_rule, ndtr
from ...losses import Loss
from ..labels import BinaryLaw
from ..symmetric import TINY
from .base import Channel, Scores, Training, Where, cut_rule, precision, some

_TINY = TINY**0.5
_PIECE = (6, 8)  # points, and the nodes between bends of straight scores for these; as √points for others
_INSIDE = 0.9  # how much of the strip in which a score is analytic is relied on
_MULTIPLE = 4  # of which intervals there are, so that rules are met again


class SignChannel(Channel):
    """A loss on labels ±1. The field is ω = M + √q λ; `points` measures how fine the rule in λ is.

    `cuts` of labels in λ, and `rarity` [U or 1, N], by how many powers of e each κ is rarer than usual.
    """

    def __init__(self, loss: Loss, points: int, cuts: int, rarity: np.ndarray | float):
        self.loss = loss
        usual, straight = _PIECE
        self.points = points if loss.strip else round(straight * np.sqrt(points / usual))
        bends = sum(loss.breaks(y, np.ones(1)).shape[-1] for y in (-1.0, 1.0))
        self._pieced = (bends + cuts + 3) * self.points
        self._precision = precision(points, rarity)

    def _turns(self, where: Where, P: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Where labels change fast in λ, [B, N, cuts]."""
        return np.zeros((*q.shape, 0))

    def _intervals(self, where: Where, P: np.ndarray, q: np.ndarray) -> np.ndarray:
        """How many intervals of the trapezoidal rule resolve each point at all κ, [B]; ∞ for a score that bends."""
        if not self.loss.strip:
            return np.full(len(where.rows), np.inf)
        free = _INSIDE * self.loss.strip / np.sqrt(q)
        # the chance of a label changes s times faster with λ than Φ(λ), s² = share/(1 - share)
        growth = 1.0 / np.maximum(1.0 - (P * P).sum(axis=1) / q, 1e-15)  # 1 + s²
        nats = some(self._precision, where)
        a = np.minimum(free, np.sqrt(2.0 * nats / growth))  # see `precision`
        return 2.0 * REACH * ((nats + 0.5 * a * a * growth) / (2.0 * np.pi * a)).max(axis=-1)

    def _widths(self, rows: np.ndarray, *fields: np.ndarray) -> np.ndarray:
        _, P, _, q, *_ = fields
        nodes = np.minimum(self._intervals(Where(rows, slice(None)), P, q), self._pieced).astype(int)
        return nodes * (self.width // self._pieced)

    @abstractmethod
    def _labels(
        self, where: Where, P: np.ndarray, q: np.ndarray, z: np.ndarray, w: np.ndarray, clean: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """w·P(Y = 1 | λ) at nodes λ = z [B, N, nodes], and how it follows y_m, [B, k, N, nodes].

        The latter makes averages of y_m f that leave out what the field itself owes to y_m: only the label moves.
        """

    def _scores(self, where: Where, *fields: np.ndarray) -> Scores:
        M, P, V, q, _ = fields
        z, w, omega = self._nodes(where, fields)
        up, tilts = self._labels(where, P, q, z, w)
        F1, F2, G = (np.zeros_like(M) for _ in range(3))
        Dy = np.zeros_like(P)
        for y, chance, side in ((1.0, up, 1.0), (-1.0, w - up, -1.0)):
            f, g = self.loss.score(y, omega, V[..., None])
            F1 += _dot(chance, f)
            F2 += _dot(chance, f * f)
            G += _dot(chance, g)
            Dy += side * np.einsum("bknz,bnz->bkn", tilts, f)
        return Scores(F1, F2, G, Dy)

    def _training(self, where: Where, *fields: np.ndarray) -> Training:
        M, P, V, q, _ = fields
        z, w, omega = self._nodes(where, fields)
        up, _ = self._labels(where, P, q, z, w)
        loss, error = np.zeros_like(M), np.zeros_like(M)
        for y, chance in ((1.0, up), (-1.0, w - up)):
            fitted = omega + V[..., None] * self.loss.score(y, omega, V[..., None]).f
            loss += _dot(chance, self.loss.value(np.full_like(fitted, y), fitted))
            error += _dot(chance, (y - fitted) ** 2)
        return Training(loss, error)

    def wrong(self, rows: np.ndarray, *fields: np.ndarray) -> tuple[np.ndarray, ...]:
        """Shares of wrong signs given κ, [B, N]: on training labels, and of the field itself on clean labels.

        Fields are M, P, V and q. A fitted output has the sign of y unless the field is beyond the point where the loss
        leaves it at 0.
        """
        return self._in_blocks(self._wrong, self.work(rows, *fields), rows, *fields)

    def _wrong(self, where: Where, *fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, P, V, q = fields
        zero, edges = np.zeros_like(V), self._edges(V)
        z, w, omega = self._nodes(where, fields, (zero, *edges), bends=False)
        up, up_clean = (self._labels(where, P, q, z, w, clean)[0] for clean in (False, True))
        train, test = zero.copy(), zero.copy()
        for y, edge, chance, clean in ((1.0, edges[0], up, up_clean), (-1.0, edges[1], w - up, w - up_clean)):
            train += _dot(chance, (y * (omega - edge[..., None]) < 0.0).astype(float))
            test += _dot(clean, (y * omega < 0.0).astype(float))
        return train, test

    def _edges(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fields at which a sample with label 1, or -1, ends up with output 0."""
        zero = np.zeros_like(V)
        return V * self.loss.derivative(zero + 1.0, zero), V * self.loss.derivative(zero - 1.0, zero)

    def _nodes(
        self, where: Where, fields: Sequence[np.ndarray], more: Sequence[np.ndarray] = (), bends: bool = True
    ) -> tuple[np.ndarray, ...]:
        """λ and weights, [B, N, nodes] or the same for all, and ω."""
        M, P, V, q = fields[:4]
        root = np.sqrt(q)
        intervals = self._intervals(where, P, q).max() if bends else np.inf
        if intervals < self._pieced:
            z, (w, *_) = line_rule(_MULTIPLE * int(np.ceil(intervals / _MULTIPLE)), REACH)
            return z[None, None], w[None, None], M[..., None] + root[..., None] * z
        cuts = [self.loss.breaks(y, V) for y in (-1.0, 1.0)] if bends else []
        edges = np.concatenate([*cuts, *(cut[..., None] for cut in more)], axis=-1)
        edges = (edges - M[..., None]) / root[..., None]
        z, w = cut_rule(np.concatenate([edges, self._turns(where, P, q)], axis=-1), self.points)
        return z, w, M[..., None] + root[..., None] * z


class BinaryChannel(SignChannel):
    """Labels of one direction by a `law`: closed forms, and so are the shares of wrong signs."""

    def __init__(
        self,
        loss: Loss,
        law: BinaryLaw,
        centre: np.ndarray,
        rho: np.ndarray,
        points: int,
        rarity: np.ndarray | float = 0.0,
    ):
        super().__init__(loss, points, len(law.cuts), rarity)
        self.law, self.nodes, self.width = law, centre.shape[-1], self._pieced
        self._centre, self._rho = centre[:, 0], rho[:, :1]

    def _turns(self, where: Where, P: np.ndarray, q: np.ndarray) -> np.ndarray:
        reach = self._rho[where.rows] * _share(P[:, 0], q)
        reach = np.where(np.abs(reach) < _TINY, _TINY, reach)
        return (np.array(self.law.cuts, dtype=float) - self._centre[where][..., None]) / reach[..., None]

    def _labels(
        self, where: Where, P: np.ndarray, q: np.ndarray, z: np.ndarray, w: np.ndarray, clean: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        rho, share = self._rho[where.rows], _share(P[:, 0], q)
        mean = self._centre[where][..., None] + (rho * share)[..., None] * z
        law = self.law.clean if clean else self.law
        up, slope = law.chance(mean, (rho**2 * (1.0 - share**2))[..., None])
        slope *= rho[..., None] * w
        return up * w, slope[:, None]

    def _wrong(self, where: Where, *fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        M, P, V, q = fields
        zero, root, rho = np.zeros_like(V), np.sqrt(q), self._rho[where.rows]
        target = self._centre[where], rho**2, rho * _share(P[:, 0], q)

        def wrong(law: BinaryLaw, up: np.ndarray, down: np.ndarray) -> np.ndarray:
            """P(Y = +1, ω < up) + P(Y = -1, ω > down)."""
            h, k = (up - M) / root, (down - M) / root
            below = law.up_below(h, *target)
            before = below if down is up else law.up_below(k, *target)
            return np.clip(below + ndtr(-k) - law.chance(*target[:2])[0] + before, 0.0, 1.0)

        return wrong(self.law, *self._edges(V)), wrong(self.law.clean, zero, zero)


def _share(P: np.ndarray, q: np.ndarray) -> np.ndarray:
    """How much of the field is along y."""
    return np.clip(P / np.sqrt(q), -1.0, 1.0)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("bnz,bnz->bn", a, b)

"""Labels ±1, any loss: integrate over the field and sum over labels with their probabilities.

Given the field, the label's own randomness and the part of the target that the field does not see are averaged
in closed form, so nothing jumps; the score's bends are cut out.
"""

from __future__ import annotations

import numpy as np

from ...gaussian import ndtr
from ...losses import Loss
from ..labels import BinaryLaw
from .base import Channel, Scores, Training, panels

_TINY = 1e-150


class BinaryChannel(Channel):
    """A loss on labels of a `law`; `points` is the number of nodes between two cuts."""

    def __init__(self, loss: Loss, law: BinaryLaw, centre: np.ndarray, rho: np.ndarray, points: int):
        self.loss, self.law, self.centre, self.rho, self.points = loss, law, centre, rho, points
        count = sum(loss.breaks(y, np.ones(1)).shape[-1] for y in (-1.0, 1.0))
        self.width = (count + len(law.cuts) + 3) * points

    def _scores(self, rows: np.ndarray, *fields: np.ndarray) -> Scores:
        M, P, V, q, _ = fields
        w, omega, mean, variance = self._nodes(rows, M, P, V, q)
        up, slope = self.law.chance(mean, variance)
        slope *= self.rho[rows, :1][..., None] * w
        up *= w
        F1, F2, G, Dy = (np.zeros_like(M) for _ in range(4))
        for y, chance, tilt in ((1.0, up, slope), (-1.0, w - up, -slope)):
            f, g = self.loss.score(y, omega, V[..., None])
            F1 += _dot(chance, f)
            F2 += _dot(chance, f * f)
            G += _dot(chance, g)
            Dy += _dot(tilt, f)
        return Scores(F1, F2, G, Dy[:, None])

    def _training(self, rows: np.ndarray, *fields: np.ndarray) -> Training:
        M, P, V, q, _ = fields
        w, omega, mean, variance = self._nodes(rows, M, P, V, q)
        up = w * self.law.chance(mean, variance)[0]
        loss, error = np.zeros_like(M), np.zeros_like(M)
        for y, chance in ((1.0, up), (-1.0, w - up)):
            fitted = omega + V[..., None] * self.loss.score(y, omega, V[..., None]).f
            loss += _dot(chance, self.loss.value(np.full_like(fitted, y), fitted))
            error += _dot(chance, (y - fitted) ** 2)
        return Training(loss, error)

    def wrong(
        self, rows: np.ndarray, M: np.ndarray, P: np.ndarray, V: np.ndarray, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Shares of wrong signs given κ, [B, N]: on training labels, and of the field itself on clean labels.

        A fitted output has the sign of y unless the field is beyond the point where the loss leaves it at 0.
        """
        zero, root, rho = np.zeros_like(V), np.sqrt(q), self.rho[rows, :1]
        share = np.clip(P[:, 0] / root, -1.0, 1.0)
        target = self.centre[rows, 0], rho**2, rho * share

        def wrong(law: BinaryLaw, up: np.ndarray, down: np.ndarray) -> np.ndarray:
            """P(Y = +1, ω < up) + P(Y = -1, ω > down)."""
            h, k = (up - M) / root, (down - M) / root
            above = ndtr(-k) - law.up_below(np.inf + zero, *target) + law.up_below(k, *target)
            return np.clip(law.up_below(h, *target) + above, 0.0, 1.0)

        edges = (V * self.loss.derivative(zero + y, zero) for y in (1.0, -1.0))  # where z* = 0
        return wrong(self.law, *edges), wrong(self.law.clean, zero, zero)

    def _nodes(
        self,
        rows: np.ndarray,
        M: np.ndarray,
        P: np.ndarray,
        V: np.ndarray,
        q: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Weights, ω, and mean and variance of the target's argument given ω; [B, N, nodes]."""
        centre, rho = self.centre[rows, 0], self.rho[rows, :1]
        root = np.sqrt(q)
        share = np.clip(P[:, 0] / root, -1.0, 1.0)
        edges = np.concatenate([self.loss.breaks(y, V) for y in (-1.0, 1.0)], axis=-1)
        reach = rho * share
        reach = np.where(np.abs(reach) < _TINY, _TINY, reach)
        turns = (np.array(self.law.cuts, dtype=float) - centre[..., None]) / reach[..., None]
        z, w = panels(np.concatenate([(edges - M[..., None]) / root[..., None], turns], axis=-1), self.points)
        omega = M[..., None] + root[..., None] * z
        mean = centre[..., None] + (rho * share)[..., None] * z
        return w, omega, mean, (rho**2 * (1.0 - share**2))[..., None]


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("bnz,bnz->bn", a, b)

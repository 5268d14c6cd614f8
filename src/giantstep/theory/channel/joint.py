"""Labels of several directions: averages over nodes y given κ, on which the label is known."""

from __future__ import annotations

import numpy as np

from ...losses import Loss
from ..labels.joint import JointLaw
from ..labels.measure import felt
from ..labels.pieces import gathered, table_nodes
from ..layer import Frame
from ..upto import upto
from .base import REACH
from .binary import SignChannel
from .real import Nodes, ResidualChannel

_PIECES = (6, 64)  # of a line that the label's law is carried over to, at least and at most,
_COUNT = 10  # nodes in each of them,
_WIDTH = 2.5  # and their width over that of what is averaged there
_USUAL = 24  # points of a usual rule,
_REAL, _BINARY = 9, 7  # nodes over y between kinks of labels on it,
_PIECE = 8  # and nodes over y between kinks of labels then,
_SLOWLY = (
    0.2  # which grow as this power of points: for labels alone, all three rules in κ might have the same
)


class JointRealChannel(ResidualChannel):
    """A loss of the residual."""

    def __init__(self, loss: Loss, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int):
        y, w, mean, _, counts = felt(law, frame, kappa, *_fineness(_REAL, points))
        super().__init__(loss, len(counts), points)
        self._felt = Nodes(y, w, mean, counts)
        self.width = self._felt.width * self._inner

    def _nodes(self, rows: np.ndarray, at: slice, *fields: np.ndarray) -> Nodes:
        return self._felt


class JointBinaryChannel(SignChannel):
    """Labels ±1. The field sees y along n = P/|P| alone: λ = share·(n·y) + √(1 - share²) ξ.

    So for each κ the law of n·y is carried over to nodes s_i on a line, once with weights η = E[Y | z] and once with
    y_m η; given λ it is then a sum of Gaussians around them.
    """

    def __init__(
        self, loss: Loss, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int, rarity: np.ndarray
    ):
        super().__init__(loss, points, 0, rarity)
        self._felt = nodes = felt(law, frame, kappa, *_fineness(_BINARY, points))
        self.nodes = len(nodes.counts)
        self._ends = np.concatenate([[0], np.cumsum(nodes.counts)])
        self.width = max(self._pieced * _COUNT * _PIECES[0] // 4, nodes.w.shape[-1] // self.nodes)

    def _labels(
        self,
        rows: np.ndarray,
        at: slice,
        P: np.ndarray,
        q: np.ndarray,
        z: np.ndarray,
        w: np.ndarray,
        clean: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        size = np.sqrt((P * P).sum(axis=1))
        share = np.minimum(size / np.sqrt(q), 1.0 - 1e-9)
        n = np.where(
            size[:, None] > 0.0, P / np.where(size > 0.0, size, 1.0)[:, None], np.eye(P.shape[1])[0][:, None]
        )
        s, laws = self._carried(rows, at, n, share, clean)  # [I] and [B, N, 1 + k, I]
        left = np.sqrt(1.0 - share**2)[..., None]
        # the density of λ around s_i over that of N(0, 1), which is in w
        kernel = (share[..., None] * z / left)[..., None] - (s / left)[..., None, :]
        kernel *= kernel
        kernel *= -0.5
        kernel += 0.5 * s * s
        np.exp(kernel, out=kernel)
        laws = np.concatenate([laws, laws[:, :, :1] * s], axis=2)
        found = np.moveaxis(kernel @ np.swapaxes(laws, -1, -2), -1, 0) * (w / left)
        mean, *along, shifted = found
        bend = (share[..., None] * shifted - z * mean) / left**2  # by parts, for what ω owes to y
        tilts = np.stack(along, axis=1) + (share[:, None] * n)[..., None] * bend[:, None]
        return 0.5 * (w + mean), 0.5 * tilts

    def _carried(
        self, rows: np.ndarray, at: slice, n: np.ndarray, share: np.ndarray, clean: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes s, and weights for averages with η and y_m η on them."""
        here, counts = slice(self._ends[at.start], self._ends[at.stop]), self._felt.counts[at]
        y, weights, mean, pure = (part[rows, ..., here] for part in self._felt[:-1])
        B, k, N = n.shape
        width = (
            _WIDTH * float((np.sqrt(1.0 - share**2) / np.maximum(share, 1e-3)).min()) * _USUAL / self.points
        )
        pieces = int(np.clip(np.ceil(2.0 * REACH / width), *_PIECES))
        edges = np.linspace(-REACH, REACH, pieces + 1)
        s = (np.repeat(n, counts, axis=-1) * y).sum(axis=1)
        own = weights * (pure if clean else mean)
        laws = np.stack([own, *(own * y[:, m] for m in range(k))]).reshape(1 + k, -1)
        which = (N * upto(B)[:, None] + np.repeat(upto(N), counts)).reshape(-1)
        found = gathered(np.clip(s, -REACH, REACH).reshape(-1), laws, which, B * N, edges, _COUNT)
        return table_nodes(edges, _COUNT), np.moveaxis(found.reshape(1 + k, B, N, -1), 0, 2)


def _fineness(usual: int, points: int) -> tuple[int, float]:
    """Nodes over y in a piece between kinks, and how much finer than usual they are without: on refined rules alone."""
    return round(usual * (points / _USUAL) ** _SLOWLY), max(1.0, np.sqrt(points / _USUAL))

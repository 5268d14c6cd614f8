"""Labels of several directions: averages over nodes y given κ, on which the label is known."""

from __future__ import annotations

import numpy as np

from ...losses import Loss
from ..labels.joint import JointLaw
from ..labels.measure import felt, measure
from ..labels.seen import spread, table_nodes
from ..layer import Frame
from .base import REACH
from .binary import SignChannel
from .real import ResidualChannel

_PIECES = (6, 64)  # of a line that the label's law is carried over to, at least and at most,
_COUNT = 10  # nodes in each of them,
_WIDTH = 2.5  # and their width over that of what is averaged there
_USUAL = 24  # points of a usual rule,
_PIECE = 8  # and nodes over y between kinks of labels then,
_SLOWLY = 0.4  # which grow as this power of points: for labels alone, all three rules in κ might have the same


class JointRealChannel(ResidualChannel):
    """A loss of the residual."""

    def __init__(self, loss: Loss, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int):
        super().__init__(loss, *felt(law, frame, kappa, _piece(points)), points)


class JointBinaryChannel(SignChannel):
    """Labels ±1. The field sees y along n = P/|P| alone: λ = share·(n·y) + √(1 - share²) ξ.

    So for each κ the law of n·y is carried over to nodes s_i on a line, once with weights η = E[Y | z] and once with
    y_m η; given λ it is then a sum of Gaussians around them.
    """

    def __init__(self, loss: Loss, law: JointLaw, frame: Frame, kappa: np.ndarray, points: int):
        self.loss, self.points, self._measure = loss, points, measure(law, frame, kappa, _piece(points))
        self.nodes = kappa.shape[-1]
        count = sum(loss.breaks(y, np.ones(1)).shape[-1] for y in (-1.0, 1.0))
        self.width = max((count + 3) * points * _COUNT * _PIECES[0], self._measure.w.shape[-1] * _COUNT)

    def _turns(self, rows: np.ndarray, P: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.zeros((*q.shape, 0))

    def _labels(
        self,
        rows: np.ndarray,
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
        s, laws = self._carried(rows, n, share, clean)  # [I] and [B, N, 1 + k, I]
        left = np.sqrt(1.0 - share**2)[..., None, None]
        off = (z[..., None] - share[..., None, None] * s) / left
        # dλ times the density of λ around s_i: that of N(0, 1) in w, times a ratio
        kernel = (w / left[..., 0])[..., None] * np.exp(0.5 * z[..., None] ** 2 - 0.5 * off**2)
        found = np.einsum("bnzi,bnri->brnz", kernel, laws)
        bend = -np.einsum(
            "bnzi,bni->bnz", kernel * (off / left), laws[:, :, 0]
        )  # by parts, for what ω owes to y
        tilts = 0.5 * (found[:, 1:] + (share[:, None] * n)[..., None] * bend[:, None])
        return 0.5 * (w + found[:, 0]), tilts

    def _carried(
        self, rows: np.ndarray, n: np.ndarray, share: np.ndarray, clean: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes s, and weights for averages with η and y_m η on them."""
        y, weights, mean, pure = (part[rows] for part in self._measure)
        B, N, k, J = y.shape
        width = (
            _WIDTH * float((np.sqrt(1.0 - share**2) / np.maximum(share, 1e-3)).min()) * _USUAL / self.points
        )
        pieces = int(np.clip(np.ceil(2.0 * REACH / width), *_PIECES))
        edges = np.linspace(-REACH, REACH, pieces + 1)
        s = np.einsum("bkn,bnkj->bnj", n, y)
        own = weights * (pure if clean else mean)
        laws = np.concatenate([own[:, :, None], own[:, :, None] * y], axis=2)
        found = spread(
            np.clip(s, -REACH, REACH).reshape(B * N, J), laws.reshape(B * N, 1 + k, J), edges, _COUNT
        )
        return table_nodes(edges, _COUNT), found.reshape(B, N, 1 + k, -1)


def _piece(points: int) -> int:
    """Nodes over y between kinks."""
    return round(_PIECE * (points / _USUAL) ** _SLOWLY)

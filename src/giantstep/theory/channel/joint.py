"""Labels ±1 of several directions: a series in their overlap with the field, or averages over nodes y given κ."""

from __future__ import annotations

from functools import cached_property
from math import ceil

import numpy as np

from ...gaussian import REACH
from ...losses import Loss
from ..labels.compression import compress_law, panel_nodes
from ..labels.conditional_nodes import Nodes, significant
from ..labels.mehler import LabelSeries, hermite
from ..labels.multi_index import SeveralDirections
from ..layer import Frame
from ..symmetric import indices
from .base import Where, fineness, some
from .binary import SignChannel

# the law of n·y is kept on a line, in so many pieces at least and at most, with so many nodes in each
_PIECES, _COUNT = (6, 64), 10
_WIDTH = 2.5  # width of a piece over that of the Gaussians that are averaged there
_USUAL = 24  # points of a usual rule,
_BINARY = 9  # nodes over y between kinks of labels on it
_LONGEST = {2: 96, 3: 48}  # degree up to which labels of so many directions are a series,
_DEGREES = 8  # which is a multiple of this, so that rules share coefficients,
_DIGITS, _MORE_DIGITS = 9.0, 0.5  # and digits to which it is summed on a usual rule, more for each doubling,
_SHARES = (1e-3, 1.0 - 1e-9)  # of a field along y, at least and at most, for what divides by either part
_FEWEST_DIGITS = 3.0  # and where κ is rare


class JointBinaryChannel(SignChannel):
    """Labels ±1. The field sees y along n = P/|P| alone: λ = share·(n·y) + √(1 - share²) ξ.

    What it knows of them is a series in share. Where that would be long, or there are several spikes, the law of n·y
    is carried over to nodes s_i on a line for each κ, once with weights η = E[Y | z] and once with y_m η; given λ it is
    then a sum of Gaussians around them.
    """

    def __init__(
        self, loss: Loss, law: SeveralDirections, frame: Frame, kappa: np.ndarray, points: int, rarity: np.ndarray
    ):
        super().__init__(loss, points, 0, rarity)
        self.nodes = kappa.shape[-1]
        self._series = LabelSeries(law, frame, kappa, 2 * points) if frame.spikes == 1 else None
        self._longest = _LONGEST.get(law.directions, 0) if self._series else 0
        self._rarity, self._nodes_of = rarity, (law, frame, kappa, *fineness(_BINARY, points))
        self._nats = np.log(10.0) * (_DIGITS + _MORE_DIGITS * np.log2(points / _USUAL))
        self.width = self._pieced * _COUNT * _PIECES[0] // 4

    @cached_property
    def _pairs(self) -> Nodes:
        """All (κ, y) that matter."""
        return significant(*self._nodes_of)

    def _degree(self, where: Where, share: np.ndarray) -> int:
        """Degree at which the series may end at all points: what is left of it is less than share^degree."""
        nats = np.maximum(self._nats - some(self._rarity, where), np.log(10.0) * _FEWEST_DIGITS)
        degree = float((nats / -np.log(np.clip(share, *_SHARES))).max())
        return _DEGREES * ceil(degree / _DEGREES)

    def _labels(
        self, where: Where, P: np.ndarray, q: np.ndarray, z: np.ndarray, w: np.ndarray, clean: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        n, share = _along(P, q)
        degree = self._degree(where, share)
        if self._series is not None and degree <= self._longest:
            terms = self._series.at(*where, share[:, None] * n, degree, clean)
            mean, *along = np.moveaxis(terms @ np.moveaxis(hermite(z, degree), 0, 2), 2, 0) * w
            tilts = np.stack(along, axis=1)
        else:
            mean, tilts = self._by_nodes(where, n, share, z, w, clean)
        return 0.5 * (w + mean), 0.5 * tilts

    def _by_nodes(
        self, where: Where, n: np.ndarray, share: np.ndarray, z: np.ndarray, w: np.ndarray, clean: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        s, laws = self._on_line(where, n, share, clean)  # [I] and [B, N, 1 + k, I]
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
        return mean, np.stack(along, axis=1) + (share[:, None] * n)[..., None] * bend[:, None]

    def _on_line(self, where: Where, n: np.ndarray, share: np.ndarray, clean: bool) -> tuple[np.ndarray, np.ndarray]:
        """Nodes s, and weights for averages with η and y_m η on them."""
        nodes, (B, k, N) = self._pairs.at(*where), n.shape
        blur = float((np.sqrt(1.0 - share**2) / np.maximum(share, _SHARES[0])).min())
        width = _WIDTH * blur * _USUAL / self.points
        pieces = int(np.clip(np.ceil(2.0 * REACH / width), *_PIECES))
        edges = np.linspace(-REACH, REACH, pieces + 1)
        s = (np.repeat(n, nodes.counts, axis=-1) * nodes.y).sum(axis=1)
        own = nodes.w * (nodes.clean if clean else nodes.mean)
        laws = np.stack([own, *(own * nodes.y[:, m] for m in range(k))])
        which = N * indices(B)[:, None] + nodes.which
        compressed = compress_law(s, laws, which, edges, _COUNT)
        return panel_nodes(edges, _COUNT), np.moveaxis(compressed.reshape(1 + k, B, N, -1), 0, 2)


def _along(P: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The direction n of y that fields see, [B, k, N], and how much of them is along it, [B, N]."""
    size = np.sqrt((P * P).sum(axis=1))
    there = size > 0.0
    n = np.where(there[:, None], P / np.where(there, size, 1.0)[:, None], np.eye(P.shape[1])[0][:, None])
    return n, np.minimum(size / np.sqrt(q), _SHARES[1])

"""One batch in the pencil of the trained bulk: the weights and responses of its samples, and averages over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...symmetric import triangle, upper_triangle
from .samples import MatrixSampleResolvent, Moments, Quotient, SampleResolvent, ScalarSampleResolvent, sample_systems

if TYPE_CHECKING:
    from ...batch import BatchLaw


@dataclass(frozen=True)
class BatchBlock:
    """One batch, in the pencil: n nodes, rows Q (K or 2K) on which its samples act, F functions of a sample.

    Vectors Σ_μ f(μ) x_μ/n of the batch's functions f make up the spikes: S_s grows by Σ_f spike_sf v_f. Directions
    known to the batch are read off θ̂_j and the spikes before it: x̂_i = Σ_j to_target_ij θ̂_j + Σ_s to_spikes_is S_s.
    """

    D: np.ndarray  # [U, Q, Q, n]
    tests: np.ndarray  # what Z is averaged against: f f', x_i f, x_i x_l - δ_il and 1, weighted, [U, n, all]
    share: np.ndarray  # 1/α, [U]
    spike: np.ndarray  # [U, K, F]
    to_target: np.ndarray  # [U, directions, k]
    to_spikes: np.ndarray  # [U, directions, K]

    @staticmethod
    def of(law: BatchLaw, D: np.ndarray, functions: np.ndarray, share: np.ndarray, *maps: np.ndarray) -> BatchBlock:
        """The block of a batch whose samples have weights D and functions f [U, F, n]."""
        f, count = functions, law.directions
        w = np.broadcast_to(law.weights, (len(f), *law.weights.shape[1:]))
        (i, j), (k, m) = upper_triangle(f.shape[1]), upper_triangle(count)
        both = f[:, i] * f[:, j] * w[:, :1]
        along = (w[:, 1 : 1 + count, None] * f[:, None]).reshape(len(f), -1, f.shape[-1])
        excess = w[:, law.pairs[k, m]] - (k == m)[:, None] * w[:, :1]
        tests = np.swapaxes(np.concatenate([both, along, excess, w[:, :1]], axis=1), -1, -2)
        return BatchBlock(D, tests, share, *maps)

    def at(self, part: slice) -> BatchBlock:
        """Of some first layers."""
        maps = (self.spike, self.to_target, self.to_spikes)
        return BatchBlock(self.D[part], self.tests[part], self.share[part], *(one[part] for one in maps))

    @property
    def rank(self) -> int:
        return self.D.shape[1]

    @property
    def directions(self) -> int:
        return self.to_target.shape[1]

    @cached_property
    def mean(self) -> np.ndarray:
        """The weights of plain averages, [U, n]."""
        return np.ascontiguousarray(self.tests[..., -1])

    @cached_property
    def scale(self) -> np.ndarray:
        return self.share[:, None, None, None]

    @cached_property
    def at_rest(self) -> np.ndarray:
        """E[D], which is E[Z] at X = 0, [U, 1, Q, Q]."""
        return (self.D @ self.mean[:, None, :, None])[:, None, ..., 0]

    @cached_property
    def quotient(self) -> Quotient | None:
        """Z as a quotient of functions of the sample, where that is known: for one group."""
        return Quotient.of(self)

    def samples(self, X: np.ndarray) -> SampleResolvent:
        """Z = (1 + DX/α)⁻¹ D of every sample, at X [U, A, Q, Q]."""
        x = X * self.scale
        if self.quotient is None:
            return MatrixSampleResolvent(self, x)
        return ScalarSampleResolvent(self, self.quotient, x)

    def determinant(self, X: np.ndarray) -> np.ndarray:
        """det(1 + DX/α) of every sample, [U, A, n]: Z has its poles where it vanishes."""
        x = X * self.scale
        if self.quotient is not None:
            return self.quotient.determinant(x)
        return np.linalg.det(sample_systems(np.moveaxis(self.D, -1, 1), x))

    def _parted(self, averages: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Averages [..., tests] as [..., F, F], [..., directions, F] and [..., directions, directions]."""
        F, count = self.spike.shape[-1], self.directions
        first, last = F * (F + 1) // 2, F * (F + 1) // 2 + count * F
        along = averages[..., first:last].reshape(*averages.shape[:-1], count, F)
        return averages[..., triangle(F)], along, averages[..., last + triangle(count)]

    @cached_property
    def plain(self) -> tuple[np.ndarray, np.ndarray]:
        """E[f f'] [U, F, F] and E[x_i f] [U, directions, F]."""
        return self._parted(self.tests.sum(axis=1))[:2]

    def moments(self, averages: np.ndarray) -> Moments:
        """Averages of Z against all `tests` [U, A, Q, Q, tests], sorted for `forms`."""
        U, A, Q = averages.shape[:3]
        F, count = self.spike.shape[-1], self.directions
        both, along, x = (np.moveaxis(part, (2, -3), (-3, -1)) for part in self._parted(averages))
        return Moments(
            both.reshape(U, A, F * Q, F * Q),
            along.reshape(U, A, count, Q, F * Q),
            x.reshape(U, A, count * Q, count * Q),
        )

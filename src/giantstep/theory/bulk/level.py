"""One batch in the pencil of the exact bulk: what its samples weigh, how they answer, and averages over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..symmetric import triangle, upper_triangle
from .answer import Answer, Moments, Quotient, QuotientAnswer, SolvedAnswer, systems

if TYPE_CHECKING:
    from ..law import Batch

_SAME = 1e-14  # relative difference of two samples' weights that is rounding
_NEGLIGIBLE = 1e-18  # share of every average under which a node is left out


@dataclass(frozen=True)
class Level:
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
    def of(
        batch: Batch, D: np.ndarray, functions: np.ndarray, share: np.ndarray, *maps: np.ndarray
    ) -> list[Level]:
        """The level of a batch whose samples have weights D and functions f [U, F, n], on each of its rules and on as
        few nodes as will do."""
        w, f, count = batch.weights, functions, batch.directions
        (i, j), (k, m) = upper_triangle(f.shape[1]), upper_triangle(count)
        ends = list(accumulate((len(i), f.shape[1] * count, len(k), 1)))
        tests = np.empty((len(f), ends[-1], f.shape[-1]))
        both, along, x, one = (tests[:, low:high] for low, high in pairwise((0, *ends)))
        np.multiply(f[:, i], f[:, j], out=both)
        both *= w[:, :1]
        along[:] = (w[:, 1 : 1 + count, None] * f[:, None]).reshape(len(f), -1, f.shape[-1])
        x[:] = w[:, batch.pairs[k, m]] - (k == m)[:, None] * w[:, :1]
        one[:] = w[:, :1]
        return [Level(*_fewest(D[..., part], tests[..., part]), share, *maps) for part in batch.parts]

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

    def answer(self, X: np.ndarray) -> Answer:
        """What every sample answers to X [U, A, Q, Q]: Z = (1 + DX/α)⁻¹ D."""
        x = X * self.scale
        return SolvedAnswer(self, x) if self.quotient is None else QuotientAnswer(self, self.quotient, x)

    def determinant(self, X: np.ndarray) -> np.ndarray:
        """det(1 + DX/α) of every sample, [U, A, n]: Z has its poles where it vanishes."""
        x = X * self.scale
        return np.linalg.det(systems(self.D, x)) if self.quotient is None else self.quotient.determinant(x)

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
        both, along, x = (part.transpose(0, 1, 4, 2, 5, 3) for part in self._parted(averages))
        return Moments(
            both.reshape(U, A, F * Q, F * Q),
            along.reshape(U, A, count, Q, F * Q),
            x.reshape(U, A, count * Q, count * Q),
        )


def _fewest(D: np.ndarray, tests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """D [U, Q, Q, n] and tests [U, T, n] on fewer nodes, the latter turned: one for two mirror images, none that nobody
    would miss.

    Nodes are symmetric about their middle. For an odd target and activation so are the weights, and for an odd
    activation before its first spike they are as soon as residuals are.
    """
    n = D.shape[-1]
    if np.abs(D - D[..., ::-1]).max() <= _SAME * np.abs(D).max(initial=1e-300):
        middle = n // 2
        both = tests + tests[..., ::-1]
        both[..., middle : middle + n % 2] *= 0.5
        D, tests = D[..., middle:], both[..., middle:]
    size = np.abs(tests)
    felt = (size > _NEGLIGIBLE * size.sum(axis=-1, keepdims=True)).any(axis=(0, 1))
    if not felt.all():
        D, tests = D[..., felt], tests[..., felt]
    return D, np.swapaxes(tests, -1, -2)

"""One batch in the pencil of the exact bulk: what its samples weigh, how they answer, and averages over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

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
    tests: (
        np.ndarray
    )  # what Z is averaged against: f f', x_i f, x_i x_l - δ_il and 1, weighted, [U, n, all of them]
    share: np.ndarray  # 1/α, [U]
    spike: np.ndarray  # [U, K, F]
    to_target: np.ndarray  # [U, directions, k]
    to_spikes: np.ndarray  # [U, directions, K]

    @staticmethod
    def of(batch: Batch, D: np.ndarray, functions: np.ndarray, share: np.ndarray, *maps: np.ndarray) -> Level:
        """The level of a batch whose samples have weights D and functions f [U, F, n], on as few nodes as will do."""
        w, f, count = batch.weights, functions, batch.directions
        both = f[:, :, None] * f[:, None, :] * w[:, None, None, 0]
        along = w[:, 1 : 1 + count, None] * f[:, None]
        x = w[:, batch.pairs] - np.eye(count)[:, :, None] * w[:, None, None, 0]
        one = np.broadcast_to(w[:, :1], (len(f), 1, f.shape[-1]))
        flat = [np.broadcast_to(part, (len(f), *part.shape[1:])) for part in (both, along, x, one)]
        tests = np.concatenate([part.reshape(len(f), -1, f.shape[-1]) for part in flat], axis=1)
        return Level(*_fewest(D, np.swapaxes(tests, -1, -2)), share, *maps)

    @property
    def rank(self) -> int:
        return self.D.shape[1]

    @property
    def directions(self) -> int:
        return self.to_target.shape[1]

    @cached_property
    def mean(self) -> np.ndarray:
        """The weights of plain averages, [U, 1, n, 1]."""
        return np.ascontiguousarray(self.tests[:, None, :, -1:])

    @cached_property
    def scale(self) -> np.ndarray:
        return self.share[:, None, None, None]

    def answer(self, X: np.ndarray) -> np.ndarray:
        """Z = (1 + DX/α)⁻¹ D of every sample, [U, A, Q, Q, n]."""
        return _sample_response(self.D, X * self.scale)

    def slope(self, Z: np.ndarray, dX: np.ndarray) -> np.ndarray:
        """dZ = -Z dX Z/α of every sample under a change of X, [U, A, Q, Q, n]."""
        return -_sandwiched(Z, dX * self.scale)

    def determinant(self, X: np.ndarray) -> np.ndarray:
        """det(1 + DX/α) of every sample, [U, A, n]: Z has its poles where it vanishes."""
        x = X * self.scale
        if self.rank == 1:
            return 1.0 + self.D[:, None, 0, 0] * x[..., 0]
        if self.rank == 2:
            D, x = self.D[:, None], x[..., None]
            trace = (D * np.swapaxes(x, 2, 3)).sum(axis=(2, 3))
            both = [m[:, :, 0, 0] * m[:, :, 1, 1] - m[:, :, 0, 1] * m[:, :, 1, 0] for m in (D, x)]
            return 1.0 + trace + both[0] * both[1]
        return np.linalg.det(_systems(self.D, x))

    def average(self, values: np.ndarray) -> np.ndarray:
        """E over the batch of [U, A, Q, Q, n]."""
        flat = values.reshape(*values.shape[:2], -1, values.shape[-1])
        return (flat @ self.mean)[..., 0].reshape(values.shape[:-1])

    def pairs(self, Z: np.ndarray) -> np.ndarray:
        """𝒵 = E[Z ⊗ Z]/α on row-major vec, [U, A, Q², Q²]: minus the derivative of E[Z] by X."""
        U, A, Q = Z.shape[:3]
        flat = Z.reshape(U, A, Q * Q, -1)
        both = (flat * self.mean[..., 0][:, :, None]) @ np.swapaxes(flat, -1, -2)
        both = both.reshape(U, A, Q, Q, Q, Q)  # (a c)(b d)
        return np.swapaxes(both, 3, 4).reshape(U, A, Q * Q, Q * Q) * self.scale

    def _parted(self, averages: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Averages [..., tests] as [..., F, F], [..., directions, F] and [..., directions, directions]."""
        F, count = self.spike.shape[-1], self.directions
        both, along, x, _ = np.split(averages, np.cumsum([F * F, count * F, count * count]), axis=-1)
        parts = zip((both, along, x), ((F, F), (count, F), (count, count)), strict=True)
        return tuple(part.reshape(*part.shape[:-1], *shape) for part, shape in parts)  # type: ignore[return-value]

    @cached_property
    def plain(self) -> tuple[np.ndarray, np.ndarray]:
        """E[f f'] [U, F, F] and E[x_i f] [U, directions, F]."""
        return self._parted(self.tests.sum(axis=1))[:2]

    def moments(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[f f' Z] [U, A, F·Q, F·Q], E[x_i f Z] [U, A, directions, Q, F·Q] and E[(x_i x_l - δ_il) Z]."""
        U, A, Q = Z.shape[:3]
        F, count = self.spike.shape[-1], self.directions
        found = (Z.reshape(U, A, Q * Q, -1) @ self.tests[:, None]).reshape(U, A, Q, Q, -1)
        both, along, x = (part.transpose(0, 1, 4, 2, 5, 3) for part in self._parted(found))
        return (
            both.reshape(U, A, F * Q, F * Q),
            along.reshape(U, A, count, Q, F * Q),
            x.reshape(U, A, count * Q, count * Q),
        )


def _fewest(D: np.ndarray, tests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """D [U, Q, Q, n] and tests [U, n, ...] on fewer nodes: one for two mirror images, none that nobody would miss.

    Nodes are symmetric about their middle. For an odd target and activation so are the weights, and for an odd
    activation before its first spike they are as soon as residuals are.
    """
    n = D.shape[-1]
    if np.abs(D - D[..., ::-1]).max() <= _SAME * np.abs(D).max(initial=1e-300):
        middle = n // 2
        both = tests + tests[:, ::-1]
        both[:, middle : middle + n % 2] *= 0.5
        D, tests = D[..., middle:], both[:, middle:]
    size = np.abs(tests)
    felt = (size > _NEGLIGIBLE * size.sum(axis=1, keepdims=True)).any(axis=(0, 2))
    return np.ascontiguousarray(D[..., felt]), np.ascontiguousarray(tests[:, felt])


def _sandwiched(Z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Z x Z for every sample, both symmetric."""
    Q = x.shape[-1]
    if Q == 1:
        return Z * Z * x[..., None]
    if Q == 2:
        p, s, t = Z[:, :, 0, 0], Z[:, :, 0, 1], Z[:, :, 1, 1]
        x1, x2, x3 = x[..., 0, 0, None], x[..., 0, 1, None], x[..., 1, 1, None]
        first, second = p * x1 + s * x2, p * x2 + s * x3  # the upper row of Zx
        third, fourth = s * x1 + t * x2, s * x2 + t * x3
        out = np.empty_like(Z)
        out[:, :, 0, 0] = first * p + second * s
        out[:, :, 0, 1] = out[:, :, 1, 0] = first * s + second * t
        out[:, :, 1, 1] = third * s + fourth * t
        return out
    return np.einsum("uaijn,uajk,uakln->uailn", Z, x, Z, optimize=True)


def _sample_response(D: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Z = (1 + Dx)⁻¹ D for every sample: D [U, Q, Q, n], x [U, A, Q, Q]."""
    Q = x.shape[-1]
    D, x = D[:, None], x[..., None]
    if Q == 1:
        return D / (1.0 + D * x)
    if Q == 2 and not np.any(D[:, :, 1, 1]):  # one group: closed form, D's lower corner is zero
        p, s = D[:, :, 0, 0], D[:, :, 0, 1]
        x1, x2, x3 = x[:, :, 0, 0], x[:, :, 0, 1], x[:, :, 1, 1]
        square = s * s
        scale = 1.0 / (1.0 + p * x1 + 2.0 * s * x2 - square * (x1 * x3 - x2 * x2))
        Z = np.empty((*scale.shape[:2], 2, 2, scale.shape[-1]), scale.dtype)
        Z[:, :, 0, 0] = (p - square * x3) * scale
        Z[:, :, 0, 1] = Z[:, :, 1, 0] = (s + square * x2) * scale
        Z[:, :, 1, 1] = -square * x1 * scale
        return Z
    system = _systems(D[:, 0], x[..., 0])
    return np.moveaxis(np.linalg.solve(system, np.moveaxis(D, -1, 2)), 2, -1)


def _systems(D: np.ndarray, x: np.ndarray) -> np.ndarray:
    """1 + Dx for every sample, [U, A, n, Q, Q]: one product of two large matrices."""
    U, A, Q = x.shape[:3]
    n = D.shape[-1]
    left = np.moveaxis(D, -1, 1).reshape(U, n * Q, Q)
    right = np.swapaxes(x, 1, 2).reshape(U, Q, A * Q)
    return np.eye(Q) + (left @ right).reshape(U, n, Q, A, Q).transpose(0, 3, 1, 2, 4)

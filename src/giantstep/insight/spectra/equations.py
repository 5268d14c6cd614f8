"""The equations of a resolvent at complex λ: the responses (V1, V2) of `theory`, closed for λ → z = -x - iη.

What is added to the rows' own equations is how the conjugates V̂ follow from V: through samples (`FeatureBulk`), or, for
the rows themselves, not at all (`RowBulk`). The density is Im ΣV2/π.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...theory.bulk import Bulk, Isotropic, TrainedBulk
from ...theory.bulk.pencil.resolvent import UnclosedResolvent
from ...theory.equations.response import Response, respond
from ...theory.symmetric import packing
from .halfplane import TINY, Image, in_half_plane
from .sample_unknowns import SampleUnknowns, largest_covariance


class ResolventBulk(ABC):
    """One first layer with K groups at one β: the `Equations` of a `HalfPlaneSolver`.

    Unknowns are V, packed [P], and, where batches have shaped the rows, how their samples answer.
    """

    def __init__(self, bulk: Bulk, beta: float):
        self.bulk, self.beta = bulk, beta
        self.pack = packing(len(bulk.weights))
        self.entries = self.pack.pairs + np.arange(self.pack.groups)  # those of V2, whose sum is the trace
        self.samples = SampleUnknowns(bulk) if isinstance(bulk, TrainedBulk) else None
        P, more = self.pack.size, 0 if self.samples is None else self.samples.size
        self.powers = np.concatenate([-np.ones(P), np.zeros(more)])
        self.start = self._at_infinity()

    @abstractmethod
    def conjugates(self, V: np.ndarray) -> Image:
        """V̂ [A, P] and its derivative by V."""

    @abstractmethod
    def largest(self) -> float:
        """A bound on the upper edge."""

    @property
    @abstractmethod
    def mass_at_zero(self) -> float: ...

    @abstractmethod
    def moments(self) -> tuple[float, float]:
        """First and second moment of the bulk, per neuron, the mass at zero included; in closed form."""

    @property
    def smooth(self) -> bool:
        """Whether tails of the bulk come out smooth."""
        return self.samples is None or self.samples.smooth

    def unpack(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unknowns [A, ...] as the responses V [A, P] and the samples' answers Y."""
        return V[:, : self.pack.size], V[:, self.pack.size :]

    def respond(self, V: np.ndarray, hats: np.ndarray, z: np.ndarray) -> Response:
        """What the rows make of V̂ at z."""
        own, Y = self.unpack(V)
        bulk = self.bulk
        if self.samples is not None:
            assert isinstance(bulk, TrainedBulk)
            bulk = bulk.unclosed(self.samples.unpacked(Y))
        beta = np.full((1, len(z)), self.beta)
        return respond(bulk, own[None], hats[None], beta, z[None])

    def step(self, V: np.ndarray, z: np.ndarray) -> Image:
        """The image of V under the equations at z: V̂ from V, then the rows' response to V̂."""
        own, _ = self.unpack(V)
        hats, slopes = self.conjugates(own)
        found = self.respond(V, hats, z)
        by_own = np.eye(own.shape[-1]) - found.left[0] - found.by_hat[0] @ slopes
        if self.samples is None or not self.samples.size:
            return Image(found.V[0], by_own)
        rows, m, pairs = found.resolvent, self.samples.size, self.pack.pairs
        assert isinstance(rows, UnclosedResolvent)
        X, R = rows.X[0], rows.X.shape[-1]
        zz = slice(R - self.pack.groups, None)
        by_Vt = np.concatenate(self._Vt_by_V(found, own), axis=1)
        pencil = np.zeros((1, len(z), m + by_Vt.shape[1], R, R), complex)
        pencil[:, :, :m], pencil[0, :, m:, zz, zz] = self.samples.units, -by_Vt
        moved = -rows.change(pencil)[
            0
        ]  # dX for each unknown answer, then each entry of Ṽ, [A, m + ..., R, R]
        by_Y, pushed = moved[:, :m], moved[:, m:]
        values, along = self.samples.image(X, np.concatenate([by_Y, pushed], axis=1))
        Y_by_own = along[:, :, m : m + pairs] @ slopes[:, :pairs]
        Y_by_own[:, :, pairs:] += along[:, :, m + pairs :]
        own_by_Y = self._V_by_Y(found, by_Y[:, :, zz, zz])
        top = np.concatenate([by_own, own_by_Y], axis=2)
        bottom = np.concatenate([Y_by_own, along[:, :, :m]], axis=2)
        return Image(np.concatenate([found.V[0], values], axis=1), np.concatenate([top, bottom], axis=1))

    def _Vt_by_V(self, found: Response, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How Ṽ moves with each entry of V̂1 and with each V2, [A, pairs, K, K] and [A, K, K, K]."""
        root, group = found.root[0], np.arange(self.pack.groups)
        by_hat = (root[:, :, None] * root[:, None, :])[:, None] * self.pack.units
        Vt = found.resolvent.Vt[0] / self.pack.vector(own)[:, :, None]  # rows over their own V2
        by_V2 = np.zeros((len(own), len(group), len(group), len(group)), complex)
        by_V2[:, group, group, :] += 0.5 * Vt
        by_V2[:, group, :, group] += 0.5 * np.moveaxis(Vt, 0, 1)
        return by_hat, by_V2

    def _V_by_Y(self, found: Response, dX: np.ndarray) -> np.ndarray:
        """How V moves with the samples' answers, [A, P, m], for changes of X_zz [A, m, K, K]: T̂ = -X_zz."""
        root, Vt, pack = found.root[0], found.resolvent.Vt[0], self.pack
        dV1 = -dX * (root[:, :, None] * root[:, None, :])[:, None] / self.beta
        dpull = np.diagonal(-dX @ Vt[:, None], axis1=-2, axis2=-1) / root[:, None] ** 2
        V2 = pack.vector(found.V[0])
        dV2 = -(V2**2 / self.bulk.weights)[:, None] * dpull
        return np.swapaxes(pack.pack(dV1, dV2), -1, -2)

    def inside(self, V: np.ndarray) -> np.ndarray:
        own, Y = self.unpack(V)
        V2 = self.pack.vector(own)
        found = in_half_plane(self.pack.matrix(own))
        for s in range(self.pack.groups):
            found &= in_half_plane(V2[:, s, None, None])
        if self.samples is not None:
            found &= self.samples.inside(Y, np.sqrt(self.beta * V2))
        return found

    def sizes(self, V: np.ndarray) -> np.ndarray:
        own, Y = self.unpack(V)
        pack = self.pack
        leading = np.abs(np.diagonal(pack.matrix(own), axis1=-2, axis2=-1))
        V1 = np.sqrt(leading[:, pack.rows] * leading[:, pack.cols])
        parts = [V1, np.abs(pack.vector(own))]
        if self.samples is not None:
            parts.append(self.samples.sizes(Y))
        return np.concatenate(parts, axis=1) + TINY

    def _at_infinity(self) -> np.ndarray:
        """No samples in sight."""
        pack, weights = self.pack, self.bulk.weights
        V1 = np.zeros((pack.groups, pack.groups))
        np.fill_diagonal(V1, weights * self.bulk.c[0])
        own = pack.pack(V1, weights).astype(complex)
        return own if self.samples is None else np.concatenate([own, self.samples.start()])

    def largest_covariance(self) -> float:
        """A bound on the rows' covariances."""
        if isinstance(self.bulk, TrainedBulk):
            return largest_covariance(self.bulk)
        return float(np.max(self.bulk.covariance if isinstance(self.bulk, Isotropic) else self.bulk.c))


class RowBulk(ResolventBulk):
    """The rows themselves: WWᵀ is what features that are linear in the input have for infinitely many samples."""

    @property
    def plain(self) -> bool:
        """Whether all rows are isotropic and of one norm."""
        c = self.bulk.c[0]
        shaped = self.samples is not None and self.samples.size > 0
        return not shaped and bool(np.allclose(c, c[0], rtol=1e-12))

    def conjugates(self, V: np.ndarray) -> Image:
        P, pairs = self.pack.size, self.pack.pairs
        hats = np.broadcast_to((np.arange(P) < pairs).astype(complex), (len(V), P))
        return Image(hats, np.zeros((len(V), P, P)))

    def largest(self) -> float:
        return self.largest_covariance() * (1.0 + np.sqrt(self.beta)) ** 2

    @property
    def mass_at_zero(self) -> float:
        return max(0.0, 1.0 - 1.0 / self.beta)

    def moments(self) -> tuple[float, float]:
        n, c = self.bulk.weights, self.bulk.c[0]
        overlap = self.bulk.norm_overlap()
        CC = np.outer(c, c) if overlap is None else overlap[0]
        return float(n @ c), float(n @ c**2 + self.beta * (n @ CC @ n))

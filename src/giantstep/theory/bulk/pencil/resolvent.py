"""The pencil's averaged inverse X: its constant part S0, the fixed point over the samples, and first-order changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...symmetric import TINY, identity, packing, product
from ..base import Bulk, Resolvent
from .batch_block import BatchBlock
from .forms import Columns, change_of_forms, eliminate
from .samples import SampleResolvent

_STEPS = 200
_PLAIN = 4  # plain iterations before Newton's method on a cold start
_TOLERANCE = 1e-14
_ROUNDED = 1e-11  # residual at which one that falls no further is rounding


class TrainedBulk(Bulk):
    """U first layers of K groups after T ≥ 1 steps."""

    def __init__(self, weights: np.ndarray, c: np.ndarray, blocks: Sequence[BatchBlock], columns: Columns):
        self.weights, self.c = weights, c
        self.blocks, self.columns, self.modes = blocks, columns, columns.modes
        ends = np.cumsum([0, *(block.rank for block in blocks)])
        self.rows = [slice(int(low), int(high)) for low, high in pairwise(ends)]
        self.size = int(ends[-1])  # rows of all samples; the last K are z
        self._last: list[np.ndarray] | None = None

    def resolvent(self, Vt: np.ndarray) -> TrainedResolvent:
        """From the last one, if that was for as many points: one Ṽ follows another in a search."""
        last = self._last
        if last is not None and (last[0].shape[:2] != Vt.shape[:2] or last[0].dtype != Vt.dtype):
            last = None
        resolvent = TrainedResolvent(self, Vt, last)
        self._last = resolvent.Y
        return resolvent

    def unclosed(self, Y: list[np.ndarray]) -> UnclosedPencil:
        """The same rows with E[Z_t] held at Y_t, [U, A, Q, Q] each."""
        return UnclosedPencil(self, Y)

    def constant(self, Vt: np.ndarray) -> np.ndarray:
        """S0, the part of the pencil that no sample touches, [U, A, R, R]. Rows start with covariance 1."""
        K = len(self.weights)
        S = np.zeros((*Vt.shape[:2], self.size + K, self.size + K), np.result_type(Vt, self.c))
        s = np.arange(K)
        before = None
        for rows, block in zip(self.rows, self.blocks, strict=True):
            a, b = rows.start + s, rows.start + K + s
            if block.rank == K:  # B = 1: the block b_t is eliminated
                S[:, :, a, a] = 1.0
            else:
                S[:, :, a, b] = S[:, :, b, a] = 1.0
                if before is None:
                    S[:, :, b, b] = -1.0
                else:
                    S[:, :, b, before] = S[:, :, before, b] = 1.0
            before = a
        z = self.size + s
        S[:, :, before, z] = S[:, :, z, before] = 1.0
        S[..., self.size :, self.size :] = -Vt
        return S

    def inverse(self, S0: np.ndarray, Y: list[np.ndarray]) -> np.ndarray:
        """X = (S0 + Σ_t Y_t)⁻¹, symmetric, [U, A, R, R]."""
        S = S0.copy()
        for rows, y in zip(self.rows, Y, strict=True):
            S[..., rows, rows] += y
        X = np.linalg.inv(S)
        return 0.5 * (X + np.swapaxes(X, -1, -2))

    @cached_property
    def free(self) -> TrainedResolvent:
        K = len(self.weights)
        return TrainedResolvent(self, np.zeros((len(self.c), 1, K, K)), None)

    def norm_overlap(self) -> np.ndarray:
        K = len(self.weights)
        units = np.broadcast_to(np.eye(K * K).reshape(K * K, K, K), (len(self.c), 1, K * K, K, K))
        change = self.free.tangent(units).reshape(len(self.c), K * K, K * K)
        return np.diagonal(change, axis1=1, axis2=2).reshape(-1, K, K)


class UnclosedPencil(Bulk):
    """The trained bulk before its fixed point is closed: Y_t stands for E[Z_t], and is an unknown of the caller.

    Spectra close it together with their own equations, where one half plane holds all the unknowns.
    """

    def __init__(self, bulk: TrainedBulk, Y: list[np.ndarray]):
        self.bulk, self.Y = bulk, Y
        self.weights, self.modes, self.c = bulk.weights, bulk.modes, bulk.c

    def resolvent(self, Vt: np.ndarray) -> UnclosedResolvent:
        return UnclosedResolvent(self.bulk, Vt, self.Y)


class UnclosedResolvent(Resolvent):
    """X at given Y_t."""

    def __init__(self, bulk: TrainedBulk, Vt: np.ndarray, Y: list[np.ndarray]):
        self.bulk, self.Vt, self.Y = bulk, Vt, Y
        self.X = bulk.inverse(bulk.constant(Vt), Y)
        self.T = -self.X[..., bulk.size :, bulk.size :]

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        T = self.T[:, :, None]
        return product(product(T, dVt), T)

    def closed(self) -> TrainedResolvent:
        """The resolvent at the fixed point, found from here."""
        return TrainedResolvent(self.bulk, self.Vt, self.Y)

    def forms(self) -> np.ndarray:
        return self.closed().forms()

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return self.closed().cotangent(u)


class TrainedResolvent(Resolvent):
    """The pencil's averaged inverse at one Ṽ per grid point."""

    def __init__(self, bulk: TrainedBulk, Vt: np.ndarray, start: list[np.ndarray] | None):
        self.bulk, self.Vt = bulk, Vt
        self.Y, self.X, self.Z = self._fixed_point(start)
        self.T = -self.X[..., bulk.size :, bulk.size :]

    # the fixed point

    def _fixed_point(
        self, start: list[np.ndarray] | None
    ) -> tuple[list[np.ndarray], np.ndarray, list[SampleResolvent]]:
        """Y_t = E[Z_t], X and Z_t, by Newton's method until nothing is left to gain."""
        bulk, blocks, S0 = self.bulk, self.bulk.blocks, self.bulk.constant(self.Vt)
        shape = self.Vt.shape[:2]
        Y = start or [np.broadcast_to(block.at_rest, (*shape, block.rank, block.rank)) for block in blocks]
        best, stuck, step = np.inf, 0, 0
        while True:
            X = bulk.inverse(S0, Y)
            Z = [block.samples(X[..., rows, rows]) for block, rows in zip(blocks, bulk.rows, strict=True)]
            gap = [z.mean - y for z, y in zip(Z, Y, strict=True)]
            residual = max(_relative(g, y) for g, y in zip(gap, Y, strict=True))
            if step == _STEPS or residual <= _TOLERANCE or best <= residual < _ROUNDED:
                return Y, X, Z
            stuck = 0 if residual < 0.5 * best else stuck + 1
            best = min(best, residual)
            if (step >= _PLAIN or start is not None) and not (stuck > 3 and step % 3):
                J = identity(sum(block.rank**2 for block in blocks)) - self._pushed(X, [z.pairs for z in Z])
                gap = self._unpacked(np.linalg.solve(J, self._packed(gap)[..., None])[..., 0])
            Y = [y + g for y, g in zip(Y, gap, strict=True)]
            step += 1

    def _packed(self, matrices: list[np.ndarray]) -> np.ndarray:
        """One square matrix per batch, [..., Q, Q] each, as one vector."""
        return np.concatenate([one.reshape(*one.shape[:-2], -1) for one in matrices], axis=-1)

    def _unpacked(self, vector: np.ndarray) -> list[np.ndarray]:
        ranks = [block.rank for block in self.bulk.blocks]
        parts = np.split(vector, np.cumsum([q * q for q in ranks])[:-1], axis=-1)
        return [part.reshape(*part.shape[:-1], q, q) for part, q in zip(parts, ranks, strict=True)]

    def _pushed(self, X: np.ndarray, pairs: list[np.ndarray]) -> np.ndarray:
        """𝒵 X⊗X over all batches on row-major vec, 𝒵 = E[Z ⊗ Z]/α of each batch: how E[Z] moves with Y."""
        rows = self.bulk.rows
        return np.block(
            [[pair @ _kron(X[..., t, tau]) for tau in rows] for pair, t in zip(pairs, rows, strict=True)]
        )

    @cached_property
    def _feedback_matrix(self) -> np.ndarray:
        """ℛ = (1 - 𝒵 X⊗X)⁻¹ 𝒵: how a change of the pencil feeds back through the samples."""
        pairs = [z.pairs for z in self.Z]
        pushed = self._pushed(self.X, pairs)
        right, ends = np.zeros_like(pushed), np.cumsum([0, *(pair.shape[-1] for pair in pairs)])
        for pair, (low, high) in zip(pairs, pairwise(ends), strict=True):
            right[..., low:high, low:high] = pair
        return np.linalg.solve(identity(pushed.shape[-1]) - pushed, right)

    # first order

    def _change(self, dVt: np.ndarray, left: slice, right: slice) -> np.ndarray:
        """dX between some rows and columns, for perturbations dṼ [U, A, S, K, K]:

        dX = X_·z dṼ X_z· + Σ_t X_·t F_t X_t·,   F = ℛ[X_tz dṼ X_zt] = E[Z dX Z]/α.
        """
        X, z, rows = self.X[:, :, None], slice(self.bulk.size, None), self.bulk.rows
        direct = self._packed([X[..., t, z] @ dVt @ X[..., z, t] for t in rows])
        fed = self._unpacked(direct @ np.swapaxes(self._feedback_matrix, -1, -2))
        change = X[..., left, z] @ dVt @ X[..., z, right]
        for t, F in zip(rows, fed, strict=True):
            change = change + X[..., left, t] @ F @ X[..., t, right]
        return change

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return self.first_order(dVt)[0]

    @property
    def _top(self) -> slice:
        """Rows a_T."""
        start = self.bulk.rows[-1].start
        return slice(start, start + len(self.bulk.weights))

    def first_order(self, dVt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T̂ = -X_zz, and T̂Ṽ = 1 - X_za, free of cancellation."""
        K = len(self.bulk.weights)
        change = self._change(dVt, slice(self.bulk.size, None), slice(self._top.start, None))
        return change[..., -K:], -change[..., :K]

    @cached_property
    def _slopes(self) -> np.ndarray:
        """Derivative of X along each entry of Ṽ (and its mirror image), [U, A, pairs, R, R]."""
        units, whole = packing(len(self.bulk.weights)).units, slice(0, None)
        return self._change(np.broadcast_to(units, (*self.T.shape[:2], *units.shape)), whole, whole)

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """What `first_order` is along each entry of Ṽ, [U, A, pairs, K, K]: part of what `form_slopes` takes."""
        z = slice(self.bulk.size, None)
        return self._slopes[..., z, z], -self._slopes[..., z, self._top]

    # quadratic forms

    def forms(self) -> np.ndarray:
        if np.iscomplexobj(self.X):
            return eliminate(self.bulk, self.X, [z.moments for z in self.Z])
        return self._forms_and_slopes[0]

    @property
    def form_slopes(self) -> np.ndarray:
        """Derivative of Ĝ along each entry of Ṽ (and its mirror image), [U, A, pairs, modes, K, modes, K]."""
        return self._forms_and_slopes[1]

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        pack = packing(len(self.bulk.weights))
        gradient = np.einsum("uapmsnt,uams,uant->uap", self.form_slopes, u, u, optimize=True)
        gradient = gradient / pack.counts[: pack.pairs]
        return pack.matrix(np.concatenate([gradient, np.zeros_like(u[:, :, 0])], axis=-1))

    @cached_property
    def _forms_and_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Ĝ, a rational function of X and Z's moments, and its derivatives: whoever asks for one asks for the other."""
        bulk, moments = self.bulk, [Z.moments for Z in self.Z]
        forms, slopes = np.empty(0), list[np.ndarray]()
        for dX in np.moveaxis(self._slopes, 2, 0):
            changes = [
                Z.change_of_moments(dX[..., rows, rows]) for rows, Z in zip(bulk.rows, self.Z, strict=True)
            ]
            forms, slope = change_of_forms(bulk, self.X, moments, dX, changes)
            slopes.append(slope)
        return forms, np.stack(slopes, axis=2)


def _relative(gap: np.ndarray, Y: np.ndarray) -> float:
    size = np.abs(Y).max(axis=(-1, -2), initial=TINY)
    return float((np.abs(gap).max(axis=(-1, -2)) / size).max())


def _kron(X: np.ndarray) -> np.ndarray:
    """X ⊗ X on row-major vec, [U, A, ij, kl]."""
    i, j = X.shape[-2:]
    return np.einsum("uaij,uakl->uaikjl", X, X).reshape(*X.shape[:2], i * i, j * j)

"""The pencil's averaged inverses G and X: constant part S0, fixed point over the samples, first-order changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from ...symmetric import TINY, identity, indices, packing, product, triangle
from ..base import Bulk, Resolvent
from .batch_block import BatchBlock
from .forms import Columns, change_of_forms, eliminate
from .samples import SampleResolvent

if TYPE_CHECKING:
    from ...input_spectrum import InputSpectrum

_STEPS = 200
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
        self.spectrum = columns.basis.spectrum
        self.picked = [columns.basis.picked(self.size + len(weights), rows) for rows in self.rows]
        self._last: list[np.ndarray] | None = None

    def resolvent(self, Vt: np.ndarray) -> TrainedResolvent:
        """From the last one, if that was for as many points: one Ṽ follows another in a search."""
        last = self._last
        if last is not None and (last[0].shape[:2] != Vt.shape[:2] or last[0].dtype != Vt.dtype):
            last = None
        resolvent = TrainedResolvent(self, Vt, last)
        self._last = resolvent.Y
        return resolvent

    @property
    def parts(self) -> tuple[slice, slice]:
        """The first half of these first layers and the second."""
        half = len(self.c) // 2
        return slice(0, half), slice(half, None)

    def both(self) -> tuple[TrainedBulk, ...]:
        """The bulks of these two halves."""
        return tuple(self.at(part) for part in self.parts)

    def at(self, part: slice) -> TrainedBulk:
        """The bulk of some of these first layers."""
        blocks = [block.at(part) for block in self.blocks]
        return TrainedBulk(self.weights, self.c[part], blocks, self.columns.at(part))

    def unclosed(self, Y: list[np.ndarray]) -> UnclosedPencil:
        """The same rows with E[Z_t] held at Y_t, [U, A, Q, Q] each."""
        return UnclosedPencil(self, Y)

    @cached_property
    def constant(self) -> np.ndarray:
        """S0 at Ṽ = 0, the part of the pencil that no sample touches, [R, R]. Rows start with covariance 1."""
        K = len(self.weights)
        S = np.zeros((self.size + K, self.size + K))
        s = np.arange(K)
        before = None
        for rows, block in zip(self.rows, self.blocks, strict=True):
            a, b = rows.start + s, rows.start + K + s
            if block.rank == K:  # B = 1: the block b_t is eliminated
                S[a, a] = 1.0
            else:
                S[a, b] = S[b, a] = 1.0
                if before is None:
                    S[b, b] = -1.0
                else:
                    S[b, before] = S[before, b] = 1.0
            before = a
        z = self.size + s
        S[before, z] = S[z, before] = 1.0
        return S

    def inverses(self, Vt: np.ndarray, Y: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """G = (S0 + ω(Σ_t Y_t - Ṽ))⁻¹ of every eigenvalue, symmetric, [U, A, J, R, R], and X = ∫μωG, [U, A, R, R]."""
        R, spectrum = len(self.constant), self.spectrum
        acting = np.zeros((*Vt.shape[:2], R, R), np.result_type(Vt, *Y))
        acting[..., self.size :, self.size :] = -Vt
        for rows, y in zip(self.rows, Y, strict=True):
            acting[..., rows, rows] = y
        G = np.linalg.inv(self.constant + spectrum.omega[:, None, :, None, None] * acting[:, :, None])
        G = 0.5 * (G + np.swapaxes(G, -1, -2))
        X = spectrum.on_inputs[:, None, None] @ G.reshape(*G.shape[:3], R * R)
        return G, X.reshape(acting.shape)

    def rank(self) -> np.ndarray:
        return np.broadcast_to(self.spectrum.rank, len(self.c))

    def norm_overlap(self) -> np.ndarray:
        pack, (tangent, _) = packing(len(self.weights)), self.free.slopes
        overlaps = tangent[:, 0, indices(pack.pairs), pack.rows, pack.cols]  # at Ṽ = 0, -dT̂ = C dṼ C
        return overlaps[:, triangle(pack.groups)]


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
    """G and X at given Y_t."""

    def __init__(self, bulk: TrainedBulk, Vt: np.ndarray, Y: list[np.ndarray]):
        self.bulk, self.Vt, self.Y = bulk, Vt, Y
        self.G, self.X = bulk.inverses(Vt, Y)
        self.T = -self.X[..., bulk.size :, bulk.size :]

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        z, units = slice(self.bulk.size, None), packing(len(self.bulk.weights)).units
        tangent = _applied(_sandwich(self.G, self.bulk.spectrum, 2, z, z, z), units)
        return tangent, product(self.T[:, :, None], units) - product(tangent, self.Vt[:, :, None])

    def change(self, pencil: np.ndarray) -> np.ndarray:
        """-dX for changes of Σ_t Y_t - Ṽ in the pencil, [U, A, S, R, R]."""
        every = slice(None)
        return _applied(_sandwich(self.G, self.bulk.spectrum, 2, every, every, every), pencil)

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
        self.Y, self.G, self.X, self.Z = self._fixed_point(start)
        self.T = -self.X[..., bulk.size :, bulk.size :]

    # the fixed point

    def _fixed_point(
        self, start: list[np.ndarray] | None
    ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, list[SampleResolvent]]:
        """Y_t = E[Z_t], G, X and Z_t, by Newton's method until nothing is left to gain."""
        bulk, blocks = self.bulk, self.bulk.blocks
        shape = self.Vt.shape[:2]
        Y = start or [np.broadcast_to(block.at_rest, (*shape, block.rank, block.rank)) for block in blocks]
        best, stuck, step = np.inf, 0, 0
        while True:
            G, X = bulk.inverses(self.Vt, Y)
            Z = [block.samples(X[..., rows, rows]) for block, rows in zip(blocks, bulk.rows, strict=True)]
            gap = [z.mean - y for z, y in zip(Z, Y, strict=True)]
            residual = max(_relative(g, y) for g, y in zip(gap, Y, strict=True))
            if step == _STEPS or residual <= _TOLERANCE or best <= residual < _ROUNDED:
                return Y, G, X, Z
            stuck = 0 if residual < 0.5 * best else stuck + 1
            best = min(best, residual)
            if not (stuck > 3 and step % 3):  # where Newton's method is stuck, plain iterations help it on
                J = identity(sum(block.rank**2 for block in blocks)) - self._pushed(G, [z.pairs for z in Z])
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

    def _pushed(self, G: np.ndarray, pairs: list[np.ndarray]) -> np.ndarray:
        """𝒵 ∫μω² G⊗G over all batches on row-major vec, 𝒵 = E[Z ⊗ Z]/α of each batch: how E[Z] moves with Y."""
        rows, spectrum = self.bulk.rows, self.bulk.spectrum
        return np.block(
            [[pair @ _sandwich(G, spectrum, 2, t, t, tau) for tau in rows] for pair, t in zip(pairs, rows, strict=True)]
        )

    # first order

    @cached_property
    def _moved(self) -> np.ndarray:
        """How Ṽ - Σ_t Y_t moves with each entry of Ṽ (and its mirror image), [U, A, pairs, R, R].

        A change dṼ moves dG = ωG (dṼ + Σ_t F_t) G, and the samples answer with F_t = E[Z_t dX_tt Z_t]/α_t:

            F_t = 𝒵_t (∫μω² G_tz dṼ G_zt + Σ_τ ∫μω² G_tτ F_τ G_τt).
        """
        bulk, z, R = self.bulk, slice(self.bulk.size, None), len(self.bulk.constant)
        units = packing(len(bulk.weights)).units
        pairs = [Z.pairs for Z in self.Z]
        driven = [
            pair @ _sandwich(self.G, bulk.spectrum, 2, t, t, z) @ units.reshape(len(units), -1).T
            for pair, t in zip(pairs, bulk.rows, strict=True)
        ]
        pushed = self._pushed(self.G, pairs)
        F = np.linalg.solve(identity(pushed.shape[-1]) - pushed, np.concatenate(driven, axis=-2))
        moved = np.zeros((*self.T.shape[:2], len(units), R, R), F.dtype)
        moved[..., z, z] = units
        for t, part in zip(bulk.rows, self._unpacked(np.swapaxes(F, -1, -2)), strict=True):
            moved[..., t, t] = part
        return moved

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of T̂ = -∫μω G_zz, and of T̂Ṽ = 1 - ∫μ G_za, which is free of cancellation."""
        bulk, z, every = self.bulk, slice(self.bulk.size, None), slice(None)
        start = bulk.rows[-1].start
        a = slice(start, start + len(bulk.weights))
        return (
            _applied(_sandwich(self.G, bulk.spectrum, 2, z, z, every), self._moved),
            -_applied(_sandwich(self.G, bulk.spectrum, 1, z, a, every), self._moved),
        )

    # quadratic forms

    def forms(self) -> np.ndarray:
        if np.iscomplexobj(self.X):
            return eliminate(self.bulk, self.bulk.columns.basis.sums(self.G), [z.moments for z in self.Z])
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
        """Ĝ, a rational function of G and Z's moments, and its derivatives: whoever asks for one asks for the other."""
        bulk, basis, moments = self.bulk, self.bulk.columns.basis, [Z.moments for Z in self.Z]
        sums, omega = basis.sums(self.G), bulk.spectrum.omega[:, None, :, None, None]
        forms, slopes = np.empty(0), list[np.ndarray]()
        for moved in np.moveaxis(self._moved, 2, 0):
            dG = omega * (self.G @ moved[:, :, None] @ self.G)
            dX = (bulk.spectrum.on_inputs[:, None, :, None, None] * dG).sum(axis=2)
            changes = [Z.change_of_moments(dX[..., rows, rows]) for rows, Z in zip(bulk.rows, self.Z, strict=True)]
            forms, slope = change_of_forms(bulk, sums, moments, basis.sums(dG), changes)
            slopes.append(slope)
        return forms, np.stack(slopes, axis=2)


def _relative(gap: np.ndarray, Y: np.ndarray) -> float:
    size = np.abs(Y).max(axis=(-1, -2), initial=TINY)
    return float((np.abs(gap).max(axis=(-1, -2)) / size).max())


def _sandwich(
    G: np.ndarray, spectrum: InputSpectrum, power: int, left: slice, right: slice, inner: slice
) -> np.ndarray:
    """∫μω^power G_left,inner ⊗ G_right,inner, which takes vec N, row by row, to ∫μω^power G N G: [U, A, l·r, i·i]."""
    weights = (spectrum.mu * spectrum.omega**power)[:, None, :, None, None]
    A, B = G[..., left, inner], G[..., right, inner]
    (U, points, J, m, i), r = A.shape, B.shape[-2]
    both = np.swapaxes((weights * A).reshape(U, points, J, m * i), -1, -2) @ B.reshape(U, points, J, r * i)
    return np.swapaxes(both.reshape(U, points, m, i, r, i), -3, -2).reshape(U, points, m * r, i * i)


def _applied(sandwich: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """A sandwich on the matrices [..., S, i, i] inside, [U, A, S, l, l]."""
    results = matrices.reshape(*matrices.shape[:-2], -1) @ np.swapaxes(sandwich, -1, -2)
    size = isqrt(results.shape[-1])
    return results.reshape(*results.shape[:-1], size, size)

"""The bulk of the trained network itself: row covariances that its batches imprinted, any activation, any steps.

Given the batches, the rows of group s are independent with covariance C_s/d. Step t makes of it

    C_t = B C_{t-1} B + (k²/α) A,   B = 1 + (k/n) Σ_μ e s1 x xᵀ,   A = (1/n) Σ_μ e² s2² x xᵀ,

where e is the residual that the step followed and s1, s2² are averages of σ' at the sample. The spikes' directions and
the target's are correlated with A and B, and the squared norms of the rows fluctuate by δ_i = O(d^-½), as large as W v̂.

Everything follows from one linear pencil 𝒮 with two blocks (a_t, b_t) per step and one (z) at the end, affine in the
samples' x xᵀ. Its averaged inverse X solves

    X = (S0 + Σ_t E[Z_t])⁻¹,      Z_t = (1 + D_t X_tt/α_t)⁻¹ D_t,

D_t being a sample's weight in the pencil (`level`). Vectors of the pencil that the batches themselves have made
(spikes, norms) are resolved one batch at a time, from the last to the first (`forms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..symmetric import identity, packing, product
from .base import Bulk, Resolvent
from .forms import Columns, eliminated, slope
from .level import Level

if TYPE_CHECKING:
    from .answer import Answer

_STEPS = 200
_PLAIN = 4  # plain iterations before Newton's method on a cold start
_TOLERANCE = 1e-14


class Exact(Bulk):
    """U first layers of K groups after T ≥ 1 steps; `coarser` is the same on a coarser rule, to start from."""

    def __init__(
        self,
        weights: np.ndarray,
        c: np.ndarray,
        levels: Sequence[Level],
        columns: Columns,
        coarser: Exact | None = None,
    ):
        self.weights, self.c, self.coarser = weights, c, coarser
        self.levels, self.columns, self.modes = levels, columns, columns.modes
        K = len(weights)
        ends = np.cumsum([0, *(level.rank for level in levels)])
        self.rows = [slice(int(low), int(high)) for low, high in pairwise(ends)]
        self.size = int(ends[-1])  # rows of all samples; the last K are z
        self.top = slice(self.rows[-1].start, self.rows[-1].start + K)  # a_T
        self._last: list[np.ndarray] | None = None

    def resolvent(self, Vt: np.ndarray) -> ExactResolvent:
        """From the last one, if that was for as many points: one Ṽ follows another in a search."""
        last = self._last
        if last is None or last[0].shape[:2] != Vt.shape[:2] or last[0].dtype != Vt.dtype:
            return self.afresh(Vt)
        return self._kept(ExactResolvent(self, Vt, last))

    def afresh(self, Vt: np.ndarray) -> ExactResolvent:
        """From a coarser rule, where it costs little."""
        return self.started(Vt, None if self.coarser is None else self.coarser.afresh(Vt).Y)

    def started(self, Vt: np.ndarray, answers: list[np.ndarray] | None) -> ExactResolvent:
        """From answers of the samples, [U, A, Q, Q] per level, or from nothing."""
        return self._kept(ExactResolvent(self, Vt, answers))

    def opened(self, answers: list[np.ndarray]) -> Opened:
        """The same rows with the samples' answers E[Z_t] held where they are, [U, A, Q, Q] each."""
        return Opened(self, answers)

    def _kept(self, found: ExactResolvent) -> ExactResolvent:
        self._last = found.Y
        return found

    def constant(self, Vt: np.ndarray) -> np.ndarray:
        """S0, the part of the pencil that no sample touches, [U, A, R, R]. Rows start with covariance 1."""
        K = len(self.weights)
        S = np.zeros((*Vt.shape[:2], self.size + K, self.size + K), np.result_type(Vt, self.c))
        s = np.arange(K)
        before = None
        for rows, level in zip(self.rows, self.levels, strict=True):
            a, b = rows.start + s, rows.start + K + s
            if level.rank == K:  # B = 1: its block is eliminated
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

    @cached_property
    def free(self) -> ExactResolvent:
        K = len(self.weights)
        Vt = np.zeros((len(self.c), 1, K, K))
        return ExactResolvent(self, Vt, None)

    def norm_overlap(self) -> np.ndarray:
        K = len(self.weights)
        unit = np.zeros((1, 1, K * K, K, K))
        index = np.arange(K * K)
        unit[0, 0, index, index // K, index % K] = 1.0
        change = self.free.tangent(np.broadcast_to(unit, (len(self.c), *unit.shape[1:])))
        return change[:, 0, index, index // K, index % K].reshape(-1, K, K)


class Opened(Bulk):
    """The exact bulk before its fixed point is closed: the samples' answers Y_t stand for E[Z_t], and are unknowns of
    whoever asks. Spectra close it together with their own equations, where one half plane holds all the unknowns."""

    def __init__(self, bulk: Exact, answers: list[np.ndarray]):
        self.bulk, self.answers = bulk, answers
        self.weights, self.modes, self.c = bulk.weights, bulk.modes, bulk.c

    def resolvent(self, Vt: np.ndarray) -> OpenResolvent:
        return OpenResolvent(self.bulk, Vt, self.answers)


class OpenResolvent(Resolvent):
    """The pencil's inverse at given answers of the samples: X = (S0 + Σ_t Y_t)⁻¹."""

    def __init__(self, bulk: Exact, Vt: np.ndarray, answers: list[np.ndarray]):
        self.bulk, self.Vt, self.answers = bulk, Vt, answers
        self.X = inverse(bulk, bulk.constant(Vt), answers)
        self.T = -self.X[..., bulk.size :, bulk.size :]

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        T = self.T[:, :, None]
        return product(product(T, dVt), T)

    def closed(self) -> ExactResolvent:
        """The resolvent whose samples answer as they must, found from here."""
        return ExactResolvent(self.bulk, self.Vt, self.answers)

    def forms(self) -> np.ndarray:
        return self.closed().forms()

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        return self.closed().cotangent(u)


def inverse(bulk: Exact, S0: np.ndarray, answers: list[np.ndarray]) -> np.ndarray:
    """(S0 + Σ_t Y_t)⁻¹, symmetric, [U, A, R, R]."""
    S = S0.copy()
    for rows, y in zip(bulk.rows, answers, strict=True):
        S[..., rows, rows] += y
    X = np.linalg.inv(S)
    return 0.5 * (X + np.swapaxes(X, -1, -2))


class ExactResolvent(Resolvent):
    """The pencil's averaged inverse at one Ṽ per grid point."""

    def __init__(self, bulk: Exact, Vt: np.ndarray, start: list[np.ndarray] | None):
        self.bulk, self.Vt = bulk, Vt
        self.Y, self.X, self.Z = self._fixed_point(start)
        self.T = -self.X[..., bulk.size :, bulk.size :]

    # the fixed point

    def _fixed_point(self, start: list[np.ndarray] | None) -> tuple[list[Any], np.ndarray, list[Answer]]:
        """Until nothing is left to gain."""
        bulk, levels = self.bulk, self.bulk.levels
        S0 = bulk.constant(self.Vt)
        shape = self.Vt.shape[:2]
        warm = start is not None
        Y = start or [np.broadcast_to(level.at_rest, (*shape, level.rank, level.rank)) for level in levels]
        best, stuck, step = np.inf, 0, 0
        while True:
            X = inverse(bulk, S0, Y)
            Z = [level.answer(X[..., rows, rows]) for level, rows in zip(levels, bulk.rows, strict=True)]
            gap = [z.mean - y for z, y in zip(Z, Y, strict=True)]
            residual = max(_relative(g, y) for g, y in zip(gap, Y, strict=True))
            solved = residual <= _TOLERANCE or (residual < 1e-11 and residual >= best)
            if step == _STEPS or solved:
                return Y, X, Z
            stuck = 0 if residual < 0.5 * best else stuck + 1
            best = min(best, residual)
            if (step < _PLAIN and not warm) or (stuck > 3 and step % 3):
                Y = [y + g for y, g in zip(Y, gap, strict=True)]
            else:
                Y = [
                    y + g
                    for y, g in zip(Y, self._unpacked(self._chained(X, Z, self._packed(gap))), strict=True)
                ]
            step += 1

    def _packed(self, blocks: list[np.ndarray]) -> np.ndarray:
        """One square matrix per level, [..., Q, Q] each, as one vector."""
        return np.concatenate([block.reshape(*block.shape[:-2], -1) for block in blocks], axis=-1)

    def _unpacked(self, vector: np.ndarray) -> list[np.ndarray]:
        ranks = [level.rank for level in self.bulk.levels]
        if len(ranks) == 1:
            return [vector.reshape(*vector.shape[:-1], ranks[0], ranks[0])]
        parts = np.split(vector, np.cumsum([q * q for q in ranks])[:-1], axis=-1)
        return [part.reshape(*part.shape[:-1], q, q) for part, q in zip(parts, ranks, strict=True)]

    def _feeding(self, X: np.ndarray, Z: list[Answer]) -> tuple[np.ndarray, list[np.ndarray]]:
        """1 - 𝒵 X⊗X over all levels, and each level's 𝒵 = E[Z ⊗ Z]/α on row-major vec."""
        rows = self.bulk.rows
        pairs = [z.pairs for z in Z]
        blocks = [
            [-pair @ _kron(X[..., t, tau]) for tau in rows] for pair, t in zip(pairs, rows, strict=True)
        ]
        J = blocks[0][0] if len(rows) == 1 else np.block(blocks)
        return J + identity(J.shape[-1]), pairs

    def _chained(self, X: np.ndarray, Z: list[Answer], right: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self._feeding(X, Z)[0], right[..., None])[..., 0]

    @cached_property
    def _chain(self) -> np.ndarray:
        """ℛ = (1 - 𝒵 X⊗X)⁻¹ 𝒵: how a change of the pencil feeds back through the samples."""
        J, pairs = self._feeding(self.X, self.Z)
        if len(pairs) == 1:
            return np.linalg.solve(J, pairs[0])
        right, ends = np.zeros_like(J), np.cumsum([0, *(pair.shape[-1] for pair in pairs)])
        for pair, (low, high) in zip(pairs, pairwise(ends), strict=True):
            right[..., low:high, low:high] = pair
        return np.linalg.solve(J, right)

    # first order

    def _feedback(self, dVt: np.ndarray) -> list[np.ndarray]:
        """E[Z dX Z]/α of each level under a change of Ṽ, [U, A, S, Q, Q]."""
        bulk = self.bulk
        columns = [self.X[:, :, None, rows, bulk.size :] for rows in bulk.rows]
        pushed = self._packed([x @ dVt @ np.swapaxes(x, -1, -2) for x in columns])
        return self._unpacked(pushed @ np.swapaxes(self._chain, -1, -2))

    def _change(self, dVt: np.ndarray, left: slice, right: slice) -> np.ndarray:
        """dX between some rows and columns, for perturbations [U, A, S, K, K]."""
        X, z = self.X[:, :, None], slice(self.bulk.size, None)
        change = X[..., left, z] @ dVt @ X[..., z, right]
        for rows, fed in zip(self.bulk.rows, self._feedback(dVt), strict=True):
            change = change + X[..., left, rows] @ fed @ X[..., rows, right]
        return change

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        return self.first_order(dVt)[0]

    def first_order(self, dVt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T̂ = -X_zz, and T̂Ṽ = 1 - X_za, free of cancellation."""
        z = slice(self.bulk.size, None)
        change = self._change(dVt, z, slice(self.bulk.top.start, None))
        K = len(self.bulk.weights)
        return change[..., -K:], -change[..., :K]

    @cached_property
    def _slopes(self) -> np.ndarray:
        """Derivative of X along each entry of Ṽ (and its mirror image), [U, A, pairs, R, R]."""
        units, whole = packing(len(self.bulk.weights)).units, slice(0, None)
        return self._change(np.broadcast_to(units, (*self.T.shape[:2], *units.shape)), whole, whole)

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """What `first_order` is along each entry of Ṽ, [U, A, pairs, K, K]: part of what `form_slopes` takes."""
        z, top = slice(self.bulk.size, None), self.bulk.top
        return self._slopes[..., z, z], -self._slopes[..., z, top]

    # quadratic forms

    def forms(self) -> np.ndarray:
        return self._forms

    @cached_property
    def _forms(self) -> np.ndarray:
        if np.iscomplexobj(self.X):
            return eliminated(self.bulk, self.X, [z.moments for z in self.Z])
        return self._moved_forms[0]

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        pack = packing(len(self.bulk.weights))
        flat = u.reshape(*u.shape[:2], 1, -1)
        size = flat.shape[-1]
        along = self.form_slopes.reshape(*u.shape[:2], pack.pairs, size, size) @ flat[..., None]
        gradient = (along[..., 0] * flat).sum(axis=-1) / pack.counts[: pack.pairs]
        return pack.matrix(np.concatenate([gradient, np.zeros_like(u[:, :, 0])], axis=-1))

    @property
    def form_slopes(self) -> np.ndarray:
        """Derivative of Ĝ along each entry of Ṽ (and its mirror image), [U, A, pairs, modes, K, modes, K]."""
        return self._moved_forms[1]

    @cached_property
    def _moved_forms(self) -> tuple[np.ndarray, np.ndarray]:
        """Ĝ, a rational function of X and Z's moments, and its derivatives: whoever asks for one asks for the other."""
        bulk = self.bulk
        slopes: list[np.ndarray] = []
        found = np.empty(0)
        for dX in np.moveaxis(self._slopes, 2, 0):
            moved = [Z.slopes(dX[..., rows, rows]) for rows, Z in zip(bulk.rows, self.Z, strict=True)]
            found, along = slope(bulk, self.X, [Z.moments for Z in self.Z], dX, moved)
            slopes.append(along)
        return found, np.stack(slopes, axis=2)


def _relative(gap: np.ndarray, Y: np.ndarray) -> float:
    size = np.abs(Y).max(axis=(-1, -2), initial=1e-300)
    return float((np.abs(gap).max(axis=(-1, -2)) / size).max())


def _kron(X: np.ndarray) -> np.ndarray:
    """X ⊗ X on row-major vec, [U, A, ij, kl]."""
    i, j = X.shape[-2:]
    return np.einsum("uaij,uakl->uaikjl", X, X).reshape(*X.shape[:2], i * i, j * j)

"""The bulk of the trained network itself: row covariances that its batches imprinted, any activation, any steps.

Given the batches, the rows of group s are independent with covariance C_s/d. Step t makes of it

    C_t = B C_{t-1} B + (k²/α) A,   B = 1 + (k/n) Σ_μ e s1 x xᵀ,   A = (1/n) Σ_μ e² s2² x xᵀ,

where e is the residual that the step followed and s1, s2² are averages of σ' at the sample. The spikes' directions and
the target's are correlated with A and B, and the squared norms of the rows fluctuate by δ_i = O(d^-½), as large as W v̂.

Everything follows from one linear pencil 𝒮 with two blocks (a_t, b_t) per step and one (z) at the end, affine in the
samples' x xᵀ. Its averaged inverse X solves

    X = (S0 + Σ_t E[Z_t])⁻¹,      Z_t = (1 + D_t X_tt/α_t)⁻¹ D_t,

D_t being a sample's weight in the pencil. Vectors of the pencil that the batches themselves have made (spikes, norms)
are resolved one batch at a time, from the last to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..modes import Modes
from ..symmetric import packing, product, solve_or_nan
from .base import Bulk, Resolvent

if TYPE_CHECKING:
    from ..law import Batch

_STEPS = 200
_PLAIN = 4  # plain iterations before Newton's method on a cold start
_TOLERANCE = 1e-14
_SAME = 1e-14  # relative difference of two samples' weights that is rounding
_NEGLIGIBLE = 1e-18  # share of every average under which a node is left out
_TINY = 1e-20  # an imaginary step: its square is lost in rounding, so that derivatives are exact


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


@dataclass(frozen=True)
class Columns:
    """The modes as vectors of the pencil, m of them: along θ̂_j, and along each level's functions."""

    target: np.ndarray  # [U, k, R, m]
    functions: tuple[np.ndarray, ...]  # per level [U, F, R, m]
    constant: np.ndarray  # G0, [U, m, m]: what no sample touches
    modes: Modes
    shown: int  # of the m, those that answer; the others (norms after earlier steps) are eliminated


class Exact(Bulk):
    """U first layers of K groups after T ≥ 1 steps; `coarser` is the same on a coarser rule, to start from."""

    def __init__(
        self,
        weights: np.ndarray,
        c: np.ndarray,
        start: np.ndarray,
        levels: Sequence[Level],
        columns: Columns,
        coarser: Exact | None = None,
    ):
        self.weights, self.c, self.start, self.coarser = weights, c, start, coarser
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
        start = None if self.coarser is None else self.coarser.afresh(Vt).Y
        return self._kept(ExactResolvent(self, Vt, start))

    def opened(self, answers: list[np.ndarray]) -> Opened:
        """The same rows with the samples' answers E[Z_t] held where they are, [U, A, Q, Q] each."""
        return Opened(self, answers)

    def _kept(self, found: ExactResolvent) -> ExactResolvent:
        self._last = found.Y
        return found

    def constant(self, Vt: np.ndarray) -> np.ndarray:
        """S0, the part of the pencil that no sample touches, [U, A, R, R]. Rows start with covariance c0."""
        K = len(self.weights)
        S = np.zeros((*Vt.shape[:2], self.size + K, self.size + K), Vt.dtype)
        s = np.arange(K)
        before = None
        for rows, level in zip(self.rows, self.levels, strict=True):
            a, b = rows.start + s, rows.start + K + s
            if level.rank == K:  # B = 1: its block is eliminated
                S[:, :, a, a] = self.start[:, None]
            else:
                S[:, :, a, b] = S[:, :, b, a] = 1.0
                if before is None:
                    S[:, :, b, b] = -1.0 / self.start[:, None]
                else:
                    S[:, :, b, before] = S[:, :, before, b] = 1.0
            before = a
        z = self.size + s
        S[:, :, before, z] = S[:, :, z, before] = 1.0
        S[..., self.size :, self.size :] = -Vt
        return S

    @cached_property
    def _free(self) -> ExactResolvent:
        """At Ṽ = 0, where T̂ = (1/d) tr C."""
        K = len(self.weights)
        return ExactResolvent(self, np.zeros((len(self.c), 1, K, K)), None)

    def norm_overlap(self) -> np.ndarray:
        K = len(self.weights)
        unit = np.zeros((1, 1, K * K, K, K))
        index = np.arange(K * K)
        unit[0, 0, index, index // K, index % K] = 1.0
        change = self._free.tangent(np.broadcast_to(unit, (len(self.c), *unit.shape[1:])))
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

    def _fixed_point(self, start: list[np.ndarray] | None) -> tuple[list[Any], np.ndarray, list[Any]]:
        bulk, levels = self.bulk, self.bulk.levels
        S0 = bulk.constant(self.Vt)
        shape = self.Vt.shape[:2]
        warm = start is not None
        Y = start or [
            np.broadcast_to(level.average(level.D[:, None]), (*shape, level.rank, level.rank))
            for level in levels
        ]
        best, stuck, step = np.inf, 0, 0
        while True:
            X = inverse(bulk, S0, Y)
            Z = [level.answer(X[..., rows, rows]) for level, rows in zip(levels, bulk.rows, strict=True)]
            gap = [level.average(z) - y for z, level, y in zip(Z, levels, Y, strict=True)]
            residual = max(_relative(g, y) for g, y in zip(gap, Y, strict=True))
            if step == _STEPS or residual <= _TOLERANCE or (residual < 1e-11 and residual >= best):
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
        parts = np.split(vector, np.cumsum([q * q for q in ranks])[:-1], axis=-1)
        return [part.reshape(*part.shape[:-1], q, q) for part, q in zip(parts, ranks, strict=True)]

    def _feeding(self, X: np.ndarray, Z: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """1 - 𝒵 X⊗X over all levels, and each level's 𝒵 = E[Z ⊗ Z]/α on row-major vec."""
        rows, levels = self.bulk.rows, self.bulk.levels
        pairs = [level.pairs(z) for z, level in zip(Z, levels, strict=True)]
        blocks = [
            [-pair @ _kron(X[..., t, tau]) for tau in rows] for pair, t in zip(pairs, rows, strict=True)
        ]
        J = blocks[0][0] if len(rows) == 1 else np.block(blocks)
        return J + np.eye(J.shape[-1]), pairs

    def _chained(self, X: np.ndarray, Z: list[np.ndarray], right: np.ndarray) -> np.ndarray:
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
        z = slice(self.bulk.size, None)
        return self._change(dVt, z, z)

    def leak(self, dVt: np.ndarray) -> np.ndarray:
        """T̂Ṽ = 1 - X_za, free of cancellation."""
        return -self._change(dVt, slice(self.bulk.size, None), self.bulk.top)

    # quadratic forms

    @cached_property
    def _moments(self) -> list[tuple[np.ndarray, ...]]:
        return [level.moments(z) for level, z in zip(self.bulk.levels, self.Z, strict=True)]

    def forms(self) -> np.ndarray:
        return self._forms

    @cached_property
    def _forms(self) -> np.ndarray:
        return self._eliminated(self.X, self._moments)

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        pack = packing(len(self.bulk.weights))
        gradient = np.einsum("uapmsnt,uams,uant->uap", self.form_slopes, u, u, optimize=True)
        gradient = gradient / pack.counts[: pack.pairs]
        return pack.matrix(np.concatenate([gradient, np.zeros_like(u[:, :, 0])], axis=-1))

    @cached_property
    def form_slopes(self) -> np.ndarray:
        """Derivative of Ĝ along each entry of Ṽ (and its mirror image), [U, A, pairs, modes, K, modes, K].

        By an imaginary step: Ĝ is a rational function of X and the moments of Z.
        """
        bulk, pack = self.bulk, packing(len(self.bulk.weights))
        whole = slice(0, None)
        units = np.broadcast_to(pack.units, (*self.T.shape[:2], *pack.units.shape))
        changes = self._change(units, whole, whole)
        slopes = []
        for p in range(pack.pairs):
            dX = changes[:, :, p]
            moved = []
            for level, rows, Z, moments in zip(bulk.levels, bulk.rows, self.Z, self._moments, strict=True):
                dZ = -_sandwiched(Z, dX[..., rows, rows] * level.scale)
                moved.append(
                    tuple(m + 1j * _TINY * dm for m, dm in zip(moments, level.moments(dZ), strict=True))
                )
            slopes.append(np.imag(self._eliminated(self.X + 1j * _TINY * dX, moved)) / _TINY)
        return np.stack(slopes, axis=2)

    def _eliminated(self, X: np.ndarray, moments: list[tuple[np.ndarray, ...]]) -> np.ndarray:
        """Ĝ = G0 - ΦᵀS⁻¹Φ on the modes that are shown, [U, A, modes, K, modes, K]."""
        columns, K = self.bulk.columns, len(self.bulk.weights)
        start = columns.target[:, None], [functions[:, None] for functions in columns.functions]
        G = columns.constant[:, None] - self._form(X, moments, *start)
        shown = columns.shown
        if shown < G.shape[-1]:
            seen = G[..., :shown, shown:]
            G = G[..., :shown, :shown] - seen @ np.linalg.solve(
                G[..., shown:, shown:], np.swapaxes(seen, -1, -2)
            )
        return G.reshape(*G.shape[:2], -1, K, self.bulk.modes.count, K)

    def _form(
        self, X: np.ndarray, moments: list[tuple[np.ndarray, ...]], q: np.ndarray, C: list[np.ndarray]
    ) -> np.ndarray:
        """Φᵀ𝒮⁻¹Φ with later batches averaged, for vectors Σ_j q_j ⊗ θ̂_j + Σ_τ Σ_f C_τf ⊗ v_f: [U, A, m, m].

        The last batch is averaged too: what its own samples contribute directly, and what is left of its vectors
        along the directions that it knew. Those directions' own share of the batch is put right afterwards.
        """
        if not C:
            return (np.swapaxes(q, -1, -2) @ (X[:, :, None] @ q)).sum(axis=2)
        t = len(C) - 1
        level, rows = self.bulk.levels[t], self.bulk.rows[t]
        both, along, excess = moments[t]
        U, A = X.shape[:2]
        F, R, m = C[t].shape[2:]
        Q, count, share = level.rank, level.directions, level.scale
        ff, xf = level.plain
        c = np.broadcast_to(C[t], (U, A, F, R, m))
        Xc = X[:, :, None] @ c
        part = Xc[:, :, :, rows].reshape(U, A, F * Q, m)
        mixed = (ff[:, None] @ Xc.reshape(U, A, F, R * m)).reshape(U, A, F * R, m)
        direct = share * (np.swapaxes(c.reshape(U, A, F * R, m), -1, -2) @ mixed)
        direct = direct - share * share * (np.swapaxes(part, -1, -2) @ (both @ part))
        kept = np.empty(
            (U, A, count, R, m + count * Q), X.dtype
        )  # along each known direction; then those themselves
        kept[..., :m] = (xf[:, None] @ c.reshape(U, A, F, R * m)).reshape(U, A, count, R, m)
        kept[:, :, :, rows, :m] -= share[..., None] * (along @ part[:, :, None])
        kept[..., m:] = _unit_columns(count, R, rows)
        below = self._form(X, moments, *self._lowered(level, kept, q, C[:-1]))
        inner, across, known = below[..., :m, :m], below[..., :m, m:], below[..., m:, m:]
        right = excess @ np.swapaxes(across, -1, -2)
        return direct + inner - across @ solve_or_nan(np.eye(count * Q) + excess @ known, right)

    def _lowered(
        self, level: Level, kept: np.ndarray, q: np.ndarray, C: list[np.ndarray]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Vectors Σ_i kept_i ⊗ x̂_i added to what `q` and `C` hold of them, written in θ̂ and earlier batches."""
        U, A, count, R, m = kept.shape
        flat = kept.reshape(U, A, count, R * m)

        def added(matrix: np.ndarray, old: np.ndarray) -> np.ndarray:
            """Old columns first; the new ones of `kept` have nothing there yet."""
            new = (np.swapaxes(matrix, -1, -2)[:, None] @ flat).reshape(U, A, -1, R, m)
            new[..., : old.shape[-1]] += old
            return new

        earlier = self.bulk.levels[: len(C)]
        spikes = [level.to_spikes @ one.spike for one in earlier]
        return added(level.to_target, q), [added(part, old) for part, old in zip(spikes, C, strict=True)]


def _unit_columns(count: int, R: int, rows: slice) -> np.ndarray:
    """ε_i ⊗ x̂_l for each row i of a batch and each direction l that it knew: [count, R, count·Q]."""
    Q = rows.stop - rows.start
    unit = np.zeros((count, R, count, Q))
    unit[:, rows] = np.eye(count)[:, None, :, None] * np.eye(Q)[None, :, None, :]
    return unit.reshape(count, R, -1)


def _relative(gap: np.ndarray, Y: np.ndarray) -> float:
    size = np.abs(Y).max(axis=(-1, -2), initial=1e-300)
    return float((np.abs(gap).max(axis=(-1, -2)) / size).max())


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


def _kron(X: np.ndarray) -> np.ndarray:
    """X ⊗ X on row-major vec, [U, A, ij, kl]."""
    i, j = X.shape[-2:]
    return np.einsum("uaij,uakl->uaikjl", X, X).reshape(*X.shape[:2], i * i, j * j)

"""Quadratic forms of the trained bulk on vectors that depend on its own batches: spikes, row norms, signals.

A batch's vectors are not independent of its samples, so the pencil's averaged inverse alone does not give them. Each
batch is averaged with its vectors, the last one first; what is left is a form in the directions that it knew already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...symmetric import identity, solve_or_nan
from .samples import Moments

if TYPE_CHECKING:
    from ...input_spectrum import InputSpectrum
    from ...modes import Modes
    from .batch_block import BatchBlock
    from .resolvent import TrainedBulk

_TINY = 1e-20  # an imaginary step: its square is lost in rounding, so that derivatives are exact


@dataclass(frozen=True)
class SpectralBasis:
    """Functions β_p, p ≤ D, that hold polynomials in ω of a degree up to the number T of steps; V is U or 1.

    They are the indicators of the eigenvalues if there are at most T + 1, which for isotropic inputs is β = 1, and
    powers of ω/ω_max otherwise. Rows r of the pencil on functions p have the joint index p·R + r.
    """

    spectrum: InputSpectrum
    values: np.ndarray  # β_p(ω_j), [V, D, J]
    one: np.ndarray  # the function 1, [D]
    shift: np.ndarray  # multiplication by ω, [V, D, D]

    @staticmethod
    def of(spectrum: InputSpectrum, steps: int) -> SpectralBasis:
        omega, J, D = spectrum.omega, spectrum.count, steps + 1
        if D >= J:
            units = np.broadcast_to(identity(J), (len(omega), J, J))
            return SpectralBasis(spectrum, units, np.ones(J), omega[..., None] * units)
        largest = omega.max(axis=-1)[:, None, None]
        powers = (omega[:, None] / largest) ** np.arange(D)[:, None]
        return SpectralBasis(spectrum, powers, identity(D)[0], largest * np.eye(D, k=-1))

    def at(self, part: slice) -> SpectralBasis:
        """Of some first layers."""
        if len(self.spectrum.omega) == 1:
            return self
        return SpectralBasis(self.spectrum.at(part), self.values[part], self.one, self.shift[part])

    def sums(self, G: np.ndarray) -> Sums:
        """What forms see of matrices G(ω_j) [U, A, J, R, R]."""
        U, A, J, R, _ = G.shape
        D, k = len(self.one), self.spectrum.tau.shape[-1]
        sums = self._weights[:, None] @ G.reshape(U, A, J, R * R)
        on_inputs = np.swapaxes(sums[:, :, : D * D].reshape(U, A, D, D, R, R), -3, -2)
        on_target = sums[:, :, D * D :].reshape(U, A, k, k, D, D, R, R).transpose(0, 1, 2, 4, 6, 3, 5, 7)
        return Sums(on_inputs.reshape(U, A, D * R, D * R), on_target.reshape(U, A, k * D * R, k * D * R))

    @cached_property
    def _weights(self) -> np.ndarray:
        """μω β_p β_p' and τ_ab ω β_p β_p', [V, D² + k²D², J]."""
        spectrum, V, J = self.spectrum, len(self.values), self.spectrum.count
        pairs = (self.values[:, :, None] * self.values[:, None]).reshape(V, -1, J)
        shares = spectrum.tau.reshape(len(spectrum.tau), J, -1) * spectrum.omega[..., None]
        on_target = np.swapaxes(shares, -1, -2)[:, :, None] * pairs[:, None]
        return np.concatenate([pairs * spectrum.on_inputs[:, None], on_target.reshape(V, -1, J)], axis=1)

    def times_omega(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors [U, A, n, D·R, m], times ω."""
        if len(self.one) == 1:
            return vectors  # the one eigenvalue is 1
        shape = vectors.shape
        flat = vectors.reshape(*shape[:3], len(self.one), -1)
        return (self.shift[:, None, None] @ flat).reshape(shape)

    def picked(self, size: int, rows: slice) -> np.ndarray:
        """Some of R rows on the function 1, as vectors [rows, D·R]."""
        return (self.one[:, None] * identity(size)[rows, None]).reshape(-1, len(self.one) * size)


class Sums(NamedTuple):
    """𝒢 = ∫μω ββᵀG and ℋ = ∫τω ββᵀG."""

    on_inputs: np.ndarray
    on_target: np.ndarray


@dataclass(frozen=True)
class Columns:
    """The modes as vectors of the pencil, m of them: along θ̂_j, and along each batch's functions."""

    basis: SpectralBasis
    target: np.ndarray  # [U, k, D·R, m]
    functions: tuple[np.ndarray, ...]  # per batch [U, F, D·R, m]
    made_of: np.ndarray  # the modes in terms of these vectors, [U, m, all]
    constant: np.ndarray  # G0, [U, all, all]: what no sample touches
    modes: Modes
    shown: int  # of all modes, those that answer; the others (norms after earlier steps) are eliminated

    def at(self, part: slice) -> Columns:
        """Of some first layers."""
        functions = tuple(one[part] for one in self.functions)
        vectors = self.target[part], functions, self.made_of[part], self.constant[part]
        return Columns(self.basis.at(part), *vectors, self.modes, self.shown)

    @staticmethod
    def on_spectrum(
        basis: SpectralBasis,
        target: np.ndarray,
        functions: list[np.ndarray],
        directions: int,
        made_of: np.ndarray,
        constant: np.ndarray,
        modes: Modes,
        shown: int,
    ) -> Columns:
        """From vectors [U, ..., R, m] that do not depend on ω but for the spikes in the first of them, `directions`: a
        batch makes a spike of Ω times its vectors."""
        one = np.repeat(basis.one[:, None], target.shape[-1], axis=1)  # [D, m]
        factor = np.broadcast_to(one, (len(basis.shift), *one.shape)).copy()
        factor[..., :directions] = (basis.shift @ basis.one)[..., None]

        def spread(vectors: np.ndarray, factor: np.ndarray) -> np.ndarray:
            wide = vectors[:, :, None] * factor[:, None, :, None]  # [U, n, D, R, m]
            return wide.reshape(*wide.shape[:2], -1, wide.shape[-1])

        every = tuple(spread(vectors, factor) for vectors in functions)
        return Columns(basis, spread(target, one[None]), every, made_of, constant, modes, shown)


def eliminate(bulk: TrainedBulk, sums: Sums, moments: list[Moments]) -> np.ndarray:
    """Ĝ = G0 - ΦᵀS⁻¹Φ on the modes that are shown, [U, A, modes, K, modes, K]."""
    columns, K = bulk.columns, len(bulk.weights)
    start = columns.target[:, None], [functions[:, None] for functions in columns.functions]
    made_of = columns.made_of[:, None]
    G = columns.constant[:, None] - np.swapaxes(made_of, -1, -2) @ _form(bulk, sums, moments, *start) @ made_of
    shown = columns.shown
    if shown < G.shape[-1]:
        mixed = G[..., :shown, shown:]
        G = G[..., :shown, :shown] - mixed @ np.linalg.solve(G[..., shown:, shown:], np.swapaxes(mixed, -1, -2))
    return G.reshape(*G.shape[:2], -1, K, bulk.modes.count, K)


def change_of_forms(
    bulk: TrainedBulk, sums: Sums, moments: list[Moments], change: Sums, changes: list[Moments]
) -> tuple[np.ndarray, np.ndarray]:
    """What `eliminate` gives, and how it changes with G and the moments."""

    def moved(here: Iterable[np.ndarray], by: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        return (x + 1j * _TINY * dx for x, dx in zip(here, by, strict=True))

    there = [Moments(*moved(own, by)) for own, by in zip(moments, changes, strict=True)]
    forms = eliminate(bulk, Sums(*moved(sums, change)), there)
    return np.real(forms), np.imag(forms) / _TINY


def _form(bulk: TrainedBulk, sums: Sums, moments: list[Moments], q: np.ndarray, C: list[np.ndarray]) -> np.ndarray:
    """Φᵀ𝒮⁻¹Φ with later batches averaged, for vectors Σ_j q_j ⊗ θ̂_j + Σ_τ Σ_f C_τf ⊗ v_f: [U, A, m, m].

    The last batch is averaged too: what its own samples contribute directly, and what is left of its vectors
    along the directions that it knew. Those directions' own share of the batch is put right afterwards.
    """
    if not C:
        flat = q.reshape(*q.shape[:2], -1, q.shape[-1])
        return np.swapaxes(flat, -1, -2) @ (sums.on_target @ flat)
    t = len(C) - 1
    block, picked = bulk.blocks[t], bulk.picked[t]
    both, along, excess = moments[t]
    X = sums.on_inputs
    U, A = X.shape[:2]
    F, R, m = C[t].shape[2:]
    Q, count, share = block.rank, block.directions, block.scale
    ff, xf = block.plain
    c = np.broadcast_to(C[t], (U, A, F, R, m))
    Xc = X[:, :, None] @ c
    part = (picked @ Xc).reshape(U, A, F * Q, m)
    mixed = (ff[:, None] @ Xc.reshape(U, A, F, R * m)).reshape(U, A, F * R, m)
    direct = share * (np.swapaxes(c.reshape(U, A, F * R, m), -1, -2) @ mixed)
    direct = direct - share * share * (np.swapaxes(part, -1, -2) @ (both @ part))
    kept = np.empty((U, A, count, R, m + count * Q), X.dtype)  # along each known direction; then those themselves
    kept[..., :m] = (xf[:, None] @ c.reshape(U, A, F, R * m)).reshape(U, A, count, R, m)
    kept[..., :m] -= share[..., None] * (picked.T @ (along @ part[:, :, None]))
    kept[..., m:] = _unit_columns(count, picked)
    below = _form(bulk, sums, moments, *_lowered(bulk, block, kept, q, C[:-1]))
    inner, across, known = below[..., :m, :m], below[..., :m, m:], below[..., m:, m:]
    right = excess @ np.swapaxes(across, -1, -2)
    return direct + inner - across @ solve_or_nan(identity(count * Q) + excess @ known, right)


def _lowered(
    bulk: TrainedBulk, block: BatchBlock, kept: np.ndarray, q: np.ndarray, C: list[np.ndarray]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Vectors Σ_i kept_i ⊗ x̂_i added to what `q` and `C` hold of them, written in θ̂ and earlier batches."""
    U, A, count, R, m = kept.shape

    def added(matrix: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        """Old columns first; the new ones of `kept` have nothing there yet."""
        flat = new.reshape(U, A, count, R * m)
        new = (np.swapaxes(matrix, -1, -2)[:, None] @ flat).reshape(U, A, -1, R, m)
        new[..., : old.shape[-1]] += old
        return new

    spikes = [block.to_spikes @ one.spike for one in bulk.blocks[: len(C)]]
    above = bulk.columns.basis.times_omega(kept) if C else kept  # S̃ is Ω times vectors of the batches
    return added(block.to_target, kept, q), [added(part, above, old) for part, old in zip(spikes, C, strict=True)]


def _unit_columns(count: int, picked: np.ndarray) -> np.ndarray:
    """ε_i ⊗ x̂_l for each row i of a batch and each direction l that it knew: [count, R, count·Q]."""
    columns = identity(count)[:, None, :, None] * picked.T[None, :, None, :]
    return columns.reshape(count, picked.shape[1], -1)

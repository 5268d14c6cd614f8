"""The batches' samples as unknowns of a spectrum: the response of each step's samples to the rows.

Rows of the exact bulk depend on Y_t = E[Z_t], Z_t = (1 + D_t X_tt/α_t)⁻¹ D_t, one matrix per step. At real λ > 0 they
are found for themselves; towards the real axis only the equations together have one solution in one half plane: with
blocks a_t scaled by τ^½ and b_t by τ^-½, as τ = βV2 itself, Im Y_t is a positive matrix.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...errors import NotCovered
from ...theory.bulk import Bulk, Isotropic, TrainedBulk
from ...theory.bulk.pencil import BatchBlock
from .halfplane import TINY, differentiated, in_half_plane
from .poles import Crossings, continues

_FLOOR = 1e-3  # of a weight's natural size, under which an answer is measured against that
_ATOMS = 8  # nodes of a law that is discrete itself, as that of labels ±1
_LIKELY = 1e-10  # weight of a sample that a batch may contain
# elements that a step of Newton's method takes at each z: three steps on real labels take 6 to 24 s, four 21 to 42 s
_MOST_ELEMENTS = 2e5


class Entries(NamedTuple):
    """Which entries of a block's symmetric matrix are unknowns: those of rows that its samples act on."""

    active: np.ndarray
    rows: np.ndarray
    cols: np.ndarray

    @staticmethod
    def of(block: BatchBlock) -> Entries:
        active = np.flatnonzero(np.any(block.D[0] != 0.0, axis=(1, 2)))
        i, j = np.triu_indices(len(active))
        return Entries(active, active[i], active[j])


class SampleUnknowns:
    """The answers of all steps, packed into vectors [A, m]."""

    def __init__(self, bulk: Bulk):
        self.bulk = bulk
        self._blocks, self._rows = (bulk.blocks, bulk.rows) if isinstance(bulk, TrainedBulk) else ((), ())
        self._entries = [Entries.of(block) for block in self._blocks]
        self._ends = np.cumsum([len(one.rows) for one in self._entries], dtype=int)
        self.size = sum(len(one.rows) for one in self._entries)
        R = sum(block.rank for block in self._blocks) + len(bulk.weights)
        nodes = sum(block.D.shape[-1] for block in self._blocks)
        if self.size * (R * R + nodes) > _MOST_ELEMENTS:
            raise NotCovered(
                f"the exact spectrum after these steps has {self.size} unknowns of the batches' samples, averaged over"
                f" {nodes} nodes, and would take half a minute or more; use fewer steps or letters, bulk = 'isotropic',"
                " or simulate_spectrum"
            )
        self.units = np.zeros((self.size, R, R))
        places = zip(self._rows, self._entries, strict=True)
        at = [np.empty((2, 0), int), *(rows.start + np.stack([one.rows, one.cols]) for rows, one in places)]
        (i, j), k = np.concatenate(at, axis=1), np.arange(self.size)
        self.units[k, i, j] = self.units[k, j, i] = 1.0
        # without any samples of the readout in sight: E[D]
        at_rest = [block.at_rest[0, 0] for block in self._blocks]
        parts = [E_D[one.rows, one.cols] for E_D, one in zip(at_rest, self._entries, strict=True)]
        self.start = np.concatenate([np.empty(0, complex), *parts])
        self._log_weights = [np.log(np.maximum(block.mean[0], TINY)) for block in self._blocks]
        self._smooth = [continues(log_w) for log_w in self._log_weights]
        self._floor = [_FLOOR * _natural(block) for block in self._blocks]

    @property
    def smooth(self) -> bool:
        """Whether averages near the real axis are right: over rules that can be corrected, or a few atoms."""
        atoms = [len(log_w) <= _ATOMS for log_w in self._log_weights]
        return all(a or b for a, b in zip(self._smooth, atoms, strict=True))

    def unclosed(self, y: np.ndarray) -> Bulk:
        """The rows, with the samples' answers held at y."""
        return self.bulk.unclosed(self.unpacked(y)) if isinstance(self.bulk, TrainedBulk) else self.bulk

    def packed(self, matrices: list[np.ndarray]) -> np.ndarray:
        """[U = 1, A, Q, Q] each, as [A, m]."""
        parts = [one[0][..., at.rows, at.cols] for one, at in zip(matrices, self._entries, strict=True)]
        return np.concatenate(parts, axis=-1)

    def unpacked(self, y: np.ndarray) -> list[np.ndarray]:
        found = []
        parts = np.split(y, self._ends, axis=-1)  # and nothing after the last end
        for at, block, part in zip(self._entries, self._blocks, parts, strict=False):
            full = np.zeros((1, len(y), block.rank, block.rank), y.dtype)
            full[0][:, at.rows, at.cols] = full[0][:, at.cols, at.rows] = part
            found.append(full)
        return found

    def image(self, X: np.ndarray, changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[Z_t] at X [A, R, R], packed, and its derivative along changes of X [A, n, R, R]: [A, m] and [A, m, n]."""
        values, slopes = [], []
        for t, (block, rows) in enumerate(zip(self._blocks, self._rows, strict=True)):
            x = X[None, :, rows, rows]
            Z = block.samples(x)
            mean, by_x = Z.mean, -Z.pairs[0]
            if self._smooth[t]:
                added, more = self._corrected(t, x)
                mean, by_x = mean + added, by_x + more
            values.append(mean)
            moved = changes[:, :, rows, rows]
            along = moved.reshape(*moved.shape[:2], -1) @ np.swapaxes(by_x, -1, -2)
            slopes.append(along.reshape(1, *moved.shape))
        return self.packed(values), np.swapaxes(self.packed(slopes), -1, -2)

    def _corrected(self, t: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What poles near the real axis add to E[Z_t] [1, A, Q, Q] and to its derivative on row-major vec [A, Q², Q²]:
        Z is a matrix of polynomials over det(1 + D_t X_tt/α_t)."""
        block, (_, A, Q, _) = self._blocks[t], x.shape
        poles = Crossings.of(block.determinant(x)[0], self._log_weights[t])
        m = len(poles.point)
        if not m:
            return np.zeros((1, A, Q, Q), complex), np.zeros((A, Q * Q, Q * Q), complex)
        near = replace(block, D=np.moveaxis(block.D[0][:, :, poles.nodes], 2, 0), share=np.repeat(block.share, m))
        i, j = np.triu_indices(Q)

        def errors(entries: np.ndarray) -> np.ndarray:
            full = np.empty((m, 1, Q, Q), complex)
            full[:, 0, i, j] = full[:, 0, j, i] = entries
            det = near.determinant(full)[:, 0]
            return poles.errors(det, near.samples(full).values().reshape(m, Q * Q, -1) * det[:, None])

        found = differentiated(errors, x[0][poles.point][:, i, j])
        slopes = np.zeros((m, Q * Q, Q * Q), complex)
        # an entry and its mirror image move together
        slopes[:, :, i * Q + j] += 0.5 * found.slopes
        slopes[:, :, j * Q + i] += 0.5 * found.slopes
        return poles.summed(found.value, A).reshape(1, A, Q, Q), poles.summed(slopes, A)

    def sizes(self, y: np.ndarray) -> np.ndarray:
        """What entries are measured against."""
        found = [np.empty((len(y), 0))]
        for full, at, floor in zip(self.unpacked(y), self._entries, self._floor, strict=True):
            own = np.abs(np.diagonal(full[0], axis1=-2, axis2=-1)) + floor
            found.append(np.sqrt(own[:, at.rows] * own[:, at.cols]))
        return np.concatenate(found, axis=-1)

    def inside(self, y: np.ndarray, root: np.ndarray) -> np.ndarray:
        """Whether all Y_t lie in the half plane once scaled by τ^½ (root [A, K]) and its inverse, [A]."""
        K, found = root.shape[-1], np.ones(len(y), bool)
        for full, at, block in zip(self.unpacked(y), self._entries, self._blocks, strict=True):
            scale = root if block.rank == K else np.concatenate([root, 1.0 / root], axis=-1)
            scaled = full[0] * scale[:, :, None] * scale[:, None, :]
            if len(at.active):
                found &= in_half_plane(scaled[:, at.active[:, None], at.active])
        return found


def _natural(block: BatchBlock) -> np.ndarray:
    """The size of each row's answers [Q]: E[D_aa] of rows a, E[D_ab²] of rows b."""
    mean = block.mean[0]
    own = np.abs(np.diagonal(block.D[0], axis1=0, axis2=1)).T  # [Q, n]
    return np.where(own.any(axis=1), own @ mean, (block.D[0] ** 2).sum(axis=1) @ mean)


def largest_covariance(bulk: Bulk) -> float:
    """A bound on the largest eigenvalue of the rows' covariances, up to what no batch contains."""
    if not isinstance(bulk, TrainedBulk):
        return float(np.max(bulk.covariance if isinstance(bulk, Isotropic) else bulk.c))
    K, found = len(bulk.weights), 1.0  # rows as they are drawn
    widest = float(bulk.spectrum.omega[0].max())
    for block in bulk.blocks:
        D = np.abs(block.D[0][..., block.mean[0] > _LIKELY])
        spread = widest * (1.0 + np.sqrt(float(block.share[0]))) ** 2
        noise = float(D[:K, :K].max(initial=0.0)) * spread
        turn = float(D[:K, K:].max(initial=0.0)) * spread
        found = (1.0 + turn) ** 2 * found + noise
    return widest * found

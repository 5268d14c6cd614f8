"""Symmetric K×K matrices and K-vectors packed side by side into vectors of length P = K(K+1)/2 + K.

The order parameters of the linear features are symmetric matrices over the groups of neurons (V1, q1), those
of the noise-like features vectors (V2, q2). Packed, a pair of them is one vector, and every average over κ
that the solver needs is one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

TINY = float(np.finfo(float).tiny)
"""Added to what may vanish before it divides."""

BLOCK = 1 << 20
"""Array elements in flight: a few megabytes, so that passes stay in cache."""

indices: Callable[[int], np.ndarray] = np.arange
"""0, 1, ..., count - 1. (The stub of `np.arange` has no type where the count is read from a shape.)"""

identity: Callable[[int], np.ndarray] = lru_cache(np.eye)
"""The unit matrix of a size. (Not to be written to.)"""

upper_triangle: Callable[[int], tuple[np.ndarray, np.ndarray]] = lru_cache(np.triu_indices)
"""Rows and columns of the entries on and above the diagonal."""


@lru_cache
def triangle(size: int) -> np.ndarray:
    """Where an entry of a symmetric matrix stands in its upper triangle, [size, size]."""
    place = np.empty((size, size), int)
    upper = upper_triangle(size)
    place[upper] = place.T[upper] = np.arange(len(upper[0]))
    return place


class Packing:
    """Index book-keeping for K groups."""

    def __init__(self, groups: int):
        self.groups = groups
        self.rows, self.cols = upper_triangle(groups)
        self.pairs = len(self.rows)
        self.size = self.pairs + groups
        # where the diagonal entries of the matrix stand, followed by the vector's
        self.diagonal = np.concatenate([np.flatnonzero(self.rows == self.cols), self.pairs + np.arange(groups)])
        # for each entry, where those of its row and of its column on the diagonal stand
        own = groups + np.arange(groups)
        self._of_row, self._of_col = (self.diagonal[np.concatenate([at, own])] for at in (self.rows, self.cols))
        # how often an entry stands in the full matrix: off-diagonal pairs twice
        self.counts = np.concatenate([np.where(self.rows == self.cols, 1.0, 2.0), np.ones(groups)])
        # one symmetric unit perturbation per pair
        self.units = np.zeros((self.pairs, groups, groups))
        index = np.arange(self.pairs)
        self.units[index, self.rows, self.cols] = self.units[index, self.cols, self.rows] = 1.0

    def upper(self, matrix: np.ndarray) -> np.ndarray:
        """The entries of symmetric matrices that are packed, [..., pairs]."""
        return matrix[..., 0] if self.groups == 1 else matrix[..., self.rows, self.cols]

    def pack(self, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
        return np.concatenate([self.upper(matrix), vector], axis=-1)

    def matrix(self, packed: np.ndarray) -> np.ndarray:
        if self.groups == 1:
            return packed[..., :1, None]
        return packed.take(triangle(self.groups), axis=-1)

    def vector(self, packed: np.ndarray) -> np.ndarray:
        return packed[..., self.pairs :]

    def sizes(self, packed: np.ndarray) -> np.ndarray:
        """What an entry is small or large against, √(V_ss V_tt): its own diagonal entries."""
        return np.sqrt(packed[..., self._of_row] * packed[..., self._of_col]) + TINY


@lru_cache
def packing(groups: int) -> Packing:
    """The packing for that many groups."""
    return Packing(groups)


def padded(parts: Sequence[np.ndarray], value: float = 0.0) -> np.ndarray:
    """Arrays [..., J] as one, [parts, ..., J], with a value at the end of those that are shorter than others."""
    most = max(part.shape[-1] for part in parts)
    whole = np.full((len(parts), *parts[0].shape[:-1], most), value)
    for row, part in zip(whole, parts, strict=True):
        row[..., : part.shape[-1]] = part
    return whole


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Stacked matrix product; a plain product of columns with rows, where BLAS calls would cost more than they do."""
    return a * b if a.shape[-1] == 1 else a @ b


def solve_small(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve stacked systems matrix [..., n, n] · x = right [..., n]."""
    return solve_columns(matrix, right[..., None])[..., 0]


def solve_columns(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve stacked systems matrix [..., n, n] · X = right [..., n, m]; by hand for n ≤ 2, where LAPACK costs more."""
    n = matrix.shape[-1]
    if n == 1:
        return right / matrix
    if n == 2:
        a, b, c, d = (matrix[..., i : i + 1, j : j + 1] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
        top, bottom = right[..., :1, :], right[..., 1:, :]
        found = np.concatenate([d * top - b * bottom, a * bottom - c * top], axis=-2)
        return found / (a * d - b * c)
    return np.linalg.solve(matrix, right)


def solve_or_nan(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve stacked systems matrix [..., n, n] · X = right [..., n, m]; NaN for those that are singular to rounding.

    One such point must not take others with it: its residual is NaN then, and it counts as unsolved.
    """
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        solutions = np.full(right.shape, np.nan, np.result_type(matrix, right))
        matrix = np.broadcast_to(matrix, (*right.shape[:-2], *matrix.shape[-2:]))
        for at in np.ndindex(right.shape[:-2]):
            with suppress(np.linalg.LinAlgError):
                solutions[at] = np.linalg.solve(matrix[at], right[at])
        return solutions

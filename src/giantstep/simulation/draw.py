"""Random numbers that depend on what they are for, and on nothing else.

Each number is a pure function of (seed, trial, batch, kind, row): a counter-based generator (Philox) is keyed
by seed and trial, and batch, kind and chunk of rows are words of its counter, so no two streams ever overlap.
Hence a trial draws the same numbers in whatever order, process or grid it runs; more samples or more neurons
only append rows; and all settings of a grid share theirs (common random numbers), which makes differences
between settings far less noisy than the settings themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from .backend import Backend, TorchBackend

_ROUNDING = 1e-12  # lengths of what is left of a unit vector
CHUNK_ROWS = 256
"""Rows that share one counter. Part of the format of the random numbers: changing it changes every result."""


class Purpose(IntEnum):
    """What a sample is for. The numbers are part of the format: append, never renumber."""

    START = 0
    STEP = 1
    TRAIN = 2
    TEST = 3


def step_batch(step: int) -> int:
    """What the samples of a gradient step are for: each step has a batch of its own."""
    return int(Purpose.STEP) if step == 0 else int(Purpose.TEST) + step


class Kind(IntEnum):
    """What a random number is for, within its batch. Append, never renumber."""

    INPUTS = 0
    NOISE = 1
    COIN = 2
    FEATURE_NOISE = 3
    WEIGHTS = 4
    DIRECTIONS = 5
    FLIPS = 6
    BIASES = 7
    ROWS = 8


@dataclass(frozen=True)
class Draws:
    """The random numbers of one trial, as arrays of `backend`.

    On the CPU they come from numpy whatever the array library, so that all libraries see the same numbers. On
    a GPU they come from that device's own generator, seeded from the same words: the same guarantees hold,
    but the numbers differ from the CPU's.
    """

    seed: int
    trial: int
    backend: Backend

    def normal(self, batch: int, kind: Kind, start: int, stop: int, width: int) -> Any:
        """Rows `start` to `stop` of an endless standard normal matrix with `width` columns."""
        return self._rows(batch, kind, start, stop, width, normal=True)

    def uniform(self, batch: int, kind: Kind, start: int, stop: int) -> Any:
        """Entries `start` to `stop` of an endless vector, uniform on [0, 1)."""
        return self._rows(batch, kind, start, stop, 1, normal=False)[:, 0]

    def permutation(self, count: int) -> np.ndarray:
        """The order of so many rows of a user's own; the same on all devices."""
        return _philox(self.seed, self.trial, Purpose.START, Kind.ROWS, 0).permutation(count)

    def _rows(self, batch: int, kind: Kind, start: int, stop: int, width: int, *, normal: bool) -> Any:
        first, last = start // CHUNK_ROWS, -(-stop // CHUNK_ROWS)
        words = [(self.seed, self.trial, int(batch), int(kind), chunk) for chunk in range(first, last)]
        begin, end = start - first * CHUNK_ROWS, stop - first * CHUNK_ROWS
        if isinstance(self.backend, TorchBackend) and self.backend.draws_natively:
            return self.backend.draw(words, (CHUNK_ROWS, width), normal)[begin:end, :]
        values = np.empty((end, width))
        for index, word in enumerate(words):
            generator = _philox(*word)
            fill = generator.standard_normal if normal else generator.random
            fill(out=values[index * CHUNK_ROWS : (index + 1) * CHUNK_ROWS])
        return self.backend.asarray(values)[begin:, :]


def _philox(seed: int, trial: int, batch: int, kind: int, chunk: int) -> np.random.Generator:
    """Key (seed, trial); counter (position, chunk, kind, batch): the position alone moves while drawing."""
    counter = np.array([0, chunk, kind, batch], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=np.array([seed, trial], dtype=np.uint64)))


def directions(count: int, d: int, draws: Draws) -> list[Any]:
    """Orthonormal vectors, uniform."""
    drawn = draws.normal(Purpose.START, Kind.DIRECTIONS, 0, count, d)
    units: list[Any] = []
    for i in range(count):
        vector = drawn[i, :]
        for other in units:
            vector = vector - (drawn[i, :] @ other) * other
        units.append(unit(vector))
    return units


def left_across(rest: list[Any]) -> tuple[Any, ...]:
    """Orthonormal directions that span the target's directions across the spikes, each as near to its own as possible.

    Turned to the axes of their Gram matrix the remains are orthogonal: there each gets unit length (or stays 0 where
    nothing is left), and they are turned back.
    """
    turn = np.linalg.eigh(np.array([[float(one @ other) for other in rest] for one in rest]))[1]
    units = [unit(sum(part * one for part, one in zip(axis, rest, strict=True))) for axis in turn.T.tolist()]
    return tuple(sum(part * one for part, one in zip(own, units, strict=True)) for own in turn.tolist())


def length(vector: Any) -> float:
    return float(vector @ vector) ** 0.5


def unit(vector: Any) -> Any:
    """The vector at unit length; 0 where there is nothing but rounding."""
    size = length(vector)
    return vector / size if size > _ROUNDING else 0.0 * vector

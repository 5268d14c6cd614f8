"""Samples in blocks: inputs x ~ N(0, I_d), the noiseless target at them, and the labels as observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..model.target import Target
from .backend import Backend
from .draw import Draws, Kind, Purpose


class Block(NamedTuple):
    """Consecutive samples of a batch, from row `start` on."""

    start: int
    inputs: Any  # [rows, d]
    clean: Any  # [rows], the noiseless target: for binary labels its sign
    labels: Any  # [rows], what the learner sees
    batch: int  # what it is for: a `Purpose`, or `step_batch`


FeatureMap = Callable[[Block], Any]
"""From a block of samples to their features [rows, p]."""


@dataclass(frozen=True)
class Data:
    """An endless batch of labelled samples; `blocks` yields as many first rows as you ask for."""

    batch: int
    target: Target
    theta: tuple[Any, ...]  # the target's directions, unit vectors [d]
    draws: Draws
    steps: int = 1  # of the network: a user's own rows are divided between steps, readout and test

    def blocks(self, rows: int) -> Iterator[Block]:
        """The first `rows` samples, a block at a time."""
        size = self.draws.backend.block_rows
        for start in range(0, rows, size):
            yield self.block(start, min(start + size, rows))

    def block(self, start: int, stop: int) -> Block:
        inputs = self._inputs(start, stop)
        fields = [self.draws.backend.matmul(inputs, direction) for direction in self.theta]
        clean, labels = self._labels(fields, start, stop)
        return Block(start, inputs, clean, labels, self.batch)

    def featured(self, features: FeatureMap, rows: int) -> Iterator[tuple[Any, Any]]:
        """Features and labels of the first `rows` samples, a block at a time."""
        return ((features(block), block.labels) for block in self.blocks(rows))

    def errors(
        self, features: FeatureMap, readouts: Any, sizes: Sequence[int] | np.ndarray, against: str = "clean"
    ) -> np.ndarray:
        """Mean squared errors and shares of wrong signs [2, columns] of readouts [p, columns].

        They are against the noiseless target or the "labels". Each readout's are over the first `sizes` [columns]
        samples. An output of exactly 0, as where no ReLU neuron is active, has no sign: it counts as half wrong.
        """
        backend, total = self.draws.backend, np.zeros((2, len(sizes)))
        for block in self.blocks(int(max(sizes))):
            truth = getattr(block, against)[:, None]
            outputs = backend.matmul(features(block), readouts) / readouts.shape[0] ** 0.5
            used = backend.asarray(block.start + np.arange(truth.shape[0])[:, None] < np.asarray(sizes))
            wrong = 0.5 - 0.5 * backend.xp.sign(outputs) * truth
            outputs -= truth
            errors = outputs * outputs, wrong
            total += np.stack([backend.numpy(backend.xp.sum(used * each, axis=0)) for each in errors])
        return total / sizes

    def _inputs(self, start: int, stop: int) -> Any:
        """Inputs in whitened coordinates: standard normal, or rows of the user's own, each drawn once."""
        if (kept := _kept_rows(self.target)) is None:
            return self.draws.normal(self.batch, Kind.INPUTS, start, stop, self.theta[0].shape[0])
        return self.draws.backend.asarray(kept[self._places[start:stop]])

    @cached_property
    def _places(self) -> np.ndarray:
        """Which of the user's own rows are for this batch, in the order of the trial."""
        first = {int(Purpose.TRAIN): 0, int(Purpose.TEST): 1, int(Purpose.STEP): 2}
        part = first.get(self.batch, self.batch - 1)  # later steps have the numbers after `TEST`
        every = self.draws.permutation(len(_kept_rows(self.target)))  # type: ignore[arg-type]
        return every[part :: _parts(self.steps)]

    def _labels(self, fields: list[Any], start: int, stop: int) -> tuple[Any, Any]:
        """Noiseless target and label where the inputs' projections on the target's directions are `fields`.

        Real labels are g(z) + noise·ε. Binary ones are the sign of a noisy value, or ±1 with probability
        sigmoid(scale·value), then turned over with probability `flips`.
        """
        target, xp = self.target, self.draws.backend.xp
        clean = target.function(*fields)
        if not target.binary:
            noise = float(target.noise)  # type: ignore[arg-type]
            return clean, clean + noise * self._normal(start, stop) if noise else clean
        value = self._latent(fields, clean, start, stop)
        if target.scale is None:
            labels = xp.sign(value)
        else:
            positive = (1 + xp.tanh(target.scale / 2 * value)) / 2  # a sigmoid that does not overflow
            coin = self.draws.uniform(self.batch, Kind.COIN, start, stop)
            labels = _sign_where(coin < positive, self.draws.backend)
        if target.flips:
            turned = self.draws.uniform(self.batch, Kind.FLIPS, start, stop) < target.flips
            labels = -labels * _sign_where(turned, self.draws.backend)
        return xp.sign(clean), labels

    def _latent(self, fields: list[Any], clean: Any, start: int, stop: int) -> Any:
        """What decides a binary label: of several directions the value g(z) + latent_noise·ε.

        Of one direction the noise is on the projection: z + latent_noise·ε in a sigmoid, else σ* of that.
        """
        target = self.target
        noise = target.latent_noise * self._normal(start, stop) if target.latent_noise else None
        if target.directions > 1:
            return clean if noise is None else clean + noise
        field = fields[0] if noise is None else fields[0] + noise
        return target.function(field) if target.scale is None else field

    def _normal(self, start: int, stop: int) -> Any:
        return self.draws.normal(self.batch, Kind.NOISE, start, stop, 1)[:, 0]


def rows_at_most(target: Target, steps: int) -> float:
    """How many rows a batch can have: a user's own are divided into equal parts, one for each batch."""
    kept = _kept_rows(target)
    return math.inf if kept is None else len(kept) // _parts(steps)


def _kept_rows(target: Target) -> np.ndarray | None:
    inputs = target.inputs
    return None if inputs is None or inputs.kept is None else inputs.kept.rows


def _parts(steps: int) -> int:
    """Batches of a trial: those of the steps, of the readout, and for testing."""
    return 2 + max(1, steps)


def _sign_where(condition: Any, backend: Backend) -> Any:
    """+1 where the condition holds, -1 elsewhere."""
    return 2 * backend.xp.astype(condition, backend.dtype) - 1

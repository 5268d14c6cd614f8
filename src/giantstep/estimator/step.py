"""Giant steps on given samples: random unit rows, then gradient steps towards one or several targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from ..letters import Letters
from ..simulation.backend import Backend
from ..simulation.draw import Draws
from ..simulation.layer import (
    biases_of_neurons,
    descent,
    group_slices,
    letters_of_neurons,
    preactivations,
    unit_rows,
)
from .inputs import Inputs, row_blocks


@dataclass(frozen=True)
class Trained:
    """A first layer after its steps, and what they made of it; outputs (one, or one per target or class) come first."""

    rows: np.ndarray  # [p, d]
    biases: np.ndarray | None  # [p]
    spikes: np.ndarray  # unit vectors [steps, outputs, d]; 0 where nothing pulled
    etas: np.ndarray  # learning rates [steps]
    letters: np.ndarray  # of the neurons [p]
    groups: list[slice]  # neurons of each output

    @property
    def strengths(self) -> np.ndarray:
        """Of the spikes [steps, outputs]."""
        return self._measured[0]

    @property
    def c(self) -> np.ndarray:
        """Mean squared norm of the rows without their spikes [outputs]."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[np.ndarray, np.ndarray]:
        measured = [
            _measure(self.rows[group], self.letters[group], self.spikes[:, k])
            for k, group in enumerate(self.groups)
        ]
        strengths, c = zip(*measured, strict=True)
        return np.stack(strengths, axis=1), np.array(c)

    @property
    def spike(self) -> np.ndarray:
        """Directions of the first step, unit vectors [outputs, d]."""
        return self.spikes[0]

    @property
    def r(self) -> np.ndarray:
        """Strengths of the first step's spikes [outputs]."""
        return self.strengths[0]

    @property
    def eta(self) -> float:
        """Learning rate of the first step."""
        return float(self.etas[0])

    def thinned(self, every: int) -> Trained:
        """Every so many-th neuron alone: a share of each letter and output, which are those of consecutive ones."""
        biases = None if self.biases is None else self.biases[::every]
        groups = [slice(-(-group.start // every), -(-group.stop // every)) for group in self.groups]
        return replace(
            self, rows=self.rows[::every], biases=biases, letters=self.letters[::every], groups=groups
        )


@dataclass(frozen=True)
class Rate:
    """How far a step goes: a learning rate, or a multiple of the rate that moves rows by their own length."""

    value: float
    relative: bool

    def of(self, change: np.ndarray, letters: np.ndarray) -> float:
        return self.value * _own_length(change, letters) if self.relative and self.value else self.value


@dataclass(frozen=True)
class FirstLayer:
    """Unit rows W, to take steps W + eta·d·(descent), each on a batch of its own.

    The network has outputs f_k = Σ_i A_ik σ(w_i·x + b_i)/p, and a neuron's A_i is its letter at one output, 0 at
    the others: neurons are dealt to the outputs in equal shares, and a step pulls each along the spike of its own
    output. With one output this is the network of the paper.
    """

    width: int
    directions: int
    outputs: int
    letters: Letters
    activation: Function
    batches: tuple[Any, ...]  # one function per step that gives its batch
    seed: int
    backend: Backend

    def after(self, rate: Rate) -> Trained:
        """The layer after its steps at this rate."""
        rows, pulls, etas = self._start, [], []
        for number, batch in enumerate(self.batches):
            if rate.value == 0:
                change, pull = np.zeros_like(rows), np.zeros((self.outputs, self.directions))
            else:
                change, pull = self._first if number == 0 else self._descent(rows, batch)
            etas.append(rate.of(change, self._values))
            pulls.append(pull)
            rows = rows + etas[-1] * change
        spikes = np.stack(pulls)
        spikes = spikes / np.maximum(np.linalg.norm(spikes, axis=2, keepdims=True), 1e-300)
        biases = None if self._biases is None else self.backend.numpy(self._biases)
        return Trained(rows, biases, spikes, np.array(etas), self._values, self._groups)

    @cached_property
    def _groups(self) -> list[slice]:
        """Consecutive neurons of each output, dealt out as evenly as possible."""
        if self.width < self.outputs:
            raise ParameterError(
                f"width = {self.width} neurons cannot serve {self.outputs} outputs (targets or classes); give at"
                " least one neuron for each"
            )
        ends = np.linspace(0, self.width, self.outputs + 1).round().astype(int)
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @cached_property
    def _parts(self) -> list[tuple[slice, ...]]:
        return [group_slices(self.letters, group.stop - group.start) for group in self._groups]

    @cached_property
    def _values(self) -> np.ndarray:
        return np.concatenate([letters_of_neurons(self.letters, part) for part in self._parts])

    @cached_property
    def _biases(self) -> Any | None:
        if self.letters.biases is None:
            return None
        return self.backend.xp.concat(
            [biases_of_neurons(self.letters, part, self.backend) for part in self._parts], axis=0
        )

    @cached_property
    def _start(self) -> np.ndarray:
        drawn = unit_rows(self.width, self.directions, Draws(self.seed, 0, self.backend))
        return self.backend.numpy(drawn)

    @cached_property
    def _first(self) -> tuple[np.ndarray, np.ndarray]:
        """The first descent, which every rate shares."""
        return self._descent(self._start, self.batches[0])

    def _descent(self, rows: np.ndarray, batch: Any) -> tuple[np.ndarray, np.ndarray]:
        """Of the network with these rows, times d: what a learning rate of 1 adds to them."""
        readout = np.zeros((self.width, self.outputs))
        for k, group in enumerate(self._groups):
            readout[group, k] = self._values[group] / self.width
        given, total = self.backend, 0.0

        def weighed() -> Iterator[tuple[Any, Any, Any]]:
            nonlocal total
            for inputs, targets, weights in batch():
                total += float(given.xp.sum(weights))
                yield inputs, targets, weights

        both = given.asarray(rows), given.asarray(readout)
        change, pull = descent(*both, self._biases, weighed(), self.activation, given)
        return given.numpy(change) * (self.directions / max(total, 1e-300)), given.numpy(pull)


def features(
    trained: Trained,
    activation: Function,
    X: Any,
    inputs: Inputs,
    backend: Backend,
    index: np.ndarray | None = None,
) -> Iterator[Any]:
    """σ(Wx + b) of the samples, or of those of an index, a block at a time."""
    rows = backend.asarray(trained.rows)
    biases = None if trained.biases is None else backend.asarray(trained.biases)
    for _, block in row_blocks(X, backend.block_rows, index):
        x = backend.asarray(inputs(block))
        yield backend.apply(activation, preactivations(rows, biases, x, backend))


def _own_length(change: np.ndarray, letter: np.ndarray) -> float:
    """The eta at which rows of letter 1 move by 1; 0 if nothing moves them."""
    power, moved = float(letter @ letter), float((change**2).sum())
    return (power / moved) ** 0.5 if moved > 0 else 0.0


def _measure(rows: np.ndarray, letter: np.ndarray, spikes: np.ndarray) -> tuple[np.ndarray, float]:
    """Strengths: the least squares fit of the rows by letters times spikes [steps, d]; and c, what that leaves."""
    power = float(letter @ letter)
    common = letter @ rows / power if power else np.zeros(rows.shape[1])
    strengths = np.linalg.lstsq(spikes.T, common, rcond=None)[0]
    return strengths, float(((rows - np.outer(letter, strengths @ spikes)) ** 2).sum(axis=1).mean())

"""The giant step on given samples: random unit rows, then one gradient step towards one or several targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from ..model import Letters
from ..simulation.backend import Backend
from ..simulation.data import Block
from ..simulation.draw import Draws
from ..simulation.layer import (
    biases_of_neurons,
    gradient_step,
    group_slices,
    letters_of_neurons,
    preactivations,
    unit_rows,
)


@dataclass(frozen=True)
class Given:
    """Samples in memory, as a batch of blocks."""

    inputs: Any  # [n, d]
    labels: Any  # [n]
    backend: Backend

    def blocks(self, rows: int) -> Iterator[Block]:
        size = self.backend.block_rows
        for start in range(0, rows, size):
            part = slice(start, min(start + size, rows))
            yield Block(start, self.inputs[part, :], self.labels[part], self.labels[part])


@dataclass(frozen=True)
class Trained:
    """A first layer after its step, and what the step made of it; outputs (one or one per class) come first."""

    rows: np.ndarray  # [p, d]
    biases: np.ndarray | None  # [p]
    spike: np.ndarray  # unit vectors [outputs, d]; 0 where nothing pulled
    r: np.ndarray  # spike strength [outputs]
    c: np.ndarray  # mean squared norm of the rows without their spike [outputs]
    eta: float


def one_step(
    inputs: np.ndarray,
    targets: np.ndarray,
    *,
    width: int,
    letters: Letters,
    activation: Function,
    eta: float | str,
    seed: int,
    backend: Backend,
) -> Trained:
    """Unit rows W, then W + eta·d·(descent of the mean of ½ Σ_k (y_k - f_k)² over the samples).

    `targets` is [n, outputs]. The network has several outputs f_k = Σ_i A_ik σ(w_i·x + b_i)/√p, and a neuron's
    initial readout A_i is letter_i/√p at one output, 0 at the others: neurons are dealt to the outputs in equal
    shares, and the step pulls each along the spike of its own output. With one output this is the network of
    the paper. eta = "auto" moves the rows by their own length, root mean square per unit of letter.
    """
    d = inputs.shape[1]
    rows = unit_rows(width, d, Draws(seed, 0, backend))
    groups = _shares(targets.shape[1], width)
    parts = [group_slices(letters, group.stop - group.start) for group in groups]
    values = [letters_of_neurons(letters, part) for part in parts]
    biases = [biases_of_neurons(letters, part, backend) for part in parts]
    start, change, pulls = backend.numpy(rows), np.zeros((width, d)), np.zeros((len(groups), d))
    if eta != 0:
        x = backend.asarray(inputs)
        for k, group in enumerate(groups):
            share = (group.stop - group.start) / width  # a_i = letter_i/√p, with p all neurons
            stepped, pull = gradient_step(
                rows[group, :], values[k] * share, biases[k], activation, activation.derivative,
                Given(x, backend.asarray(targets[:, k]), backend), len(inputs), d, backend,
            )  # fmt: skip
            change[group], pulls[k] = backend.numpy(stepped) - start[group], backend.numpy(pull)
    letter = np.concatenate(values)
    eta = _own_length(change, letter) if eta == "auto" else float(eta)
    spike = pulls / np.maximum(np.linalg.norm(pulls, axis=1, keepdims=True), 1e-300)
    trained = start + eta * change
    measured = [_measure(trained[g], letter[g], v) for g, v in zip(groups, spike, strict=True)]
    r, c = np.array(measured).T
    bias = None if letters.biases is None else np.concatenate([backend.numpy(part) for part in biases])
    return Trained(trained, bias, spike, r, c, eta)


def features(trained: Trained, activation: Function, inputs: np.ndarray, backend: Backend) -> Iterator[Any]:
    """σ(Wx + b) of the samples, a block at a time."""
    rows = backend.asarray(trained.rows)
    biases = None if trained.biases is None else backend.asarray(trained.biases)
    for start in range(0, len(inputs), backend.block_rows):
        block = backend.asarray(inputs[start : start + backend.block_rows])
        yield backend.apply(activation, preactivations(rows, biases, block, backend))


def _shares(outputs: int, width: int) -> list[slice]:
    """Consecutive neurons, dealt out as evenly as possible."""
    if width < outputs:
        raise ParameterError(
            f"width = {width} neurons cannot serve {outputs} classes; give at least one neuron per class"
        )
    ends = np.linspace(0, width, outputs + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def _own_length(change: np.ndarray, letter: np.ndarray) -> float:
    """The eta at which rows of letter 1 move by 1; 0 if nothing moves them."""
    power, moved = float(letter @ letter), float((change**2).sum())
    return (power / moved) ** 0.5 if moved > 0 else 0.0


def _measure(rows: np.ndarray, letter: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """r, the least squares fit of the rows' components along v by the letters, and c, what that leaves."""
    power = float(letter @ letter)
    r = float(letter @ (rows @ v)) / power if power and v.any() else 0.0
    return r, float(((rows - r * letter[:, None] * v) ** 2).sum(axis=1).mean())

"""The first layer of a trial: its rows, which neuron has which letter, and the gradient step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..functions import Function
from ..losses import Loss, square
from ..model.description import Model
from ..model.letters import Letters
from .backend import Backend
from .data import Block, Data
from .draw import Draws, Kind, Purpose
from .readout import ridge


@dataclass(frozen=True)
class Neurons:
    """σ(w_i·x + b_i) of rows W [p, d]."""

    rows: Any
    biases: Any | None
    activation: Function
    backend: Backend

    def fields(self, inputs: Any) -> Any:
        """w_i·x + b_i, [samples, p]."""
        fields = self.backend.matmul(inputs, self.rows.T)
        if self.biases is not None:
            fields += self.biases[None, :]
        return fields

    def __call__(self, block: Block) -> Any:
        """Features [samples, p]."""
        return self.backend.apply(self.activation, self.fields(block.inputs))


@dataclass(frozen=True)
class Weights(Neurons):
    """A first layer F = W + Σ_j u_j v_jᵀ of p neurons, and the directions that matter. All direction vectors are unit.

    `rows` are F [p, d]; `spike` are the u_j [S, p] along the orthonormal `v`; `radii` are the norms of the rows of W;
    `theta` are the target's directions and `rest` what is left of them across the spikes, made orthonormal such that
    each stays as near to its own as can be. Neurons of one letter are consecutive: `groups` are their slices.
    `measured` is what a trained layer turned out to be after each step.
    """

    spike: np.ndarray
    radii: np.ndarray
    v: tuple[Any, ...]
    rest: tuple[Any, ...]
    theta: tuple[Any, ...]
    groups: tuple[slice, ...]
    measured: dict[str, np.ndarray] = field(default_factory=dict)


def width(model: Model, d: int) -> int:
    """Number of neurons, p = beta·d to the nearest integer."""
    return round(float(model.beta) * d)  # type: ignore[arg-type]


def group_slices(letters: Letters, p: int) -> tuple[slice, ...]:
    """Consecutive neurons per letter: sizes weight·p by largest remainder, so that they sum to p.

    Under a continuous law all neurons are one group.
    """
    if letters.law is not None:
        return (slice(0, p),)
    sizes = largest_remainder(np.asarray(letters.weights), p)
    ends = np.cumsum(sizes)
    return tuple(slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True))


def largest_remainder(shares: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers with sum `total`, as near to these shares of it as can be."""
    exact = shares * total
    sizes = np.floor(exact).astype(int)
    largest = np.argsort(sizes - exact, kind="stable")[: total - sizes.sum()]
    sizes[largest] += 1
    return sizes


def spread(values: Any, groups: tuple[slice, ...]) -> np.ndarray:
    """One value per letter, repeated for each of its neurons."""
    return np.repeat(values, [group.stop - group.start for group in groups])


def letters_of_neurons(letters: Letters, groups: tuple[slice, ...]) -> np.ndarray:
    """The letter of each neuron."""
    return letters.of_neurons(groups[-1].stop) if letters.law is not None else spread(letters.values, groups)


def gradient_step(
    neurons: Neurons,
    letters: np.ndarray,
    data: Data,
    n0: int,
    eta: float,
    loss: Loss = square,
    mean_output: float | None = None,
    covariance: Any | None = None,
) -> tuple[Any, Any]:
    """One step of size `eta` down the loss (1/n0) Σ ℓ(y, f), at a_i = letter_i/√p, f = a·σ(Wx + b)/√p.

    Returns the stepped rows W + eta/(n0√p) Σ e a_i σ'(w_i·x + b_i) x and the direction Σ e x that the step pulls every
    row along, e = -∂ℓ(y, f) being the residual y - f for the square loss. Where `mean_output` is known, E f, it takes
    the place of f in that direction: the rest of f, of order 1/√d, pulls the rows back along what they have in common,
    an effect of its own in theory, and would tilt the direction towards it. `covariance` are the eigenvalues [d] of the
    inputs', where all is in whitened coordinates.
    """
    backend, activation, (p, d) = neurons.backend, neurons.activation, neurons.rows.shape
    readout = backend.asarray(letters / p)[:, None]  # a_i/√p
    change, pull = backend.zeros(d, p).T, backend.zeros(1, d)
    for block in data.blocks(n0):
        labels, fields = block.labels[:, None], neurons.fields(block.inputs)
        slopes = backend.apply(activation.derivative, fields + 0.0)
        error = -loss.derivative(labels, backend.matmul(backend.apply(activation, fields), readout))
        slopes *= error
        change = backend.add_product(change, slopes.T, block.inputs)
        if mean_output is not None:
            error = -loss.derivative(labels, backend.xp.full_like(labels, mean_output))
        pull = pull + backend.matmul(error.T, block.inputs)
    change *= readout
    if covariance is not None:
        change, pull = change * covariance, pull * covariance
    change *= eta / n0
    change += neurons.rows
    return change, pull[0, :]


def refitted(neurons: Neurons, data: Data, n: int, lam: float) -> np.ndarray:
    """The letters √p·a of the readout that minimises ½ Σ (y - a·σ(Wx + b)/√p)² + lam/2 |a|² over n samples.

    As in every such fit a_i is of order one, and the letters are therefore of order √p.
    """
    p = neurons.rows.shape[0]
    fit = ridge(partial(data.featured, neurons), p, {n: [lam]}, neurons.backend)[n]
    return p**0.5 * neurons.backend.numpy(fit.readouts[:, 0])


def unit_rows(p: int, d: int, draws: Draws) -> Any:
    """p rows, each uniform on the unit sphere of R^d."""
    rows = draws.normal(Purpose.START, Kind.WEIGHTS, 0, p, d)
    xp = draws.backend.xp
    rows /= xp.sqrt(xp.sum(rows * rows, axis=1))[:, None]
    return rows


def biases_of_neurons(letters: Letters, groups: tuple[slice, ...], backend: Backend) -> Any | None:
    """The bias of each neuron; None without biases."""
    return None if letters.biases is None else backend.asarray(spread(letters.biases, groups))

"""Inputs in standard units, and the first layer: random unit rows, then giant steps towards one or several targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from ..model.letters import Letters
from ..simulation.gradient_step import group_slices, letters_of_neurons, spread


class Standard(NamedTuple):
    """Columns with mean 0 and variance 1, whatever their units: (values/unit - mean)·axes."""

    unit: np.ndarray  # largest absolute value of each column: squares neither overflow nor vanish beside it
    mean: np.ndarray  # in these units
    axes: np.ndarray  # 1/deviation [columns], 0 where a column is constant; or a matrix [columns, d]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        centred = values / self.unit - self.mean
        return centred * self.axes if self.axes.ndim == 1 else centred @ self.axes


def standardise(values: np.ndarray, weights: np.ndarray, whiten: bool = False) -> Standard:
    """The map that makes these columns look like the theory's x ~ N(0, I): mean 0 and variance 1, or white."""
    largest, share = np.abs(values).max(axis=0), weights / weights.sum()
    unit = np.where(largest > 0, largest, 1.0)
    mean = share @ (values / unit)
    deviation = np.sqrt(share @ (values / unit - mean) ** 2)
    varies = deviation > 10 * np.finfo(float).eps  # more than rounding makes of equal values
    standard = Standard(unit, mean, np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0))
    if not whiten or not varies.any():
        return standard
    x = standard(values)
    s, axes = np.linalg.eigh(x.T @ (share[:, None] * x))
    full = s > max(x.shape) * np.finfo(float).eps * s[-1]
    return Standard(unit, mean, standard.axes[:, None] * axes[:, full] / np.sqrt(s[full]))


@dataclass(frozen=True)
class FirstLayer:
    """A first layer after its steps, and what they did to it. Outputs are one, or one for each target or class.

    The network that takes the steps is f_k = Σ_i a_ik σ(w_i·x + b_i)/p. A neuron's a_i is its letter at one output and
    0 at the others: each output has an equal share of the neurons, and a step moves them along that output's spike.
    """

    rows: np.ndarray  # W [p, d]
    biases: np.ndarray  # b [p]
    readout: np.ndarray  # a [p, outputs]
    spikes: np.ndarray  # unit vectors [steps, outputs, d]; 0 where there was no step
    etas: np.ndarray  # learning rates [steps]

    @property
    def eta(self) -> float:
        """Learning rate of the first step."""
        return float(self.etas[0])

    @property
    def spike(self) -> np.ndarray:
        """Directions of the first step, unit vectors [outputs, d]."""
        return self.spikes[0]

    @property
    def strengths(self) -> np.ndarray:
        """Strengths of the spikes [steps, outputs]: least squares fits of the rows by letter × spike."""
        powers = (self.readout**2).sum(axis=0)
        common = self.readout.T @ self.rows / np.where(powers > 0, powers, 1.0)[:, None]  # [outputs, d]
        fits = [np.linalg.lstsq(self.spikes[:, k].T, row, rcond=None)[0] for k, row in enumerate(common)]
        return np.stack(fits, axis=1)

    @property
    def r(self) -> np.ndarray:
        """Strengths of the first step's spikes [outputs]."""
        return self.strengths[0]

    @property
    def c(self) -> np.ndarray:
        """Mean squared norm of each output's rows without their spikes [outputs]."""
        rest = self.rows - self.readout @ np.einsum("sk,skd->kd", self.strengths, self.spikes)
        owner = _owner(*self.readout.shape)
        return np.bincount(owner, (rest**2).sum(axis=1)) / np.bincount(owner)

    def features(self, x: np.ndarray, activation: Function) -> np.ndarray:
        """σ(Wx + b) [n, p] of standard inputs."""
        return np.asarray(activation(x @ self.rows.T + self.biases))

    def thinned(self, every: int) -> FirstLayer:
        """Every so many-th neuron alone: a share of each letter and output, whose neurons are consecutive."""
        return FirstLayer(self.rows[::every], self.biases[::every], self.readout[::every], self.spikes, self.etas)

    def step(
        self, eta: float, relative: bool, x: np.ndarray, y: np.ndarray, weights: np.ndarray, activation: Function
    ) -> FirstLayer:
        """One step of size eta·d down ½ Σ_k (y_k - f_k)², a weighted mean over samples x [n, d] and y [n, outputs].

        It pulls rows along the spikes Σ (y_k - f_k) x. A relative eta multiplies the one at which rows of letter 1 move
        by 1.
        """
        p, d = self.rows.shape
        z, a = x @ self.rows.T + self.biases, self.readout / p
        residuals = (weights / weights.sum())[:, None] * (y - activation(z) @ a)
        change = d * (np.asarray(activation.derivative(z)) * (residuals @ a.T)).T @ x
        pull, moved = residuals.T @ x, np.linalg.norm(change)
        norms = np.linalg.norm(pull, axis=1, keepdims=True)
        if relative:
            eta *= float(np.linalg.norm(self.readout) / moved) if moved > 0 else 0.0
        spike = (eta > 0) * pull / np.where(norms > 0, norms, 1.0)
        spikes, etas = np.concatenate([self.spikes, spike[None]]), np.append(self.etas, eta)
        return FirstLayer(self.rows + eta * change, self.biases, self.readout, spikes, etas)


def random_layer(p: int, d: int, outputs: int, letters: Letters, random: np.random.Generator) -> FirstLayer:
    """The layer before its steps: rows uniform on the unit sphere."""
    if p < outputs:
        raise ParameterError(
            f"width = {p} neurons cannot serve {outputs} outputs (targets or classes); give at least one neuron for"
            " each"
        )
    rows = random.standard_normal((p, d))
    owner = _owner(p, outputs)
    groups = [group_slices(letters, int(size)) for size in np.bincount(owner)]
    values = np.concatenate([letters_of_neurons(letters, group) for group in groups])
    shifts = letters.biases or (0.0,) * len(letters.values)
    biases = np.concatenate([spread(shifts, group) for group in groups])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    readout = np.where(owner[:, None] == np.arange(outputs), values[:, None], 0.0)
    return FirstLayer(rows, biases, readout, np.empty((0, outputs, d)), np.empty(0))


def _owner(p: int, outputs: int) -> np.ndarray:
    """The output of each of p neurons: consecutive ones, in shares as equal as possible."""
    return np.arange(p) * outputs // p

"""How the first layer of a trial comes about: drawn with its spikes, or drawn without and trained, step by step.

Inputs with a covariance Ω are x = Ω^½g with g ~ N(0, I), so that w·x = (Ω^½w)·g: a network depends on its rows through
Ω^½w alone. A trial keeps these, in the eigenbasis of Ω, and the inputs g: labels, features, errors and statistics are
then those of isotropic inputs. Two things differ. Initial rows are Ω^½ times what they would be, and a gradient step
in w is Ω times that in Ω^½w.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from .. import gaussian
from ..errors import ParameterError
from ..losses import as_loss
from ..model.inputs import Inputs
from ..model.network import Network
from ..model.spiked import TwoSpikes
from ..model.target import Target
from .backend import Backend
from .data import Data
from .draw import Draws, Kind, Purpose, directions, length, step_batch
from .gradient_step import (
    Neurons,
    Weights,
    biases_of_neurons,
    gradient_step,
    group_slices,
    largest_remainder,
    letters_of_neurons,
    refitted,
    spread,
    unit_rows,
    width,
)
from .measure_layer import Track

_EQUALLY_LIKELY = 1 << 18  # inputs that a mean is taken over where no rule resolves it


@singledispatch
def first_layer(model: Any, target: Target, d: int, draws: Draws, bulk: str | None = None) -> Weights:
    """The layer of one trial of a model whose parameters are plain numbers; `bulk`: see `simulate`.

    Of spiked random features these are random rows of given norms plus spikes; the target's first direction has given
    components along these.
    """
    letters, groups = model.readout, group_slices(model.readout, width(model, d))
    if isinstance(model, TwoSpikes):
        pairs = np.asarray(model.left) * np.asarray(model.strengths)
        spikes, along = np.stack([spread(column, groups) for column in pairs.T]), model.alignments
    else:
        r, gamma = float(model.r), float(model.gamma)  # type: ignore[arg-type]
        spikes, along = r * letters_of_neurons(letters, groups)[None], (gamma,)
    backend, radii = draws.backend, np.sqrt(spread(letters.c or [model.c] * len(groups), groups))
    units = directions(len(spikes) + target.directions, d, draws)
    v, rest = tuple(units[: len(spikes)]), tuple(units[len(spikes) :])
    if bulk == "orthogonal":
        rows, radii = _rows_across(v, backend)
    else:
        rows = backend.asarray(radii)[:, None] * unit_rows(len(radii), d, draws)
    theta = max(0.0, 1.0 - sum(gamma**2 for gamma in along)) ** 0.5 * rest[0]
    for spike, gamma, direction in zip(spikes, along, v, strict=True):
        rows = rows + backend.asarray(spike)[:, None] * direction[None, :]
        theta = theta + gamma * direction
    neurons = rows, biases_of_neurons(letters, groups, backend), model.activation, backend
    return Weights(*neurons, spikes, radii, v, rest, (theta, *rest[1:]), groups)


@first_layer.register(Network)
def _(model: Network, target: Target, d: int, draws: Draws, bulk: str | None = None) -> Weights:
    letters, backend = model.readout, draws.backend
    groups = group_slices(letters, width(model, d))
    values, biases = letters_of_neurons(letters, groups), _initial_biases(model, groups, d, draws)
    rows, covariance = _initial_rows(model, len(values), d, draws), None
    if target.inputs is None:
        *theta, free = directions(target.directions + 1, d, draws)
    else:
        *theta, free = target_directions(target.inputs, target.directions, d, draws)
        covariance = backend.asarray(eigenvalues(target.inputs, d))
        rows = rows * backend.xp.sqrt(covariance)
    test = Data(Purpose.TEST, target, tuple(theta), draws, model.most_steps)
    track = Track(model, rows, values, biases, groups, test)
    readout, last = values, None  # √p·a, and the last step's batch
    for t, (eta, alpha0, loss) in enumerate(model.stages(model.numbers())):
        n0, eta = round(float(alpha0) * d), float(eta)
        if n0 and eta:
            data = replace(test, batch=step_batch(0 if model.reuse_batch else t))
            mean = None if track.taken else _mean_output(model, values, biases, backend)
            neurons, rate = Neurons(rows, biases, model.activation, backend), eta * d
            if model.refit is not None and last is not None:
                readout = refitted(neurons, *last, float(model.refit))  # type: ignore[arg-type]
                rate *= length(values) / length(readout)
            rows, pull = gradient_step(neurons, readout, data, n0, rate, as_loss(loss), mean, covariance)
            track.stepped(rows, pull, readout)
            last = data, n0
        track.measure(rows)
    return track.weights(rows, free)


def _initial_rows(model: Network, p: int, d: int, draws: Draws) -> Any:
    """Rows uniform on the sphere, or with the model's spread of squared norms."""
    if model.norm_variance == 0.0:
        return unit_rows(p, d, draws)
    if model.rows == "gaussian":
        return draws.normal(Purpose.START, Kind.WEIGHTS, 0, p, d) / d**0.5
    square = 1.0 + (model.norm_variance / d) ** 0.5 * draws.normal(Purpose.START, Kind.NOISE, 0, p, 1)
    return unit_rows(p, d, draws) * draws.backend.xp.sqrt(draws.backend.xp.abs(square))


def _initial_biases(model: Network, groups: tuple[slice, ...], d: int, draws: Draws) -> Any | None:
    """Biases of the letters, plus random ones of scale 1/√d."""
    biases = biases_of_neurons(model.readout, groups, draws.backend)
    if model.bias_scale == 0.0:
        return biases
    drawn = draws.normal(Purpose.START, Kind.BIASES, 0, groups[-1].stop, 1)[:, 0]
    return model.bias_scale / d**0.5 * drawn + (0.0 if biases is None else biases)


def _mean_output(model: Network, values: np.ndarray, biases: Any | None, backend: Backend) -> float:
    """E f over inputs before the step, Σ_i letter_i E σ(z + b_i)/p: all rows have unit norm."""
    at, which = np.unique(np.zeros(1) if biases is None else backend.numpy(biases), return_inverse=True)
    if gaussian.is_resolvable(model.activation, 1.0, float(np.abs(at).max())):
        means = gaussian.moments(model.activation, at, np.ones(len(at)))[0].mean
    else:  # it varies too fast for rules: a mean over many inputs that are equally likely
        from scipy.special import ndtri

        z = ndtri((np.arange(_EQUALLY_LIKELY) + 0.5) / _EQUALLY_LIKELY)
        means = np.array([np.mean(model.activation(z + b)) for b in at])
    return float(values @ np.broadcast_to(means[which], values.shape)) / len(values)


def _rows_across(v: tuple[Any, ...], backend: Backend) -> tuple[Any, np.ndarray]:
    """The rows of Π⊥ = I - Σ vvᵀ and their norms √(1 - Σ v_i²), close to 1: one neuron per axis, none sees a spike.

    The v and the target are uniform, so which neurons have which letter makes no difference.
    """
    rows, square = backend.asarray(np.eye(v[0].shape[0])), 1.0
    for direction in v:
        rows = rows - direction[:, None] * direction[None, :]
        square = square - backend.numpy(direction) ** 2
    return rows, np.sqrt(square)


def coordinates(inputs: Inputs, d: int) -> np.ndarray:
    """How many of d coordinates have each eigenvalue, [J]; an error if an eigenvalue of positive mass has none."""
    if inputs.d not in (None, d):
        raise ParameterError(
            f"d = {d} is not the number of inputs that the eigenvalues were made for; use d={inputs.d}, or make the"
            f" inputs for {d}",
            "d",
        )
    counts = largest_remainder(inputs.mu, d)
    if np.any((counts == 0) & (inputs.mu > 0)):
        share = float(inputs.mu[(counts == 0) & (inputs.mu > 0)][0])
        raise ParameterError(
            f"d = {d} is too small: no input has the eigenvalue of mass {share:g}; use d of at least"
            f" {int(np.ceil(1.0 / share))}",
            "d",
        )
    return counts


def eigenvalues(inputs: Inputs, d: int) -> np.ndarray:
    """The eigenvalue of each coordinate, with mean 1 [d]."""
    if inputs.kept is not None:
        return inputs.kept.omega
    omega = np.repeat(inputs.omega, coordinates(inputs, d))
    return omega / omega.mean()


def target_directions(inputs: Inputs, k: int, d: int, draws: Draws) -> list[Any]:
    """The target's k directions Ω^½θ, orthonormal, and one more across them.

    On each eigenvalue they are τ^½Q with orthonormal rows Q, uniform. An eigenvalue with fewer coordinates than
    directions has not room for them: there the shares are right on average, and all directions together are made
    orthonormal in the end.
    """
    drawn = draws.backend.numpy(draws.normal(Purpose.START, Kind.DIRECTIONS, 0, k + 1, d))
    if inputs.kept is not None and inputs.kept.theta is not None:
        theta = inputs.kept.theta
    else:
        values, vectors = np.linalg.eigh(inputs.tau(k))
        roots = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.swapaxes(1, 2)
        ends = np.cumsum(coordinates(inputs, d))
        blocks = zip(roots, np.split(drawn[:k], ends[:-1], axis=1), strict=True)
        theta = _orthonormal(np.concatenate([root @ _orthonormal(block) for root, block in blocks], axis=1))
    free = drawn[k] - (theta @ drawn[k]) @ theta
    return [draws.backend.asarray(one) for one in (*theta, free / np.linalg.norm(free))]


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    """The nearest orthonormal rows [k, n]; where n < k, orthogonal columns of length √(k/n)."""
    k, n = rows.shape
    left, _, right = np.linalg.svd(rows, full_matrices=False)
    return left @ right * max(1.0, k / max(n, 1)) ** 0.5

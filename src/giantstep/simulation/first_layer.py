"""How the first layer of a trial comes about: drawn with its spikes, or drawn without and trained, step by step."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from .. import gaussian
from ..losses import as_loss
from ..model.network import Network
from ..model.spiked import SpikedRF, TwoSpikes
from ..model.target import Target
from .backend import Backend
from .covariance import eigenvalues, target_directions
from .data import Data
from .draw import Draws, Kind, Purpose, directions, length, step_batch
from .gradient_step import (
    Weights,
    biases_of_neurons,
    gradient_step,
    group_slices,
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
    """The layer of one trial of a model whose parameters are plain numbers; `bulk`: see `simulate`."""
    raise TypeError(model)  # refused with a sentence where models are checked


@first_layer.register(SpikedRF)
def _(model: SpikedRF, target: Target, d: int, draws: Draws, bulk: str | None = None) -> Weights:
    letters, backend = model.readout, draws.backend
    groups = group_slices(letters, width(model, d))
    r, gamma, c = float(model.r), float(model.gamma), float(model.c)  # type: ignore[arg-type]
    radius = np.sqrt(spread(letters.c or (c,) * len(groups), groups))
    spike = r * letters_of_neurons(letters, groups)
    v, t, *others = directions(1 + target.directions, d, draws)
    if bulk == "orthogonal":
        rows, radius = _rows_across((v,), backend)
    else:
        rows = backend.asarray(radius)[:, None] * unit_rows(len(radius), d, draws)
    if r:
        rows = rows + backend.asarray(spike)[:, None] * v[None, :]
    theta = gamma * v + float(np.sqrt(1 - gamma**2)) * t
    biases = biases_of_neurons(letters, groups, backend)
    return Weights(rows, spike[None], radius, (v,), (t, *others), (theta, *others), groups, biases)


@first_layer.register(TwoSpikes)
def _(model: TwoSpikes, target: Target, d: int, draws: Draws, bulk: str | None = None) -> Weights:
    backend = draws.backend
    groups = group_slices(model.readout, width(model, d))
    first, second, t, *others = directions(2 + target.directions, d, draws)
    v = (first, second)
    radius = np.full(groups[-1].stop, np.sqrt(model.c))
    if bulk == "orthogonal":
        rows, radius = _rows_across(v, backend)
    else:
        rows = backend.asarray(radius)[:, None] * unit_rows(len(radius), d, draws)
    pairs = np.asarray(model.left) * np.asarray(model.strengths)
    spikes = np.stack([spread(tuple(column), groups) for column in pairs.T])
    for spike, direction in zip(spikes, v, strict=True):
        rows = rows + backend.asarray(spike)[:, None] * direction[None, :]
    along = model.alignments
    theta = float(np.sqrt(max(0.0, 1.0 - sum(g * g for g in along)))) * t
    for gamma, direction in zip(along, v, strict=True):
        theta = theta + gamma * direction
    return Weights(rows, spikes, radius, v, (t, *others), (theta, *others), groups)


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
    readout, seen = values, None  # √p·a, and the last step's batch
    for t, (eta, alpha0, loss) in enumerate(model.stages(model.numbers())):
        n0, eta = round(float(alpha0) * d), float(eta)
        if n0 and eta:
            data = replace(test, batch=step_batch(0 if model.reuse_batch else t))
            mean = None if track.taken else _mean_output(model, values, biases, backend)
            activation, rate = model.activation, eta * d
            if model.refit is not None and seen is not None:
                readout = refitted(rows, biases, activation, *seen, float(model.refit), backend)  # type: ignore[arg-type]
                rate *= length(values) / length(readout)
            rows, pull = gradient_step(
                rows,
                readout,
                biases,
                activation,
                data,
                n0,
                rate,
                backend,
                as_loss(loss),
                mean,
                covariance,
            )
            track.stepped(rows, pull, readout)
            seen = data, n0
        track.measure(rows)
    return track.weights(rows, free)


def _initial_rows(model: Network, p: int, d: int, draws: Draws) -> Any:
    """Uniform on the sphere, or with the spread of squared norms that was asked for."""
    if model.norm_variance == 0.0:
        return unit_rows(p, d, draws)
    if model.rows == "gaussian":
        return draws.normal(Purpose.START, Kind.WEIGHTS, 0, p, d) / d**0.5
    square = 1.0 + (model.norm_variance / d) ** 0.5 * draws.normal(Purpose.START, Kind.NOISE, 0, p, 1)
    return unit_rows(p, d, draws) * draws.backend.xp.sqrt(draws.backend.xp.abs(square))


def _initial_biases(model: Network, groups: tuple[slice, ...], d: int, draws: Draws) -> Any | None:
    """Those of the letters, and of scale 1/√d around them."""
    biases = biases_of_neurons(model.readout, groups, draws.backend)
    if model.bias_scale == 0.0:
        return biases
    drawn = draws.normal(Purpose.START, Kind.BIASES, 0, groups[-1].stop, 1)[:, 0]
    return model.bias_scale / d**0.5 * drawn + (0.0 if biases is None else biases)


def _mean_output(model: Network, values: np.ndarray, biases: Any | None, backend: Backend) -> float:
    """E f over inputs before the step, Σ_i letter_i E σ(z + b_i)/p: all rows have unit norm."""
    own = np.zeros(1) if biases is None else backend.numpy(biases)
    at, which = np.unique(own, return_inverse=True)
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

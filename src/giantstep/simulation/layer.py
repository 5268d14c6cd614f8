"""The first layer of a trial: drawn with its spike (SpikedRF), or trained by one gradient step (Network)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import gaussian
from ..losses import Loss, as_loss, square
from ..model import Letters, Network, SpikedRF, Target
from .backend import Backend
from .data import Data, Samples
from .draw import Batch, Draws, Kind


@dataclass(frozen=True)
class Layer:
    """Weights F = W + u vᵀ of p neurons, and the directions that matter. All direction vectors are unit.

    `rows` is F [p, d]; `spike` is u [p]; `radii` are the norms of the rows of W; `theta` = gamma v + √(1-gamma²) t.
    Neurons of one letter are consecutive: `groups` are their slices. `measured` is what a trained layer turned
    out to be (c and overlap per letter, r, gamma).
    """

    rows: Any
    spike: np.ndarray
    radii: np.ndarray
    v: Any
    t: Any
    theta: Any
    groups: tuple[slice, ...]
    biases: Any | None = None
    measured: dict[str, np.ndarray] = field(default_factory=dict)


def first_layer(
    model: Network | SpikedRF, target: Target, d: int, draws: Draws, bulk: str | None = None
) -> Layer:
    """The layer of one trial of a model whose parameters are plain numbers; `bulk`: see `simulate`."""
    return _trained(model, target, d, draws) if isinstance(model, Network) else _spiked(model, d, draws, bulk)


def width(model: Network | SpikedRF, d: int) -> int:
    """Number of neurons, p = beta·d to the nearest integer."""
    return round(float(model.beta) * d)  # type: ignore[arg-type]


def group_slices(letters: Letters, p: int) -> tuple[slice, ...]:
    """Consecutive neurons per letter: sizes weight·p by largest remainder, so that they sum to p.

    Under a continuous law all neurons are one group.
    """
    if letters.law is not None:
        return (slice(0, p),)
    exact = np.asarray(letters.weights) * p
    sizes = np.floor(exact).astype(int)
    largest = np.argsort(sizes - exact, kind="stable")[: p - sizes.sum()]
    sizes[largest] += 1
    ends = np.cumsum(sizes)
    return tuple(slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True))


def spread(values: tuple[float, ...], groups: tuple[slice, ...]) -> np.ndarray:
    """One value per letter, repeated for each of its neurons."""
    return np.repeat(values, [group.stop - group.start for group in groups])


def letters_of_neurons(letters: Letters, groups: tuple[slice, ...]) -> np.ndarray:
    """The letter of each neuron."""
    return letters.of_neurons(groups[-1].stop) if letters.law is not None else spread(letters.values, groups)


def _spiked(model: SpikedRF, d: int, draws: Draws, bulk: str | None) -> Layer:
    letters, backend = model.readout, draws.backend
    groups = group_slices(letters, width(model, d))
    r, gamma, c = float(model.r), float(model.gamma), float(model.c)  # type: ignore[arg-type]
    radius = np.sqrt(spread(letters.c or (c,) * len(groups), groups))
    spike = r * letters_of_neurons(letters, groups)
    v, t = _directions(d, draws)
    if bulk == "orthogonal":
        rows, radius = _rows_across(v, backend)
    else:
        rows = backend.asarray(radius)[:, None] * unit_rows(len(radius), d, draws)
    if r:
        rows = rows + backend.asarray(spike)[:, None] * v[None, :]
    theta = gamma * v + float(np.sqrt(1 - gamma**2)) * t
    return Layer(rows, spike, radius, v, t, theta, groups, biases_of_neurons(letters, groups, backend))


def _trained(model: Network, target: Target, d: int, draws: Draws) -> Layer:
    letters, backend = model.readout, draws.backend
    groups = group_slices(letters, width(model, d))
    values, biases = letters_of_neurons(letters, groups), biases_of_neurons(letters, groups, backend)
    theta, free = _directions(d, draws)
    rows = unit_rows(len(values), d, draws)
    n0 = round(float(model.alpha0) * d)  # type: ignore[arg-type]
    eta = float(model.eta)  # type: ignore[arg-type]
    if n0 == 0 or eta == 0:  # no step: no spike, and a direction v of its own, across the target
        direction = free
    else:
        data = Data(Batch.STEP, target, theta, draws)
        rows, direction = gradient_step(
            rows,
            values,
            biases,
            model.activation,
            model.activation.derivative,
            data,
            n0,
            eta * d,
            backend,
            as_loss(model.step_loss),
            _mean_output(model, values),
        )
    return _measure(rows, values, direction, theta, free, groups, biases, backend)


def gradient_step(
    rows: Any,
    letters: np.ndarray,
    biases: Any | None,
    activation: Callable[[Any], Any],
    derivative: Callable[[Any], Any],
    data: Samples,
    n0: int,
    eta: float,
    backend: Backend,
    loss: Loss = square,
    mean_output: float | None = None,
) -> tuple[Any, Any]:
    """One step of size `eta` down the loss (1/n0) Σ ℓ(y, f), at a_i = letter_i/√p, f = a·σ(Wx + b)/√p.

    Returns the stepped rows W + eta/(n0√p) Σ e a_i σ'(w_i·x + b_i) x, e = -∂ℓ(y, f) being the residual y - f for
    the square loss, and the direction Σ e x that the step pulls every row along. Where `mean_output` is known, E f, it
    takes the place of f in that direction: the rest of f, of order 1/√d, pulls the rows back along what they have in
    common, an effect of its own in theory, and would tilt the direction towards it.
    """
    p, d = rows.shape
    readout = backend.asarray(letters / p)  # a_i/√p
    ascent, direction = backend.zeros(d, p).T, backend.zeros(d)
    for block in data.blocks(n0):
        fields = preactivations(rows, biases, block.inputs, backend)
        slopes = derivative(fields)
        error = -loss.derivative(block.labels, backend.matmul(activation(fields), readout))
        slopes *= error[:, None]
        ascent = backend.add_product(ascent, slopes.T, block.inputs)
        if mean_output is not None:
            error = -loss.derivative(block.labels, backend.xp.full_like(block.labels, mean_output))
        direction = direction + backend.matmul(error, block.inputs)
    ascent *= (eta / n0 * readout)[:, None]
    ascent += rows
    return ascent, direction


def _mean_output(model: Network, values: np.ndarray) -> float:
    """E f over inputs before the step, Σ_i letter_i E σ(z + b_i)/p: all rows have unit norm."""
    letters = model.readout
    biases = letters.biases or (0.0,)
    means = gaussian.moments(model.activation, np.asarray(biases), np.ones(len(biases)))[0].mean
    groups = group_slices(letters, len(values)) if letters.biases else (slice(0, len(values)),)
    return float(values @ spread(tuple(means), groups)) / len(values)


def preactivations(rows: Any, biases: Any | None, inputs: Any, backend: Backend) -> Any:
    """Fields w_i·x + b_i, [samples, p]."""
    fields = backend.matmul(inputs, rows.T)
    if biases is not None:
        fields += biases[None, :]
    return fields


def _measure(
    rows: Any,
    letters: np.ndarray,
    direction: Any,
    theta: Any,
    free: Any,
    groups: tuple[slice, ...],
    biases: Any | None,
    backend: Backend,
) -> Layer:
    """Split trained rows into spike and bulk along v ∝ Σ (y - E f) x: u_i = r·letter_i, r by least squares."""
    v = _unit(direction)
    along_v, along_theta = (backend.numpy(backend.matmul(rows, unit)) for unit in (v, theta))
    power = float(letters @ letters)
    r = float(letters @ along_v) / power if power and direction is not free else 0.0
    spike = r * letters
    bulk = backend.numpy(backend.xp.sum(rows * rows, axis=1)) - 2 * spike * along_v + spike**2
    gamma = float(v @ theta) if direction is not free else 0.0
    rest = theta - gamma * v
    measured = {
        "c": np.array([bulk[group].mean() for group in groups]),
        "overlap": np.array([along_theta[group].mean() for group in groups]),
        "r": np.array(r),
        "gamma": np.array(gamma),
    }
    return Layer(rows, spike, np.sqrt(bulk), v, _unit(rest), theta, groups, biases, measured)


def unit_rows(p: int, d: int, draws: Draws) -> Any:
    """p rows, each uniform on the unit sphere of R^d."""
    rows = draws.normal(Batch.START, Kind.WEIGHTS, 0, p, d)
    xp = draws.backend.xp
    rows /= xp.sqrt(xp.sum(rows * rows, axis=1))[:, None]
    return rows


def _rows_across(v: Any, backend: Backend) -> tuple[Any, np.ndarray]:
    """The rows of Π⊥ = I - vvᵀ and their norms √(1 - v_i²), close to 1: one neuron per axis, none sees the spike.

    v and the target are uniform, so which neurons have which letter makes no difference.
    """
    rows = backend.asarray(np.eye(v.shape[0])) - v[:, None] * v[None, :]
    return rows, np.sqrt(1.0 - backend.numpy(v) ** 2)


def _directions(d: int, draws: Draws) -> tuple[Any, Any]:
    """Two orthogonal unit vectors, uniform."""
    drawn = draws.normal(Batch.START, Kind.DIRECTIONS, 0, 2, d)
    first = _unit(drawn[0, :])
    return first, _unit(drawn[1, :] - (drawn[1, :] @ first) * first)


def _unit(vector: Any) -> Any:
    return vector / float(vector @ vector) ** 0.5


def biases_of_neurons(letters: Letters, groups: tuple[slice, ...], backend: Backend) -> Any | None:
    """The bias of each neuron; None without biases."""
    return None if letters.biases is None else backend.asarray(spread(letters.biases, groups))

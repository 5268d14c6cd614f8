"""One trial: draw, train the first layer, fit all readouts, measure. A pure function of plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..answers.dims import Dimensions
from ..gaussian import moments
from ..losses import Loss, as_loss
from ..model.description import Model
from ..model.target import Target
from ..runtime.threads import limited_threads
from .backend import Backend, make_backend
from .convex import convex
from .data import Data, rows_at_most
from .draw import Draws, Purpose
from .features import GaussianFeatures, ResultTwo, exact_error
from .first_layer import first_layer
from .gradient_step import Weights, width
from .readout import ridge

ENOUGH_SAMPLES = 20_000
"""Test samples (10 d if that is more) where the average over inputs is not available in closed form."""

_BLOCK = 4096  # Gaussian averages done together: bounds the memory


@dataclass(frozen=True)
class Task:
    """All that a trial needs, picklable: a model and a target with plain numbers, and what to fit."""

    model: Model
    target: Target
    d: int
    trial: int = 0
    seed: int = 0
    points: tuple[tuple[int, float], ...] = ()  # (n, lam) of each readout
    n_test: int | None = None  # None: the exact average over inputs, where there is one
    features: str | None = None
    loss: str | Loss = "square"
    backend: str | None = None
    device: str = "cpu"
    dtype: str = "float64"
    bulk: str | None = None  # "orthogonal": W = Π⊥ instead of random rows
    learned_at: Any = None  # points in the first directions, for the learned function


def run_trial(task: Task, backend: Backend | None = None) -> dict[str, np.ndarray]:
    """Every statistic of the trial with the dimensions of `Dimensions`, behind the points for those of a readout."""
    backend = backend or make_backend(task.backend, task.device, task.dtype)
    with limited_threads(max(task.d, width(task.model, task.d))):
        return _measured(task, backend)


def _measured(task: Task, backend: Backend) -> dict[str, np.ndarray]:
    model, target, draws = task.model, task.target, Draws(task.seed, task.trial, backend)
    layer = first_layer(model, target, task.d, draws, task.bulk)
    features = GaussianFeatures(layer, ResultTwo(model), draws) if task.features == "gaussian" else layer  # type: ignore
    train = Data(Purpose.TRAIN, target, layer.theta, draws, model.most_steps)
    rows = partial(train.featured, features)
    sizes = np.array([n for n, _ in task.points])
    problems = {n: sorted({lam for size, lam in task.points if size == n}) for n in np.unique(sizes).tolist()}
    loss, p = as_loss(task.loss), layer.rows.shape[0]
    fits = ridge(rows, p, problems, backend) if loss.linear else convex(loss, rows, p, problems, backend)
    order = [(fits[n], problems[n].index(lam)) for n, lam in task.points]
    readouts = backend.xp.stack([fit.readouts[:, column] for fit, column in order], axis=1)
    answers = {
        name: np.array([getattr(fit, name)[column] for fit, column in order])
        for name in ("train_error", "train_loss", "optimality")
        if getattr(order[0][0], name) is not None
    }
    answers |= summary_statistics(layer, readouts)
    test = replace(train, batch=Purpose.TEST)
    most = rows_at_most(target, model.most_steps)
    samples = int(min(task.n_test or max(ENOUGH_SAMPLES, 10 * task.d), most))
    by_average = task.n_test is None and math.isinf(most)  # not over rows of the user's own
    exact = exact_error(features, target, readouts, answers) if by_average else None
    if exact is None or target.binary:  # shares of wrong signs are always counted on samples
        square, wrong = test.errors(features, readouts, np.full(len(sizes), samples))
        answers |= {"test_error": square} | ({"test_error_01": wrong} if target.binary else {})
    if exact is not None:
        answers["test_error"], samples = exact, 0
    if target.binary:  # a second pass over the very same samples
        _, answers["train_error_01"] = train.errors(features, readouts, sizes, "labels")
    if task.learned_at:
        answers["learned"] = learned_function(layer, readouts, np.array(task.learned_at)).T
    axes = Dimensions(model, target.directions)
    measured = layer.measured | {"test_samples": np.array(float(samples))}
    return {
        name: axes.shaped(name, np.moveaxis(values, -1, 0), len(task.points)) for name, values in answers.items()
    } | {name: axes.shaped(name, values) for name, values in measured.items()}


def summary_statistics(layer: Weights, readouts: Any) -> dict[str, np.ndarray]:
    """m, zeta, psi, q1, q2 of readouts [p, columns]: letters first, then directions, then columns.

    With sums over the neurons i of letter s: m_s = Σ a_i/√p, zeta_sj = Σ a_i w_i·v_j/√p, psi_sm = Σ a_i w_i·e_m/√p,
    q1_st = h_s·h_t with h_s = Σ a_i Π w_i/√p and Π projecting out all v_j, q2_s = Σ a_i²/p; w_i are the bulk rows,
    v_j and e_m unit vectors along the spikes and along the rest of each direction of the target.
    """
    backend, p = layer.backend, layer.rows.shape[0]
    v, rest = ([backend.numpy(unit) for unit in units] for units in (layer.v, layer.rest))
    m, zeta, psi, q2, across = [], [], [], [], []
    for group in layer.groups:
        part = readouts[group, :]
        weights = backend.numpy(part)
        image = backend.numpy(backend.matmul(layer.rows[group, :].T, part))
        for spike, unit in zip(layer.spike, v, strict=True):  # what F maps to, less the spikes: the bulk's part
            image -= unit[:, None] * (spike[group] @ weights)
        m.append(weights.sum(axis=0) / np.sqrt(p))
        zeta.append([unit @ image / np.sqrt(p) for unit in v])
        psi.append([unit @ image / np.sqrt(p) for unit in rest])
        q2.append((weights**2).sum(axis=0) / p)
        for unit in v:
            image = image - unit[:, None] * (unit @ image)
        across.append(image / np.sqrt(p))
    q1 = [[(h * g).sum(axis=0) for g in across] for h in across]
    answers = {"m": m, "zeta": zeta, "psi": psi, "q1": q1, "q2": q2}
    return {name: np.asarray(rows) for name, rows in answers.items()}


def learned_function(layer: Weights, readouts: Any, x: np.ndarray) -> np.ndarray:
    r"""E[f | θ·x/√d = x] of given weights, averaged exactly over the rest of the input: [columns, points].

    .. math:: f(x) = \frac1{\sqrt p}\sum_i a_i\, E_g\,\sigma\big(b_i\cdot x + \sqrt{|F_i|^2 - |b_i|^2}\,g\big),

    `readouts` are a [p, columns], F the layer's rows, and b = Fθ with the first few of the target's directions; `x` are
    points [points, directions] in the span of those. Given the projections on θ, every pre-activation is Gaussian: no
    sampling is needed.
    """
    backend, theta = layer.backend, layer.theta[: x.shape[1]]
    along = np.stack([backend.numpy(layer.rows @ direction) for direction in theta], axis=1)
    square = backend.numpy(backend.xp.sum(layer.rows * layer.rows, axis=1))
    across = np.sqrt(np.maximum(square - (along**2).sum(axis=1), 0.0))
    shift = np.zeros(len(along)) if layer.biases is None else backend.numpy(layer.biases)
    weights = backend.numpy(readouts)
    total = np.zeros((weights.shape[1], len(x)))
    size = max(1, _BLOCK // len(x))
    for start in range(0, len(along), size):
        part = slice(start, start + size)
        centre = along[part] @ x.T + shift[part, None]
        averages, _ = moments(layer.activation, centre, np.broadcast_to(across[part, None], centre.shape))
        total += weights[part].T @ averages.mean
    return total / np.sqrt(len(along))

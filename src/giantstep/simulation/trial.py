"""One trial: draw, train the first layer, fit all readouts, measure. A pure function of plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..answers.dims import Dimensions
from ..losses import Loss, as_loss
from ..model.description import Model
from ..model.spiked import SpikedRF
from ..model.target import Target
from ..runtime.threads import limited_threads
from . import evaluate
from .backend import Backend, make_backend
from .data import Data
from .draw import Draws, Purpose
from .features import FeatureMap, GaussianFeatures, NetworkFeatures, ResultTwo
from .first_layer import first_layer
from .gradient_step import Weights, width
from .readout import Fit, fitter

ENOUGH_SAMPLES = 20_000
"""Test samples (10 d if that is more) where the average over inputs is not available in closed form."""


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
    draws = Draws(task.seed, task.trial, backend)
    layer = first_layer(task.model, task.target, task.d, draws, task.bulk)
    features = _features(task, layer, draws)
    train = Data(Purpose.TRAIN, task.target, layer.theta, draws, task.model.most_steps)
    gaussian = math.isinf(train.limit)  # and not rows of the user's own
    exact = features.exact_error(task.target) if gaussian and task.n_test is None else None

    def rows(n: int) -> Iterator[tuple[Any, Any]]:
        return ((features(block, Purpose.TRAIN), block.labels) for block in train.blocks(n))

    problems = _problems(task.points)
    fits = fitter(as_loss(task.loss))(rows, layer.rows.shape[0], problems, backend)
    order = [(n, problems[n].index(lam)) for n, lam in task.points]
    readouts = backend.xp.stack([fits[n].readouts[:, column] for n, column in order], axis=1)
    answers = _training(fits, order) | evaluate.summary_statistics(layer, readouts, backend)
    known = None if exact is None else exact(readouts, answers)
    errors, samples = _errors(task, features, train, readouts, known)
    answers |= errors
    if task.learned_at:
        at = np.array(task.learned_at)
        weights = (layer.rows, layer.theta[: at.shape[1]], at)
        answers["learned"] = evaluate.learned_function(
            readouts, *weights, task.model.activation, layer.biases
        ).T
    return _shaped(answers, layer.measured | {"test_samples": np.array(float(samples))}, task)


def _shaped(
    answers: dict[str, np.ndarray], measured: dict[str, np.ndarray], task: Task
) -> dict[str, np.ndarray]:
    """With the dimensions of `Dimensions`, points first."""
    axes, count = Dimensions(task.model, task.target.directions), len(task.points)
    of_points = {
        name: axes.shaped(name, np.moveaxis(values, -1, 0), count) for name, values in answers.items()
    }
    return of_points | {name: axes.shaped(name, values) for name, values in measured.items()}


def _errors(
    task: Task,
    features: FeatureMap,
    train: Data,
    readouts: Any,
    exact: np.ndarray | None,
) -> tuple[dict[str, np.ndarray], int]:
    """Test errors, and over how many samples the squared one was averaged: none where it is exact.

    For binary labels also the shares of wrong signs, always sampled.
    """
    backend, target, test = train.draws.backend, task.target, replace(train, batch=Purpose.TEST)
    errors = {} if exact is None else {"test_error": exact}
    samples = int(min(task.n_test or max(ENOUGH_SAMPLES, 10 * task.d), test.limit))
    if exact is None or target.binary:
        errors = evaluate.sampled_errors(features, test, samples, readouts, backend) | errors
    if target.binary:
        sizes = np.array([n for n, _ in task.points])
        errors["train_error_01"] = evaluate.wrong_training_signs(features, train, sizes, readouts, backend)
    return errors, samples if exact is None else 0


def _features(task: Task, layer: Weights, draws: Draws) -> FeatureMap:
    if task.features == "gaussian":
        assert isinstance(task.model, SpikedRF)  # refused earlier, with a sentence
        return GaussianFeatures(layer, ResultTwo(task.model), draws)
    return NetworkFeatures(layer, task.model.activation, draws.backend)


def _problems(points: tuple[tuple[int, float], ...]) -> dict[int, list[float]]:
    """{n: lams} without repetitions, sizes growing."""
    return {n: sorted({lam for size, lam in points if size == n}) for n in sorted({n for n, _ in points})}


def _training(fits: dict[int, Fit], order: list[tuple[int, int]]) -> dict[str, np.ndarray]:
    names = ("train_error", "train_loss", "optimality")
    return {
        name: np.array([getattr(fits[n], name)[column] for n, column in order])
        for name in names
        if getattr(fits[order[0][0]], name) is not None
    }

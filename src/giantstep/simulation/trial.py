"""One trial: draw, train the first layer, fit all readouts, measure. A pure function of plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model import Network, SpikedRF, Target
from .backend import Backend, make_backend
from .data import Data
from .draw import Batch, Draws
from .features import Features, GaussianFeatures, NetworkFeatures, ResultTwo
from .layer import first_layer
from .readout import FITTERS, Fit
from .statistics import drop_single_letter, summary_statistics


@dataclass(frozen=True)
class Task:
    """All that a trial needs, picklable: a model and a target with plain numbers, and what to fit."""

    model: Network | SpikedRF
    target: Target
    d: int
    trial: int
    seed: int
    points: tuple[tuple[int, float], ...]  # (n, lam) of each readout
    n_test: int
    features: str = "network"
    loss: str = "square"
    method: str = "auto"
    backend: str | None = None
    device: str = "cpu"
    dtype: str = "float64"


def run_trial(task: Task, backend: Backend | None = None) -> dict[str, np.ndarray]:
    """Every statistic of the trial: per point those of its readout (points last), else those of the layer."""
    backend = backend or make_backend(task.backend, task.device, task.dtype)
    draws = Draws(task.seed, task.trial, backend)
    layer = first_layer(task.model, task.target, task.d, draws)
    features = _features(task, layer, draws)
    train = Data(Batch.TRAIN, task.target, layer.theta, draws)
    test = Data(Batch.TEST, task.target, layer.theta, draws)

    def rows(n: int) -> Iterator[tuple[Any, Any]]:
        return ((features(block, Batch.TRAIN), block.labels) for block in train.blocks(n))

    problems = _problems(task.points)
    fits = FITTERS[task.loss, task.method](rows, layer.rows.shape[0], problems, backend)
    order = [(n, problems[n].index(lam)) for n, lam in task.points]
    readouts = backend.xp.stack([fits[n].readouts[:, column] for n, column in order], axis=1)
    answers = _training(fits, order) | summary_statistics(layer, readouts, backend)
    answers |= _test_errors(features, test, readouts, task, backend)
    if task.target.binary:
        answers["train_error_01"] = _wrong_training_signs(features, train, readouts, task, backend)
    return answers | {name: drop_single_letter(value, name) for name, value in layer.measured.items()}


def _features(task: Task, layer: Any, draws: Draws) -> Features:
    if task.features == "gaussian":
        assert isinstance(task.model, SpikedRF)  # refused earlier, with a sentence
        return GaussianFeatures(layer, ResultTwo(task.model), draws)
    return NetworkFeatures(layer, task.model.activation, draws.backend)


def _problems(points: tuple[tuple[int, float], ...]) -> dict[int, list[float]]:
    """{n: lams} without repetitions, sizes growing."""
    return {n: sorted({lam for size, lam in points if size == n}) for n in sorted({n for n, _ in points})}


def _training(fits: dict[int, Fit], order: list[tuple[int, int]]) -> dict[str, np.ndarray]:
    return {
        "train_error": np.array([fits[n].train_error[column] for n, column in order]),
        "train_loss": np.array([fits[n].train_loss[column] for n, column in order]),
    }


def _test_errors(
    features: Features, test: Data, readouts: Any, task: Task, backend: Backend
) -> dict[str, np.ndarray]:
    """Mean squared error against the noiseless target over fresh samples, all readouts together."""
    square, wrong = np.zeros(len(task.points)), np.zeros(len(task.points))
    for block in test.blocks(task.n_test):
        outputs = _outputs(features(block, test.batch), readouts, backend)
        if task.target.binary:
            wrong += _count(outputs * block.clean[:, None] <= 0, backend)
        outputs -= block.clean[:, None]
        square += backend.numpy(backend.xp.sum(outputs * outputs, axis=0))
    errors = {"test_error": square / task.n_test}
    return errors | ({"test_error_01": wrong / task.n_test} if task.target.binary else {})


def _wrong_training_signs(
    features: Features, train: Data, readouts: Any, task: Task, backend: Backend
) -> np.ndarray:
    """Share of wrong signs on the training labels: a second pass over the very same samples."""
    sizes = np.array([n for n, _ in task.points])
    wrong = np.zeros(len(sizes))
    for block in train.blocks(int(sizes.max())):
        outputs = _outputs(features(block, train.batch), readouts, backend)
        used = block.start + np.arange(outputs.shape[0])[:, None] < sizes
        wrong += _count((outputs * block.labels[:, None] <= 0) & backend.xp.asarray(used), backend)
    return wrong / sizes


def _outputs(features: Any, readouts: Any, backend: Backend) -> Any:
    outputs = backend.matmul(features, readouts)
    outputs /= readouts.shape[0] ** 0.5
    return outputs


def _count(condition: Any, backend: Backend) -> np.ndarray:
    return backend.numpy(backend.xp.sum(backend.xp.astype(condition, backend.dtype), axis=0))

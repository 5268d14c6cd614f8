"""Errors by sampling: all readouts of a trial on the same fresh samples, a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .backend import Backend
from .data import Data
from .features import FeatureMap


def sampled_errors(
    features: FeatureMap, test: Data, samples: int, readouts: Any, backend: Backend
) -> dict[str, np.ndarray]:
    """Mean squared error against the noiseless target, and for binary labels the share of wrong signs."""
    square, wrong = np.zeros(readouts.shape[1]), np.zeros(readouts.shape[1])
    for block in test.blocks(samples):
        outputs = _outputs(features(block, test.batch), readouts, backend)
        if test.target.binary:
            wrong += _count(outputs * block.clean[:, None] <= 0, backend)
        outputs -= block.clean[:, None]
        square += backend.numpy(backend.xp.sum(outputs * outputs, axis=0))
    errors = {"test_error": square / samples}
    return errors | ({"test_error_01": wrong / samples} if test.target.binary else {})


def wrong_training_signs(
    features: FeatureMap, train: Data, sizes: np.ndarray, readouts: Any, backend: Backend
) -> np.ndarray:
    """Share of wrong signs on the training labels: a second pass over the very same samples.

    Each readout counts the first `sizes` of them, those that it was fitted on.
    """
    wrong = np.zeros(len(sizes))
    for block in train.blocks(int(sizes.max())):
        outputs = _outputs(features(block, train.batch), readouts, backend)
        used = backend.asarray(block.start + np.arange(outputs.shape[0])[:, None] < sizes)
        wrong += _count((outputs * block.labels[:, None] <= 0) & (used > 0), backend)
    return wrong / sizes


def _outputs(features: Any, readouts: Any, backend: Backend) -> Any:
    outputs = backend.matmul(features, readouts)
    outputs /= readouts.shape[0] ** 0.5
    return outputs


def _count(condition: Any, backend: Backend) -> np.ndarray:
    return backend.numpy(backend.xp.sum(backend.xp.astype(condition, backend.dtype), axis=0))

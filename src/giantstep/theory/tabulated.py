"""Averages over κ of whatever is made of a first layer's coefficients, refined until they stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..gaussian import STRIDES, extrapolated_error
from .features import Features
from .labels import Label
from .problem import Problem
from .rule import FINEST, refine
from .symmetric import TINY

Compute = Callable[[Features, Label, np.ndarray], np.ndarray]

_COARSEST = 32  # κ intervals per piece to begin with


def averaged(problem: Problem, compute: Compute, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """`compute(features, label, chunk)`, an array [U, ...] of averages, and its error [U] over E σ*².

    `chunk` says which of the problem's first layers are meant. The error is what was reached, from three
    nested rules: it may stay above `tolerance` where an activation or a target is wild.
    """
    values: dict[int, np.ndarray] = {}  # those of each first layer on its finest rule so far
    error = np.empty(len(problem.c))
    for chunk, points, _ in problem.blocks(_COARSEST):

        def compute_some(left: np.ndarray, points: int, chunk: np.ndarray = chunk) -> np.ndarray:
            some, off = _on_three_rules(problem, compute, chunk[left], points)
            values.update(zip(chunk[left].tolist(), some, strict=True))
            return off

        finest = min(FINEST[problem.frame(chunk).spikes], problem.labels.finest)
        error[chunk] = refine(compute_some, len(chunk), points, finest, tolerance)
    return np.stack([values[u] for u in range(len(error))]), error


def _on_three_rules(
    problem: Problem, compute: Compute, chunk: np.ndarray, points: int
) -> tuple[np.ndarray, np.ndarray]:
    table = problem.table(chunk, points)
    rules = [table.at(stride) for stride in STRIDES]
    fine, middle, coarse = (compute(*rule, chunk) for rule in rules)
    features, label = rules[0]
    size = (features.weights * label.t2).sum(axis=-1) + TINY
    last, previous = (
        np.abs(a - b).reshape(len(chunk), -1) / size[:, None] for a, b in ((fine, middle), (middle, coarse))
    )
    off = extrapolated_error(last, previous)
    return fine, np.maximum(np.nan_to_num(off, nan=np.inf).max(axis=1), table.error)

"""Averages over κ of whatever is made of a first layer's coefficients, refined until they stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..gaussian import STRIDES, extrapolated_error
from .engine import Problem
from .features import Features, Label, Table, evaluations_per_model, is_sharp

Compute = Callable[[Features, Label, np.ndarray], np.ndarray]

_COARSEST, _FINEST = 32, 2048  # κ intervals per piece: where refinement starts, and where it gives up
_BLOCK = 1 << 20  # function values in flight


def averaged(problem: Problem, compute: Compute, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """`compute(features, label, chunk)`, an array [U, ...] of averages, and its error [U] over E σ*².

    `chunk` says which of the problem's first layers are meant. The error is what was reached, from three
    nested rules: it may stay above `tolerance` where an activation or a target is wild.
    """
    U = len(problem.gamma)
    values: np.ndarray | None = None
    error = np.empty(U)
    for chunk, points in _blocks(problem):
        while len(chunk):
            found, off = _on_three_rules(problem, compute, chunk, points)
            if values is None:
                values = np.empty((U, *found.shape[1:]), found.dtype)
            values[chunk], error[chunk] = found, off
            points *= 2
            chunk = chunk[off > tolerance] if points <= _FINEST else chunk[:0]
    assert values is not None  # a problem has at least one first layer
    return values, error


def _on_three_rules(
    problem: Problem, compute: Compute, chunk: np.ndarray, points: int
) -> tuple[np.ndarray, np.ndarray]:
    table = tabulate(problem, chunk, points)
    rules = [table.at(stride) for stride in STRIDES]
    fine, middle, coarse = (compute(*rule, chunk) for rule in rules)
    features, label = rules[0]
    size = (features.weights * label.t2).sum(axis=-1) + 1e-300
    last, previous = (
        np.abs(a - b).reshape(len(chunk), -1) / size[:, None] for a, b in ((fine, middle), (middle, coarse))
    )
    off = extrapolated_error(last, previous)
    return fine, np.nan_to_num(off, nan=np.inf).max(axis=1)


def tabulate(problem: Problem, chunk: np.ndarray, points: int) -> Table:
    """The table of some of a problem's first layers."""
    return Table(
        problem.activation,
        problem.target,
        problem.r[chunk],
        problem.c[chunk],
        problem.biases,
        problem.gamma[chunk],
        points,
    )


def _blocks(problem: Problem) -> list[tuple[np.ndarray, int]]:
    """First layers that can share a rule, and the rule to begin with: few enough at a time to bound the memory."""
    sharp = is_sharp(problem.target, problem.gamma)
    steepness = (np.abs(problem.r) / np.sqrt(problem.c)).max(axis=1)  # features vary on the scale √c/r
    doublings = np.minimum(np.ceil(np.log2(np.maximum(steepness / 2.0, 1.0))), 4).astype(int)
    blocks = []
    for kind, doubled in sorted(set(zip(sharp.tolist(), doublings.tolist(), strict=True))):
        members = np.flatnonzero((sharp == kind) & (doublings == doubled))
        points = _COARSEST << doubled
        cost = evaluations_per_model(problem.activation, problem.target, points) * problem.r.shape[1]
        size = max(1, _BLOCK // cost)
        blocks += [(members[i : i + size], points) for i in range(0, len(members), size)]
    return blocks

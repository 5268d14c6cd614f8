"""Simulation of features with two spikes: drawn, fitted by ridge regression, tested on fresh samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..grid import Grid
from ..model import Letters, Target, TwoSpikes, parameter
from .layer import group_slices, spread

if TYPE_CHECKING:
    import xarray as xr

_TEST = 20  # test samples per dimension


def simulate_two_spikes(
    model: TwoSpikes, target: Target, *, alpha: Any, lam: Any, d: int, trials: int, seed: int
) -> xr.Dataset:
    """`test_error`, `train_error`, `m` and `q2` (per group of neurons) of every trial, by plain linear algebra."""
    if d * model.beta < len(model.weights) or trials < 1:
        raise ParameterError(
            f"d = {d} and trials = {trials}: there must be neurons in every group, and a trial"
        )
    if np.ndim(np.asarray(target.noise)):
        raise ParameterError("noise must be a number in a simulation with two spikes")
    grid = Grid(
        {
            "alpha": parameter("alpha", alpha, low=0.0, strict=True),
            "lam": parameter("lam", lam, low=0.0, strict=True),
        }
    )
    points = [grid.over(name, grid.dims).reshape(-1) for name in ("alpha", "lam")]
    runs = [_trial(model, target, list(zip(*points, strict=True)), d, seed, trial) for trial in range(trials)]
    variables = {}
    for name in runs[0]:
        values = np.stack([run[name] for run in runs])  # [trial, point, ...]
        shape = (trials, *grid.shape, *values.shape[2:])
        extra = ("group",) if values.ndim > 2 else ()
        variables[name] = (("trial", *grid.dims, *extra), values.reshape(shape))
    attrs = {"command": "simulate", "d": d, "seed": seed, "loss": "square"}
    return grid.dataset(variables, attrs, {"trial": np.arange(trials)})


def _trial(
    model: TwoSpikes, target: Target, points: list[tuple[float, float]], d: int, seed: int, trial: int
) -> dict[str, np.ndarray]:
    rng = np.random.Generator(np.random.Philox(key=[seed, trial]))
    p = round(float(model.beta) * d)
    groups = group_slices(Letters(tuple(range(len(model.weights))), model.weights), p)
    v1, v2, t = np.linalg.qr(rng.standard_normal((d, 3)))[0].T
    rest = np.sqrt(max(0.0, 1.0 - sum(g * g for g in model.alignments)))
    theta = model.alignments[0] * v1 + model.alignments[1] * v2 + rest * t
    W = rng.standard_normal((p, d))
    W *= np.sqrt(model.c) / np.linalg.norm(W, axis=1, keepdims=True)
    for strength, direction, column in zip(model.strengths, (v1, v2), (0, 1), strict=True):
        left = spread(tuple(pair[column] for pair in model.left), groups)
        W += strength * np.outer(left, direction)
    most = round(max(a for a, _ in points) * d)
    X, fresh = rng.standard_normal((most, d)), rng.standard_normal((_TEST * d, d))
    noise = float(np.asarray(target.noise))
    y = target.function(X @ theta) + noise * rng.standard_normal(most)
    phi, test = (model.activation(inputs @ W.T) / np.sqrt(p) for inputs in (X, fresh))
    truth = target.function(fresh @ theta)
    found: dict[str, list[Any]] = {"test_error": [], "train_error": [], "m": [], "q2": []}
    for ratio, penalty in points:
        n = round(ratio * d)
        a = np.linalg.solve(phi[:n].T @ phi[:n] + penalty * np.eye(p), phi[:n].T @ y[:n])
        found["test_error"].append(np.mean((truth - test @ a) ** 2))
        found["train_error"].append(np.mean((y[:n] - phi[:n] @ a) ** 2))
        found["m"].append([a[group].sum() / np.sqrt(p) for group in groups])
        found["q2"].append([(a[group] ** 2).sum() / p for group in groups])
    return {name: np.array(values) for name, values in found.items()}

"""What the tests of the simulation share: letters, first layers of one trial, array libraries."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest

from giantstep import Letters, Target
from giantstep.model.target import as_target
from giantstep.simulation.backend import Backend, make_backend
from giantstep.simulation.data import Data
from giantstep.simulation.draw import Draws
from giantstep.simulation.first_layer import first_layer
from giantstep.simulation.gradient_step import Weights

BACKEND = make_backend()
LETTERS = Letters((1.0, -0.5, 0.0), (0.3, 0.45, 0.25), biases=(0.2, 0.0, -0.4))


def library(name: str) -> Backend:
    """What runs on array-api-strict asks nothing of an array library that torch may not have."""
    if name == "torch":
        pytest.importorskip("torch")
        return make_backend("torch")
    return Backend(array_api_strict, name, device=None)


def drawn(
    model: Any, target: Target | str = "sin", d: int = 40, trial: int = 0, bulk: str | None = None
) -> tuple[Weights, Draws]:
    draws = Draws(5, trial, BACKEND)
    return first_layer(model, as_target(target), d, draws, bulk), draws


def samples(batch: int, layer: Weights, draws: Draws, target: Target | str, n: int, steps: int = 1):
    return Data(batch, as_target(target), layer.theta, draws, steps).block(0, n)


def sizes(layer: Weights) -> list[int]:
    return [group.stop - group.start for group in layer.groups]


def ridge_readout(features: np.ndarray, labels: np.ndarray, lam: float) -> np.ndarray:
    """From features [n, p], by the definition."""
    phi = features / np.sqrt(features.shape[1])
    return np.linalg.solve(phi.T @ phi + lam * np.eye(phi.shape[1]), phi.T @ labels)

"""Inputs with a covariance Ω, in whitened coordinates: x = Ω^½g with g ~ N(0, I), so that w·x = (Ω^½w)·g.

A network depends on its rows through Ω^½w alone. A trial keeps these, in the eigenbasis of Ω, and the inputs g: labels,
features, errors and statistics are then those of isotropic inputs. Two things differ. Initial rows are Ω^½ times what
they would be, and a gradient step in w is Ω times that in Ω^½w.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..model.inputs import Inputs
from .draw import Draws, Kind, Purpose
from .gradient_step import largest_remainder


def coordinates(inputs: Inputs, d: int) -> np.ndarray:
    """How many of d coordinates have each eigenvalue, [J]; refused where one that counts has none."""
    if inputs.d not in (None, d):
        raise ParameterError(
            f"d = {d} is not the number of inputs that the eigenvalues were made for; use d={inputs.d}, or make the"
            f" inputs for {d}",
            "d",
        )
    counts = largest_remainder(inputs.mu, d)
    if np.any((counts == 0) & (inputs.mu > 0)):
        share = float(inputs.mu[(counts == 0) & (inputs.mu > 0)][0])
        raise ParameterError(
            f"d = {d} is too small: no input has the eigenvalue of mass {share:g}; use d of at least"
            f" {int(np.ceil(1.0 / share))}",
            "d",
        )
    return counts


def eigenvalues(inputs: Inputs, d: int) -> np.ndarray:
    """The eigenvalue of each coordinate, with mean 1 [d]."""
    if inputs.kept is not None:
        return inputs.kept.omega
    omega = np.repeat(inputs.omega, coordinates(inputs, d))
    return omega / omega.mean()


def target_directions(inputs: Inputs, k: int, d: int, draws: Draws) -> list[Any]:
    """The target's k directions Ω^½θ, orthonormal, and one more across them.

    On each eigenvalue they are τ^½Q with orthonormal rows Q, uniform. An eigenvalue with fewer coordinates than
    directions has not room for them: there the shares are right on average, and all directions together are made
    orthonormal in the end.
    """
    drawn = draws.backend.numpy(draws.normal(Purpose.START, Kind.DIRECTIONS, 0, k + 1, d))
    theta = drawn[:k]
    if inputs.kept is not None and inputs.kept.theta is not None:
        theta = inputs.kept.theta
    else:
        values, vectors = np.linalg.eigh(inputs.tau(k))
        roots = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.swapaxes(1, 2)
        ends = np.cumsum(coordinates(inputs, d))
        blocks = np.split(theta, ends[:-1], axis=1)
        theta = np.concatenate(
            [root @ _orthonormal(block) for root, block in zip(roots, blocks, strict=True)], axis=1
        )
        theta = _orthonormal(theta)
    free = drawn[k] - (theta @ drawn[k]) @ theta
    return [draws.backend.asarray(one) for one in (*theta, free / np.linalg.norm(free))]


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    """The nearest orthonormal rows [k, n]; where n < k, orthogonal columns of length √(k/n)."""
    k, n = rows.shape
    left, _, right = np.linalg.svd(rows, full_matrices=False)
    return left @ right * max(1.0, k / max(n, 1)) ** 0.5

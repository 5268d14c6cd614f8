"""Directions in input space: drawn, scaled to unit length, and what is left of some across others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .draw import Draws, Kind, Purpose

_ROUNDING = 1e-12  # lengths of what is left of a unit vector


def directions(count: int, d: int, draws: Draws) -> list[Any]:
    """Orthonormal vectors, uniform."""
    drawn = draws.normal(Purpose.START, Kind.DIRECTIONS, 0, count, d)
    found: list[Any] = []
    for i in range(count):
        vector = drawn[i, :]
        for other in found:
            vector = vector - (drawn[i, :] @ other) * other
        found.append(unit(vector))
    return found


def left_across(rest: list[Any]) -> tuple[Any, ...]:
    """Orthonormal directions along what is left of the target's across the spikes, each as near to its own as can be.

    Turned to the axes of their Gram matrix the remains are orthogonal: there each gets unit length (or stays 0 where
    nothing is left), and they are turned back.
    """
    turn = np.linalg.eigh(np.array([[float(one @ other) for other in rest] for one in rest]))[1]
    units = [unit(sum(part * one for part, one in zip(axis, rest, strict=True))) for axis in turn.T.tolist()]
    return tuple(sum(part * one for part, one in zip(own, units, strict=True)) for own in turn.tolist())


def length(vector: Any) -> float:
    return float(vector @ vector) ** 0.5


def unit(vector: Any) -> Any:
    """The vector at unit length; 0 where there is nothing but rounding."""
    size = length(vector)
    return vector / size if size > _ROUNDING else 0.0 * vector

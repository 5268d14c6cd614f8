"""How precise answers are, and what to refine: from solutions on three nested rules, finest first.

A rule is two: that in κ, and those over batches inside an exact bulk. Both are halved together from fine to coarse.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..gaussian import extrapolated_error
from .equations.solution import Solution
from .features import Features
from .labels import Label
from .solver import OnRule, Solver
from .square import scale
from .symmetric import packing

NEARLY_ZERO = 1e-6  # error, over E σ*², under which its quadrature error counts as absolute
_SMALL_LOSS = 1e-2  # the same for the training loss
_MONITORED = (("test_error", NEARLY_ZERO), ("train_loss", _SMALL_LOSS))
_MARGIN = 10.0  # for what quantities together say of each of them
_CHIEF = 0.1  # share of the largest change that is worth refining for


def power(features: Features, label: Label) -> np.ndarray:
    """E σ*², [U, 1]."""
    return (features.weights * label.t2).sum(axis=-1)[:, None]


def quadrature_error(solutions: list[Solution], finest: tuple[Features, Label], linear: bool) -> np.ndarray:
    """Relative error of the test error, of the training loss and, for `linear` scores, of the responses, [U, A].

    One quantity alone may agree on two rules by accident, its error changing sign between them: if that is on the finer
    ones, the others tell; if on the coarser ones, it seems to converge slowly, and all of them together tell better.
    """
    typical = power(*finest)
    fine, middle, coarse = solutions
    last, previous = _change(fine, middle, typical, linear), _change(middle, coarse, typical, linear)
    own = extrapolated_error(last, previous).max(axis=-1)
    together = extrapolated_error(last.max(axis=-1), previous.max(axis=-1))
    error = np.minimum(own, _MARGIN * together) + fine.tail
    return np.where(np.isfinite(error), error, np.inf)


def _change(one: Solution, other: Solution, typical: np.ndarray, linear: bool) -> np.ndarray:
    """What is watched, relative to its size, [U, A, quantities].

    The responses join in where they are solved to rounding, so that their differences are the quadrature's.
    """
    parts: list[np.ndarray] = []
    for name, least in _MONITORED:
        value = getattr(one, name)
        size = np.maximum(np.abs(value), least * typical) + 1e-300
        parts.append((np.abs(value - getattr(other, name)) / size)[..., None])
    if linear:
        V = one.state.V
        change = np.abs(V - other.state.V) / scale(V, packing(one.state.groups))
        parts.append(change.max(axis=-1, keepdims=True))
    return np.concatenate(parts, axis=-1)


def to_refine(
    solver: Solver, rules: list[OnRule], solutions: list[Solution], unresolved: np.ndarray
) -> tuple[bool, bool]:
    """Whether the rule in κ, and whether those inside the bulk, are what moves unresolved points [U, A].

    Told apart by a solution on the middle rule in κ with the finest bulk. Other losses are too dear for that.
    """
    (fine, middle, _), (finest, halved, _) = solutions, rules
    if finest.bulk is halved.bulk:
        return True, False
    if not solver.linear:
        return True, True
    typical = power(finest.features, finest.label)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mixed = solver.solve(replace(halved, bulk=finest.bulk), middle.start, thorough=False)
    by_kappa, by_bulk = (
        float(np.nanmax(_change(*both, typical, True)[unresolved], initial=0.0))
        for both in ((fine, mixed), (mixed, middle))
    )
    least = _CHIEF * max(by_kappa, by_bulk)
    return by_kappa >= least, by_bulk >= least

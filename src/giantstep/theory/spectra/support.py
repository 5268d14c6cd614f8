"""Where a bulk lives: its intervals, and nodes on them that resolve square-root edges and long tails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .halfplane import NEAR, Follower

_PER_DECADE = 50  # scanned points; more if the mass does not add up
_DECADES = 14  # below the upper end
_SECTIONS = 40  # points per bracket and round of edge finding
_ROUNDS = 5
_TALL = 50.0  # upper over lower edge beyond which nodes are spread in ln x
_INSIDE = 0.6  # Im s at a quarter of η over Im s at η: 1 inside the support, 1/4 outside
_NEGLIGIBLE = 1e-9  # mass per unit of ln x that counts as none
_COMPLETE = 1e-6  # missing mass that calls for a finer scan


class Density(NamedTuple):
    """A bulk: intervals [I, 2], and nodes with density and weights such that Σ weight·density is its mass."""

    intervals: np.ndarray
    x: np.ndarray
    density: np.ndarray
    weights: np.ndarray
    residual: float  # largest of the self-consistent equations, over the nodes
    open_below: bool  # whether the support goes on below what was scanned


def find_density(
    follower: Follower, entries: np.ndarray, top: float, mass_at_zero: float, points: int
) -> Density:
    """The bulk below `top`; Σ V[entries] is its Stieltjes transform. The scan is refined until its mass is 1.

    Unless the support reaches below 1e-14·top, as that of a saturating activation may: the mass missing then
    belongs to eigenvalues that are zero for any practical purpose.
    """
    expected = 1.0 - mass_at_zero
    best, off = None, np.inf
    for refinement in (1, 3, 9):
        intervals = find_intervals(follower, entries, top, mass_at_zero, refinement * _PER_DECADE)
        found = sample_density(follower, entries, intervals, mass_at_zero, points)
        found = found._replace(open_below=bool(len(intervals)) and intervals[0, 0] <= bottom_of(top))
        deficit = abs(expected - float(found.weights @ found.density))
        if best is None or deficit < off:
            best, off = found, deficit
        if off < _COMPLETE or found.open_below:
            break
    assert best is not None
    return best


def find_intervals(
    follower: Follower, entries: np.ndarray, top: float, mass_at_zero: float, per_decade: int
) -> np.ndarray:
    """Edges [I, 2] of the support, by a scan in ln x and repeated subdivision of the cells where it begins or ends."""
    x = np.geomspace(bottom_of(top), top, _DECADES * per_decade)
    inside = _is_inside(follower, entries, x, mass_at_zero)
    inside[-1] = False
    if not inside.any():
        return np.empty((0, 2))
    change = np.flatnonzero(np.diff(inside.astype(int)))
    low, high = np.log(x[change]), np.log(x[change + 1])
    starts = ~inside[change]
    for _ in range(_ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _SECTIONS + 2)[None, 1:-1]
        found = _is_inside(follower, entries, np.exp(grid).reshape(-1), mass_at_zero).reshape(grid.shape)
        same = found == ~starts[:, None]  # still as at the lower end
        count = np.where(same.all(axis=1), _SECTIONS, same.argmin(axis=1))
        step = (high - low) / (_SECTIONS + 1)
        low, high = low + count * step, low + (count + 1) * step
    edges = np.exp(0.5 * (low + high))
    if inside[0]:  # the support goes on below what was scanned
        edges = np.concatenate([[x[0]], edges])
    return edges.reshape(-1, 2)


def sample_density(
    follower: Follower, entries: np.ndarray, intervals: np.ndarray, mass_at_zero: float, points: int
) -> Density:
    """Nodes on every interval: x (or ln x, on long ones) = middle - half·cos t with t evenly spaced.

    Both square-root edges and an inverse square root at 0 are smooth functions of t.
    """
    t = (np.arange(points) + 0.5) * np.pi / points
    x, weights = [], []
    for low, high in intervals:
        tall = high > _TALL * low
        a, b = (np.log(low), np.log(high)) if tall else (low, high)
        node = 0.5 * (a + b) - 0.5 * (b - a) * np.cos(t)
        weight = 0.5 * (b - a) * np.sin(t) * np.pi / points
        x.append(np.exp(node) if tall else node)
        weights.append(weight * x[-1] if tall else weight)
    if not x:
        return Density(intervals, *(np.empty(0),) * 3, 0.0, False)
    nodes = np.concatenate(x)
    V, residual = follower.near_axis(nodes)
    density = density_of(V, entries, nodes, mass_at_zero)
    return Density(intervals, nodes, density, np.concatenate(weights), float(residual.max()), False)


def bottom_of(top: float) -> float:
    """Where a scan begins."""
    return top * 10.0**-_DECADES


def density_of(V: np.ndarray, entries: np.ndarray, x: np.ndarray, mass_at_zero: float) -> np.ndarray:
    """Im s/π, less the Lorentzian tail that the mass at zero has at finite η."""
    tail = mass_at_zero * NEAR / (1.0 + NEAR**2) / x
    return np.maximum((V[:, entries].sum(axis=1).imag - tail) / np.pi, 0.0)


def _is_inside(follower: Follower, entries: np.ndarray, x: np.ndarray, mass_at_zero: float) -> np.ndarray:
    """Whether Im s stays when η shrinks: a density. Outside, it shrinks in proportion."""
    V, _ = follower.near_axis(x)
    closer, _ = follower.settle(V, -x * (1.0 + 0.25j * NEAR))
    tail = mass_at_zero * NEAR / x
    far, near = (V[:, entries].sum(axis=1).imag - tail, closer[:, entries].sum(axis=1).imag - 0.25 * tail)
    return (near > _INSIDE * far) & (near * x > _NEGLIGIBLE)

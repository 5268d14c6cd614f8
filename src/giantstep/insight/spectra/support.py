"""Where a bulk lives: its intervals, and nodes on them that resolve square-root edges and long tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...errors import ConvergenceError
from .halfplane import NEAR, HalfPlaneSolver

_PER_DECADE = 50  # scanned points; more if the mass does not add up
_REFINEMENTS = (1, 3, 9)  # of the scan, until it does
_DECADES = 14  # below the upper end
_SECTIONS = 40  # points per bracket and round of a search
_MOST_PIECES = 24  # intervals, or dips of a density, beyond which they are an artefact
_TALL = 50.0  # upper over lower edge beyond which nodes are spread in ln x
_CLOSER = 0.25  # of η: Im s there over Im s at η is 1 inside the support, and this outside,
_INSIDE = 0.6  # so that a larger ratio than this is inside
_NEGLIGIBLE = 1e-9  # mass per unit of ln x that counts as none
_SOLVED = 1e-6  # relative residual of solved equations; and missing mass that calls for a finer scan
_RESOLVED, _DOUBLINGS = (1e-7, 3)  # change of mass and mean under which nodes suffice; how often they may double


class Density(NamedTuple):
    """A bulk: intervals [I, 2], and nodes with density and weights such that Σ weight·density is its mass."""

    intervals: np.ndarray
    x: np.ndarray
    density: np.ndarray
    weights: np.ndarray
    unsolved: float  # mass at nodes where the equations were not solved to 1e-6

    @property
    def mass(self) -> float:
        """Share of the eigenvalues that lie in the bulk."""
        return float(self.weights @ self.density)

    @property
    def mean(self) -> float:
        """First moment of the bulk, that of no bulk being as good as any."""
        return float(self.weights @ (self.density * self.x)) or 1.0


def find_density(solver: HalfPlaneSolver, top: float, points: int) -> Density:
    """The bulk below `top`; the trace of V2 is its Stieltjes transform s. The scan is refined until its mass is 1.

    Unless the support reaches below 1e-14·top, as that of a saturating activation may: the mass missing then
    belongs to eigenvalues that are zero for any practical purpose. Nor where tails are not `smooth`, because the rule
    over the batches breaks them up: no scan mends that.
    """
    smooth, expected = solver.equations.samples.smooth, 1.0 - solver.equations.mass_at_zero
    candidates: list[Density] = []
    for refinement in _REFINEMENTS if smooth else (1,):
        x = np.geomspace(top * 10.0**-_DECADES, top, _DECADES * _PER_DECADE * refinement)
        intervals = _find_intervals(solver, x)
        _refuse_combs(len(intervals), intervals)
        candidates.append(_resolved(solver, intervals, points, _DOUBLINGS if smooth else 0))
        open_below = bool(len(intervals)) and intervals[0, 0] <= x[0]
        if open_below or abs(candidates[-1].mass - expected) < _SOLVED:
            break
    return min(candidates, key=lambda density: abs(density.mass - expected))


def locate(
    flag: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Places [n] between `low` and `high` where flag(x) stops being `before`, to the distance from the axis, NEAR·x.

    All brackets are divided in ln x again and again, after the last point at which the flag is as at the lower end.
    """
    low, high = np.log(low), np.log(high)
    each = np.arange(len(low))
    while np.any(high - low > NEAR):
        grid = np.linspace(low, high, _SECTIONS + 2, axis=1)
        same = flag(np.exp(grid[:, 1:-1]).reshape(-1)).reshape(len(low), -1) == before[:, None]
        last = np.where(same, np.arange(1, _SECTIONS + 1), 0).max(axis=1)
        low, high = grid[each, last], grid[each, last + 1]
    return np.exp(0.5 * (low + high))


def _refuse_combs(pieces: int, found: object) -> None:
    """Tails come in one piece; a rule too coarse for them, and whose poles cannot be put right, makes combs of them."""
    if pieces > _MOST_PIECES:
        raise ConvergenceError(
            "the tails of this spectrum are not resolved: the rule over the batches (of a target with kinks or several"
            f" directions, or of several steps) breaks them into {pieces} pieces; use bulk = 'isotropic', or"
            " simulate_spectrum",
            found,
        )


def _resolved(solver: HalfPlaneSolver, intervals: np.ndarray, points: int, doublings: int) -> Density:
    """Nodes doubled until mass and mean stand still: a knee between bulk and tail takes more than smooth edges do.

    The mean is asked too, because knees are at upper ends, where little mass makes much of it.
    """
    density = _sample_density(solver, intervals, points)
    intervals, pieces = _split_at_dips(solver, density)
    if len(pieces) > len(density.intervals):
        density = _sample_density(solver, pieces, points)
    for doubling in range(1, doublings + 1):
        finer = _sample_density(solver, pieces, points << doubling)
        if max(abs(finer.mass - density.mass), abs(finer.mean / density.mean - 1.0)) < _RESOLVED:
            break
        density = finer
    return density._replace(intervals=intervals)


def _find_intervals(solver: HalfPlaneSolver, x: np.ndarray) -> np.ndarray:
    """Edges [I, 2] of the support, by a scan at x and a search in the cells where it begins or ends."""
    inside = _is_inside(solver, x)
    inside[-1] = False
    change = np.flatnonzero(inside[1:] != inside[:-1])
    edges = locate(lambda x: _is_inside(solver, x), x[change], x[change + 1], inside[change])
    return np.concatenate([x[:1][inside[:1]], edges]).reshape(-1, 2)  # the support may go on below x[0]


def _split_at_dips(solver: HalfPlaneSolver, density: Density) -> tuple[np.ndarray, np.ndarray]:
    """(intervals, pieces): intervals cut where a dip of the density turns out to be a gap, and pieces of them
    that end at the bottom of the other dips, where a density about to split is not smooth."""
    gaps, cuts = [], []
    order = np.argsort(density.x)
    x, rho = density.x[order], density.density[order]
    owner = np.searchsorted(density.intervals[:, 0], x)
    dips = 1 + np.flatnonzero((rho[1:-1] < rho[:-2]) & (rho[1:-1] < rho[2:]) & (owner[:-2] == owner[2:]))
    _refuse_combs(len(dips), density)
    for i in dips:
        low, high, grid = x[i - 1], x[i + 1], x[i : i + 1]
        for _ in range(2):
            grid = np.linspace(low, high, _SECTIONS)
            lowest = int(np.clip(_density_at(solver, grid)[0].argmin(), 1, _SECTIONS - 2))
            low, high = grid[lowest - 1], grid[lowest + 1]
        outside = grid[~_is_inside(solver, grid)]
        if len(outside):
            ends = np.array([x[i - 1], outside[-1]]), np.array([outside[0], x[i + 1]])
            gaps += list(locate(lambda x: _is_inside(solver, x), *ends, np.array([True, False])))
        else:
            cuts.append(0.5 * (low + high))
    intervals = np.sort(np.concatenate([density.intervals.reshape(-1), gaps])).reshape(-1, 2)
    ends = np.sort(np.concatenate([intervals.reshape(-1), np.repeat(cuts, 2)]))
    return intervals, ends.reshape(-1, 2)


def _sample_density(solver: HalfPlaneSolver, intervals: np.ndarray, points: int) -> Density:
    """Nodes on every interval: x (or ln x, on long ones) = middle - half·cos t with t evenly spaced.

    Both square-root edges and an inverse square root at 0 are smooth functions of t.
    """
    t = (np.arange(points) + 0.5) * np.pi / points
    tall = intervals[:, 1:] > _TALL * intervals[:, :1]
    low, high = np.where(tall, np.log(intervals), intervals).T[..., None]
    node = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(t)  # [I, points]
    weights = 0.5 * (high - low) * np.sin(t) * np.pi / points
    x = np.where(tall, np.exp(np.where(tall, node, 0.0)), node)
    weights = (weights * np.where(tall, x, 1.0)).reshape(-1)  # dx = x d(ln x)
    x = x.reshape(-1)
    density, residual = _density_at(solver, x)
    unsolved = float((weights * density)[~(residual < _SOLVED)].sum())
    return Density(intervals, x, density, weights, unsolved)


def _density_at(solver: HalfPlaneSolver, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Im s/π, and the residual of the equations."""
    V, residual = solver.near_axis(x)
    return np.maximum(_imaginary(solver, V, x, NEAR) / np.pi, 0.0), residual


def _is_inside(solver: HalfPlaneSolver, x: np.ndarray) -> np.ndarray:
    """Whether Im s stays when η shrinks: a density. Outside, it shrinks in proportion."""
    V, _ = solver.near_axis(x)
    closer, _ = solver.settle(V, -x * (1.0 + 1j * _CLOSER * NEAR))
    far, near = _imaginary(solver, V, x, NEAR), _imaginary(solver, closer, x, _CLOSER * NEAR)
    return (near > _INSIDE * far) & (near * x > _NEGLIGIBLE)


def _imaginary(solver: HalfPlaneSolver, V: np.ndarray, x: np.ndarray, eta: float) -> np.ndarray:
    """Im s at z = -x(1 + iη), less the Lorentzian tail that the mass at zero has there."""
    equations = solver.equations
    return V[:, equations.entries].sum(axis=1).imag - equations.mass_at_zero * eta / (1.0 + eta**2) / x

"""Where a bulk lives: its intervals, and nodes on them that resolve square-root edges and long tails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import ConvergenceError
from .halfplane import NEAR, HalfPlaneSolver

_PER_DECADE = 50  # scanned points; more if the mass does not add up
_DECADES = 14  # below the upper end
_SECTIONS = 40  # points per bracket and round of edge finding
_ROUNDS, _DIP_ROUNDS = 5, 2
_MOST_PIECES = 24  # intervals, or dips of a density, beyond which they are an artefact
_TALL = 50.0  # upper over lower edge beyond which nodes are spread in ln x
_INSIDE = 0.6  # Im s at a quarter of η over Im s at η: 1 inside the support, 1/4 outside
_NEGLIGIBLE = 1e-9  # mass per unit of ln x that counts as none
_SOLVED = 1e-6  # relative residual
_COMPLETE = 1e-6  # missing mass that calls for a finer scan
_RESOLVED, _DOUBLINGS = (
    1e-7,
    3,
)  # change of mass and mean under which nodes suffice, and how often they may double


class Density(NamedTuple):
    """A bulk: intervals [I, 2], and nodes with density and weights such that Σ weight·density is its mass."""

    intervals: np.ndarray
    x: np.ndarray
    density: np.ndarray
    weights: np.ndarray
    unsolved: float  # mass at nodes where the equations were not solved to 1e-6
    open_below: bool  # whether the support goes on below what was scanned

    @property
    def mass(self) -> float:
        """Share of the eigenvalues that lie in the bulk."""
        return float(self.weights @ self.density)

    @property
    def mean(self) -> float:
        """First moment of the bulk, that of no bulk being as good as any."""
        return float(self.weights @ (self.density * self.x)) or 1.0


def find_density(
    solver: HalfPlaneSolver,
    entries: np.ndarray,
    top: float,
    mass_at_zero: float,
    points: int,
    smooth: bool = True,
) -> Density:
    """The bulk below `top`; Σ V[entries] is its Stieltjes transform. The scan is refined until its mass is 1.

    Unless the support reaches below 1e-14·top, as that of a saturating activation may: the mass missing then
    belongs to eigenvalues that are zero for any practical purpose. Nor where tails are not `smooth`, because the rule
    over the batches breaks them up: no scan mends that.
    """
    best, off = None, np.inf
    for refinement in (1, 3, 9) if smooth else (1,):
        intervals = find_intervals(solver, entries, top, mass_at_zero, refinement * _PER_DECADE)
        _refuse_combs(len(intervals), intervals)
        doublings = _DOUBLINGS if smooth else 0
        found = _resolved(solver, entries, intervals, mass_at_zero, points, doublings)
        found = found._replace(open_below=bool(len(intervals)) and intervals[0, 0] <= bottom_of(top))
        deficit = abs(1.0 - mass_at_zero - found.mass)
        if best is None or deficit < off:
            best, off = found, deficit
        if off < _COMPLETE or found.open_below:
            break
    assert best is not None
    return best


def _refuse_combs(pieces: int, found: object) -> None:
    """Tails come in one piece; a rule too coarse for them, and whose poles cannot be put right, makes combs of them."""
    if pieces > _MOST_PIECES:
        raise ConvergenceError(
            "the tails of this spectrum are not resolved: the rule over the batches (of a target with kinks or several"
            f" directions, or of several steps) breaks them into {pieces} pieces; use bulk='isotropic', or"
            " simulate_spectrum",
            found,
        )


def _resolved(
    solver: HalfPlaneSolver,
    entries: np.ndarray,
    intervals: np.ndarray,
    mass_at_zero: float,
    points: int,
    doublings: int,
) -> Density:
    """Nodes doubled until mass and mean stand still: a knee between bulk and tail takes more than smooth edges do.

    The mean is asked too, because knees are at upper ends, where little mass makes much of it.
    """
    found = sample_density(solver, entries, intervals, mass_at_zero, points)
    intervals, pieces = _split_at_dips(solver, entries, found, mass_at_zero)
    if len(pieces) > len(found.intervals):
        found = sample_density(solver, entries, pieces, mass_at_zero, points)
    for doubling in range(1, doublings + 1):
        finer = sample_density(solver, entries, pieces, mass_at_zero, points << doubling)
        if max(abs(finer.mass - found.mass), abs(finer.mean / found.mean - 1.0)) < _RESOLVED:
            break
        found = finer
    return found._replace(intervals=intervals)


def find_intervals(
    solver: HalfPlaneSolver, entries: np.ndarray, top: float, mass_at_zero: float, per_decade: int
) -> np.ndarray:
    """Edges [I, 2] of the support, by a scan in ln x and repeated subdivision of the cells where it begins or ends."""
    x = np.geomspace(bottom_of(top), top, _DECADES * per_decade)
    inside = _is_inside(solver, entries, x, mass_at_zero)
    inside[-1] = False
    if not inside.any():
        return np.empty((0, 2))
    change = np.flatnonzero(np.diff(inside.astype(int)))
    low, high = np.log(x[change]), np.log(x[change + 1])
    starts = ~inside[change]
    edges = _located(solver, entries, low, high, starts, mass_at_zero)
    if inside[0]:  # the support goes on below what was scanned
        edges = np.concatenate([[x[0]], edges])
    return edges.reshape(-1, 2)


def _located(
    solver: HalfPlaneSolver,
    entries: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    starts: np.ndarray,
    mass_at_zero: float,
) -> np.ndarray:
    """Edges between ln x = `low` and `high`: beginnings of an interval where `starts`, else ends."""
    for _ in range(_ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _SECTIONS + 2)[None, 1:-1]
        found = _is_inside(solver, entries, np.exp(grid).reshape(-1), mass_at_zero).reshape(grid.shape)
        same = found == ~starts[:, None]  # still as at the lower end
        count = np.where(same.all(axis=1), _SECTIONS, same.argmin(axis=1))
        step = (high - low) / (_SECTIONS + 1)
        low, high = low + count * step, low + (count + 1) * step
    return np.exp(0.5 * (low + high))


def _split_at_dips(
    solver: HalfPlaneSolver, entries: np.ndarray, found: Density, mass_at_zero: float
) -> tuple[np.ndarray, np.ndarray]:
    """(intervals, pieces): intervals cut where a dip of the density turns out to be a gap, and pieces of them
    that end at the bottom of the other dips, where a density about to split is not smooth."""
    gaps, cuts = [], []
    order = np.argsort(found.x)
    x, density = found.x[order], found.density[order]
    owner = np.searchsorted(found.intervals[:, 0], x)
    low = (density[1:-1] < density[:-2]) & (density[1:-1] < density[2:]) & (owner[:-2] == owner[2:])
    dips = 1 + np.flatnonzero(low)
    _refuse_combs(len(dips), found)
    for i in dips:
        low, high = x[i - 1], x[i + 1]
        for _ in range(_DIP_ROUNDS):
            grid = np.linspace(low, high, _SECTIONS)
            V, _ = solver.near_axis(grid)
            lowest = int(np.clip(V[:, entries].sum(axis=1).imag.argmin(), 1, _SECTIONS - 2))
            inside = _is_inside(solver, entries, grid, mass_at_zero)
            if not inside.all():
                out = np.flatnonzero(~inside)
                ends = np.log([low, grid[out[-1]]]), np.log([grid[out[0]], high])
                gaps += list(_located(solver, entries, *ends, np.array([False, True]), mass_at_zero))
                break
            low, high = grid[lowest - 1], grid[lowest + 1]
        else:
            cuts.append(0.5 * (low + high))
    intervals = np.sort(np.concatenate([found.intervals.reshape(-1), gaps])).reshape(-1, 2)
    ends = np.sort(np.concatenate([intervals.reshape(-1), np.repeat(cuts, 2)]))
    return intervals, ends.reshape(-1, 2)


def sample_density(
    solver: HalfPlaneSolver, entries: np.ndarray, intervals: np.ndarray, mass_at_zero: float, points: int
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
        empty = np.empty(0)
        return Density(intervals, empty, empty, empty, 0.0, False)
    nodes = np.concatenate(x)
    V, residual = solver.near_axis(nodes)
    density = density_of(V, entries, nodes, mass_at_zero)
    unsolved = float((np.concatenate(weights) * density)[~(residual < _SOLVED)].sum())
    return Density(intervals, nodes, density, np.concatenate(weights), unsolved, False)


def bottom_of(top: float) -> float:
    """Where a scan begins."""
    return top * 10.0**-_DECADES


def density_of(V: np.ndarray, entries: np.ndarray, x: np.ndarray, mass_at_zero: float) -> np.ndarray:
    """Im s/π, less the Lorentzian tail that the mass at zero has at finite η."""
    tail = mass_at_zero * NEAR / (1.0 + NEAR**2) / x
    return np.maximum((V[:, entries].sum(axis=1).imag - tail) / np.pi, 0.0)


def _is_inside(
    solver: HalfPlaneSolver, entries: np.ndarray, x: np.ndarray, mass_at_zero: float
) -> np.ndarray:
    """Whether Im s stays when η shrinks: a density. Outside, it shrinks in proportion."""
    V, _ = solver.near_axis(x)
    closer, _ = solver.settle(V, -x * (1.0 + 0.25j * NEAR))
    tail = mass_at_zero * NEAR / x
    far, near = (V[:, entries].sum(axis=1).imag - tail, closer[:, entries].sum(axis=1).imag - 0.25 * tail)
    return (near > _INSIDE * far) & (near * x > _NEGLIGIBLE)

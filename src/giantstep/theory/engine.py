"""From parameter arrays to answers: blocks of work, refinement of the rule in κ, limits, diagnostics.

A problem has U first layers and, for each, A settings of the readout. Work goes in rectangles of (U, A) that
fit the cache. Each rectangle is solved on three nested rules in κ, coarse to fine, each starting from the
last: that costs less than the finest alone, and yields the quadrature error. Points whose error is too large
go on to a rule with twice the nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..functions import Function
from ..gaussian import STRIDES, extrapolated_error
from . import square
from .bulk import Bulk
from .features import Features, Label, Table, evaluations_per_model, is_sharp
from .square import Setting, Solution
from .symmetric import packing

RESIDUAL_TOLERANCE = 1e-9
ACCEPTED_ERROR = 1e-6  # quadrature error up to which a point that cannot be refined further counts as solved
_FARTHEST = 2.0  # how much the range of κ may grow
_FINEST = 2048  # κ intervals per piece at which refinement gives up
_BLOCK = 1 << 20  # array elements in flight: a few megabytes, so that passes stay in cache
_VANISHING = 1e-20  # E μ2² over E σ² under which an activation is linear
_NEARLY_ZERO = 1e-6  # error, over E σ*², under which its quadrature error counts as absolute

STATUS = (
    "converged",
    "the self-consistent equations were not solved to tolerance: try a larger lam or alpha away from beta",
    "numerical integration did not reach the tolerance: the quadrature_error says how far it got",
    "ridgeless at the interpolation threshold: the error diverges",
    "ridgeless interpolation is decided here by rare inputs far out along the spike, where the activation"
    " saturates: the limit is infinite or out of reach; use a small positive lam",
)
FAILED = (1, 2, 4)


# bulks(chunk, refinement) gives the bulk of some first layers on three nested rules, finest first; the rules
# that a bulk may have inside (over the first batch) have 2^refinement times their usual number of nodes
Bulks = Callable[[np.ndarray, int], tuple[Bulk, Bulk, Bulk]]


@dataclass
class Problem:
    """What `predict` asks: K groups; first layers [U, K] or [U]; readout settings [U, A]."""

    activation: Function
    target: Function
    weights: np.ndarray  # [K]
    biases: np.ndarray  # [K]
    r: np.ndarray  # [U, K]
    c: np.ndarray  # [U, K]
    gamma: np.ndarray  # [U]
    bulks: Bulks
    alpha: np.ndarray  # [U, A]
    beta: np.ndarray
    lam: np.ndarray
    noise: np.ndarray
    d: np.ndarray
    width: int = 64  # array elements in flight per grid point


def solve(
    problem: Problem, tolerance: float, progress: Callable[[float], None] | None = None
) -> dict[str, np.ndarray]:
    """Every answer of `predict` as arrays [U, A, ...]; nothing raises for a point that fails, it is flagged."""
    U, A = problem.alpha.shape
    answers: dict[str, np.ndarray] = {}
    order = np.argsort(_first_points(problem), kind="stable")
    done = 0
    for chunk in _first_layer_blocks(problem, order):
        for block in np.array_split(np.arange(A), max(1, -(-A * len(chunk) * problem.width // _BLOCK))):
            points = int(_first_points(problem)[chunk].max())
            found = _solve_rectangle(problem, chunk, block, points, tolerance)
            for name, values in found.items():
                if name not in answers:
                    answers[name] = np.empty((U, A, *values.shape[2:]), values.dtype)
                answers[name][np.ix_(chunk, block)] = values
            done += len(chunk) * len(block)
            if progress:
                progress(done / (U * A))
    return answers


def _first_points(problem: Problem) -> np.ndarray:
    """κ intervals to begin with, [U]: features vary on the scale √c/r. Sharp first layers are kept apart (odd)."""
    steepness = (np.abs(problem.r) / np.sqrt(problem.c)).max(axis=1)
    doublings = np.ceil(np.log2(np.maximum(steepness / 2.0, 1.0)))
    points = 32 * 2 ** np.minimum(doublings, 4).astype(int)
    return points + is_sharp(problem.target, problem.gamma)


def _first_layer_blocks(problem: Problem, order: np.ndarray) -> list[np.ndarray]:
    """Split the first layers into runs that share a rule and whose function evaluations fit a block."""
    points = _first_points(problem)[order]
    blocks = []
    for value in np.unique(points):
        members = order[points == value]
        cost = evaluations_per_model(problem.activation, problem.target, int(value)) * problem.r.shape[1]
        size = max(1, min(_BLOCK // cost, _BLOCK // problem.width))
        blocks += np.split(members, range(size, len(members), size))
    return blocks


def _solve_rectangle(
    problem: Problem,
    chunk: np.ndarray,
    block: np.ndarray,
    points: int,
    tolerance: float,
    refinement: int = 0,
    farther: float = 1.0,
) -> dict[str, np.ndarray]:
    points -= points % 2
    table = Table(
        problem.activation,
        problem.target,
        problem.r[chunk],
        problem.c[chunk],
        problem.biases,
        problem.gamma[chunk],
        points,
        farther,
    )
    rules = [table.at(stride) for stride in reversed(STRIDES)]
    limits = _Limits(problem, chunk, block, *rules[-1])
    solutions: list[Solution] = []
    bulks = problem.bulks(chunk, refinement)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for (features, label), bulk in zip(rules, reversed(bulks), strict=True):
            start = solutions[-1].V if solutions else None
            solutions.append(square.solve(features, label, bulk, limits.setting, start))
    error = _quadrature_error(solutions, rules[-1])
    answers = limits.apply(_answers(solutions[-1], error))
    unresolved = ~(answers["quadrature_error"] <= tolerance) & ~limits.diverging
    if unresolved.any() and 2 * points <= _FINEST:
        u, a = np.flatnonzero(unresolved.any(axis=1)), np.flatnonzero(unresolved.any(axis=0))
        if (solutions[-1].tail[unresolved] > tolerance).any():
            farther = min(_FARTHEST, farther * 4.0 / 3.0)
        better = _solve_rectangle(problem, chunk[u], block[a], 2 * points, tolerance, refinement + 1, farther)
        for name, values in better.items():
            answers[name][np.ix_(u, a)] = values
    else:
        imprecise = ~(answers["quadrature_error"] <= max(tolerance, ACCEPTED_ERROR)) & (answers["code"] == 0)
        answers["code"][imprecise] = 2
        answers["code"][np.isin(answers["code"], FAILED) & (limits.setting.unit == 0.0)] = 4
    return answers


def _quadrature_error(solutions: list[Solution], finest: tuple[Features, Label]) -> np.ndarray:
    features, label = finest
    coarse, middle, fine = (s.test_error for s in solutions)
    power = (features.weights * label.t2).sum(axis=-1)[:, None]
    size = np.maximum(np.abs(fine), _NEARLY_ZERO * power) + 1e-300
    error = extrapolated_error(np.abs(fine - middle) / size, np.abs(middle - coarse) / size)
    error += solutions[-1].tail
    return np.where(np.isfinite(error), error, np.inf)


def _answers(solution: Solution, error: np.ndarray) -> dict[str, np.ndarray]:
    pack = packing(solution.m.shape[-1])
    failed = ~(solution.residual <= RESIDUAL_TOLERANCE)
    return {
        "test_error": solution.test_error,
        "train_error": solution.train_error,
        "m": solution.m,
        "zeta": solution.zeta,
        "psi": solution.psi,
        "chi": solution.chi,
        "q1": pack.matrix(solution.q),
        "q2": pack.vector(solution.q),
        "V1": pack.matrix(solution.V),
        "V2": pack.vector(solution.V),
        "residual": solution.residual,
        "quadrature_error": error,
        "code": failed.astype(np.int8),
    }


class _Limits:
    """The limits λ = 0: which side of the interpolation threshold a point is on, and what that implies.

    There are p features, but if they are all linear in x (μ2 = 0) only min(p, d) directions. Fewer samples
    than that interpolate: V = v/λ diverges, and the equations are those for v. More samples: V is finite,
    except that p > d linear features leave V2 = ∞ with no effect, which a very small λ stands for.
    """

    def __init__(
        self, problem: Problem, chunk: np.ndarray, block: np.ndarray, features: Features, label: Label
    ):
        alpha, beta, lam, noise, d = (
            a[np.ix_(chunk, block)]
            for a in (problem.alpha, problem.beta, problem.lam, problem.noise, problem.d)
        )
        w = features.weights
        linear_part = (w * (features.mu0**2 + features.mu1**2).sum(axis=1)).sum(axis=-1)
        rest = (w * features.mu2sq.sum(axis=1)).sum(axis=-1)
        linear = (rest <= _VANISHING * linear_part)[:, None]
        directions = np.where(linear, np.minimum(beta, 1.0), beta)
        ridgeless = lam == 0.0
        self.diverging = ridgeless & np.isclose(alpha, directions, rtol=1e-12)
        self._interpolates = ridgeless & (alpha < directions) & ~self.diverging
        self._idle = ridgeless & linear & (beta > 1.0) & ~self._interpolates
        slope = (w[:, None] * features.mu1**2).sum(axis=(1, 2))[:, None]
        lam = np.where(self._interpolates | self.diverging, 1.0, lam)
        lam = np.where(self._idle, 1e-13 * alpha * slope, lam)
        self.setting = Setting(alpha, beta, lam, noise, d, unit=np.where(self._interpolates, 0.0, 1.0))

    def apply(self, answers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Put infinities where the limit has them."""
        answers["V1"][self._interpolates] = np.inf
        answers["V2"][self._interpolates | self._idle] = np.inf
        for name in ("test_error", "q1", "q2", "V1", "V2"):
            answers[name][self.diverging] = np.inf
        for name in ("m", "zeta", "psi", "chi"):
            answers[name][self.diverging] = np.nan
        answers["train_error"][self.diverging] = 0.0
        answers["quadrature_error"][self.diverging] = 0.0
        answers["code"][self.diverging] = 3
        return answers

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
from ..losses import Loss
from ..losses import square as square_loss
from .bulk import Bulk
from .channel import Channel, make_channel
from .equations import convex, square
from .equations.layers import bends, profile_of, rule_nodes
from .equations.limits import Limits
from .equations.means import Setting
from .equations.signs import count_wrong_signs
from .equations.solution import Solution
from .features import Features, Label, Table, evaluations_per_model, is_sharp
from .labels import BinaryLaw
from .symmetric import packing

RESIDUAL_TOLERANCE = 1e-9
ACCEPTED_ERROR = 1e-6  # quadrature error up to which a point that cannot be refined further counts as solved
_FARTHEST = 2.0  # how much the range of κ may grow
_FINEST = 2048  # κ intervals per piece at which refinement gives up,
_FINEST_CONVEX = 256  # for losses that need rules in two dimensions or more,
_FINEST_LAYERS = 64  # and between the cuts of thin layers
_BLOCK = 1 << 20  # array elements in flight: a few megabytes, so that passes stay in cache
_NEARLY_ZERO = 1e-6  # error, over E σ*², under which its quadrature error counts as absolute
_HARDLY_EVER = (
    1e-2  # share of samples; also the training loss, over E σ*², under which its error counts as absolute
)
_LAYERS_FROM = 64  # κ intervals at which thin layers are suspected,
_LAYERS_POINTS = 32  # and κ intervals between their cuts to begin with
_SIGNS_ACCEPTED = 1e-4  # error of a share of wrong signs beyond which it fails a point
# answers whose quadrature error counts, and the size under which it counts as absolute
_MONITORED = (("test_error", _NEARLY_ZERO), ("train_loss", _HARDLY_EVER))

STATUS = (
    "converged",
    "the self-consistent equations were not solved to tolerance: try a larger lam or alpha away from beta",
    "numerical integration did not reach the tolerance: the quadrature_error says how far it got",
    "ridgeless at the interpolation threshold: the error diverges",
    "ridgeless interpolation is decided here by rare inputs far out along the spike, where the activation"
    " saturates: the limit is infinite or out of reach; use a small positive lam",
    "the labels are all but separable along the spike alone, where the ridge does not act at d = infinity, and a"
    " margin loss then drives m to infinity: give a finite d, or labels with flips or latent_noise, or another gamma",
)
FAILED = (1, 2, 4, 5)


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
    loss: Loss = square_loss
    law: BinaryLaw | None = None  # of labels ±1, whose clean version is `target`


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
    points = 48 * 2 ** np.minimum(doublings, 4).astype(int)
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
    start: np.ndarray | None = None,
    layers: np.ndarray | None = None,
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
        problem.law,
        layers,
    )
    rules = [table.at(stride) for stride in reversed(STRIDES)]
    limits = Limits(problem, chunk, block, *rules[-1])
    bulks = problem.bulks(chunk, refinement)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        solutions = _on_rules(problem, chunk, rules, bulks, limits.setting, points, start)
        error = _quadrature_error(solutions, rules[-1], problem.loss == square_loss)
        total, profile, nodes = error, None, rule_nodes(rules[-1][0], limits.setting)
        if problem.law is not None:  # on a rule of their own, which refining this one does not improve
            profile = profile_of(problem, chunk, solutions[-1], bulks[0], limits.setting)
            signs = count_wrong_signs(profile, problem.law, problem.loss, nodes)
            solutions[-1].test_error_01, train, off = (part.reshape(error.shape) for part in signs)
            solutions[-1].train_error_01 = np.where(limits.setting.unit == 0.0, 0.0, train)
            total = np.where(off > _SIGNS_ACCEPTED, np.maximum(error, off), error)
    answers = limits.apply(_answers(solutions[-1], total))
    if problem.loss.margin:
        answers["code"][(answers["code"] == 1) & _separable(solutions[-1], *rules[-1], limits.setting)] = 5
    unresolved = ~(error <= tolerance) & ~limits.diverging
    unresolved &= answers["code"] != 5
    finest = _FINEST if problem.loss == square_loss else _FINEST_CONVEX if layers is None else _FINEST_LAYERS
    cuts = None
    may_bend = problem.loss != square_loss  # and real labels, which have no profile, blur thin layers
    if profile is not None and may_bend and unresolved.any() and layers is None and points >= _LAYERS_FROM:
        cuts = bends(profile, problem.loss, nodes).reshape(*error.shape, -1)
    if cuts is not None and cuts.size:
        for u, a in np.argwhere(unresolved):
            better = _solve_rectangle(
                problem,
                chunk[[u]],
                block[[a]],
                _LAYERS_POINTS,
                tolerance,
                0,
                farther,
                solutions[-1].start[[u]][:, [a]],
                cuts[[u], a],
            )
            for name, values in better.items():
                answers[name][u, a] = values[0, 0]
    elif unresolved.any() and 2 * points <= finest:
        u, a = np.flatnonzero(unresolved.any(axis=1)), np.flatnonzero(unresolved.any(axis=0))
        if (solutions[-1].tail[unresolved] > tolerance).any():
            farther = min(_FARTHEST, farther * 4.0 / 3.0)
        begin = None if problem.loss == square_loss else solutions[-1].start[np.ix_(u, a)]
        better = _solve_rectangle(
            problem, chunk[u], block[a], 2 * points, tolerance, refinement + 1, farther, begin, layers
        )
        for name, values in better.items():
            answers[name][np.ix_(u, a)] = values
    else:
        imprecise = ~(answers["quadrature_error"] <= max(tolerance, ACCEPTED_ERROR)) & (answers["code"] == 0)
        answers["code"][imprecise] = 2
        if problem.loss.margin:
            answers["code"][imprecise & _separable(solutions[-1], *rules[-1], limits.setting)] = 5
        answers["code"][np.isin(answers["code"], FAILED) & (limits.setting.unit == 0.0)] = 4
    return answers


def _on_rules(
    problem: Problem,
    chunk: np.ndarray,
    rules: list[tuple[Features, Label]],
    bulks: tuple[Bulk, Bulk, Bulk],
    setting: Setting,
    points: int,
    start: np.ndarray | None,
) -> list[Solution]:
    """Solutions on the three rules, coarse to fine, each starting from the last."""
    solutions: list[Solution] = []
    for (features, label), bulk, stride in zip(rules, reversed(bulks), reversed(STRIDES), strict=True):
        start = solutions[-1].start if solutions else start

        def channel(kappa: np.ndarray = features.kappa, stride: int = stride) -> Channel:
            return make_channel(
                problem.loss, problem.law, problem.target, kappa, problem.gamma[chunk], points // stride
            )

        if problem.loss == square_loss:
            found = square.solve(features, label, bulk, setting, start)
        else:
            found = convex.solve(features, label, bulk, channel(), setting, stride == 1, start)
        solutions.append(found)
    return solutions


def _separable(solution: Solution, features: Features, label: Label, setting: Setting) -> np.ndarray:
    """Where the sign of the all-ones field alone, Σ μ0 m, is the right label for almost every κ, at d = ∞."""
    field = solution.m @ features.mu0
    wrong = 0.5 * (1.0 - np.sign(field) * label.t0[:, None])
    return np.isinf(setting.d) & ((wrong * features.weights[:, None]).sum(axis=-1) < _HARDLY_EVER)


def _quadrature_error(solutions: list[Solution], finest: tuple[Features, Label], linear: bool) -> np.ndarray:
    """Relative error of the test error, of the training loss or, for `linear` scores, of the responses.

    One quantity alone may agree on two rules by accident, its error changing sign between them. The responses
    join in where they are solved to rounding, so that their differences are the quadrature's.
    """
    features, label = finest
    power = (features.weights * label.t2).sum(axis=-1)[:, None]
    error = solutions[-1].tail.copy()
    for name, least in _MONITORED:
        coarse, middle, fine = (getattr(s, name) for s in solutions)
        size = np.maximum(np.abs(fine), least * power) + 1e-300
        found = extrapolated_error(np.abs(fine - middle) / size, np.abs(middle - coarse) / size)
        error = np.maximum(error, found + solutions[-1].tail)
    if linear:
        coarse, middle, fine = (s.V for s in solutions)
        size = square.scale(fine, packing(solutions[-1].m.shape[-1]))
        last, previous = ((np.abs(a - b) / size).max(axis=-1) for a, b in ((fine, middle), (middle, coarse)))
        error = np.maximum(error, extrapolated_error(last, previous))
    return np.where(np.isfinite(error), error, np.inf)


def _answers(solution: Solution, error: np.ndarray) -> dict[str, np.ndarray]:
    pack = packing(solution.m.shape[-1])
    failed = ~(solution.residual <= RESIDUAL_TOLERANCE)
    signs = {name: getattr(solution, name) for name in ("test_error_01", "train_error_01")}
    return {name: values for name, values in signs.items() if values is not None} | {
        "test_error": solution.test_error,
        "train_error": solution.train_error,
        "train_loss": solution.train_loss,
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

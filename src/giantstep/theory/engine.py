"""From a problem to answers: blocks of work, refinement of the rule in κ, diagnostics.

Work goes in rectangles of (first layers, settings) that fit the cache. Each rectangle is solved on three nested
rules in κ, coarse to fine, each starting from the last: that costs less than the finest alone, and yields the
quadrature error; so are the rules inside an exact bulk, on the coarsest one in κ. Points whose error is too large go
on to a rule with twice the nodes, or to one cut around the thin layers that are to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..gaussian import STRIDES
from .bulk import Bulk
from .channel import Channel
from .equations.averages import Averages
from .equations.crossings import Profile, bends, profile_of
from .equations.limits import Limits
from .equations.means import Setting, wobble
from .equations.signs import WrongSigns, count_wrong_signs, wrong_signs_on_rules
from .equations.solution import Solution
from .equations.state import fields
from .features import STEEPEST, Features, steepness
from .folding import folded
from .labels import BinaryLaw, Label
from .precision import NEARLY_ZERO, bulk_error, kappa_error, power
from .problem import BLOCK, Problem
from .solver import OnRule, Solver, solver_of
from .status import (
    CONVERGED,
    FAILED,
    IMPRECISE,
    LIMIT_ALONE,
    NOTABLE,
    RARE_INPUTS,
    RARELY_SEEN,
    REAL_SIZE,
    SCATTERED,
    SEPARABLE,
    UNSOLVED,
)
from .symmetric import packing
from .upto import upto

RESIDUAL_TOLERANCE = 1e-9
ACCEPTED_ERROR = 1e-6  # quadrature error up to which a point that cannot be refined further counts as solved
_COARSEST = 48  # κ intervals per piece to begin with
_DEEPEST = 5  # how often rules inside the bulk may be doubled
_FARTHEST = 2.0  # how much the range of κ may grow
_HARDLY_EVER = 1e-2  # share of samples
_NEVER = 1e-6  # the same for labels that are separable
_LAYERS_FROM = 64  # κ intervals at which thin layers are suspected,
_LAYERS_POINTS = 32  # and κ intervals between their cuts to begin with
_SIGNS_ACCEPTED = 1e-4  # error of a share of wrong signs beyond which it fails a point

Answers = dict[str, np.ndarray]


class _Block(NamedTuple):
    """A share of the work: some first layers, some settings of the readout, and κ intervals to begin with."""

    chunk: np.ndarray
    settings: np.ndarray
    points: int


def solve(
    problem: Problem, tolerance: float, progress: Callable[[float], None] | None = None, workers: int = 1
) -> Answers:
    """Every answer of `predict` as arrays [U, A, ...]; nothing raises for a point that fails, it is flagged.

    Blocks of work do not depend on how many `workers` share them, and so neither do answers.
    """
    U, A = problem.alpha.shape
    answers: Answers = {}
    done = 0
    blocks = list(_blocks(problem))
    for block, found in zip(blocks, _solved(problem, blocks, tolerance, workers), strict=True):
        for name, values in found.items():
            if name not in answers:
                answers[name] = np.empty((U, A, *values.shape[2:]), values.dtype)
            answers[name][np.ix_(block.chunk, block.settings)] = values
        done += len(block.chunk) * len(block.settings)
        if progress:
            progress(done / (U * A))
    return answers


def _blocks(problem: Problem) -> Iterator[_Block]:
    A = problem.alpha.shape[1]
    for chunk, points, width in problem.blocks(_COARSEST):
        for settings in np.array_split(upto(A), max(1, -(-A * len(chunk) * width // BLOCK))):
            yield _Block(chunk, settings, points)


def _solved(problem: Problem, blocks: list[_Block], tolerance: float, workers: int) -> Iterator[Answers]:
    """The answers of each block, in order; in processes of their own, if there are several of both."""
    if min(workers, len(blocks)) == 1:
        yield from (_solve_block(problem, block, tolerance) for block in blocks)
        return
    from ..workers import process_pool

    with process_pool(min(workers, len(blocks)), threads=1) as pool:
        futures = [pool.submit(_solve_block, problem, block, tolerance) for block in blocks]
        yield from (future.result() for future in futures)


def _solve_block(problem: Problem, block: _Block, tolerance: float) -> Answers:
    return _solve_rectangle(_Rectangle(problem, solver_of(problem.loss), *block), tolerance)


@dataclass(frozen=True)
class _Rectangle:
    """Some first layers with some settings of the readout, the rule in κ to solve them on, and where to start."""

    problem: Problem
    solver: Solver
    chunk: np.ndarray  # first layers
    block: np.ndarray  # settings
    points: int  # κ intervals per piece
    refinement: int = 0  # how often the rules inside the bulk are doubled
    farther: float = 1.0  # stretch of the range of κ
    start: np.ndarray | None = None
    exhausted: np.ndarray | None = None  # points that a coarser rule of this kind has not solved by any means
    layers: np.ndarray | None = None  # cuts of the rule in κ around thin layers
    bulks: tuple[Bulk, Bulk, Bulk] | None = None  # on their three rules, if they are known

    @property
    def finest(self) -> int:
        """κ intervals per piece beyond which it is not refined."""
        frame = self.problem.frame(self.chunk)
        steep = bool(steepness(frame.b, self.problem.c[self.chunk]).max() > STEEPEST)
        own = self.solver.finest(frame.spikes, self.layers is not None or steep)
        return min(own, self.problem.labels.finest)


@dataclass
class _Attempt:
    """A rectangle's answers on its rule, with what tells how to do better."""

    answers: Answers
    bulks: tuple[Bulk, Bulk, Bulk]  # on their three rules
    solution: Solution  # on the finest rule
    in_kappa: np.ndarray  # quadrature error that finer rules in κ mend, [U, A], that of the wrong signs apart
    in_bulk: np.ndarray  # and that of rules inside the bulk
    final: np.ndarray  # where nothing is gained by refining, [U, A]
    profile: Profile | None  # fields as functions of κ, for binary labels and one spike

    @property
    def error(self) -> np.ndarray:
        return self.in_kappa + self.in_bulk


def _solve_rectangle(rectangle: _Rectangle, tolerance: float) -> Answers:
    """The answers of a rectangle; points that are not resolved are solved again, more finely."""
    attempt = _attempt(rectangle, tolerance)
    unresolved = ~(attempt.error <= tolerance) & ~attempt.final
    for u, a, finer in _refinements(rectangle, attempt, unresolved, tolerance):
        for name, values in _solve_rectangle(finer, tolerance).items():
            attempt.answers[name][np.ix_(u, a)] = values
    return attempt.answers


def _refinements(
    rectangle: _Rectangle, attempt: _Attempt, unresolved: np.ndarray, tolerance: float
) -> Iterator[tuple[np.ndarray, np.ndarray, _Rectangle]]:
    """Smaller rectangles with finer rules that hold all unresolved points, and where they lie in this one."""
    if not unresolved.any():
        return
    chunk, block = rectangle.chunk, rectangle.block
    start = rectangle.solver.restart(attempt.solution)
    cuts = _cuts(rectangle, attempt)
    if cuts is not None and cuts.size:
        for at in np.argwhere(unresolved):
            u, a = at[:1], at[1:]
            yield (
                u,
                a,
                replace(
                    rectangle,
                    chunk=chunk[u],
                    block=block[a],
                    points=_LAYERS_POINTS,
                    refinement=0,
                    start=None if start is None else start[np.ix_(u, a)],
                    exhausted=None,
                    layers=cuts[u, a],
                    bulks=None,
                ),
            )
    elif 2 * rectangle.points <= rectangle.finest:
        u, a = np.flatnonzero(unresolved.any(axis=1)), np.flatnonzero(unresolved.any(axis=0))
        cut_off = (attempt.solution.tail[unresolved] > tolerance).any()
        in_kappa, in_bulk = (
            bool((error[unresolved] > 0.5 * tolerance).any()) for error in (attempt.in_kappa, attempt.in_bulk)
        )
        in_bulk = in_bulk and rectangle.refinement < _DEEPEST
        if not (in_kappa or in_bulk):
            return
        finer = replace(
            rectangle,
            chunk=chunk[u],
            block=block[a],
            points=(1 + in_kappa) * rectangle.points,
            refinement=rectangle.refinement + in_bulk,
            bulks=attempt.bulks if len(u) == len(chunk) and not in_bulk else None,
            farther=min(_FARTHEST, rectangle.farther * 4.0 / 3.0) if cut_off else rectangle.farther,
            start=None if start is None else start[np.ix_(u, a)],
            exhausted=~(attempt.solution.residual[np.ix_(u, a)] <= RESIDUAL_TOLERANCE),
        )
        yield u, a, finer


def _cuts(rectangle: _Rectangle, attempt: _Attempt) -> np.ndarray | None:
    """Where to cut the rule in κ, [U, A, ...], if thin layers may be what it does not resolve.

    The square loss has no bends, and real labels, which have no profile, blur thin layers.
    """
    suspected = rectangle.layers is None and rectangle.points >= _LAYERS_FROM
    if attempt.profile is None or rectangle.solver.linear or not suspected:
        return None
    return bends(attempt.profile, rectangle.problem.loss).reshape(*attempt.error.shape, -1)


def _attempt(rectangle: _Rectangle, tolerance: float) -> _Attempt:
    """Solve a rectangle on three nested rules, and judge every point by their differences."""
    problem, chunk, solver = rectangle.problem, rectangle.chunk, rectangle.solver
    table = problem.table(chunk, rectangle.points, rectangle.farther, rectangle.layers)
    tabulated = [table.at(stride) for stride in STRIDES]
    limits = Limits(problem, chunk, rectangle.block, *tabulated[0])
    setting = limits.setting
    bulks = rectangle.bulks or problem.bulks(chunk, rectangle.refinement, len(rectangle.block))
    fold = problem.odd and rectangle.layers is None
    rules = [
        OnRule(
            problem,
            chunk,
            *(folded(*both) if fold else both),
            bulks[0],
            setting,
            rectangle.points // stride,
            exhausted=rectangle.exhausted,
        )
        for both, stride in zip(tabulated, STRIDES, strict=True)
    ]
    # the bulk's own rules are judged on the coarsest rule in κ
    inside = [] if bulks[0] is bulks[1] else [replace(rules[-1], bulk=bulk) for bulk in bulks[1:]]
    profile = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        solutions = _on_rules(solver, [*rules, *inside], rectangle.start)
        solutions, on_bulks = solutions[:3], solutions[2:]
        solution, typical = solutions[0], power(*tabulated[0])
        error = kappa_error(solutions, typical, solver.linear)
        in_bulk = bulk_error(on_bulks, typical, solver.linear) if inside else np.zeros_like(error)
        inherited = np.maximum(problem.rows.error(problem.origin)[chunk], table.error)[:, None]
        if not solver.linear:
            inherited = np.maximum(inherited, problem.labels.unseen_error(problem.spikes))
        answers = _answers(problem, chunk, solution, np.maximum(error + in_bulk, inherited))
        answers["sized_error"] = _sized_error(solver, rules[-1], solutions)
        answers["scatter"] = _scatter(problem, chunk, setting.d)
        if problem.labels.binary:
            law = problem.labels.law
            if not np.isfinite(solution.residual).any():  # no fields to look at
                signs = WrongSigns(*(np.full(error.size, value) for value in (np.nan, np.nan, 0.0)))
            elif solution.state.modes.spikes == 1 and isinstance(law, BinaryLaw):
                profile = profile_of(problem, chunk, solution, bulks[0], setting, tabulated[0][0].kappa[:, 0])
                signs = count_wrong_signs(profile, law, problem.loss)
            else:
                signs = _wrong_signs(rules, solutions)
            test, train, off = (part.reshape(error.shape) for part in signs)
            answers["test_error_01"] = test
            answers["train_error_01"] = np.where(setting.unit == 0.0, 0.0, train)
            off = np.where(off > _SIGNS_ACCEPTED, off, 0.0)
            answers["quadrature_error"] = np.maximum(answers["quadrature_error"], off)
            if (
                profile is None
            ):  # else they are on a rule of their own, which refining this one does not improve
                error = np.maximum(error, off)
    limits.apply(answers)
    separable = problem.loss.margin and _wrong_by_ones(solution, *tabulated[0], setting) < _HARDLY_EVER
    hopeless = inherited > max(tolerance, ACCEPTED_ERROR)  # finer rules in κ do not mend it
    # the equations had no finite answer here, and no solution on a coarser rule
    lost = np.isinf(solution.residual) & (False if rectangle.exhausted is None else rectangle.exhausted)
    final = (
        limits.diverging
        | (separable & (answers["code"] == UNSOLVED))
        | hopeless
        | lost
        | np.isnan(solution.test_error)
    )
    _judge(answers, np.asarray(separable), setting.unit == 0.0, tolerance)
    _mark(answers, typical)
    return _Attempt(answers, bulks, solution, error, in_bulk, final, profile)


def _on_rules(solver: Solver, rules: list[OnRule], start: np.ndarray | None) -> list[Solution]:
    """Solutions on nested rules, finest first; found from coarse to fine, each starting from the last."""
    solutions: list[Solution] = []
    for rule in reversed(rules):
        thorough = len(solutions) == len(rules) - 1
        if solutions and rule.problem.loss.margin:
            unsolved = ~(solutions[0].residual <= RESIDUAL_TOLERANCE)
            never = _wrong_by_ones(solutions[0], rules[-1].features, rules[-1].label, rule.setting) < _NEVER
            rule = replace(rule, hopeless=unsolved & never)
        solutions.insert(0, solver.solve(rule, start, thorough=thorough))
        start = solutions[0].start
    return solutions


def _wrong_signs(rules: list[OnRule], solutions: list[Solution]) -> WrongSigns:
    """Shares of wrong signs on the rules in κ themselves, where there are several spikes."""
    U, A = rules[0].setting.alpha.shape
    rows = np.repeat(upto(U), A)
    points: list[tuple[np.ndarray, Channel, tuple[np.ndarray, ...]]] = []
    for rule, solution in zip(rules, solutions, strict=True):
        averages, pack = Averages(rule.features, rule.bulk.modes), packing(len(rule.bulk.weights))
        found = fields(solution.state, averages, pack, wobble(rule.bulk, rule.setting))
        flat = tuple(field.reshape(U * A, *field.shape[2:]) for field in found)
        weights = np.broadcast_to(rule.features.weights, (U, rule.features.weights.shape[-1]))[rows]
        points.append((weights, rule.channel, flat))
    return wrong_signs_on_rules(points, rows)


def _wrong_by_ones(solution: Solution, features: Features, label: Label, setting: Setting) -> np.ndarray:
    """Share of labels that the sign of the all-ones field alone, Σ μ0 m, gets wrong at d = ∞; ∞ elsewhere."""
    field = solution.state.m @ features.mu0
    wrong = 0.5 * (1.0 - np.sign(field) * label.t0[:, None])
    return np.where(np.isinf(setting.d), (wrong * features.weights[:, None]).sum(axis=-1), np.inf)


def _sized_error(solver: Solver, coarse: OnRule, solutions: list[Solution]) -> np.ndarray:
    """The test error at a usual size where d = ∞ was asked for, [U, A]; the effect of size as on the coarsest rule.

    For the square loss only the means are solved anew, since responses do not depend on d. What steps take from the
    rows in common is left out: it is a correction to the effect, and dear after several steps.
    """
    limit = np.isinf(coarse.setting.d)
    if not limit.any():
        return solutions[0].test_error
    size = np.where(limit, REAL_SIZE, coarse.setting.d)
    sized = solver.sized(replace(coarse, setting=replace(coarse.setting, d=size)), solutions[-1])
    return solutions[0].test_error + (sized - solutions[-1].test_error)


def _scatter(problem: Problem, chunk: np.ndarray, d: np.ndarray) -> np.ndarray:
    """By how much, relatively, the labels' mean square varies between batches of the steps, [U, A]."""
    if np.all(np.isinf(d)):
        return np.zeros(d.shape)
    return np.sqrt(problem.origin.scatter[chunk][:, None] / d)


def _answers(problem: Problem, chunk: np.ndarray, solution: Solution, error: np.ndarray) -> Answers:
    state, frame = solution.state, problem.frame(chunk)
    pack = packing(state.groups)
    failed = ~(solution.residual <= RESIDUAL_TOLERANCE)
    zeta = np.zeros((*error.shape, max(problem.spikes, problem.directions), state.groups), state.means.dtype)
    zeta[:, :, : frame.spikes] = (
        np.swapaxes(frame.back, -1, -2)[:, None] @ state.zeta
    )  # along the directions given
    return {
        "test_error": solution.test_error,
        "train_error": solution.train_error,
        "train_loss": solution.train_loss,
        "m": state.m,
        "zeta": zeta,
        "psi": frame.turn[:, None] @ state.psi,
        "chi": state.chi,
        "nu": state.nu,
        "q1": pack.matrix(state.q).copy(),
        "q2": pack.vector(state.q).copy(),
        "V1": pack.matrix(state.V).copy(),
        "V2": pack.vector(state.V).copy(),
        "rare": solution.rare,
        "residual": solution.residual,
        "quadrature_error": error,
        "code": np.where(failed, UNSOLVED, CONVERGED).astype(np.int8),
    }


def _judge(answers: Answers, separable: np.ndarray, interpolates: np.ndarray, tolerance: float) -> None:
    """Say why a point fails, as far as this rule goes."""
    code = answers["code"]
    imprecise = ~(answers["quadrature_error"] <= max(tolerance, ACCEPTED_ERROR)) & (code == CONVERGED)
    code[imprecise] = IMPRECISE
    code[np.isin(code, (UNSOLVED, IMPRECISE)) & separable] = SEPARABLE
    code[np.isin(code, FAILED) & interpolates] = RARE_INPUTS


def _mark(answers: Answers, typical: np.ndarray) -> None:
    """Say of a solved point that its number is not what real networks give; `typical` is E σ*²."""
    code, limit = answers["code"], answers["test_error"]
    size = np.maximum(np.abs(answers["sized_error"]), NEARLY_ZERO * typical)
    far = np.abs(limit - answers["sized_error"]) > NOTABLE * size
    code[(code == CONVERGED) & far] = LIMIT_ALONE
    code[np.isin(code, (CONVERGED, LIMIT_ALONE)) & (answers["rare"] > NOTABLE)] = RARELY_SEEN
    code[(code == CONVERGED) & (answers["scatter"] ** 2 > NOTABLE)] = (
        SCATTERED  # means move by about a variance
    )

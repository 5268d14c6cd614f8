"""From a problem to answers: blocks of work, refinement of the rule in κ, diagnostics.

Work goes in rectangles of (first layers, settings) that fit the cache. Each rectangle is solved on three nested
rules in κ, coarse to fine, each starting from the last: that costs less than the finest alone, and yields the
quadrature error; so are the rules inside an exact bulk, on the coarsest one in κ. Points whose error is too large go
on to a rule with twice the nodes, or to one cut around the thin layers that are to blame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..gaussian import STRIDES
from .answers import (
    RESIDUAL_TOLERANCE,
    Answers,
    answers_of,
    judge,
    mark,
    scatter,
    wrong_by_ones,
    wrong_signs,
)
from .bulks import Bulks
from .equations.crossings import Profile, bends, profile_of
from .equations.limits import Limits
from .equations.signs import WrongSigns, count_wrong_signs
from .equations.solution import Solution
from .features import STEEPEST, steepness
from .folding import folded
from .labels import BinaryLaw
from .nested import on_rules
from .precision import ACCEPTED_ERROR, bulk_error, kappa_error, power
from .problem import BLOCK, Problem
from .solver import OnRule, Solver, solver_of
from .squares import learned_by_squares
from .status import UNSOLVED
from .upto import run, upto

_COARSEST = 48  # κ intervals per piece to begin with
_DEEPEST = 6  # how often rules inside the bulk may be doubled
_FARTHEST = 2.0  # how much the range of κ may grow
_HARDLY_EVER = 1e-2  # share of samples
_LAYERS_FROM = 64  # κ intervals at which thin layers are suspected,
_LAYERS_POINTS = 32  # and κ intervals between their cuts to begin with
_SIGNS_ACCEPTED = 1e-4  # error of a share of wrong signs beyond which it fails a point


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
    if len(blocks) == 1:
        answers = _solve_block(problem, blocks[0], tolerance)
        if progress:
            progress(1.0)
        return answers
    for block, found in zip(blocks, _solved(problem, blocks, tolerance, workers), strict=True):
        place = run(block.chunk), run(block.settings)
        for name, values in found.items():
            if name not in answers:
                answers[name] = np.empty((U, A, *values.shape[2:]), values.dtype)
            answers[name][place] = values
        done += len(block.chunk) * len(block.settings)
        if progress:
            progress(done / (U * A))
    return answers


def _blocks(problem: Problem) -> Iterator[_Block]:
    A = problem.alpha.shape[1]
    for chunk, points, width in problem.blocks(_COARSEST):
        count = max(1, -(-A * len(chunk) * width // BLOCK))
        for settings in [upto(A)] if count == 1 else np.array_split(upto(A), count):
            yield _Block(chunk, settings, points)


def _solved(problem: Problem, blocks: list[_Block], tolerance: float, workers: int) -> Iterator[Answers]:
    """The answers of each block, in order; in processes of their own, if there are several of both."""
    if min(workers, len(blocks)) == 1:
        yield from (_solve_block(problem, block, tolerance) for block in blocks)
        return
    from ..workers import process_pool

    with process_pool(min(workers, len(blocks)), threads=1) as pool:
        futures = deque(pool.submit(_solve_block, *_alone(problem, block), tolerance) for block in blocks)
        while futures:  # each is forgotten when its answers have been taken
            yield futures.popleft().result()


def _alone(problem: Problem, block: _Block) -> tuple[Problem, _Block]:
    """A block with no more than its own points: all of them, sent with every block, take longer than the work."""
    chunk, settings = block.chunk, block.settings
    own = block._replace(chunk=upto(len(chunk)), settings=upto(len(settings)))
    return problem.part(chunk, settings), own


def _solve_block(problem: Problem, block: _Block, tolerance: float) -> Answers:
    return _solve_rectangle(Rectangle.of(problem, *block), tolerance)


@dataclass(frozen=True)
class Rectangle:
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
    bulks: Bulks | None = None  # on their three rules, if they are known

    @staticmethod
    def of(problem: Problem, chunk: np.ndarray, block: np.ndarray, points: int) -> Rectangle:
        """One to begin with."""
        return Rectangle(problem, solver_of(problem.loss), chunk, block, points)

    @property
    def folds(self) -> bool:
        """Whether half of the rule in κ will do."""
        return self.problem.odd and self.layers is None

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
    bulks: Bulks  # on their three rules
    solutions: list[Solution]  # on the three rules in κ, finest first
    in_kappa: np.ndarray  # quadrature error that finer rules in κ mend, [U, A], that of the wrong signs apart
    in_bulk: np.ndarray  # and that of rules inside the bulk
    final: np.ndarray  # where nothing is gained by refining, [U, A]
    profile: Profile | None  # fields as functions of κ, for binary labels and one spike

    @property
    def solution(self) -> Solution:
        return self.solutions[0]

    @property
    def error(self) -> np.ndarray:
        return self.in_kappa + self.in_bulk


def _solve_rectangle(rectangle: Rectangle, tolerance: float) -> Answers:
    """The answers of a rectangle; points that are not resolved are solved again, more finely."""
    attempt = _attempt(rectangle, tolerance)
    for u, a, finer in _refinements(rectangle, attempt, _unresolved(attempt, tolerance), tolerance):
        for name, values in _solve_rectangle(finer, tolerance).items():
            attempt.answers[name][np.ix_(u, a)] = values
    return attempt.answers


def _unresolved(attempt: _Attempt, tolerance: float) -> np.ndarray:
    return ~(attempt.error <= tolerance) & ~attempt.final


def _refinements(
    rectangle: Rectangle, attempt: _Attempt, unresolved: np.ndarray, tolerance: float
) -> Iterator[tuple[np.ndarray, np.ndarray, Rectangle]]:
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


def _cuts(rectangle: Rectangle, attempt: _Attempt) -> np.ndarray | None:
    """Where to cut the rule in κ, [U, A, ...], if thin layers may be what it does not resolve.

    The square loss has no bends, and real labels, which have no profile, blur thin layers.
    """
    suspected = rectangle.layers is None and rectangle.points >= _LAYERS_FROM
    if attempt.profile is None or rectangle.solver.linear or not suspected:
        return None
    return bends(attempt.profile, rectangle.problem.loss).reshape(*attempt.error.shape, -1)


def _attempt(rectangle: Rectangle, tolerance: float) -> _Attempt:
    """Solve a rectangle on three nested rules, and judge every point by their differences."""
    problem, chunk, solver = rectangle.problem, rectangle.chunk, rectangle.solver
    table = problem.table(chunk, rectangle.points, rectangle.farther, rectangle.layers)
    tabulated = [table.at(stride) for stride in STRIDES]
    limits = Limits(problem, chunk, rectangle.block, *tabulated[0])
    setting = limits.setting
    bulks = rectangle.bulks or problem.bulks(chunk, rectangle.refinement, len(rectangle.block))
    rules = [
        OnRule(
            problem,
            chunk,
            *(folded(*both) if rectangle.folds else both),
            bulks[0],
            setting,
            rectangle.points // stride,
            exhausted=rectangle.exhausted,
        )
        for both, stride in zip(tabulated, STRIDES, strict=True)
    ]
    # the bulk's own rules are judged on the coarsest rule in κ, once
    inside = [] if bulks[0] is bulks[1] else [replace(rules[-1], bulk=bulk) for bulk in bulks[1:]]
    profile = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        solutions, sized = on_rules(solver, rules, inside, rectangle.start)
        solutions, on_bulks = solutions[:3], solutions[2:]
        solution, typical = solutions[0], power(*tabulated[0])
        error = kappa_error(solutions, typical, solver.linear)
        in_bulk = np.zeros_like(error)
        if inside:
            in_bulk = bulk_error(on_bulks, typical, solver.linear)
        inherited = np.maximum(problem.first_layers.error[chunk], table.error)[:, None]
        if not solver.linear:
            inherited = np.maximum(inherited, problem.labels.unseen_error(problem.spikes))
        answers = answers_of(problem, chunk, solution, np.maximum(error + in_bulk, inherited))
        answers["sized_error"] = solution.test_error + sized
        answers["scatter"] = scatter(problem, chunk, setting.d)
        answers["squares"] = learned_by_squares(rules[-1], solutions[-1])
        if problem.labels.binary:
            signs, profile = _signs(rules, solutions, tabulated[0][0].kappa[:, 0])
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
    separable = problem.loss.margin and wrong_by_ones(solution, *tabulated[0], setting) < _HARDLY_EVER
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
    judge(answers, np.asarray(separable), setting.unit == 0.0, tolerance)
    mark(answers, typical)
    return _Attempt(answers, bulks, solutions, error, in_bulk, final, profile)


def _signs(
    rules: list[OnRule], solutions: list[Solution], kappa: np.ndarray
) -> tuple[WrongSigns, Profile | None]:
    """Shares of wrong signs, and for one spike the fields at κ, from which they were counted."""
    (rule, solution), law = (rules[0], solutions[0]), rules[0].problem.labels.law
    if not np.isfinite(solution.residual).any():  # no fields to look at
        return WrongSigns(*(np.full(solution.residual.size, value) for value in (np.nan, np.nan, 0.0))), None
    if solution.state.modes.spikes == 1 and isinstance(law, BinaryLaw):
        profile = profile_of(rule.problem, rule.chunk, solution, rule.bulk, rule.setting, kappa)
        return count_wrong_signs(profile, law, rule.problem.loss), profile
    return wrong_signs(rules, solutions), None

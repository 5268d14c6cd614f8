"""From a problem to answers: tasks that fit the cache, refinement of the rule in κ, diagnostics.

A task is a rectangle of (first layers, readouts), solved on three nested rules in κ, coarse to fine, each starting
from the last: that costs less than the finest alone, and yields the quadrature error. A trained bulk is also solved on
rules with half its nodes, once. Points whose error is too large are solved again on a rule with twice the nodes, or on
one that is cut around the thin layers which cause the error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from ..gaussian import STRIDES
from .answers import ACCEPTED_ERROR, Answers, answers_of, bulk_error, judge, kappa_error, wrong_by_ones
from .bulks import Bulks
from .channel import make_channel
from .doubts import add_doubts
from .equations.averages import Averages
from .equations.limits import Limits
from .equations.order_parameters import Solution
from .equations.thin_layers import Profile, WrongSigns, bends, count_wrong_signs, profile_of, wrong_signs_on_rules
from .features import STEEPEST, folded, steepness
from .labels import BinaryLaw
from .problem import COARSEST, Problem
from .solver import Discretisation, Solver, solver_of
from .status import UNSOLVED
from .symmetric import BLOCK, indices

_DEEPEST = 6  # how often rules inside the bulk may be doubled
_FARTHEST = 2.0  # how much the range of κ may grow
_HARDLY_EVER = 1e-2  # share of samples on the wrong side up to which labels count as separable
_LAYERS_POINTS = 32  # κ intervals between cuts around thin layers to begin with
_SIGNS_ACCEPTED = 1e-4  # error of a share of wrong signs beyond which it fails a point


@dataclass(frozen=True)
class Task:
    """Some first layers with some readouts, the rule in κ to solve them on, and where to start."""

    problem: Problem
    solver: Solver
    layer_index: np.ndarray
    readout_index: np.ndarray
    points: int  # κ intervals per piece
    refinement: int = 0  # how often the rules inside the bulk are doubled
    reach_factor: float = 1.0  # stretch of the range of κ
    start: Any = None  # of the solver
    kappa_cuts: np.ndarray | None = None  # of the rule in κ, around thin layers
    bulks: Bulks | None = None  # if they are known

    @property
    def finest(self) -> int:
        """κ intervals per piece beyond which it is not refined."""
        frame = self.problem.frame(self.layer_index)
        steep = bool(steepness(frame.b, self.problem.c[self.layer_index]).max() > STEEPEST)
        finest = self.solver.finest(frame.spikes, self.kappa_cuts is not None or steep)
        return min(finest, self.problem.labels.finest)

    def alone(self) -> Task:
        """With no more than its own points: all of them, sent with every task, take longer than the work."""
        part = self.problem.part(self.layer_index, self.readout_index)
        layers, readouts = part.alpha.shape
        return replace(self, problem=part, layer_index=np.arange(layers), readout_index=np.arange(readouts))


def solve(
    problem: Problem, tolerance: float, progress: Callable[[float], None] | None = None, workers: int = 1
) -> Answers:
    """Every answer of `predict` as arrays [U, A, ...]; nothing raises for a point that fails, it is flagged.

    Tasks do not depend on how many `workers` share them, and so neither do answers.
    """
    U, A = problem.alpha.shape
    answers: Answers = {}
    done = 0
    tasks = list(_tasks(problem))
    with closing(_solved(tasks, tolerance, workers)) as parts:  # ends the workers if `progress` raises
        for task, solved in zip(tasks, parts, strict=True):
            place = np.ix_(task.layer_index, task.readout_index)
            for name, values in solved.items():
                if name not in answers:
                    answers[name] = np.empty((U, A, *values.shape[2:]), values.dtype)
                answers[name][place] = values
            done += len(task.layer_index) * len(task.readout_index)
            if progress:
                progress(done / (U * A))
    return answers


def _tasks(problem: Problem) -> Iterator[Task]:
    A, solver = problem.alpha.shape[1], solver_of(problem.loss)
    for layers, points, width in problem.blocks(COARSEST):
        count = min(A, max(1, -(-A * len(layers) * width // BLOCK)))  # one readout may be larger than a block
        for readouts in np.array_split(indices(A), count):
            yield Task(problem, solver, layers, readouts, points)


def _solved(tasks: list[Task], tolerance: float, workers: int) -> Generator[Answers, None, None]:
    """The answers of each task, in order; in processes of their own, if there are several of both."""
    if min(workers, len(tasks)) == 1:
        yield from (_solve(task, tolerance) for task in tasks)
        return
    from ..runtime.workers import process_pool

    with process_pool(min(workers, len(tasks)), threads=1) as pool:
        futures = deque(pool.submit(_solve, task.alone(), tolerance) for task in tasks)
        while futures:  # each is forgotten when its answers have been taken
            yield futures.popleft().result()


@dataclass
class _Attempt:
    """A task's answers on its rule, with what tells how to do better."""

    answers: Answers
    bulks: Bulks
    rules: list[Discretisation]  # in κ, finest first,
    solutions: list[Solution]  # and solutions on them
    in_kappa: np.ndarray  # quadrature error that finer rules in κ mend, [U, A], that of the wrong signs apart
    in_bulk: np.ndarray  # and that of rules inside the bulk
    final: np.ndarray  # where nothing is gained by refining, [U, A]
    profile: Profile | None  # fields as functions of κ, for binary labels and one spike


def _solve(task: Task, tolerance: float) -> Answers:
    """The answers of a task; points that are not resolved are solved again, more finely."""
    attempt = _attempt(task, tolerance)
    add_doubts(attempt.answers, task.solver, attempt.rules, attempt.solutions)
    for u, a, finer in _refinements(task, attempt, tolerance):
        for name, values in _solve(finer, tolerance).items():
            attempt.answers[name][np.ix_(u, a)] = values
    return attempt.answers


def _refinements(task: Task, attempt: _Attempt, tolerance: float) -> Iterator[tuple[np.ndarray, np.ndarray, Task]]:
    """Smaller tasks with finer rules that hold all unresolved points, and where they lie in this one."""
    unresolved = ~(attempt.in_kappa + attempt.in_bulk <= tolerance) & ~attempt.final
    if not unresolved.any():
        return
    solution, layers, readouts = attempt.solutions[0], task.layer_index, task.readout_index
    cuts = _cuts(task, attempt)
    if cuts is not None and cuts.size:
        for at in np.argwhere(unresolved):
            u, a = at[:1], at[1:]
            first = Task(task.problem, task.solver, layers[u], readouts[a], _LAYERS_POINTS)
            finer = replace(
                first, reach_factor=task.reach_factor, start=task.solver.restart(solution, u, a), kappa_cuts=cuts[u, a]
            )
            yield u, a, finer
    elif 2 * task.points <= task.finest:
        u, a = np.flatnonzero(unresolved.any(axis=1)), np.flatnonzero(unresolved.any(axis=0))
        cut_off = (solution.tail[unresolved] > tolerance).any()
        in_kappa, in_bulk = (
            bool((error[unresolved] > 0.5 * tolerance).any()) for error in (attempt.in_kappa, attempt.in_bulk)
        )
        in_bulk = in_bulk and task.refinement < _DEEPEST
        if in_kappa or in_bulk:
            yield (
                u,
                a,
                replace(
                    task,
                    layer_index=layers[u],
                    readout_index=readouts[a],
                    points=(1 + in_kappa) * task.points,
                    refinement=task.refinement + in_bulk,
                    bulks=attempt.bulks if len(u) == len(layers) and not in_bulk else None,
                    reach_factor=min(_FARTHEST, task.reach_factor * 4.0 / 3.0) if cut_off else task.reach_factor,
                    start=task.solver.restart(solution, u, a),
                ),
            )


def _cuts(task: Task, attempt: _Attempt) -> np.ndarray | None:
    """Where to cut the rule in κ, [U, A, ...], if thin layers may be what it does not resolve.

    The square loss has no bends, and real labels, which have no profile, blur thin layers.
    """
    suspected = task.kappa_cuts is None and task.points > COARSEST
    if attempt.profile is None or task.solver.linear or not suspected:
        return None
    return bends(attempt.profile, task.problem.loss).reshape(*attempt.final.shape, -1)


def _attempt(task: Task, tolerance: float) -> _Attempt:
    """Solve a task on three nested rules, and judge every point by their differences."""
    problem, chunk, solver = task.problem, task.layer_index, task.solver
    table = problem.table(chunk, task.points, task.reach_factor, task.kappa_cuts)
    tabulated = [table.at(stride) for stride in STRIDES]
    limits = Limits(problem, chunk, task.readout_index, *tabulated[0])
    readout = limits.readout
    bulks = task.bulks or problem.bulks(chunk, task.refinement, len(task.readout_index))
    folds = problem.odd and task.kappa_cuts is None
    rules: list[Discretisation] = []
    for (features, label), stride in zip(tabulated, STRIDES, strict=True):
        if folds:
            features, label = folded(features, label)
        arguments = problem.labels, problem.frame(chunk), features.kappa, task.points // stride
        channel = cache(partial(make_channel, problem.loss, *arguments))
        averages = Averages(features, bulks[0].modes)
        rules.append(Discretisation(problem, chunk, averages, label, bulks[0], readout, channel))
    # the bulk's own rules are judged on the coarsest rule in κ, once
    inside = [replace(rules[-1], bulk=half) for half in bulks[1:]]
    all_solutions = _solve_rules(solver, [*rules, *inside], task.start)
    solutions, typical = all_solutions[:3], rules[0].averages.mean(rules[0].label.t2[:, None])  # E σ*²
    solution = solutions[0]
    in_kappa = kappa_error(solutions, typical, solver.linear)
    in_bulk = bulk_error(all_solutions[2:], typical, solver.linear) if inside else np.zeros_like(in_kappa)
    inherited = np.maximum(limits.error, np.maximum(problem.first_layers.error[chunk], table.error)[:, None])
    if not solver.linear:
        inherited = np.maximum(inherited, problem.labels.unseen_error(problem.spikes))
    answers = answers_of(problem, chunk, solution, np.maximum(in_kappa + in_bulk, inherited))
    profile = None
    if problem.labels.binary:
        signs, profile = _signs(rules, solutions, tabulated[0][0].kappa[:, 0])
        test, train, off = (part.reshape(in_kappa.shape) for part in signs)
        answers["test_error_01"] = test
        answers["train_error_01"] = np.where(readout.interpolates, 0.0, train)
        off = np.where(off > _SIGNS_ACCEPTED, off, 0.0)
        answers["quadrature_error"] = np.maximum(answers["quadrature_error"], off)
        if profile is None:  # else they are on a rule of their own, which refining this one does not improve
            in_kappa = np.maximum(in_kappa, off)
    limits.apply(answers)
    separable = problem.loss.margin and wrong_by_ones(rules[0], solution) < _HARDLY_EVER
    hopeless = inherited > max(tolerance, ACCEPTED_ERROR)  # finer rules in κ do not mend it
    lost = np.isinf(solution.residual) & (task.start is not None)  # there was no finite answer on two rules
    unsolvable = separable & (answers["code"] == UNSOLVED)
    final = limits.diverging | unsolvable | hopeless | lost | np.isnan(solution.test_error)
    judge(answers, np.asarray(separable), readout.interpolates, tolerance)
    return _Attempt(answers, bulks, rules, solutions, in_kappa, in_bulk, final, profile)


def _solve_rules(solver: Solver, rules: list[Discretisation], start: Any) -> list[Solution]:
    """Solutions on nested rules, finest first; solved from coarse to fine, each starting from the last."""
    solutions: list[Solution] = []
    for rule in reversed(rules):
        # a search may overflow on its way; a point without a finite residual counts as unsolved
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            solutions.insert(0, solver.solve(rule, start, thorough=len(solutions) == len(rules) - 1))
        start = solutions[0].start
    return solutions


def _signs(
    rules: list[Discretisation], solutions: list[Solution], kappa: np.ndarray
) -> tuple[WrongSigns, Profile | None]:
    """Shares of wrong signs, and for one spike the fields at κ, from which they were counted."""
    (rule, solution), law = (rules[0], solutions[0]), rules[0].problem.labels.law
    if not np.isfinite(solution.residual).any():  # no fields to look at
        return WrongSigns(*(np.full(solution.residual.size, value) for value in (np.nan, np.nan, 0.0))), None
    if solution.state.modes.spikes == 1 and isinstance(law, BinaryLaw):
        profile = profile_of(rule.problem, rule.chunk, solution, rule.bulk, rule.readout, kappa)
        return count_wrong_signs(profile, law, rule.problem.loss), profile
    return wrong_signs_on_rules(rules, solutions), None

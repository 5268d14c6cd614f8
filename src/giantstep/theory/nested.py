"""The same points on nested rules, from coarse to fine.

Each rule starts from the solution on the next coarser one, which costs less than the finest alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .answers import RESIDUAL_TOLERANCE, at_usual_size, wrong_by_ones
from .equations.solution import Solution
from .solver import OnRule, Solver

_SETTLED = 1e-7  # residual of what another size can be compared with
_NEVER = 1e-6  # share of samples, for labels that are separable


def on_rules(
    solver: Solver, rules: list[OnRule], inside: list[OnRule], start: np.ndarray | None
) -> tuple[list[Solution], np.ndarray]:
    """Solutions on nested rules in κ and `inside` the bulk, finest first; and by how much the test error differs at a
    usual size, on the coarsest rule that has been solved. NaN where that is not known."""
    coarsest = rules[-1]
    sized = at_usual_size(coarsest)
    solutions = _one_by_one(solver, [*rules, *inside], start)
    if sized is coarsest:
        return solutions, np.zeros(coarsest.setting.alpha.shape)
    # a rule that is too coarse to be solved would tell of that alone
    solved = [(one.residual <= _SETTLED).all() for one in solutions[: len(rules)]]
    last = max((place for place, one in enumerate(solved) if one), default=0)
    limit = solutions[last]
    return solutions, solver.sized(at_usual_size(rules[last]), limit) - limit.test_error


def _one_by_one(solver: Solver, rules: list[OnRule], start: np.ndarray | None) -> list[Solution]:
    """From coarse to fine, each starting from the last."""
    solutions: list[Solution] = []
    for rule in reversed(rules):
        thorough = len(solutions) == len(rules) - 1
        if solutions and rule.problem.loss.margin:
            unsolved = ~(solutions[0].residual <= RESIDUAL_TOLERANCE)
            never = wrong_by_ones(solutions[0], rules[-1].features, rules[-1].label, rule.setting) < _NEVER
            rule = replace(rule, hopeless=unsolved & never)
        solutions.insert(0, solver.solve(rule, start, thorough))
        start = solutions[0].start
    return solutions

"""Result 3 for any convex loss: the fixed point of `giantstep.theory.state_evolution`."""

from __future__ import annotations

import numpy as np

from .equations.anderson import ROUGH_TOLERANCE, FixedPoint, Search, anderson, newton
from .equations.order_parameters import Solution
from .solver import Discretisation, Solver
from .square import Square
from .state_evolution import StateEvolution

_FINEST = {1: 512, 2: 64, 3: 24, 4: 24}  # κ intervals per piece at which refinement gives up, by directions,
_FINEST_CUT = 64  # and between cuts around thin layers
_TOLERANCE, _NEAR = 1e-10, 1e-7  # residual at which the search ends, and distance from the fixed point
_SOFT = 1e-3  # a residual counts as at least this times the distance from the fixed point
_ANDERSON_STEPS, _NEWTON_STEPS = 80, 12
_LABOURED = 40  # evaluations after which that distance is measured: the map may be close to the identity
_LOG_STEP, _MEAN_STEP = 2.0, 1.0  # how far a logarithm, and a mean on its own scale, may move at once


class Convex(Solver):
    """The solver of any other convex loss; see `giantstep.theory.solver`."""

    linear = False

    def finest(self, spikes: int, cut: bool) -> int:
        return _FINEST_CUT if cut else _FINEST[spikes]

    def restart(self, solution: Solution, u: np.ndarray, a: np.ndarray) -> FixedPoint:
        return solution.start.part((u[:, None] * solution.residual.shape[1] + a).reshape(-1))

    def solve(self, rule: Discretisation, start: FixedPoint | None, thorough: bool) -> Solution:
        """All order parameters and errors; `start` is that of another solution, such as a coarser rule's.

        A solution that only estimates the quadrature error need not be `thorough`: it has fewer digits.
        """
        tolerance, near = (_TOLERANCE, _NEAR) if thorough else (ROUGH_TOLERANCE, np.inf)
        problem = StateEvolution(rule)
        found = problem.cold() if start is None else start.again()
        problem.effort = found.effort  # of coarser rules, too
        if start is None and rule.problem.loss.continuous:
            # the square loss has a more similar solution than one without any means
            alike = problem.coordinates.vector(Square().solve(rule, None, thorough=False).state)
            flat = alike.reshape(found.x.shape)
            found.x = np.where(np.isfinite(flat).all(axis=-1, keepdims=True), flat, found.x)
        limit = np.where(problem.coordinates.is_log, _LOG_STEP, _MEAN_STEP)
        search = Search(problem.step, problem.sizes, limit, tolerance, problem.worthwhile, near)
        anderson(search, found, _ANDERSON_STEPS)
        if thorough:  # the last few steps may not show where the map is close to the identity
            found.away[found.evaluations > _LABOURED] = np.inf
        newton(search, found, _NEWTON_STEPS)
        if thorough:  # a residual of 1e-9 is to be an error of 1e-6 at most, however slowly the residual changes
            distance = np.maximum(found.away, problem.unbalanced(found.x))
            found.residual = np.maximum(found.residual, _SOFT * distance)
        return _fit(problem, found)

    def at_size(self, rule: Discretisation, solution: Solution) -> Solution:
        return self.solve(rule, solution.start, thorough=True)


def _fit(problem: StateEvolution, found: FixedPoint) -> Solution:
    x = found.x.reshape(*problem.shape, -1)
    state = problem.coordinates.state(x)
    found_fields = problem.fields(state)
    training = problem.training(found_fields)
    R = problem.missed(found_fields)
    return Solution(
        state=state,
        test_error=problem.averages.mean(R),
        train_error=training.error,
        train_loss=training.loss,
        residual=found.residual.reshape(problem.shape),
        start=found,
        tail=problem.averages.tail(R),
        rare=problem.due_to_rare(R),
    )

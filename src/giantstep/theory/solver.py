"""What the engine asks of a solver of Result 3, and what it gives one: some points on one rule in κ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .bulk import Bulk
from .channel import Channel, make_channel
from .equations.averages import Averages
from .equations.means import Readout
from .equations.order_parameters import Solution
from .features import Features
from .labels import Label

if TYPE_CHECKING:
    from ..losses import Loss
    from .problem import Problem


@dataclass(frozen=True)
class Discretisation:
    """Some first layers and settings of a problem on one rule in κ, as fine as `fineness`."""

    problem: Problem
    chunk: np.ndarray
    averages: Averages
    label: Label
    bulk: Bulk
    readout: Readout
    fineness: int
    hopeless: np.ndarray | None = None  # points without a solution, [U, A], as a coarser rule has shown
    exhausted: np.ndarray | None = None  # points that a coarser rule has not solved by any means, [U, A]

    made: list[Channel] = field(default_factory=list)  # by itself, or by whatever it was copied from or to

    @property
    def features(self) -> Features:
        return self.averages.features

    @property
    def channel(self) -> Channel:
        """The loss and the labels, given κ: the same for other bulks and settings on this rule."""
        if not self.made:
            problem, frame = self.problem, self.problem.frame(self.chunk)
            kappa = self.features.kappa
            self.made.append(make_channel(problem.loss, problem.labels, frame, kappa, self.fineness))
        return self.made[0]


class Solver(Protocol):
    """One way to solve Result 3."""

    linear: bool  # scores are linear in the label, so that responses are solved to rounding and have no bends

    def finest(self, spikes: int, cut: bool) -> int:
        """κ intervals per piece at which refinement gives up; `cut`: between the cuts of thin or steep layers."""
        ...

    def restart(self, solution: Solution, u: np.ndarray, a: np.ndarray) -> Any:
        """What some first layers and readouts begin from on a finer rule."""
        ...

    def solve(self, rule: Discretisation, start: Any, thorough: bool) -> Solution:
        """All order parameters and errors; what only estimates the quadrature error need not be `thorough`."""
        ...

    def sized(self, rule: Discretisation, limit: Solution) -> np.ndarray:
        """The test error, roughly, on a rule that differs from another one in its sizes d alone, from the solution on
        that one by itself."""
        ...


def solver_of(loss: Loss) -> Solver:
    """The solver that a loss calls for."""
    from .convex import Convex
    from .square import Square

    return Square() if loss.linear else Convex()

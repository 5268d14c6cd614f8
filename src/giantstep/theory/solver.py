"""The interface between the engine and a solver of Result 3: some points on one rule in κ, and their solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .bulk import Bulk
from .channel import Channel
from .equations.averages import Averages
from .equations.means import Readout
from .equations.order_parameters import Solution
from .labels import Label

if TYPE_CHECKING:
    from ..losses import Loss
    from .problem import Problem


@dataclass(frozen=True)
class Discretisation:
    """Some first layers and settings of a problem on one rule in κ."""

    problem: Problem
    chunk: np.ndarray
    averages: Averages
    label: Label
    bulk: Bulk
    readout: Readout
    channel: Callable[[], Channel]  # the loss and the labels given κ, made when it is first asked for


class Solver(ABC):
    """One way to solve Result 3."""

    linear: bool  # scores are linear in the label, so that responses are solved to rounding and have no bends

    @abstractmethod
    def finest(self, spikes: int, cut: bool) -> int:
        """κ intervals per piece at which refinement gives up; `cut`: between the cuts of thin or steep layers."""

    @abstractmethod
    def restart(self, solution: Solution, u: np.ndarray, a: np.ndarray) -> Any:
        """What some first layers and readouts begin from on a finer rule."""

    @abstractmethod
    def solve(self, rule: Discretisation, start: Any, thorough: bool) -> Solution:
        """All order parameters and errors; what only estimates the quadrature error need not be `thorough`."""

    @abstractmethod
    def at_size(self, rule: Discretisation, solution: Solution) -> Solution:
        """The solution for the input dimensions d of `rule`, which is otherwise the rule of this `solution`."""


def solver_of(loss: Loss) -> Solver:
    """The solver that a loss calls for."""
    from .convex import Convex
    from .square import Square

    return Square() if loss.linear else Convex()

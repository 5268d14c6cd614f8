"""Labels of several directions: what `OneDirection` answers, by way of tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..layer import Frame
from ..rule import Rule
from .batches import GivenSeveral, first_batch
from .joint import JointLaw
from .label import Label
from .measure import UNSEEN
from .seen import Seen, refinement, view


@dataclass(frozen=True)
class SeveralDirections:
    """Labels of a law of z1, z2, ..."""

    law: JointLaw
    slow = False  # not looked at

    @property
    def finest(self) -> int:
        """κ intervals per piece beyond which tables are not refined, and so nothing is gained."""
        return 192 if self.directions == 3 else 400

    @property
    def directions(self) -> int:
        return self.law.directions

    @property
    def binary(self) -> bool:
        return self.law.binary

    @property
    def odd(self) -> bool:
        """Whether labels are known to change sign with z."""
        return False

    @property
    def reach(self) -> float:
        """How far out each z must be followed."""
        return self.law.reach

    def breakpoints(self, frame: Frame) -> tuple[float, ...]:
        """Where the label given z'_1, averaged over the others, jumps or kinks."""
        seen = view(self.law, frame)
        return seen.breakpoints[0] if seen.met == 1 else ()

    @property
    def turning_values(self) -> np.ndarray:
        """Not looked for: level sets of several directions may change anywhere."""
        return np.empty(0)

    @cached_property
    def powers(self) -> tuple[float, float]:
        """E Y² and E Y⁴ without noise; the latter may be infinite."""
        return (1.0, 1.0) if self.binary else (self.law.moments()[2], self.law.fourth)

    def least_intervals(self, frame: Frame) -> np.ndarray:
        """Intervals along κ under which a rule may miss what labels do, [U]."""
        return np.zeros(len(frame.gamma))

    def unseen_error(self, spikes: int) -> float:
        """Of averages with a field along y, beyond what rules in κ show."""
        return UNSEEN if spikes > 1 and not len(self.law.planes[0]) else 0.0

    def alike(self, frame: Frame) -> np.ndarray:
        """Equal rows [U, ...] mark first layers whose target is turned alike, which share tables."""
        return np.round(frame.turn, 12).reshape(len(frame.turn), -1) + 0.0

    def first_batch(
        self, noise: float, points: int, levels: tuple[float, ...] = ()
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Labels [1, n] of a batch before the first step and their weights [1, rows, n], on three rules.

        No rule is cut at `levels`: what a loss that bends there loses shows between the rules.
        """
        return first_batch(self.law, noise, points)

    def batch(
        self, frame: Frame, rule: Rule, noise: np.ndarray, points: int, levels: np.ndarray | None = None
    ) -> GivenSeveral:
        """Labels of a batch after it, at each κ; not cut at `levels` either."""
        return GivenSeveral(self.law, frame, rule, noise, points)

    def given(self, frame: Frame, rule: Rule, points: int, reach: float) -> SeenMoments:
        """Moments of labels at each κ."""
        return SeenMoments(Seen(self.law, frame, rule, refinement(points, self.law.directions)))


class SeenMoments:
    """E Y, E[y_m Y] and E Y² on the nodes of a rule in κ."""

    def __init__(self, seen: Seen):
        self._seen = seen

    def at(self, stride: int) -> Label:
        """On the rule with every `stride`-th node."""
        label, *clean = self._seen.moments(stride)
        return Label(*label, clean[0] if clean else None)

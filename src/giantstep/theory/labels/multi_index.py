"""Labels of several directions: what `OneDirection` answers, by way of tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement

import numpy as np

from ..layer import Frame
from ..rule import Rule
from ..upto import upto
from .compression import LabelNodes, label_nodes
from .conditional_nodes import UNSEEN
from .joint import JointLaw
from .label import Label
from .table import STEPS, TableOnRule, conditional_table

# the law before the first step is made once for a target: so many refinements are there to begin with,
_ONCE = {2: 3, 3: 1, 4: 1}
_MOST_REFINED = {2: 3, 3: 2, 4: 1}  # and so many may follow,
_USUAL = 256  # from this number of points on
_BLOCK = 1 << 16  # nodes in memory at a time
_FINEST = {2: 400, 3: 192, 4: 400}  # κ intervals per piece beyond which tables are not refined, by directions


@dataclass(frozen=True)
class SeveralDirections:
    """Labels of a law of z1, z2, ..."""

    law: JointLaw
    slow = False  # not looked at
    odd = False  # whether labels are known to change sign with z
    turning_values = np.empty(0)  # not looked for: level sets of several directions may change anywhere

    @property
    def finest(self) -> int:
        """κ intervals per piece beyond which nothing is gained."""
        return _FINEST[self.directions]

    @property
    def directions(self) -> int:
        return self.law.directions

    @property
    def binary(self) -> bool:
        return self.law.binary

    @property
    def reach(self) -> float:
        """How far out each z must be followed."""
        return self.law.reach

    def breakpoints(self, frame: Frame) -> tuple[float, ...]:
        """Where the label given z'_1, averaged over the others, jumps or kinks."""
        table = conditional_table(self.law, frame)
        return table.breakpoints[0] if table.met == 1 else ()

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

        What is averaged may bend where labels pass `levels`. Laws with noise have edges there; without noise, what a
        rule over z that is not cut there loses shows between the rules.
        """
        levels = levels if noise else ()
        finer = min(_MOST_REFINED[self.directions], max(0, round(np.log2(points / _USUAL))))
        batches: list[tuple[np.ndarray, np.ndarray]] = []
        for coarser in range(3):
            nodes = label_nodes(self.law.size, coarser, finer, levels)
            law = _first_law(self.law, coarser, finer, levels)
            y, weights = nodes.with_noise(law[None], np.array([noise]))
            batches.append((y[0], weights[0]))
        return batches

    def batch(
        self, frame: Frame, rule: Rule, noise: np.ndarray, points: int, levels: np.ndarray | None = None
    ) -> ConditionalLabels:
        """Labels of a batch after it, at each κ; not cut at `levels` either."""
        return ConditionalLabels(TableOnRule(self.law, frame, rule, points), noise)

    def given(self, frame: Frame, rule: Rule, points: int, reach: float) -> ConditionalMoments:
        """Moments of labels at each κ."""
        return ConditionalMoments(TableOnRule(self.law, frame, rule, points))


class ConditionalMoments:
    """E Y, E[y_m Y] and E Y² on the nodes of a rule in κ."""

    def __init__(self, table: TableOnRule):
        self._table = table

    def at(self, stride: int) -> Label:
        """On the rule with every `stride`-th node."""
        law, moments = self._table.law, self._table.moments
        return Label(*moments(law, stride), None if law == law.clean else moments(law.clean, stride))


class ConditionalLabels:
    """Labels of U settings at each κ: y [U, N, J] and weights [U, N, rows, J] for 1, y_m and y_m y_l."""

    def __init__(self, table: TableOnRule, noise: np.ndarray):
        self._table, self._noise = table, noise

    def at(self, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """On the rule with every `stride`-th node."""
        nodes = label_nodes(self._table.law.size, STEPS[stride], self._table.finer)
        find = self._directly if self._table.table.oblique else self._by_tables
        return nodes.with_noise(find(nodes, stride), self._noise)

    def _directly(self, nodes: LabelNodes, stride: int) -> np.ndarray:
        """Weights [U, N, rows, nodes] from nodes over y at each κ."""
        layers: dict[int, list[np.ndarray]] = {}
        for u, at in self._table.nodes(stride):
            layers.setdefault(u, []).append(nodes.compress(at.mean[0], _rows(at.y[0], at.w[0]), at.which))
        return np.stack([np.concatenate(parts) for parts in layers.values()])

    def _by_tables(self, nodes: LabelNodes, stride: int) -> np.ndarray:
        """Those from tables over the directions that meet a spike.

        y_i y_j is a product of powers of those that do, which are averaged over here, and a row of the table for the
        others.
        """
        law, own, met = self._table.law, self._table.table, self._table.table.met

        def compute(z: list[np.ndarray], v: np.ndarray, w: np.ndarray) -> np.ndarray:
            return nodes.compress(law.mean(*z), _rows(np.moveaxis(v, 1, 0), w), upto(len(w))[:, None])

        table, onto = own.table("law", compute, STEPS[stride], self._table.finer), self._table.onto(stride)
        row = {which: place for place, which in enumerate(_monomials(own.unmet))}
        weights: list[np.ndarray] = []
        for which in _monomials(law.directions):
            outside = row[tuple(j - met for j in which if j >= met)]
            powers = [which.count(m) for m in range(met)]
            weights.append(self._table.contracted(table[..., outside, :], onto, powers, stride))
        return np.stack(weights, axis=2)


def pairs(count: int) -> list[tuple[int, int]]:
    """Of variables j ≤ l, in the order of a batch's rows."""
    return list(combinations_with_replacement(range(count), 2))


def _monomials(count: int) -> list[tuple[int, ...]]:
    """1, y_j and y_j y_l as the variables in them, in the order of a batch's rows."""
    return [(), *((j,) for j in range(count)), *pairs(count)]


def _rows(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """w·(1, v_j, v_j v_l) for variables v [m, ...] and weights w [...]: [rows, ...]."""
    first = [w * one for one in v]
    return np.stack([w, *first, *(first[i] * v[j] for i, j in pairs(len(v)))])


@lru_cache
def _first_law(law: JointLaw, coarser: int, finer: int, levels: tuple[float, ...]) -> np.ndarray:
    """Of labels before the first step, [1, rows, nodes]."""
    z, w = law.nodes(0, _ONCE[law.directions] + finer - 2 * coarser)  # fewer by a factor of 2.25 each time
    nodes, one = label_nodes(law.size, coarser, finer, levels), np.zeros(1, int)
    parts = np.array_split(upto(len(w)), -(-len(w) // _BLOCK))
    return sum(nodes.compress(law.mean(*z[:, at]), _rows(z[:, at], w[at]), one) for at in parts)  # type: ignore[return-value]

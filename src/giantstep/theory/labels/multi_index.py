"""Labels that depend on the projections z1, z2, ... on several directions: a real function of them, or a sign.

What `OneDirection` answers, by way of tables (`table`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from ...errors import ParameterError
from ...functions import Joint, as_planes, followed
from ...gaussian import REACH
from ...gaussian.cuts import Cuts, joint_reach
from ..layer import Frame
from ..rule import Rule
from .compression import label_nodes, with_monomials
from .conditional_nodes import UNSEEN
from .label import BatchLabels, Label
from .table import TableOnRule, conditional_table

# the law before the first step is made once for a target: so many refinements are there to begin with,
_ONCE = {2: 3, 3: 1, 4: 1}
_MOST_REFINED = {2: 3, 3: 2, 4: 1}  # and so many may follow,
_USUAL = 256  # from this number of points on
_BLOCK = 1 << 16  # nodes in memory at a time
_FINEST = {2: 400, 3: 192, 4: 400}  # κ intervals per piece beyond which tables are not refined, by directions


@dataclass(frozen=True)
class SeveralDirections:
    """Y = g(z), or ±1: the sign of g(z) + noise, wrong with chance `flips`; noise of real labels is added elsewhere."""

    function: Joint
    binary: bool
    flips: float = 0.0
    noises: tuple[float, ...] = (0.0,)  # standard deviations of the noise before the sign,
    shares: tuple[float, ...] = (1.0,)  # and how often each occurs
    law = None  # of signs, in closed form
    odd = False  # whether labels are known to change sign with z
    turning_values = np.empty(0)  # not looked for: level sets of several directions may change anywhere

    @property
    def directions(self) -> int:
        return self.function.directions

    @property
    def finest(self) -> int:
        """κ intervals per piece beyond which nothing is gained."""
        return _FINEST[self.directions]

    @property
    def clean(self) -> SeveralDirections:
        """The same without flips and noise: what a test compares with."""
        return SeveralDirections(self.function, self.binary)

    def mean(self, *z: np.ndarray) -> np.ndarray:
        """E[Y | z]."""
        value = np.asarray(self.function(*z))
        if not self.binary:
            return value
        from scipy.special import erf

        mean = np.zeros_like(value)
        for noise, share in zip(self.noises, self.shares, strict=True):
            mean += share * (np.sign(value) if noise == 0.0 else erf(value / (np.sqrt(2.0) * noise)))
        return (1.0 - 2.0 * self.flips) * mean

    def square(self, *z: np.ndarray) -> np.ndarray:
        """E[Y² | z]."""
        return np.ones_like(z[0]) if self.binary else np.asarray(self.function(*z)) ** 2

    @cached_property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals [H, k] and offsets [H] of hyperplanes where E[Y | z] kinks or jumps, and around its steep steps.

        Labels ±1 have those of clean labels, with which a test compares, whatever noise blurs their own.
        """
        return as_planes(self.function.splits(self.binary), self.directions)

    @cached_property
    def fastest(self) -> float:
        """Bandwidth of the function, or of its sign; an error if rules would miss something of it."""
        fastest, missed = followed(self.function, self.binary)
        if missed is not None:
            raise ParameterError(
                f"target {self.function.name!r} {missed}: integrals over several variables would miss that; use a"
                " smoother function, name its kinks, or simulate"
            )
        return fastest

    @cached_property
    def reach(self) -> float:
        """How far out z must be followed until g² φ is negligible; an error if it never is."""
        return REACH if self.binary else joint_reach(self.function)

    def nodes(self, coarser: int, finer: int, reach: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """z [k, J] and weights [J] for averages over all directions: a ball of the reach, not the cube around it.

        The reach is that of E Y² unless another one is named.
        """
        reach, (normals, offsets) = reach or self.reach, self.planes
        least = 1e-2 * np.exp(-0.5 * reach**2)  # nodes of one rule differ in weight by less than that
        cuts = Cuts(normals)
        return cuts.nodes(offsets, cuts.points(coarser, finer, self.fastest), reach, least)

    def moments(self, coarser: int = 0, finer: int = 0) -> tuple[float, np.ndarray, float]:
        """E Y, E[zY] [k] and E Y²."""
        z, w = self.nodes(coarser, finer)
        y = self.mean(*z)
        return float(w @ y), z @ (w * y), float(w @ self.square(*z))

    @cached_property
    def size(self) -> float | None:
        """√E Y² of real labels; None for ±1."""
        return None if self.binary else float(np.sqrt(self.powers[0]))

    @cached_property
    def powers(self) -> tuple[float, float]:
        """E Y² and E Y⁴ without noise; the latter may be infinite."""
        return (1.0, 1.0) if self.binary else (self.moments()[2], self._fourth())

    def _fourth(self) -> float:
        """E Y⁴ of real labels; infinite where it is, or is out of reach."""
        try:
            reach = joint_reach(self.function, power=4)
        except ParameterError:
            return np.inf
        z, w = self.nodes(0, 0, reach)  # a doubt is marked from a few per cent on
        return float(w @ self.mean(*z) ** 4)

    def breakpoints(self, frame: Frame) -> tuple[float, ...]:
        """Where the label given z'_1, averaged over the others, jumps or kinks."""
        table = conditional_table(self, frame)
        return table.breakpoints[0] if table.met == 1 else ()

    def least_intervals(self, frame: Frame) -> np.ndarray:
        """Intervals along κ under which a rule may miss what labels do, [U]."""
        return np.zeros(len(frame.gamma))

    def unseen_error(self, spikes: int) -> float:
        """Of averages with a field along y, beyond what rules in κ show."""
        return UNSEEN if spikes > 1 and not len(self.planes[0]) else 0.0

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
            nodes = label_nodes(self.size, coarser, finer, levels)
            law = _first_law(self, coarser, finer, levels)
            y, weights = nodes.with_noise(law[None], np.array([noise]))
            batches.append((y[0], weights[0]))
        return batches

    def batch(
        self, frame: Frame, rule: Rule, noise: np.ndarray, points: int, levels: np.ndarray | None = None
    ) -> BatchLabels:
        """Labels of a batch after it, at each κ of the rule of a stride; not cut at `levels` either."""
        return partial(TableOnRule(self, frame, rule, points).labels, noise)

    def conditional_moments(self, frame: Frame, rule: Rule, points: int, reach: float) -> Callable[[int], Label]:
        """Moments of labels at each κ of the rule of a stride."""
        return TableOnRule(self, frame, rule, points).label


@lru_cache
def _first_law(law: SeveralDirections, coarser: int, finer: int, levels: tuple[float, ...]) -> np.ndarray:
    """Of labels before the first step, [1, rows, nodes]."""
    z, w = law.nodes(0, _ONCE[law.directions] + finer - 2 * coarser)  # fewer by a factor of 2.25 each time
    nodes, one = label_nodes(law.size, coarser, finer, levels), np.zeros(1, int)
    parts = np.array_split(np.arange(len(w)), -(-len(w) // _BLOCK))
    laws = [nodes.compress(law.mean(*z[:, at]), with_monomials(z[:, at], w[at]), one) for at in parts]
    return np.sum(laws, axis=0)

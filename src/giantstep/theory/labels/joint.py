"""The law of a label given the projections z1, z2, ... on several directions: a real function of them, or a sign."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cuts import Cuts, joint_reach
from ...errors import ParameterError
from ...functions import Joint, as_planes
from ...gaussian import REACH
from .binary import latent_noises
from .label import TAIL_TOLERANCE

if TYPE_CHECKING:
    from ...model import Target

_FINER_AND_FINER = ((2, 0), (1, 0), (0, 0), (0, 1), (0, 2))  # rules for E Y⁴


@dataclass(frozen=True)
class JointLaw:
    """Y = g(z), or ±1: the sign of g(z) + noise, wrong with chance `flips`; noise of real labels is added elsewhere."""

    function: Joint
    binary: bool
    flips: float = 0.0
    noises: tuple[float, ...] = (0.0,)  # standard deviations of the noise before the sign,
    shares: tuple[float, ...] = (1.0,)  # and how often each occurs

    @property
    def directions(self) -> int:
        return self.function.directions

    @property
    def clean(self) -> JointLaw:
        """The same without flips and noise: what a test compares with."""
        return JointLaw(self.function, self.binary)

    def mean(self, *z: np.ndarray) -> np.ndarray:
        """E[Y | z]."""
        value = np.asarray(self.function(*z))
        if not self.binary:
            return value
        from scipy.special import erf

        found = np.zeros_like(value)
        for noise, share in zip(self.noises, self.shares, strict=True):
            found += share * (np.sign(value) if noise == 0.0 else erf(value / (np.sqrt(2.0) * noise)))
        return (1.0 - 2.0 * self.flips) * found

    def square(self, *z: np.ndarray) -> np.ndarray:
        """E[Y² | z]."""
        return np.ones_like(z[0]) if self.binary else np.asarray(self.function(*z)) ** 2

    @cached_property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals [H, k] and offsets [H] of hyperplanes where E[Y | z] kinks or jumps, and around its steep steps.

        Labels ±1 have those of clean labels, with which a test compares, whatever noise blurs their own.
        """
        kinks = self.function.label_kinks() if self.binary else self.function.splits
        return as_planes(kinks, self.directions)

    @cached_property
    def fastest(self) -> float:
        """Bandwidth of the function, or of its sign; an error if rules would miss something of it."""
        fastest, missed = self.function.followed_sign if self.binary else self.function.followed
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

    @cached_property
    def cuts(self) -> Cuts:
        """In the user's own directions."""
        return Cuts(self.planes[0])

    def nodes(self, coarser: int, finer: int, reach: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """z [k, J] and weights [J] for averages over all directions: a ball of the reach, not the cube around it.

        The reach is that of E Y² unless told otherwise.
        """
        reach = reach or self.reach
        least = 1e-2 * np.exp(-0.5 * reach**2)  # nodes of one rule differ in weight by less than that
        return self.cuts.nodes(self.planes[1], self.cuts.points(coarser, finer, self.fastest), reach, least)

    def moments(self, coarser: int = 0, finer: int = 0) -> tuple[float, np.ndarray, float]:
        """E Y, E[zY] [k] and E Y²."""
        z, w = self.nodes(coarser, finer)
        y = self.mean(*z)
        return float(w @ y), z @ (w * y), float(w @ self.square(*z))

    @cached_property
    def size(self) -> float | None:
        """√E Y² of real labels; None for ±1."""
        return None if self.binary else float(np.sqrt(self.moments()[2]))

    @cached_property
    def fourth(self) -> float:
        """E Y⁴ of real labels, on finer rules until it stands still; infinite where it is, or is out of reach."""
        try:
            reach = joint_reach(self.function, power=4)
        except ParameterError:
            return np.inf
        found = np.nan
        for coarser, finer in _FINER_AND_FINER:
            z, w = self.nodes(coarser, finer, reach)
            before, found = found, float(w @ self.mean(*z) ** 4)
            if abs(found - before) <= TAIL_TOLERANCE * found:
                break
        return found


def joint_law(target: Target) -> JointLaw | None:
    """The law of a target of several directions; None for one."""
    if not isinstance(target.function, Joint):
        return None
    if not target.binary:
        return JointLaw(target.function, binary=False)
    noises, shares = latent_noises(target)
    return JointLaw(target.function, True, target.flips, noises, shares)


def turned(turn: np.ndarray, z: Any) -> list[np.ndarray]:
    """z = turn·z' from projections z' on turned directions."""
    return [sum(part * one for part, one in zip(row, z, strict=True)) for row in turn]  # type: ignore[misc]

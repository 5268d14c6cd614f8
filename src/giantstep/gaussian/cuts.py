"""Rules for averages over several Gaussian variables of functions that kink or jump on hyperplanes.

Integrals are nested, z_m innermost. Along z_j the integrand breaks where a hyperplane is crossed that does not involve
later variables, and where two hyperplanes meet that do: integrating over z_m leaves kinks at their intersections,
which no single hyperplane shows. A hyperplane that is crossed at a later variable leaves a smooth step here, whose
surroundings are cut out if it is steep.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from ..errors import ParameterError
from ..functions import Function
from ..functions.hyperplanes import RIMS
from .averages import TAIL
from .rules import REACH, density, legendre, line_rule, pieces

_REACHES = (9.0, 12.0, 16.0, 21.0)
_PROBES = 4096
_TINY = 1e-12
_STEEP = 0.7  # width of a smooth step, in standard deviations, under which it is cut out
BASE = np.array([-9.0, -5.0, -2.5, 0.0, 2.5, 5.0, 9.0]) / 9.0  # pieces of the line, over its reach,
THIRDS = np.array([-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0])  # and those that resolve the Gaussian itself
_MOST = 24  # hyperplanes that are followed down to one variable
_SMOOTH_POINTS = {1: 64, 2: 64, 3: 64, 4: 32}  # trapezoidal intervals along each of so many variables,
_PANEL_POINTS = {1: 16, 2: 12, 3: 7, 4: 5}  # and Gauss nodes in each piece, on the finest of three rules
_COARSER = (1.0, 0.75, 0.5)
_MANY = {1: 16, 2: 8, 3: 2, 4: 1}  # times as many for functions that vary fast, at most


class _Plane(NamedTuple):
    """n·z = mix·c, where c are the offsets of the hyperplanes that were given."""

    normal: np.ndarray
    mix: np.ndarray


class Cuts:
    """Where to cut nested averages over z_1, ..., z_m for hyperplanes with these `normals` [H, m].

    Lines that something cuts are cut at `base` times their reach as well.
    """

    def __init__(self, normals: np.ndarray, base: np.ndarray = BASE):
        count, self.variables = normals.shape
        self._base = base
        planes = [_Plane(n, mix) for n, mix in zip(normals, np.eye(count), strict=True)]
        self._kinks: list[list[_Plane]] = []
        for j in range(self.variables - 1, -1, -1):
            planes = _distinct(planes)[:_MOST]
            here = [plane for plane in planes if abs(plane.normal[j]) > _TINY]
            scaled = [_Plane(p.normal / p.normal[j], p.mix / p.normal[j]) for p in here]
            self._kinks.insert(0, scaled)
            met = [_Plane(p.normal - q.normal, p.mix - q.mix) for p, q in combinations(scaled, 2)]
            planes = [_Plane(p.normal[:j], p.mix) for p in (*planes, *met) if abs(p.normal[j]) <= _TINY]

    def places(self, j: int, offsets: np.ndarray, before: list[np.ndarray]) -> np.ndarray:
        """Where to cut z_j, [..., J, cuts], given offsets [..., H] and earlier variables [..., J].

        At kinks, and around those smooth steps that are steep: what later variables leave of their own kinks.
        """

        def place(plane: _Plane) -> np.ndarray:
            at = (offsets @ plane.mix)[..., None]
            for slope, z in zip(plane.normal, before, strict=False):
                at = at - slope * z
            return at[..., None]

        at = [place(plane) for plane in self._kinks[j]]
        for normal, mix in chain(*self._kinks[j + 1 :]):
            slope = normal[j]
            width = np.linalg.norm(normal[j + 1 :]) / max(abs(slope), 1e-300)
            if width < _STEEP:
                at.append(place(_Plane(normal[: j + 1] / slope, mix / slope)) + width * RIMS)
        shape = (*offsets.shape[:-1], before[0].shape[-1] if before else 1)
        return np.concatenate([np.broadcast_to(a, (*shape, a.shape[-1])) for a in at] or [np.zeros((*shape, 0))], -1)

    def points(self, coarser: int, finer: int, fastest: float) -> int:
        """Intervals on a line, or nodes in each of its pieces where it is cut, of one of three nested rules.

        `coarser` is 0, 1 or 2, for rules whose differences tell the error; `finer` counts refinements. Functions that
        vary fast, with a bandwidth of `fastest`, have more of them, as far as they are not too many.
        """
        if any(self._kinks):
            usual, multiple, needed = _PANEL_POINTS.get(self.variables, 1), 1, fastest
        else:
            usual, multiple, needed = _SMOOTH_POINTS.get(self.variables, 1), 4, fastest * REACH / np.pi
        usual = max(usual, min(needed, _MANY.get(self.variables, 1) * usual))
        return multiple * int(np.ceil(usual * _COARSER[coarser] * 1.5**finer / multiple))

    def nodes(
        self, offsets: np.ndarray, points: int, reach: float, least: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes [..., m, J] and weights [..., J] of all variables together, the last one's running fastest.

        Without those whose weight is less than `least` of the largest one, for offsets [H].
        """
        lead = offsets.shape[:-1]
        z: list[np.ndarray] = []
        weights = np.ones((*lead, 1))
        for j in range(self.variables):
            if any(self._kinks):
                x, w = panels(self.places(j, offsets, z), points, reach * self._base)
            else:
                x, (w, *_) = line_rule(points, reach)
            z = [np.repeat(one, x.shape[-1], axis=-1) for one in z]
            z.append(np.broadcast_to(x, (*weights.shape, x.shape[-1])).reshape(*lead, -1))
            weights = (weights[..., None] * w).reshape(*lead, -1)
            if least:
                counts = weights > least * weights.max()
                z, weights = [one[counts] for one in z], weights[counts]
        return (np.stack(z, axis=-2) if z else np.zeros((*lead, 0, 1))), weights


def _distinct(planes: list[_Plane]) -> list[_Plane]:
    """Without those that appear twice, or whose normal vanishes."""
    kept: dict[tuple[float, ...], _Plane] = {}
    for normal, mix in planes:
        size = np.linalg.norm(normal)
        if size <= _TINY:
            continue
        sign = np.sign(normal[np.abs(normal) > _TINY][0]) / size
        kept.setdefault(tuple(np.round(np.concatenate([normal, mix]) * sign, 9) + 0.0), _Plane(normal, mix))
    return list(kept.values())


def panels(cuts: np.ndarray, n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule for E over N(0, 1) on the pieces between `edges` and `cuts` [..., c]: nodes and weights [..., all]."""
    middle, half = pieces(cuts, edges)
    x, w = legendre(n)
    z = middle + half * x
    weights = half * w * density(z)
    shape = (*cuts.shape[:-1], -1)
    return z.reshape(shape), weights.reshape(shape)


@lru_cache(maxsize=256)
def joint_reach(function: Function, power: int = 2) -> float:
    """How far out z must be followed until |g|^power φ is negligible in every direction; an error if it never is."""
    k, rng = function.directions, np.random.default_rng(0)
    ways = rng.normal(size=(k, 64))
    ways = np.concatenate([np.eye(k), -np.eye(k), ways / np.linalg.norm(ways, axis=0)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        size = float((np.asarray(function(*rng.normal(size=(k, _PROBES)))) ** power).mean())
        for reach in _REACHES:
            ends = np.asarray(function(*(reach * ways))) ** power
            if np.all(ends * np.exp(-0.5 * reach**2) <= TAIL * size):
                return reach
    raise ParameterError(
        f"target {function.name!r} grows too fast: its variance is infinite or out of reach; use a function that"
        " grows no faster than exp(|z|²/4) or so"
    )

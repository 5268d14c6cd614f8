"""What the neurons of a trained network see of a target of several directions, averaged exactly over inputs.

E[g(z) σ(F_i·x + b_i)] is an average over the k projections z and the neuron's own field. The rows of a group differ
little in their components φ_i on the target's directions, so turn these such that the first, t, is where they mostly
point. At fixed t neuron i sees a Gaussian field of mean φ_i1 t + b_i and standard deviation s_i, whose correlations ρ_i
with the other projections y are small. Expand in Hermite polynomials (Mehler's formula, y of several components):

    E[g σ_i] = E_t Σ_n S_n,i(t) Σ_|α|=n √(n!/α!) ρ_i^α g_α(t),    g_α(t) = E_y[g(t, y) he_α(y)],

S_n,i(t) = E[σ(φ_i1 t + b_i + s_i ξ) he_n(ξ)]. The series is cut where its rest is below `TOLERANCE`, and the rules in t
and y are refined until two of them agree. They are cut at the target's hyperplanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from ..cuts import BASE, Cuts, joint_reach, panels
from ..functions import Function, Joint
from ..gaussian import line_rule
from .hermite import hermite_moments, trapezoidal_step

TOLERANCE = 1e-9
"""Bound on what the cut series leaves out of a test error, relative to the target's mean square."""

RESOLVED = 1e-8
"""Disagreement of two rules, relative to the target's mean square, up to which the finer one is the answer."""

MOST_TERMS = 80
"""Beyond this many Hermite terms (rows nearly parallel: d of a few dozen) test samples are cheaper."""

_MOST_INDICES, _MOST_NODES = 5000, 4e7  # α in the series and nodes of a rule, beyond which they are too
_REFINEMENTS = 3
_BLOCK = 1 << 17  # numbers in flight


class Seen(NamedTuple):
    """A target as the neurons see it: E g², and E[g σ_i] of each neuron."""

    power: float
    overlaps: np.ndarray


@dataclass(frozen=True)
class Group:
    """Neurons of one letter."""

    on_target: np.ndarray  # components of their rows on the target's directions, [n, k]
    norms: np.ndarray  # of their rows
    biases: np.ndarray
    squares: np.ndarray  # E σ_i²
    weights: np.ndarray  # [n, columns]


def seen_by(groups: list[Group], activation: Function, target: Joint) -> Seen | None:
    """The target as seen by all neurons; None where samples are cheaper, or the target is not resolved."""
    if target.followed.missed is not None:
        return None
    views = [_View(group, activation, target) for group in groups]
    weights = np.concatenate([group.weights for group in groups])
    for finer in range(_REFINEMENTS):
        found = []
        for coarser in (0, 1):
            parts = [part for view in views if (part := view.seen(coarser, finer)) is not None]
            if len(parts) < len(views):
                return None
            found.append(Seen(parts[0].power, np.concatenate([part.overlaps for part in parts])))
        fine, coarse = found
        off = 2.0 * np.abs(weights.T @ (fine.overlaps - coarse.overlaps)).max()
        if abs(fine.power - coarse.power) + off <= RESOLVED * fine.power:
            return fine
    return None


class _View:
    """One group of neurons and the target, turned to where the group points."""

    def __init__(self, group: Group, activation: Function, target: Joint):
        self.group, self.activation, self.target = group, activation, target
        self.turn = np.linalg.eigh(group.on_target.T @ group.on_target)[1][:, ::-1]
        turned = group.on_target @ self.turn
        self.along = turned[:, 0]
        self.across = np.sqrt(np.maximum(group.norms**2 - self.along**2, 0.0))
        tiny = 1e-7 * float(group.norms.max())
        self.rho = (
            np.where(self.across > tiny, 1.0 / np.maximum(self.across, tiny), 0.0)[:, None] * turned[:, 1:]
        )
        self.normals = (
            np.array([normal for normal, _ in target.splits]).reshape(-1, target.directions) @ self.turn
        )
        self.offsets = np.array([offset for _, offset in target.splits])
        self.reach, self.terms = joint_reach(target), self._terms()

    def seen(self, coarser: int, finer: int) -> Seen | None:
        """By one rule; None where that is too much work."""
        terms, (t, weights) = self.terms, self._rule(coarser, finer)
        if terms > MOST_TERMS or math.comb(terms + len(self.turn) - 2, terms - 1) > _MOST_INDICES:
            return None
        projected = self._projected(t, terms, coarser, finer)
        if projected is None:
            return None
        power, parts = projected
        seen = (self.along, self.group.biases, self.across)
        moments = hermite_moments(self.activation, *seen, t, terms).rows()
        overlaps = np.zeros(len(self.along))
        for degree, indices in enumerate(_indices(len(self.turn) - 1, terms)):
            shares = [math.sqrt(math.factorial(degree) / math.prod(map(math.factorial, a))) for a in indices]
            mix = np.stack(
                [s * (self.rho**a).prod(axis=1) for s, a in zip(shares, indices, strict=True)], axis=1
            )
            own = np.stack([parts[a] * weights for a in indices])
            overlaps += np.einsum("it,it->i", moments[degree], mix @ own)
        return Seen(float(power @ weights), overlaps)

    def _terms(self) -> int:
        """The first n with Σ_i |a_i| √E σ_i² |ρ_i|^n √E g² ≤ TOLERANCE·E g²."""
        probes = np.random.default_rng(0).normal(size=(self.target.directions, 4096))
        size = math.sqrt(float((np.asarray(self.target(*probes)) ** 2).mean()))
        length = np.sqrt((self.rho**2).sum(axis=1))
        left = np.abs(self.group.weights).max(axis=1) * np.sqrt(self.group.squares)
        terms = 1
        while (left := left * length).sum() > TOLERANCE * size and terms <= MOST_TERMS:
            terms += 1
        return terms

    def _rule(self, coarser: int, finer: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes t and weights that resolve every neuron, smoothed on the scale s_i/φ_i, cut where the target breaks."""
        step = trapezoidal_step(self.along, self.across)
        share = (1.0, 0.75)[coarser] * 1.5**finer
        if not len(self.normals):
            points = 4 * math.ceil(share * max(64, 2 * self.reach / step) / 4)
            nodes, weights = line_rule(points, self.reach)
            return nodes, weights[0]
        cuts = Cuts(self.normals).places(0, self.offsets, [])[0]
        return panels(cuts, math.ceil(share * max(16, 6 / step)), self.reach * BASE)

    def _projected(
        self, t: np.ndarray, terms: int, coarser: int, finer: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """E[g² | t], and g_α(t) for all α below `terms`, [α_1, ..., t]; None where it is too much work."""
        inner, m = Cuts(self.normals[:, 1:]), len(self.turn) - 1
        power, parts = np.empty(len(t)), np.empty((*[terms] * m, len(t)))
        start, size = 0, 1
        while start < len(t):
            part = slice(start, start + size)
            here = self.offsets - t[part, None] * self.normals[:, 0]
            levels = inner.levels(
                here, inner.points(coarser, finer, self.target.followed.fastest), self.reach
            )
            each = math.prod(x.shape[-1] for x, _ in levels)
            if each * len(t) > _MOST_NODES:
                return None
            values = np.asarray(self.target(*self._projections(t[part], levels)))
            power[part] = _averaged(values**2, levels, 1).reshape(-1)
            parts[..., part] = _averaged(values, levels, terms)
            start, size = start + size, max(1, _BLOCK // each)
        return power, parts

    def _projections(self, t: np.ndarray, levels: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
        """z in the user's directions on all nodes, [t, n_1, n_2, ...]."""
        sizes = [x.shape[-1] for x, _ in levels]
        shape = (len(t), *sizes)
        turned = [t.reshape(-1, *[1] * len(sizes))]
        for j, (x, _) in enumerate(levels):
            lead = () if x.ndim == 1 else shape[: j + 1]
            turned.append(x.reshape(*lead, sizes[j], *[1] * (len(sizes) - j - 1)))
        z = [sum(c * x for c, x in zip(row, turned, strict=True)) for row in self.turn]
        return [np.ascontiguousarray(np.broadcast_to(one, shape)) for one in z]


def _averaged(values: np.ndarray, levels: list[tuple[np.ndarray, np.ndarray]], terms: int) -> np.ndarray:
    """E_y[values he_α(y)] of values [t, n_1, n_2, ...], one variable after the other from the last: [α_1, ..., t]."""
    found, shape = values, values.shape
    for x, w in reversed(levels):
        if x.ndim > 1:
            x, w = x.reshape(shape), w.reshape(shape)
        test, before, rows = w, np.zeros(1), []  # he_n(y) times its weight
        for n in range(terms):
            if n:
                before, test = test, (x * test - math.sqrt(n - 1) * before) / math.sqrt(n)
            rows.append(np.einsum("...j,...j->...", test, found))
        found, shape = np.stack(rows), shape[:-1]
    return found


def _indices(variables: int, terms: int) -> list[list[tuple[int, ...]]]:
    """The multi-indices of each degree below `terms`."""
    degrees: list[list[tuple[int, ...]]] = [[] for _ in range(terms)]
    for index in product(range(terms), repeat=variables):
        if sum(index) < terms:
            degrees[sum(index)].append(index)
    return degrees

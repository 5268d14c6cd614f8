"""What a label reveals: F(s) = E[E[u | y, ω]²] for each label law, with z = ω + s·u and ω ~ N(0, 1 - s²).

F is the share of the variance of z still unknown, s² = 1 - q, that one label reveals. Fixed points, thresholds and the
free entropy follow from it alone. There are three label laws: finitely many labels (`Levels`), Gaussian noise
(`Noisy`), and real labels without noise (`Noiseless`), which have preimages and flat pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ParameterError
from ...functions import Function
from ...gaussian import density, even_pieces, least_intervals, quarterable, sample, tail_reach
from ...gaussian.cuts import panels
from ...theory.labels import BinaryLaw, binary_law
from .rules import REACH, ROUNDING, cavity_rule, changes, divided, information, slope_of, split, zeros

if TYPE_CHECKING:
    from ...model.target import Target

_EPSILON = np.finfo(float).eps  # of chances, differences from 1
_FEW = np.arange(1, 128) / 128  # places within a panel at which a function is sampled
_USUAL = 3.0  # |z| within which the size of a function counts
# next to the end of a piece, within this share of it, a function moves by so much
_NEARBY, _MOVES = 0.01, 1e-9
_LOST = (1e-3, 1e-7)  # error of a preimage, and the probability of such z, from which on labels do not tell z
_BRANCHES = 40  # monotone pieces of a function whose preimages are computed, at most
_PANEL, _PANEL_NODES = 2.4, 8  # of z, over s or the noise in z, whichever is less
_PER_NOISE = 3.5  # labels within a standard deviation of their noise
_MOST = 60_000  # nodes of z
_TOGETHER = 24  # labels, and nodes of z, that are averaged over together
_PREIMAGES = 192  # nodes between turning points
_FIELD, _FIELDS = 0.15, 60  # distance of fields given z over s, and their number to either side
_LEAST = 64  # intervals of z given ω


class Levels:
    """Finitely many labels, of each of which a law says when it occurs."""

    def __init__(self, laws: Sequence[BinaryLaw]):
        self.laws = laws
        cuts = np.unique([cut for law in laws for cut in law.cuts])
        self.cuts = [*cuts, *(0.5 * (cuts[1:] + cuts[:-1]))]  # half way another label is the likelier one

    @classmethod
    def of_signs(cls, law: BinaryLaw) -> Levels:
        """Labels ±1."""
        return cls([law, replace(law, first=-law.first)])

    def chances(self, omega: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        """P(label | ω) and s times its derivative, [labels, W]."""
        both = np.array([law.chance(omega, np.full(1, s * s)) for law in self.laws])
        return np.maximum(both[:, 0], _EPSILON), s * both[:, 1]

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s)."""
        omega, w = cavity_rule(s, self.cuts, finer=finer)
        chance, slope = self.chances(omega, s)
        return float((slope**2 / chance).sum(axis=0) @ w)

    def error(self, s: float) -> float:
        """Mean squared error of the best predictor of clean labels ±1."""
        omega, w = cavity_rule(s, self.cuts)
        return float(4.0 * self.chances(omega, s)[0].prod(axis=0) @ w)

    def wrong_signs(self, s: float) -> float:
        """Share of wrong signs of the best predictor of clean labels ±1."""
        omega, _ = cavity_rule(s, self.cuts)
        excess = np.subtract(*self.chances(omega, s)[0])
        at = np.flatnonzero(np.diff(excess > 0.0))  # the likelier sign changes between these and the next
        slope = (excess[at + 1] - excess[at]) / (omega[at + 1] - omega[at])
        turns = omega[at] - excess[at] / slope  # to 1e-5, and the error is flat there
        omega, w = cavity_rule(s, [*self.cuts, *turns])
        return float(self.chances(omega, s)[0].min(axis=0) @ w)


class Noisy:
    """Real labels with Gaussian noise of standard deviation `noise`."""

    def __init__(self, function: Function, noise: float):
        self.function, self.noise = function, noise
        self.edges = _panels(function)
        inside = np.asarray(function(_within(self.edges)), float)
        rise = np.abs(np.diff(inside, axis=1)).max(axis=1) / (_FEW[0] * np.diff(self.edges))
        self.noise_in_z = noise / np.maximum(rise, noise / REACH)
        if _PANEL_NODES / _PANEL * (np.diff(self.edges) / self.noise_in_z).sum() > _MOST:
            raise ParameterError(
                f"target {function.name!r} varies too fast for its noise of {noise:g}: its best possible error would"
                " take too long; give it more noise"
            )

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s).

        Neighbouring ω, which share most of their z, are taken together, and so are neighbouring y: in the order of
        labels, z close to them are a band.
        """
        step, reach, total = self.noise / (_PER_NOISE * finer), REACH * self.noise, 0.0
        edges = divided(self.edges, _PANEL / finer * np.minimum(s, self.noise_in_z))
        z, w = panels(edges, _PANEL_NODES, np.array([-REACH, REACH]))
        label, dz = np.asarray(self.function(z)), w / density(z) / s
        omega, weights = cavity_rule(s, self.function.breakpoints, self.function, finer)
        for part in split(np.arange(len(omega)), int(len(omega) * s) + _PANEL_NODES):
            o, weight = omega[part], weights[part] * step / self.noise
            near = np.arange(*np.searchsorted(z, [o[0] - REACH * s, o[-1] + REACH * s]))
            near = near[np.argsort(label[near])]
            g, u = label[near], (z[near, None] - o) / s
            B = density(u) * dz[near, None]
            law = np.stack([B, u * B])
            for y in split(np.arange(g[0] - reach, g[-1] + reach, step), _TOGETHER):
                band = slice(*np.searchsorted(g, [y[0] - reach, y[-1] + reach]))
                A = density((y[:, None] - g[band]) / self.noise)
                total += information(A, [law[:, band]], weight).item()
        return total


class Noiseless:
    """Real labels without noise: z is one of the preimages of y; flat pieces of the function are levels."""

    def __init__(self, function: Function):
        self.function = function
        cuts = self._ends_of_pieces()
        values = np.asarray(function(_within(cuts)), float)
        values /= np.abs(values).max()
        steps = np.diff(values, axis=1)
        if ((steps.min(axis=1) < -ROUNDING) & (steps.max(axis=1) > ROUNDING)).any():
            raise self._ambiguous()  # it turns where it is flat in double precision
        level, flat = np.round(values[:, 0], 12), np.ptp(values, axis=1) <= ROUNDING
        pieces = np.stack([cuts[:-1], cuts[1:]], axis=1)
        ends = [tuple(pieces[flat & (level == one)].ravel().tolist()) for one in np.unique(level[flat])]
        self.flat = Levels([BinaryLaw(cuts, first=-1.0) for cuts in ends])
        self.left, self.right = pieces[~flat].T + np.array([[ROUNDING], [-ROUNDING]])
        self._pair_preimages()

    def _ends_of_pieces(self) -> np.ndarray:
        """Ends of pieces on which the function is monotone or flat: turning points, jumps, and ends of flat pieces.

        A steep function that has saturated in double precision, as tanh(50 x), is not flat: it comes to a halt slowly.
        """
        f = self.function
        z = _within(_panels(f)).ravel()
        size = np.abs(f(np.clip(z, -_USUAL, _USUAL))).max()
        turns = changes(lambda x: slope_of(f, x) > 0.0, z[slope_of(f, z) != 0.0])
        inner = np.unique(np.round([b for b in (*f.breakpoints, *turns) if abs(b) < REACH], 12))
        ends = np.array([-REACH, *inner, REACH])
        left, right, near = ends[:-1] + ROUNDING, ends[1:] - ROUNDING, _NEARBY * np.diff(ends)
        places = left, left + 0.5 * near, left + near, right - near, right - 0.5 * near, right
        first, second, third, third_last, second_last, last = f(np.array(places)) / size
        rise, jump = last - first, np.abs(first[1:] - last[:-1])
        least, most = np.sort(np.abs([(second_last - third_last)[:-1], (third - second)[1:]]), axis=0)
        turning = (rise[1:] * rise[:-1] < 0.0) & (np.minimum(*np.abs([rise[1:], rise[:-1]])) > ROUNDING)
        inner = inner[turning | (jump > _MOVES) | ((least < ROUNDING) & (most > _MOVES))]
        if len(inner) >= _BRANCHES:
            raise ParameterError(
                f"target {f.name!r} has {len(inner) + 1} monotone pieces, and labels without noise are computed"
                f" for at most {_BRANCHES}; give it some noise"
            )
        return np.array([-REACH, *inner, REACH])

    def _ambiguous(self) -> ParameterError:
        return ParameterError(
            f"target {self.function.name!r} has values at many z that are equal in double precision, so that labels"
            " without noise cannot tell these apart; give it some noise"
        )

    def _preimages(self, y: np.ndarray) -> np.ndarray:
        """The preimage of y [N] on each monotone piece, NaN where there is none: [N, pieces].

        Next to an extremum many z have one value in double precision: the end of these is taken, not any of them.
        """
        return zeros(lambda z, y: (self.function(z) > y) - 0.5, self.left, self.right, y[:, None])

    def _pair_preimages(self) -> None:
        """Nodes z, weights, and for each node the distances of all preimages of its label and their log weights."""
        f = self.function
        kinks = np.array([*f.breakpoints, *self.left, *self.right])
        beside = np.unique(f(np.add.outer([-ROUNDING, ROUNDING], kinks)))
        cuts = np.append(kinks, self._preimages(beside))
        z, (w, *_) = even_pieces(-REACH, REACH, np.unique(np.round(cuts[np.isfinite(cuts)], 12)), _PREIMAGES)
        z, w = z.ravel(), w.ravel() * density(z.ravel())
        own = (z[:, None] > self.left) & (z[:, None] < self.right)
        inside = own.any(axis=1) & (w > 0.0)
        self.z, self.w, own = z[inside], w[inside], own[inside]
        places = self._preimages(f(self.z))
        lost = ~(np.abs(places[own] - self.z) < _LOST[0])
        if (self.flat.laws or len(self.left) > 1) and self.w[lost].sum() > _LOST[1]:
            raise self._ambiguous()
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.abs(slope_of(f, self.z)[:, None] / slope_of(f, places)))
        self.ratio = np.where(own, 0.0, np.where(np.isfinite(ratio), ratio, -np.inf))
        self.apart = np.where(own | np.isnan(places), 0.0, places - self.z[:, None])

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s), of flat pieces and of the others: given z, ω = (1 - s²) z + √(1 - s²) s ξ."""
        from scipy.special import softmax

        total = self.flat.revealed(s, finer) if self.flat.laws else 0.0
        xi = _FIELD / finer * np.arange(-_FIELDS * finer, _FIELDS * finer + 1)
        for part in split(np.arange(len(self.z)), _TOGETHER):
            u = s * self.z[part, None] - np.sqrt(1.0 - s * s) * xi
            apart, ratio = self.apart.T[:, part, None] / s, self.ratio.T[:, part, None]
            chance = softmax(ratio - apart * (0.5 * apart + u), axis=0)
            mean = u + (chance * apart).sum(axis=0)
            total += float(self.w[part] @ mean**2 @ density(xi)) * _FIELD / finer
        return total


def channel_of(target: Target) -> Levels | Noisy | Noiseless:
    """The label law of a target of one direction."""
    law, noise = binary_law(target), float(np.asarray(target.noise))
    if law is not None:
        return Levels.of_signs(law)
    return Noisy(target.function, noise) if noise > 0.0 else Noiseless(target.function)


def unexplained(function: Function, s: float) -> float:
    """Mean squared error of the best predictor of σ(z) from ω: the part linear in z, and what is left of it."""
    reach = tail_reach(function, 1.0)
    omega, w = cavity_rule(s, function.breakpoints, function, reach=reach)
    nodes = quarterable(max(_LEAST, 2.0 * least_intervals(function, s, reach, reach, reach)))
    given = sample(function, omega, np.full(len(omega), s), nodes, reach).moments()
    return float((given.first**2 + given.remainder) @ w)


def _panels(function: Function) -> np.ndarray:
    """Edges of panels on which a function is smooth."""
    variation = function.variation(REACH)
    return np.unique(np.clip([*variation.left, *variation.right], -REACH, REACH))


def _within(edges: np.ndarray) -> np.ndarray:
    """A few places within each panel, [P, few]."""
    return edges[:-1, None] + np.diff(edges)[:, None] * _FEW

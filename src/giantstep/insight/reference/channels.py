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
from ...gaussian import (
    density,
    even_pieces,
    least_intervals,
    quarterable,
    sample,
    tail_reach,
)
from ...gaussian.cuts import panels
from ...theory.labels import BinaryLaw, binary_law
from .rules import REACH, bisected, blocks, cavity_rule, changes, divided

if TYPE_CHECKING:
    from ...model.target import Target

_TINY, _EPSILON = np.finfo(float).tiny, np.finfo(float).eps  # the latter of chances, differences from 1
_ROUNDING = 1e-13  # of places and, relative to the largest, of values
_FEW = np.arange(1, 128) / 128  # places within a panel at which a function is sampled
_USUAL = 3.0  # |z| within which the size of a function counts
# next to the end of a piece, within this share of it, a function moves by so much
_NEARBY, _MOVES = 0.01, 1e-9
_LOST = (1e-3, 1e-7)  # error of a preimage, and the probability of such z, from which on labels do not tell z
_ROUGHLY = 10  # halvings that locate where the better sign changes: the error is flat in that
_BRANCHES = 40  # monotone pieces of a function whose preimages are computed, at most
_PANEL, _PANEL_NODES = 2.4, 8  # of z, over s or the noise in z, whichever is less
_PER_NOISE = 3.5  # labels within a standard deviation of their noise
_MOST = 60_000  # nodes of z
_TOGETHER = 24  # labels, and nodes of z, that are averaged over together
_PREIMAGES, _FIELD = 192, 0.15  # nodes between turning points, and distance of fields given z over s
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
        chance, slope = np.moveaxis(
            np.array([law.chance(omega, np.full(1, s * s)) for law in self.laws]), 1, 0
        )
        return np.maximum(chance, _EPSILON), s * slope

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
        turns = changes(lambda x: np.greater(*self.chances(x, s)[0]), omega, _ROUGHLY)
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
        """F(s). Z = A B with A[y, z] the noise's density, banded once z is in the order of labels, and B[z, ω].

        Neighbouring ω, which share most of their z, are taken together, and so are neighbouring y.
        """
        step, reach, total = self.noise / (_PER_NOISE * finer), REACH * self.noise, 0.0
        edges = divided(self.edges, _PANEL / finer * np.minimum(s, self.noise_in_z))
        all_z, w = panels(edges, _PANEL_NODES, np.array([-REACH, REACH]))
        dz = w / density(all_z)
        omega, weights = cavity_rule(s, self.function.breakpoints, self.function, finer)
        for o, weight in blocks(int(len(omega) * s) + _PANEL_NODES, omega, weights):
            near = slice(*np.searchsorted(all_z, [o[0] - REACH * s, o[-1] + REACH * s]))
            z = all_z[near]
            label = np.asarray(self.function(z))
            order = np.argsort(label)
            label, u = label[order], (z[order, None] - o) / s
            B = density(u) * (dz[near][order, None] / s)
            both = np.concatenate([B, u * B], axis=1)
            for (y,) in blocks(_TOGETHER, np.arange(label[0] - reach, label[-1] + reach, step)):
                band = slice(*np.searchsorted(label, [y[0] - reach, y[-1] + reach]))
                A = density((y[:, None] - label[band]) / self.noise)
                Z, slope = np.split(A @ both[band], 2, axis=1)
                total += step / self.noise * float((slope**2 / np.maximum(Z, _TINY)).sum(axis=0) @ weight)
        return total


class Noiseless:
    """Real labels without noise: z is one of the preimages of y; flat pieces of the function are levels."""

    def __init__(self, function: Function):
        self.function = function
        cuts = self._ends_of_pieces()
        values = np.asarray(function(_within(cuts)), float)
        values /= np.abs(values).max()
        flat, steps = np.ptp(values, axis=1) <= _ROUNDING, np.diff(values, axis=1)
        if ((steps.min(axis=1) < -_ROUNDING) & (steps.max(axis=1) > _ROUNDING)).any():
            raise self._ambiguous()
        level, pieces = np.round(values[:, 0], 12), np.stack([cuts[:-1], cuts[1:]], axis=1)
        ends = [tuple(pieces[flat & (level == one)].ravel().tolist()) for one in np.unique(level[flat])]
        self.flat = Levels([BinaryLaw(cuts, first=-1.0) for cuts in ends])
        self.left, self.right = pieces[~flat].T
        self.ends = np.array([function(self.left + _ROUNDING), function(self.right - _ROUNDING)])
        self._pair_preimages()

    def _ends_of_pieces(self) -> np.ndarray:
        """Ends of pieces on which the function is monotone or flat: turning points, jumps, and ends of flat pieces.

        A steep function that has saturated in double precision, as tanh(50 x), is not flat: it comes to a halt slowly.
        """
        f = self.function
        z = _within(_panels(f)).ravel()
        size = np.abs(f(np.clip(z, -_USUAL, _USUAL))).max()
        turns = changes(lambda x: self._slope(x) > 0.0, z[self._slope(z) != 0.0])
        inner = np.unique(np.round([b for b in (*f.breakpoints, *turns) if abs(b) < REACH], 12))
        ends = np.array([-REACH, *inner, REACH])
        left, right, near = ends[:-1] + _ROUNDING, ends[1:] - _ROUNDING, _NEARBY * np.diff(ends)
        rise, jump = f(right) - f(left), np.abs(f(left[1:]) - f(right[:-1]))
        before, after = f(right - near) - f(right - 0.5 * near), f(left + near) - f(left + 0.5 * near)
        least, most = np.sort(np.abs([before[:-1], after[1:]]) / size, axis=0)
        turning = (rise[1:] * rise[:-1] < 0.0) & (
            np.abs([rise[1:], rise[:-1]]).min(axis=0) > _ROUNDING * size
        )
        inner = inner[turning | (jump > _MOVES * size) | ((least < _ROUNDING) & (most > _MOVES))]
        if len(inner) >= _BRANCHES:
            raise ParameterError(
                f"target {f.name!r} has {len(inner) + 1} monotone pieces, and labels without noise are computed"
                f" for at most {_BRANCHES}; give it some noise"
            )
        return np.array([-REACH, *inner, REACH])

    def _slope(self, z: np.ndarray) -> np.ndarray:
        """σ'(z); of functions without a derivative by differences within the piece."""
        if self.function.has_derivative:
            return np.asarray(self.function.derivative(z), float)
        from scipy.differentiate import derivative

        points = np.array([-np.inf, *self.function.breakpoints, np.inf])
        room = np.clip(0.5 * np.abs(z[..., None] - points).min(axis=-1), _ROUNDING, 0.5)
        return derivative(lambda x: np.asarray(self.function(x), float), z, initial_step=room).df

    def _ambiguous(self) -> ParameterError:
        return ParameterError(
            f"target {self.function.name!r} has values at many z that are equal in double precision, so that labels"
            " without noise cannot tell these apart; give it some noise"
        )

    def _preimages(self, y: np.ndarray) -> np.ndarray:
        """The preimage of y [N] on each monotone piece, NaN where there is none: [N, pieces]."""
        row, piece = np.nonzero((y[:, None] > self.ends.min(axis=0)) & (y[:, None] < self.ends.max(axis=0)))
        rising = (self.ends[1] > self.ends[0])[piece]
        places = np.full((len(y), len(self.left)), np.nan)
        places[row, piece] = bisected(
            lambda z: (np.asarray(self.function(z)) > y[row]) == rising, self.left[piece], self.right[piece]
        )
        return places

    def _pair_preimages(self) -> None:
        """Nodes z0, weights, and for each node the other preimages of its label with their weights."""
        kinks = np.array([*self.function.breakpoints, *self.left, *self.right])
        beside = [np.asarray(self.function(kinks + h)) for h in (-_ROUNDING, _ROUNDING)]
        cuts = np.append(kinks, self._preimages(np.unique(np.concatenate([*beside, *self.ends]))))
        cuts = np.unique(np.round(cuts[np.isfinite(cuts)], 12))
        z, (w, *_) = even_pieces(-REACH, REACH, cuts, _PREIMAGES)
        z, w = z.ravel(), w.ravel() * density(z.ravel())
        own = (z[:, None] > self.left + _ROUNDING) & (z[:, None] < self.right - _ROUNDING)
        inside = own.any(axis=1) & (w > 0.0)
        z, w, own = z[inside], w[inside], own[inside]
        places = self._preimages(np.asarray(self.function(z)))
        lost = ~(np.abs(places[own] - z) < _LOST[0])
        if (self.flat.laws or len(self.left) > 1) and w[lost].sum() > _LOST[1]:
            raise self._ambiguous()
        places[own] = np.nan
        with np.errstate(divide="ignore"):
            ratio = np.log(np.abs(self._slope(z)[:, None] / self._slope(places)))
        self.z, self.w, self.ratio = z, w, np.where(np.isnan(places), -np.inf, ratio)
        self.apart = np.nan_to_num(places - z[:, None], nan=1.0)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s): what the pieces that are not flat would reveal, less what other preimages leave open, and levels."""
        total = self.flat.revealed(s, finer) if self.flat.laws else 0.0
        total += float(self.w @ (s * s * self.z**2 + (1.0 - s) * (1.0 + s)))
        close = (np.abs(self.apart) < 2.0 * REACH * s) & np.isfinite(self.ratio)
        some = close.any(axis=1)
        count = int(np.ceil(REACH * finer / _FIELD))
        xi = REACH * np.linspace(-1.0, 1.0, 2 * count + 1)
        dxi = density(xi) * (REACH / count)
        parts = (self.z[some], self.w[some], self.apart[some] / s, self.ratio[some])
        for z, w, D, ratio in blocks(_TOGETHER, *parts):
            u = (s * z[:, None] - np.sqrt(1.0 - s * s) * xi)[..., None]  # of z0 itself
            D = D[:, None]
            exponent = ratio[:, None] - D * (0.5 * D + u)
            top = np.maximum(exponent.max(axis=2, keepdims=True), 0.0)
            chance = np.exp(exponent - top)
            shift = (chance * D).sum(axis=2) / (np.exp(-top[..., 0]) + chance.sum(axis=2))
            total += float(w @ ((shift * (2.0 * u[..., 0] + shift)) @ dxi))
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

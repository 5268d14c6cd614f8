"""What a label reveals: F(s) = E[E[u | y, ω]²] for each label law, with z = ω + s·u and ω ~ N(0, 1 - s²).

F is the share of the variance of z still unknown, s² = 1 - q, that one label reveals. Fixed points, thresholds and the
free entropy follow from it alone. There are three label laws: finitely many labels (`Atoms`), Gaussian noise (`Noisy`),
and real labels without noise (`Noiseless`), which have preimages and flat pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ParameterError
from ...functions import Function
from ...gaussian import density, even_pieces, ndtr
from ...theory.labels import BinaryLaw, binary_law
from .rules import REACH, bisected, blocks, cavity_rule, divided, gauss, wavelength

if TYPE_CHECKING:
    from ...model.target import Target

_TINY = np.finfo(float).tiny
_ROUNDING = 1e-13  # of places and, relative to the largest, of values
_NOWHERE = 40.0  # standard deviations at which a normal density is 0
_FEW = np.arange(1, 128) / 128  # places within a panel at which a function is sampled
_USUAL = 3.0  # |z| within which the size of a function counts
_NEARBY, _MOVES = (
    0.01,
    1e-9,
)  # next to the end of a piece, within this share of it, a function moves by so much
_LOST = (1e-3, 1e-7)  # error of a preimage, and the probability of such z, from which on labels do not tell z
_ROUGHLY = 10  # halvings that locate where the better sign changes: the error is flat in that
_BRANCHES = 40  # monotone pieces of a function whose preimages are computed, at most
_PANEL, _PANEL_NODES = 2.4, 8  # of z, over s or the noise in z, whichever is less
_PER_NOISE = 3.5  # labels within a standard deviation of their noise
_MOST = 60_000  # nodes of z
_TOGETHER = 24  # labels, and nodes of ω, that share nodes of z
_PREIMAGES, _FIELD = 192, 0.15  # nodes between turning points, and distance of fields given z over s


class Atoms:
    """Finitely many labels, each on a union of intervals of z: ±1, or the flat pieces of a function.

    `member` [labels, intervals] says which intervals between the cuts have which label. `symmetric`: F has equal
    contributions of ω and -ω.
    """

    def __init__(self, cuts: np.ndarray, member: np.ndarray, symmetric: bool, law: BinaryLaw | None = None):
        law = law or BinaryLaw((), 1.0)
        self.cuts, self.member, self.symmetric = np.array([-np.inf, *cuts, np.inf]), member, symmetric
        self.flips, self.noises = law.flips, list(zip(law.noise, law.weights, strict=True))
        self.power = 1 if min(law.noise) == 0.0 else 2  # F ~ s where labels jump

    @classmethod
    def of_signs(cls, law: BinaryLaw, symmetric: bool) -> Atoms:
        """Labels ±1."""
        positive = law.first * (-1.0) ** np.arange(len(law.cuts) + 1) > 0
        return cls(np.array(law.cuts), np.stack([positive, ~positive]).astype(float), symmetric, law)

    def chances(self, omega: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        """P(label | ω) and s times its derivative, [labels, W]; small ones without cancellation."""
        mass, slope = np.zeros((2, self.member.shape[1], len(omega)))
        for noise, weight in self.noises:
            width = np.hypot(s, noise)
            t = (self.cuts[:, None] - omega) / width
            tail, right = ndtr(-np.abs(t)), t > 0.0
            one_side = right[:-1] == right[1:]
            mass += weight * np.where(one_side, np.abs(np.diff(tail, axis=0)), 1.0 - tail[1:] - tail[:-1])
            slope -= weight * s / width * np.diff(density(t), axis=0)
        trust = 1.0 - 2.0 * self.flips
        return self.flips + trust * (self.member @ mass), trust * (self.member @ slope)

    def _rule(
        self, s: float, finer: int = 1, more: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return cavity_rule(s, [*self.cuts[1:-1], *(() if more is None else more)], finer, self.symmetric)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s)."""
        omega, w = self._rule(s, finer)
        chance, slope = self.chances(omega, s)
        return float((slope**2 / np.maximum(chance, _TINY)).sum(axis=0) @ w)

    def error(self, s: float) -> float:
        """Mean squared error of the best predictor of clean labels ±1."""
        omega, w = self._rule(s)
        return float(4.0 * self.chances(omega, s)[0].prod(axis=0) @ w)

    def wrong_signs(self, s: float) -> float:
        """Share of wrong signs of the best predictor of clean labels ±1."""

        def positive(omega: np.ndarray) -> np.ndarray:
            return np.greater(*self.chances(omega, s)[0])

        omega, _ = self._rule(s)
        sign = positive(omega)
        turn = np.flatnonzero(sign[1:] != sign[:-1])
        kinks = bisected(
            lambda middle: positive(middle) != sign[turn], omega[turn], omega[turn + 1], _ROUGHLY
        )
        omega, w = self._rule(s, more=kinks)
        return float(self.chances(omega, s)[0].min(axis=0) @ w)


class Noisy:
    """Real labels with Gaussian noise of standard deviation `noise`."""

    def __init__(self, function: Function, noise: float):
        self.function, self.noise = function, noise
        self.edges = _panels(function)
        inside = np.asarray(function(self.edges[:-1, None] + np.diff(self.edges)[:, None] * _FEW), float)
        rise = np.abs(np.diff(inside, axis=1)).max(axis=1) / (_FEW[0] * np.diff(self.edges))
        self.noise_in_z = noise / np.maximum(rise, noise / REACH)
        if _PANEL_NODES / _PANEL * (np.diff(self.edges) / self.noise_in_z).sum() > _MOST:
            raise ParameterError(
                f"target {function.name!r} varies too fast for its noise of {noise:g}: its best possible error would"
                " take too long; give it more noise"
            )
        self.power = vanishing_power(function)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s). Z = A B with A[y, z] the noise's density, banded once z is in the order of labels, and B[z, ω]."""
        step, reach, total = self.noise / (_PER_NOISE * finer), REACH * self.noise, 0.0
        edges = divided(self.edges, _PANEL / finer * np.minimum(s, self.noise_in_z))
        for w, z, u, posterior in _given_fields(self.function, s, edges, finer):
            label = np.asarray(self.function(z))
            order = np.argsort(label)
            label, both = label[order], np.concatenate([posterior, u * posterior], axis=1)[order]
            for (y,) in blocks(_TOGETHER, np.arange(label[0] - reach, label[-1] + reach, step)):
                band = slice(*np.searchsorted(label, [y[0] - reach, y[-1] + reach]))
                A = density((y[:, None] - label[band]) / self.noise)
                Z, slope = np.split(A @ both[band], 2, axis=1)
                total += step / self.noise * float((slope**2 / np.maximum(Z, _TINY)).sum(axis=0) @ w)
        return total


class Noiseless:
    """Real labels without noise: z is one of the preimages of y; flat pieces of the function are atoms."""

    def __init__(self, function: Function):
        self.function = function
        cuts = self._monotone_pieces()
        values = np.asarray(function(cuts[:-1, None] + np.diff(cuts)[:, None] * _FEW), float)
        size = np.abs(values).max()
        flat = np.ptp(values, axis=1) <= _ROUNDING * size
        steps = np.diff(values, axis=1) / size
        if ((steps.min(axis=1) < -_ROUNDING) & (steps.max(axis=1) > _ROUNDING)).any():
            raise self._ambiguous()
        levels, which = np.unique(np.round(values[flat, 0] / size, 12), return_inverse=True)
        member = np.zeros((len(levels), len(flat)))
        member[which, np.flatnonzero(flat)] = 1.0
        self.symmetric = function.parity is not None
        self.atoms = Atoms(cuts[1:-1], member, self.symmetric)
        self.flat = np.stack([self.atoms.cuts[:-1][flat], self.atoms.cuts[1:][flat]])
        self.power = 1 if flat.all() else 0
        self.left, self.right = cuts[:-1][~flat], cuts[1:][~flat]
        self.ends = np.array([function(self.left + _ROUNDING), function(self.right - _ROUNDING)])
        if not flat.all():
            self._pair_preimages()

    def _monotone_pieces(self) -> np.ndarray:
        """Ends of pieces on which the function is monotone or flat: turning points, jumps, and ends of flat pieces.

        A steep function that has saturated in double precision, as tanh(50 x), is not flat: it comes to a halt slowly.
        """
        f, edges = self.function, _panels(self.function)
        z = (edges[:-1, None] + np.diff(edges)[:, None] * _FEW).ravel()
        size = np.abs(f(np.clip(z, -_USUAL, _USUAL))).max()
        z = z[self._slope(z) != 0.0]
        rising = self._slope(z) > 0.0
        turn = np.flatnonzero(rising[1:] != rising[:-1])
        turns = bisected(lambda x: (self._slope(x) > 0.0) != rising[turn], z[turn], z[turn + 1])
        inner = np.unique(np.round([b for b in (*f.breakpoints, *turns) if abs(b) < REACH], 12))
        ends = np.array([-REACH, *inner, REACH])
        left, right, near = ends[:-1] + _ROUNDING, ends[1:] - _ROUNDING, _NEARBY * np.diff(ends)
        rise = (f(right) - f(left)) / size
        jump = np.abs(f(left[1:]) - f(right[:-1])) / size
        moves = (
            np.abs([f(right - near) - f(right - 0.5 * near), f(left + near) - f(left + 0.5 * near)]) / size
        )
        least, most = np.sort([moves[0, :-1], moves[1, 1:]], axis=0)
        turning = (rise[1:] * rise[:-1] < 0.0) & (np.minimum(np.abs(rise[1:]), np.abs(rise[:-1])) > _ROUNDING)
        inner = inner[turning | (jump > _MOVES) | ((least < _ROUNDING) & (most > _MOVES))]
        if len(inner) >= _BRANCHES:
            raise ParameterError(
                f"target {f.name!r} has {len(inner) + 1} monotone pieces, and labels without noise are computed"
                f" for at most {_BRANCHES}; give it some noise"
            )
        return np.array([-REACH, *inner, REACH])

    def _slope(self, z: np.ndarray) -> np.ndarray:
        """σ'(z); of functions without a derivative by differences of fourth order within the piece."""
        if self.function.has_derivative:
            return np.asarray(self.function.derivative(z), float)
        points = np.array([-np.inf, *self.function.breakpoints, np.inf])
        h = np.clip(0.25 * np.abs(z[..., None] - points).min(axis=-1), _ROUNDING, 3e-5)
        near, far = (np.subtract(*(np.asarray(self.function(z + k * h)) for k in (n, -n))) for n in (1, 2))
        return (8.0 * near - far) / (12.0 * h)

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
        kinks = np.array(
            [0.0, *self.function.breakpoints, *self.left, *self.right]
        )  # 0: for functions of a parity
        beside = np.concatenate([np.asarray(self.function(kinks + h)) for h in (-_ROUNDING, _ROUNDING)])
        cuts = np.concatenate([kinks, *self._preimages(np.unique([*beside, *self.ends.ravel()])).T])
        cuts = np.unique(np.round(cuts[np.isfinite(cuts)], 12))
        z, (w, *_) = even_pieces(0.0 if self.symmetric else -REACH, REACH, cuts, _PREIMAGES)
        z, w = z.ravel(), w.ravel() * density(z.ravel()) * (1.0 + self.symmetric)
        own = (z[:, None] > self.left + _ROUNDING) & (z[:, None] < self.right - _ROUNDING)
        inside = own.any(axis=1) & (w > 0.0)
        z, w, own = z[inside], w[inside], own[inside]
        places = self._preimages(np.asarray(self.function(z)))
        other = np.where(own, np.nan, places)
        lost = ~(np.abs(places[own] - z) < _LOST[0])
        if (self.flat.size or len(self.left) > 1) and w[lost].sum() > _LOST[1]:
            raise self._ambiguous()
        with np.errstate(divide="ignore"):
            ratio = np.log(np.abs(self._slope(z)[:, None] / self._slope(other)))
        self.z, self.w, self.ratio = z, w, np.where(np.isnan(other), -np.inf, ratio)
        self.apart = np.nan_to_num(other - z[:, None], nan=1.0)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s): all of the variance, less what flat pieces hide and what other preimages leave open."""
        a, b = np.clip(self.flat, -_NOWHERE, _NOWHERE)
        total = 1.0 - float((ndtr(b) - ndtr(a) + s * s * (a * density(a) - b * density(b))).sum())
        total += self.atoms.revealed(s, finer) if self.flat.size else 0.0
        if self.power:
            return total
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


def channel_of(target: Target) -> Atoms | Noisy | Noiseless:
    """The label law of a target of one direction."""
    law, noise = binary_law(target), float(np.asarray(target.noise))
    if law is not None:
        return Atoms.of_signs(law, target.function.parity is not None)
    return Noisy(target.function, noise) if noise > 0.0 else Noiseless(target.function)


def unexplained(function: Function, s: float) -> float:
    """Mean squared error of the best predictor of σ(z) from ω."""
    variation = function.variation(REACH)
    edges = np.append(variation.left, variation.right[-1])
    edges, total = divided(edges, np.minimum(_PANEL * s, wavelength(variation))), 0.0
    for w, z, _, posterior in _given_fields(function, s, edges):
        value = np.asarray(function(z))[:, None]
        mean = (posterior * value).sum(axis=0)
        total += float((posterior * (value - mean) ** 2).sum(axis=0) @ w)
    return total


def vanishing_power(function: Function) -> int:
    """The power of s with which the unexplained variance vanishes: 1 if the function jumps, else 2."""
    return 2 if unexplained(function, 1e-3) < 0.03 * unexplained(function, 1e-2) else 1


def _panels(function: Function) -> np.ndarray:
    """Edges of panels on which a function is smooth."""
    variation = function.variation(REACH)
    return np.unique(np.clip([*variation.left, *variation.right], -REACH, REACH))


def _given_fields(
    function: Function, s: float, edges: np.ndarray, finer: int = 1
) -> Iterator[tuple[np.ndarray, ...]]:
    """In blocks of ω: weights of ω [W]; nodes z [Z] between `edges`; u and the weights of z given ω [Z, W]."""
    half = function.parity is not None
    omega, w = cavity_rule(s, function.breakpoints, finer, half, function.variation(REACH))
    z, dz = gauss(edges, _PANEL_NODES)
    for o, weight in blocks(int(len(omega) * s) + _PANEL_NODES, omega, w):  # which share most of their z
        near = slice(*np.searchsorted(z, [o[0] - REACH * s, o[-1] + REACH * s]))
        u = (z[near, None] - o) / s
        yield weight, z[near], u, density(u) * (dz[near, None] / s)

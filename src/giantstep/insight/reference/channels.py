"""What a label reveals: F(s) = E[E[u | y, ω]²] for each law of labels, z = ω + s·u, ω ~ N(0, 1 - s²).

F is the share of the variance of z still unknown (s² = 1 - q) that one label reveals. Fixed points, thresholds and the
free entropy follow from it alone (note 14 of the theory: sections 2 to 4 and 9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ParameterError
from ...functions import Function
from ...gaussian import density, even_pieces, ndtr
from ...theory.labels import BinaryLaw, binary_law
from .rules import REACH, cavity_rule, divided, gauss, wavelength

if TYPE_CHECKING:
    from ...model.target import Target

_TINY = np.finfo(float).tiny
_BESIDE, _ROUNDING = 1e-9, 1e-13  # distances from a jump, and from the end of a monotone piece
_NOWHERE = 40.0  # where a normal density is 0
_FEW = np.arange(1, 128) / 128  # places within a panel at which a function is looked at
_VANISHING = 1e-10  # slope beside a flat piece, over the steepest, of a function that saturates
_ROUGHLY = 10  # halvings that locate where the better sign changes: the error is flat in that
_BRANCHES = 40  # monotone pieces of a function whose preimages are followed, at most
_PANEL, _PANEL_NODES = 2.4, 8  # of z, over s or the noise in z, whichever is less
_PER_NOISE = 3.5  # labels within a standard deviation of their noise
_MOST = 60_000  # nodes of z
_TOGETHER = 24  # labels, and panels of ω, that share nodes of z
_PREIMAGES, _FIELD = 192, 0.15  # nodes between turning points, and distance of fields given z over s


class Atoms:
    """Labels of finitely many values, each on a union of intervals of z: ±1, or the flat pieces of a function."""

    def __init__(self, cuts: Any, member: np.ndarray, law: BinaryLaw | None = None):
        self.cuts, self.member, law = np.array([-np.inf, *cuts, np.inf]), member, law or BinaryLaw((), 1.0)
        self.flips, self.noises = law.flips, list(zip(law.noise, law.weights, strict=True))
        self.power = 1 if min(law.noise) == 0.0 else 2  # F ~ s where labels jump
        mirrored = (member[:, ::-1], member[::-1, ::-1])  # labels that are even, or odd, in z
        self.even = np.array_equal(self.cuts, -self.cuts[::-1]) and any(
            np.array_equal(member, m) for m in mirrored
        )

    @classmethod
    def of_signs(cls, law: BinaryLaw) -> Atoms:
        """Labels ±1."""
        positive = law.first * (-1.0) ** np.arange(len(law.cuts) + 1) > 0
        return cls(law.cuts, np.stack([positive, ~positive]).astype(float), law)

    def chances(self, omega: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        """P(value | ω) and s times its derivative, [values, W]; small ones without cancellation."""
        mass, slope = np.zeros((2, self.member.shape[1], len(omega)))
        for noise, weight in self.noises:
            width = np.hypot(s, noise)
            t = (self.cuts[:, None] - omega) / width
            below, height = ndtr(-np.abs(t)), density(t)
            right = t > 0.0
            mass += weight * np.where(
                right[:-1] == right[1:], np.abs(np.diff(below, axis=0)), 1.0 - below[1:] - below[:-1]
            )
            slope -= weight * s / width * np.diff(height, axis=0)
        trust = 1.0 - 2.0 * self.flips
        return self.flips + trust * (self.member @ mass), trust * (self.member @ slope)

    def _rule(self, s: float, finer: int, more: Any = ()) -> tuple[np.ndarray, np.ndarray]:
        return cavity_rule(s, [*self.cuts[1:-1], *more], finer, self.even)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s)."""
        omega, w = self._rule(s, finer)
        chance, slope = self.chances(omega, s)
        return float((slope**2 / np.maximum(chance, _TINY)).sum(axis=0) @ w)

    def error(self, s: float, finer: int = 1) -> float:
        """Mean squared error of the best predictor of clean labels ±1."""
        omega, w = self._rule(s, finer)
        return float(4.0 * self.chances(omega, s)[0].prod(axis=0) @ w)

    def wrong_signs(self, s: float, finer: int = 1) -> float:
        """Share of wrong signs of the best predictor of clean labels ±1."""

        def lead(omega: np.ndarray) -> np.ndarray:
            return np.subtract(*self.chances(omega, s)[0])

        omega, _ = self._rule(s, finer)
        turn = np.flatnonzero(np.diff(lead(omega) > 0.0))
        kinks = _crossings(lead, omega[turn], omega[turn + 1], np.zeros(len(turn)), _ROUGHLY)
        omega, w = self._rule(s, finer, kinks)
        return float(self.chances(omega, s)[0].min(axis=0) @ w)


class Noisy:
    """Real labels with Gaussian noise of standard deviation `noise`."""

    def __init__(self, function: Function, noise: float):
        self.function, self.noise = function, noise
        seen = function.variation(REACH)
        edges = np.unique(np.clip([*seen.left, *seen.right], -REACH, REACH))
        self.left, self.width = edges[:-1], np.diff(edges)
        self.cuts = np.array([b for b in function.breakpoints if abs(b) < REACH])
        self.seen = seen
        inside = np.asarray(function(self.left[:, None] + self.width[:, None] * _FEW), float)
        rise = np.abs(np.diff(inside, axis=1)).max(axis=1) / (_FEW[0] * self.width)
        self.noise_in_z = noise / np.maximum(rise, noise / REACH)
        if _PANEL_NODES / _PANEL * (self.width / self.noise_in_z).sum() > _MOST:
            raise ParameterError(
                f"target {function.name!r} varies too fast for its noise of {noise:g}: its best possible error would"
                " take too long; give it more noise"
            )
        jumps = np.abs(np.subtract(*(np.asarray(function(self.cuts + h)) for h in (_BESIDE, -_BESIDE))))
        self.power = 1 if np.any(jumps > np.sqrt(_BESIDE) * np.ptp(inside)) else 2

    def _nodes(self, s: float, finer: int) -> tuple[np.ndarray, np.ndarray]:
        """z and weights: panels as narrow as what is not known of z, and as noise is in units of z."""
        panels = divided(self.left, self.width, _PANEL / finer * np.minimum(s, self.noise_in_z))
        return gauss(panels, _PANEL_NODES)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s). Z = A B with A[y, z] the noise's density, banded once z is in the order of labels, and B[z, ω]."""
        omega, w = cavity_rule(s, self.cuts, finer, self.function.parity is not None, self.seen)
        z, dz = self._nodes(s, finer)
        step, reach, total = self.noise / (_PER_NOISE * finer), REACH * self.noise, 0.0
        for o, weight in _blocks(int(len(omega) * s) + _PANEL_NODES, omega, w):  # which share most of their z
            near = slice(*np.searchsorted(z, [o[0] - REACH * s, o[-1] + REACH * s]))
            label = np.asarray(self.function(z[near]))
            order = np.argsort(label)
            label, own, down = label[order], z[near][order], dz[near][order]
            u = (own[:, None] - o) / s
            posterior = density(u) * (down / s)[:, None]
            both = np.concatenate([posterior, u * posterior], axis=1)
            for (y,) in _blocks(_TOGETHER, np.arange(label[0] - reach, label[-1] + reach, step)):
                band = slice(*np.searchsorted(label, [y[0] - reach, y[-1] + reach]))
                A = density((y[:, None] - label[band]) / self.noise)
                Z, slope = np.split(A @ both[band], 2, axis=1)
                total += step / self.noise * float((slope**2 / np.maximum(Z, _TINY)).sum(axis=0) @ weight)
        return total


class Noiseless:
    """Real labels without noise: z is one of the preimages of y; flat pieces of the function are atoms."""

    def __init__(self, function: Function):
        self.function = function
        seen = function.variation(REACH)
        z = (seen.left[:, None] + (seen.right - seen.left)[:, None] * _FEW).ravel()
        z = z[self._slope(z) != 0.0]
        at = np.flatnonzero(np.diff(np.sign(self._slope(z))))
        turns = _crossings(self._slope, z[at], z[at + 1], np.zeros(len(at)))
        inner = [b for b in (*function.breakpoints, *turns) if abs(b) < REACH]
        cuts = np.unique(np.round([-REACH, *inner, REACH], 12))
        values = np.asarray(function(cuts[:-1, None] + np.diff(cuts)[:, None] * _FEW))
        flat = np.ptp(values, axis=1) <= _BESIDE * _BESIDE * np.abs(values).max()
        if len(flat) > _BRANCHES:
            raise ParameterError(
                f"target {function.name!r} has {len(flat)} monotone pieces, and labels without noise are followed"
                f" through at most {_BRANCHES}; give it some noise"
            )
        saturated = self._saturated(cuts, flat, values[:, 0])
        flat = flat & ~saturated
        levels, which = np.unique(np.round(values[flat, 0], 12), return_inverse=True)
        member = np.zeros((len(levels), len(flat)))
        member[which, np.flatnonzero(flat)] = 1.0
        self.atoms = Atoms(cuts[1:-1], member)
        self.flat = np.stack([self.atoms.cuts[:-1][flat], self.atoms.cuts[1:][flat]])
        self.power = 1 if flat.all() else 0
        curved = ~flat & ~saturated
        self.left, self.right = cuts[:-1][curved], cuts[1:][curved]
        self._follow_preimages()

    def _saturated(self, cuts: np.ndarray, flat: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Pieces that are flat in double precision alone, as the tails of tanh(50 x): their labels still tell z.

        A function that is truly flat has a slope beside the piece; one that saturates has none there either.
        """
        step = 1e-3 * np.diff(cuts)
        beside = np.array(
            [cuts[:-1] - np.roll(step, 1), cuts[1:] + np.roll(step, -1)]
        )  # within the neighbours
        slope = np.abs(self._slope(np.clip(beside, -REACH, REACH)))
        neighbour = np.array([~np.roll(flat, 1), ~np.roll(flat, -1)])  # which of the two is curved
        neighbour[0, 0] = neighbour[1, -1] = False
        steepest = np.abs(self._slope(cuts[:-1, None] + np.diff(cuts)[:, None] * _FEW)).max()
        smooth = (~neighbour | (slope < _VANISHING * steepest)).all(axis=0) & neighbour.any(axis=0)
        saturated = flat & smooth
        levels = np.round(level[flat], 12)
        if saturated.any() and len(np.unique(levels)) < len(levels):
            raise ParameterError(
                f"target {self.function.name!r} has several tails that are equal in double precision, so that labels"
                " without noise cannot tell them apart; give it some noise"
            )
        return saturated

    def _slope(self, z: np.ndarray) -> np.ndarray:
        """σ'(z); of functions without a derivative by differences of fourth order within the piece."""
        if self.function.has_derivative:
            return np.asarray(self.function.derivative(z), float)
        points = np.array([-np.inf, *self.function.breakpoints, np.inf])
        h = np.clip(0.25 * np.abs(z[..., None] - points).min(axis=-1), _BESIDE, np.sqrt(_BESIDE))
        near, far = (np.subtract(*(np.asarray(self.function(z + k * h)) for k in (n, -n))) for n in (1, 2))
        return (8.0 * near - far) / (12.0 * h)

    def _inverse(self, y: np.ndarray) -> np.ndarray:
        """The preimage of y [N] on each monotone piece, NaN where there is none: [N, pieces]."""
        row, piece = np.nonzero((y[:, None] > self.lowest) & (y[:, None] < self.highest))
        places = np.full((len(y), len(self.left)), np.nan)
        places[row, piece] = _crossings(self.function, self.left[piece], self.right[piece], y[row])
        return places

    def _follow_preimages(self) -> None:
        """Nodes z0, weights, and for each node the other preimages of its label with their weights."""
        ends = np.array([self.function(self.left + _ROUNDING), self.function(self.right - _ROUNDING)])
        self.lowest, self.highest = np.sort(ends, axis=0)
        cuts = np.concatenate([[0.0], self.left, self.right, *self._inverse(np.unique(ends)).T])
        cuts = np.unique(np.round(cuts[np.isfinite(cuts)], 12))  # with 0, for functions of a parity
        symmetric = self.function.parity is not None
        z, (w, *_) = even_pieces(0.0 if symmetric else -REACH, REACH, cuts, _PREIMAGES)
        z, w = z.ravel(), w.ravel() * density(z.ravel()) * (1.0 + symmetric)
        own = (z[:, None] > self.left + _ROUNDING) & (z[:, None] < self.right - _ROUNDING)
        z, w, own = (part[own.any(axis=1) & (w > 0.0)] for part in (z, w, own))
        other = np.where(own, np.nan, self._inverse(np.asarray(self.function(z))))
        with np.errstate(divide="ignore"):
            ratio = np.log(np.abs(self._slope(z)[:, None] / self._slope(other)))
        self.z, self.w, self.ratio = z, w, np.where(np.isnan(other), -np.inf, ratio)
        self.apart = np.nan_to_num(other - z[:, None], nan=1.0)
        self.injective = not (self.flat.size or np.isfinite(self.ratio).any())

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s): all of the variance, less what flat pieces hide and what other preimages leave open."""
        if self.injective:
            return 1.0
        a, b = np.clip(self.flat, -_NOWHERE, _NOWHERE)
        mass = ndtr(b) - ndtr(a)
        total = 1.0 - float((mass + s * s * (a * density(a) - b * density(b))).sum())
        total += self.atoms.revealed(s, finer) if self.flat.size else 0.0
        close = (np.abs(self.apart) < 2.0 * REACH * s) & np.isfinite(self.ratio)
        some = close.any(axis=1)
        count = int(np.ceil(REACH * finer / _FIELD))
        xi, dxi = REACH * np.linspace(-1.0, 1.0, 2 * count + 1), REACH / count
        dxi = density(xi) * dxi
        parts = (self.z[some], self.w[some], self.apart[some] / s, self.ratio[some])
        for z, w, D, ratio in _blocks(_TOGETHER, *parts):
            u = (s * z[:, None] - np.sqrt(1.0 - s * s) * xi)[..., None]  # of z0 itself
            D = D[:, None]
            exponent = ratio[:, None] - D * (0.5 * D + u)
            top = np.maximum(exponent.max(axis=2, keepdims=True), 0.0)
            chance = np.exp(exponent - top)
            shift = (chance * D).sum(axis=2) / (np.exp(-top[..., 0]) + chance.sum(axis=2))
            total += float(w @ ((shift * (2.0 * u[..., 0] + shift)) @ dxi))
        return total


Channel = Atoms | Noisy | Noiseless


def channel_of(target: Target) -> Channel:
    """How labels of a target of one direction come about."""
    law, noise = binary_law(target), float(np.asarray(target.noise))
    if law is not None:
        return Atoms.of_signs(law)
    return Noisy(target.function, noise) if noise > 0.0 else Noiseless(target.function)


def unexplained(function: Function, s: float) -> float:
    """Mean squared error of the best predictor of σ(z) from ω."""
    seen = function.variation(REACH)
    omega, w = cavity_rule(s, function.breakpoints, half=function.parity is not None, seen=seen)
    largest = np.minimum(_PANEL * s, wavelength(seen))
    z, dz = gauss(divided(seen.left, seen.right - seen.left, largest), _PANEL_NODES)
    total = 0.0
    for o, weight in _blocks(int(len(omega) * s) + _PANEL_NODES, omega, w):
        near = slice(*np.searchsorted(z, [o[0] - REACH * s, o[-1] + REACH * s]))
        chance = density((z[near, None] - o) / s) * (dz[near, None] / s)
        value = np.asarray(function(z[near]))[:, None]
        total += float((chance * (value - (chance * value).sum(axis=0)) ** 2).sum(axis=0) @ weight)
    return total


def _crossings(
    f: Any, low: np.ndarray, high: np.ndarray, level: np.ndarray, halvings: int = 60
) -> np.ndarray:
    """Where f passes through `level` between `low` and `high`, all [N]."""
    rising = np.asarray(f(high)) > level
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        beyond = (np.asarray(f(middle)) > level) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return 0.5 * (low + high)


def _blocks(size: int, *arrays: np.ndarray) -> list[list[np.ndarray]]:
    """Arrays of equal length in pieces of `size`."""
    return [[array[i : i + size] for array in arrays] for i in range(0, len(arrays[0]), size)]

"""What a label reveals: F(s) = E[E[u | y, ω]²] for each law of labels, z = ω + s·u, ω ~ N(0, 1 - s²).

F is the share of the variance of z still unknown (s² = 1 - q) that one label reveals. Fixed points, thresholds and the
free entropy follow from it alone (note 14 of the theory: sections 2 to 4 and 9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ParameterError
from ...functions import Function
from ...gaussian import density, moments, ndtr, piecewise_rule
from ...theory.labels import BinaryLaw, binary_law
from .rules import REACH, cavity_rule, gauss

if TYPE_CHECKING:
    from ...model.target import Target

_TINY = 1e-300
_FAR = 7.5  # of z: the mass beyond is 6e-14
_END = 8.5  # the same where exact recovery is at stake
_BRANCHES = 40  # monotone pieces of a function whose preimages are followed, at most


class Atoms:
    """Labels of finitely many values, each on a union of intervals of z: ±1, or the flat pieces of a function."""

    power = 1  # F ~ s as s → 0 where labels jump

    def __init__(
        self,
        cuts: np.ndarray,
        member: np.ndarray,
        flips: float = 0.0,
        noise: tuple[float, ...] = (0.0,),
        weights: tuple[float, ...] = (1.0,),
    ):
        self.cuts, self.member, self.flips = np.concatenate([[-np.inf], cuts, [np.inf]]), member, flips
        self.noise, self.weights = noise, weights
        self.power = 1 if min(noise) == 0.0 else 2

    @classmethod
    def of_signs(cls, law: BinaryLaw) -> Atoms:
        """Labels ±1."""
        positive = law.first * (-1.0) ** np.arange(len(law.cuts) + 1) > 0
        return cls(
            np.asarray(law.cuts),
            np.stack([positive, ~positive]).astype(float),
            law.flips,
            law.noise,
            law.weights,
        )

    def chances(self, omega: np.ndarray, s: float) -> tuple[np.ndarray, np.ndarray]:
        """P(value | ω) and s times its derivative, [values, W]; small ones without cancellation."""
        mass, slope = np.zeros((2, self.member.shape[1], len(omega)))
        for noise, weight in zip(self.noise, self.weights, strict=True):
            width = np.hypot(s, noise)
            t = (self.cuts[:, None] - omega) / width
            below, above, height = ndtr(t), ndtr(-t), density(t)
            mass += weight * np.where(t[:-1] > 0.0, above[:-1] - above[1:], below[1:] - below[:-1])
            slope += weight * s / width * (height[:-1] - height[1:])
        trust = 1.0 - 2.0 * self.flips
        return self.flips + trust * (self.member @ mass), trust * (self.member @ slope)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s)."""
        omega, w = cavity_rule(s, self.cuts[1:-1], finer)
        chance, slope = self.chances(omega, s)
        return float((slope**2 / np.maximum(chance, _TINY)).sum(axis=0) @ w)

    def error(self, s: float, finer: int = 1) -> float:
        """Mean squared error of the best predictor of clean labels ±1."""
        omega, w = cavity_rule(s, self.cuts[1:-1], finer)
        up, down = self.chances(omega, s)[0]
        return float(4.0 * (up * down) @ w)

    def wrong_signs(self, s: float, finer: int = 1) -> float:
        """Share of wrong signs of the best predictor of clean labels ±1."""
        omega, _ = cavity_rule(s, self.cuts[1:-1], finer)
        sign = np.subtract(*self.chances(omega, s)[0]) > 0.0
        at = np.flatnonzero(sign[1:] != sign[:-1])
        low, high, left = omega[at], omega[at + 1], sign[at]
        for _ in range(20):  # the error is flat in where its kinks are
            middle = 0.5 * (low + high)
            same = (np.subtract(*self.chances(middle, s)[0]) > 0.0) == left
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        omega, w = cavity_rule(s, [*self.cuts[1:-1], *low], finer)
        return float(self.chances(omega, s)[0].min(axis=0) @ w)


class Noisy:
    """Real labels with Gaussian noise of standard deviation `noise`."""

    def __init__(self, function: Function, noise: float):
        self.function, self.noise = function, noise
        self.kinks = [b for b in function.breakpoints if abs(b) < _FAR]
        self.panels = np.unique(np.concatenate([np.linspace(-_FAR, _FAR, 31), self.kinks]))
        self.steepest = float(self._slopes(self.panels).max())
        ends = np.asarray(self.kinks)
        jumps = np.abs(np.asarray(function(ends + 1e-9)) - np.asarray(function(ends - 1e-9)))
        self.power = 1 if np.any(jumps > 1e-6 * (1.0 + self.steepest)) else 2

    def _slopes(self, edges: np.ndarray) -> np.ndarray:
        """The steepest slope on each panel, by differences."""
        inside = edges[:-1, None] + np.diff(edges)[:, None] * np.linspace(0.001, 0.999, 9)
        values = np.asarray(self.function(inside), float)
        return np.abs(np.diff(values, axis=1) / np.diff(inside, axis=1)).max(axis=1)

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s): with one rule in z for all ω, or with rules around each ω where labels vary little given ω."""
        omega, w = cavity_rule(s, self.kinks, finer, half=self.function.parity is not None)
        if s * self.steepest > self.noise:
            return self._together(omega, w, s, finer)
        near = (np.abs(omega[:, None] - np.asarray(self.kinks)) < 9.0 * s).any(axis=1)
        return sum(
            self._apart(omega[some], w[some], s, finer, cut) for some, cut in ((near, True), (~near, False))
        )

    def _together(self, omega: np.ndarray, w: np.ndarray, s: float, finer: int) -> float:
        """Z = A B with A[y, z] the noise's density, banded once z is in the order of labels, and B[z, ω]."""
        edges = self.panels
        while True:
            width = np.diff(edges)
            wide = width > 1.6 / finer * np.minimum(s, self.noise / (self._slopes(edges) + _TINY))
            if not wide.any():
                break
            edges = np.sort(np.concatenate([edges, (edges[:-1] + 0.5 * width)[wide]]))
        z, dz = gauss(edges, 8)
        label = np.asarray(self.function(z))
        order = np.argsort(label)
        z, dz, label = z[order], dz[order], label[order]
        u = (z[:, None] - omega) / s
        posterior = density(u) * (dz / s)[:, None]
        both = np.concatenate([posterior, u * posterior], axis=1)
        step = self.noise / (1.8 * finer)
        total = 0.0
        for (y,) in _blocks(
            24, np.arange(label[0] - REACH * self.noise, label[-1] + REACH * self.noise, step)
        ):
            band = slice(*np.searchsorted(label, [y[0] - REACH * self.noise, y[-1] + REACH * self.noise]))
            A = density((y[:, None] - label[band]) / self.noise)
            Z, slope = np.split(A @ both[band], 2, axis=1)
            total += step / self.noise * float((slope**2 / np.maximum(Z, _TINY)).sum(axis=0) @ w)
        return total

    def _apart(self, omega: np.ndarray, w: np.ndarray, s: float, finer: int, cut: bool) -> float:
        total = 0.0
        for o, weight in _blocks(32, omega, w):
            cuts = (np.asarray(self.kinks if cut else []) - o[:, None]) / s
            u, rule = piecewise_rule(cuts, 32 * finer)
            u, du = u.reshape(len(o), 1, -1), rule[0].reshape(len(o), -1, 1)
            label = np.asarray(self.function(o[:, None, None] + s * u))
            low, high = label.min(axis=2) - REACH * self.noise, label.max(axis=2) + REACH * self.noise
            count = int(np.ceil((high - low).max() * 1.8 * finer / self.noise))
            y = low + (high - low) * np.linspace(0.0, 1.0, count)
            A = density((y[..., None] - label) / self.noise)
            Z, slope = (A @ du)[..., 0], (A @ (du * np.swapaxes(u, 1, 2)))[..., 0]
            step = ((high - low) / (count - 1) / self.noise)[:, 0]
            total += float((slope**2 / np.maximum(Z, _TINY)).sum(axis=1) @ (weight * step))
        return total


class Noiseless:
    """Real labels without noise: z is one of the preimages of y; flat pieces of the function are atoms."""

    def __init__(self, function: Function):
        self.function = function
        kinks = [b for b in function.breakpoints if abs(b) < _END]
        cuts = np.unique(np.concatenate([[-_END, _END], kinks, self._extrema(kinks)]))
        inside = cuts[:-1, None] + np.diff(cuts)[:, None] * np.linspace(0.01, 0.99, 9)
        values = np.asarray(function(inside))
        flat = np.ptp(values, axis=1) <= 1e-13 * np.abs(values).max()
        if len(flat) > _BRANCHES:
            raise ParameterError(
                f"target {function.name!r} has {len(flat)} monotone pieces, and labels without noise are followed"
                f" through at most {_BRANCHES}; give it some noise"
            )
        levels, which = np.unique(np.round(values[flat, 4], 12), return_inverse=True)
        member = np.zeros((len(levels), len(flat)))
        member[which, np.flatnonzero(flat)] = 1.0
        self.atoms = Atoms(cuts[1:-1], member)
        self.flat = np.stack([self.atoms.cuts[:-1][flat], self.atoms.cuts[1:][flat]])
        self.power = 1 if flat.all() else 0
        self.left, self.right = cuts[:-1][~flat], cuts[1:][~flat]
        self._follow_preimages()

    def _slope(self, z: np.ndarray) -> np.ndarray:
        """σ'(z); of functions without a derivative by differences of fourth order within the piece."""
        if self.function.has_derivative:
            return np.asarray(self.function.derivative(z), float)
        points = np.asarray([-_END, *self.function.breakpoints, _END])
        gap = np.abs(z[..., None] - points).min(axis=-1)
        h = np.clip(0.25 * gap, 1e-9, 1e-3)
        near, far = (
            np.asarray(self.function(z + k * h)) - np.asarray(self.function(z - k * h)) for k in (1, 2)
        )
        return (8.0 * near - far) / (12.0 * h)

    def _extrema(self, kinks: list[float]) -> np.ndarray:
        """Where the slope changes sign, to rounding."""
        edges = np.unique(np.concatenate([np.linspace(-_END, _END, 2000), kinks]))
        z = edges[:-1, None] + np.diff(edges)[:, None] * np.array([0.02, 0.98])
        sign = np.sign(self._slope(z))
        some = sign[:, 0] * sign[:, 1] < 0.0
        between = (sign[:-1, 1] * sign[1:, 0] < 0.0) & ~np.isin(edges[1:-1], kinks)
        low = np.concatenate([z[some, 0], z[:-1, 1][between]])
        high = np.concatenate([z[some, 1], z[1:, 0][between]])
        return _bisect(self._slope, low, high, np.zeros_like(low))

    def _inverse(self, y: np.ndarray) -> np.ndarray:
        """The preimage of y [N] on each monotone piece, NaN where there is none: [N, pieces]."""
        left, right = self.left + 1e-13, self.right - 1e-13
        ends = np.sort([np.asarray(self.function(left)), np.asarray(self.function(right))], axis=0)
        row, piece = np.nonzero((y[:, None] > ends[0]) & (y[:, None] < ends[1]))
        places = np.full((len(y), len(left)), np.nan)
        places[row, piece] = _bisect(self.function, left[piece], right[piece], y[row])
        return places

    def _follow_preimages(self) -> None:
        """Nodes z0, weights, and for each node the other preimages of its label with their weights."""
        ends = np.concatenate([np.asarray(self.function(e)) for e in (self.left + 1e-13, self.right - 1e-13)])
        cuts = np.concatenate([[0.0], self.left, self.right, *self._inverse(np.unique(ends)).T])
        cuts = np.unique(cuts[np.isfinite(cuts)])
        cuts = cuts[np.diff(cuts, prepend=-np.inf) > 1e-9]  # with 0, for functions of a parity
        t = np.arange(-98, 99) / 28.0  # tanh-sinh: weights 1/|σ'| have square-root ends
        share = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(t)))
        weight = np.pi / 28.0 * np.cosh(t) * share / (1.0 + np.exp(np.pi * np.sinh(t)))
        width = np.diff(cuts)[:, None]
        z = np.where(t < 0.0, cuts[:-1, None] + width * share, cuts[1:, None] - width * share[::-1])
        kept = (z > cuts[:-1, None] + 1e-12) & (z < cuts[1:, None] - 1e-12)
        kept &= ((z[..., None] > self.left) & (z[..., None] < self.right)).any(axis=-1)
        if self.function.parity is not None:
            kept &= z > 0.0
        z, self.w = z[kept], (width * weight * density(z))[kept] * (1.0 + (self.function.parity is not None))
        other = self._inverse(np.asarray(self.function(z)))
        other[(z[:, None] > self.left) & (z[:, None] < self.right)] = np.nan
        with np.errstate(divide="ignore"):
            ratio = np.log(np.abs(self._slope(z)[:, None] / self._slope(other)))
        self.z, self.apart, self.ratio = (
            z,
            np.where(np.isnan(other), np.inf, other - z[:, None]),
            np.nan_to_num(ratio),
        )

    def revealed(self, s: float, finer: int = 1) -> float:
        """F(s): all of the variance, less what flat pieces hide and what other preimages leave open."""
        a, b = np.clip(self.flat, -_END, _END)
        mass = ndtr(b) - ndtr(a)
        square = mass + a * density(a) - b * density(b)
        total = 1.0 - float((s * s * square + (1.0 - s * s) * mass).sum())
        if len(a):
            total += self.atoms.revealed(s, finer)
        some = (np.abs(self.apart) < 16.0 * s).any(axis=1)
        xi = np.arange(-54 * finer, 54 * finer + 1) * (0.15 / finer)
        dxi = density(xi) * (0.15 / finer)
        for z, w, apart, ratio in _blocks(64, self.z[some], self.w[some], self.apart[some], self.ratio[some]):
            u = s * z[:, None] - np.sqrt(1.0 - s * s) * xi  # of z0 itself
            D = apart[:, None] / s
            with np.errstate(invalid="ignore"):
                exponent = np.where(np.isinf(D), -np.inf, ratio[:, None] - D * (0.5 * D + u[..., None]))
            top = np.maximum(exponent.max(axis=2, keepdims=True), 0.0)
            chance = np.exp(exponent - top)
            shift = (chance * np.where(np.isinf(D), 0.0, D)).sum(axis=2) / (
                np.exp(-top[..., 0]) + chance.sum(axis=2)
            )
            total += float(w @ ((shift * (2.0 * u + shift)) @ dxi))
        return total


def _bisect(f: Any, low: np.ndarray, high: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Where f passes through `level` between `low` and `high`, all [N]."""
    rising = np.asarray(f(high)) > level
    for _ in range(60):
        middle = 0.5 * (low + high)
        beyond = (np.asarray(f(middle)) > level) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return 0.5 * (low + high)


def _blocks(size: int, *arrays: np.ndarray) -> list[list[np.ndarray]]:
    """Arrays of equal length in pieces of `size`."""
    return [[array[i : i + size] for array in arrays] for i in range(0, len(arrays[0]), size)]


Channel = Atoms | Noisy | Noiseless


def channel_of(target: Target, noise: float) -> Channel:
    """How labels of a target of one direction come about."""
    law = binary_law(target.at(noise))
    if law is not None:
        return Atoms.of_signs(law)
    return Noisy(target.function, noise) if noise > 0.0 else Noiseless(target.function)


def unexplained(function: Function, s: float) -> float:
    """Mean squared error of the best predictor of σ(z) from ω."""
    omega, w = cavity_rule(s, function.breakpoints, half=function.parity is not None)
    part, _ = moments(function, omega, np.full_like(omega, s), tolerance=1e-11)
    return float((part.first**2 + part.remainder) @ w)

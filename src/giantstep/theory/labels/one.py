"""Labels of one direction: a function of z with its noise, or signs; given κ, z = γκ + ρy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...functions import Function, crossings, turning_values
from ...gaussian import (
    STRIDES,
    along_gaussian,
    blurred_intervals,
    density,
    even_pieces,
    expectation,
    least_intervals,
    line_rule,
    nested,
    piecewise_rule,
    quarterable,
    resolution,
    round_up,
    tail_reach,
)
from ..column import INNER_TOLERANCE, Column
from ..layer import Frame
from ..rule import Rule
from .binary import BinaryLaw
from .label import TAIL_TOLERANCE, Label, is_sharp
from .noise import (
    FAINT,
    FAINT_NODES,
    Labelled,
    blurred,
    blurred_between,
    hermite,
    noisy,
    padded,
)

_PANEL_NODES = {1: 14, 2: 11, 4: 8}  # Gauss nodes per panel of a compressed law, by the stride of its rule,
_MORE_NODES = 4  # and more of them for each doubling of a rule beyond 48 points
_SLOW = 64  # nodes that resolve a target which varies slowly


@dataclass(frozen=True)
class OneDirection:
    """Real labels σ*(z) + noise·ε, or ±1 by a `law` of which `function` is the clean version."""

    function: Function
    law: BinaryLaw | None = None
    directions = 1
    finest = 1 << 30

    @property
    def binary(self) -> bool:
        return self.law is not None

    @property
    def odd(self) -> bool:
        """Whether labels change sign with z."""
        return self.function.parity == "odd"

    @cached_property
    def reach(self) -> float:
        """How far out z must be followed; an error if labels vary too fast."""
        reach = tail_reach(self.function, 1.0)
        if not self.binary:
            least_intervals(self.function, 1.0, reach)
        return reach

    def breakpoints(self, frame: Frame) -> tuple[float, ...]:
        """Where the label given z'_1 jumps or kinks."""
        return self.function.breakpoints

    @cached_property
    def turning_values(self) -> np.ndarray:
        """Labels at which the number of z with that label changes."""
        return np.empty(0) if self.binary else turning_values(self.function, self.reach)

    @cached_property
    def powers(self) -> tuple[float, float]:
        """E Y² and E Y⁴ without noise; the latter may be infinite."""
        if self.binary:
            return 1.0, 1.0

        def both(z: np.ndarray) -> np.ndarray:
            square = np.asarray(self.function(z)) ** 2
            return np.stack([square, square**2])

        with np.errstate(over="ignore", invalid="ignore"):
            square, fourth = expectation(both, self.function, tolerance=TAIL_TOLERANCE)
        return float(square), float(fourth) if np.isfinite(fourth) else np.inf

    @cached_property
    def slow(self) -> bool:
        """Whether half of the usual nodes over a batch will do, to begin with: they are twice what the target needs.

        Signs are summed over, whatever the number of nodes.
        """
        return self.binary or self._points(INNER_TOLERANCE) <= _SLOW

    def _points(self, tolerance: float) -> int:
        return resolution(self.function, np.zeros(1), np.ones(1), self.reach, tolerance)[0]

    def least_intervals(self, frame: Frame) -> np.ndarray:
        """Intervals along κ under which a rule may miss what labels do, [U]; in each piece, where it is cut."""
        gamma, rho = (np.vectorize(round_up)(np.abs(part[:, 0])) for part in (frame.gamma, frame.rho))
        cut = is_sharp(self.function.breakpoints, frame.gamma[:, 0])
        if self.binary:  # in closed form given κ
            return np.where(cut, 0.0, blurred_intervals(gamma, rho, self.reach))
        every = zip(gamma.tolist(), rho.tolist(), cut.tolist(), strict=True)
        return np.array([along_gaussian(self.function, *one, self.reach) for one in every])

    def unseen_error(self, spikes: int) -> float:
        """Of averages with a field along y, beyond what rules in κ show: none."""
        return 0.0

    def alike(self, frame: Frame) -> np.ndarray:
        """Equal rows [U, ...] mark first layers that share tables."""
        return np.zeros((len(frame.gamma), 0))

    def first_batch(
        self, noise: float, points: int, levels: tuple[float, ...] = ()
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Labels [1, n] of a batch before the first step and their weights [1, 3, n], on three rules, finest first.

        Rules are cut where labels pass `levels`, at which what is averaged bends.
        """
        if self.law is not None:
            return _binary_labels(self.law)
        return _real_labels(self.function, noise, points, tuple(map(float, levels)))

    def batch(
        self, frame: Frame, rule: Rule, noise: np.ndarray, points: int, levels: np.ndarray | None = None
    ) -> Given:
        """Labels of a batch after it, at each κ; with `levels` [U, N, L] of its own at each node of the finest rule."""
        return Given(self, frame, rule, noise, points, levels)

    def given(self, frame: Frame, rule: Rule, points: int, reach: float) -> Moments:
        """Moments of labels at each κ."""
        return Moments(self, frame, rule, reach)


class Moments:
    """E Y, E[yY] and E Y² on the nodes of a rule in κ, from one set of function evaluations."""

    def __init__(self, labels: OneDirection, frame: Frame, rule: Rule, reach: float):
        self._law, self._gamma, self._rule = labels.law, frame.gamma[:, 0], rule
        if labels.law is None:
            slope, scale = self._gamma[:, None], frame.rho[:, :1]
            self._column = Column(
                labels.function, slope, np.zeros(1), scale, rule.first, reach, even=not rule.cut
            )

    def at(self, stride: int) -> Label:
        """On the rule with every `stride`-th node."""
        label, times = self._along(stride), self._rule.others(stride)
        if times == 1:
            return label
        clean = label.clean and tuple(np.repeat(part, times, axis=-1) for part in label.clean)
        return Label(*(np.repeat(part, times, axis=-1) for part in label[:3]), clean)  # type: ignore[arg-type]

    def _along(self, stride: int) -> Label:
        law = self._law
        if law is None:
            label = self._column.moments(stride)
            return Label(label.mean[:, 0], label.first, label.square[:, 0])
        kappa = self._rule.line(stride)[0]
        t0, t1, t2 = law.moments(self._gamma, kappa)
        clean = None
        if law != law.clean:
            c0, c1, c2 = law.clean.moments(self._gamma, kappa)
            clean = (c0, c1[:, None], c2)
        return Label(t0, t1[:, None], t2, clean)


# before the first step


@lru_cache(maxsize=64)
def _real_labels(target: Function, noise: float, points: int, bends: tuple[float, ...]) -> list[Labelled]:
    """y = σ*(z) + noise·ε."""
    levels = np.array(bends)
    if noise == 0.0:
        return _clean_labels(target, points, levels)
    clean = _clean_labels(target, points, np.empty(0))
    y, mass = clean[0][0][0], clean[0][1][0, 0]
    if noise >= FAINT * float(np.sqrt(mass @ y**2 - (mass @ y) ** 2)):
        return blurred(clean, noise, points, levels)
    x, w = hermite(FAINT_NODES)
    shifted = [_clean_labels(target, points, levels - noise * off) for off in x]
    joined: list[Labelled] = []
    for rules in zip(*shifted, strict=True):
        moved = [(y + noise * off, weights * own) for (y, weights), off, own in zip(rules, x, w, strict=True)]
        joined.append((np.concatenate([y for y, _ in moved], -1), np.concatenate([w for _, w in moved], -1)))
    return joined


def _clean_labels(target: Function, points: int, levels: np.ndarray) -> list[Labelled]:
    reach = tail_reach(target, 1.0)
    points = max(points, quarterable(2.0 * least_intervals(target, 1.0, reach)))
    cuts = np.concatenate([target.breakpoints, crossings(target, levels, reach).reshape(-1)])
    if cuts.size:
        # evenly spaced in a variable of their own, so that spectra can put poles near the real axis right
        z, weights = even_pieces(-reach, reach, cuts[np.isfinite(cuts)], points)
        weights = tuple(w * density(z[:, nested(s)]) for s, w in zip(STRIDES, weights, strict=True))
    else:
        line, weights = line_rule(points, reach)
        z, weights = line[None], tuple(w[None] for w in weights)
    finest = target(z)
    batches: list[Labelled] = []
    for stride, w in zip(STRIDES, weights, strict=True):
        at, y = z[..., nested(stride)].reshape(-1), finest[..., nested(stride)].reshape(-1)
        moments = np.stack([w.reshape(-1) * at**power for power in range(3)])
        batches.append((y[None], moments[None]))
    return batches


def _binary_labels(law: BinaryLaw) -> list[Labelled]:
    """y = ±1: two nodes, exact on every rule."""
    mean, first, second = law.hermite()
    against_y = np.array([mean, first, second + mean])  # E[Y], E[zY], E[z²Y]
    alone = np.array([1.0, 0.0, 1.0])
    weights = 0.5 * np.stack([alone + against_y, alone - against_y], axis=-1)
    batch = (np.array([[1.0, -1.0]]), weights[None])
    return [batch, batch, batch]


# after it


class Given:
    """Labels of U settings at each κ, on three nested rules: real labels with their noise, or signs.

    `at(stride)` gives labels y [U, N, J] and weights [U, N, 3, J], for averages of g(y), y⊥ g(y) and y⊥² g(y), where
    y⊥ is the projection on the rest of the target, z = γκ + ρy⊥.
    """

    def __init__(
        self,
        labels: OneDirection,
        frame: Frame,
        rule: Rule,
        noise: np.ndarray,
        points: int,
        levels: np.ndarray | None,
    ):
        self._function, self._law, self._rule, self._levels = labels.function, labels.law, rule, levels
        self._gamma, self._rho, self._noise = frame.gamma[:, 0], frame.rho[:, 0], noise
        span = float(np.abs(self._gamma).max()) * labels.reach
        least = least_intervals(
            labels.function, round_up(float(self._rho.max())), labels.reach, round_up(span)
        )
        self._points = max(points, 2 * quarterable(least))
        self.reach = labels.reach
        z, w = line_rule(256, labels.reach)
        self._size = float(np.sqrt(np.asarray(labels.function(z)) ** 2 @ w[0])) or 1.0

    def at(self, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """On the rule with every `stride`-th node."""
        if self._law is None and self._levels is not None:
            kappa, levels = self._rule.at(stride)[0][:, 0], self._rule.nested(self._levels, stride)
            return self._between(kappa, levels, stride)
        y, weights = self._along(self._rule.line(stride)[0], stride)
        times = self._rule.others(stride)
        return np.repeat(y, times, axis=1), np.repeat(weights, times, axis=1)

    def _along(self, kappa: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
        if self._law is not None:
            return self._signs(self._law, kappa)
        y, weights = self._real(kappa, stride, np.asarray(self._function.breakpoints))
        if not self._noise.any():
            return y, weights
        return noisy(y, weights, self._noise, self._size, self._panel_nodes(stride))

    def _between(self, kappa: np.ndarray, levels: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """The same with rules cut at `levels` of the label, which are others at each κ."""
        f, reach = self._function, self.reach
        own = np.broadcast_to(np.asarray(f.breakpoints), (*levels.shape[:2], len(f.breakpoints)))

        def cut(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            met = crossings(f, levels, reach)
            return self._real(kappa, stride, np.concatenate([own, met.reshape(*met.shape[:2], -1)], axis=-1))

        if not self._noise.any():
            return cut(levels)
        if self._noise.max() < FAINT * self._size:
            x, w = hermite(FAINT_NODES)
            noise = self._noise[:, None, None]
            parts = [(off, share, cut(levels - noise * off)) for off, share in zip(x, w, strict=True)]
            y = np.concatenate([y + noise * off for off, _, (y, _) in parts], axis=-1)
            return y, np.concatenate([share * weights for _, share, (_, weights) in parts], axis=-1)
        y, weights = self._real(kappa, stride, np.asarray(f.breakpoints))
        blurred = [blurred_between(*one, stride) for one in zip(y, weights, levels, self._noise, strict=True)]
        return padded([y for y, _ in blurred]), padded([weights for _, weights in blurred])

    def _panel_nodes(self, stride: int) -> int:
        """More on finer rules, so that what compression costs shows in their differences."""
        return _PANEL_NODES[stride] + max(0, round(_MORE_NODES * np.log2(self._points / 48)))

    def _real(self, kappa: np.ndarray, stride: int, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Without noise; rules are cut at z = `cuts` [..., cuts], one set for all or one at each κ."""
        f, centre, rho = self._function, self._gamma[:, None] * kappa, self._rho[:, None, None]
        if cuts.shape[-1]:
            steep = np.where(rho < 1e-150, 1e-150, rho)
            y, weights = piecewise_rule((cuts - centre[..., None]) / steep, self._points // 2, self.reach)
            flat = (*centre.shape, -1)
            y, w = y[..., nested(stride)].reshape(flat), weights[STRIDES.index(stride)].reshape(flat)
        else:
            line, weights = line_rule(self._points, self.reach)
            y, w = line[None, None, nested(stride)], weights[STRIDES.index(stride)][None, None]
        values = np.asarray(f(centre[..., None] + rho * y))
        moments = np.stack([w, w * y, w * y * y], axis=-2)
        return values, np.broadcast_to(moments, (*values.shape[:2], 3, values.shape[-1]))

    def _signs(self, law: BinaryLaw, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two nodes, their weights in closed form."""
        rho = self._rho[:, None]
        mean, slope, bend = law.expectation(self._gamma[:, None] * kappa, rho**2, 2)
        against = np.stack([mean, rho * slope, rho**2 * bend + mean], axis=-1)  # E[Y], E[y⊥Y], E[y⊥²Y]
        alone = np.array([1.0, 0.0, 1.0])
        weights = 0.5 * np.stack([alone + against, alone - against], axis=-1)
        return np.broadcast_to(np.array([1.0, -1.0]), (*mean.shape, 2)), weights

"""Labels of one direction: a function of z with its noise, or signs; given κ, z = γκ + ρy.

Before the first step there is no κ: γ = 0, and y is z itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ...functions import Function, crossings, turning_values
from ...gaussian import (
    STRIDES,
    along_gaussian,
    blurred_intervals,
    density,
    even_pieces,
    expectation,
    fejer_rule,
    least_intervals,
    line_rule,
    nested,
    piecewise_rule,
    quarterable,
    round_up,
    tail_reach,
)
from ..layer import Frame
from ..rule import Rule
from ..shifted_moments import Column
from ..symmetric import TINY, padded
from .binary import BinaryLaw
from .compression import label_nodes
from .label import TAIL_TOLERANCE, BatchLabels, Label, is_sharp

# noise, over the target's size, under which so few Gauss-Hermite nodes resolve it
_FAINT, _FAINT_NODES = 0.03, 7
_NOISE_REACH = 9.0  # standard deviations of noise within which its density is averaged over,
_PER_NOISE = 8.0  # and nodes for each of them
_USUAL = 48  # nodes over y of a usual rule
_UNUSED = 1e-17  # weight of a label that no average depends on


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

        with np.errstate(over="ignore", invalid="ignore"):  # a fourth power that overflows has no mean
            square, fourth = expectation(both, self.function, tolerance=TAIL_TOLERANCE)
        return float(square), float(fourth) if np.isfinite(fourth) else np.inf

    def least_intervals(self, frame: Frame) -> np.ndarray:
        """Intervals along κ under which a rule may miss what labels do, [U]; in each piece, where it is cut."""
        gamma, rho = ([round_up(abs(x)) for x in part[:, 0].tolist()] for part in (frame.gamma, frame.rho))
        cut = is_sharp(self.function.breakpoints, frame.gamma[:, 0])
        if self.binary:  # in closed form given κ
            return np.where(cut, 0.0, blurred_intervals(np.array(gamma), np.array(rho), self.reach))
        every = zip(gamma, rho, cut.tolist(), strict=True)
        return np.array([along_gaussian(self.function, *one, self.reach) for one in every])

    def unseen_error(self, spikes: int) -> float:
        """Of averages with a field along y, beyond what rules in κ show: none."""
        return 0.0

    def alike(self, frame: Frame) -> np.ndarray:
        """Equal rows [U, ...] mark first layers that share tables."""
        return np.zeros((len(frame.gamma), 0))

    @cached_property
    def size(self) -> float:
        """√E Y² of clean labels; 1 if they all vanish."""
        return float(np.sqrt(self.powers[0])) or 1.0

    def first_batch(
        self, noise: float, points: int, levels: tuple[float, ...] = ()
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Labels [1, n] of a batch before the first step and their weights [1, 3, n], on three rules, finest first.

        Rules are cut where labels pass `levels`, at which what is averaged bends.
        """
        rule = _LabelRule(self, np.array([noise]), points, 1.0, 0.0, even=True)
        cuts = np.array(levels, float)[None, None]
        batches = [rule.at(np.zeros((1, 1)), np.ones(1), stride, cuts) for stride in STRIDES]
        return [(y[:, 0], weights[:, 0]) for y, weights in batches]

    def batch(
        self, frame: Frame, rule: Rule, noise: np.ndarray, points: int, levels: np.ndarray | None = None
    ) -> BatchLabels:
        """Labels of a batch after it, at each κ; with `levels` [U, N, L] of its own at each node of the finest rule."""
        gamma, rho = frame.gamma[:, 0], frame.rho[:, 0]
        widths = round_up(float(rho.max())), round_up(float(np.abs(gamma).max()) * self.reach)
        given_centre = _LabelRule(self, noise, points, *widths)

        def labels(stride: int) -> tuple[np.ndarray, np.ndarray]:
            centre, times = gamma[:, None] * rule.line(stride)[0], rule.others(stride)
            if levels is not None:
                centre = np.repeat(centre, times, axis=1)
                return given_centre.at(centre, rho, stride, rule.nested(levels, stride))
            y, weights = given_centre.at(centre, rho, stride)
            return np.repeat(y, times, axis=1), np.repeat(weights, times, axis=1)

        return labels

    def conditional_moments(self, frame: Frame, rule: Rule, points: int, reach: float) -> Callable[[int], Label]:
        """Moments of labels at each κ of the rule of a stride."""
        gamma, law = frame.gamma[:, 0], self.law
        if law is None:  # three rules from one set of function evaluations
            argument = gamma[:, None], np.zeros(1), frame.rho[:, :1], rule.first
            column = Column(self.function, *argument, reach, even=not rule.cut)

            def along(stride: int) -> Label:
                label = column.moments(stride)
                return Label(label.mean[:, 0], label.first, label.square[:, 0])
        else:

            def along(stride: int) -> Label:
                kappa = rule.line(stride)[0]
                clean = None if law == law.clean else law.clean.moments(gamma, kappa)
                return Label(*law.moments(gamma, kappa), clean)

        return lambda stride: along(stride).apply(partial(np.repeat, repeats=rule.others(stride), axis=-1))


class _LabelRule:
    """Rules over y⊥ for labels of z = centre + ρy⊥, |centre| ≤ span, and over their noise, [U].

    `even`: pieces have nodes evenly spaced in a variable of their own, so that spectra can put poles near the real axis
    right.
    """

    def __init__(
        self, labels: OneDirection, noise: np.ndarray, points: int, rho: float, span: float, even: bool = False
    ):
        self._labels, self._noise, self._even = labels, noise, even
        least = least_intervals(labels.function, rho, labels.reach, span) if labels.law is None else 0.0
        self._points = max(points, quarterable(2.0 * least))

    def at(
        self, centre: np.ndarray, rho: np.ndarray, stride: int, levels: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels [U, N, J] and weights [U, N, 3, J] at centres [U, N] and ρ [U], by the rule of a stride.

        What is averaged bends where labels pass `levels` [U, N, L]; None if it does not, and few nodes are wanted.
        """
        noise, law = self._noise[:, None, None], self._labels.law
        if law is not None:
            return _signs(law, centre, rho[:, None])
        if not noise.any():
            return self._clean(centre, rho, stride, levels)
        if levels is None:
            y, weights = self._clean(centre, rho, stride, None)
            finer = max(0, round(np.log2(self._points / _USUAL)))
            nodes = label_nodes(self._labels.size, STRIDES.index(stride), finer)
            rows, which = np.moveaxis(weights, 2, 0), np.arange(centre.size).reshape(*centre.shape, 1)
            compressed = nodes.compress(y, rows, which).reshape(*centre.shape, 3, -1)
            return nodes.with_noise(compressed, self._noise)
        if self._noise.max() < _FAINT * self._labels.size:
            x, w = np.polynomial.hermite_e.hermegauss(_FAINT_NODES)
            parts = [self._clean(centre, rho, stride, levels - noise * off) for off in x]
            y = np.concatenate([y + noise * off for off, (y, _) in zip(x, parts, strict=True)], axis=-1)
            return y, np.concatenate([own * v for own, (_, v) in zip(w / w.sum(), parts, strict=True)], axis=-1)
        y, weights = self._clean(centre, rho, stride, None)
        settings = zip(y, weights, levels, self._noise, strict=True)
        parts = [_with_noise(*one, self._points, stride) for one in settings]
        return padded([y for y, _ in parts]), padded([v for _, v in parts])

    def _clean(
        self, centre: np.ndarray, rho: np.ndarray, stride: int, levels: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Without noise; rules are cut at the target's breakpoints and where it passes `levels`."""
        f, reach, flat, rho = (self._labels.function, self._labels.reach, (*centre.shape, -1), rho[:, None, None])
        cuts = np.broadcast_to(f.breakpoints, (*centre.shape, len(f.breakpoints)))
        if levels is not None and levels.size:
            cuts = np.concatenate([cuts, crossings(f, levels, reach).reshape(flat)], axis=-1)
        if cuts.shape[-1]:
            cuts = (cuts - centre[..., None]) / np.maximum(rho, TINY**0.5)
            if self._even:
                y, weights = even_pieces(-reach, reach, cuts, self._points)
                weights = [w * density(y[..., nested(s)]) for s, w in zip(STRIDES, weights, strict=True)]
            else:
                y, weights = piecewise_rule(cuts, quarterable(self._points / 2), reach)
            y, w = y[..., nested(stride)].reshape(flat), weights[STRIDES.index(stride)].reshape(flat)
        else:
            line, weights = line_rule(self._points, reach)
            y, w = line[None, None, nested(stride)], weights[STRIDES.index(stride)][None, None]
        values = np.asarray(f(centre[..., None] + rho * y))
        moments = np.stack([w, w * y, w * y * y], axis=-2)
        return values, np.broadcast_to(moments, (*centre.shape, 3, values.shape[-1]))


def _signs(law: BinaryLaw, centre: np.ndarray, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """y = ±1: two nodes, their weights in closed form."""
    mean, slope, bend = law.expectation(centre, rho**2, 2)
    against = np.stack([mean, rho * slope, rho**2 * bend + mean], axis=-1)  # E[Y], E[y⊥Y], E[y⊥²Y]
    alone = np.array([1.0, 0.0, 1.0])
    weights = 0.5 * np.stack([alone + against, alone - against], axis=-1)
    return np.broadcast_to(np.array([1.0, -1.0]), (*mean.shape, 2)), weights


def _with_noise(
    y: np.ndarray, weights: np.ndarray, levels: np.ndarray, noise: float, points: int, stride: int
) -> tuple[np.ndarray, np.ndarray]:
    """Labels [N, J] plus noise·ε, whose density is smooth: on a rule in the label itself, cut at `levels` [N, L].

    The density at a label t is Σ_j w_j φ((t - y_j)/noise)/noise.
    """
    used = y[weights[:, 0] > _UNUSED]
    low, high = used.min() - _NOISE_REACH * noise, used.max() + _NOISE_REACH * noise
    ends = np.broadcast_to([low, high], (len(y), 2))
    edges = np.sort(np.concatenate([ends, np.clip(levels, low, high)], axis=1), axis=1)
    half, middle = 0.5 * np.diff(edges)[..., None], 0.5 * (edges[:, 1:] + edges[:, :-1])[..., None]
    n = quarterable(max(points, _PER_NOISE * float(half.max()) / noise))
    if levels.size:
        x, rules = fejer_rule(n)
    else:  # evenly spaced, for spectra
        x = 2.0 * np.arange(1, n) / n - 1.0
        rules = [np.full(n // s - 1, 2.0 * s / n) for s in STRIDES]
    at = (middle + half * x[nested(stride)]).reshape(len(y), -1)
    rule = (half * rules[STRIDES.index(stride)]).reshape(len(y), 1, -1)
    laws = zip(at, y, weights, strict=True)
    return at, rule * np.stack([w @ density((t - own[:, None]) / noise) / noise for t, own, w in laws])

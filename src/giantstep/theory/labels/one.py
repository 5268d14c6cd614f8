"""Labels of one direction: a function of z with its noise, or signs; given κ, z = γκ + ρy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from ...functions import Function, crossings, turning_values
from ...gaussian import (
    STRIDES,
    density,
    even_pieces,
    fejer_rule,
    line_rule,
    nested,
    piecewise_rule,
    tail_reach,
)
from ..column import Column
from ..layer import Frame
from ..rule import Rule
from .binary import BinaryLaw
from .label import Label

_FAINT = 0.03  # noise, over the target's spread, under which a few Gauss-Hermite nodes resolve it
_FAINT_NODES = 7
_NOISE_NODES = 16
_PER_NOISE = 10.0  # nodes per standard deviation of the noise, where its density is averaged over in pieces
_PANEL_NODES = {1: 14, 2: 11, 4: 8}  # Gauss nodes per panel of a compressed law, by the stride of its rule,
_MORE_NODES = 4  # and more of them for each doubling of a rule beyond 48 points
_PANELS = 2.0 ** np.arange(-1, 10)  # edges of panels to either side of 0, in units of √E y²
_PANELS = np.concatenate([-_PANELS[::-1], [0.0], _PANELS])


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

    @property
    def reach(self) -> float:
        """How far out z must be followed."""
        return tail_reach(self.function, 1.0)

    def breakpoints(self, frame: Frame) -> tuple[float, ...]:
        """Where the label given z'_1 jumps or kinks."""
        return self.function.breakpoints

    @cached_property
    def turning_values(self) -> np.ndarray:
        """Labels at which the number of z with that label changes."""
        return np.empty(0) if self.binary else turning_values(self.function, self.reach)

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
                labels.function, slope, np.zeros(1), scale, rule.first, reach, symmetric=not rule.cut
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

Labelled = tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=64)
def _real_labels(target: Function, noise: float, points: int, bends: tuple[float, ...]) -> list[Labelled]:
    """y = σ*(z) + noise·ε."""
    levels = np.array(bends)
    if noise == 0.0:
        return _clean_labels(target, points, levels)
    clean = _clean_labels(target, points, np.empty(0))
    y, mass = clean[0][0][0], clean[0][1][0, 0]
    if noise >= _FAINT * float(np.sqrt(mass @ y**2 - (mass @ y) ** 2)):
        return _blurred(clean, noise, points, levels)
    x, w = _hermite(_FAINT_NODES)
    shifted = [_clean_labels(target, points, levels - noise * off) for off in x]
    joined = []
    for rules in zip(*shifted, strict=True):
        moved = [(y + noise * off, weights * own) for (y, weights), off, own in zip(rules, x, w, strict=True)]
        joined.append(tuple(np.concatenate(parts, axis=-1) for parts in zip(*moved, strict=True)))
    return joined


def _clean_labels(target: Function, points: int, levels: np.ndarray) -> list[Labelled]:
    reach = tail_reach(target, 1.0)
    cuts = np.concatenate([target.breakpoints, crossings(target, levels, reach).reshape(-1)])
    if cuts.size:
        # evenly spaced in a variable of their own, so that spectra can put poles near the real axis right
        z, weights = even_pieces(-reach, reach, cuts[np.isfinite(cuts)], points)
        weights = tuple(w * density(z[:, nested(s)]) for s, w in zip(STRIDES, weights, strict=True))
    else:
        line, weights = line_rule(points, reach)
        z, weights = line[None], tuple(w[None] for w in weights)
    finest = target(z)
    batches = []
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


def _blurred(batches: list[Labelled], noise: float, points: int, levels: np.ndarray) -> list[Labelled]:
    """Add Gaussian noise to y. The blurred law is smooth, so a trapezoidal rule in y itself takes over."""
    y, weights = batches[0]
    used = weights[0, 0] > 1e-17
    low, high = y[0, used].min() - 9.0 * noise, y[0, used].max() + 9.0 * noise
    n = max(points, 2 ** int(np.ceil(np.log2((high - low) / (0.2 * noise)))))
    if levels.size:
        e, rules = even_pieces(low, high, levels, n)
    else:
        e, step = (low + (high - low) * np.arange(1, n) / n)[None], (high - low) / n
        rules = tuple(np.full((1, n // stride - 1), stride * step) for stride in STRIDES)
    blurred = []
    for stride, rule, (y, weights) in zip(
        STRIDES, rules, batches, strict=True
    ):  # each from its own rule, so that errors show
        at = e[:, nested(stride)].reshape(-1)
        blurred.append((at[None], (weights[0] @ _kernel(at, y[0], noise).T * rule.reshape(-1))[None]))
    return blurred


def _kernel(at: np.ndarray, y: np.ndarray, noise: float) -> np.ndarray:
    """The density of y + noise·ε at `at`, [..., at, y]."""
    return density((at[..., :, None] - y[..., None, :]) / noise) / noise


def _hermite(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    return x, w / w.sum()


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
        self._gamma, self._rho, self._noise, self._points = frame.gamma[:, 0], frame.rho[:, 0], noise, points
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
        return _noisy(y, weights, self._noise, self._size, self._panel_nodes(stride))

    def _between(self, kappa: np.ndarray, levels: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """The same with rules cut at `levels` of the label, which are others at each κ."""
        f, reach = self._function, self.reach
        own = np.broadcast_to(np.asarray(f.breakpoints), (*levels.shape[:2], len(f.breakpoints)))

        def cut(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            met = crossings(f, levels, reach)
            return self._real(kappa, stride, np.concatenate([own, met.reshape(*met.shape[:2], -1)], axis=-1))

        if not self._noise.any():
            return cut(levels)
        if self._noise.max() < _FAINT * self._size:
            x, w = _hermite(_FAINT_NODES)
            noise = self._noise[:, None, None]
            parts = [(off, share, cut(levels - noise * off)) for off, share in zip(x, w, strict=True)]
            y = np.concatenate([y + noise * off for off, _, (y, _) in parts], axis=-1)
            return y, np.concatenate([share * weights for _, share, (_, weights) in parts], axis=-1)
        y, weights = self._real(kappa, stride, np.asarray(f.breakpoints))
        blurred = [
            _blurred_between(*one, stride) for one in zip(y, weights, levels, self._noise, strict=True)
        ]
        return _padded([y for y, _ in blurred]), _padded([weights for _, weights in blurred])

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
        mean, slope, bend = law.expectation(self._gamma[:, None] * kappa, rho**2)
        against = np.stack([mean, rho * slope, rho**2 * bend + mean], axis=-1)  # E[Y], E[y⊥Y], E[y⊥²Y]
        alone = np.array([1.0, 0.0, 1.0])
        weights = 0.5 * np.stack([alone + against, alone - against], axis=-1)
        return np.broadcast_to(np.array([1.0, -1.0]), (*mean.shape, 2)), weights


def _noisy(
    y: np.ndarray, weights: np.ndarray, noise: np.ndarray, size: float, nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Add Gaussian noise to labels and compress their law onto panels of Gauss nodes.

    Functions that are smooth in y are averaged against polynomials through the nodes of a panel, so that however many
    labels there were, a few hundred nodes remain; weights may be negative.
    """
    x, w = _hermite(_NOISE_NODES)
    settings = []
    for values, own, level in zip(y, weights, noise, strict=True):
        values, own = compressed(values, own, size, nodes)
        if level > 0.0:
            blurred = (values[..., None] + level * x).reshape(len(values), -1)
            own = (own[..., None] * w).reshape(len(values), 3, -1)
            values, own = compressed(blurred, own, float(np.hypot(size, level)), nodes)
        settings.append((values, own))
    return _padded([values for values, _ in settings]), _padded([own for _, own in settings])


def _padded(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays [..., J] of several settings as one, with zeros where some have fewer."""
    whole = np.zeros((len(parts), *parts[0].shape[:-1], max(part.shape[-1] for part in parts)))
    for one, part in zip(whole, parts, strict=True):
        one[..., : part.shape[-1]] = part
    return whole


def _blurred_between(
    y: np.ndarray, weights: np.ndarray, levels: np.ndarray, noise: float, stride: int
) -> tuple[np.ndarray, np.ndarray]:
    """Labels [N, J] with noise, on a rule for their smooth density that is cut at `levels` [N, L]."""
    low, high = (np.full((len(y), 1), edge) for edge in (y.min() - 9.0 * noise, y.max() + 9.0 * noise))
    edges = np.concatenate([low, np.sort(np.clip(levels, low, high), axis=1), high], axis=1)
    half, middle = 0.5 * np.diff(edges)[..., None], 0.5 * (edges[:, 1:] + edges[:, :-1])[..., None]
    n = 4 * int(np.ceil(_PER_NOISE * float(half.max()) / noise / 4))
    x, rules = fejer_rule(max(32, n))
    at = (middle + half * x[nested(stride)]).reshape(len(y), -1)
    rule = (half * rules[STRIDES.index(stride)]).reshape(len(y), 1, -1)
    found = [own @ _kernel(to, labels, noise).T for to, labels, own in zip(at, y, weights, strict=True)]
    return at, np.stack(found) * rule


def compressed(y: np.ndarray, weights: np.ndarray, size: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The law of y [N, J] with weights [N, rows, J] on nodes common to all N: y [N, J'] and weights [N, rows, J'].

    `size` is typical of y; panels of `nodes` Gauss nodes each grow with the distance from 0 in units of it.
    """
    low, high = float(y.min()), float(y.max())
    inner = _PANELS * size
    edges = np.concatenate(
        [[low], inner[(inner > low) & (inner < high)], [high if high > low else low + size]]
    )
    x, _ = np.polynomial.legendre.leggauss(nodes)
    to_values = np.linalg.inv(
        np.polynomial.legendre.legvander(x, nodes - 1)
    )  # Legendre sums through the nodes
    place = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
    kept, places = [], []
    for panel, (left, right) in enumerate(pairwise(edges)):
        inside = place == panel
        if not inside.any():
            continue
        t = np.where(inside, (2.0 * y - left - right) / (right - left), 0.0)
        basis = np.polynomial.legendre.legvander(t, nodes - 1) @ to_values
        kept.append((weights * inside[:, None]) @ basis)
        places.append(0.5 * (left + right) + 0.5 * (right - left) * x)
    joined = np.concatenate(places)
    return np.broadcast_to(joined, (len(y), len(joined))), np.concatenate(kept, axis=-1)

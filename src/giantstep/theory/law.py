"""The law of a batch, as a gradient step sees it: a sample's residual e together with its projections x_j.

A step weighs each sample by its residual e = -∂ℓ(y, f). All that it leaves behind depends on the batch through
averages of g(e, κ), x_j g and x_j x_l g, where x_j are the projections on the directions that were known before the
step: those of the spikes, κ, and those of the rest of the target, y. So the law is kept as nodes in (κ, e) with one
set of weights for each of 1, x_j and x_j x_l. Before the first step there is no κ, and y is z itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from ..functions import Function
from ..gaussian import STRIDES, line_rule, nested, piecewise_rule, tail_reach
from .labels import BinaryLaw, binary_law

if TYPE_CHECKING:
    from ..losses import Loss
    from ..model import Target

_FAINT = 0.03  # noise, over the target's spread, under which a few Gauss-Hermite nodes resolve it
_FAINT_NODES = 7
_NOISE_NODES = 16
_PANEL_NODES = {1: 14, 2: 11, 4: 8}  # Gauss nodes per panel of a compressed law, by the stride of its rule,
_MORE_NODES = 4  # and more of them for each doubling of a rule beyond 48 points
_PANELS = 2.0 ** np.arange(-1, 10)  # edges of panels to either side of 0, in units of √E y²
_PANELS = np.concatenate([-_PANELS[::-1], [0.0], _PANELS])


@dataclass(frozen=True)
class Batch:
    """Nodes e [U, n] and weights [U, rows, n]: rows for 1, for each x_j, and for each pair x_j x_l, j ≤ l."""

    e: np.ndarray
    weights: np.ndarray

    @cached_property
    def directions(self) -> int:
        """How many x_j there are."""
        return (isqrt(1 + 8 * self.weights.shape[1]) - 3) // 2

    def mean(self, values: np.ndarray, row: int = 0) -> np.ndarray:
        """E[values], or that against another row of the weights: [U, ..., n] to [U, ...]."""
        w = self.weights[:, row]
        return (values * w.reshape(len(w), *(1,) * (values.ndim - 2), -1)).sum(axis=-1)

    def along(self, values: np.ndarray) -> np.ndarray:
        """E[x_j values], [U, ..., D]."""
        return np.stack([self.mean(values, 1 + j) for j in range(self.directions)], axis=-1)

    @cached_property
    def pairs(self) -> np.ndarray:
        """Row of the weights that belongs to x_j x_l, [D, D]."""
        D = self.directions
        rows = np.empty((D, D), int)
        rows[np.triu_indices(D)] = rows.T[np.triu_indices(D)] = 1 + D + np.arange(D * (D + 1) // 2)
        return rows


def residuals(labels: list[Batch], loss: Loss, output: np.ndarray | float) -> list[Batch]:
    """From labels to the residuals that the step follows, e = -∂ℓ(y, f): y - f for the square loss."""
    return [Batch(-np.asarray(loss.derivative(b.e, b.e * 0.0 + output)), b.weights) for b in labels]


# before the first step


def unused_batch(points: int) -> list[Batch]:
    """A batch of pure noise, independent of the target: for a network that takes no step."""
    e, weights = line_rule(points)
    return [
        Batch(e[None, nested(s)], np.stack([w, 0.0 * w, w])[None])
        for s, w in zip(STRIDES, weights, strict=True)
    ]


def label_batch(target: Target, noise: float, points: int) -> list[Batch]:
    """The law of a label y, in place of e, on three nested rules, finest first, for one setting (U = 1)."""
    law = binary_law(target)
    return _real_labels(target.function, noise, points) if law is None else _binary_labels(law)


def _real_labels(target: Function, noise: float, points: int) -> list[Batch]:
    """y = σ*(z) + noise·ε."""
    reach = tail_reach(target, 1.0)
    if target.breakpoints:
        z, weights = piecewise_rule(np.asarray(target.breakpoints), points // 2, reach)
    else:
        line, weights = line_rule(points, reach)
        z, weights = line[None], tuple(w[None] for w in weights)
    finest = target(z)
    batches = []
    for stride, w in zip(STRIDES, weights, strict=True):
        at, y = z[..., nested(stride)].reshape(-1), finest[..., nested(stride)].reshape(-1)
        moments = np.stack([w.reshape(-1) * at**power for power in range(3)])
        batches.append(Batch(y[None], moments[None]))
    if noise == 0.0:
        return batches
    return _blurred(batches, noise, points)


def _binary_labels(law: BinaryLaw) -> list[Batch]:
    """y = ±1: two nodes, exact on every rule."""
    mean, first, second = law.hermite()
    against_y = np.array([mean, first, second + mean])  # E[Y], E[zY], E[z²Y]
    alone = np.array([1.0, 0.0, 1.0])
    weights = 0.5 * np.stack([alone + against_y, alone - against_y], axis=-1)
    batch = Batch(np.array([[1.0, -1.0]]), weights[None])
    return [batch, batch, batch]


def _blurred(batches: list[Batch], noise: float, points: int) -> list[Batch]:
    """Add Gaussian noise to y. The blurred law is smooth, so a trapezoidal rule in y itself takes over."""
    finest = batches[0]
    spread = float(np.sqrt(finest.mean(finest.e**2)[0] - finest.mean(finest.e)[0] ** 2))
    if noise < _FAINT * spread:
        x, w = _hermite(_FAINT_NODES)
        return [
            Batch(
                (b.e[..., None] + noise * x).reshape(1, -1),
                (b.weights[..., None] * w).reshape(1, 3, -1),
            )
            for b in batches
        ]
    used = finest.weights[0, 0] > 1e-17
    low, high = finest.e[0, used].min() - 9.0 * noise, finest.e[0, used].max() + 9.0 * noise
    n = max(points, 2 ** int(np.ceil(np.log2((high - low) / (0.2 * noise)))))
    e = low + (high - low) * np.arange(1, n) / n
    step = (high - low) / n
    blurred = []
    for stride, batch in zip(STRIDES, batches, strict=True):
        at = e[nested(stride)]
        kernel = np.exp(-0.5 * ((at[:, None] - batch.e[0]) / noise) ** 2) / (np.sqrt(2.0 * np.pi) * noise)
        blurred.append(Batch(at[None], (stride * step * batch.weights[0] @ kernel.T)[None]))
    return blurred


def stacked(batches: list[Batch]) -> Batch:
    """Batches of several settings as one, padded with nodes of no weight."""
    n = max(b.e.shape[-1] for b in batches)
    e = np.zeros((len(batches), n))
    weights = np.zeros((len(batches), batches[0].weights.shape[1], n))
    for row, batch in enumerate(batches):
        e[row, : batch.e.shape[-1]] = batch.e[0]
        weights[row, :, : batch.e.shape[-1]] = batch.weights[0]
    return Batch(e, weights)


def _hermite(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    return x, w / w.sum()


# after it: labels given the projection κ on the spike that the target sees


class Given:
    """Labels of U settings at each κ of a line, on three nested rules: real labels with their noise, or signs.

    `at(stride)` gives labels y [U, N, J] and weights [U, N, 3, J], for averages of g(y), y⊥ g(y) and y⊥² g(y), where
    y⊥ is the projection on the rest of the target, z = γκ + ρy⊥.
    """

    def __init__(self, target: Target, gamma: np.ndarray, rho: np.ndarray, noise: np.ndarray, points: int):
        self._target, self._law = target, binary_law(target)
        self._gamma, self._rho, self._noise, self._points = gamma, rho, noise, points
        z, w = line_rule(256, tail_reach(target.function, 1.0))
        self._size = float(np.sqrt(np.asarray(target.function(z)) ** 2 @ w[0])) or 1.0

    def at(self, kappa: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """On the rule with every `stride`-th node, at κ [U or 1, N] of that rule."""
        if self._law is not None:
            return self._signs(self._law, kappa)
        y, weights = self._real(self._target.function, kappa, stride)
        if not self._noise.any():
            return y, weights
        return _noisy(y, weights, self._noise, self._size, self._panel_nodes(stride))

    def _panel_nodes(self, stride: int) -> int:
        """More on finer rules, so that what compression costs shows in their differences."""
        return _PANEL_NODES[stride] + max(0, round(_MORE_NODES * np.log2(self._points / 48)))

    def _real(self, f: Function, kappa: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
        centre, rho = self._gamma[:, None] * kappa, self._rho[:, None, None]
        reach = tail_reach(f, 1.0)
        if f.breakpoints:
            steep = np.where(rho < 1e-150, 1e-150, rho)
            cuts = (np.asarray(f.breakpoints) - centre[..., None]) / steep
            y, weights = piecewise_rule(cuts, self._points // 2, reach)
            flat = (*centre.shape, -1)
            y, w = y[..., nested(stride)].reshape(flat), weights[STRIDES.index(stride)].reshape(flat)
        else:
            line, weights = line_rule(self._points, reach)
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
    J = max(values.shape[-1] for values, _ in settings)
    labels, kept = np.zeros((len(y), y.shape[1], J)), np.zeros((len(y), y.shape[1], 3, J))
    for u, (values, own) in enumerate(settings):
        labels[u, :, : values.shape[-1]], kept[u, :, :, : values.shape[-1]] = values, own
    return labels, kept


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

"""The first batch, as the gradient step sees it: the joint law of a sample's residual e and its projection z.

The step weighs each sample x by its residual e = y - f0. The row covariances that it leaves behind depend on
the batch only through averages E[g(e)], E[z g(e)], E[z² g(e)] with z = θ̂·x, so the law is kept as nodes in e
with three sets of weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...functions import Function
from ...gaussian import STRIDES, line_rule, nested, piecewise_rule, tail_reach
from ..labels import BinaryLaw, binary_law

if TYPE_CHECKING:
    from ...losses import Loss
    from ...model import Target

_FAINT = 0.03  # noise, over the target's spread, under which a few Gauss-Hermite nodes resolve it
_FAINT_NODES = 7


class Batch(NamedTuple):
    """Nodes e [U, n] and weights [U, 3, n] for averages of g(e), z g(e) and z² g(e)."""

    e: np.ndarray
    weights: np.ndarray

    def mean(self, values: np.ndarray, power: int = 0) -> np.ndarray:
        """E[z^power · values] over nodes (the last axis): [U, ...]."""
        w = self.weights[:, power]
        return (values * w.reshape(len(w), *(1,) * (values.ndim - 2), -1)).sum(axis=-1)


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


def residuals(labels: list[Batch], loss: Loss, output: float) -> list[Batch]:
    """From labels to the residuals that the step follows, e = -∂ℓ(y, f0): y - f0 for the square loss."""
    return [Batch(-np.asarray(loss.derivative(b.e, np.full_like(b.e, output))), b.weights) for b in labels]


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
        x, w = np.polynomial.hermite_e.hermegauss(_FAINT_NODES)
        w = w / w.sum()
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
    kernel = np.exp(-0.5 * ((e[:, None] - finest.e[0]) / noise) ** 2) / (np.sqrt(2.0 * np.pi) * noise)
    density = finest.weights[0] @ kernel.T
    step = (high - low) / n
    return [Batch(e[None, nested(s)], (s * step * density[:, nested(s)])[None]) for s in STRIDES]


def stacked(batches: list[Batch]) -> Batch:
    """Batches of several settings as one, padded with nodes of no weight."""
    n = max(b.e.shape[-1] for b in batches)
    pad = [n - b.e.shape[-1] for b in batches]
    return Batch(
        np.concatenate([np.pad(b.e, ((0, 0), (0, p))) for b, p in zip(batches, pad, strict=True)]),
        np.concatenate(
            [np.pad(b.weights, ((0, 0), (0, 0), (0, p))) for b, p in zip(batches, pad, strict=True)]
        ),
    )

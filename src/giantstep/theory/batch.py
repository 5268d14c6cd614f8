"""The law of a batch: the joint distribution of a sample's residual e and its projections x_j, as nodes and weights.

A gradient step weighs each sample by its residual e = -∂ℓ(y, f). The layer after the step depends on the batch through
averages of g(e, κ), x_j g and x_j x_l g, where x_j are the projections on the directions that were known before the
step: κ, along the spikes, and y, along the rest of the target. So the law is kept as nodes in (κ, e) with one set of
weights for each of 1, x_j and x_j x_l. Before the first step there is no κ, and y is z itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from ..functions import crossings
from ..gaussian import STRIDES, line_rule, nested, quarterable, tail_reach
from .derivative_moments import DerivativeMoments, at_rest, shifted
from .labels import Labels, is_sharp, label_layers, labels_of, pairs
from .layer import FirstLayer
from .rule import Rule, across_intervals
from .symmetric import indices, padded, triangle

if TYPE_CHECKING:
    from ..losses import Loss
    from ..model.target import Target
    from .layer import Neurons

_NEGLIGIBLE = 1e-17  # weight of a node, times its largest power, under which averages do without it


@dataclass(frozen=True)
class BatchLaw:
    """One rule: nodes e [U, n], and weights [U or 1, rows, n] with rows for 1, each x_j, and each pair x_j x_l, j ≤ l;
    and the averages of σ and σ' at the nodes, [U or 1, K, n or 1]."""

    e: np.ndarray
    weights: np.ndarray
    moments: DerivativeMoments

    @cached_property
    def directions(self) -> int:
        """How many x_j there are."""
        return _variables(self.weights.shape[1])

    def mean(self, values: np.ndarray) -> np.ndarray:
        """E[values], [U, ..., n] to [U, ...]."""
        w = self.weights[:, 0]
        return np.vecdot(values, w.reshape(len(w), *(1,) * (values.ndim - 2), -1))

    def along(self, values: np.ndarray) -> np.ndarray:
        """E[x_j values], [U, ..., D]."""
        w = self.weights[:, 1 : 1 + self.directions]
        w = w.reshape(len(w), *(1,) * (values.ndim - 2), *w.shape[1:])
        return np.vecdot(values[..., None, :], w)

    @property
    def pairs(self) -> np.ndarray:
        """Row of the weights that belongs to x_j x_l, [D, D]."""
        return 1 + self.directions + triangle(self.directions)


def stacked(laws: Sequence[BatchLaw], count: int) -> BatchLaw:
    """Several laws of as many batches, `count`, as one: the first law of each batch, then the second. Shorter ones get
    nodes of weight 0."""

    def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
        every = padded([np.broadcast_to(part, (count, *part.shape[1:])) for part in parts])
        return every.reshape(-1, *every.shape[2:])

    e, weights = joined([law.e for law in laws]), joined([law.weights for law in laws])
    moments = laws[0].moments
    if moments.mean.shape[-1] > 1:  # else they are the same at every sample
        moments = DerivativeMoments(*map(joined, zip(*(law.moments for law in laws), strict=True)))
    return BatchLaw(e, weights, moments)


def batch_law(
    neurons: Neurons, target: Target, layer: FirstLayer, noise: np.ndarray, loss: Loss, points: int, shift: float = 0.0
) -> tuple[list[BatchLaw], float]:
    """The batch of a step on three nested rules, finest first, and the error of the averages at its nodes.

    `shift` is added to the network's output, from which residuals are taken.
    """
    if np.any(layer.gram):
        return _after(neurons, target, layer, noise, loss, points, shift)
    # no spikes yet: e is a function of the label alone, and σ' has the same averages at every sample
    moments, error = at_rest(neurons.activation, neurons.biases)
    output = neurons.output(moments).item() + shift
    levels, level = np.unique(noise, return_inverse=True)
    bends = tuple(output + bend for bend in loss.bends)
    labels = [_first_labels(labels_of(target), float(x), points, bends) for x in levels]
    laws: list[BatchLaw] = []
    for rule in zip(*labels, strict=True):
        y, weights = rule[0] if len(levels) == 1 else (padded(parts)[level, 0] for parts in zip(*rule, strict=True))
        laws.append(BatchLaw(_residual(loss, y, output), weights, moments))
    return laws, error


def idle_batch(neurons: Neurons, directions: int, points: int) -> list[BatchLaw]:
    """A batch of pure noise, independent of the target: for a network that takes no step."""
    moments, _ = at_rest(neurons.activation, neurons.biases)
    finite = DerivativeMoments(*(np.where(np.isfinite(part), part, 0.0) for part in moments))  # times no step
    e, weights = line_rule(points)
    rows = np.concatenate([[1.0], np.zeros(directions), np.eye(directions)[np.triu_indices(directions)]])
    return [
        BatchLaw(e[None, nested(s)], rows[None, :, None] * w, finite) for s, w in zip(STRIDES, weights, strict=True)
    ]


@lru_cache
def _first_labels(
    labels: Labels, noise: float, points: int, bends: tuple[float, ...]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Labels before the first step, on three nested rules: they do not depend on the step that follows."""
    return labels.first_batch(noise, points, bends)


def _after(
    neurons: Neurons, target: Target, layer: FirstLayer, noise: np.ndarray, loss: Loss, points: int, shift: float
) -> tuple[list[BatchLaw], float]:
    frame = layer.frame()
    gamma, labels = frame.gamma[:, 0], labels_of(target)
    breaks = labels.breakpoints(frame)
    total = float(np.sqrt(layer.c + (frame.b**2).sum(axis=-1)).max())
    reach = tail_reach(neurons.activation, total)
    cuts = [label_layers(breaks, gamma)] if is_sharp(breaks, gamma).any() else []
    soft = bool(loss.bends) and frame.spikes == 1 and not noise.any() and bool(labels.turning_values.size)
    if soft:
        cuts.append(_turns(neurons, layer, loss, labels.turning_values - shift, reach))
    least = float(labels.least_intervals(frame).max()) * (2.0 if cuts else 1.0)
    points = max(points, 2 * quarterable(least))
    across = across_intervals(frame.b, layer.c, points // 2)
    all_cuts = np.concatenate(cuts, axis=1) if cuts else None
    rule = Rule(points // 2, max(reach, labels.reach), all_cuts, across, reach, soft)
    argument = frame.b @ rule.at(1)[0] + neurons.biases[:, None]
    moments, error = shifted(neurons.activation, argument, layer.c)
    bends = (neurons.output(moments) + shift)[..., None] + np.asarray(loss.bends) if loss.bends else None
    conditional = labels.batch(frame, rule, noise, points, bends)
    nodes = indices(argument.shape[-1])[None]
    laws: list[BatchLaw] = []
    for stride in STRIDES:
        kappa, weights = rule.at(stride)
        y, given_kappa = conditional(stride)
        U, _, J = y.shape
        y, at = y.reshape(U, -1), np.repeat(rule.nested(nodes, stride)[0], J)
        rows = _rows(kappa, weights, given_kappa, U)
        kept = (np.abs(rows).max(axis=1) * (1.0 + y**4)).max(axis=0) > _NEGLIGIBLE
        here = moments.at(at[kept])
        residual = _residual(loss, y[:, kept], neurons.output(here) + shift)
        laws.append(BatchLaw(residual, rows[..., kept], here))
    return laws, error


def _turns(neurons: Neurons, layer: FirstLayer, loss: Loss, turning_values: np.ndarray, reach: float) -> np.ndarray:
    """κ [U, cuts] at which a bend of the loss, f(κ) + bend, passes a label at which labels turn.

    Averages given κ have a root there. Without cuts the second step of a kinked loss is right to 1e-4 only.
    """
    values = np.unique(np.subtract.outer(turning_values, loss.bends))
    cuts: list[np.ndarray] = []
    for u in range(len(layer.c)):

        def output(kappa: np.ndarray, one: FirstLayer = layer.at(np.array([u]))) -> np.ndarray:  # noqa: B008
            shift = one.frame().b * kappa + neurons.biases[:, None]
            return neurons.output(shifted(neurons.activation, shift, one.c)[0])[0]

        cuts.append(crossings(output, values, reach).reshape(-1))
    return padded(cuts, np.inf)


def _residual(loss: Loss, y: np.ndarray, output: np.ndarray | float) -> np.ndarray:
    """e = -∂ℓ(y, f) of labels y [U, n]: y - f for the square loss."""
    return -np.asarray(loss.derivative(y, output + 0.0 * y))


def _rows(kappa: np.ndarray, weights: np.ndarray, given_kappa: np.ndarray, U: int) -> np.ndarray:
    """Weights for 1, (κ, y) and pairs: [U, rows, N·J], from those for 1, y and its pairs given κ, [U, N, rows, J]."""
    S, k = kappa.shape[1], _variables(given_kappa.shape[2])
    along = np.broadcast_to(kappa, (U, *kappa.shape[1:]))[..., None]  # [U, S, N, 1]
    plain, *rest = np.moveaxis(weights[..., None, None] * given_kappa, 2, 0)
    first, second = rest[:k], iter(rest[k:])
    rows = [plain, *(along[:, j] * plain for j in range(S)), *first]
    for i, j in pairs(S + k):
        if j < S:
            rows.append(along[:, i] * along[:, j] * plain)
        else:
            rows.append(along[:, i] * first[j - S] if i < S else next(second))
    return np.stack(rows, axis=1).reshape(U, len(rows), -1)


def _variables(rows: int) -> int:
    """How many variables have so many rows: 1, x_j and x_j x_l."""
    return (isqrt(1 + 8 * rows) - 3) // 2

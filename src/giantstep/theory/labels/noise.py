"""Gaussian noise on real labels: their law is smooth then, and a rule in the label itself, or a few nodes, will do."""

from __future__ import annotations

import numpy as np

from ...gaussian import STRIDES, density, even_pieces, fejer_rule, nested
from .pieces import spread, table_nodes

FAINT = 0.03  # noise, over the target's spread, under which a few Gauss-Hermite nodes resolve it
FAINT_NODES = 7
_NOISE_NODES = 16
_PER_NOISE = 10.0  # nodes per standard deviation of the noise, where its density is averaged over in pieces
_PANELS = 2.0 ** np.arange(-1, 10)  # edges of panels to either side of 0, in units of √E y²
_PANELS = np.concatenate([-_PANELS[::-1], [0.0], _PANELS])

Labelled = tuple[np.ndarray, np.ndarray]
"""Labels [1, n] of a batch and their weights [1, rows, n]."""


def blurred(batches: list[Labelled], noise: float, points: int, levels: np.ndarray) -> list[Labelled]:
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
    blurred: list[tuple[np.ndarray, np.ndarray]] = []
    for stride, rule, (y, weights) in zip(
        STRIDES, rules, batches, strict=True
    ):  # each from its own rule, so that errors show
        at = e[:, nested(stride)].reshape(-1)
        blurred.append((at[None], (weights[0] @ _kernel(at, y[0], noise).T * rule.reshape(-1))[None]))
    return blurred


def noisy(
    y: np.ndarray, weights: np.ndarray, noise: np.ndarray, size: float, nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Add Gaussian noise to labels and compress their law onto panels of Gauss nodes.

    Functions that are smooth in y are averaged against polynomials through the nodes of a panel, so that however many
    labels there were, a few hundred nodes remain; weights may be negative.
    """
    x, w = hermite(_NOISE_NODES)
    settings: list[tuple[np.ndarray, np.ndarray]] = []
    for values, own, level in zip(y, weights, noise, strict=True):
        values, own = compressed(values, own, size, nodes)
        if level > 0.0:
            blurred = (values[..., None] + level * x).reshape(len(values), -1)
            own = (own[..., None] * w).reshape(len(values), 3, -1)
            values, own = compressed(blurred, own, float(np.hypot(size, level)), nodes)
        settings.append((values, own))
    return padded([values for values, _ in settings]), padded([own for _, own in settings])


def blurred_between(
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
    found = spread(y, weights, edges, nodes)
    used = found.any(axis=(0, 1))
    at = table_nodes(edges, nodes)[used]
    return np.broadcast_to(at, (len(y), len(at))), found[..., used]


def hermite(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    return x, w / w.sum()


def padded(parts: list[np.ndarray]) -> np.ndarray:
    """Arrays [..., J] of several settings as one, with zeros where some have fewer."""
    whole = np.zeros((len(parts), *parts[0].shape[:-1], max(part.shape[-1] for part in parts)))
    for one, part in zip(whole, parts, strict=True):
        one[..., : part.shape[-1]] = part
    return whole


def _kernel(at: np.ndarray, y: np.ndarray, noise: float) -> np.ndarray:
    """The density of y + noise·ε at `at`, [..., at, y]."""
    return density((at[..., :, None] - y[..., None, :]) / noise) / noise

"""The readout on given features, with an intercept if wanted; the fitters are those of the simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..losses import Loss, square
from ..simulation.backend import Backend
from ..simulation.convex import known_smooth
from ..simulation.readout import fitter

_FREE, _FREE_AT_KINKS = 1e3, 30.0
"""The constant feature that carries an intercept is this large: its penalty is a millionth of the others'.

Rounding grows with the square of it, and matters where a loss has kinks: there the penalty is a thousandth.
"""


class Readout(NamedTuple):
    """f = a·φ/√p + intercept."""

    weights: np.ndarray  # a [p]
    intercept: float
    optimality: float  # relative duality gap; 0 where the fit is in closed form


def fit_readout(
    features: Any, labels: np.ndarray, lam: float, loss: Loss, intercept: bool, backend: Backend
) -> Readout:
    """Minimise Σ ℓ(y, a·φ/√p + b) + lam/2 |a|². `features` [n, p] are left as they are.

    For the square loss the intercept is the mean of what is left, exactly; for others it is the weight of a
    large constant feature.
    """
    n, p = features.shape
    if not intercept:
        return _fit(features, labels, lam, loss, 0, backend)
    if loss == square:
        mean = backend.xp.sum(features, axis=0) / n
        found = _fit(features - mean[None, :], labels - labels.mean(), lam, loss, 0, backend)
        shift = float(backend.numpy(mean) @ found.weights) / p**0.5
        return found._replace(intercept=float(labels.mean()) - shift)
    return _fit(features, labels, lam, loss, 1, backend)


def _fit(features: Any, labels: np.ndarray, lam: float, loss: Loss, extra: int, backend: Backend) -> Readout:
    n, p = features.shape
    size = p + extra  # the fitter divides by the root of what it sees
    stretch = (size / p) ** 0.5
    large = _FREE if known_smooth(loss) else _FREE_AT_KINKS
    constant = backend.asarray(np.full((n, extra), large * size**0.5))

    def rows(count: int) -> Iterator[tuple[Any, Any]]:
        for start in range(0, count, backend.block_rows):
            part = slice(start, min(start + backend.block_rows, count))
            block = backend.xp.concat([features[part, :] * stretch, constant[part, :]], axis=1)
            yield block, backend.asarray(labels[part])

    fit = fitter(loss, "auto")(rows, size, {n: [lam]}, backend)[n]
    weights = backend.numpy(fit.readouts)[:, 0]
    gap = 0.0 if fit.optimality is None else float(fit.optimality[0])
    return Readout(weights[:p], float(weights[p:].sum()) * large, gap)

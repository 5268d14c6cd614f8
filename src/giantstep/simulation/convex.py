"""Fit the readout for losses other than square, every fit with a certificate of how good it is.

Smooth losses go to Newton's method (`newton`), kinked ones of the catalogue to an interior-point method
(`interior`). Both answer with a bound on the relative suboptimality of what they found; since the objective is
at least lam/2 |a - a*|² above its minimum, that bounds the distance to the minimiser too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ConvergenceError
from ..losses import Loss
from .backend import Backend
from .interior import InteriorPoint
from .newton import Newton
from .readout import Fit, Problems, Rows

TOLERANCE = {"float64": 1e-8, "float32": 1e-3}
"""Relative suboptimality above which a fit is an error. Most fits are far better: see `optimality`."""

_AIM = 1e-22  # smooth losses: readouts to eleven digits, or as far as rounding lets Newton go
_AIM_KINKED = 1e-15  # at kinks, outputs that are off by rounding cost that much


def convex(
    loss: Loss,
    rows: Rows,
    p: int,
    problems: Problems,
    backend: Backend,
) -> dict[int, Fit]:
    """Minimise Σ ℓ(y, a·φ/√p) + lam/2 |a|²; nested sizes share the features, which are kept in memory.

    Newton's method starts each size from the largest penalty, and from the readout of the size before.
    """
    features, labels = _gather(rows(max(problems)), max(problems), p, backend)
    fits, start = {}, {lam: backend.zeros(p) for lams in problems.values() for lam in lams}
    for n, lams in sorted(problems.items()):
        found: dict[float, tuple[Any, float]] = {}
        readout = start[max(lams)]
        for lam in sorted(lams, reverse=True):
            found[lam] = _minimise(loss, features[:n, :], labels[:n], lam, readout, backend)
            _check(loss, n, lam, found[lam][1], backend)
            readout = start[lam] = found[lam][0]
        fits[n] = _fit(loss, features[:n, :], labels[:n], [found[lam] for lam in lams], backend)
    return fits


def _minimise(
    loss: Loss, features: Any, labels: np.ndarray, lam: float, start: Any, backend: Backend
) -> tuple[Any, float]:
    if loss.line and not loss.continuous:
        return InteriorPoint(features, labels, lam, loss.line, backend).solve(_AIM_KINKED)
    newton = Newton(features, labels, lam, loss, backend)
    return newton.solve(start, _AIM, _tolerance(backend), known_smooth(loss))


def known_smooth(loss: Loss) -> bool:
    """Whether the loss has no kinks, for sure; a user's own may have some."""
    return loss.continuous


def _gather(blocks: Iterator[tuple[Any, Any]], n: int, p: int, backend: Backend) -> tuple[Any, np.ndarray]:
    """All features, divided by √p, and labels."""
    features, labels, start = backend.zeros(p, n).T, np.empty(n), 0  # row-major where we may choose
    for block, values in blocks:
        stop = start + block.shape[0]
        features[start:stop, :] = block / p**0.5
        labels[start:stop] = backend.numpy(values)
        start = stop
    return features, labels


def _fit(
    loss: Loss, features: Any, labels: np.ndarray, found: list[tuple[Any, float]], backend: Backend
) -> Fit:
    readouts = backend.xp.stack([readout for readout, _ in found], axis=1)
    outputs = backend.numpy(backend.matmul(features, readouts)).T
    return Fit(
        readouts,
        train_error=((labels - outputs) ** 2).mean(axis=1),
        train_loss=np.array([np.mean(loss.value(labels, row)) for row in outputs]),
        optimality=np.array([gap for _, gap in found]),
    )


def _tolerance(backend: Backend) -> float:
    return TOLERANCE["float32" if backend.itemsize == 4 else "float64"]


def _check(loss: Loss, n: int, lam: float, gap: float, backend: Backend) -> None:
    if not gap <= _tolerance(backend):
        way_out = "use a larger lam" + (" or dtype='float64'" if backend.itemsize == 4 else "")
        raise ConvergenceError(
            f"the readout for loss = {loss.name!r} at lam = {lam:g} and {n} samples was found to a relative duality "
            f"gap of {gap:.1e} only, where {_tolerance(backend):.0e} is required; {way_out}",
            None,
        )

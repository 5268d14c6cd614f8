"""Fit the readout for losses other than square by Newton's method, every fit with a certificate of how good it is.

Minimised is Σ e(y, Φa - V f̄) + lam/2 |a|², where e is the loss smoothed on a scale V (its Moreau envelope, which
`Loss.score` differentiates) and f̄ are the current forces -ℓ': the method of multipliers, whose limit is the
minimiser of the loss itself for any V. Losses known to be smooth take a V so small that plain Newton steps are all that
is left. Other losses may have kinks: V then starts at the scale on which samples move each other and shrinks.

At every point a bound on the suboptimality comes for free. With f and z* = proximal point, f = -ℓ'(z*),

    objective(a) - minimum ≤ Σ (ℓ'(z) - ℓ'(z*))·(z - z*) + |lam a - Φᵀf|²/2lam,

the duality gap, with each Bregman divergence replaced by its symmetric form, which loses no digits. Since the objective
is at least lam/2 |a - a*|² above its minimum, the bound is one on the distance to the minimiser too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ConvergenceError
from ..losses import Loss
from .backend import Backend
from .readout import Fit, Problems, Rows

TOLERANCE = {8: 1e-8, 4: 1e-3}
"""Relative suboptimality above which a fit is an error, by the bytes of a number. Most fits are far better: see
`optimality`."""

AIM = 1e-22
"""Relative suboptimality: readouts to eleven digits, or as far as rounding lets Newton's method go."""

_MOST_STEPS = 300
_SHRINK = 0.3  # of the smoothing scale, each time that its problem is solved
_SMALLEST = 1e-9  # scale down to which proximal scores hold
_PATIENCE = {True: 3, False: 6}  # steps without progress below the tolerance, for smooth losses and for others


def convex(loss: Loss, rows: Rows, p: int, problems: Problems, backend: Backend) -> dict[int, Fit]:
    """Minimise Σ ℓ(y, a·φ/√p) + lam/2 |a|²; nested sizes share the features, which are kept in memory.

    Each size starts from the largest penalty, and from the readout of the size before.
    """
    features, labels = _gather(rows, max(problems), p, backend)
    fits, start = {}, {lam: backend.zeros(p) for lams in problems.values() for lam in lams}
    for n, lams in sorted(problems.items()):
        part, readout, gaps = features[:n, :], start[max(lams)], {}
        for lam in sorted(lams, reverse=True):
            readout, gaps[lam] = Newton(part, labels[:n], lam, loss, backend).solve(readout)
            start[lam] = readout
            if not gaps[lam] <= (tolerance := TOLERANCE[backend.itemsize]):
                way_out = "use a larger lam" + (" or dtype = 'float64'" if backend.itemsize == 4 else "")
                raise ConvergenceError(
                    f"the readout for loss = {loss.name!r} at lam = {lam:g} and {n} samples has a relative duality "
                    f"gap of {gaps[lam]:.1e}, and {tolerance:.0e} is required; {way_out}",
                    None,
                )
        readouts = backend.xp.stack([start[lam] for lam in lams], axis=1)
        outputs = backend.numpy(backend.matmul(part, readouts)).T
        fits[n] = Fit(
            readouts,
            train_error=((labels[:n] - outputs) ** 2).mean(axis=1),
            train_loss=np.array([np.mean(loss.value(labels[:n], row)) for row in outputs]),
            optimality=np.array([gaps[lam] for lam in lams]),
        )
    return fits


def _gather(rows: Rows, n: int, p: int, backend: Backend) -> tuple[Any, np.ndarray]:
    """All features, divided by √p, and labels."""
    features, labels, start = backend.zeros(p, n).T, np.empty(n), 0  # row-major where we may choose
    for block, values in rows(n):
        stop = start + block.shape[0]
        features[start:stop, :] = block / p**0.5
        labels[start:stop] = backend.numpy(values)
        start = stop
    return features, labels


class _Point(NamedTuple):
    readout: Any  # [p]
    outputs: np.ndarray  # z = Φa, [n]
    force: np.ndarray  # f, [n]
    slope: np.ndarray  # -∂f/∂ω, [n]
    gradient: Any  # of the smoothed objective, [p]
    unsolved: float  # bound on what further Newton steps can gain
    unconverged: float  # bound on what better multipliers can gain
    gap: float  # both, relative to the objective


class Newton:
    """One problem: features [n, p] (already divided by √p), labels [n], a penalty and a loss."""

    def __init__(self, features: Any, labels: np.ndarray, lam: float, loss: Loss, backend: Backend):
        self.features, self.labels, self.lam = features, labels, lam
        self.loss, self.backend = loss, backend
        self.scale, self.multipliers = _SMALLEST, np.zeros_like(labels)

    def solve(self, start: Any, most_steps: int = _MOST_STEPS) -> tuple[Any, float]:
        """The readout, and a bound on how far its objective is above the minimum, relative to it.

        Ends at the aim, after `most_steps`, or where progress ends below the tolerance: what is left is rounding.
        """
        if not self.loss.continuous:  # how far a unit of force on a sample moves its output: |φ|²/lam, on average
            power = float(self.backend.xp.sum(self.features * self.features))
            self.scale = max(power / len(self.labels) / self.lam, _SMALLEST)
        tolerance, patience = TOLERANCE[self.backend.itemsize], _PATIENCE[bool(self.loss.continuous)]
        outputs = self._outputs(start)
        self.multipliers = -np.asarray(self.loss.derivative(self.labels, outputs), dtype=float)
        point = best = self._point(start, outputs)
        failures = 0
        for _ in range(most_steps):
            if best.gap <= AIM or failures == patience:
                break
            if point.unsolved <= 0.1 * point.unconverged:
                self.multipliers, self.scale = point.force, max(self.scale * _SHRINK, _SMALLEST)
                point = self._point(point.readout, point.outputs)
            else:
                direction = self._direction(point)
                length = self._length(point, direction, self._outputs(direction))
                readout = point.readout + length * direction
                point = self._point(readout, self._outputs(readout))
            failures = failures + 1 if best.gap <= tolerance and point.gap > best.gap / 2 else 0
            best = min(best, point, key=lambda each: each.gap)
        return best.readout, best.gap

    def _outputs(self, readout: Any) -> np.ndarray:
        return self.backend.numpy(self.backend.matmul(self.features, readout))

    def _forces(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f, its slope, and the proximal point z*."""
        omega = outputs - self.scale * self.multipliers
        score = self.loss.score(self.labels, omega, np.full_like(omega, self.scale))
        return score.f, score.g, omega + self.scale * score.f

    def _point(self, readout: Any, outputs: np.ndarray) -> _Point:
        backend, lam, loss = self.backend, self.lam, self.loss
        force, slope, near = self._forces(outputs)
        gradient = lam * readout - backend.matmul(self.features.T, backend.asarray(force))
        unsolved = float(gradient @ gradient) / (2 * lam)
        mismatch = (loss.derivative(self.labels, outputs) + force) * (outputs - near)
        unconverged = float(np.maximum(mismatch, 0.0).sum())
        objective = float(np.sum(loss.value(self.labels, outputs))) + lam / 2 * float(readout @ readout)
        gap = (unsolved + unconverged) / max(objective, 1e-300)
        return _Point(readout, outputs, force, slope, gradient, unsolved, unconverged, gap)

    def _direction(self, point: _Point) -> Any:
        """-(lam + Φᵀ diag(slope) Φ)⁻¹·gradient, by samples where fewer than p of them have a slope."""
        backend, lam, p = self.backend, self.lam, self.features.shape[1]
        bent = np.flatnonzero(point.slope > 0)
        if len(bent) == 0:
            return -point.gradient / lam
        rows = backend.xp.take(self.features, backend.xp.asarray(bent, device=backend.device), axis=0)
        rows *= backend.asarray(np.sqrt(point.slope[bent]))[:, None]
        if len(bent) >= p:
            gram = backend.add_gram(backend.zeros(p, p), rows)
            return -backend.solve_shifted(gram, point.gradient, [lam])[:, 0]
        kernel = backend.add_gram(backend.zeros(len(bent), len(bent)), rows.T)
        inner = backend.solve_shifted(kernel, backend.matmul(rows, point.gradient), [lam])[:, 0]
        return (backend.matmul(rows.T, inner) - point.gradient) / lam

    def _length(self, point: _Point, direction: Any, moves: np.ndarray) -> float:
        """Where along the direction the smoothed objective is smallest: a root of its increasing derivative.

        A full step is tried first, and anything that leaves a tenth of the derivative and does not climb will do.
        """
        lam = self.lam
        along, square = float(point.readout @ direction), float(direction @ direction)

        def look(length: float) -> tuple[float, float]:
            force, _, near = self._forces(point.outputs + length * moves)
            derivative = lam * (along + length * square) - float(force @ moves)
            smoothed = self.loss.value(self.labels, near) + self.scale / 2 * force**2
            return derivative, float(np.sum(smoothed)) + lam * length * (along + length / 2 * square)

        start, height = look(0.0)
        if not start < 0:  # at the minimum, to rounding: nothing to search for
            return 1.0
        low, falling, high, rising = 0.0, start, np.inf, np.inf
        length = 1.0
        for _ in range(60):
            derivative, now = look(length)
            if abs(derivative) <= 0.1 * abs(start) and now <= height + 1e-12 * abs(height):
                break
            if derivative < 0:
                low, falling = length, derivative
            else:
                high, rising = length, derivative
            if np.isinf(high):
                length *= 2
            else:  # the secant, kept away from the ends
                length = low + (high - low) * min(max(falling / (falling - rising), 0.1), 0.9)
        return length
